"""Ratios, geometric means, shares of time, and the documented JSON."""

from __future__ import annotations

import json
import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import pytest

import pmemsim as package
from pmemsim.cli.comparison_tables import print_comparison
from pmemsim.cold_start import cold_starts
from pmemsim.comparison import Comparison, times_over
from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.simulation import (
    Result,
    StartingContents,
    Statistic,
    breakdown,
    configure,
    simulate,
)
from pmemsim.trace import Trace
from support import ROOT, SMALL, made_up_result, pmemsim

pytestmark = pytest.mark.quick

RUN_KEYS = [
    "workload", "design", "machine", "threads", "seed", "schedule", "instructions", "time_ns",
    "regions", "regions_per_s", "pm_write_bytes", "pm_years_per_gib",
    "pm_years_of_worst_line", "wall_s", "instructions_per_wall_s", "stats",
    "core_stalls", "region_latencies", "commit_latencies",
    "configuration", "trace_hash", "version",
]  # fmt: skip


def test_ratios_are_against_the_first_design() -> None:
    comparison = Comparison(
        (
            made_up_result("a", "np", 100),
            made_up_result("a", "sw-undo", 400),
            made_up_result("b", "np", 100),
            made_up_result("b", "sw-undo", 100),
        ),
        ("np", "sw-undo"),
    )
    assert comparison.ratio(comparison.result("a", "sw-undo")) == 0.25
    assert comparison.geomean() == {"np": 1.0, "sw-undo": pytest.approx(0.5)}


def test_samples_are_compared_seed_by_seed_with_their_interval() -> None:
    times = {("np", 1): 100.0, ("np", 2): 300.0, ("asap", 1): 200.0, ("asap", 2): 400.0}
    runs = {key: made_up_result("a", key[0], time, seed=key[1]) for key, time in times.items()}
    comparison = Comparison(tuple(runs.values()), ("np", "asap"))
    assert comparison.samples == 2
    assert comparison.ratios("a", "asap") == [0.5, 0.75]
    half_width = 12.706 * 0.25 / 2  # Student's t for two values, which differ by 0.25
    assert comparison.estimate("a", "asap").mean == 0.625
    assert comparison.estimate("a", "asap").ci95 == pytest.approx(half_width, rel=1e-4)
    assert comparison.geomean_estimate("asap") == comparison.estimate("a", "asap")
    assert comparison.estimate("a", "np") == Estimate(1.0, 0.0)
    assert len(comparison.to_frame()) == 4


def on_machine(machine: str, design: str, time_ns: float) -> Result:
    return replace(made_up_result("a", design, time_ns), machine=machine)


def test_machines_are_compared_with_the_first_design_on_the_first_and_on_the_same() -> None:
    runs = [
        on_machine("asap", "np", 100.0), on_machine("asap", "sw-undo", 400.0),
        on_machine("cxl", "np", 200.0), on_machine("cxl", "sw-undo", 250.0),
    ]  # fmt: skip
    names = ("np on asap", "sw-undo on asap", "np on cxl", "sw-undo on cxl")
    comparison = Comparison(tuple(runs), names)
    assert comparison.machines == ("asap", "cxl")
    assert tuple(map(comparison.name_of, runs)) == names
    assert [comparison.ratio(run) for run in runs] == [1.0, 0.25, 0.5, 0.4]
    assert [comparison.ratio_on_machine(run) for run in runs] == [1.0, 0.25, 1.0, 0.8]
    ratio = comparison.to_dict()["ratios"][3]
    assert ratio == {
        "workload": "a", "design": "sw-undo on cxl", "ratio": 0.4, "ci95": 0.0, "machine": "cxl",
        "ratio_on_machine": 0.8, "ci95_on_machine": 0.0,
    }  # fmt: skip
    assert comparison.geomean()["np on cxl"] == pytest.approx(0.5)


