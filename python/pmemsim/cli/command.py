"""Declaration of commands: their options, with headings and values, and their help pages.

A group of options is a dataclass. A command made by `declared()` has the options of each group
among its function's parameters. The function gets the values of a group as one object.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from pmemsim.cli.help import print_page
from pmemsim.cli.old_spellings import refuse_old_spelling
from pmemsim.cli.rules import Given

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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- Typer's own
        """Read a command line."""
        refuse_old_spelling(self.name or "", args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the first page of help."""
        print_page(ctx, everything=False)


class Group(TyperGroup):
    """A group of commands with its own help page."""

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
        own = {Given: Given.of(context), typer.Context: context}
        function(**_gathered(function, values, own))

    shown = [_CONTEXT, *_spread(function).values(), _HELP_ALL]
    # Typer reads a command's options from its signature and annotations.
    vars(with_options)["__signature__"] = inspect.Signature(shown)
    with_options.__annotations__ = {each.name: each.annotation for each in shown}
    return with_options


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
