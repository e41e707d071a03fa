"""The workloads that Janus measures carry its pre-execution hints, with the data they announce."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from duplicates import PROGRAM, STORES
from pmemsim.targets import find_target

from pmemsim.trace import DETAILS, KINDS, Trace

MEASURED_BY_JANUS = ("array_swap", "queue", "hashmap", "rbtree", "btree", "tatp", "tpcc")
REGIONS = 200
MARK = KINDS.index("mark")
ADDRESS_ONLY, DATA_ONLY, START = 1, 2, 7  # kinds of hints (library/marks.h)


@pytest.mark.parametrize("workload", MEASURED_BY_JANUS)
def test_every_region_is_announced(workload: str) -> None:
    trace = find_target(workload, threads=4, regions=REGIONS).trace()  # test_image.py has it, too
    counts = dict.fromkeys(DETAILS["mark"], 0)
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            marks = chunk.records[chunk.records["kind"] == MARK]
            for detail, count in zip(*np.unique(marks["detail"], return_counts=True), strict=True):
                counts[DETAILS["mark"][detail]] += int(count)
    assert counts["region_begin"] == REGIONS
    # The library announces its commit once a region; the rest is the workload's own.
    assert counts["hint"] >= 2 * REGIONS
    assert counts["hint_data"] >= REGIONS


@dataclass
class Region:
    """What a region's program announced and what it stored: the bytes by address."""

    announced: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)


def regions_of(trace: Trace) -> Iterator[Region]:
    """Return what the first thread did, hints before a region counting as the region's."""
    region, data, ahead = Region(), b"", dict[int, bytes]()
    for chunk in trace.operations(0):
        records = chunk.records
        stores = np.isin(records["kind"], STORES) & (records["purpose"] == PROGRAM)
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


@pytest.mark.parametrize("opt", ["O0", "O2"])
@pytest.mark.parametrize("workload", MEASURED_BY_JANUS)
def test_what_is_announced_is_what_is_written(workload: str, opt: str) -> None:
    trace = find_target(workload, threads=1, regions=REGIONS, opt=opt).trace()
    (memory,) = trace.metadata["pm_regions"]
    lines, announced_lines = 0, 0
    for region in regions_of(trace):
        stored = {
            address: value
            for address, value in region.stored.items()
            if memory["begin"] <= address < memory["end"]
        }
        both = stored.keys() & region.announced.keys()
        assert {at: stored[at] for at in both} == {at: region.announced[at] for at in both}
        lines += len({address // 64 for address in stored})
        announced_lines += len({address // 64 for address in both})
    # The others are the allocator's, which the library writes.
    assert announced_lines >= 2 / 3 * lines
