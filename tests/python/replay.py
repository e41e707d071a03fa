"""Applies a recording's operations on a map to a dictionary, in the order of their locks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pmemsim.trace import DETAILS, KINDS, Trace
from structures import ECHO_BATCH, ECHO_VERSIONS, Contents, Pool, Random, mix

REMOVES = ("rbtree", "linked_list")
SYNC, MARK = KINDS.index("sync"), KINDS.index("mark")
LOCKS = 1024  # number in echo and in memcached
MUTEX_BYTES = 40

ECHO_GET_PERCENT = 20

SET_PERCENT = 10
PAGE_BYTES = 65536


# ---- Locks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lock:
    """One acquisition of a lock."""

    object: int
    turn: int
    """The lock's how manieth acquisition, in a sense: those of one lock are in this order."""
    address: int


@dataclass
class Section:
    """A thread's operations from its first lock until it holds none."""

    locks: list[Lock]
    """In the order in which it took them."""
    in_region: bool = False


def sections(trace: Trace, thread: int) -> list[Section]:
    """Return all sections of a thread in the measured part."""
    found: list[Section] = []
    held: set[int] = set()
    for chunk in trace.operations(thread):
        records = chunk.records[np.isin(chunk.records["kind"], (SYNC, MARK))]
        fields = ("kind", "detail", "object", "version", "address")
        for kind, number, *lock_fields in zip(
            *(records[name].tolist() for name in fields), strict=True
        ):
            detail = DETAILS[KINDS[kind]][number]
            lock = Lock(*lock_fields)
            if detail == "mutex_lock":
                if not held:
                    found.append(Section([]))
                found[-1].locks.append(lock)
                held.add(lock.object)
            elif detail == "mutex_unlock":
                held.remove(lock.object)
            elif detail == "region_begin" and lock.address == 1:
                found[-1].in_region = True
            elif detail == "roi_end":
                return found
    return found


# ---- Maps: one operation under one lock --------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """An operation on a key: it is removed if it exists, else inserted or updated."""

    key: int
    stamp: int
    remove: bool

    def apply(self, contents: Contents) -> None:
        """Apply the same operations to a dictionary."""
        if self.remove and self.key in contents:
            del contents[self.key]
        else:
            contents[self.key] = self.stamp


def _map_before(pool: Pool) -> Contents:
    random = Random(pool.seed, 0)
    contents: Contents = {}
    while len(contents) < pool.items:
        key = random.below(2 * pool.items)
        contents[key] = random.next()
    return contents


def _map_operations(workload: str, pool: Pool, thread: int) -> Iterator[Operation]:
    random = Random(pool.seed, thread + 1)
    while True:
        key, stamp = random.below(2 * pool.items), random.next()
        yield Operation(key, stamp, workload in REMOVES and random.below(2) == 0)


def _replay_map(workload: str, trace: Trace, pool: Pool) -> Contents:
    turns = []
    for thread in range(trace.threads):
        operations = _map_operations(workload, pool, thread)
        for section in sections(trace, thread):
            first = section.locks[0]
            turns.append((first.object, first.turn, next(operations)))
    contents = _map_before(pool)
    for _, _, operation in sorted(turns, key=lambda turn: turn[:2]):
        operation.apply(contents)
    return contents


# ---- echo: batches under all their locks -------------------------------------------------------


def _bucket_lock(key: int, items: int) -> int:
    """Return the number of a key's lock; eight buckets share a lock."""
    return mix(key) % (2 * items) // 8 % LOCKS


def _echo_before(pool: Pool) -> Contents:
    random = Random(pool.seed, 0)
    return {key: (1, (random.next(),)) for key in range(pool.items)}


def _echo_batches(pool: Pool, thread: int) -> Iterator[dict[int, int]]:
    random = Random(pool.seed, thread + 1)
    while True:
        batch: dict[int, int] = {}
        while len(batch) < ECHO_BATCH:
            key = random.below(pool.items * 10 // 7)
            if random.below(100) >= ECHO_GET_PERCENT:
                batch[key] = random.next()
        yield batch


def _replay_echo(trace: Trace, pool: Pool) -> Contents:
    puts: list[tuple[int, int, int]] = []  # key, turn of its lock, stamp
    for thread in range(trace.threads):
        batches = _echo_batches(pool, thread)
        for section in filter(lambda section: section.in_region, sections(trace, thread)):
            batch = next(batches)
            # A merge takes its locks in the order of their numbers.
            numbers = sorted({_bucket_lock(key, pool.items) for key in batch})
            turns = {number: section.locks[n].turn for n, number in enumerate(numbers)}
            puts += [
                (key, turns[_bucket_lock(key, pool.items)], stamp) for key, stamp in batch.items()
            ]
    contents = _echo_before(pool)
    for key, _, stamp in sorted(puts):
        count, stamps = contents.get(key, (0, ()))
        contents[key] = count + 1, (*stamps, stamp)[-ECHO_VERSIONS:]
    return contents


# ---- memcached: sets, in the order of their slab class's lock ----------------------------------


@dataclass
class Cache:
    """Contents of the cache, the least recently set first, and the number of free chunks."""

    items: OrderedDict[int, int]
    free: int

    def set(self, key: int, stamp: int, may_evict: set[int], pool: Pool) -> None:
        """Take a chunk, if needed from the first item whose lock is held, and store the item."""
        if self.free:
            self.free -= 1
        else:
            del self.items[
                next(old for old in self.items if _bucket_lock(old, pool.items) in may_evict)
            ]
        self.free += self.items.pop(key, None) is not None
        self.items[key] = stamp


def _chunks(pool: Pool) -> int:
    chunk_bytes = 192
    while chunk_bytes < 128 + pool.data_bytes:
        chunk_bytes = (chunk_bytes + chunk_bytes // 4 + 63) // 64 * 64
    of_page = PAGE_BYTES // chunk_bytes
    pages = (pool.items + of_page - 1) // of_page
    return pages * of_page


def _cache_before(pool: Pool) -> Cache:
    random = Random(pool.seed, 0)
    stamps = OrderedDict((key, random.next()) for key in range(pool.items))
    return Cache(stamps, _chunks(pool) - pool.items)


def _replay_memcached(trace: Trace, pool: Pool) -> Contents:
    sets: list[tuple[int, int, int, set[int]]] = []  # turn, key, stamp, numbers of the locks held
    for thread in range(trace.threads):
        random = Random(pool.seed, thread + 1)
        for section in sections(trace, thread):
            key = random.below(pool.items * 5 // 4)
            if random.below(100) >= SET_PERCENT:
                continue
            first, slab = section.locks[:2]
            lock_0 = first.address - _bucket_lock(key, pool.items) * MUTEX_BYTES
            held = {(lock.address - lock_0) // MUTEX_BYTES for lock in section.locks}
            sets.append((slab.turn, key, random.next(), held))
    cache = _cache_before(pool)
    for _, key, stamp, held in sorted(sets, key=lambda one: one[0]):
        cache.set(key, stamp, held, pool)
    return cache.items


# ---- All ---------------------------------------------------------------------------------------


def before(workload: str, pool: Pool) -> Contents:
    """Return the contents of a map before the measured part."""
    if workload == "echo":
        return _echo_before(pool)
    return _cache_before(pool).items if workload == "memcached" else _map_before(pool)


def replay(workload: str, trace: Trace, pool: Pool) -> Contents:
    """Return the expected contents after the measured part."""
    if workload == "echo":
        return _replay_echo(trace, pool)
    if workload == "memcached":
        return _replay_memcached(trace, pool)
    return _replay_map(workload, trace, pool)
