"""What share of the written lines --duplicate-ratio makes duplicates."""

from __future__ import annotations

import pytest
from duplicates import measure

REGIONS = 1000

# What the ratio 1 must reach: the share of data among the lines (docs/workloads.md).
REACHED = {
    "array_swap": 0.99,
    "hashmap": 0.4,
    "tatp_lowlevel": 0.85,
    "tpcc": 0.2,
    "tpcc_lowlevel": 0.2,
}


@pytest.mark.parametrize("workload", list(REACHED))
def test_the_ratio_makes_that_share_of_the_data_duplicates(workload: str) -> None:
    assert measure(workload, 0, REGIONS) < 0.02
    all_of_it = measure(workload, 1, REGIONS)
    assert all_of_it > REACHED[workload]
    assert measure(workload, 0.5, REGIONS) == pytest.approx(all_of_it / 2, abs=0.04)
