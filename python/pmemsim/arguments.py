"""Check the values that options of commands and arguments of Python functions may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from os import PathLike

from pmemsim.errors import ConfigError, Error, Problems


def check_jobs(problems: Problems, jobs: int | None) -> None:
    """Add an impossible number of jobs to the problems."""
    if jobs is not None:
        check_whole(problems, "--jobs", jobs, 1)


# Largest number that the simulator can count to.
MOST = 2**63 - 1


def check_whole(
    problems: Problems, name: str, value: int | None, least: int, most: int = MOST
) -> None:
    """Add an option's number to the problems if it is too small or too large; None: not given."""
    if value is None:
        return
    if not is_whole(value):  # Python functions take any object
        problems.add([f"{name} {value!r}: must be a whole number"])
        return
    if least <= value <= most:
        return
    limits = f"at least {least}" if value < least and most == MOST else f"{least} to {most}"
    problems.add([f"{name} {value}: must be {limits}"])


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def plain(value: object) -> object:
    """Return NumPy's numbers as Python's, and arrays, indexes and generators as lists."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        found: object = value.item()
        return found
    if isinstance(value, str | bytes | Mapping | Sequence) or callable(value):
        return value
    if isinstance(value, Iterable) and not hasattr(value, "columns"):  # a frame has columns
        return [plain(each) for each in value]
    return value


def check_path(name: str, path: object) -> None:
    """Raise an `Error` if an argument is no path."""
    if not isinstance(path, str | PathLike):
        raise Error(f"{name} {path!r}: must be the path of a file")


_TIME = re.compile(r"(\d+(?:\.\d+)?)(ps|ns|us|ms|s)")
_PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def picoseconds_of(name: str, text: str, problems: Problems) -> int | None:
    """Return the simulated time of an option such as 12.5us; None if it is none."""
    match = _TIME.fullmatch(str(text))  # Python functions take any object
    if match is None:
        problems.add([f"{name} {text}: must be a number with a unit of time, as in 12.5us"])
        return None
    time = round(Decimal(match[1]) * _PICOSECONDS[match[2]])
    if time > MOST:
        problems.add(
            [f"{name} {text}: the time is after the end of any simulation; choose an earlier time"]
        )
    return time


def sample_of(points: str, problems: Problems) -> int | None:
    """Return the number of crash points in `--points`; None: all."""
    if points == "all":
        return None
    if not points.isdecimal():
        problems.add([f"--points {points}: must be `all` or a whole number, as in 10000"])
    elif len(points) > len(str(MOST)):
        problems.add([f"--points {points}: must be `all` or 1 to {MOST}"])
    elif not 1 <= int(points) <= MOST:
        problems.add([f"--points {points}: must be 1 to {MOST}, or `all`"])
    else:
        return int(points)
    return None


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_FIRST = re.compile(r"^(--[a-z][a-z-]*) (?=\S+: )")
_PLUGIN = ("--plugin FILE", "PMEMSIM_PLUGINS=FILE")
# Commands in a message stay commands.
_QUOTED = re.compile(r"(`[^`]*`|'pmemsim [^']*'|to reproduce: .*)", re.DOTALL)


@contextmanager
def names_of_parameters(options: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the block name parameters of a Python function instead of options.

    `options` has the options and arguments of commands that differ from the parameters' names.
    """
    parameters = {option: name for name, option in options.items()}

    def renamed(text: str) -> str:
        text = text.replace(*_PLUGIN)
        for option, name in parameters.items():
            if not option.startswith("-"):
                text = re.sub(rf"\b{option}\b", name, text)
        return _OPTION.sub(
            lambda found: parameters.get(found[0], found[0][2:].replace("-", "_")), text
        )

    def translated(text: str) -> str:
        # An option and its value begin many messages.
        parts = _QUOTED.split(_FIRST.sub(r"\1: ", text))
        return "".join(part if _QUOTED.fullmatch(part) else renamed(part) for part in parts)

    try:
        yield
    except ConfigError as error:
        error.problems = [translated(problem) for problem in error.problems]
        error.args = ("\n".join(error.problems),)
        raise
    except Error as error:
        error.args = tuple(translated(str(each)) for each in error.args)
        raise