def test_memory_lasts_as_long_as_its_cells_with_even_wear() -> None:
    # 640 bytes in 1 us: 1e8 * 2**30 / 0.64e9 = 1.678e8 seconds, of 31,557,600 a year.
    run = made_up_result("queue", "np", 1000.0)
    assert run.pm_years_per_gib == pytest.approx(5.3164, abs=1e-4)
    media = Statistic("pm.media_bytes_written", 1280, "bytes", "of a buffered device")
    assert replace(run, statistics=(media,)).pm_years_per_gib == pytest.approx(2.6582, abs=1e-4)
    hottest = Statistic("pm.most_line_writes", 5, "writes", "of a line")
    # 2e7 times 1 us: 20 seconds.
    worst = replace(run, statistics=(hottest,)).pm_years_of_worst_line
    assert worst == pytest.approx(20 / 31_557_600)
    nothing = replace(run, pm_write_bytes=0)
    assert nothing.pm_years_of_worst_line is None
    assert nothing.pm_years_per_gib is None
    assert nothing.to_dict()["pm_years_per_gib"] is None


def test_ratios_on_the_same_machine_have_intervals_and_means(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = tuple(
        replace(on_machine("cxl", design, time_ns), workload=workload, seed=seed)
        for workload in ("a", "b")
        for design, times in (("np", (100.0, 300.0)), ("asap", (200.0, 400.0)))
        for seed, time_ns in enumerate(times)
    )
    elsewhere = tuple(replace(run, machine="asap", time_ns=50.0) for run in runs)
    names = ("np on asap", "asap on asap", "np on cxl", "asap on cxl")
    comparison = Comparison(elsewhere + runs, names)
    half_width = 12.706 * 0.25 / 2  # Student's t for two values, 0.5 and 0.75
    found = comparison.geomean_estimate("asap on cxl", on_machine=True)
    assert found == comparison.estimate("a", "asap on cxl", on_machine=True)
    assert (found.mean, found.ci95) == pytest.approx((0.625, half_width), rel=1e-4)
    assert comparison.to_dict()["ratios"][-1]["ci95_on_machine"] == found.ci95
    print_comparison(comparison)
    assert capsys.readouterr().out.count(str(found)) == 3


def test_times_over_the_baselines_show_a_stall_that_shrinks() -> None:
    slow = made_up_result("a", "sw-undo", 1, {"base": 80.0, "fence": 120.0})
    fast = made_up_result("a", "asap", 1, {"base": 80.0, "fence": 10.0})
    times = times_over(fast, slow)
    assert times["core"] == pytest.approx(80 / 200)
    assert times["fence stalls"] == pytest.approx(10 / 200)
    assert sum(times.values()) == pytest.approx(90 / 200)


def test_compare_prints_designs_on_several_machines() -> None:
    recording = ROOT / "tests" / "pins" / "recordings" / "one_thread.pmt"
    done = pmemsim("compare", recording, "-d", "np,sw-undo", "-m", "asap,xeon-optane")
    assert done.returncode == 0, done.stderr
    for text in ("over np on asap", "over np on the same", "ns/region", "np on asap: 100"):
        assert text in done.stdout
    again = pmemsim("compare", recording, "-d", "np", "-m", "asap,asap")
    assert again.returncode == 2
    assert "machine 'asap' is given twice; remove one" in again.stderr
    none = pmemsim("compare", recording, "-d", "np", "-m", ",")
    assert none.returncode == 2
    assert "--machine names no machine" in none.stderr


def test_python_programs_compare_several_machines() -> None:
    recording = ROOT / "tests" / "pins" / "recordings" / "one_thread.pmt"
    machines = ["asap", "xeon-optane"]
    both = package.compare([recording], designs=["np"], machine=machines, progress=False)
    assert both.designs == ("np on asap", "np on xeon-optane")
    assert both.title == "machine asap, xeon-optane; ratios over np on asap"
    first, second = both.results
    assert both.ratio(second) == first.time_ns / second.time_ns
    with pytest.raises(Error, match="machine 'asap' is given twice"):
        package.compare([recording], designs=["np"], machine=["asap", "asap"], progress=False)


def test_program_without_regions_is_compared_by_its_time() -> None:
    recording = ROOT / "tests" / "pins" / "recordings" / "corpus" / "publish_unpersisted.pmt"
    done = pmemsim("compare", recording, "-d", "x86-bare", "-m", "asap")
    assert done.returncode == 0, done.stderr
    assert "time" in done.stdout
    assert "region" not in done.stdout


def test_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: asap\nsummary: s\ninherits: asap\nparameters: {core.width: 2}\n")
    recording = ROOT / "tests" / "pins" / "recordings" / "one_thread.pmt"
    done = pmemsim("compare", recording, "--designs", "np", "--machine", f"asap,{mine}")
    assert done.returncode == 2
    assert "2 of the machines have the name 'asap'" in done.stderr


@pytest.mark.parametrize(("count", "quantile"), [(11, 2.228), (31, 2.042), (1001, 1.962)])
def test_interval_of_many_samples_uses_students_t(count: int, quantile: float) -> None:
    values = [float(index % 2) for index in range(count)]
    expected = quantile * stdev(values) / count**0.5
    assert estimate(values).ci95 == pytest.approx(expected, rel=2e-3)


def test_cold_start_is_reported_with_the_regions_that_suffice() -> None:
    time = {"base": 1000.0}
    warm = made_up_result("warm", "np", 100, time, first_half=0.51)
    faster = made_up_result("slow", "np", 100, time, first_half=0.6)
    slower = made_up_result("slow", "asap", 100, time, first_half=0.7)
    (start,) = cold_starts([warm, faster, slower])
    assert start.result.design == "asap"
    assert start.slower == pytest.approx(7 / 3)
    # The first half took 0.4 of the time longer than the second: 20 times the tolerated share.
    assert start.enough_regions == pytest.approx(10 * 0.4 / 0.02, abs=10)
    assert "at least 200 regions" in start.sentence()


def test_first_half_of_a_cold_run_takes_longer(tmp_path: Path) -> None:
    recording = tmp_path / "cold.pmt"
    arguments = ["--threads", "1", "--regions", "60", "--items", "20000"]
    assert pmemsim("record", "btree", *arguments, "-o", recording).returncode == 0
    done = pmemsim("compare", recording, "--designs", "np,sw-undo", "--machine", "asap")
    assert done.returncode == 0
    assert "warning: btree on " in done.stderr
    assert "the first half of the run took" in done.stderr


def test_compare_with_seeds_and_schedules_prints_intervals(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = ["queue", "--threads", "2", "--regions", "40", "--designs", "np,sw-undo"]
    samples = ["--seeds", "2", "--schedules", "2"]
    done = pmemsim("compare", *arguments, "--machine", "asap", *samples, "--json", out)
    assert done.returncode == 0, done.stderr
    assert "4 recordings of each workload" in done.stdout
    assert "±" in done.stdout
    document = json.loads(out.read_text())
    assert [(run["seed"], run["schedule"]) for run in document["runs"][::2]] == [
        (1, 0), (1, 1), (2, 0), (2, 1),
    ]  # fmt: skip
    assert {run["workload"] for run in document["runs"]} == {"queue"}
    assert document["ratios"][1]["ci95"] > 0
    assert document["geomean_ci95"]["np"] == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--seeds", "0"], "--seeds 0: must be 1 to 1000"),
        (["--schedules", "2"], "--schedules 2: queue has one thread"),
    ],
)
def test_impossible_samples_are_refused(arguments: list[str], error: str) -> None:
    base = ["queue", "--threads", "1", "--designs", "np", "--machine", "asap"]
    done = pmemsim("compare", *base, *arguments)
    assert done.returncode == 2
    assert error in done.stderr


