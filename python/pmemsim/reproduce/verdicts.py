"""Measured against reported: an entry's numbers and what to say of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from pmemsim.reproduce.estimates import Estimate
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.plan import Entry, Experiment, Paper
from pmemsim.reproduce.shapes import SHAPES

TOLERANCE = 0.15
WITHIN, OFF, HOLDS, FAILS = "within 15%", "off", "holds", "fails"


@dataclass(frozen=True)
class Finding:
    """One fact of a paper, measured."""

    entry: Entry
    paper: Paper
    experiment: Experiment
    measured: float | None
    """None for shapes."""
    ci95: float | None
    verdict: str
    seen: str
    """What was seen of a shape, in words; empty for numbers."""
    groups: dict[str, Estimate]
    """The ratio of each size of the data; empty for shapes."""
    benchmarks: dict[str, float]
    """The ratio of each benchmark, mean of the seeds; empty for shapes."""

    @property
    def ratio(self) -> float | None:
        """Measured over the paper's value."""
        value = self.entry.fact.value
        return self.measured / value if self.measured is not None and value else None


def verdict_of(measured: float, reported: float) -> str:
    """Whether a value is within 15% of the paper's."""
    deviation = round(abs(measured / reported - 1), 9)  # 0.85 is 15% below 1, in binary too
    return WITHIN if deviation <= TOLERANCE else OFF


def findings(measured: Measurements) -> list[Finding]:
    """Every entry of an experiment, measured."""
    return [_finding(entry, measured) for entry in measured.experiment.entries]


def _finding(entry: Entry, measured: Measurements) -> Finding:
    where = (entry, measured.paper, measured.experiment)
    reported = entry.fact.value
    if reported is None:
        seen = SHAPES[entry.shape](measured)
        return Finding(*where, None, None, HOLDS if seen.holds else FAILS, seen.text, {}, {})
    ratio = measured.ratio(entry.of, entry.over)
    benchmarks = {
        f"{benchmark.name} {benchmark.group}": statistics.fmean(values)
        for benchmark, values in measured.ratios(entry.of, entry.over).items()
    }
    verdict = verdict_of(ratio.mean, reported)
    groups = measured.group_ratios(entry.of, entry.over)
    return Finding(*where, ratio.mean, ratio.ci95, verdict, "", groups, benchmarks)
