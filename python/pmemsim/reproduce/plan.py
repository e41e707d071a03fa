"""What is run to reproduce a paper: experiments/PAPER/experiment.yaml."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from pmemsim.errors import Error, did_you_mean
from pmemsim.reproduce.facts import Fact, load_facts
from pmemsim.workloads import WorkloadRun, find_workload

Scale = Literal["quick", "paper"]
Settings = tuple[tuple[str, str], ...]
"""Parameters with their values, in an order of their own."""


@dataclass(frozen=True)
class Case:
    """One simulation: a recording on a design and a machine, with what is set beside them."""

    run: WorkloadRun
    design: str
    machine: str
    settings: Settings


@dataclass(frozen=True)
class Benchmark:
    """One of the paper's benchmarks, with one size of its data."""

    name: str
    group: str
    """The size's name, such as `2 KB`; figures keep the groups apart."""
    workload: str
    data_bytes: int | None
    regions_share: float
    """Of the scale's regions; less than 1 where one region does the work of several."""


@dataclass(frozen=True)
class Design:
    """What the paper calls a design, and the preset that stands for it."""

    name: str
    preset: str
    settings: Settings


@dataclass(frozen=True)
class Point:
    """One value of what an experiment varies."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class Entry:
    """How an experiment measures one fact: one design over another, or a shape's check."""

    fact: Fact
    of: str
    over: str
    shape: str
    """A function of `shapes`; empty if the entry is a ratio."""


@dataclass(frozen=True)
class Experiment:
    """One figure or study of the paper."""

    id: str
    title: str
    where: str
    metric: str
    designs: tuple[str, ...]
    baseline: str
    """What figures normalise to, at the first point."""
    settings: Settings
    varies: str
    points: tuple[Point, ...]
    """At least one, whose name is empty if nothing varies."""
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Ablation:
    """A named variation of experiments: the same entries with something else different."""

    id: str
    why: str
    of: tuple[str, ...]
    settings: Settings
    threads: int | None
    regions_factor: float
    data_bytes: int | None
    items: int | None
    """Of the workloads' data before the measured part."""
    metric: str | None
    without: tuple[str, ...]
    """Benchmarks that are left out."""


@dataclass(frozen=True)
class Paper:
    """Everything about one paper's reproduction."""

    name: str
    title: str
    machine: str
    settings: Settings
    """Of the machine; the same in all experiments."""
    threads: int
    instances: int
    seeds: tuple[int, ...]
    regions: dict[str, dict[str, int]]
    """By scale and group, of all threads together."""
    benchmarks: tuple[Benchmark, ...]
    designs: dict[str, Design]
    experiments: dict[str, Experiment]
    ablations: dict[str, Ablation]
    facts: dict[str, Fact]
    ablation: Ablation | None = None
    """What differs from the paper's own set-up, if this is a variation."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The sizes of data, in the file's order."""
        return tuple(dict.fromkeys(benchmark.group for benchmark in self.benchmarks))

    def case(
        self, experiment: Experiment, design: str, point: Point, benchmark: Benchmark,
        seed: int, scale: Scale,
    ) -> Case:  # fmt: skip
        """The simulation behind one bar (or point) of an experiment's figure."""
        chosen = self.designs[design]
        settings = {
            "run.instances": str(self.instances),
            **dict(self.settings),
            **dict(chosen.settings),
            **dict(experiment.settings),
            **dict(point.settings),
            **dict(self.ablation.settings if self.ablation else ()),
        }
        run = WorkloadRun.of(
            benchmark.workload,
            threads=self.threads,
            regions=self._regions(benchmark, scale),
            data_bytes=benchmark.data_bytes,
            seed=seed,
            items=self.ablation.items if self.ablation else None,
        )
        return Case(run, chosen.preset, self.machine, tuple(settings.items()))

    def cases(self, experiment: Experiment, scale: Scale) -> list[Case]:
        """All simulations of an experiment; none if it is computed from the configuration."""
        if experiment.metric == "storage":
            return []
        return [
            self.case(experiment, design, point, benchmark, seed, scale)
            for benchmark in self.benchmarks
            for seed in self.seeds
            for point in experiment.points
            for design in experiment.designs
        ]

    def ablated(self, ablation: Ablation) -> Paper:
        """The same paper with what the ablation changes."""
        factor = ablation.regions_factor
        return replace(
            self,
            ablation=ablation,
            threads=ablation.threads or self.threads,
            benchmarks=tuple(
                replace(benchmark, data_bytes=ablation.data_bytes)
                if ablation.data_bytes and _takes_data_bytes(benchmark.workload)
                else benchmark
                for benchmark in self.benchmarks
                if benchmark.name not in ablation.without
            ),
            regions={
                scale: {group: round(count * factor) for group, count in counts.items()}
                for scale, counts in self.regions.items()
            },
            experiments={
                name: replace(experiment, metric=ablation.metric or experiment.metric)
                for name, experiment in self.experiments.items()
                if name in ablation.of
            },
            ablations={},
        )

    def _regions(self, benchmark: Benchmark, scale: Scale) -> int:
        return max(1, round(self.regions[scale][benchmark.group] * benchmark.regions_share))


