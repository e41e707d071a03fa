"""Help pages: the purpose of a command, examples, and its options by heading."""

from __future__ import annotations

import contextlib
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pmemsim.errors import Error

_WIDTH = 100
# Column where the text of an option begins.
_COLUMN = 30
_HELP = "Help"
# Arguments whose commands can use plug-ins.
_CHOOSES_DESIGNS = {"design", "designs"}

Parameter = Any  # Typer's own, of no public type
Context = Any


def print_page(context: Context, *, everything: bool) -> None:
    """Print the help page of a command or a group, with all options or the common ones."""
    from pmemsim.cli.console import out

    out.print(f"Usage: {_usage(context)}\n", style="bold", markup=False)
    for line in _description(context.command.help or ""):
        out.print(line, markup=False)
    for heading, rows in _sections(context, everything=everything).items():
        out.print(f"\n{heading}", style="bold", markup=False)
        for name, text in rows:
            out.print("\n".join(_row(name, text)), markup=False)


def is_option(parameter: Parameter) -> bool:
    """Return whether the parameter is an option, not a positional argument."""
    return bool(parameter.param_type_name == "option")


def name_of(parameter: Parameter) -> str:
    """Return an option's longest name (`--design`), or an argument's name in the help."""
    if is_option(parameter):
        return str([*(name for name in parameter.opts if name[:2] == "--"), *parameter.opts][0])
    return str(parameter.metavar or parameter.name.upper())


def _usage(context: Context) -> str:
    words = [context.command_path]
    if hasattr(context.command, "commands"):
        return " ".join([*words, "COMMAND ..."])
    words += ["[OPTION]..."]
    for each in context.command.params:
        if not is_option(each):
            name = name_of(each) + ("..." if each.nargs == -1 else "")
            words.append(name if each.required else f"[{name}]")
    return " ".join(words)


def _description(text: str) -> Iterator[str]:
    """Return a docstring's paragraphs at the page's width; indented ones stay unchanged."""
    for number, paragraph in enumerate(textwrap.dedent(text).strip().split("\n\n")):
        if number:
            yield ""
        if paragraph.startswith("  "):
            yield paragraph
        else:
            yield _wrapped(paragraph)


def _sections(context: Context, *, everything: bool) -> dict[str, list[tuple[str, str]]]:
    """Return, by heading, the names and descriptions of commands, arguments and options."""
    found: dict[str, list[tuple[str, str]]] = {}
    command = context.command
    for heading, name, summary in command.summaries() if hasattr(command, "commands") else []:
        found.setdefault(heading, []).append((name, summary))
    shown = [each for each in command.params if everything or not getattr(each, "hidden", False)]
    for each in shown:
        heading = each.rich_help_panel or (_HELP if is_option(each) else "Target")
        found.setdefault(heading, []).append((_names(each), _text(each)))
    own = found.pop(_HELP, [])
    if len(shown) == len(command.params):  # no further page
        own = [row for row in own if "--help-all" not in row[0]]
    if any(each.name in _CHOOSES_DESIGNS for each in command.params):
        found["Plug-ins"] = [("--plugin FILE", "Loads the designs of a plug-in; repeatable.")]
    this = "Prints the usual options." if everything else "Prints this page."
    return {**found, _HELP: [("-h, --help", this), *own]}


def _names(each: Parameter) -> str:
    """`-d, --design DESIGN`."""
    if not is_option(each):
        return name_of(each)
    names = ", ".join(sorted(each.opts, key=len))
    return names if each.is_flag else f"{names} {each.metavar}"


def _text(each: Parameter) -> str:
    """Return the description of an option, with its default."""
    if is_option(each) and each.required:
        return f"{each.help} Required."
    default = _default_of(each) if is_option(each) else ""
    return f"{each.help} Default: {default}." if default else str(each.help)


def _default_of(each: Parameter) -> str:
    if isinstance(each.show_default, str):
        return each.show_default
    if each.is_flag:
        return ""
    if each.default is not None and not isinstance(each.default, list | tuple):
        return str(each.default)
    with contextlib.suppress(Error):  # an installation without workloads has help, too
        return _default_of_workloads(each.name)
    return ""


def _default_of_workloads(argument: str) -> str:
    """Return the default that most workloads have for an argument, and the exceptions."""
    from pmemsim.workload_runs import workloads

    values = {
        workload.name: workload.arguments[argument]
        for workload in workloads().values()
        if argument in workload.arguments
    }
    if not values:
        return ""
    ((usual, _),) = Counter(values.values()).most_common(1)
    others: dict[int, list[str]] = {}
    for name, value in values.items():
        if value != usual:
            others.setdefault(value, []).append(name)
    rest = [f"{value} for {', '.join(names)}" for value, names in others.items()]
    return "; ".join([str(usual), *rest])


def _row(name: str, text: str) -> Iterator[str]:
    """Return a name with its description beside it, or below it if the name is long."""
    first = f"  {name}"
    wrapped = _wrapped(text, _COLUMN)
    if len(first) > _COLUMN - 2:
        yield first
        yield wrapped
    else:
        yield first + wrapped[len(first) :]


def _wrapped(text: str, indent: int = 0) -> str:
    """Return the text at the width of the page, without backquotes."""
    from pmemsim.cli.console import out

    return textwrap.fill(
        text.replace("`", ""),
        min(out.width, _WIDTH),
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
