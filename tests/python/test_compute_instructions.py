"""The effect of --compute-instructions: longer regions that write the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmemsim.errors import ConfigError
from pmemsim.reproduction.papers import load_paper
from pmemsim.targets import find_target
from pmemsim.trace import Trace
from pmemsim.workload_runs import Workload, WorkloadRun, find_workload, workloads
from support import ROOT, long_except, pmemsim
from tiny_paper import write_columns, write_paper

REGIONS = 50
FEW_ITEMS = 100
# One of each kind: a queue, a map, swaps, tables, a store, a redo log.
COMPUTING = ("queue", "btree", "array_swap", "tatp", "tpcc", "echo", "vacation", "memcached")
# Counts that computation must not change.
OF_PM = ("pm_loads", "pm_stores", "pm_bytes_written", "pm_lines", "flushes", "fences", "regions")


def recorded(workload: str, instructions: int, opt: str = "O2") -> Trace:
    """Return a recording with one thread, which has one order of regions."""
    return find_target(
        workload, opt=opt, threads=1, regions=REGIONS, items=FEW_ITEMS,
        compute_instructions=instructions,
    ).trace()  # fmt: skip


def total(trace: Trace) -> dict[str, Any]:
    summary: dict[str, Any] = trace.summary()["total"]
    return summary


@pytest.mark.parametrize("workload", long_except(COMPUTING, "queue"))
def test_regions_execute_the_instructions_and_write_the_same(workload: str) -> None:
    without, computing = total(recorded(workload, 0)), total(recorded(workload, 3000))
    added = computing["instructions"] - without["instructions"]
    assert added == pytest.approx(3000 * without["regions"], rel=0.01)
    assert {key: computing[key] for key in OF_PM} == {key: without[key] for key in OF_PM}


@pytest.mark.parametrize("opt", long_except(["O0", "O3"], "O0"))
def test_each_optimisation_level_executes_as_many(opt: str) -> None:
    without, computing = (total(recorded("queue", number, opt=opt)) for number in (0, 3000))
    added = computing["instructions"] - without["instructions"]
    assert added == pytest.approx(3000 * REGIONS, rel=0.01)
    assert {key: computing[key] for key in OF_PM} == {key: without[key] for key in OF_PM}


def test_simulated_regions_take_longer_and_write_as_much() -> None:
    def run(instructions: int) -> dict[str, Any]:
        done = pmemsim(
            "run", "queue", "--threads", "1", "--regions", str(REGIONS), "--items", str(FEW_ITEMS),
            "--compute-instructions", str(instructions), "--design", "redu", "--machine", "lalea",
            "--json", "-",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    without, computing = run(0), run(3000)
    # 20 iterations take 96 cycles each, and 7 take 6, at 2 GHz. A part of that hides waits for PM.
    longer = (computing["time_ns"] - without["time_ns"]) / REGIONS
    assert 0.5 * 981 < longer < 1.1 * 981
    for name in ("pm.bytes_written", "pm.log_bytes_written", "pm.data_bytes_written"):
        assert computing["stats"][name] == without["stats"][name] > 0


def test_computing_regions_survive_crashes() -> None:
    done = pmemsim(
        "crash", "queue", "--threads", "2", "--regions", "20", "--compute-instructions", "500",
        "--design", "asap", "--machine", "asap",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_recording_depends_on_the_instructions() -> None:
    assert WorkloadRun.of("queue") == WorkloadRun.of("queue", compute_instructions=0)
    runs = [WorkloadRun.of("queue", compute_instructions=number) for number in (0, 500, 501)]
    assert len({run.cached_trace for run in runs}) == 3
    assert "compute_instructions" not in recorded("queue", 0).metadata
    assert recorded("queue", 500).metadata["compute_instructions"] == 500


def calls_pm_begin(workload: Workload) -> bool:
    """Return whether a workload calls pm_begin: itself, or through a shared header."""
    (source,) = workload.sources
    text = source.read_text()
    if '"map.hpp"' in text:
        return "kRegions = false" not in text
    return "pm_begin(" in text or "RegionSwap" in text


@pytest.mark.parametrize("name", sorted(workloads()))
def test_catalogue_says_which_workloads_have_regions(name: str) -> None:
    assert find_workload(name).atomic_regions == calls_pm_begin(find_workload(name))


def test_workloads_without_regions_refuse_computation() -> None:
    done = pmemsim(
        "compare", "queue", "tatp_lowlevel", "--designs", "np", "--machine", "asap",
        "--compute-instructions", "100",
    )  # fmt: skip
    assert done.returncode == 2
    assert (
        "--compute-instructions: tatp_lowlevel has no atomic regions; remove the option"
        in done.stderr
    )
    with pytest.raises(ConfigError, match="compute_instructions: 1000001: must be 0 to 1000000"):
        WorkloadRun.of("queue", compute_instructions=1_000_001)


def test_own_workloads_may_compute_by_default(tmp_path: Path) -> None:
    own = tmp_path / "workloads"
    own.mkdir()
    source = (ROOT / "workloads/array_swap/array_swap.cpp").read_text()
    about = "summary: swap\narguments: {threads: 1, regions: 9, seed: 1, compute-instructions: 900}"
    (own / "own_swap.cpp").write_text(f"/* pmemsim workload\n{about}\n*/\n{source}")
    done = pmemsim(
        "record",
        "own_swap",
        "-o",
        tmp_path / "own.pmt",
        environment={"PMEMSIM_PATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert Trace(tmp_path / "own.pmt").metadata["compute_instructions"] == 900


def computation(folder: Path, ablation: str = "") -> dict[tuple[str, str], int]:
    """Return the instructions of each benchmark of the tiny paper as measured, or varied."""
    load_paper.cache_clear()
    paper = load_paper(str(folder))
    varied = paper.in_column("speed", "as measured")
    if ablation:
        varied = paper.ablated(paper.ablations[ablation], "speed")
    cases = varied.cases(varied.experiments["speed"], "quick")
    return {
        (case.run.workload, str(case.run.data_bytes)): case.run.compute_instructions
        for case in cases
    }


def test_groups_benchmarks_and_ablations_give_computation(tmp_path: Path) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text().replace(
        "regions: 0.5}",
        "regions: 0.5}\n  R: {workload: rbtree, compute_instructions: 7}\n"
        "  L: {workload: linked_list}",
    )
    text = text.replace("{data_bytes: 128}", "{data_bytes: 128, compute_instructions: 5}")
    plan.write_text(text.replace("contention, threads: 1", "contention, compute_instructions: 9"))
    assert computation(plan.parent) == {
        ("queue", "64"): 0, ("rbtree", "64"): 7, ("linked_list", "64"): 0,
        ("queue", "128"): 5, ("rbtree", "128"): 7, ("linked_list", "128"): 0,
    }  # fmt: skip
    varied = computation(plan.parent, "one-thread")
    assert set(varied.values()) == {9, 0}
    assert varied["linked_list", "64"] == 0


def test_a_difference_gives_computation_to_some_benchmarks(tmp_path: Path) -> None:
    plan = write_columns(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text()
    own = "    compute_instructions: {large: {Q: 400}}\n    on: [SW]\n"
    plan.write_text(text.replace("    on: [SW]\n", own))
    assert computation(plan.parent) == {("queue", "64"): 0, ("queue", "128"): 400}


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("regions: 0.5", "compute_instructions: -1", "'-1' must be a whole number of at least 0"),
        ("regions: 0.5", "compute_instructions: 2000000", "must be 0 to 1000000"),
        (
            "queue, regions: 0.5",
            "tatp_lowlevel, compute_instructions: 5",
            "compute_instructions: tatp_lowlevel has no atomic regions; remove the key",
        ),
        (
            "threads: 1}",
            "compute_instructions: {larg: {Q: 1}}}",
            "unknown group 'larg'; did you mean 'large'?",
        ),
        (
            "threads: 1}",
            "compute_instructions: {large: {P: 1}}}",
            "unknown benchmark 'P'; known names: Q",
        ),
    ],
)
def test_wrong_computation_is_an_error_with_its_place(
    old: str, new: str, error: str, tmp_path: Path
) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    plan.write_text(plan.read_text().replace(old, new))
    done = pmemsim("reproduce", plan.parent)
    assert done.returncode == 2
    assert "experiment.yaml:" in done.stderr
    assert error in done.stderr
