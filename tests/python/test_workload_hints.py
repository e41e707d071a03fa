"""The workloads that Janus measures carry its pre-execution hints, with the data they announce."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from duplicates import PROGRAM, STORES
from pmemsim.trace import DETAILS, KINDS, Trace
from support import SHARED_REGIONS, long_except, shared_recording

MEASURED_BY_JANUS = ("array_swap", "queue", "hashmap", "rbtree", "btree", "tatp", "tpcc")
MARK = KINDS.index("mark")
ADDRESS_ONLY, DATA_ONLY, START = 1, 2, 7  # kinds of hints (library/marks.h)


@pytest.mark.parametrize("workload", long_except(MEASURED_BY_JANUS, "queue", "tatp"))
def test_every_region_has_hints(workload: str) -> None:
    trace = shared_recording(workload)
    counts = dict.fromkeys(DETAILS["mark"], 0)
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            marks = chunk.records[chunk.records["kind"] == MARK]
            for detail, count in zip(*np.unique(marks["detail"], return_counts=True), strict=True):
                counts[DETAILS["mark"][detail]] += int(count)
    assert counts["region_begin"] == SHARED_REGIONS
    # The library announces its commit once a region; the rest is the workload's own.
    assert counts["hint"] >= 2 * SHARED_REGIONS
    assert counts["hint_data"] >= SHARED_REGIONS


@dataclass
class Region:
    """The data that a region's program announced, and those it stored to PM: bytes by address."""

    announced: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)


def regions_of(trace: Trace, thread: int, memory: range) -> Iterator[Region]:
    """Yield a thread's regions; hints before a region count as the region's."""
    region, data, ahead = Region(), b"", dict[int, bytes]()
    for chunk in trace.operations(thread):
        records = chunk.records
        stores = np.isin(records["kind"], STORES) & (records["purpose"] == PROGRAM)
        stores &= (records["address"] >= memory.start) & (records["address"] < memory.stop)
        for index in np.flatnonzero(stores | (records["kind"] == MARK)):
            record = records[index]
            address, second = int(record["address"]), int(record["second"])
            if record["kind"] != MARK:
                region.stored |= dict(enumerate(chunk.value(int(index)), address))
                continue
            detail = DETAILS["mark"][record["detail"]]
            if detail == "hint_data":
                data += address.to_bytes(8, "little") + second.to_bytes(8, "little")
            elif detail == "hint":
                size, kind, request = second & 0xFFFFFFFF, second >> 32 & 0xFF, second >> 40
                if kind == DATA_ONLY:
                    ahead[request] = data[:size]
                elif kind != START:
                    value = ahead.get(request, b"") if kind == ADDRESS_ONLY else data[:size]
                    region.announced |= dict(enumerate(value, address))
                data = b""
            elif detail == "region_end":
                yield region
                region = Region()


@pytest.mark.parametrize("opt", long_except(["O0", "O2"], "O2"))
@pytest.mark.parametrize("workload", long_except(MEASURED_BY_JANUS, "queue", "tatp"))
def test_hints_announce_the_data_that_are_written(workload: str, opt: str) -> None:
    trace = shared_recording(workload, opt)
    (pool,) = trace.metadata["pm_regions"]
    memory = range(pool["begin"], pool["end"])
    lines, announced_lines = 0, 0
    for region in itertools.chain.from_iterable(
        regions_of(trace, thread, memory) for thread in range(trace.threads)
    ):
        both = region.stored.keys() & region.announced.keys()
        assert {at: region.stored[at] for at in both} == {at: region.announced[at] for at in both}
        lines += len({address // 64 for address in region.stored})
        announced_lines += len({address // 64 for address in both})
    # The other lines are the allocator's, which the library writes.
    assert announced_lines >= 0.65 * lines
