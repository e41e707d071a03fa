"""What the maps hold in PM after a simulated run, against a dictionary that did the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pmemsim.targets import find_target
from structures import READERS, Contents, Pool, operations, set_up

import pmemsim
from pmemsim.trace import DETAILS, KINDS, Trace

SEED, REGIONS, THREADS = 3, 1000, 4
SYNC, MARK = KINDS.index("sync"), KINDS.index("mark")


def lock_turns(trace: Trace, thread: int) -> list[tuple[int, int]]:
    """For each region of a thread: the lock that it is under, and the lock's how manieth holder.

    Regions under one lock happened in the order of these numbers.
    """
    turns = []
    held: dict[int, int] = {}
    for chunk in trace.operations(thread):
        for record in chunk.records[np.isin(chunk.records["kind"], (SYNC, MARK))]:
            detail = DETAILS[KINDS[record["kind"]]][record["detail"]]
            if detail == "mutex_lock":
                held[int(record["object"])] = int(record["version"])
            elif detail == "mutex_unlock":
                held.pop(int(record["object"]), None)
            elif detail == "region_begin" and record["address"] == 1:
                (turn,) = held.items()
                turns.append(turn)
    return turns


def replay(workload: str, trace: Trace, items: int) -> Contents:
    """Apply all threads' operations in the order in which their locks were acquired."""
    turns = []
    for thread in range(trace.threads):
        of_thread = lock_turns(trace, thread)
        listed = operations(workload, SEED, items, thread, len(of_thread))
        turns += list(zip(of_thread, listed, strict=True))
    assert len(turns) == REGIONS
    contents = set_up(SEED, items)
    for _, operation in sorted(turns, key=lambda turn: turn[0]):
        operation.apply(contents)
    return contents


@pytest.mark.parametrize("ratio", [0.0, 0.5])
@pytest.mark.parametrize("workload", list(READERS))
def test_the_device_holds_what_a_dictionary_does(
    workload: str, ratio: float, tmp_path: Path
) -> None:
    trace = find_target(
        workload, threads=THREADS, regions=REGIONS, seed=SEED, duplicate_ratio=ratio or None
    ).trace()
    image = tmp_path / "image"
    pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    pool = Pool(image)
    found = READERS[workload](pool)
    assert found == replay(workload, trace, pool.items)
    assert found != set_up(SEED, pool.items)