def test_samples_of_a_recording_are_refused(queue_trace: Path) -> None:
    done = pmemsim("compare", queue_trace, "-d", "np", "-m", "asap", "--seeds", "3")
    assert done.returncode == 2
    assert "this is a recording; --seeds need the name of a workload" in done.stderr


def test_initial_contents_of_a_recording_are_loaded_once_and_released(
    queue_trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[weakref.ref[object]] = []

    class Loaded:
        pass

    def load(_: object) -> Loaded:
        contents = Loaded()
        loaded.append(weakref.ref(contents))
        return contents

    monkeypatch.setattr("pmemsim.simulation._core.load_contents", load)
    contents = StartingContents(Trace(queue_trace), 3)
    taken = [contents.take() for _ in range(3)]
    assert len(set(map(id, taken))) == len(loaded) == 1
    taken.clear()
    assert loaded[0]() is None


def test_shared_contents_change_no_statistic(queue_trace: Path) -> None:
    trace = Trace(queue_trace)
    configuration = configure("hw-redo", "asap")
    contents = StartingContents(trace, 2)
    alone = simulate(trace, configuration)
    for _ in range(2):  # the first run's stores don't reach the second
        assert simulate(trace, configuration, contents=contents).statistics == alone.statistics


def test_shares_of_time_add_up_to_one() -> None:
    stalls = {"base": 30.0, "execution": 10.0, "dram": 5.0, "pm": 15.0, "fence": 40.0}
    shares = breakdown(made_up_result("a", "np", 1, stalls))
    assert shares == {
        "core": pytest.approx(0.4),
        "cache misses": pytest.approx(0.2),
        "fence stalls": pytest.approx(0.4),
        "store queue stalls": 0.0,
        "lock waiting": 0.0,
        "thread waiting": 0.0,
        "commits and pauses": 0.0,
    }


def test_a_run_has_exactly_the_documented_keys() -> None:
    run = made_up_result("a", "np", 2000.0, {"base": 1.5}).to_dict()
    assert list(run) == RUN_KEYS
    assert run["regions_per_s"] == pytest.approx(5e6)
    assert run["instructions_per_wall_s"] == 2000
    assert run["stats"]["stall.base_ns"] == 1.5
    assert run["configuration"]["run.instances"] == {"value": "1", "place": "default"}
    json.dumps(run)


def test_a_comparison_has_exactly_the_documented_keys(comparison: Comparison) -> None:
    document = comparison.to_dict()
    assert list(document) == ["runs", "ratios", "geomean", "geomean_ci95", "cold"]
    assert len(document["runs"]) == len(document["ratios"]) == 6
    assert list(document["ratios"][0]) == [
        "workload", "design", "ratio", "ci95", "machine", "ratio_on_machine", "ci95_on_machine",
    ]  # fmt: skip
    assert document["geomean"]["sw-undo"] == pytest.approx(0.5)


def test_comparison_converts_to_a_pandas_frame(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    assert frame.loc[("hashmap", "eadr"), "ratio"] == pytest.approx(1 / 3)
    result = comparison.results[0]
    assert result.stats["stall.fence_ns"] == 20.0
    assert result.to_frame().loc["stall.fence_ns", "unit"] == "ns"


def test_recordings_of_one_name_are_distinguished_by_their_files(
    tmp_path: Path, queue_trace: Path
) -> None:
    other, twin = tmp_path / "other.pmt", tmp_path / "sub" / "other.pmt"
    twin.parent.mkdir()
    assert pmemsim("record", "queue", *SMALL, "--seed", "9", "-o", other).returncode == 0
    shutil.copyfile(other, twin)
    comparison = package.compare(
        [queue_trace, other, twin], designs=["np", "sw-undo"], machine="asap"
    )
    assert comparison.workloads == (queue_trace.stem, str(other), str(twin))
    for trace, workload in zip((queue_trace, other, twin), comparison.workloads, strict=True):
        np, sw_undo = (
            package.run(trace, design=design, machine="asap").time_ns
            for design in comparison.designs
        )
        assert comparison.result(workload, "sw-undo").time_ns == sw_undo
        assert comparison.ratio(comparison.result(workload, "sw-undo")) == np / sw_undo


def test_designs_of_one_name_are_refused(tmp_path: Path, queue_trace: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: np\nsummary: s\ninherits: np\n")
    with pytest.raises(Error, match="2 of the designs have the name 'np'"):
        package.compare([queue_trace], designs=["np", str(mine)], machine="asap")
    done = pmemsim("compare", queue_trace, "--designs", f"np,{mine}", "--machine", "asap")
    assert done.returncode == 2
    assert "2 of the designs have the name 'np'" in done.stderr
