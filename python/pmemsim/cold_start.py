"""Find runs that are too short for their caches to become warm, by comparing their halves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pmemsim.simulation import Result

_MOST_SLOWER = 1.05
"""A first half that is slower than the second by more than this factor is a cold start."""
_TOLERATED = 0.02
"""Share of a run's time that a cold start may cost."""


@dataclass(frozen=True)
class ColdStart:
    """A run whose first half took longer than its second."""

    result: Result
    slower: float
    """Time of the first half of the operations over the time of the second half."""

    @property
    def enough_regions(self) -> int | None:
        """Return a number of regions with which the start is 2% of the time; None: no regions.

        The start costs what the first half takes longer than the second. Caches that are still cold
        in the second half make this cost too small, so that the number is a lower bound.
        """
        if not self.result.regions:
            return None
        share = (self.slower - 1) / (self.slower + 1)
        exact = self.result.regions * share / _TOLERATED
        digits = max(1, int(10 ** (math.floor(math.log10(exact)) - 1)))
        return math.ceil(exact / digits) * digits

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that docs/reference/results.md explains."""
        return {
            "workload": self.result.workload,
            "design": self.result.design,
            "first_half_over_second": self.slower,
            "enough_regions": self.enough_regions,
        }

    def sentence(self, design: str | None = None) -> str:
        """Return a warning that says how long a run would be warm; `design` is its shown name."""
        regions, name = self.enough_regions, design or self.result.design
        cure = f"use at least {regions:,} regions" if regions else "record a longer run"
        return (
            f"{self.result.workload} on {name}: the first half of the run took "
            f"{self.slower:.2f} times as long as the second, so that it measures cold caches; "
            f"{cure}, or a warm-up (--warm-up)"
        )


def cold_starts(results: Iterable[Result]) -> list[ColdStart]:
    """Return the cold starts of each workload: the slowest first half on any of the designs."""
    slowest: dict[str, ColdStart] = {}
    for result in results:
        start = ColdStart(result, _slower(result))
        known = slowest.get(result.workload)
        if start.slower > (known.slower if known else _MOST_SLOWER):
            slowest[result.workload] = start
    return list(slowest.values())


def _slower(result: Result) -> float:
    times = {statistic.name: statistic.value for statistic in result.statistics}
    first = times["core.first_half_ns"]
    second = times["stall.total_ns"] - first
    return first / second if second > 0 else 1.0
