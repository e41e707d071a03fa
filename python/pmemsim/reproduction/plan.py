"""Define the runs that reproduce a paper, from experiments/PAPER/experiment.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pmemsim.reproduction.facts import Fact
from pmemsim.workload_runs import WorkloadRun, find_workload, workload_run

Scale = Literal["quick", "paper", "smoke"]
SCALES: tuple[Scale, ...] = get_args(Scale)
WRITTEN_SCALES: tuple[Scale, ...] = ("quick", "paper")
"""Scales whose numbers of regions are in the paper's file."""
SMOKE_SHARE = 1 / 40
"""Share of quick's regions, warm-up and data items that the scale `smoke` runs, with one seed."""
SMOKE_ITEMS = 64
"""Number of data items that the scale `smoke` doesn't reduce further."""
Column = Literal["as measured", "as described"]
"""As measured: the machine, rules and programs that the paper's figures came from, even where they
are unsound. As described: the rules of its text, which are the presets that users get."""
MEASURED: Column = "as measured"
DESCRIBED: Column = "as described"
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
    compute_instructions: int = 0
    """Instructions that each region executes in addition, without accessing PM."""
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
    compute_instructions: int | None = None
    """Additional instructions of each region; None: the benchmarks'."""

    @property
    def has_own_recordings(self) -> bool:
        """Return whether the point has recordings that other points don't have."""
        own = (self.threads, self.data_bytes, self.opt, self.compute_instructions)
        return own != (None, None, None, None)


@dataclass(frozen=True)
class Cause:
    """Why an entry differs from the paper, and the ablations that show it."""

    of: str
    tries: tuple[str, ...]


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
    used: str = ""
    """The property of a workload that was inferred from the paper's value, which is then never
    counted as reproduced; empty: none."""
    cause: Cause | None = None
    """Why the entry is off; None: it isn't, or the reason is unknown."""


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


Computation = Mapping[tuple[str, str], int]
"""Additional instructions of each region, by group and benchmark; of all others, by `OTHERS`."""
OTHERS = ("", "")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A variation of experiments: the same entries, measured with changed settings or programs."""

    id: str
    why: str
    of: tuple[str, ...]
    settings: Settings
    """Parameters that take precedence over those of designs, experiments and points."""
    points: Mapping[str, Settings]
    """Parameters of points, by their names, that take precedence over these settings."""
    on: tuple[str, ...]
    """Designs that the settings apply to, unless a later change replaces them; empty: all."""
    designs: dict[str, Design]
    """Designs that are run in the place of the paper's, by the paper's names."""
    benchmarks: tuple[Benchmark, ...]
    """Benchmarks that are run in the place of those with the same name and group."""
    machine: str | None
    threads: int | None
    regions_factor: float
    data_bytes: int | None
    items: int | None
    """Number of data items of the workloads before the measured part."""
    compute_instructions: Computation
    warm_up: int | None
    opt: str | None
    """The optimisation level of all recordings; None: the paper's."""
    whole_run: bool | None
    """Whether all benchmarks run as a whole; None: as in the paper."""
    metric: str | None
    without: tuple[str, ...]
    """Benchmarks that are excluded."""


@dataclass(frozen=True, kw_only=True)
class Difference(Change):
    """A difference between what a paper measured and what it describes."""

    source: str


@dataclass(frozen=True, kw_only=True)
class Ablation(Change):
    """A named variation that shows what a mechanism, a choice or a deviation costs."""

    always: bool
    """Whether its experiments also measure it, and show it in one line."""
    column: Column
    """The column that it varies."""
    used: tuple[str, ...]
    """Entries that a property of its workloads was inferred from; it predicts the others alone."""


