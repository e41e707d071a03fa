"""Compare the measured with the reported value of each entry, in both columns, and count."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pmemsim.errors import Error
from pmemsim.estimates import Estimate
from pmemsim.reproduction.facts import UNITS
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.plan import Benchmark, Entry, Experiment, Paper
from pmemsim.reproduction.shapes import SHAPES
from pmemsim.reproduction.storage import counted

TOLERANCE, NARROW_TOLERANCE = 0.15, 0.10
WITHIN, OFF, HOLDS, FAILS = "within 15%", "off", "holds", "fails"
USED = "used for inference"
"""The verdict on an entry from which a property of a workload was inferred: it never counts."""
NOT_COMPARED = "not compared"
"""The verdict on every entry at the scale `smoke`."""


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
    def deviates(self) -> bool:
        """Return whether the paper's value or shape was not reproduced."""
        return self.verdict in (OFF, FAILS)

    @property
    def ratio(self) -> float | None:
        """Return the measured over the paper's value; None for shapes, and if the paper has 0."""
        value = self.entry.fact.value
        return self.measured / value if self.measured is not None and value else None


@dataclass(frozen=True)
class Compared:
    """An entry in both columns."""

    counted: Finding
    """The value that the entry counts by: as measured, or an ablation's."""
    described: Finding | None
    """The value of what the paper describes; None for an ablation."""

    @property
    def entry(self) -> Entry:
        """Return the entry."""
        return self.counted.entry


@dataclass(frozen=True)
class Counts:
    """How many entries are reproduced, by their values as measured."""

    values: int
    within_15: int
    within_10: int
    shapes: int
    hold: int
    explained: int
    """Entries that deviate for a reason that an ablation shows."""
    unexplained: int
    used: int
    """Entries that don't count, since a workload's property was inferred from them."""


def counts(rows: Sequence[Compared]) -> Counts:
    """Count the entries of experiments, without those of ablations and of the scale `smoke`."""
    found = [
        row.counted
        for row in rows
        if row.counted.paper.ablation is None and row.counted.verdict != NOT_COMPARED
    ]
    counted = [finding for finding in found if finding.verdict != USED]
    values = [finding for finding in counted if finding.entry.fact.value is not None]
    deviating = [finding for finding in counted if finding.deviates]
    explained = sum(finding.entry.cause is not None for finding in deviating)
    return Counts(
        values=len(values),
        within_15=sum(_is_within(finding, TOLERANCE) for finding in values),
        within_10=sum(_is_within(finding, NARROW_TOLERANCE) for finding in values),
        shapes=len(counted) - len(values),
        hold=sum(finding.verdict == HOLDS for finding in counted),
        explained=explained,
        unexplained=len(deviating) - explained,
        used=len(found) - len(counted),
    )


def _is_within(finding: Finding, tolerance: float) -> bool:
    value = finding.entry.fact.value
    assert finding.measured is not None
    assert value is not None
    return deviation(finding.measured, value) <= tolerance


def deviation(measured: float, reported: float) -> float:
    """Return by which share of the paper's value the measured one differs; infinite from a 0."""
    if reported == 0:
        return 0.0 if measured == 0 else math.inf
    return round(abs(measured / reported - 1), 9)  # 0.85 is 15% below 1, in binary too


def verdict_of(measured: float, reported: float) -> str:
    """Return whether a value is within 15% of the paper's, or 0 if the paper's is 0."""
    return WITHIN if deviation(measured, reported) <= TOLERANCE else OFF


def compare(counted: Measurements, described: Measurements | None) -> list[Compared]:
    """Measure every entry of an experiment in both columns, or in an ablation's alone."""
    others = findings(described) if described else [None for _ in counted.experiment.entries]
    return [Compared(one, other) for one, other in zip(findings(counted), others, strict=True)]


def findings(measured: Measurements) -> list[Finding]:
    """Measure every entry of an experiment."""
    return [_finding(entry, measured) for entry in measured.experiment.entries]


def _finding(entry: Entry, measured: Measurements) -> Finding:
    where = (entry, measured.paper, measured.experiment)
    if measured.scale != "smoke":
        finding = _compared(entry, measured)
        return replace(finding, verdict=USED) if entry.used else finding
    try:
        return replace(_compared(entry, measured), verdict=NOT_COMPARED)
    except (Error, ArithmeticError, ValueError) as error:  # so few regions may have no value
        return Finding(*where, None, None, NOT_COMPARED, str(error), {}, {})


def _compared(entry: Entry, measured: Measurements) -> Finding:
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
