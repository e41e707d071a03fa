"""Maps in PM after a simulated run, compared with a dictionary after the same operations."""

from __future__ import annotations

from pathlib import Path

import pytest

import pmemsim
from pmemsim.targets import find_target
from replay import before, replay, sections
from structures import READERS, Pool
from support import long_except

# So few items that every map grows, and memcached evicts.
REGIONS, ITEMS = 1000, 2000
# These have no regions, and so no log: they flush and fence by themselves.
LOW_LEVEL = ("hashmap_lowlevel", "linked_list")


@pytest.mark.parametrize("ratio", long_except([0.0, 0.5], 0.5))
@pytest.mark.parametrize("workload", long_except(READERS, "hashmap_lowlevel", "memcached"))
def test_device_contents_equal_those_of_a_dictionary(
    workload: str, ratio: float, tmp_path: Path
) -> None:
    trace = find_target(
        workload, duplicate_ratio=ratio, threads=4, regions=REGIONS, items=ITEMS
    ).trace()
    image = tmp_path / "image"
    pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    pool = Pool(image)
    done = [section for thread in range(trace.threads) for section in sections(trace, thread)]
    regions = [section for section in done if section.in_region or workload in LOW_LEVEL]
    assert len(regions) == REGIONS
    found, wanted = READERS[workload](pool), replay(workload, trace, pool)
    assert found == wanted
    assert found != before(workload, pool)
    if workload == "memcached":  # the order of its LRU list
        assert list(found) == list(wanted)
