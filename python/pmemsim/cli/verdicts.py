"""The verdicts of the methods of `pmemsim check`, and the resulting exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pmemsim.cli.console import err, out
from pmemsim.errors import CheckFailed, ConfigError, Undecided

_TOLERATED = 0.01
"""Largest share of cases without a verdict that leaves the exit code unchanged."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of one method."""

    method: str
    """The method: rules, images or answers."""
    model: str
    text: str
    found: tuple[str, ...] = ()
    """The errors, in sentences; if there are any, the exit code is 1."""
    undecided: str = ""
    """Description of cases without a verdict; if not empty, the exit code is 3."""
    failed: str = ""
    """Reason why the method has checked nothing; if not empty, the exit code is 2."""

    def __str__(self) -> str:
        """Return the verdict as one line."""
        return f"{self.method} under {self.model}: {self.text}"

    def to_dict(self) -> dict[str, str]:
        """Return the verdict for `--json` (keys: docs/reference/results.md)."""
        results = {
            "found": self.found, "not judged": self.failed, "undecided": self.undecided,
        }  # fmt: skip
        result = next((name for name, applies in results.items() if applies), "nothing found")
        return {"method": self.method, "model": self.model, "result": result, "text": self.text}


def undecided(number: int, of: int, what: str, why: str) -> str:
    """Describe the number of cases without a verdict; empty if they are few."""
    if number <= _TOLERATED * of:
        return ""
    return f"{number:,} of {of:,} {what} have no verdict: {why}"


def print_verdicts(name: str, verdicts: Sequence[Verdict]) -> None:
    """Print a line for each method."""
    for verdict in verdicts:
        out.print(f"{name}, {verdict}", markup=False)


def end_with(name: str, verdicts: Sequence[Verdict]) -> None:
    """Raise the error of the overall verdict: errors found take precedence over failed methods."""
    failed = [f"{each.method}: {each.failed}" for each in verdicts if each.failed]
    open_ = [f"{name}: {each.method}: {each.undecided}" for each in verdicts if each.undecided]
    found = [problem for verdict in verdicts for problem in verdict.found]
    if found:
        for sentence in (*failed, *open_):
            err.print(f"pmemsim: {sentence}", markup=False)
        raise CheckFailed(*found)
    if failed:
        raise ConfigError([*failed, *open_])
    if open_:
        raise Undecided(*open_)
