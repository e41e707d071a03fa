"""The programs of PMWeaver's measurements: --mix pmweaver, and queue_lowlevel."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pmemsim
from pmemsim.errors import ConfigError
from pmemsim.targets import find_target
from pmemsim.trace import DETAILS, KINDS, Trace
from pmemsim.workload_runs import Argument, WorkloadRun
from structures import READERS, TREES, Pool, mix
from support import long_except

REGIONS = 200
TREE_MAPS = ("rbtree", "btree", "ctree", "binary_tree", "skiplist")
STORE, FLUSH, FENCE, SYNC = (KINDS.index(kind) for kind in ("store", "flush", "fence", "sync"))
STOCK_BYTES, WAREHOUSES = 320, 4
NODE_BYTES = 64


def recorded(workload: str, **arguments: Argument) -> Trace:
    """Record 200 regions by one thread."""
    of: dict[str, Argument] = {"threads": 1, "regions": REGIONS, **arguments}
    return find_target(workload, opt=None, **of).trace()


def pool_after(trace: Trace, folder: Path) -> Pool:
    """Return the final contents of persistent memory."""
    image = folder / "image"
    pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    return Pool(image)


def count(trace: Trace, kind: int) -> int:
    """Return the number of operations of a kind."""
    return sum(int((chunk.records["kind"] == kind).sum()) for chunk in trace.operations(0))


def persistent(trace: Trace, kind: int) -> set[int]:
    """Return the lines of persistent memory that operations of a kind access."""
    begin, end = trace.metadata["pm_regions"][0]["begin"], trace.metadata["pm_regions"][0]["end"]
    lines: set[int] = set()
    for chunk in trace.operations(0):
        addresses = chunk.records["address"][chunk.records["kind"] == kind]
        lines |= set((addresses[(addresses >= begin) & (addresses < end)] // 64).tolist())
    return lines


@pytest.mark.parametrize(
    "workload",
    long_except([*TREE_MAPS, "hashmap", "hashmap_lowlevel"], "btree", "hashmap_lowlevel"),
)
def test_maps_insert_items_of_8_bytes_with_random_keys(workload: str, tmp_path: Path) -> None:
    trace = recorded(workload, items=2, mix="pmweaver", data_bytes=8)
    pool = pool_after(trace, tmp_path)
    keys = list(READERS[workload](pool))
    assert len(keys) == 2 + REGIONS
    if workload in TREE_MAPS:
        assert all(key % TREES == 0 for key in keys)  # all in the first tree
        keys = [key // TREES for key in keys]
    # Out of 16 times 256 keys: random ones leave gaps of all sizes.
    assert max(keys) < 16 * 256
    gaps = {later - earlier for earlier, later in pairwise(sorted(keys))}
    assert len(gaps) > 30
    assert np.mean(keys) == pytest.approx(8 * 256, rel=0.2)


def test_different_seeds_draw_different_keys(tmp_path: Path) -> None:
    pools = [
        pool_after(recorded("hashmap", items=2, mix="pmweaver", seed=seed), tmp_path)
        for seed in (1, 2)
    ]
    first, second = (set(READERS["hashmap"](pool)) for pool in pools)
    assert len(first & second) < REGIONS / 4


def test_the_low_level_hash_map_appends(tmp_path: Path) -> None:
    pool = pool_after(recorded("hashmap_lowlevel", items=1000, mix="pmweaver"), tmp_path)
    table = pool.root + NODE_BYTES + 24
    assert pool.word(table) == 4007
    longest = 0
    for bucket in range(4007):
        chain = []
        node = pool.word(pool.word(table + 8) + 8 * bucket)
        while node:
            chain.append(node)
            node = pool.word(node)
        assert chain == sorted(chain)  # nodes are taken in the order of their addresses
        longest = max(longest, len(chain))
    assert longest > 2


def test_tatp_of_pmweavers_mix_stores_to_one_or_two_pm_lines() -> None:
    trace = recorded("tatp_lowlevel", items=1000, mix="pmweaver")
    assert 1 <= len(persistent(trace, STORE)) <= 2
    assert count(trace, FENCE) == 4 * REGIONS
    assert len(persistent(recorded("tatp_lowlevel", items=1000), STORE)) > 100


@pytest.mark.long
def test_tpcc_has_one_warehouse(tmp_path: Path) -> None:
    pool = pool_after(recorded("tpcc_lowlevel", mix="pmweaver"), tmp_path)
    stock = pool.word(pool.root + 64 + 24 + 8 * 8)
    orders = np.zeros((WAREHOUSES, pool.items), int)
    for row in range(WAREHOUSES * pool.items):
        counts = pool.word(stock + row * STOCK_BYTES + 8)
        orders.flat[row] = counts & 0xFFFFFFFF
        assert pool.word(stock + row * STOCK_BYTES) == 7 * (counts & 0xFFFFFFFF)
    assert 5 * REGIONS <= orders[0].sum() <= 15 * REGIONS
    assert orders[1:].sum() == 0


def test_the_low_level_queue_has_neither_log_nor_locks(tmp_path: Path) -> None:
    trace = recorded("queue_lowlevel")
    pool = pool_after(trace, tmp_path)
    queue = pool.root + 2 * NODE_BYTES
    nodes, first = pool.word(pool.root + 64), pool.word(queue + NODE_BYTES)
    dequeued = (first - nodes) // NODE_BYTES
    enqueued = REGIONS - dequeued
    assert 70 < dequeued < 130
    last = pool.word(queue)
    assert last == nodes + NODE_BYTES * (pool.items + enqueued - 1)
    for node in range(first, last + 1, NODE_BYTES):
        value = pool.word(node)
        assert value >> 32 == mix(~value & 0xFFFFFFFF | 0xFFFFFFFF00000000) & 0xFFFFFFFF
    # A node and the tail, or the head alone; each with a fence of its own.
    assert count(trace, FENCE) == count(trace, FLUSH) == 2 * enqueued + dequeued
    locks = [
        DETAILS["sync"][detail]
        for chunk in trace.operations(0)
        for detail in chunk.records["detail"][chunk.records["kind"] == SYNC]
    ]
    assert locks.count("mutex_lock") == 1


def test_only_maps_have_items_of_8_bytes() -> None:
    with pytest.raises(ConfigError, match="data_bytes: 8: queue requires at least 64"):
        WorkloadRun.of("queue", data_bytes=8)
    with pytest.raises(ConfigError, match="mix: pmweaver: queue has only one mix; remove mix"):
        WorkloadRun.of("queue", mix="pmweaver")
