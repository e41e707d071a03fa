"""`pmemsim reproduce`: its arithmetic by hand, the papers' plans, the command on a tiny paper."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.container import BarContainer
from rich.console import Console

from pmemsim import jobs
from pmemsim.cli import console, reproduce_tables
from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.jobs import Job, Simulate
from pmemsim.predictability import predictability, share_found
from pmemsim.reproduction.facts import Fact
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.metrics import METRICS
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.reproduction.plan import (
    DESCRIBED,
    MEASURED,
    WRITTEN_SCALES,
    Benchmark,
    Column,
    Entry,
    Paper,
    Point,
)
from pmemsim.reproduction.shapes import SHAPES
from pmemsim.reproduction.storage import storage
from pmemsim.reproduction.studies import ablated, both_columns
from pmemsim.reproduction.verdicts import compare, findings, verdict_of
from pmemsim.simulation import configure
from pmemsim.trace import Trace
from pmemsim.workload_runs import workloads
from support import pmemsim
from tiny_paper import FACTS, drawn, made_up, outcome, reproduce, write_paper

ASAP = """
    fig1.dpo_only_vs_np fig1.lpo_dpo_vs_np
    fig7.hwredo_vs_sw fig7.hwundo_vs_sw fig7.asap_vs_sw fig7.asap_vs_hwredo
    fig7.asap_vs_hwundo fig7.np_vs_asap fig7.np_vs_hwredo fig7.np_vs_hwundo
    fig8.cycles_hwredo_vs_np fig8.cycles_hwundo_vs_np fig8.cycles_asap_vs_np
    fig9a.coalescing fig9a.lpo_dropping fig9a.dpo_dropping
    fig9b.traffic_hwredo_vs_sw fig9b.traffic_hwundo_vs_sw fig9b.traffic_asap_vs_sw
    fig9b.traffic_asap_vs_hwredo fig9b.traffic_asap_vs_hwundo
    fig10.shape fence_every_region lhwpq16_vs_128 lhwpq16_vs_hwredo lhwpq16_vs_hwundo
"""
LALEA = """
    fig4.lalea_vs_redu fig4.blom_vs_redu fig4.both_vs_redu fig4.lalea_lad_vs_lad fig4.shape
    fig5.redu fig5.lad fig6.lalea fig6.blom fig6.both fig6.lad
    fig7.lalea fig7.blom fig7.both fig7.lad storage_bits
"""
PMEM_SPEC = """
    fig9.spec_vs_x86 fig9.spec_vs_hops fig9.hops_vs_x86 fig9.vacation fig9.memcached fig9.shape
    fig10.16_vs_x86 fig10.16_vs_hops fig10.32_vs_x86 fig10.32_vs_hops fig10.64_vs_x86
    fig10.64_vs_hops fig10.dpo_shape fig10.16_hops_vs_x86 fig10.32_hops_vs_x86
    fig10.64_hops_vs_x86
    fig11.sixteen fig11.one_entry fig12.shape misspeculation_rate synthetic
"""
JANUS = """
    fig9.manual_1core fig9.manual_8core fig9.shape fig10.serialized_vs_ideal fig10.janus_vs_ideal
    fully_preexecuted fig11.auto fig11.auto_slower fig11.shape fig12.shape fig13.shape fig14.shape
    storage_bytes
"""
PMWEAVER = """
    fig1.encveri_slowdown fig7.below_610ns fig10.address fig10.data fig10.both fig11.top20
    fig18.dedup_slowdown fig18.speedup_encveri fig18.speedup_dedup fig18.encveri_pmweaver
    fig18.dedup_pmweaver fig19.shape fig20.janus_encveri fig20.janus_dedup fig20.shape
    fig21.address fig21.both_encveri fig21.both_dedup fig22.stores fig22.timeout
    fig23.lead_ns fig23.late fig23.hashmap_lowlevel_ns hashmap_lowlevel_encveri
    hashmap_lowlevel_dedup support_latency_encveri support_latency_dedup fig24.encveri fig24.dedup
    fig25.shape fig26a.shape fig26b.shape fig27.encveri fig27.dedup recalculation_overhead
    storage_bytes