@dataclass(frozen=True)
class Paper:
    """Everything about one paper's reproduction."""

    name: str
    given: str
    """The name, or the folder's path, of the paper on the command line."""
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
    as_measured: tuple[Difference, ...]
    ablations: dict[str, Ablation]
    facts: dict[str, Fact]
    changes: tuple[Change, ...] = ()
    """Changes that made this variation, the strongest last; none for what the paper describes."""
    column: Column = DESCRIBED
    """The column that this variation belongs to."""
    ablation: Ablation | None = None
    """The ablation that made this variation; None for one of the two columns."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the sizes of data, in the file's order."""
        return tuple(dict.fromkeys(benchmark.group for benchmark in self.benchmarks))

    def key_of(self, experiment: Experiment) -> tuple[str, str, str, str]:
        """Return what tells this variation of an experiment from others."""
        ablation = self.ablation.id if self.ablation else ""
        return self.name, experiment.id, self.column, ablation

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
        }
        settings |= self._overrides(design, point)
        run = self._run(point, benchmark, seed, scale, chosen.hints or self.hints)
        return Case(run, chosen.preset_for(benchmark), machine, tuple(settings.items()))

    def _overrides(self, design: str, point: Point) -> dict[str, str]:
        """Return the settings of the changes, without those for a design that was replaced."""
        settings: dict[str, str] = {}
        for number, change in enumerate(self.changes, 1):
            is_replaced = any(design in later.designs for later in self.changes[number:])
            if not change.on or (design in change.on and not is_replaced):
                settings |= dict(change.settings) | dict(change.points.get(point.name, ()))
        return settings

    def _run(
        self, point: Point, benchmark: Benchmark, seed: int, scale: Scale, hints: str | None
    ) -> WorkloadRun:
        return workload_run(
            benchmark.workload,
            opt=point.opt or benchmark.opt or self.opt,
            threads=point.threads or self.threads,
            regions=self._regions(benchmark, point, scale),
            data_bytes=(benchmark.data_bytes and point.data_bytes) or benchmark.data_bytes,
            seed=seed,
            items=benchmark.items,
            mix=benchmark.mix,
            compute_instructions=_computation(benchmark, point.compute_instructions),
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

    def in_column(self, experiment: str, column: Column) -> Paper:
        """Return the variation with this experiment alone, as it is measured or described."""
        differences = self.as_measured if column == MEASURED else ()
        changed = self._with([each for each in differences if experiment in each.of])
        alone = {experiment: changed.experiments[experiment]}
        return replace(changed, column=column, experiments=alone)

    def ablated(self, ablation: Ablation, experiment: str) -> Paper:
        """Return the ablation's variation with this experiment alone."""
        changed = self.in_column(experiment, ablation.column)._with([ablation])
        study = changed.experiments[experiment]
        entries = [
            replace(entry, used=ablation.why) if entry.fact.id in ablation.used else entry
            for entry in study.entries
        ]
        study = replace(study, entries=tuple(entries))
        return replace(changed, ablation=ablation, experiments={experiment: study})

    def for_smoke(self) -> Paper:
        """Return the same paper with one seed, a short warm-up and small data sets."""
        return replace(
            self,
            seeds=self.seeds[:1],
            warm_up=round(self.warm_up * SMOKE_SHARE),
            benchmarks=_smaller(self.benchmarks),
            experiments={
                name: replace(experiment, benchmarks=_smaller(experiment.benchmarks))
                for name, experiment in self.experiments.items()
            },
        )

    def _with(self, changes: Sequence[Change]) -> Paper:
        paper = self
        for change in changes:
            paper = paper._changed(change)
        return paper

    def _changed(self, change: Change) -> Paper:
        return replace(
            self,
            changes=(*self.changes, change),
            machine=change.machine or self.machine,
            threads=change.threads or self.threads,
            warm_up=self.warm_up if change.warm_up is None else change.warm_up,
            opt=change.opt or self.opt,
            benchmarks=_changed(self.benchmarks, change),
            designs={**self.designs, **change.designs},
            regions={
                scale: {
                    group: round(count * change.regions_factor) for group, count in counts.items()
                }
                for scale, counts in self.regions.items()
            },
            experiments={
                name: replace(
                    experiment,
                    metric=change.metric or experiment.metric,
                    benchmarks=_changed(experiment.benchmarks, change),
                )
                for name, experiment in self.experiments.items()
            },
        )

    def _warm_up(self, benchmark: Benchmark, point: Point) -> int:
        if benchmark.whole_run:
            return 0
        return round(self.warm_up * benchmark.regions_share * point.regions_factor)

    def _regions(self, benchmark: Benchmark, point: Point, scale: Scale) -> int:
        regions = self.regions[scale][benchmark.group]
        return max(1, round(regions * benchmark.regions_share * point.regions_factor))


def _changed(benchmarks: tuple[Benchmark, ...], change: Change) -> tuple[Benchmark, ...]:
    others = {(benchmark.name, benchmark.group): benchmark for benchmark in change.benchmarks}

    def changed(benchmark: Benchmark) -> Benchmark:
        benchmark = others.get((benchmark.name, benchmark.group), benchmark)
        if change.data_bytes and takes_data_bytes(benchmark.workload):
            benchmark = replace(benchmark, data_bytes=change.data_bytes)
        if change.whole_run is not None:
            benchmark = replace(benchmark, whole_run=change.whole_run)
        return replace(
            benchmark,
            opt=change.opt or benchmark.opt,
            items=change.items or benchmark.items,
            compute_instructions=_computation(
                benchmark,
                change.compute_instructions.get(
                    (benchmark.group, benchmark.name), change.compute_instructions.get(OTHERS)
                ),
            ),
        )

    return tuple(
        changed(benchmark)
        for benchmark in benchmarks
        if benchmark.name not in change.without and not (change.data_bytes and benchmark.beside)
    )


def _computation(benchmark: Benchmark, changed: int | None) -> int:
    """Return the additional instructions of each region, changed if the program has regions."""
    if changed is None or not takes_computation(benchmark.workload):
        return benchmark.compute_instructions
    return changed


def _smaller(benchmarks: tuple[Benchmark, ...]) -> tuple[Benchmark, ...]:
    """Return the benchmarks with the items of the scale `smoke`."""

    def items(of: Benchmark) -> int | None:
        return of.items and min(of.items, max(SMOKE_ITEMS, round(of.items * SMOKE_SHARE)))

    return tuple(replace(each, items=items(each)) for each in benchmarks)


def takes_data_bytes(workload: str) -> bool:
    """Return whether a recording of the workload sets the size of a datum."""
    return "data_bytes" in find_workload(workload).arguments


def takes_computation(workload: str) -> bool:
    """Return whether the workload has atomic regions, which can compute in addition."""
    return find_workload(workload).atomic_regions
