"""Exceptions for all errors, whose text a person can act on.

The command line prints the text of an `Error` and exits with 2; it never shows a traceback for one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Error(Exception):
    """Bad input of any kind; the text says what is wrong, where, and what to do.

    All errors of pmemsim derive from it.

    Example:
        `with contextlib.suppress(pmemsim.Error): pmemsim.run("no", design="np", machine="asap")`
    """


class ConfigError(Error):
    """All errors of a configuration or of a call's arguments, found in one pass.

    `problems` lists them.

    Example:
        `with contextlib.suppress(pmemsim.ConfigError): pmemsim.configure("no", "asap")`
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: list[str] = list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[list[str]]]:
        """Pickle the error by its problems instead of its text, for another process."""
        return ConfigError, (self.problems,)


class TraceError(Error):
    """A trace file that is damaged, truncated or of another format.

    Example:
        `with contextlib.suppress(pmemsim.TraceError): pmemsim.Trace("damaged.pmt")`
    """


class StuckError(Error):
    """A simulation that cannot proceed: a defect, unless the text names a setting that cures it.

    Example:
        `issubclass(pmemsim.StuckError, pmemsim.Error)`
    """


class RecordError(Error):
    """A program that could not be built or recorded.

    Example:
        `with contextlib.suppress(pmemsim.RecordError): pmemsim.record(["./no"], "no.pmt")`
    """


class _VerdictError(Error):
    """A completed command's negative verdict on its input, in sentences."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class CheckFailed(_VerdictError):  # noqa: N818 -- the run worked; what it checked did not hold
    """A violation was found; the command line exits with 1. `problems` has the sentences.

    In Python, only a workload whose own check fails while it is recorded raises it: findings of
    `crash` and `check` are returned.

    Example:
        `issubclass(pmemsim.CheckFailed, pmemsim.Error)`
    """


class Undecided(_VerdictError):  # noqa: N818 -- the run worked
    """No violation was found, but too much of the input has no verdict; exit code 3."""


class Problems:
    """Problems that are collected in several places, so that a person sees all of them at once."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Note an `Error` that ends this block; the program continues after the block."""
        try:
            yield
        except ConfigError as error:
            self.add(error.problems)
        except Error as error:
            self.add([str(error)])

    def add(self, problems: Iterable[str]) -> None:
        """Add problems; a problem that is found in two places is reported once."""
        self.found = list(dict.fromkeys([*self.found, *problems]))

    def raise_any(self) -> None:
        """Raise a `ConfigError` with everything that was found, if anything was."""
        if self.found:
            raise ConfigError(self.found)


def on_one_line(error: Error) -> str:
    """Return all problems of an error on one line."""
    problems = error.problems if isinstance(error, ConfigError) else [str(error)]
    return "; ".join(problems)


_SHORTEST_BEGINNING = 4


def near(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a user probably meant: one that begins so, or is spelled so."""
    words = sorted(known)
    if len(word) >= _SHORTEST_BEGINNING:
        longer = [each for each in words if each.startswith(word)]
        if longer:
            return difflib.get_close_matches(word, longer, n=1, cutoff=0.0)[0]
    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=0.6)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is near, else the list of known words."""
    words = sorted(known)
    if (found := near(word, words)) is not None:
        return f"; did you mean '{found}'?"
    return f"; known names: {', '.join(words)}" if words else ""


def printable(text: str) -> str:
    """Return the text with `?` in place of control characters except for line ends."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
