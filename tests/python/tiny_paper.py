"""A small paper of the tests' own, runs of it, and experiments whose results are made up."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmemsim.jobs import Outcome
from pmemsim.reproduction.figures import ExperimentFigure
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.plan import Benchmark, Paper, Point, Scale
from support import pmemsim

TINY = """
paper: tiny
title: A paper that takes a second
machine: {value: asap, source: "1"}
threads: {value: 2, source: "1"}
instances: {value: 1, source: "1"}
seeds: [1, 2]
scales:
  quick: {small: REGIONS, large: REGIONS}
  paper: {small: 80, large: 80}
groups:
  small: {data_bytes: 64}
  large: {data_bytes: 128}
benchmarks:
  Q: {workload: queue, regions: 0.5}
designs:
  NP: {preset: np, source: "1"}
  SW: {preset: DESIGN, source: "1"}
experiments:
  speed:
    title: Speed
    where: "1"
    metric: throughput
    designs: [NP, SW]
    baseline: NP
    entries:
      tiny.speed: {of: SW, over: NP}
  latency:
    title: Latency
    where: "2"
    metric: throughput
    designs: [NP, SW]
    baseline: NP
    vary: {name: PM latency, points: {1x: {pm.latency_factor: 1}, 4x: {pm.latency_factor: 4}}}
    entries: {}
ablations:
  one-thread: {of: [speed], why: Less contention, threads: 1}
"""
FACTS = '- {id: tiny.speed, where: "1", value: 0.5, what: "SW over NP"}\n'


def outcome(trace_hash: str, regions: int, time_ns: float, stats: dict[str, float]) -> Outcome:
    """Return a result without a simulation."""
    return Outcome(trace_hash, 1, 1000, regions, time_ns, 640, stats)


def write_paper(folder: Path, regions: int = 60, design: str = "sw-undo") -> Path:
    folder.mkdir(exist_ok=True)
    text = TINY.replace("REGIONS", str(regions)).replace("DESIGN", design)
    (folder / "experiment.yaml").write_text(text)
    (folder / "expected.yaml").write_text(FACTS)
    return folder


COLUMNS = """
as_measured:
  slower core:
    why: The artifact's core has less room
    source: "the artifact"
    of: [speed]
    on: [SW]
    set: {core.rob_entries: 32}
"""
THREE_FACTS = (
    FACTS
    + FACTS.replace("tiny.speed", "tiny.used")
    + '- {id: tiny.other, where: "1", value: 50, what: "too much"}\n'
)


def write_columns(folder: Path, regions: int = 60) -> Path:
    """Write the tiny paper with two columns, an entry with a cause, and one that was used."""
    write_paper(folder, regions)
    plan = (folder / "experiment.yaml").read_text()
    entries = (
        "{of: SW, over: NP}\n"
        '      tiny.used: {of: SW, over: NP, used: "time between regions"}\n'
        "      tiny.other: {of: SW, over: NP, cause: {of: locks, try: one-thread}}\n"
    )
    plan = plan.replace("{of: SW, over: NP}\n", entries, 1)
    (folder / "experiment.yaml").write_text(plan.replace("ablations:", f"{COLUMNS}ablations:"))
    (folder / "expected.yaml").write_text(THREE_FACTS)
    return folder


def reproduce(cache: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return pmemsim("reproduce", *arguments, environment={"PMEMSIM_CACHE": str(cache)})


def made_up(
    paper: Paper, experiment: str, time_of: Callable[[str, Point, Benchmark, int], float],
    stats_of: Callable[[str, Point, Benchmark, int], dict[str, float]] = lambda *_: {},
    scale: Scale = "quick",
) -> Measurements:  # fmt: skip
    """Return an experiment whose runs take the given times, and have the given statistics."""
    study = paper.experiments[experiment]
    outcomes = {
        paper.case(study, design, point, benchmark, seed, scale): outcome(
            "0123", 100, time_of(design, point, benchmark, seed),
            stats_of(design, point, benchmark, seed),
        )
        for design in study.designs
        for point in study.points
        for benchmark in study.benchmarks
        for seed in paper.seeds
    }  # fmt: skip
    return Measurements(paper, study, scale, outcomes)


def drawn(measured: Measurements, monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """Return the axes of an experiment's figure."""
    figure = Figure()
    monkeypatch.setattr("pmemsim.plots.save", lambda draw, _path, _size: draw(figure))
    ExperimentFigure(measured).save_plot("figure.png")
    return figure.axes
