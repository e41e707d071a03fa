"""The workloads that Janus measures carry its pre-execution hints, with the data they announce."""

from __future__ import annotations

import numpy as np
import pytest
from pmemsim.targets import find_target

from pmemsim.trace import DETAILS, KINDS

MEASURED_BY_JANUS = ("array_swap", "queue", "hashmap", "rbtree", "btree", "tatp", "tpcc")
REGIONS = 200


@pytest.mark.parametrize("workload", MEASURED_BY_JANUS)
def test_every_region_is_announced(workload: str) -> None:
    trace = find_target(workload, threads=2, regions=REGIONS).trace()
    counts = dict.fromkeys(DETAILS["mark"], 0)
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            marks = chunk.records[chunk.records["kind"] == KINDS.index("mark")]
            for detail, count in zip(*np.unique(marks["detail"], return_counts=True), strict=True):
                counts[DETAILS["mark"][detail]] += int(count)
    assert counts["region_begin"] == REGIONS
    # The library announces its commit once a region; the rest is the workload's own.
    assert counts["hint"] >= 2 * REGIONS
    assert counts["hint_data"] >= REGIONS
