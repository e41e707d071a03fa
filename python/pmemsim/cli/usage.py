"""Turn Typer's errors of a command line into pmemsim's sentences."""

from __future__ import annotations

import re
from typing import Any

import typer

from pmemsim.errors import did_you_mean

# Typer includes Click under a name that depends on its version; Typer's classes derive from it.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_NO_COMMAND = re.compile(r"No such command '(.*?)'")
_TOO_MANY = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_NO_VALUE = re.compile(r"Option '(.*)' requires an argument")
_SOME_VALUE = re.compile(r"Option '(.*)' does not take a value")
_ONE_OF = re.compile(r"is not one of (.*?)\.?$")
_MOST_OWNERS = 2
"""An option of more commands is a general one: a similar option of this command helps more."""
_KINDS = {"int_parsing": "a whole number", "float_parsing": "a number"}


def sentences_of(error: Any) -> list[str]:  # noqa: ANN401 -- Typer's own, of no public type
    """Return the errors, one sentence each: where, what, and what to do."""
    where = " ".join(error.ctx.command_path.split()[1:]) if error.ctx else ""
    return [f"{where}: {problem}" if where else problem for problem in _problems(error)]


def _problems(error: Any) -> list[str]:  # noqa: ANN401
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return [f"{error.option_name}: unknown option; {_cure_of_unknown_option(error)}"]
    if kind == "MissingParameter":
        return [_missing(parameter) for parameter in _all_missing(error)]
    if kind == "BadParameter":
        return [f"{_named(error.param)}{_bad_value(error)}; {_see(error)}"]
    text = str(error.message)
    if match := _NO_COMMAND.match(text):
        return [f"{match[1]}: unknown command{did_you_mean(match[1], error.ctx.command.commands)}"]
    if match := _TOO_MANY.match(text):
        return [f"{match[1]}: unexpected argument; remove it, or {_see(error)}"]
    if match := _NO_VALUE.match(text):
        return [f"{match[1]}: the value is missing"]
    if match := _SOME_VALUE.match(text):
        return [f"{match[1]}: this option takes no value; remove it"]
    return [f"{text.rstrip('.')}; {_see(error)}"]


def _cure_of_unknown_option(error: Any) -> str:  # noqa: ANN401
    """Return a hint at the commands that have the option, or else at a similar option."""
    commands = error.ctx.find_root().command.commands.values() if error.ctx else ()
    owners = [
        each.name for each in commands if any(error.option_name in p.opts for p in each.params)
    ]
    if owners and len(owners) <= _MOST_OWNERS:
        return f"pmemsim {' and pmemsim '.join(owners)} {'has' if len(owners) == 1 else 'have'} it"
    near = next(iter(error.possibilities or ()), "")
    return f"did you mean {near}?" if near else _see(error)


def _see(error: Any) -> str:  # noqa: ANN401
    return f"see: {error.ctx.command_path if error.ctx else 'pmemsim'} --help"


def _named(parameter: Any) -> str:  # noqa: ANN401
    """`--design`, or what the help calls an argument."""
    if parameter is None:
        return ""
    long = [name for name in parameter.opts if name.startswith("--")]
    if parameter.param_type_name == "option":
        return str([*long, *parameter.opts][0])
    return str(parameter.metavar or parameter.name.upper())


def _all_missing(error: Any) -> list[Any]:  # noqa: ANN401
    """Return all missing parameters; Typer itself names only the first."""
    found = [p for p in error.ctx.command.params if p.required and p.name not in error.ctx.params]
    return found or [error.param]


def _missing(parameter: Any) -> str:  # noqa: ANN401
    text = (parameter.help or "").strip()
    if text[1:2].islower() or text[1:2] in " '":
        text = text[0].lower() + text[1:]
    return f"{_named(parameter)} is missing; give {text.rstrip('.') or 'it'}"


def _bad_value(error: Any) -> str:  # noqa: ANN401
    """Return the value and the requirement, as in ` x: must be a whole number`."""
    text = str(error.message)
    details: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    value = f" {details[0]['input']}" if details else ""
    if details and details[0]["type"] in _KINDS:
        return f"{value}: must be {_KINDS[details[0]['type']]}"
    if match := _ONE_OF.search(text):
        return f"{value}: must be one of {match[1].replace(chr(39), '')}"
    return f"{value}: {text.rstrip('.')}"
