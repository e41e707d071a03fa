"""Define the runs that reproduce a paper, from experiments/PAPER/experiment.yaml."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from pmemsim.reproduce.facts import Fact
from pmemsim.workloads import WorkloadRun, find_workload

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
MEANS = ("geometric", "arithmetic", "of-sums")
"""Means over benchmarks: of the ratios, or the ratio of the sums."""
Settings = tuple[tuple[str, str], ...]
"""Parameters with their values, in order."""


@dataclass(frozen=True)
class Case:
    """A simulation: a recording on a design and a machine, with the settings beside them.

    A case may also be an analysis of a recording without simulated time, and has no design then.
    """

    run: WorkloadRun
    design: str | None
    machine: str
    settings: Settings


@dataclass(frozen=True)
class Benchmark:
    """One of the paper's benchmarks, with one size of its data."""

    name: str
    group: str
    """Name of the size, such as `2 KB`; figures separate the groups."""
    workload: str
    data_bytes: int | None
    regions_share: float
    """Share of the scale's regions; less than 1 where one region does the work of several."""
    items: int | None = None
    """Number of data items before the measured part; None: the workload's default."""
    mix: str | None = None
    """Operations of a map's regions; None: the workload's default."""
    log: str | None = None
    """The software log in its program; None: undo."""
    opt: str | None = None
    """The optimisation level of its recordings; None: the paper's."""
    whole_run: bool = False
    """Whether the paper's times are those of whole runs, set-up included."""
    beside: bool = False
    """Whether its group is an alternative reading of the paper, shown but not compared."""


@dataclass(frozen=True)
class Design:
    """The paper's name of a design, and the preset that implements it."""

    name: str
    preset: str
    settings: Settings
    redo_preset: str | None = None
    """The preset for programs with a redo log; None: the same preset."""
    hints: str | None = None
    """Source of its programs' pre-execution hints; None: their source code."""

    def preset_for(self, benchmark: Benchmark) -> str:
        """Return the preset that runs a benchmark's program."""
        return (self.redo_preset if benchmark.log == "redo" else None) or self.preset


@dataclass(frozen=True)
class Point:
    """A value of the parameter that an experiment varies."""

    name: str
    settings: Settings
    threads: int | None = None
    """Number of threads; None: the paper's.

    The total number of regions is the same at every point.
    """
    data_bytes: int | None = None
    """Size of the data of workloads that have this argument; None: the benchmarks'."""
    regions_factor: float = 1
    """Factor for the number of regions, relative to other points."""
    opt: str | None = None
    """The optimisation level of its recordings; None: the paper's."""

    @property
    def has_own_recordings(self) -> bool:
        """Return whether the point has recordings that other points don't have."""
        return (self.threads, self.data_bytes, self.opt) != (None, None, None)


@dataclass(frozen=True)
class Entry:
    """The measurement of one fact: a metric, one design over another, or the check of a shape."""

    fact: Fact
    of: str
    """The measured design; empty if recordings alone have the metric."""
    over: str
    """The design of comparison; empty if the entry is the metric itself."""
    shape: str
    """Name of a function of `shapes`; empty if the entry is a number."""
    at: Point | None = None
    """Point at which `of` is measured; None: the first point."""
    over_at: Point | None = None
    """Point at which `over` is measured; None: the first point."""
    benchmark: str | None = None
    """The only benchmark that counts; None: all."""
    metric: str | None = None
    """Metric of the entry; None: the experiment's."""
    mean: str = MEANS[0]
    """One of `MEANS`, for ratios; values always have the arithmetic mean."""
    less_one: bool = False
    """Whether the paper says by how much the ratio is above 1."""


