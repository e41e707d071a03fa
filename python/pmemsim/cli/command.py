"""Declaration of commands: their options, with headings and values, and their help pages.

A group of options is a dataclass. A command made by `declared()` has the options of each group
among its function's parameters. The function gets the values of a group as one object.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from pmemsim.cli.help import name_of, print_page
from pmemsim.cli.old_spellings import refuse_old_spelling
from pmemsim.rules import Given

TARGET, DESIGN, MACHINE, CHECKER, EXPLORATION, WORKLOAD, MEMORY, EXECUTION, OUTPUT = (
    "Target", "Design", "Machine", "Checker", "Exploration", "Workload", "Persistent memory",
    "Execution", "Output",
)  # fmt: skip
"""Headings of a help page, in the order of its groups of options."""


def option(
    heading: str,
    *names: str,
    value: str = "",
    help: str,
    default: str = "",
    more: bool = False,
) -> Any:  # noqa: ANN401 -- as Typer's own function
    """Declare an option.

    `value` names its value, which also determines its completions (completion.py); a flag has none.
    `default` is the text for the help page if the parameter's own default isn't clear. With `more`,
    only the page of --help-all shows the option.
    """
    return typer.Option(
        *names,
        metavar=value or None,
        help=help,
        show_default=default or False,
        hidden=more,
        rich_help_panel=heading,
    )


def argument(value: str, help: str) -> Any:  # noqa: ANN401
    """Declare a positional argument of a command; `value` has the same meaning as for an option."""
    return typer.Argument(metavar=value, help=help)


class Command(TyperCommand):
    """A command with its own help page, which answers old spellings with the new spellings."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 -- Typer's own
        """Return the parameters, --help among them."""
        return _converted_quickly(super().get_params(ctx), self.callback)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- Typer's own
        """Read a command line."""
        refuse_old_spelling(self.name or "", args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the first page of help."""
        print_page(ctx, everything=False)


def _converted_quickly(parameters: list[Any], callback: object) -> list[Any]:
    """Let the parameters convert simple values without Typer, which loads pydantic first (50 ms).

    The types are those of the callback's parameters. Typer converts all other values, or refuses
    them.
    """
    kinds = getattr(callback, "__annotations__", {})
    for each in parameters:
        if "process_value" not in vars(each):
            each.process_value = functools.partial(
                _process, each, kinds.get(each.name), each.process_value
            )
    return parameters


def _process(
    parameter: Any,  # noqa: ANN401 -- Typer's own, of no public type
    kind: Any,  # noqa: ANN401 -- any type
    usual: Callable[..., Any],
    context: Any,  # noqa: ANN401
    value: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    if value is None and not parameter.required:
        found = () if parameter.multiple or parameter.nargs == -1 else None
    else:
        try:
            found = _simple_value(kind, value)
        except ValueError:
            return usual(context, value)
    return parameter.callback(context, parameter, found) if parameter.callback else found


def _simple_value(kind: Any, value: Any) -> Any:  # noqa: ANN401 -- any type
    """Return a text, a whole number, or a list of these; raise a `ValueError` for other types."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is list and isinstance(value, list | tuple) and value:
        (kind,) = get_args(kind)
        return [_simple_value(kind, each) for each in value]
    if kind in (str, int) and type(value) is kind:
        return value
    if kind is int and isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    raise ValueError


_WHOLE = re.compile("-?[0-9]{1,18}")


class Group(TyperGroup):
    """A group of commands with its own help page."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 -- Typer's own
        """Return the parameters, --help among them."""
        return _converted_quickly(super().get_params(ctx), self.callback)

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Return the heading, name and summary of each command."""
        commands: Mapping[str, Any] = self.commands
        for name, each in commands.items():
            yield each.rich_help_panel or "Commands", name, (each.help or "").split("\n\n")[0]

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the page of help."""
        print_page(ctx, everything=False)


def declared(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function.

    Each field of a parameter whose type is a group becomes an option, and so do the fields of
    nested groups. A parameter of type `Given` gets the values of the command line; a parameter of
    type `typer.Context` gets Typer's context. The command has --help-all.
    """

    @functools.wraps(function)
    def with_options(context: typer.Context, **values: Any) -> None:  # noqa: ANN401
        own = {Given: _given_of(context), typer.Context: context}
        function(**_gathered(function, values, own))

    shown = [_CONTEXT, *_spread(function).values(), _HELP_ALL]
    # Typer reads a command's options from its signature and annotations.
    vars(with_options)["__signature__"] = inspect.Signature(shown)
    with_options.__annotations__ = {each.name: each.annotation for each in shown}
    return with_options


def _given_of(context: typer.Context) -> Given:
    """Return the values of a command line that Typer has parsed."""
    every: list[Any] = context.command.params
    sources = {each: context.get_parameter_source(each.name) for each in every}
    return Given(
        context.command.name or "",
        {
            name_of(each): context.params[each.name]
            for each, source in sources.items()
            if source is not None and source.name == "COMMANDLINE"
        },
    )


def _parts(owner: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """Return the parameters of a function or of a group, with their types."""
    types = get_type_hints(owner, include_extras=True)
    return [(each, types[name]) for name, each in inspect.signature(owner).parameters.items()]


def _is_group(kind: Any) -> bool:  # noqa: ANN401 -- any type
    return is_dataclass(kind)


def _spread(owner: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the options of a function or of a group, including the options of nested groups."""
    found: dict[str, inspect.Parameter] = {}
    for each, kind in _parts(owner):
        if _is_group(kind):
            more = _spread(kind)
            assert not found.keys() & more.keys(), "two options' values have one name"
            found |= more
        elif kind not in (Given, typer.Context):
            found[each.name] = each.replace(kind=_KEYWORD, annotation=kind)
    return found


def _gathered(
    owner: Callable[..., Any], values: dict[str, Any], own: dict[type, Any]
) -> dict[str, Any]:
    """Return the arguments for a function or a group: options' values, and `own` by type."""

    def argument_of(name: str, kind: Any) -> Any:  # noqa: ANN401
        if _is_group(kind):
            return kind(**_gathered(kind, values, own))
        return own[kind] if kind in (Given, typer.Context) else values[name]

    return {each.name: argument_of(each.name, kind) for each, kind in _parts(owner)}


def _print_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print_page(context, everything=True)
        raise typer.Exit


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_CONTEXT = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)
_HELP_ALL = inspect.Parameter(
    "help_all",
    _KEYWORD,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all",
            help="Prints this page with all options, including rarely used ones.",
            callback=_print_all,
            is_eager=True,
        ),
    ],
)
