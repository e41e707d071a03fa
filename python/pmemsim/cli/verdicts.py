"""The verdicts of the methods of `pmemsim check`, and the resulting exit code."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.checking.verdicts import Verdict
from pmemsim.cli.console import err, out
from pmemsim.errors import CheckFailed, ConfigError, Undecided


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
