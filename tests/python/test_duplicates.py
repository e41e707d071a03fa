"""The share of the written lines that --duplicate-ratio makes duplicates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from duplicates import REGIONS, measure, measure_writes, with_duplicates
from support import long_except

# Share of duplicates that the ratio 1 must reach: the share of data among the lines
# (docs/reference/workloads.md).
REACHED = {
    "array_swap": 0.99,
    "hashmap": 0.4,
    "tatp_lowlevel": 0.85,
    "tpcc": 0.25,
    "vacation": 0.35,
    "tpcc_lowlevel": 0.25,
}


@pytest.mark.parametrize("workload", long_except(REACHED, "tatp_lowlevel"))
def test_the_ratio_makes_that_share_of_the_data_duplicates(workload: str) -> None:
    regions = 100 if workload.startswith("tpcc") else REGIONS  # an order writes dozens of lines
    assert measure(workload, 0, regions) < 0.02
    all_of_it = measure(workload, 1, regions)
    assert all_of_it > REACHED[workload]
    assert measure(workload, 0.5, regions) == pytest.approx(all_of_it / 2, abs=0.04)


@pytest.mark.parametrize("workload", long_except(with_duplicates(), "queue", "tatp"))
def test_the_table_of_duplicates_is_what_its_script_prints(workload: str) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/workloads.md").read_text()
    row = re.search(rf"^\| `{workload}` \|(.*)\|$", page.partition("\n## Duplicates\n")[2], re.M)
    assert row is not None
    documented = float(row[1].split("|")[1].strip().removesuffix("%")) / 100
    assert measure(workload, 1) == pytest.approx(documented, abs=0.01)


@pytest.mark.parametrize(
    ("workload", "before", "after"),
    [
        ("tatp", 0.25, 0.5),  # one write-back in four copies a line to the log, one updates it
        pytest.param("tpcc", 0.45, 0.61, marks=pytest.mark.long),
    ],
)
def test_the_share_of_duplicates_among_all_writes(
    workload: str, before: float, after: float
) -> None:
    assert measure_writes(workload, 0) == pytest.approx(before, abs=0.01)
    assert measure_writes(workload, 1) == pytest.approx(after, abs=0.01)
