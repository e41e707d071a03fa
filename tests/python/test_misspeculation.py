"""The programs on which PMEM-Spec misspeculates, and the one that overflows its buffer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pmemsim import run
from pmemsim.recording import build_workload
from pmemsim.targets import find_target
from pmemsim.trace import Trace
from support import pmemsim

SLOW, FAST = "200ns", "10ns"  # a persist path ten times as slow, and faster than the caches' way


def recorded(workload: str, threads: int, regions: int, items: int | None = None) -> Trace:
    return find_target(workload, threads=threads, regions=regions, items=items).trace()


# Lines share a set of the L2 by their addresses.
CONTIGUOUS = {"pages.placement": "contiguous"}


def simulated(trace: Trace, image: Path | None = None, **settings: str) -> dict[str, float]:
    """Return PMEM-Spec's statistics of a run."""
    overrides = {f"pmem_spec.{key}": value for key, value in settings.items()} | CONTIGUOUS
    result = run(trace, design="pmem-spec", machine="pmem-spec", overrides=overrides, image=image)
    stats = result.stats.filter(like="pmem_spec.")
    found = {str(name).removeprefix("pmem_spec."): float(stats[name]) for name in stats.index}
    return {**found, "time_ns": result.time_ns}


def test_loads_misspeculate_only_with_a_slow_persist_path() -> None:
    trace = recorded("load_misspeculation", threads=8, regions=200)
    fast, usual, slow = (simulated(trace, path_latency=latency) for latency in (FAST, "20ns", SLOW))
    for never in (fast, usual):
        assert never["load_alarms"] == never["store_alarms"] == never["stale_reads"] == 0
        assert never["write_backs"] > 150  # the line is evicted all the same
    assert slow["load_alarms"] > 100
    assert slow["aborts"] >= slow["load_alarms"]
    assert slow["unrepaired_loads"] == 0


def test_the_data_are_right_after_every_recovery(tmp_path: Path) -> None:
    trace = recorded("load_misspeculation", threads=2, regions=20)
    images = [tmp_path / "fast", tmp_path / "slow"]
    assert simulated(trace, images[0], path_latency=FAST)["aborts"] == 0
    assert simulated(trace, images[1], path_latency=SLOW)["aborts"] > 20
    for image in images:
        check = [str(build_workload("load_misspeculation")), "--verify", str(image)]
        assert subprocess.run(check, capture_output=True, check=False).returncode == 0


def crashed(*options: str) -> tuple[int, int]:
    """Return exit code and violations of the synthetic program's crashes on a slow path."""
    done = pmemsim(
        "crash", "load_misspeculation", "--threads", "2", "--regions", "6", "-d", "pmem-spec",
        "-m", "pmem-spec", "--set", f"pmem_spec.path_latency={SLOW}",
        *(f"--set={key}={value}" for key, value in CONTIGUOUS.items()), *options, "--json", "-",
    )  # fmt: skip
    (row,) = json.loads(done.stdout)["runs"]
    return done.returncode, row["violations"]


def test_crashes_of_runs_with_rollbacks_lose_nothing() -> None:
    assert crashed() == (0, 0)


@pytest.mark.parametrize("defect", ["detection", "window"])
def test_crashes_reveal_missing_rollbacks(defect: str) -> None:
    code, violations = crashed("--set", f"pmemsim.faults=pmem_spec.{defect}")
    assert code == 1
    assert violations > 0


@pytest.mark.long
def test_stores_arrive_in_the_wrong_order_if_locks_do_not_wait_for_them() -> None:
    trace = recorded("store_misspeculation", threads=8, regions=400)
    assert simulated(trace)["store_alarms"] == 0
    published = simulated(trace, releases="published")
    assert published["store_alarms"] > published["false_store_alarms"]  # some of the same bytes
    assert published["aborts"] > 0


@pytest.mark.long
def test_streaming_stores_overflow_the_speculation_buffer() -> None:
    trace = recorded("streaming", threads=8, regions=200, items=100)
    usual, large = simulated(trace), simulated(trace, buffer_entries="1024")
    assert usual["overflows"] > 0
    assert 0.1 < usual["overflow_time_ns"] / usual["time_ns"] < 1
    assert large["overflow_time_ns"] < usual["overflow_time_ns"] / 4
    assert large["time_ns"] < usual["time_ns"]
