"""What can go wrong, as exceptions whose text a person can act on.

The command line prints the text of an `Error` and exits with 2; it never shows a traceback for one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Error(Exception):
    """Bad input of any kind; the text says where, why and what to do."""


class ConfigError(Error):
    """Everything that is wrong with a configuration or a command's arguments, found in one pass."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: list[str] = list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[list[str]]]:
        """As another process gets it: made from the problems, not from their text."""
        return ConfigError, (self.problems,)


class TraceError(Error):
    """A damaged, truncated or foreign trace file."""


class StuckError(Error):
    """A simulation that cannot go on: a defect, unless the text names a setting that cures it."""


class RecordError(Error):
    """A program that could not be built or recorded."""


class _VerdictError(Error):
    """What a command that has worked says against what it has checked, in sentences."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class CheckFailed(_VerdictError):  # noqa: N818 -- the run worked; what it checked did not hold
    """Something was found; the command line exits with 1."""


class Undecided(_VerdictError):  # noqa: N818 -- the run worked
    """Nothing was found, but too much of what was looked at has no verdict; exit code 3."""


class Problems:
    """Collects what is wrong in several places, so that a person learns all of it at once."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Notes an `Error` that this block ends with; the program goes on behind the block."""
        try:
            yield
        except ConfigError as error:
            self.add(error.problems)
        except Error as error:
            self.add([str(error)])

    def add(self, problems: Iterable[str]) -> None:
        """Note problems; what two places find is said once."""
        self.found = list(dict.fromkeys([*self.found, *problems]))

    def raise_any(self) -> None:
        """Raise a `ConfigError` with everything that was found, if something was."""
        if self.found:
            raise ConfigError(self.found)


def in_one(error: Error) -> str:
    """All that an error says, on one line."""
    problems = error.problems if isinstance(error, ConfigError) else [str(error)]
    return "; ".join(problems)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known word is near, else the list of known words."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known are: {', '.join(words)}" if words else ""


def printable(text: str) -> str:
    """The text with `?` for control characters, which a terminal would obey; lines stay lines."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
