"""Describe the instructions of a run that are estimates, since their code is not instrumented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmemsim.simulation import Result
from pmemsim.unrecorded import counted

WARNED_SHARE = 0.05
DOCS = "docs/reference/recordings.md#code-without-instrumentation"
MOST_NAMED = 4


def share_of(result: Result) -> float:
    """Return the share of the run's instructions that are estimates."""
    return _statistic(result, "core.external_instructions") / max(1, result.instructions)


def described(external: float, unknown: float, instructions: float) -> str:
    """Describe how many instructions are estimates, and how many of these of unknown cost."""
    of_all = max(1.0, instructions)
    text = f"{external / of_all:.1%}, estimated"
    return f"{text}; {unknown / of_all:.1%} in functions of unknown cost" if unknown else text


def described_run(result: Result) -> str:
    """Describe a run's estimates."""
    unknown = _statistic(result, "core.unknown_instructions")
    return described(_statistic(result, "core.external_instructions"), unknown, result.instructions)


def warning(name: str, share: float, metadata: Mapping[str, Any]) -> str:
    """Return a warning about a recording with many estimates; empty if they are few."""
    if share <= WARNED_SHARE:
        return ""
    unknown = ", ".join(named_functions(metadata, MOST_NAMED))
    cause = f", and the cost of these functions is unknown: {unknown}" if unknown else ""
    return (
        f"pmemsim: warning: {name}: {share:.0%} of the instructions are estimates without memory "
        f"accesses, because their code is not instrumented{cause}; compile it with pmemsim-cc if "
        f"you can ({DOCS})"
    )


def named_functions(metadata: Mapping[str, Any], most: int) -> list[str]:
    """Return the most called functions of unknown cost, with their calls."""
    functions = metadata.get("unknown_functions", [])
    named = [f"{each['name']} ({counted(each['calls'], 'call')})" for each in functions[:most]]
    return [*named, *(["others"] if len(functions) > most else [])]


def _statistic(result: Result, name: str) -> float:
    return next(each.value for each in result.statistics if each.name == name)
