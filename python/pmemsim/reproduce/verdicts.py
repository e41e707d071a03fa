"""Compare the measured with the reported value of each entry."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from pmemsim.estimates import Estimate
from pmemsim.reproduce.facts import UNITS
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.plan import Benchmark, Entry, Experiment, Paper
from pmemsim.reproduce.shapes import SHAPES
from pmemsim.reproduce.storage import counted

TOLERANCE = 0.15
WITHIN, OFF, HOLDS, FAILS = "within 15%", "off", "holds", "fails"


@dataclass(frozen=True)
class Finding:
    """One fact of a paper, measured."""

    entry: Entry
    paper: Paper
    experiment: Experiment
    measured: float | None
    """The measured value; None for shapes."""
    ci95: float | None
    verdict: str
    seen: str
    """Measured numbers behind a shape, in words; empty for numbers."""
    groups: dict[str, Estimate]
    """The ratio of each size of the data; empty for shapes."""
    benchmarks: dict[str, float]
    """The ratio of each benchmark, mean of the seeds; empty for shapes."""

    @property
    def ratio(self) -> float | None:
        """Return the measured over the paper's value; None for shapes, and if the paper has 0."""
        value = self.entry.fact.value
        return self.measured / value if self.measured is not None and value else None


def verdict_of(measured: float, reported: float) -> str:
    """Return whether a value is within 15% of the paper's, or 0 if the paper's is 0."""
    if reported == 0:
        return WITHIN if measured == 0 else OFF
    deviation = round(abs(measured / reported - 1), 9)  # 0.85 is 15% below 1, in binary too
    return WITHIN if deviation <= TOLERANCE else OFF


def findings(measured: Measurements) -> list[Finding]:
    """Measure every entry of an experiment."""
    return [_finding(entry, measured) for entry in measured.experiment.entries]


def _finding(entry: Entry, measured: Measurements) -> Finding:
    where = (entry, measured.paper, measured.experiment)
    reported = entry.fact.value
    if reported is None:
        seen = SHAPES[entry.shape](measured)
        return Finding(*where, None, None, HOLDS if seen.holds else FAILS, seen.text, {}, {})
    found, groups, values = _value(entry, measured.by(entry.metric))
    benchmarks = {
        f"{benchmark.name} {benchmark.group}": statistics.fmean(of_seeds)
        for benchmark, of_seeds in values.items()
        if entry.benchmark in (None, benchmark.name)
    }
    if entry.less_one:
        found = found.less_one()
        groups = {group: ratio.less_one() for group, ratio in groups.items()}
        benchmarks = {name: ratio - 1 for name, ratio in benchmarks.items()}
    verdict = verdict_of(found.mean, reported)
    return Finding(*where, found.mean, found.ci95, verdict, "", groups, benchmarks)


def _value(
    entry: Entry, measured: Measurements
) -> tuple[Estimate, dict[str, Estimate], dict[Benchmark, list[float]]]:
    """Return the values of an entry: in total, for each size of data, and by benchmark."""
    if entry.over:
        which = (entry.of, entry.over, entry.at, entry.over_at)
        return (
            measured.ratio(*which, name=entry.benchmark, mean=entry.mean),
            measured.group_ratios(*which, name=entry.benchmark, mean=entry.mean),
            measured.ratios(*which),
        )
    if measured.experiment.metric == "storage":
        size = sum(structure.bytes for structure in counted(measured.paper))
        return Estimate(size / UNITS[entry.fact.unit or "B"], 0), {}, {}
    return (
        measured.count(entry.of, entry.at, entry.benchmark), {},
        measured.counts(entry.of, entry.at),
    )  # fmt: skip
