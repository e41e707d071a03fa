"""Compute the ratios of one experiment: a design over another, by benchmark and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean

from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.jobs import Outcome
from pmemsim.reproduction.metrics import METRICS
from pmemsim.reproduction.plan import MEANS, Benchmark, Case, Experiment, Paper, Point, Scale


@dataclass(frozen=True)
class Measurements:
    """An experiment with the results of its simulations."""

    paper: Paper
    experiment: Experiment
    scale: Scale
    outcomes: Mapping[Case, Outcome]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what tells measurements apart: paper, experiment, column and ablation."""
        return self.paper.key_of(self.experiment)

    def equals(self, other: Measurements) -> bool:
        """Return whether the other variation has the same simulations and the same metric."""
        mine, others = ((each.experiment.metric, each.outcomes.keys()) for each in (self, other))
        return mine == others

    @property
    def runs(self) -> list[tuple[str, Point, Benchmark, int]]:
        """Return the design, point, benchmark and seed of each simulation."""
        experiment = self.experiment
        return [
            (design, point, benchmark, seed)
            for design in experiment.designs
            for point in experiment.points
            for benchmark in experiment.benchmarks
            for seed in self.paper.seeds
        ]

    def case(self, design: str, point: Point, benchmark: Benchmark, seed: int) -> Case:
        """Return one simulation."""
        return self.paper.case(self.experiment, design, point, benchmark, seed, self.scale)

    def outcome(self, design: str, point: Point, benchmark: Benchmark, seed: int) -> Outcome:
        """Return the result of one simulation."""
        return self.outcomes[self.case(design, point, benchmark, seed)]

    def value(self, design: str, point: Point, benchmark: Benchmark, seed: int) -> float | None:
        """Return the experiment's metric of one simulation."""
        metric = METRICS[self.experiment.metric]
        return metric.of(self.outcome(design, point, benchmark, seed))

    def ratios(
        self, of: str, over: str, of_point: Point | None = None, over_point: Point | None = None
    ) -> dict[Benchmark, list[float]]:
        """Return one ratio a seed, of every benchmark that has the metric on both designs."""
        first = self.experiment.points[0]
        found = {}
        for benchmark in self.experiment.benchmarks:
            pairs = [
                (
                    self.value(of, of_point or first, benchmark, seed),
                    self.value(over, over_point or first, benchmark, seed),
                )
                for seed in self.paper.seeds
            ]
            ratios = [a / b for a, b in pairs if a and b]
            if len(ratios) == len(pairs):
                found[benchmark] = ratios
        if not found:
            raise Error(
                f"{self.paper.name} {self.experiment.id}: no benchmark has a "
                f"{METRICS[self.experiment.metric].label} on both {of} and {over}"
            )
        return found

    def ratio(
        self, of: str, over: str, of_point: Point | None = None, over_point: Point | None = None,
        group: str | None = None, name: str | None = None, mean: str = MEANS[0],
    ) -> Estimate:  # fmt: skip
        """Return the mean over the benchmarks, then over the seeds.

        The mean covers one group or all compared groups, and the named benchmark or all.
        """
        ratios = self.ratios(of, over, of_point, over_point)
        chosen = [
            benchmark
            for benchmark in ratios
            if (benchmark.group == group if group else not benchmark.beside)
            and name in (None, benchmark.name)
        ]
        if not chosen:
            raise Error(
                f"{self.paper.name} {self.experiment.id}: only benchmarks outside the comparison "
                f"have a {METRICS[self.experiment.metric].label} on both {of} and {over}"
            )
        if mean == "of-sums":
            sums = (
                self._sums(design, point, chosen)
                for design, point in ((of, of_point), (over, over_point))
            )
            return estimate([a / b for a, b in zip(*sums, strict=True)])
        average = geometric_mean if mean == "geometric" else fmean
        by_seed = zip(*(ratios[benchmark] for benchmark in chosen), strict=True)
        return estimate([average(of_seed) for of_seed in by_seed])

    def _sums(self, design: str, point: Point | None, of: Sequence[Benchmark]) -> list[float]:
        """Return the sum of the metric over these benchmarks, one value a seed."""
        counts = self.counts(design, point)
        return [sum(of_seed) for of_seed in zip(*(counts[one] for one in of), strict=True)]

    def group_ratios(
        self, of: str, over: str, of_point: Point | None = None, over_point: Point | None = None,
        name: str | None = None, mean: str = MEANS[0],
    ) -> dict[str, Estimate]:  # fmt: skip
        """Return the value of `ratio` for every group, by the group's name."""
        found = {
            benchmark.group
            for benchmark in self.ratios(of, over, of_point, over_point)
            if name in (None, benchmark.name)
        }
        return {
            group: self.ratio(of, over, of_point, over_point, group, name, mean)
            for group in self.paper.groups
            if group in found
        }

    def counts(
        self, of: str, point: Point | None = None, name: str | None = None
    ) -> dict[Benchmark, list[float]]:
        """Return the metric itself, one value a seed, of one benchmark, or of all that have it."""
        found = {}
        at = point or self.experiment.points[0]
        for benchmark in self.experiment.benchmarks:
            if name not in (None, benchmark.name):
                continue
            values = [self.value(of, at, benchmark, seed) for seed in self.paper.seeds]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                found[benchmark] = known
        if not found:
            raise Error(
                f"{self.paper.name} {self.experiment.id}: {of or 'the recording'} has no "
                f"{METRICS[self.experiment.metric].label}"
            )
        return found

    def count(self, of: str, point: Point | None = None, name: str | None = None) -> Estimate:
        """Return the arithmetic mean over benchmarks, then over seeds; the metric may be 0."""
        counts = [values for b, values in self.counts(of, point, name).items() if not b.beside]
        return estimate([fmean(of_seed) for of_seed in zip(*counts, strict=True)])

    def by(self, metric: str | None) -> Measurements:
        """Return the same experiment measured by another metric; None: by the experiment's own."""
        experiment = replace(self.experiment, metric=metric or self.experiment.metric)
        return replace(self, experiment=experiment)
