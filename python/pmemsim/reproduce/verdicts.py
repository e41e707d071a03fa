"""Measured against reported: an entry's numbers and what to say of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from pmemsim.reproduce.estimates import Estimate
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.plan import Entry, Experiment, Paper
from pmemsim.reproduce.shapes import SHAPES
from pmemsim.reproduce.storage import storage

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
        """Measured over the paper's value; None for shapes, and where the paper has 0."""
        value = self.entry.fact.value
        return self.measured / value if self.measured is not None and value else None


def verdict_of(measured: float, reported: float) -> str:
    """Whether a value is within 15% of the paper's; where that is 0, whether it is 0, too."""
    if reported == 0:
        return WITHIN if measured == 0 else OFF
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
    groups: dict[str, Estimate] = {}
    if entry.over:
        which = (entry.of, entry.over, entry.at, entry.over_at)
        found = measured.ratio(*which, name=entry.benchmark)
        groups = measured.group_ratios(*which, name=entry.benchmark)
        values = measured.ratios(*which)
    elif measured.experiment.metric == "storage":
        found = Estimate(sum(structure.bytes for structure in storage(measured.paper)), 0)
        values = {}
    else:
        found = measured.count(entry.of, entry.benchmark)
        values = measured.counts(entry.of)
    benchmarks = {
        f"{benchmark.name} {benchmark.group}": statistics.fmean(of_seeds)
        for benchmark, of_seeds in values.items()
        if entry.benchmark in (None, benchmark.name)
    }
    verdict = verdict_of(found.mean, reported)
    return Finding(*where, found.mean, found.ci95, verdict, "", groups, benchmarks)
