"""The effect of --data-bytes on a region: it writes so many more lines."""

from __future__ import annotations

import pytest

from pmemsim.errors import ConfigError
from pmemsim.targets import find_target
from pmemsim.workload_runs import WorkloadRun, workloads
from support import long_except, pmemsim

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


@pytest.mark.parametrize("workload", long_except(ITEMS, "hashmap"))
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


@pytest.mark.parametrize(("workload", "multiple"), [("string_swap", 16), ("echo", 64)])
def test_items_that_share_the_size_are_words(workload: str, multiple: int) -> None:
    assert workloads()[workload].data_multiple == multiple
    assert WorkloadRun.of(workload, data_bytes=64 + multiple).data_bytes == 64 + multiple
    with pytest.raises(ConfigError, match=f"{workload} requires a multiple of {multiple}"):
        WorkloadRun.of(workload, data_bytes=64 + multiple // 2)


def test_a_size_that_one_workload_cannot_have_is_refused_before_any_is_recorded() -> None:
    run = pmemsim(
        "compare", "queue", "echo", "--designs", "np", "--machine", "asap", "--data-bytes", "72"
    )
    assert run.returncode == 2
    assert "--data-bytes 72: echo requires a multiple of 64" in run.stderr
    assert "record" not in run.stderr
