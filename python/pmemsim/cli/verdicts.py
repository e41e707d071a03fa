"""What the methods of `pmemsim check` say of a program, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pmemsim.cli.console import err, out
from pmemsim.errors import CheckFailed, ConfigError, Undecided

_TOLERATED = 0.01
"""The share without a verdict that still counts as decided."""


@dataclass(frozen=True)
class Verdict:
    """What one method says."""

    method: str
    """rules, images or answers."""
    model: str
    text: str
    found: tuple[str, ...] = ()
    """What is wrong, in sentences: the exit code is 1."""
    undecided: str = ""
    """What has no verdict: the exit code is 3."""
    failed: str = ""
    """Why the method has judged nothing: the exit code is 2."""

    def __str__(self) -> str:
        """One line."""
        return f"{self.method} under {self.model}: {self.text}"

    def to_dict(self) -> dict[str, str]:
        """The verdict as `--json` writes it; docs/guides/check_program.md explains every key."""
        results = {
            "found": self.found, "not judged": self.failed, "undecided": self.undecided,
        }  # fmt: skip
        result = next((name for name, told in results.items() if told), "nothing found")
        return {"method": self.method, "model": self.model, "result": result, "text": self.text}


def undecided(number: int, of: int, what: str, why: str) -> str:
    """Say that so many have no verdict; empty if these are few."""
    if number <= _TOLERATED * of:
        return ""
    return f"{number:,} of {of:,} {what} have no verdict: {why}"


def print_verdicts(name: str, verdicts: Sequence[Verdict]) -> None:
    """A line for each method."""
    for verdict in verdicts:
        out.print(f"{name}, {verdict}", markup=False)


def end_with(name: str, verdicts: Sequence[Verdict]) -> None:
    """Raise what the verdicts come to: something found counts most, then what has failed."""
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
