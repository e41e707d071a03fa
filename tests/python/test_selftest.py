"""`pmemsim selftest`: crash verification and known results detect injected faults."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pmemsim import _core
from pmemsim.cli import selftest
from pmemsim.errors import CheckFailed
from pmemsim.presets import preset_names
from pmemsim.selftest.injected_faults import FAULTS_KEY, injected_faults
from pmemsim.selftest.known_results import check_results, known_results
from support import long_except, pmemsim


def test_each_design_has_three_faults_or_more() -> None:
    count = Counter(fault.design for fault in injected_faults())
    # These have the ordering of one that has faults, and the atomicity of another.
    orderings = ("dpo", "hops", "pmem-spec")
    of_parts = {f"{ordering}-{log}" for ordering in orderings for log in ("bare", "redo")}
    few = {design for design in preset_names("design") if count[design] < 3}
    # These have the same operations as parallel.
    ideals = {"ideal", "ideal-free"}
    assert few == {"np", "eadr-redo", "serialized", "janus"} | ideals | of_parts


def test_every_fault_is_injected_into_some_design() -> None:
    switches = {fault.name for fault in _core.faults()}
    # Speculation IDs find nothing where releases stall. No workload's threads store to words of one
    # line while one of these stores is in flight, or read a line between two such stores.
    # docs/explanation/crash.md says which tests show what the IDs do.
    others = switches - {fault.switch for fault in injected_faults()}
    others -= {known.fault for known in known_results()}
    # Unit tests cover a forger of images, bits that can't be corrected, and lines that are dropped
    # and read again. The contract's backend covers writes of one line that take different times.
    # Results for another line change nothing but time.
    assert others == {
        "backend.order",
        "backend.prepared_line",
        "backend.registers",
        "compression.dropped",
        "error_correction.detect",
        "integrity.address",
        "pmem_spec.early_store",
        "pmem_spec.tags",
        "pmem_spec.masks",
        "wear_leveling.wait",
    }


@pytest.mark.parametrize(
    "design",
    long_except(sorted({fault.design for fault in injected_faults()}), "hops"),
)
def test_every_injected_fault_is_noticed(design: str) -> None:
    done = pmemsim("selftest", "--design", design)
    assert done.returncode == 0, done.stderr
    assert "NOT DETECTED" not in done.stdout


def test_results_name_faults_and_sound_designs(tmp_path: Path) -> None:
    output = tmp_path / "faults.json"
    assert pmemsim("selftest", "-d", "x86-bare", "--json", output).returncode == 0
    results = json.loads(output.read_text())
    assert {fault["fault"] for fault in results["faults"]} == {
        "x86.flush", "x86.fence", "x86.snoop", "x86.evictions",
    }  # fmt: skip
    assert all(fault["caught"] and fault["violations"] > 0 for fault in results["faults"])
    assert all(run["violations"] == 0 for run in results["runs"])
    known = {result["fault"]: result for result in results["known_results"]}
    assert known["core.fence_waits"]["result_with_fault"] == 0
    assert 500 <= known["core.fence_waits"]["result"] <= 550


def test_a_fault_that_is_not_noticed_fails() -> None:
    fault = injected_faults()[0]
    harmless = replace(fault, switch="nothing", setting=(FAULTS_KEY, ""))
    with pytest.raises(CheckFailed, match="x86-bare with nothing: the fault was not detected"):
        selftest.inject([harmless], [], "asap", None, None)


def test_faults_in_times_counts_and_caches_change_known_results() -> None:
    verdicts = check_results(known_results())
    assert [problem for verdict in verdicts for problem in verdict.problems] == []
    assert {verdict.known.fault for verdict in verdicts} == {
        "backend.late", "backend.outdated", "core.fence_waits", "log.latency", "pm.acknowledgement",
        "shared.fifo", "shared.one_core",
    }  # fmt: skip


def test_fault_that_changes_no_known_result_fails() -> None:
    known = next(each for each in known_results() if each.fault == "shared.fifo")
    harmless = replace(known, fault="shared.one_core")  # its cache has the same size for any cores
    with pytest.raises(CheckFailed, match=r"x86-bare with shared\.one_core: the fault was not"):
        selftest.inject([], [harmless], "asap", None, None)


def test_wrong_known_result_fails() -> None:
    known = next(each for each in known_results() if each.fault == "shared.one_core")
    impossible = replace(known, least=2.0, most=2.0)
    with pytest.raises(CheckFailed) as failure:
        selftest.inject([], [impossible], "asap", None, None)
    assert str(failure.value) == (
        "x86-bare without a fault has 0 of shared.pm_reads an operation of load, but must have 2, "
        "since 512 KiB of data fit in the shared cache of 8 cores, which has 1 MiB"
    )


@pytest.mark.long
def test_random_configurations_run_by_the_command(tmp_path: Path) -> None:
    output = tmp_path / "random.json"
    done = pmemsim("selftest", "--random", "2", "--seed", "1", "--json", output)
    assert done.returncode == 0, done.stderr
    assert "2 random configurations ran" in done.stdout
    assert json.loads(output.read_text())["random"]["ran"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--design", "np"],
            "--design np: pmemsim has no faults for this design; designs with faults: x86-bare",
        ),
        (["--design", "asap,nope"], "--design nope: pmemsim has no faults for this design"),
        (["--random", "0"], "--random 0: must be 1 to"),
        (["--random", "2", "--design", "asap"], "--random 2: leave out --design asap; random"),
        (["--seed", "2"], "--seed 2: needs --random"),
    ],
)
def test_wrong_options_are_reported(arguments: list[str], sentence: str) -> None:
    done = pmemsim("selftest", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