@dataclass(frozen=True)
class Experiment:
    """One figure or study of the paper."""

    id: str
    title: str
    where: str
    metric: str
    designs: tuple[str, ...]
    """Designs of the experiment; a single one without a name if it only analyses recordings."""
    baseline: str
    """Design of the figures' baseline, at the first point; empty: the metric itself is shown."""
    machine: str | None
    """Machine of the experiment; None: the paper's."""
    settings: Settings
    varies: str
    varied: tuple[str, ...]
    """Designs that the settings of points apply to."""
    points: tuple[Point, ...]
    """At least one point, whose name is empty if nothing varies."""
    benchmarks: tuple[Benchmark, ...]
    """Benchmarks of the experiment: the paper's, or its own."""
    entries: tuple[Entry, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the experiment's own metric, and those of its entries."""
        others = [entry.metric for entry in self.entries if entry.metric]
        return tuple(dict.fromkeys([self.metric, *others]))


@dataclass(frozen=True)
class Ablation:
    """A named variation of experiments: the same entries, measured with changed settings."""

    id: str
    why: str
    of: tuple[str, ...]
    settings: Settings
    designs: dict[str, Design]
    """Designs that are run in the place of the paper's, by the paper's names."""
    threads: int | None
    regions_factor: float
    data_bytes: int | None
    items: int | None
    """Number of data items of the workloads before the measured part."""
    warm_up: int | None
    opt: str | None
    """The optimisation level of all recordings; None: the paper's."""
    whole_run: bool | None
    """Whether all benchmarks run as a whole; None: as in the paper."""
    metric: str | None
    without: tuple[str, ...]
    """Benchmarks that are excluded."""
    always: bool
    """Whether its experiments also measure it, and show it in one line."""


@dataclass(frozen=True)
class Paper:
    """Everything about one paper's reproduction."""

    name: str
    title: str
    machine: str
    settings: Settings
    """Settings of all experiments, whatever their machine."""
    threads: int
    instances: int
    seeds: tuple[int, ...]
    regions: dict[str, dict[str, int]]
    """Number of regions of all threads together, by scale and group."""
    warm_up: int
    """Regions before the measured part, of all threads together."""
    opt: str | None
    """The optimisation level of its recordings; None: pmemsim's default."""
    hints: str | None
    """Source of programs' pre-execution hints; None: their source code."""
    benchmarks: tuple[Benchmark, ...]
    designs: dict[str, Design]
    experiments: dict[str, Experiment]
    ablations: dict[str, Ablation]
    facts: dict[str, Fact]
    ablation: Ablation | None = None
    """The ablation that made this variation; None for the paper's own set-up."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the sizes of data, in the file's order."""
        return tuple(dict.fromkeys(benchmark.group for benchmark in self.benchmarks))

    def case(
        self, experiment: Experiment, design: str, point: Point, benchmark: Benchmark,
        seed: int, scale: Scale,
    ) -> Case:  # fmt: skip
        """Return the simulation behind one bar (or point) of an experiment's figure."""
        machine = experiment.machine or self.machine
        if not design:
            run = self._run(point, benchmark, seed, scale, self.hints)
            return Case(run, None, machine, ())
        chosen = self.designs[design]
        settings = {
            "run.instances": str(self.instances),
            **dict(self.settings),
            **dict(chosen.settings),
            **dict(experiment.settings),
            **dict(point.settings if design in experiment.varied else ()),
            **dict(self.ablation.settings if self.ablation else ()),
        }
        run = self._run(point, benchmark, seed, scale, chosen.hints or self.hints)
        return Case(run, chosen.preset_for(benchmark), machine, tuple(settings.items()))

    def _run(
        self, point: Point, benchmark: Benchmark, seed: int, scale: Scale, hints: str | None
    ) -> WorkloadRun:
        return WorkloadRun.of(
            benchmark.workload,
            opt=point.opt or benchmark.opt or self.opt,
            threads=point.threads or self.threads,
            regions=self._regions(benchmark, point, scale),
            data_bytes=(benchmark.data_bytes and point.data_bytes) or benchmark.data_bytes,
            seed=seed,
            items=(self.ablation.items if self.ablation else None) or benchmark.items,
            mix=benchmark.mix,
            warm_up=self._warm_up(benchmark, point),
            log=benchmark.log,
            hints=hints,
            whole_run=benchmark.whole_run,
        )

    def cases(self, experiment: Experiment, scale: Scale) -> list[Case]:
        """Return an experiment's simulations; none if the configuration determines its results."""
        if experiment.metric == "storage":
            return []
        return [
            self.case(experiment, design, point, benchmark, seed, scale)
            for benchmark in experiment.benchmarks
            for seed in self.seeds
            for point in experiment.points
            for design in experiment.designs
        ]

    def lines(self, experiment: Experiment) -> list[tuple[Paper, Experiment]]:
        """Return the variations of an experiment that are shown in one line each."""
        return [
            (ablated, ablated.experiments[experiment.id])
            for ablated in (self.ablated(each) for each in self.ablations.values() if each.always)
            if experiment.id in ablated.experiments
        ]

    def ablated(self, ablation: Ablation) -> Paper:
        """Return the same paper with the changes of the ablation."""
        factor = ablation.regions_factor
        return replace(
            self,
            ablation=ablation,
            threads=ablation.threads or self.threads,
            opt=ablation.opt or self.opt,
            benchmarks=_ablated(self.benchmarks, ablation),
            designs={**self.designs, **ablation.designs},
            regions={
                scale: {group: round(count * factor) for group, count in counts.items()}
                for scale, counts in self.regions.items()
            },
            experiments={
                name: replace(
                    experiment,
                    metric=ablation.metric or experiment.metric,
                    benchmarks=_ablated(experiment.benchmarks, ablation),
                )
                for name, experiment in self.experiments.items()
                if name in ablation.of
            },
            ablations={},
        )

    def _warm_up(self, benchmark: Benchmark, point: Point) -> int:
        if benchmark.whole_run:
            return 0
        ablated = self.ablation.warm_up if self.ablation else None
        warm_up = self.warm_up if ablated is None else ablated
        return round(warm_up * benchmark.regions_share * point.regions_factor)

    def _regions(self, benchmark: Benchmark, point: Point, scale: Scale) -> int:
        regions = self.regions[scale][benchmark.group]
        return max(1, round(regions * benchmark.regions_share * point.regions_factor))


def _ablated(benchmarks: tuple[Benchmark, ...], ablation: Ablation) -> tuple[Benchmark, ...]:
    def ablated(benchmark: Benchmark) -> Benchmark:
        if ablation.data_bytes and takes_data_bytes(benchmark.workload):
            benchmark = replace(benchmark, data_bytes=ablation.data_bytes)
        if ablation.opt:
            benchmark = replace(benchmark, opt=ablation.opt)
        if ablation.whole_run is not None:
            benchmark = replace(benchmark, whole_run=ablation.whole_run)
        return benchmark

    return tuple(
        ablated(benchmark)
        for benchmark in benchmarks
        if benchmark.name not in ablation.without and not (ablation.data_bytes and benchmark.beside)
    )


def takes_data_bytes(workload: str) -> bool:
    """Return whether a recording of the workload sets the size of a datum."""
    return "data_bytes" in find_workload(workload).arguments