"""
IDS = {
    "asap": ASAP.split(),
    "lalea": LALEA.split(),
    "pmem-spec": PMEM_SPEC.split(),
    "janus": JANUS.split(),
    "pmweaver": PMWEAVER.split(),
}

# ---- arithmetic ----------------------------------------------------------------------------------


def test_the_confidence_interval_is_students() -> None:
    # Mean 2, standard deviation 1, t(0.975, 2 degrees of freedom) = 4.303: 4.303 / sqrt(3).
    of_three = estimate([1.0, 2.0, 3.0])
    assert of_three.mean == 2.0
    assert of_three.ci95 == pytest.approx(2.4843, abs=1e-4)
    # Mean 2, standard deviation sqrt(2), t(0.975, 1) = 12.706: 12.706 * sqrt(2) / sqrt(2).
    of_two = estimate([1.0, 3.0])
    assert of_two.mean == 2.0
    assert of_two.ci95 == pytest.approx(12.706, abs=1e-3)
    assert estimate([7.0]) == Estimate(7.0, 0.0)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("measured", "reported", "verdict"),
    [
        (1.0, 1.0, "within 15%"),
        (1.15, 1.0, "within 15%"),
        (0.85, 1.0, "within 15%"),
        (1.16, 1.0, "off"),
        (0.84, 1.0, "off"),
        (2.58, 2.25, "within 15%"),
        (2.60, 2.25, "off"),
        (0.0, 0.0, "within 15%"),
        (0.001, 0.0, "off"),
        (0.08, 0.0749, "within 15%"),
    ],
)
def test_verdict_is_within_15_percent_or_off(
    measured: float, reported: float, verdict: str
) -> None:
    assert verdict_of(measured, reported) == verdict


@pytest.mark.quick
def test_metrics_are_computed_from_statistics() -> None:
    run = outcome(
        "0123", regions=10, time_ns=200.0,
        stats={
            "core.region_time_ns": 150.0, "core.drained_region_time_ns": 180.0,
            "pm.bytes_written": 640.0,
            "log.entry_latency_ns": 300.0, "log.persistent_entries": 3.0,
            "hw_redo.commit_latency_ns": 800.0, "hw_redo.committed": 10.0,
            "pmem_spec.load_alarms": 3.0, "pmem_spec.store_alarms": 2.0,
            "backend.writes": 4.0, "backend.executed_before": 3.0, "backend.time_ns": 1000.0,
            "pmweaver.right_by_stores": 1.0, "pmweaver.right_by_timeout": 0.5,
            "pmweaver.address_right": 2.0, "pmweaver.by_stores": 20.0, "pmweaver.by_timeout": 10.0,
            "pmweaver.right_early_ns": 600.0, "pmweaver.known_late": 0.4,
            "pmweaver.address_seen": 4.0, "pmweaver.reused": 0.2, "pmweaver.address_only": 0.1,
            "pmweaver.write_backs": 8.0, "pmweaver.write_backs_within_610ns": 6.0,
            "energy.total_nj": 77.0,
            "predictability.write_backs": 10.0, "predictability.found_address": 1.0,
            "predictability.found_data_4_bytes": 2.0, "predictability.found_both_4_bytes": 3.0,
            "predictability.found_address_elsewhere": 4.0,
            "predictability.found_data_4_bytes_elsewhere": 5.0,
            "predictability.found_both_4_bytes_elsewhere": 6.0,
            "predictability.most_frequent_sets": 7.0,
        },
    )  # fmt: skip
    measured = {name: metric.of(run) for name, metric in METRICS.items()}
    assert measured == pytest.approx({
        "throughput": 0.05, "execution_time": 200.0, "speed": 0.005, "region_time": 15.0,
        "drained_region_time": 18.0, "region_rate": 1 / 15,
        "pm_writes": 10.0, "log_latency": 100.0, "commit_latency": 80.0, "misspeculations": 0.5,
        "executed_before": 0.75, "support_latency": 250.0, "address_right": 0.95,
        "both_right": 0.375, "right_by_stores": 0.25, "right_by_timeout": 0.125, "accuracy": 0.05,
        "lead": 400.0, "lead_of_all": 150.0, "address_seen": 1.0, "known_late": 0.1,
        "late_or_forgotten": 0.15,
        "soon_written_back": 0.75, "energy": 77.0,
        "address_found": 0.1, "data_found": 0.2, "both_found": 0.3,
        "address_found_elsewhere": 0.4, "data_found_elsewhere": 0.5, "both_found_elsewhere": 0.6,
        "frequent_sets": 0.7,
    })  # fmt: skip
    nothing_logged = outcome(
        "0123", 10, 200.0, {"log.entry_latency_ns": 0.0, "log.persistent_entries": 0.0}
    )
    assert METRICS["log_latency"].of(nothing_logged) is None
    assert METRICS["misspeculations"].of(nothing_logged) is None
    assert METRICS["executed_before"].of(nothing_logged) is None
    for name in ("support_latency", "both_right", "accuracy", "lead", "energy", "data_found"):
        assert METRICS[name].of(nothing_logged) is None
    lad = outcome(
        "0123", 10, 200.0,
        {"lad.log_completion_ns": 600.0, "lad.commit_latency_ns": 900.0, "lad.committed": 10.0},
    )  # fmt: skip
    assert METRICS["commit_latency"].of(lad) == 60.0


# ---- measurements without simulations --------------------------------------------------------


def test_mean_is_over_benchmarks_and_then_over_seeds(tmp_path: Path) -> None:
    paper = load_paper(str(write_paper(tmp_path / "tiny")))
    # Ratio NP's time over SW's: 1/2 and 1/8 with seed 1, geomean 1/4; 1/2 and 1/2 with seed 2.
    times = {("small", 1): 2.0, ("large", 1): 8.0, ("small", 2): 2.0, ("large", 2): 2.0}
    measured = made_up(
        paper, "speed",
        lambda design, _, benchmark, seed: (
            times[benchmark.group, seed] if design == "SW" else 1.0
        ),
    )  # fmt: skip
    (finding,) = findings(measured)
    assert finding.measured == pytest.approx((0.25 + 0.5) / 2)
    # Standard deviation of 0.25 and 0.5: 0.17678; times 12.706, over sqrt(2).
    assert finding.ci95 == pytest.approx(1.5883, abs=1e-3)
    assert finding.ratio == pytest.approx(0.75)
    assert finding.verdict == "off"
    assert finding.benchmarks == pytest.approx({"Q small": 0.5, "Q large": (0.125 + 0.5) / 2})
    assert finding.groups["small"].mean == pytest.approx(0.5)
    assert finding.groups["large"].mean == pytest.approx((0.125 + 0.5) / 2)


def test_a_beside_group_is_shown_and_not_compared(tmp_path: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    plan = plan.replace("{data_bytes: 128}", "{data_bytes: 128, beside: true}")
    (folder / "experiment.yaml").write_text(
        plan.replace("contention, threads: 1", "contention, data_bytes: 192")
    )
    paper = load_paper(str(folder))

    def times(design: str, _point: Point, benchmark: Benchmark, _seed: int) -> float:
        return {"small": 2.0, "large": 8.0}[benchmark.group] if design == "SW" else 1.0

    (finding,) = findings(made_up(paper, "speed", times))
    assert finding.measured == pytest.approx(0.5)
    assert finding.verdict == "within 15%"
    assert finding.groups["large"].mean == pytest.approx(0.125)
    varied = paper.ablated(paper.ablations["one-thread"], "speed")
    assert [(b.group, b.data_bytes) for b in varied.benchmarks] == [("small", 192)]


def test_a_quantity_that_only_a_beside_group_has_is_an_error(tmp_path: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    plan = plan.replace("{data_bytes: 128}", "{data_bytes: 128, beside: true}")
    (folder / "experiment.yaml").write_text(plan.replace("metric: throughput", "metric: pm_writes"))
    paper = load_paper(str(folder))
    study = paper.experiments["speed"]
    outcomes = {
        paper.case(study, design, study.points[0], benchmark, seed, "quick"): outcome(
            "0123", 1, 1.0, {"pm.bytes_written": 64.0 if benchmark.beside else 0.0}
        )
        for design in study.designs
        for benchmark in paper.benchmarks
        for seed in paper.seeds
    }
    with pytest.raises(
        Error, match="only benchmarks outside the comparison have a PM write traffic"
    ):
        Measurements(paper, study, "quick", outcomes).ratio("SW", "NP")


def test_beside_groups_alone_are_refused(tmp_path: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    for size in (64, 128):
        plan = plan.replace(f"{{data_bytes: {size}}}", f"{{data_bytes: {size}, beside: true}}")
    (folder / "experiment.yaml").write_text(plan)
    with pytest.raises(
        Error, match="groups: no benchmark is compared with the paper; compare at least one"
    ):
        load_paper(str(folder))


def test_a_benchmark_has_the_items_that_its_standard_asks_for() -> None:
    paper = load_paper("lalea")
    study = paper.experiments["fig4"]
    items = {
        b.name: paper.case(study, "REDU", study.points[0], b, 1, "quick").run.items
        for b in paper.benchmarks
    }
    # The others have as many, since the paper doesn't say.
    assert set(items.values()) == {100_000}


SLOWDOWN = {"NP": 0.1, "ASAP": 0.12, "HWRedo": 0.5, "HWUndo": 1.0}
BASE = {"NP": 1.0, "ASAP": 1.1, "HWRedo": 1.6, "HWUndo": 1.5}


def pm_latency_seen(slowdown: dict[str, float], base: dict[str, float]) -> tuple[bool, str]:
    def time_of(design: str, point: Point, _benchmark: Benchmark, _seed: int) -> float:
        return base[design] + slowdown[design] * (int(point.name.rstrip("x")) - 1)

    seen = SHAPES["pm_latency"](made_up(load_paper("asap"), "fig10", time_of))
    return seen.holds, seen.text


def test_shape_pm_latency_of_asap_figure_10() -> None:
    holds, text = pm_latency_seen(SLOWDOWN, BASE)
    assert holds
    assert "HWRedo over HWUndo 0.94 at 1x, 1.81 at 16x" in text
    assert not pm_latency_seen({**SLOWDOWN, "ASAP": 0.9}, BASE)[0]  # slope, and below HWRedo
    assert not pm_latency_seen({**SLOWDOWN, "HWRedo": 1.0}, BASE)[0]  # never overtakes
    assert not pm_latency_seen(SLOWDOWN, {**BASE, "HWRedo": 1.4})[0]  # was ahead before
    assert not pm_latency_seen(SLOWDOWN, {**BASE, "ASAP": 1.7})[0]  # below at 1x


def holds(shape: str, paper: str, experiment: str, slow: str, time_ns: float) -> bool:
    """Return whether a shape holds if one design takes that long, and every other 1 ns."""
    return SHAPES[shape](
        made_up(
            load_paper(paper), experiment, lambda design, *_: time_ns if design == slow else 1.0
        )
    ).holds


@pytest.mark.parametrize(
    ("time_ns", "there"), [(1.0, True), (1.04, True), (1.1, False), (0.9, False)]
)
def test_shape_fences(time_ns: float, there: bool) -> None:
    assert holds("fences", "asap", "fence", "ASAP, fences", time_ns) == there


@pytest.mark.parametrize(("time_ns", "there"), [(1.01, True), (0.99, False)])
def test_shape_lad_below_redu(time_ns: float, there: bool) -> None:
    assert holds("lad_below_redu", "lalea", "fig4", "LAD", time_ns) == there


# ---- PMEM-Spec's --------------------------------------------------------------------------------


def test_points_may_have_threads_and_a_program_its_preset() -> None:
    paper = load_paper("pmem-spec")
    study = paper.experiments["fig10"]
    cases = paper.cases(study, "quick")
    of_point = {(case.run.threads, dict(case.settings)["core.count"]) for case in cases}
    assert of_point == {(16, "16"), (32, "32"), (64, "64")}
    # All threads together run as many regions at every point.
    assert {c.run.regions for c in cases if c.run.workload == "tatp_lowlevel"} == {3200}
    presets = {(case.run.log, case.design) for case in cases}
    assert presets == {
        ("undo", "sw-undo"), ("undo", "dpo"), ("undo", "hops"), ("undo", "pmem-spec"),
        ("redo", "sw-redo"), ("redo", "dpo-redo"), ("redo", "hops-redo"),
        ("redo", "pmem-spec-redo"),
    }  # fmt: skip


def test_a_whole_run_has_no_warm_up() -> None:
    paper = load_paper("pmem-spec")
    whole = paper.ablated(paper.ablations["with-set-up"], "fig9")
    runs = {case.run for case in whole.cases(whole.experiments["fig9"], "quick")}
    assert {(run.whole_run, run.warm_up > 0) for run in runs} == {(True, False), (False, True)}


@pytest.mark.parametrize("figure", ["fig9", "fig10", "fig11", "fig12", "misspeculation"])
def test_memcached_has_values_of_its_own_size(figure: str) -> None:
    paper = load_paper("pmem-spec")
    cases = paper.cases(paper.experiments[figure], "quick")
    assert {(case.run.workload, case.run.data_bytes) for case in cases} == {
        ("array_swap_lowlevel", 64), ("queue_lowlevel", None), ("hashmap_lowlevel", 64),
        ("rbtree", 64), ("tatp_lowlevel", None), ("tpcc_lowlevel", None), ("vacation", None),
        ("memcached", 1024),
    }  # fmt: skip


def test_a_benchmarks_own_size_comes_before_its_groups(tmp_path: Path) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text().replace("regions: 0.5}", "data_bytes: 192}\n  R: {workload: rbtree}")
    plan.write_text(text.replace("contention, threads: 1", "contention, data_bytes: 256"))
    paper = load_paper(str(plan.parent))
    assert [(b.name, b.group, b.data_bytes) for b in paper.benchmarks] == [
        ("Q", "small", 192), ("R", "small", 64), ("Q", "large", 192), ("R", "large", 128),
    ]  # fmt: skip
    # A size given by an ablation holds for all benchmarks.
    varied = paper.ablated(paper.ablations["one-thread"], "speed")
    assert {benchmark.data_bytes for benchmark in varied.benchmarks} == {256}


def test_an_experiment_may_have_benchmarks_of_its_own() -> None:
    paper = load_paper("pmem-spec")
    own = {case.run.workload for case in paper.cases(paper.experiments["synthetic"], "quick")}
    assert own == {"load_misspeculation"}
    assert len(paper.experiments["fig9"].benchmarks) == 8
    assert {b.workload for b in paper.benchmarks} & own == set()


@pytest.mark.quick
def test_an_entry_may_be_of_one_benchmark_and_of_two_points() -> None:
    paper = load_paper("pmem-spec")

    def time_of(design: str, _point: Point, benchmark: Benchmark, _seed: int) -> float:
        faster = {"Vacation": 2.0, "Memcached": 4.0}.get(benchmark.name, 1.0)
        return 1 / faster if design == "PMEM-Spec" else 1.0

    found = {f.entry.fact.id: f for f in findings(made_up(paper, "fig9", time_of))}
    assert found["pmem_spec.fig9.vacation"].measured == pytest.approx(2.0)
    assert found["pmem_spec.fig9.vacation"].benchmarks == {"Vacation sizes of 8.1": 2.0}
    assert found["pmem_spec.fig9.vacation"].groups["sizes of 8.1"].mean == pytest.approx(2.0)
    assert found["pmem_spec.fig9.memcached"].measured == pytest.approx(4.0)
    assert found["pmem_spec.fig9.spec_vs_x86"].measured == pytest.approx(8 ** (1 / 8))

    of_size = {"16": 1.0, "8": 1.1, "4": 1.2, "2": 1.3, "1": 2.0}
    fig11 = made_up(
        paper, "fig11", lambda _, point, *__: of_size[point.name],
        lambda *_: {"pmem_spec.overflows": 0.0},
    )  # fmt: skip
    one = {f.entry.fact.id: f for f in findings(fig11)}["pmem_spec.fig11.one_entry"]
    assert one.measured == pytest.approx(0.5)

    # Each ratio compares designs at the same number of cores.
    cores = made_up(
        paper, "fig10",
        lambda design, point, *_: int(point.name) * (0.5 if design == "PMEM-Spec" else 1.0),
    )  # fmt: skip
    at = {f.entry.fact.id: f.measured for f in findings(cores) if f.measured}
    assert at["pmem_spec.fig10.64_vs_x86"] == pytest.approx(2.0)
    assert at["pmem_spec.fig10.64_hops_vs_x86"] == pytest.approx(1.0)


def test_throughput_of_a_program_without_regions_is_its_speed() -> None:
    paper = load_paper("pmem-spec")
    times = {"x86": 3.0, "HOPS": 2.0}
    measured = made_up(paper, "fig9", lambda design, *_: times.get(design, 1.0))
    unmarked = replace(
        measured,
        outcomes={case: replace(run, regions=0) for case, run in measured.outcomes.items()},
    )
    assert unmarked.ratio("HOPS", "x86").mean == pytest.approx(1.5)


def misspeculated(times: dict[str, float]) -> Measurements:
    """Return runs of 100 regions, in which these benchmarks have so many misspeculations."""
    return made_up(
        load_paper("pmem-spec"), "misspeculation", lambda *_: 1.0,
        lambda _, __, benchmark, ___: {
            "pmem_spec.load_alarms": times.get(benchmark.name, 0.0), "pmem_spec.store_alarms": 0.0,
        },
    )  # fmt: skip


def test_a_count_of_zero_is_compared() -> None:
    (never,) = findings(misspeculated({}))
    assert (never.measured, never.ci95, never.verdict) == (0.0, 0.0, "within 15%")
    assert never.ratio is None
    (twice,) = findings(misspeculated({"TPCC": 200.0}))
    assert twice.measured == pytest.approx(2.0 / 8)  # the mean of eight benchmarks
    assert twice.benchmarks["TPCC sizes of 8.1"] == 2.0
    assert twice.verdict == "off"


def test_entry_may_be_of_another_point_than_its_quantity(tmp_path: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    before, found, after = plan.partition("  latency:")
    after = after.replace("throughput", "misspeculations").replace("    baseline: NP\n", "")
    after = after.replace("entries: {}", "entries: {tiny.other: {of: SW, at: 4x}}")
    (folder / "experiment.yaml").write_text(before + found + after)
    (folder / "expected.yaml").write_text(FACTS + FACTS.replace("tiny.speed", "tiny.other"))
    (finding,) = findings(
        made_up(
            load_paper(str(folder)), "latency", lambda *_: 1.0,
            lambda _, point, *__: {
                "pmem_spec.load_alarms": 300.0 if point.name == "4x" else 0.0,
                "pmem_spec.store_alarms": 0.0,
            },
        )
    )  # fmt: skip
    assert finding.measured == pytest.approx(3.0)
    assert finding.benchmarks == pytest.approx({"Q small": 3.0, "Q large": 3.0})


def test_a_count_that_a_design_has_not_is_an_error() -> None:
    measured = made_up(load_paper("pmem-spec"), "misspeculation", lambda *_: 1.0)
    with pytest.raises(Error, match="PMEM-Spec has no misspeculations a region"):
        findings(measured)


SPEEDUPS = {
    "DPO": {}, "x86": {}, "HOPS": {},
    "PMEM-Spec": {"Vacation": 1.33, "Memcached": 1.5},
}  # fmt: skip


@pytest.mark.parametrize(
    ("design", "benchmark", "speedup", "there"),
    [
        ("HOPS", "Queue", 1.0, True),
        ("HOPS", "Queue", 1.2, False),
        ("PMEM-Spec", "Hashmap", 1.2, False),
        ("PMEM-Spec", "Vacation", 1.0, False),
        ("PMEM-Spec", "Vacation", 1.6, False),
        ("PMEM-Spec", "Memcached", 1.3, False),
        ("DPO", "TPCC", 3.0, False),
    ],
)
def test_shape_speculation_speedups(
    design: str, benchmark: str, speedup: float, there: bool
) -> None:
    def time_of(of: str, _point: Point, which: Benchmark, _seed: int) -> float:
        usual = SPEEDUPS[of].get(which.name, 0.9 if of == "DPO" else 1.0)
        return 1 / (speedup if (of, which.name) == (design, benchmark) else usual)

    measured = made_up(load_paper("pmem-spec"), "fig9", time_of)
    assert SHAPES["speculation_speedups"](measured).holds == there


@pytest.mark.parametrize(("time_ns", "there"), [(1.1, True), (1.0, False), (0.9, False)])
def test_shape_dpo_below_x86(time_ns: float, there: bool) -> None:
    def time_of(design: str, point: Point, benchmark: Benchmark, _seed: int) -> float:
        if design != "DPO":
            return 1.0
        return time_ns if (benchmark.name, point.name) == ("TATP", "32") else 2.0

    seen = SHAPES["dpo_below_x86"](made_up(load_paper("pmem-spec"), "fig10", time_of))
    assert seen.holds == there
    assert f"{1 / time_ns:.3f} (TATP) at 32" in seen.text


@pytest.mark.parametrize(
    ("overflows", "there"), [({"16": 0.0}, True), ({"16": 1.0}, False), ({"8": 0.0}, True)]
)
def test_shape_never_overflows(overflows: dict[str, float], there: bool) -> None:
    measured = made_up(
        load_paper("pmem-spec"), "fig11", lambda *_: 1.0,
        lambda _, point, *__: {
            "pmem_spec.overflows": overflows.get(point.name, 0.0 if point.name == "16" else 5.0)
        },
    )  # fmt: skip
    assert SHAPES["never_overflows"](measured).holds == there


@pytest.mark.parametrize("design", ["HOPS", "PMEM-Spec"])
def test_shape_above_x86(design: str) -> None:
    def seen(at_the_slowest: float) -> bool:
        return SHAPES["above_x86"](
            made_up(
                load_paper("pmem-spec"), "fig12",
                lambda of, point, *_: (
                    1.0 if of == "x86"
                    else at_the_slowest if (of, point.name) == (design, "100ns")
                    else 0.9
                ),
            )
        ).holds  # fmt: skip

    assert seen(0.99)
    assert not seen(1.01)


@pytest.mark.parametrize(
    ("alarms", "unrepaired", "there"),
    [
        ({"200ns": 9.0}, 0.0, True),
        ({"200ns": 9.0, "20ns": 1.0}, 0.0, True),
        ({}, 0.0, False),
        ({"200ns": 9.0, "10ns": 1.0}, 0.0, False),
        ({"200ns": 9.0}, 1.0, False),
    ],
)
def test_shape_provoked_misspeculation(
    alarms: dict[str, float], unrepaired: float, there: bool
) -> None:
    measured = made_up(
        load_paper("pmem-spec"), "synthetic", lambda *_: 1.0,
        lambda _, point, *__: {
            "pmem_spec.load_alarms": alarms.get(point.name, 0.0), "pmem_spec.aborts": 0.0,
            "pmem_spec.unrepaired_loads": unrepaired,
        },
    )  # fmt: skip
    assert SHAPES["provoked_misspeculation"](measured).holds == there


def test_benchmarks_without_the_quantity_are_left_out() -> None:
    paper = load_paper("lalea")
    study = paper.experiments["fig5"]
    outcomes = {}
    for design in study.designs:
        for benchmark in paper.benchmarks:
            entries = 0.0 if (design, benchmark.name) == ("LAD", "TATP") else 4.0
            stats = {"log.entry_latency_ns": 8.0, "log.persistent_entries": entries}
            for seed in paper.seeds:
                case = paper.case(study, design, study.points[0], benchmark, seed, "quick")
                outcomes[case] = outcome("0123", 1, 1.0, stats)
    measured = Measurements(paper, study, "quick", outcomes)
    names = [benchmark.name for benchmark in measured.ratios("LALEA-LAD", "LAD")]
    assert names == ["B-Tree", "ChainQueue", "HashTable", "RB-Tree", "TPCC"]
    assert measured.ratio("LALEA-LAD", "LAD").mean == pytest.approx(1.0)


# ---- figures, without simulations ------------------------------------------------------------


def labels(ticks: list[Any]) -> list[str]:
    return [tick.get_text() for tick in ticks]


def test_bars_by_benchmark_and_size_and_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"SW": 9.0, "HWRedo": 6.0, "HWUndo": 5.0, "ASAP": 4.0, "NP": 3.0}
    # Q is twice as slow without software's log; with 2 KB every design is as slow as SW.
    measured = made_up(
        load_paper("asap"), "fig7",
        lambda design, _, benchmark, __: (
            9.0 if benchmark.group == "2 KB"
            else times[design] * (2 if benchmark.name == "Q" and design != "SW" else 1)
        ),
    )  # fmt: skip
    small, large = drawn(measured, monkeypatch)
    assert small.get_ylabel() == "throughput over SW, 64 B"
    assert large.get_ylabel() == "throughput over SW, 2 KB"
    names = ["BN", "BT", "CT", "EO", "HM", "Q", "RB", "SS", "TPCC", "geomean"]
    for axes in (small, large):
        assert labels(axes.get_xticklabels()) == names
        assert [bars.get_label() for bars in axes.containers] == list(times)
    for bars, time_ns in zip(small.containers, times.values(), strict=True):
        assert isinstance(bars, BarContainer)
        speedup, slow = 9 / time_ns, 9 / time_ns / (2 if time_ns < 9 else 1)
        expected = [speedup] * 5 + [slow] + [speedup] * 3 + [(speedup**8 * slow) ** (1 / 9)]
        assert [bar.get_height() for bar in bars] == pytest.approx(expected)
    for bars in large.containers:
        assert isinstance(bars, BarContainer)
        assert [bar.get_height() for bar in bars] == pytest.approx([1.0] * 10)


def test_varied_parameter_is_plotted_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    slower = {"NP": 1.0, "HWRedo": 2.0, "HWUndo": 4.0, "ASAP": 1.25}
    measured = made_up(
        load_paper("asap"), "fig10",
        lambda design, point, *_: slower[design] * int(point.name.rstrip("x")),
    )  # fmt: skip
    (axes,) = drawn(measured, monkeypatch)
    assert labels(axes.get_xticklabels()) == ["1x", "2x", "4x", "8x", "16x"]
    assert axes.get_xlabel() == "PM latency"
    assert axes.get_ylabel() == "throughput over NP at 1x, geomean"
    assert [line.get_label() for line in axes.lines] == list(slower)
    for line, factor in zip(axes.lines, slower.values(), strict=True):
        assert line.get_ydata() == pytest.approx([1 / factor / n for n in (1, 2, 4, 8, 16)])


def test_bars_of_values_have_each_metric_and_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    (axes,) = drawn(
        made_up(
            load_paper("pmweaver"), "fig10", lambda *_: 1.0,
            lambda _, point, benchmark, __: {
                "predictability.write_backs": 10.0,
                "predictability.found_address": 9.0 if benchmark.name == "TATP" else 4.0,
                "predictability.found_data_4_bytes": {"O0": 8.0, "O2": 2.0}.get(point.name, 6.0),
                "predictability.found_both_4_bytes": 1.0,
            },
        ), monkeypatch,
    )  # fmt: skip
    assert labels(axes.get_xticklabels()) == ["artifact's", "O0", "O2"]
    assert axes.get_ylabel() == "address, data, both, mean"
    lines = {str(line.get_label()): line.get_ydata() for line in axes.lines}
    assert lines["address"] == pytest.approx([0.45] * 3)
    # Half of the artifact's programs are at -O0: these are the same recordings at both points.
    assert lines["data"] == pytest.approx([(0.6 + 0.8) / 2, 0.8, 0.2])
    assert lines["both"] == pytest.approx([0.1] * 3)

    (axes,) = drawn(
        made_up(
            load_paper("pmweaver"), "fig21", lambda *_: 1.0,
            lambda design, _, benchmark, __: {
                "backend.writes": 10.0, "pmweaver.right_by_timeout": 0.0,
                "pmweaver.right_by_stores": 5.0 if benchmark.name == "TATP" else 2.0,
                "pmweaver.address_right": 1.0 if design.startswith("Dedup") else 3.0,
                "pmweaver.reused": 0.0, "pmweaver.address_only": 0.0,
            },
        ), monkeypatch,
    )  # fmt: skip
    assert labels(axes.get_xticklabels())[-2:] == ["TPCC", "mean"]
    assert axes.get_ylabel() == "address right, address and data right"
    heights = {}
    for bars in axes.containers:
        assert isinstance(bars, BarContainer)
        heights[str(bars.get_label())] = [bar.get_height() for bar in bars][-3:]
    assert heights == {
        "Enc+Veri, PMWeaver: address right": pytest.approx([0.8, 0.5, 0.53]),
        "Enc+Veri, PMWeaver: address and data right": pytest.approx([0.5, 0.2, 0.23]),
        "Dedup, PMWeaver: address right": pytest.approx([0.6, 0.3, 0.33]),
        "Dedup, PMWeaver: address and data right": pytest.approx([0.5, 0.2, 0.23]),
    }


# ---- progress, and what is kept ----------------------------------------------------------------


def test_progress_on_a_dumb_terminal_is_a_line_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=120))
    with console.progress_of(["queue on asap", "tpcc on np"]) as report:
        for job in (0, 1):
            report(job, 0.5)
            report(job, 1.0)
    assert "[1/2] queue on asap" in screen.getvalue()
    assert "[2/2] tpcc on np" in screen.getvalue()


def test_progress_on_a_terminal_names_what_runs_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=120))
    with console.progress_of(["queue on asap", "tpcc on np"], [1.0, 3.0]) as report:
        for fraction in (0.2, 0.5, 1.0):
            time.sleep(0.1)
            report(0, fraction)
        report(1, 0.2)
        time.sleep(0.3)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "tpcc on np" in shown
    assert " 40%" in shown  # 1 and a fifth of 3, of 4
    assert re.search(r"left 0:00:[0-5][0-9]", shown)


def test_a_kept_result_belongs_to_one_recording_configuration_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def key(recording: str = "0123", value: str = "4") -> str:
        return Job(
            SimpleNamespace(hash=recording, name="queue"),  # type: ignore[arg-type]
            Simulate(SimpleNamespace(values={"asap.cl_entries": value})),  # type: ignore[arg-type]
        ).key

    keys = [key(), key(recording="4567"), key(value="8")]
    monkeypatch.setattr(jobs, "version", lambda: "another")
    keys.append(key())
    monkeypatch.setattr(jobs, "_hash", lambda _: "rebuilt")
    keys.append(key())
    assert len(set(keys)) == 5
    assert key() == keys[-1]


@pytest.mark.long
def test_a_damaged_result_is_measured_again(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    assert reproduce(cache, folder, "speed", "--out", tmp_path / "out").returncode == 0
    damaged = sorted((cache / "results").glob("*.json"))[0]
    whole = damaged.read_text()
    damaged.write_text(whole[:20])
    assert reproduce(cache, folder, "speed", "--out", tmp_path / "out").returncode == 0
    assert damaged.read_text() == whole


# ---- Janus's -------------------------------------------------------------------------------------


def test_designs_may_have_hints_and_points_sizes() -> None:
    paper = load_paper("janus")
    auto = paper.cases(paper.experiments["fig11"], "quick")
    assert {(case.design, case.run.hints) for case in auto} == {
        ("serialized", "manual"), ("janus", "manual"), ("janus", "auto"),
    }  # fmt: skip
    sizes = paper.cases(paper.experiments["fig13"], "quick")
    runs = {(c.run.data_bytes, c.run.regions, c.run.warm_up) for c in sizes}
    assert {(64, 240, 1000), (512, 120, 500), (8192, 30, 125)} <= runs
    assert {c.run.workload for c in sizes} == {
        "array_swap_lowlevel", "queue", "hashmap_lowlevel", "rbtree", "btree",
    }  # fmt: skip
    cores = {
        (dict(case.settings)["core.count"], dict(case.settings)["run.instances"])
        for case in paper.cases(paper.experiments["fig9"], "quick")
    }
    assert cores == {("1", "1"), ("2", "2"), ("4", "4"), ("8", "8")}


def test_artifacts_programs_of_janus_are_measured_without_optimisation() -> None:
    paper = load_paper("janus")

    def levels(column: Column) -> dict[str, str]:
        varied = paper.in_column("fig9", column)
        cases = varied.cases(varied.experiments["fig9"], "quick")
        return {case.run.workload: case.run.opt for case in cases}

    low_level = {f"{name}_lowlevel" for name in ("array_swap", "queue", "hashmap", "tatp", "tpcc")}
    described = dict.fromkeys({*low_level, "btree", "rbtree"}, "O2")
    assert levels(DESCRIBED) == described
    assert levels(MEASURED) == described | dict.fromkeys(low_level, "O0")


def test_units_of_janus_and_of_its_serialized_baseline() -> None:
    designs = (
        ("serialized", "1"), ("parallel", "4"), ("janus", "4"), ("ideal", "0"),
        ("asap@verified-serialized", "1"), ("asap@verified-parallel", "4"),
        ("asap@deduplicated-serialized", "1"), ("asap@deduplicated-janus", "4"),
        ("sw-undo@enc+veri", "0"),
    )  # fmt: skip
    for design, units in designs:
        assert configure(design, "janus")["backend.units_per_core"] == units, design


def test_figure_14_of_janus_scales_the_units_of_janus_alone() -> None:
    paper = load_paper("janus")
    scales = {
        (case.design, dict(case.settings).get("janus.scale"))
        for case in paper.cases(paper.experiments["fig14"], "quick")
    }
    assert scales == {("serialized", None), *(("janus", scale) for scale in "1240")}


def test_storage_of_janus_as_computed() -> None:
    assert [s.bytes for s in storage(load_paper("janus"))] == [16 * 119 / 8, 64 * 103 / 8, 64 * 148]
    measured = Measurements(load_paper("janus"), load_paper("janus").experiments["storage"],
                            "quick", {})  # fmt: skip
    (found,) = findings(measured)
    assert (found.measured, found.ci95, found.verdict) == (10534, 0, "within 15%")


def executed(share: float) -> Measurements:
    return made_up(
        load_paper("janus"), "preexecuted", lambda *_: 1.0,
        lambda *_: {"backend.writes": 200.0, "backend.executed_before": 200 * share},
    )  # fmt: skip


def test_share_of_sub_operations_executed_before_is_compared() -> None:
    (found,) = findings(executed(0.4))
    assert found.measured == pytest.approx(0.4)
    assert found.verdict == "within 15%"
    assert findings(executed(0.3))[0].verdict == "off"


def janus_holds(shape: str, experiment: str, speedups: Callable[[str, str, str], float]) -> bool:
    """Return whether a shape holds for runs with these speedups: of a design, point, benchmark."""

    def time_of(design: str, point: Point, benchmark: Benchmark, _seed: int) -> float:
        return 1.0 if design == "Serialized" else 1 / speedups(design, point.name, benchmark.name)

    return SHAPES[shape](made_up(load_paper("janus"), experiment, time_of)).holds


def usual_speedup(design: str, point: str, benchmark: str) -> float:
    """Return a speedup as in the paper."""
    if design == "Parallel":
        return 1.2
    slow = 0.8 if benchmark in ("Hash Table", "RB-Tree") else 1.0
    return {"1": 2.4, "2": 2.2, "4": 2.0, "8": 1.8}[point] * slow


@pytest.mark.parametrize(
    ("which", "speedup", "there"),
    [
        (("Janus", "8", "Queue"), 1.7, True),
        (("Janus", "8", "Queue"), 9.0, False),  # the mean rises
        (("Janus", "1", "RB-Tree"), 2.5, False),
        (("Janus", "1", "TATP"), 1.5, False),
        (("Parallel", "1", "TPCC"), 99.0, False),
    ],
)
def test_shape_preexecution_speedups(
    which: tuple[str, str, str], speedup: float, there: bool
) -> None:
    def speedups(*case: str) -> float:
        return speedup if case == which else usual_speedup(*case)

    assert janus_holds("preexecution_speedups", "fig9", speedups) == there


@pytest.mark.parametrize(
    ("benchmark", "speedup", "there"),
    [("TATP", 1.9, True), ("Queue", 1.9, False), ("RB-Tree", 1.9, False)],
)
def test_shape_compiler_close_to_hand(benchmark: str, speedup: float, there: bool) -> None:
    def speedups(design: str, _: str, name: str) -> float:
        if design == "Janus":
            return 2.0
        return speedup if name == benchmark else 1.1 if name in ("Queue", "RB-Tree") else 2.1

    assert janus_holds("compiler_close_to_hand", "fig11", speedups) == there
    assert not janus_holds("compiler_close_to_hand", "fig11",
                           lambda design, *_: 2.0 if design == "Janus" else 1.0)  # fmt: skip


@pytest.mark.parametrize(
    ("point", "speedup", "there"),
    [
        ("MD5 75%", 2.04, True),
        ("MD5 75%", 2.2, False),
        ("CRC-32 50%", 1.75, False),
        ("CRC-32 50%", 1.45, False),
    ],
)
def test_shape_duplicates_matter_little(point: str, speedup: float, there: bool) -> None:
    usual = {"CRC-32 25%": 1.5, "CRC-32 50%": 1.6, "CRC-32 75%": 1.7}

    def speedups(_: str, at: str, __: str) -> float:
        return speedup if at == point else usual.get(at, 2.0)

    assert janus_holds("duplicates_matter_little", "fig12", speedups) == there


@pytest.mark.parametrize(
    ("which", "speedup", "there"),
    [
        (("Janus", "512 B"), 2.9, True),
        (("Janus", "64 B"), 9.0, False),
        (("Janus", "8 KB"), 9.0, False),
        (("Parallel", "8 KB"), 1.0, False),
    ],
)
def test_shape_sizes_rise_then_fall(which: tuple[str, str], speedup: float, there: bool) -> None:
    sizes = [point.name for point in load_paper("janus").experiments["fig13"].points]

    def speedups(design: str, at: str, _: str) -> float:
        if (design, at) == which:
            return speedup
        step = sizes.index(at)
        return 1.1 + step / 100 if design == "Parallel" else 2.8 - abs(step - 3) / 10

    assert janus_holds("sizes_rise_then_fall", "fig13", speedups) == there


@pytest.mark.parametrize(
    ("which", "speedup", "there"),
    [
        (("unlimited", "Queue"), 2.05, True),
        (("unlimited", "B-Tree"), 2.0, False),
        (("2x", ""), 1.0, False),
    ],
)
def test_shape_resources_saturate(which: tuple[str, str], speedup: float, there: bool) -> None:
    usual = {"1x": 1.2, "2x": 1.6, "4x": 2.0, "unlimited": 2.0}

    def speedups(_: str, at: str, benchmark: str) -> float:
        if which in ((at, benchmark), (at, "")):
            return speedup
        return 2.6 if (at, benchmark) == ("unlimited", "B-Tree") else usual[at]

    assert janus_holds("resources_saturate", "fig14", speedups) == there
    all_gain = usual | {"unlimited": 3.0}
    assert not janus_holds("resources_saturate", "fig14", lambda _, at, __: all_gain[at])


# ---- PMWeaver's ----------------------------------------------------------------------------------


def test_analysed_recordings_differ_by_optimization_level() -> None:
    paper = load_paper("pmweaver")
    cases = paper.cases(paper.experiments["fig10"], "quick")
    assert len(cases) == 10 * 3 * 3
    assert {(case.design, case.settings) for case in cases} == {(None, ())}
    assert {(case.run.opt, case.run.hints) for case in cases} == {
        ("O0+O2", "none"), ("O0", "none"), ("O2", "none"),
    }  # fmt: skip
    assert not paper.experiments["fig10"].points[0].has_own_recordings
    assert paper.experiments["fig10"].points[1].has_own_recordings


def test_programs_without_a_library_are_not_optimised_unless_all_are() -> None:
    def levels(paper: Paper) -> dict[str, str]:
        cases = paper.cases(paper.experiments["fig18"], "quick")
        return {case.run.workload: case.run.opt for case in cases}

    paper = load_paper("pmweaver")
    usual = levels(paper)
    assert usual["btree"] == "O0+O2"
    assert {usual[name] for name in usual if name.endswith("_lowlevel")} == {"O0"}
    assert set(levels(paper.ablated(paper.ablations["all-O2"], "fig18")).values()) == {"O2"}


def test_only_designs_with_janus_run_programs_with_hints() -> None:
    paper = load_paper("pmweaver")
    cases = paper.cases(paper.experiments["fig20"], "quick")
    hints = {(case.design, dict(case.settings).get("precompute")): case.run.hints for case in cases}
    assert hints == {
        (f"sw-undo@{system}{with_it}", precompute): hints
        for system in ("enc+veri", "dedup")
        for with_it, precompute, hints in (
            ("", None, "none"), ("", "janus", "manual"), ("-pmweaver", None, "none")
        )
    }  # fmt: skip


def test_points_may_concern_some_designs_alone() -> None:
    paper = load_paper("pmweaver")
    study = paper.experiments["fig26b"]
    lines = {
        design: [
            dict(paper.case(study, design, point, study.benchmarks[0], 1, "quick").settings).get(
                "pmweaver.result_lines"
            )
            for point in study.points
        ]
        for design in study.designs
    }
    of_points = ["4", "8", None, "32", "512"]
    assert lines["Enc+Veri, PMWeaver"] == lines["Dedup, PMWeaver"] == of_points
    assert lines["Enc+Veri"] == lines["Dedup"] == [None] * 5


def test_programs_have_the_artifacts_sizes() -> None:
    paper = load_paper("pmweaver")
    runs = {case.run for case in paper.cases(paper.experiments["fig1"], "quick")}
    assert {run.threads for run in runs} == {1}
    assert {run.warm_up for run in runs} == {0}
    assert {(run.workload, run.mix, run.items, run.data_bytes, run.regions) for run in runs} == {
        ("btree", "pmweaver", 2, 8, 512), ("ctree", "pmweaver", 2, 8, 512),
        ("rbtree", "pmweaver", 2, 8, 512), ("skiplist", "pmweaver", 2, 8, 512),
        ("hashmap", "pmweaver", 2, 8, 512), ("queue_lowlevel", None, 500, None, 400),
        ("hashmap_lowlevel", "pmweaver", 1000, 8, 500),
        ("array_swap_lowlevel", None, 10000, 64, 1000),
        ("tatp_lowlevel", "pmweaver", 1000, None, 3000),
        ("tpcc_lowlevel", "pmweaver", None, None, 100),
    }  # fmt: skip


def test_an_entry_may_have_a_metric_of_its_own() -> None:
    shares = {"Enc+Veri, PMWeaver": (50.0, 10.0), "Dedup, PMWeaver": (30.0, 20.0)}

    def stats(design: str, *_: object) -> dict[str, float]:
        both, address = shares[design]
        return {
            "backend.writes": 100.0, "pmweaver.right_by_stores": both,
            "pmweaver.right_by_timeout": 0.0, "pmweaver.address_right": address - 3.0,
            "pmweaver.reused": 2.0, "pmweaver.address_only": 1.0,
        }  # fmt: skip

    measured = made_up(load_paper("pmweaver"), "fig21", lambda *_: 1.0, stats)
    assert [finding.measured for finding in findings(measured)] == pytest.approx([0.6, 0.5, 0.3])


def test_a_benchmark_without_the_quantity_has_no_part_in_its_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stats(_: str, __: Point, benchmark: Benchmark, ___: int) -> dict[str, float]:
        right = {"TATP": 0.0, "Hashmap Low-Level": 4.0}.get(benchmark.name, 1.0)
        return {
            "pmweaver.right_by_stores": right, "pmweaver.right_by_timeout": 0.0,
            "pmweaver.right_early_ns": 100.0,
        }  # fmt: skip

    measured = made_up(load_paper("pmweaver"), "fig23", lambda *_: 1.0, stats)
    lead, of_hashmap = findings(measured)
    assert lead.measured == pytest.approx((8 * 100 + 25) / 9)
    assert "TATP artifact" not in lead.benchmarks
    assert of_hashmap.measured == pytest.approx(25)
    (axes,) = drawn(measured, monkeypatch)
    (bars_of_one, _) = axes.containers
    assert isinstance(bars_of_one, BarContainer)
    bars = [bar.get_height() for bar in bars_of_one]
    assert math.isnan(bars[8])
    assert bars[9:] == pytest.approx([100, (8 * 100 + 25) / 9])


def test_recording_without_the_quantity_is_an_error() -> None:
    measured = made_up(load_paper("pmweaver"), "fig11", lambda *_: 1.0)
    with pytest.raises(Error, match="the recording has no share of the 20 most frequent sets"):
        findings(measured)


def test_shares_of_right_addresses_have_the_artifacts_denominators() -> None:
    paper = load_paper("pmweaver")
    artifact = paper.in_column("fig21", MEASURED)
    stats = {
        "backend.writes": 10.0, "pmweaver.right_by_stores": 4.0, "pmweaver.right_by_timeout": 1.0,
        "pmweaver.address_right": 2.0, "pmweaver.address_seen": 9.0,
    }  # fmt: skip
    found = findings(made_up(artifact, "fig21", lambda *_: 1.0, lambda *_: stats))
    assert [finding.measured for finding in found] == pytest.approx([0.9, 0.5, 0.5])


def test_a_number_with_a_unit_and_the_ratio_of_sums() -> None:
    def stats(design: str, _point: Point, benchmark: Benchmark, _seed: int) -> dict[str, float]:
        usual, special = (100.0, {"TATP": 400.0}), (200.0, {"TPCC": 9200.0})
        latency, others = usual if "PMWeaver" in design else special
        each = others.get(benchmark.name, latency)
        return {"backend.writes": 2.0, "backend.time_ns": 2 * each}

    measured = made_up(load_paper("pmweaver"), "fig24", lambda *_: 1.0, stats)
    # The mean of the ratios would be 10.85, the geometric one 2.55.
    assert [finding.measured for finding in findings(measured)] == pytest.approx(
        [1100.0, 1100.0, 1100 / 130, 1100 / 130]
    )


def test_the_mean_of_ratios_may_be_arithmetic() -> None:
    def energy(design: str, _point: Point, benchmark: Benchmark, _seed: int) -> dict[str, float]:
        saves = "PMWeaver" in design and benchmark.name == "TATP"
        return {"energy.total_nj": 10.0 if saves else 20.0}

    measured = made_up(load_paper("pmweaver"), "fig27", lambda *_: 1.0, energy)
    assert [finding.measured for finding in findings(measured)] == pytest.approx([0.95, 0.95])


def test_entry_by_how_much_a_ratio_is_above_1() -> None:
    (found,) = findings(
        made_up(
            load_paper("pmweaver"), "recalculation",
            lambda design, *_: 1.0 if design == "Enc+Veri, not recalculated" else 1.04,
        )
    )  # fmt: skip
    assert found.measured == pytest.approx(0.04)
    assert found.ci95 == pytest.approx(0.0)
    assert found.benchmarks["TATP artifact"] == pytest.approx(0.04)
    assert found.groups["artifact"].mean == pytest.approx(0.04)
    assert found.verdict == "within 15%"


def test_storage_of_pmweaver_is_that_of_a_core() -> None:
    paper = load_paper("pmweaver")
    sizes = [structure.bytes for structure in storage(paper)]
    assert sizes == [256, 8960, 4608, 34, 1120, 584, 38912]
    (found,) = findings(Measurements(paper, paper.experiments["storage"], "quick", {}))
    assert found.measured == pytest.approx((256 + 8960 + 4608 + 34 + 1120 + 584) / 1024)


def pmweaver_holds(shape: str, experiment: str, speedups: Callable[[str, str, str], float]) -> bool:
    """Return whether a shape holds for runs with these speedups: of a design, point, benchmark."""

    def time_of(design: str, point: Point, benchmark: Benchmark, _seed: int) -> float:
        return 1 / speedups(design, point.name, benchmark.name)

    return SHAPES[shape](made_up(load_paper("pmweaver"), experiment, time_of)).holds


@pytest.mark.parametrize(
    ("which", "speedup", "there"),
    [
        (("Enc+Veri, PMWeaver", "TATP"), 1.9, True),
        (("Enc+Veri, PMWeaver", "B-Tree"), 99.0, False),
        (("Dedup, PMWeaver", "Skiplist"), 99.0, False),
        (("Enc+Veri, address", "Array Swap"), 0.02, False),
        (("Dedup, address", "Array Swap"), 20.0, False),
    ],
)
def test_shape_addresses_and_data(which: tuple[str, str], speedup: float, there: bool) -> None:
    low_level = ("Linked List", "Hashmap Low-Level", "Array Swap", "TATP", "TPCC")

    def speedups(design: str, _: str, benchmark: str) -> float:
        if (design, benchmark) == which:
            return speedup
        whole = {"Enc+Veri, PMWeaver": 1.6, "Enc+Veri, address": 1.5, "Dedup, PMWeaver": 1.3,
                 "Dedup, address": 1.1}.get(design, 1.0)  # fmt: skip
        return whole + (0.2 if benchmark in low_level and "PMWeaver" in design else 0.0)

    assert pmweaver_holds("addresses_and_data", "fig19", speedups) == there


@pytest.mark.parametrize(
    ("which", "speedup", "there"),
    [
        (("Enc+Veri, Janus", ("B-Tree", "C-Tree", "TATP")), 1.9, True),  # 6 of 10 are below
        (("Enc+Veri, Janus", ("B-Tree", "C-Tree", "TATP", "Skiplist")), 1.9, False),
        (("Enc+Veri, Janus", ("TPCC",)), 1.2, False),
        (("Dedup, Janus", ("Hashmap Low-Level",)), 1.2, False),
    ],
)
def test_shape_hints_below_prediction(
    which: tuple[str, tuple[str, ...]], speedup: float, there: bool
) -> None:
    above = {("Enc+Veri, Janus", "TPCC"), ("Dedup, Janus", "Hashmap Low-Level")}

    def speedups(design: str, _: str, benchmark: str) -> float:
        if design == which[0] and benchmark in which[1]:
            return speedup
        if (design, benchmark) in above:
            return 1.8
        return {"J": 1.2, "P": 1.5}.get(design.partition(", ")[2][:1], 1.0)

    assert pmweaver_holds("hints_below_prediction", "fig20", speedups) == there


@pytest.mark.parametrize(
    ("design", "instances", "speedup", "there"),
    [
        ("Dedup, PMWeaver", "4", 1.3, True),
        ("Dedup, PMWeaver", "4", 1.1, False),
        ("Enc+Veri, PMWeaver", "2", 1.6, False),
    ],
)
def test_shape_instances_keep_speedup(
    design: str, instances: str, speedup: float, there: bool
) -> None:
    def speedups(of: str, at: str, _: str) -> float:
        slower = 1 / int(at)  # all that runs beside it
        if (of, at) == (design, instances):
            return speedup * slower
        return (1.35 if "PMWeaver" in of else 1.0) * slower

    assert pmweaver_holds("instances_keep_speedup", "fig25", speedups) == there


def test_shape_instances_keep_speedup_needs_a_speedup() -> None:
    assert not pmweaver_holds("instances_keep_speedup", "fig25", lambda *_: 1.0)


@pytest.mark.parametrize(
    ("point", "covered", "made", "there"),
    [
        ("32", 50, 100, True),
        ("32", 52, 100, False),  # coverage rises
        ("64", 30, 60, False),  # falls by much
        ("32", 50, 120, False),  # accuracy falls
    ],
)
def test_shape_longer_paths(point: str, covered: int, made: int, there: bool) -> None:
    usual = {"4": (52, 130), "8": (51, 120), "16": (50, 110), "32": (50, 100), "64": (49, 90)}

    def seen(cases: dict[str, tuple[int, int]]) -> bool:
        def stats(_: str, at: Point, *__: object) -> dict[str, float]:
            right, predictions = cases[at.name]
            return {
                "backend.writes": 100.0, "pmweaver.right_by_stores": float(right),
                "pmweaver.right_by_timeout": 0.0, "pmweaver.by_stores": float(predictions),
                "pmweaver.by_timeout": 0.0,
            }  # fmt: skip

        measured = made_up(load_paper("pmweaver"), "fig26a", lambda *_: 1.0, stats)
        return SHAPES["longer_paths"](measured).holds

    assert seen(usual | {point: (covered, made)}) == there
    assert not seen(dict.fromkeys(usual, (50, 100)))


@pytest.mark.parametrize(
    ("design", "point", "speedup", "there"),
    [
        ("Dedup, PMWeaver", "2x", 1.5, True),
        ("Dedup, PMWeaver", "32x", 1.55, True),
        ("Dedup, PMWeaver", "32x", 1.7, False),
        ("Enc+Veri, PMWeaver", "32x", 1.3, False),
        ("Enc+Veri, PMWeaver", "0.5x", 1.1, False),
        ("Enc+Veri, PMWeaver", "1x", 1.3, False),
    ],
)
def test_shape_structures_suffice(design: str, point: str, speedup: float, there: bool) -> None:
    usual = {"0.25x": 1.2, "0.5x": 1.3, "1x": 1.5, "2x": 1.5, "32x": 1.5}

    def speedups(of: str, at: str, _: str) -> float:
        if (of, at) == (design, point):
            return speedup
        return usual[at] if "PMWeaver" in of else 1.0

    assert pmweaver_holds("structures_suffice", "fig26b", speedups) == there


# ---- the papers ----------------------------------------------------------------------------------


def test_every_fact_of_the_papers_is_there_and_measured_once() -> None:
    assert set(IDS) <= set(paper_names())
    assert sum(len(ids) for ids in IDS.values()) == 112
    for name, ids in IDS.items():
        paper = load_paper(name)
        assert list(paper.facts) == [f"{name.replace('-', '_')}.{fact}" for fact in ids]
        entries = [e for experiment in paper.experiments.values() for e in experiment.entries]
        assert sorted(entry.fact.id for entry in entries) == sorted(paper.facts)


@pytest.mark.parametrize("name", paper_names())
def test_a_papers_plan_is_consistent(name: str) -> None:
    paper = load_paper(name)
    assert len(paper.seeds) == 3
    for benchmark in paper.benchmarks:
        assert benchmark.workload in workloads()
    for experiment in paper.experiments.values():
        assert experiment.baseline in {*experiment.designs, ""}
        assert set(experiment.designs) <= {*paper.designs, ""}
        assert set(experiment.metrics) <= {*METRICS, "storage"}
        for entry in experiment.entries:
            assert_measurable(entry, experiment.designs)
    for ablation in paper.ablations.values():
        assert set(ablation.of) <= set(paper.experiments)
        assert ablation.why


def assert_measurable(entry: Entry, designs: tuple[str, ...]) -> None:
    fact: Fact = entry.fact
    if fact.value is None:
        assert entry.shape in SHAPES
        assert fact.shape
    else:
        assert entry.of in designs
        assert entry.over in {*designs, ""}
        assert not entry.shape


def test_experiments_differ_only_in_what_the_papers_vary() -> None:
    varied = set()
    for name in IDS:
        paper = load_paper(name)
        for experiment in paper.experiments.values():
            varied |= {key for key, _ in experiment.settings}
            varied |= {key for point in experiment.points for key, _ in point.settings}
        varied |= {key for design in paper.designs.values() for key, _ in design.settings}
    assert varied == {
        "pm.latency_factor", "pm.interleaving", "asap.lh_wpq_entries", "asap.fence_every_region",
        "core.full_fences",  # ASAP's figure 1: its programs have mfence
        "log.ring_size",  # HWRedo's: no paper has its size, and it must fill
        "core.count", "hops.path_latency", "pmem_spec.path_latency", "pmem_spec.buffer_entries",
        "run.instances", "deduplication.fingerprint", "deduplication.drawn_percent",
        "janus.scale",
        "pages.placement",  # the synthetic program's lines share a set by their addresses
        "precompute", "backend.outdated_results", "pmweaver.predicted", "pmweaver.path_length",
        "pmweaver.history_entries", "pmweaver.table_entries", "pmweaver.index_entries",
        "pmweaver.pending_entries", "pmweaver.timeout_entries", "pmweaver.result_lines",
    }  # fmt: skip


def test_an_experiment_may_have_a_machine_of_its_own() -> None:
    paper = load_paper("asap")
    machines = {
        name: {case.machine for case in paper.cases(experiment, "quick")}
        for name, experiment in paper.experiments.items()
    }
    assert machines.pop("fig1") == {"xeon-6140"}
    assert set.union(*machines.values()) == {"asap"}


def test_asap_runs_8_threads_and_lalea_runs_4_instances() -> None:
    for name, threads, instances in (("asap", 8, "1"), ("lalea", 1, "4")):
        paper = load_paper(name)
        studies = paper.experiments.values()
        cases = [case for study in studies for case in paper.cases(study, "quick")]
        assert {case.run.threads for case in cases} == {threads}
        assert {dict(case.settings)["run.instances"] for case in cases} == {instances}


def test_the_papers_scale_runs_ten_times_the_regions() -> None:
    paper = load_paper("asap")
    study = paper.experiments["fig7"]
    regions = {
        scale: {
            (benchmark.name, benchmark.group): paper.case(
                study, "NP", study.points[0], benchmark, 1, scale
            ).run.regions
            for benchmark in paper.benchmarks
        }
        for scale in WRITTEN_SCALES
    }
    assert regions["quick"]["HM", "64 B"] == 800
    assert regions["quick"]["TPCC", "64 B"] == 200  # a quarter, as its regions are longer
    assert regions["paper"] == {which: 10 * count for which, count in regions["quick"].items()}


def test_storage_of_asap_is_what_the_paper_prints() -> None:
    sizes = {structure.name: structure for structure in storage(load_paper("asap"))}
    assert (sizes["CL List, a core"].bytes, sizes["CL List, a core"].printed) == (49, 49)
    # 128 entries of 4 x 4 B, 2 bit and 4 B; 128 of 70 B.
    assert sizes["Dependence List, a channel"].bytes == 2592
    assert sizes["LH-WPQ, a channel"].bytes == 8960
    assert sizes["Bloom filter, a channel"].bytes == 1024
    assert sizes["thread state registers, a thread"].bytes == 48


def test_storage_of_lalea_as_printed_and_as_computed() -> None:
    entries, headers = storage(load_paper("lalea"))[:2]
    # 1024 x 20 bit and 256 x 19 bit; the paper prints 2.5 KB and 2.375 KB.
    assert (entries.bytes, entries.printed) == (2560, 2560)
    assert (headers.bytes, headers.printed, headers.printed_if) == (608, 2432, 2432)


def test_an_ablation_may_run_more_regions() -> None:
    paper = load_paper("asap")
    longer = paper.ablated(paper.ablations["small-data-no-merging"], "fig9a")
    (study, benchmark) = (longer.experiments["fig9a"], longer.benchmarks[0])
    case = longer.case(study, "ASAP", study.points[0], benchmark, 1, "quick")
    assert case.run.regions == 4 * paper.regions["quick"]["64 B"]


def test_an_ablation_may_use_data_of_another_size() -> None:
    paper = load_paper("lalea")
    smaller = paper.ablated(paper.ablations["small-transactions"], "fig4")
    sizes = {benchmark.workload: benchmark.data_bytes for benchmark in smaller.benchmarks}
    assert sizes["hashmap"] == 64
    assert sizes["tpcc"] is None  # the rows of TPC-C have sizes of their own


def test_an_ablation_may_leave_benchmarks_out() -> None:
    paper = load_paper("lalea")
    without = paper.ablated(paper.ablations["without-tatp"], "fig4")
    assert {benchmark.name for benchmark in without.benchmarks} == {
        "B-Tree", "ChainQueue", "HashTable", "RB-Tree", "TPCC",
    }  # fmt: skip


def test_an_ablation_may_measure_something_else() -> None:
    paper = load_paper("asap")
    inside = [chosen.counted for chosen in ablated(paper, paper.ablations["regions-alone"])]
    assert {study.experiment.metric for study in inside} == {"region_rate"}
    assert [study.experiment.id for study in inside] == ["fig1", "fig7", "lh-wpq"]


def test_an_ablation_may_use_smaller_data_sets() -> None:
    paper = load_paper("asap")
    small = paper.ablated(paper.ablations["small-data"], "fig9a")
    (study, benchmark) = (small.experiments["fig9a"], small.benchmarks[0])
    case = small.case(study, "ASAP", study.points[0], benchmark, 1, "quick")
    assert case.run.items == 100
    assert "--items=100" in case.run.arguments


def test_an_ablation_may_exclude_the_set_up() -> None:
    paper = load_paper("pmem-spec")
    whole = paper.ablated(paper.ablations["with-set-up"], "fig9")
    without = replace(paper.ablations["with-set-up"], benchmarks=(), whole_run=False)
    kernels = whole.ablated(without, "fig9")
    runs = {case.run for case in kernels.cases(kernels.experiments["fig9"], "quick")}
    assert {(run.whole_run, run.warm_up > 0) for run in runs} == {(False, True)}


def test_an_ablation_may_run_another_design() -> None:
    paper = load_paper("pmem-spec")
    free = paper.ablated(paper.ablations["free-persistence"], "fig9")
    presets = {case.design for case in free.cases(free.experiments["fig9"], "quick")}
    assert {"eadr", "eadr-redo", "sw-undo", "hops-redo"} <= presets
    assert not presets & {"pmem-spec", "pmem-spec-redo"}


def test_machine_settings_apply_to_all_experiments() -> None:
    paper = load_paper("asap")
    cases = [case for study in paper.experiments.values() for case in paper.cases(study, "quick")]
    assert {dict(case.settings)["run.hand_placed_flushes"] for case in cases} == {"true"}


# ---- the command -----------------------------------------------------------------------------


def test_deviations_name_the_page_with_their_causes(capsys: pytest.CaptureFixture[str]) -> None:
    page = "experiments/asap/DEVIATIONS.md"
    for verdict, named in (("off", True), ("fails", True), ("within 15%", False)):
        deviates = verdict != "within 15%"
        finding = SimpleNamespace(
            verdict=verdict, deviates=deviates, paper=SimpleNamespace(name="asap")
        )
        row: Any = SimpleNamespace(counted=finding)
        reproduce_tables.print_end([row], "results.json", "quick")
        printed = capsys.readouterr().out
        assert f"1 entry: 1 {verdict}; all values of this run: results.json" in printed
        assert (page in printed.replace("\n", "")) == named


def test_a_paper_is_reproduced(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    out = tmp_path / "out"
    done = reproduce(cache, folder, "--out", out, "--ablations", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "tiny.speed" in done.stdout
    assert "2 entries:" in done.stdout
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.*")) == [
        "results.json", "tiny/latency.png", "tiny/one-thread/speed.png", "tiny/speed.png",
    ]  # fmt: skip

    document = json.loads((out / "results.json").read_text())
    entry, varied = document["entries"]
    assert (entry["id"], entry["published"], entry["ablation"]) == ("tiny.speed", 0.5, None)
    assert varied["ablation"] == "one-thread"
    assert entry["verdict"] in {"within 15%", "off"}
    assert entry["ratio"] == pytest.approx(entry["measured"] / 0.5)

    # The entry is recomputed by hand from the values that are in the same document.
    values = {
        (v["design"], v["group"], v["seed"]): v["value"]
        for v in document["values"]
        if (v["experiment"], v["ablation"]) == ("speed", None)
    }
    assert len(values) == 2 * 2 * 2
    by_seed = [
        math.sqrt(
            math.prod(
                values["SW", size, seed] / values["NP", size, seed] for size in ("small", "large")
            )
        )
        for seed in (1, 2)
    ]
    assert entry["measured"] == pytest.approx(statistics.fmean(by_seed))
    assert entry["ci95"] == pytest.approx(12.706 * statistics.stdev(by_seed) / math.sqrt(2))
    assert len([v for v in document["values"] if v["experiment"] == "latency"]) == 2 * 2 * 2 * 2

    # The tables, one an experiment.
    assert done.stdout.count("┃ measured/paper ┃ verdict") == 2
    rows = [line.strip("│").split("│") for line in done.stdout.splitlines() if "│ tiny." in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [
            "tiny.speed", "0.5", f"{found['measured']:.3f} ± {found['ci95']:.3f}",
            f"{found['ratio']:.2f}", found["verdict"],
            *described, *(f"{found['groups'][size]['mean']:.3f}" for size in ("small", "large")),
        ]
        for found, described in (
            (entry, [f"{entry['measured']:.3f} ± {entry['ci95']:.3f}"]), (varied, [])
        )
    ]  # fmt: skip

    # The second call simulates nothing and writes the same output.
    again = reproduce(cache, folder, "--json", "-", "--ablations", "--out", out)
    assert "24 simulations, 24 of them kept from earlier runs" in again.stderr
    assert json.loads(again.stdout) == document


def test_claims_about_traffic_are_also_shown_for_the_other_idle_channel() -> None:
    for name in IDS:
        paper = load_paper(name)
        for experiment in paper.experiments.values():
            if "pm_writes" not in experiment.metrics:
                continue
            own = configure("np", experiment.machine or paper.machine)["pm.idle_writes"]
            others = [
                dict(line.paper.ablation.settings)
                for line in both_columns(paper, experiment.id).lines
                if line.paper.ablation
            ]
            assert others == [{"pm.idle_writes": "hold" if own == "drain" else "drain"}]


def test_an_ablation_may_be_a_line_of_its_experiments(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    file = folder / "experiment.yaml"
    plan = file.read_text().replace("throughput\n    designs", "pm_writes\n    designs", 1)
    held = "  held: {of: [speed], why: Traffic, always: true, set: {pm.idle_writes: drain}}\n"
    file.write_text(plan.replace("NP: {preset: np", "NP: {preset: asap") + held)
    done = reproduce(cache, folder, "speed", "--json", "-", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    entry, line = json.loads(done.stdout)["entries"]
    assert (entry["ablation"], line["ablation"]) == (None, "held")
    assert entry["measured"] != line["measured"]
    done = reproduce(cache, folder, "speed", "--out", tmp_path / "out")
    text = f"with pm.idle_writes=drain (ablation held): speed {line['measured']:.3f}"
    assert text in done.stdout.splitlines()
    assert "1 entry:" in done.stdout
    done = reproduce(cache, folder, "speed", "held", "--out", tmp_path / "out")
    assert "2 entries:" in done.stdout
    assert text in done.stdout.splitlines()


RECORDINGS = """
  found:
    title: Addresses and data in earlier stores
    where: "3"
    metric: address_found
    vary: {name: optimisation, points: {O2: {}, O0: {opt: O0}}}
    entries:
      tiny.address: {at: O0, benchmark: Q}
      tiny.data: {metric: data_found_elsewhere}