def experiments_dir() -> Path:
    """The folder of the papers' experiments."""
    return Path(str(resources.files("pmemsim"))) / "experiments"


def paper_names() -> list[str]:
    """The papers that can be reproduced."""
    return sorted(path.parent.name for path in experiments_dir().glob("*/experiment.yaml"))


def is_paper(text: str) -> bool:
    """Whether this names a paper (`asap`), or the folder of one (`./mine`)."""
    return "/" in text or text in paper_names()


@cache
def load_paper(name: str) -> Paper:
    """A paper by its name, or by the path of a folder with experiment.yaml and expected.yaml.

    Raises an `Error` that says what is wrong.
    """
    if not is_paper(name):
        raise Error(f"unknown paper '{name}'" + did_you_mean(name, paper_names()))
    folder = Path(name) if "/" in name else experiments_dir() / name
    try:
        return _paper(folder)
    except KeyError as error:
        raise Error(f"{folder}: {error} is missing or not declared") from error
    except (OSError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise Error(f"{folder}: experiment.yaml or expected.yaml can't be read: {error}") from error


def _paper(folder: Path) -> Paper:
    facts = load_facts(folder / "expected.yaml")
    plan: dict[str, Any] = yaml.safe_load((folder / "experiment.yaml").read_text(encoding="utf-8"))
    return Paper(
        name=plan["paper"],
        title=plan["title"],
        machine=plan["machine"]["value"],
        settings=_settings(plan["machine"].get("set")),
        threads=plan["threads"]["value"],
        instances=plan["instances"]["value"],
        seeds=tuple(plan["seeds"]),
        regions=plan["scales"],
        benchmarks=tuple(
            _benchmark(benchmark, group, details, size.get("data_bytes"))
            for group, size in plan["groups"].items()
            for benchmark, details in plan["benchmarks"].items()
        ),
        designs={
            design: Design(design, details["preset"], _settings(details.get("set")))
            for design, details in plan["designs"].items()
        },
        experiments={
            experiment: _experiment(experiment, details, facts)
            for experiment, details in plan["experiments"].items()
        },
        ablations={
            ablation: Ablation(
                ablation,
                details["why"],
                tuple(details["of"]),
                _settings(details.get("set")),
                details.get("threads"),
                details.get("regions_factor", 1),
                details.get("data_bytes"),
                details.get("items"),
                details.get("metric"),
                tuple(details.get("without", ())),
            )
            for ablation, details in plan["ablations"].items()
        },
        facts=facts,
    )


def _benchmark(name: str, group: str, details: dict[str, Any], size: int | None) -> Benchmark:
    workload = details["workload"]
    return Benchmark(
        name,
        group,
        workload,
        size if _takes_data_bytes(workload) else None,
        details.get("regions", 1),
    )


def _takes_data_bytes(workload: str) -> bool:
    return "data_bytes" in find_workload(workload).arguments


def _experiment(name: str, details: dict[str, Any], facts: dict[str, Fact]) -> Experiment:
    vary = details.get("vary", {"name": "", "points": {"": {}}})
    return Experiment(
        id=name,
        title=details["title"],
        where=details["where"],
        metric=details["metric"],
        designs=tuple(details["designs"]),
        baseline=details["baseline"],
        settings=_settings(details.get("set")),
        varies=vary["name"],
        points=tuple(Point(point, _settings(values)) for point, values in vary["points"].items()),
        entries=tuple(
            Entry(facts[fact], how.get("of", ""), how.get("over", ""), how.get("shape", ""))
            for fact, how in details["entries"].items()
        ),
    )


def _settings(values: dict[str, Any] | None) -> Settings:
    return tuple((key, str(value)) for key, value in (values or {}).items())
