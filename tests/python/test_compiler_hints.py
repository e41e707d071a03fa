"""Workloads with the compiler's pre-execution hints (pmemsim-cc --janus-auto): --hints auto."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from duplicates import STORES
from pmemsim.errors import ConfigError
from pmemsim.lint_hints import lint
from pmemsim.recording import record_workload
from pmemsim.simulation import configure
from pmemsim.trace import DETAILS, KINDS, Trace
from pmemsim.workload_runs import HINTS, WorkloadRun
from support import ONE_OF_EACH_KIND, SMALL_ITEMS, long_except, pmemsim

REGIONS = 40
MARK = KINDS.index("mark")
ADDRESS, DATA = 1, 2
KIND_NAMES = ("both", "address", "data", "value", "both_buffered", "", "", "start")


def recorded(workload: str, hints: str, opt: str = "O2") -> Trace:
    return record_workload(
        WorkloadRun.of(
            workload, opt=opt, hints=hints, threads=1, regions=REGIONS, items=SMALL_ITEMS
        )
    )


def events(trace: Trace) -> Iterator[tuple[str, int, bytes]]:
    """Return the stores to PM and the hints, as kind, address (or object) and data."""
    (pool,) = trace.metadata["pm_regions"]
    data = b""
    for chunk in trace.operations(0):
        records = chunk.records
        stores = np.isin(records["kind"], STORES)
        stores &= (records["address"] >= pool["begin"]) & (records["address"] < pool["end"])
        for index in np.flatnonzero(stores | (records["kind"] == MARK)):
            address, second = (int(records[index][key]) for key in ("address", "second"))
            if records[index]["kind"] != MARK:
                yield "store", address, bytes(chunk.value(int(index)))
                continue
            mark = DETAILS["mark"][records[index]["detail"]]
            if mark == "hint_data":
                data += address.to_bytes(8, "little") + second.to_bytes(8, "little")
            elif mark == "hint":
                kind, size, number = second >> 32 & 0xFF, second & 0xFFFFFFFF, second >> 40
                if kind == DATA:
                    yield "data", number, data[:size]
                elif kind == ADDRESS:
                    yield "address", address, number.to_bytes(8, "little")
                else:
                    yield KIND_NAMES[kind], address, data[:size]
                data = b""


def stored_bytes(trace: Trace) -> list[tuple[int, int]]:
    """Return each stored byte with its address, since adjacent stores may be joined."""
    return [
        (address + i, byte)
        for kind, address, value in events(trace)
        if kind == "store"
        for i, byte in enumerate(value)
    ]


# Hints of a region, without the one of the library's for its commit.
OF_A_REGION = {
    "array_swap": {"address": 2, "both": 1},
    "tatp": {"address": 1, "value": 1},
    "hashmap": {},
    "rbtree": {},
    "btree": {},
    "tpcc": {},
    "tatp_lowlevel": {"address": 4, "data": 1, "value": 3},
}


# Workloads whose programs other tests compile, too: compiling takes most of a test's time.
@pytest.mark.parametrize("workload", long_except([*ONE_OF_EACH_KIND, "linked_list"]))
def test_compiler_hints_leave_the_stores_unchanged(workload: str) -> None:
    none, auto = (recorded(workload, hints) for hints in ("none", "auto"))
    assert stored_bytes(none) == stored_bytes(auto)
    counts = [trace.summary()["total"]["instructions"] for trace in (none, auto)]
    assert counts[1] == pytest.approx(counts[0], rel=0.02)


@pytest.mark.parametrize("workload", long_except(ONE_OF_EACH_KIND, "queue"))
def test_hints_from_profile_leave_the_stores_unchanged(workload: str, tmp_path: Path) -> None:
    """Each hint announces the data that have just been stored."""
    none = recorded(workload, "none")
    lines = lint(none, configure("janus", "janus")).profile
    assert lines
    profile = tmp_path / "lines.txt"
    profile.write_text("".join(f"{line}\n" for line in lines))
    hinted = recorded(workload, str(profile))
    assert stored_bytes(none) == stored_bytes(hinted)
    of_library = sum(kind != "store" for kind, _, _ in events(none))
    stored: dict[int, int] = {}
    announced = 0
    for kind, address, value in events(hinted):
        if kind == "store":
            stored |= dict(enumerate(value, address))
        elif kind == "both":
            announced += 1
            for i, byte in enumerate(value):
                assert stored.get(address + i, byte) == byte
    assert announced > 0
    assert sum(kind != "store" for kind, _, _ in events(hinted)) == announced + of_library


@pytest.mark.parametrize("workload", ["array_swap", "queue", "tatp_lowlevel", "linked_list"])
@pytest.mark.long
def test_compiler_hints_at_o0_leave_the_store_addresses_unchanged(workload: str) -> None:
    """Padding of an object comes from the stack, with arbitrary contents."""
    none, auto = (recorded(workload, hints, "O0") for hints in ("none", "auto"))
    places = [[address for address, _ in stored_bytes(trace)] for trace in (none, auto)]
    assert places[0] == places[1]
    counts = [trace.summary()["total"]["instructions"] for trace in (none, auto)]
    assert counts[1] == pytest.approx(counts[0], rel=0.01)


@pytest.mark.parametrize("opt", long_except(["O0", "O2"], "O2"))
@pytest.mark.parametrize(
    "workload",
    long_except(
        ["array_swap", "array_swap_lowlevel", "queue", "tatp", "tatp_lowlevel", "linked_list"],
        "queue",
    ),
)
def test_compiler_hints_match_the_next_stores(workload: str, opt: str) -> None:
    expected: dict[int, int] = {}
    places: dict[int, int] = {}
    data: dict[int, bytes] = {}
    announced = 0
    for kind, address, value in events(recorded(workload, "auto", opt)):
        if kind == "store":
            for i, byte in enumerate(value):
                assert expected.pop(address + i, byte) == byte
            continue
        if kind == "data":
            data[address] = value
            if address in places:
                expected |= dict(enumerate(value, places[address]))
        elif kind == "address":
            number = int.from_bytes(value, "little")
            places[number] = address
            expected |= dict(enumerate(data.get(number, b""), address))
        else:
            expected |= dict(enumerate(value, address))
        announced += kind != "address"
    assert announced >= REGIONS
    assert expected == {}


@pytest.mark.parametrize("workload", long_except(OF_A_REGION, "tatp_lowlevel"))
def test_compiler_places_the_expected_hints_per_region(workload: str) -> None:
    """In most workloads with regions, another function than the one that ends it declares."""
    counts = {
        hints: Counter(kind for kind, _, _ in events(recorded(workload, hints)) if kind != "store")
        for hints in ("none", "auto", "manual")
    }
    own = counts["auto"] - counts["none"]
    assert own == {kind: REGIONS * count for kind, count in OF_A_REGION[workload].items()}
    assert counts["none"] in ({}, {"value": REGIONS})
    assert sum(counts["manual"].values()) >= sum(counts["none"].values()) + REGIONS


def test_recordings_with_different_hints_are_cached_separately() -> None:
    runs = [WorkloadRun.of("queue", hints=hints) for hints in HINTS]
    assert len({run.cached_trace for run in runs}) == len(HINTS)
    assert runs[0] == WorkloadRun.of("queue")
    assert runs[0].arguments == runs[1].arguments


def test_profiles_with_different_lines_are_cached_separately(tmp_path: Path) -> None:
    first, same, other = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    for path, text in ((first, "a.cpp:1\n"), (same, "a.cpp:1\n"), (other, "a.cpp:2\n")):
        path.write_text(text)
    traces = [WorkloadRun.of("queue", hints=str(p)).cached_trace for p in (first, same, other)]
    assert traces[0] == traces[1] != traces[2]
    with pytest.raises(ConfigError, match="or a file that `pmemsim lint-hints --profile`"):
        WorkloadRun.of("queue", hints=str(tmp_path / "none.txt"))


def test_record_accepts_the_hints_option(tmp_path: Path) -> None:
    done = pmemsim("record", "queue", "--hints", "all", "-o", tmp_path / "queue.pmt")
    assert done.returncode == 2
    assert done.stderr == (
        "pmemsim: --hints all: must be one of manual, auto, none, or a file that `pmemsim "
        "lint-hints --profile` wrote\n"
    )
    output = tmp_path / "tatp_lowlevel.pmt"
    done = pmemsim(
        "record",
        "tatp_lowlevel",
        "--regions",
        "10",
        "--threads",
        "1",
        "--hints",
        "auto",
        "-o",
        output,
    )
    assert done.returncode == 0, done.stderr
    assert "address" in {kind for kind, _, _ in events(Trace(output))}
