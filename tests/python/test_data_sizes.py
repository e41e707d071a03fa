"""What --data-bytes does to a region: it writes so many more lines."""

from __future__ import annotations

import pytest
from pmemsim.targets import find_target

LINE_BYTES = 64
# How many items a region writes, and how many of them --data-bytes are the size of.
ITEMS = {
    "array_swap": (2, 1),
    "string_swap": (2, 2),
    "hashmap": (1, 1),
    "btree": (1, 1),
    "ctree": (1, 1),
    "echo": (8, 8),
}
# Setting up as many as there are by default would take longer than all else.
FEW_ITEMS = 1000


@pytest.mark.parametrize("workload", list(ITEMS))
def test_a_region_writes_all_lines_of_its_items(workload: str) -> None:
    lines = {
        data_bytes: find_target(
            workload, threads=2, regions=50, data_bytes=data_bytes, items=FEW_ITEMS
        )
        .trace()
        .summary()["total"]["lines_per_region"]
        for data_bytes in (64, 2048)
    }
    items, shares = ITEMS[workload]
    more = items * (2048 // shares // LINE_BYTES - 1)
    assert lines[2048] - lines[64] == pytest.approx(more, abs=0.5)
