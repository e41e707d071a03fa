"""What can go wrong, as exceptions whose text a person can act on.

The command line prints the text of an `Error` and exits with 2; it never shows a traceback for one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Error(Exception):
    """Bad input of any kind; the text says where, why and what to do."""


class ConfigError(Error):
    """Everything that is wrong with a configuration, found in one pass."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: list[str] = list(problems)
        super().__init__("\n".join(self.problems))


class TraceError(Error):
    """A damaged, truncated or foreign trace file."""


class StuckError(Error):
    """A simulation that cannot go on: a defect of pmemsim or of the trace, not of the user's."""


class RecordError(Error):
    """A program that could not be built or recorded."""


class CheckFailed(Error):  # noqa: N818 -- the run worked; what it checked did not hold
    """A self-check that failed; the command line exits with 1."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known word is near, else the list of known words."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known are: {', '.join(words)}" if words else ""