"""


@pytest.mark.long
def test_recordings_are_analysed_without_a_design(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    text = (folder / "experiment.yaml").read_text().replace("  large: {data_bytes: 128}\n", "")
    text = text.replace(", large: 60", "").replace(", large: 80", "")
    before, rest = text.split("ablations:\n")
    (folder / "experiment.yaml").write_text(
        f"{before.rstrip()}{RECORDINGS}ablations:\n{rest}"
        "  all-O3: {of: [found], why: Better code, opt: O3}\n"
    )
    other = FACTS.replace("tiny.speed", "tiny.address") + FACTS.replace("tiny.speed", "tiny.data")
    (folder / "expected.yaml").write_text(FACTS + other)

    done = reproduce(cache, folder, "found", "all-O3", "--json", "-", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "6 simulations, 0 of them kept" in done.stderr
    assert "queue analysed" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.png")) == ["found.png"] * 2
    document = json.loads(done.stdout)
    address, data, *varied = document["entries"]

    paper = load_paper(str(folder))
    (benchmark,) = paper.benchmarks

    def shares(point: int, what: str, stores: str) -> list[float]:
        study = paper.experiments["found"]
        runs = [
            paper.case(study, "", study.points[point], benchmark, seed, "quick").run
            for seed in paper.seeds
        ]
        assert {run.opt for run in runs} == {("O2", "O0")[point]}
        recordings = [Trace(cache / "traces" / run.cached_trace.name) for run in runs]
        return [share_found(predictability(trace).total, stores, what) for trace in recordings]

    of_o0 = shares(1, "address", "in_all_stores")
    of_o2 = shares(0, "data_4_bytes", "without_own_stores")
    assert address["measured"] == pytest.approx(statistics.fmean(of_o0))
    assert data["measured"] == pytest.approx(statistics.fmean(of_o2))
    assert 0 < data["measured"] < address["measured"]
    values = {
        (v["point"], v["metric"], v["seed"]): v["value"]
        for v in document["values"]
        if v["ablation"] is None
    }
    assert values["O0", "address_found", 2] == pytest.approx(of_o0[1])
    assert values["O2", "data_found_elsewhere", 1] == pytest.approx(of_o2[0])
    assert {v["design"] for v in document["values"]} == {""}
    # A point that sets no level uses the ablation's level.
    assert [entry["ablation"] for entry in varied] == ["all-O3", "all-O3"]
    recordings = {
        which: {v["trace_hash"] for v in document["values"] if (v["ablation"], v["point"]) == which}
        for which in ((None, "O0"), (None, "O2"), ("all-O3", "O0"), ("all-O3", "O2"))
    }
    assert recordings["all-O3", "O0"] == recordings[None, "O0"]
    assert not recordings["all-O3", "O2"] & recordings[None, "O2"]
    again = reproduce(cache, folder, "found", "--json", "-", "--out", tmp_path / "out")
    assert "4 simulations, 4 of them kept" in again.stderr


def start(cache: Path, folder: Path, results: int) -> subprocess.Popen[str]:
    """Start the command, and wait until so many results are kept."""
    process = subprocess.Popen(
        [
            str(Path(sys.executable).with_name("pmemsim")), "reproduce", str(folder), "speed",
            "--jobs", "1", "--out", str(folder / "out"),
        ],
        env={**os.environ, "PMEMSIM_CACHE": str(cache)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(list((cache / "results").glob("[!.]*.json"))) < results:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def test_a_killed_run_is_resumed(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny", regions=3000)
    process = start(cache, folder, results=2)
    process.kill()
    process.communicate()
    kept = {path: path.stat().st_mtime_ns for path in (cache / "results").glob("[!.]*.json")}
    assert 2 <= len(kept) < 8
    done = reproduce(cache, folder, "speed", "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    assert f"8 simulations, {len(kept)} of them kept from earlier runs" in done.stderr
    assert f"/{8 - len(kept)}] queue on" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list((cache / "results").glob("[!.]*.json"))) == 8


def test_control_c_prints_how_to_continue(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny", regions=3000)
    process = start(cache, folder, results=1)
    process.send_signal(signal.SIGINT)
    output, text = process.communicate(timeout=60)
    assert process.returncode == 130, text
    kept = len(list((cache / "results").glob("[!.]*.json")))
    assert f"{kept} of 8 simulations are kept: run the same command again" in text
    assert "Traceback" not in text
    assert output == ""
    assert [path.name for path in (cache / "results").iterdir() if "partial" in path.name] == []
    assert list((folder / "out").iterdir()) == []


@pytest.mark.long
def test_the_papers_scale_is_another_run(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny", regions=40)
    for scale in ("quick", "paper"):
        arguments = ("--scale", scale, "--json", "-", "--out", tmp_path / "out")
        done = reproduce(cache, folder, "speed", *arguments)
        assert "8 simulations, 0 of them kept" in done.stderr
        assert json.loads(done.stdout)["scale"] == scale


def test_the_storage_of_asap_is_printed(tmp_path: Path, cache: Path) -> None:
    done = reproduce(cache, "asap", "storage", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert re.search(r"│ CL List, a core +│ 4 x \(8 x 8 bit .*│ +49 │ +49 │ 6.2 ", done.stdout)
    (cl_list, *_) = json.loads((tmp_path / "out" / "results.json").read_text())["storage"]
    assert (cl_list["structure"], cl_list["bytes"]) == ("CL List, a core", 49)


@pytest.mark.long
def test_a_changed_parameter_is_simulated_again(tmp_path: Path, cache: Path) -> None:
    folder = write_paper(tmp_path / "tiny")
    assert reproduce(cache, folder, "speed", "--out", tmp_path / "out").returncode == 0
    text = (folder / "experiment.yaml").read_text()
    changed = text.replace("{preset: sw-undo,", "{preset: sw-undo, set: {core.rob_entries: 64},")
    assert changed != text
    (folder / "experiment.yaml").write_text(changed)
    done = reproduce(cache, folder, "speed", "--out", tmp_path / "out")
    assert "8 simulations, 4 of them kept" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["asp"], "unknown paper 'asp'; did you mean 'asap'?"),
        (["fig7"], "unknown paper 'fig7'"),
        (["asap", "fig77"], "asap has no experiment 'fig77'; did you mean 'fig7'?"),
        (["asap", "asap"], "paper 'asap' is given twice"),
        (["asap", "--jobs", "0"], "--jobs 0: must be at least 1"),
        (["asap", "--json", "no/such/out.json"], "no/such does not exist"),
        (["./nothing"], "nothing: experiment.yaml is missing"),
        (["asap", "storage", "--out", __file__], f"--out {__file__}: this is a file"),
        (["asap", "storage", "--out", f"{__file__}/x"], "the folder could not be created"),
    ],
)
def test_reproduce_refuses_bad_input(arguments: list[str], sentence: str, cache: Path) -> None:
    done = reproduce(cache, *arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_design_is_named_before_anything_is_recorded(
    tmp_path: Path, cache: Path
) -> None:
    folder = write_paper(tmp_path / "tiny", design="sw-udno")
    done = reproduce(cache, folder, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert f"{folder}/experiment.yaml:" in done.stderr
    assert "preset: unknown design 'sw-udno'; did you mean 'sw-undo'?" in done.stderr
    assert not (cache / "traces").exists()


# Changes of the tiny paper's plan, and the error of each, with its line and a correction.
BROKEN = [
    ("title: A", "titel: A", "experiment.yaml:3: titel: unknown key; did you mean 'title'?"),
    ("seeds: [1, 2]\n", "", "experiment.yaml:2: the key 'seeds' is missing"),
    ("seeds: [1, 2]", "seeds: 2", "experiment.yaml:7: seeds: must be a list: [one, another]"),
    ("seeds: [1, 2]", "seeds: [one]", "'one' must be a whole number of at least 0"),
    ("{value: 2,", "{value: two,", "experiment.yaml:5: value: 'two' must be a whole number of"),
    ("  Q: {", "  Q: x\n  R: {", "experiment.yaml:15: Q: must be a list of 'key: value' lines"),
    ("regions: 0.5", "regions: -1", "regions: '-1' must be a number above 0"),
    ("large: 80}", "huge: 80}", "huge: unknown key; known names: large, small"),
    (", large: 80}", "}", "experiment.yaml:10: paper: the key 'large' is missing"),
    ("regions: 0.5", "data_bytes: 60", "yaml:15: data_bytes: --data-bytes 60: must be 8 to 8192"),
    ("regions: 0.5", "data_bytes: x", "experiment.yaml:15: data_bytes: 'x' must be a whole number"),
    (
        "queue, regions: 0.5",
        "tatp, data_bytes: 64",
        "the data of tatp have fixed sizes; remove the option",
    ),
    ("{data_bytes: 128}", "{data_bytes: 8200}", "experiment.yaml:13: data_bytes: --data-bytes 82"),
    ("workload: queue", "workload: quene", "unknown workload 'quene'; did you mean 'queue'?"),
    ("metric: throughput", "metric: storage", "metric: unknown metric 'storage'; known names:"),
    ("{value: asap,", "{value: asab,", "value: unknown machine 'asab'; did you mean 'asap'?"),
    ("baseline: NP", "baseline: PN", "baseline: unknown design 'PN'; known names: NP, SW"),
    ("designs: [NP, SW]", "designs: NP", "designs: must be a list"),
    ("tiny.speed:", "tiny.spede:", "expected.yaml has no such id; did you mean 'tiny.speed'?"),
    ("over: NP", "over: PN", "over: unknown design 'PN'"),
    (
        "{of: SW, over: NP}",
        "{shape: fences}",
        "shape: unknown key; known names: at, benchmark, cause, less_one, mean",
    ),
    ("over: NP", "over: NP, at: 4x", "at: unknown point '4x'"),
    ("over: NP", "over: NP, benchmark: R", "benchmark: unknown benchmark 'R'; known names: Q"),
    ("{of: SW, over: NP}", "{of: SW}", "tiny.speed: the key 'over' is missing"),
    ("metric: throughput", "metric: misspeculations", "over: unknown key; known names:"),
    ("over: NP}", "over: NP, mean: harmonic}", "mean: unknown mean 'harmonic'; known names:"),
    ("over: NP}", "over: NP, metric: sped}", "metric: unknown metric 'sped'; did you mean 'speed'"),
    (
        "over: NP}",
        "over: NP, metric: data_found}",
        "metric: throughput, the experiment's, needs de",
    ),
    ("    baseline: NP\n", "", "speed: the key 'baseline' is missing"),
    ("    designs: [NP, SW]\n", "", "speed: the key 'designs' is missing"),
    ("metric: throughput", "metric: data_found", "designs: unknown key; known names:"),
    ("preset: sw-undo", "preset: sw-undo@enc+vari", "unknown backend 'enc+vari'; did you mean"),
    ("preset: sw-undo", "preset: sw-udno@enc+veri", "unknown design 'sw-udno'; did you mean"),
    ("groups:", "programs: {opt: O9}\ngroups:", "opt: --opt O9: must be one of O0, O1, O2, O3"),
    ("groups:", "programs: {hints: mine}\ngroups:", "hints: unknown hints 'mine'; known names:"),
    ("1x: {", "1x: {opt: O9, ", "opt: --opt O9: must be one of O0, O1, O2, O3"),
    ("1x: {", "1x: {threads: 0, ", "threads: '0' must be a whole number of at least 1"),
    ("of: [speed]", "of: [sped]", "of: unknown experiment 'sped'; did you mean 'speed'?"),
    ("threads: 1}", "designs: {SV: {preset: np}}}", "SV: unknown design 'SV'; known names: NP, SW"),
    ("threads: 1}", "whole_run: 1}", "whole_run: unknown value '1'; known names: false, true"),
    ("entries: {}", "entries: {}\n    set: [x]", "set: must be a list of 'key: value' lines"),
    ("title: A", "title: A: B", "experiment.yaml:3: not YAML: mapping values are not allowed here"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), BROKEN)
def test_a_broken_plan_is_refused_with_its_line(
    old: str, new: str, sentence: str, tmp_path: Path
) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text()
    assert old in text
    plan.write_text(text.replace(old, new, 1))
    with pytest.raises(Error, match=re.escape(sentence)):
        load_paper(str(plan.parent))


def test_an_ablation_keeps_the_benchmark_of_an_entry(tmp_path: Path) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text().replace("over: NP", "over: NP, benchmark: Q")
    plan.write_text(text.replace("contention, threads: 1", "contention, without: [Q]"))
    with pytest.raises(Error, match=r"tiny\.speed is of this benchmark alone"):
        load_paper(str(plan.parent))


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ("", "expected.yaml: is empty"),
        ("a: b", "expected.yaml:1: must be a list"),
        ('- {id: tiny.speed, where: "1"}', "'tiny.speed' requires either a value or a shape"),
        ('- {id: tiny.speed, where: "1", value: 1, unit: s}', "unit: unknown unit 's'; did you"),
        ('- {id: tiny.speed, where: "1", value: fast}', "'fast' must be 0 or a number above it"),
        (FACTS + FACTS, "expected.yaml:2: id: 'tiny.speed' is given twice"),
    ],
)
def test_broken_facts_are_refused_with_their_line(
    facts: str, sentence: str, tmp_path: Path
) -> None:
    folder = write_paper(tmp_path / "tiny")
    (folder / "expected.yaml").write_text(facts)
    with pytest.raises(Error, match=re.escape(sentence)):
        load_paper(str(folder))


def test_experiments_of_one_paper_are_listed_with_their_sizes() -> None:
    done = pmemsim("list", "experiments", "asap")
    assert done.returncode == 0, done.stderr
    assert re.search(r"│ asap +│ fig10 +│ +1,080 │", done.stdout)  # 18 sizes, 3 seeds, 4 designs, 5
    assert "lalea" not in done.stdout
    unknown = pmemsim("list", "experiments", "assap")
    assert unknown.returncode == 2
    assert "unknown paper 'assap'; did you mean 'asap'?" in unknown.stderr


def test_shape_is_printed_with_verdict_condition_and_measured_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measured = made_up(load_paper("asap"), "fence", lambda *_: 100.0)
    reproduce_tables.print_experiment(measured, compare(measured, measured), [], None)
    printed = " ".join(capsys.readouterr().out.split())
    assert "asap.fence_every_region: holds condition: with asap_fence after every region" in printed
    assert "measured: ASAP with fences over HWUndo 1.000" in printed


def test_progress_of_a_job_names_size_and_seed_of_its_workload() -> None:
    work: Any = SimpleNamespace(label="on asap")
    workload: Any = SimpleNamespace(
        name="queue", metadata={"workload": "queue", "arguments": ["--regions=800", "--seed=2"]}
    )
    program: Any = SimpleNamespace(name="stack", metadata={"arguments": ["--seed=2"]})
    assert Job(workload, work).label == "queue on asap (regions 800, seed 2)"
    assert Job(program, work).label == "stack on asap"


def test_experiments_are_listed() -> None:
    done = pmemsim("list", "experiments")
    assert done.returncode == 0, done.stderr
    for name in paper_names():
        paper = load_paper(name)
        for experiment in (*paper.experiments, *paper.ablations):
            assert experiment in done.stdout
