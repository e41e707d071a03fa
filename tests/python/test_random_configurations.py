"""Random configurations run, crash and run again the same (python/pmemsim/selftest)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from pmemsim import _core
from pmemsim.errors import ConfigError
from pmemsim.presets import Setting
from pmemsim.selftest.child_process import ChildFailedError, in_child_process
from pmemsim.selftest.extreme_values import extreme_values
from pmemsim.selftest.random_configurations import RandomCase, random_case
from pmemsim.selftest.trials import run_trials, try_case
from pmemsim.workload_runs import WorkloadRun
from support import LONG_TESTS

# The long form has 500 configurations, and others than the usual form.
GROUPS, CASES = (range(4, 14), 50) if LONG_TESTS else (range(2), 10)


@pytest.mark.quick
@pytest.mark.parametrize("group", GROUPS)
def test_random_configurations_run_or_are_refused(
    group: int, record_property: Callable[[str, object], None]
) -> None:
    trials = run_trials(first_seed=1000 * group, wanted=CASES, jobs=1)
    record_property("summary", str(trials))
    assert trials.failures == [], "\n".join(trials.failures)
    assert trials.crashed > CASES / 3
    for refusal in trials.refusals:
        assert len(refusal.splitlines()) == 1, refusal
        assert ": " in refusal or "; " in refusal, refusal


def test_equal_seeds_give_equal_cases() -> None:
    cases = []
    for seed in range(1, 600):
        try:
            cases.append(random_case(seed))
        except ConfigError:
            continue
        assert random_case(seed) == cases[-1]
        if len(cases) == 60:
            break
    assert len(cases) == 60
    assert len({case.machine for case in cases}) > 4
    assert len({case.design for case in cases}) > 4
    assert {case.program.threads for case in cases} == {1, 2, 3, 4}
    assert any(("run.lock_order", "simulated") in case.values for case in cases)
    assert any(key == "run.instances" for case in cases for key, _ in case.values)
    assert len({key for case in cases for key, _ in case.values}) > 100


def parameter(key: str) -> _core.Parameter:
    return next(each for each in _core.parameters() if each.key == key)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("core.rob_entries", ["8", "4096"]),
        ("pm.read_latency", ["0s", "1s"]),
        ("pm.latency_factor", ["0.01", "1000"]),
        ("dram.page_size", ["64B", "1GiB"]),
        ("core.run_ahead", ["1ns", "1ms"]),
        ("pm.write_merging", ["false", "true"]),
        ("pm.device", ["dram", "fixed", "buffered"]),
        ("pmem_spec.releases", ["wait"]),
        ("l1.size", ["64B", "1MiB"]),
        ("pm.link_bandwidth", []),
    ],
)
def test_extreme_values_are_the_declared_ends(key: str, values: list[str]) -> None:
    assert extreme_values(parameter(key)) == values


def test_extreme_values_are_legal() -> None:
    for each in _core.parameters():
        for value in extreme_values(each) if each.type != "choices" else []:
            _core.check_values([Setting(each.key, value, "test")])


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def never_end() -> None:
    while True:
        pass


def test_a_child_that_dies_or_never_ends_is_an_error() -> None:
    assert in_child_process(divmod, 7, 2) == (3, 1)
    with pytest.raises(ChildFailedError, match="died of signal SIGSEGV"):
        in_child_process(die)
    with pytest.raises(ChildFailedError, match="in time"):
        in_child_process(never_end, processor_seconds=0.1)


RANDOM = WorkloadRun.of("random", threads=2, regions=20, seed=1)
MISSPECULATING = WorkloadRun.of("load_misspeculation", threads=2, regions=6)
SELECTIVE = ("backend.metadata_atomicity", "selective")


@pytest.mark.parametrize(
    "case",
    [
        # PMEM-Spec re-executes regions, whose log then restores no line that can't be read.
        RandomCase(
            0,
            "pmem-spec@verified-parallel",
            "pmem-spec",
            (
                ("pmem_spec.path_latency", "200ns"),
                ("pages.placement", "contiguous"),
                SELECTIVE,
            ),
            MISSPECULATING,
        ),
        # PMEM-Spec polls while writes take a second.
        RandomCase(0, "pmem-spec", "lalea", (("pm.tburst", "1s"),), RANDOM),
    ],
    ids=["selective metadata", "slow writes"],
)
def test_configurations_that_failed_once_run_and_crash(case: RandomCase) -> None:
    outcome = try_case(case)
    assert outcome.failure == outcome.refusal == ""
    assert outcome.crashed


@pytest.mark.parametrize(("latency", "failed"), [("1s", False), ("999ms", True)])
def test_latencies_of_a_second_may_exceed_the_longest_time(latency: str, *, failed: bool) -> None:
    values = (("pm.trcd", latency), ("pm.latency_factor", "1000"), ("backend", "oram"))
    program = WorkloadRun.of("random", threads=4, regions=200, seed=1263)
    outcome = try_case(RandomCase(0, "sw-undo", "cxl-nv-cmm", values, program))
    assert "the simulated time exceeds" in (outcome.failure if failed else outcome.refusal)


def test_a_list_of_one_entry_that_stops_a_run_is_refused_and_not_a_failure() -> None:
    program = WorkloadRun.of("random", threads=3, regions=32, seed=1266342)
    values = (("asap.lh_wpq_entries", "1"), ("backend.units_per_core", "0"))
    outcome = try_case(RandomCase(0, "asap+c+lp@verified-parallel", "janus", values, program))
    assert outcome.failure == ""
    assert "choose a larger asap.lh_wpq_entries" in outcome.refusal
