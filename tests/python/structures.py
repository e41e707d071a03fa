"""Reads the workloads' maps from the image of a pool, and replays their operations (replay.py).

The layouts are at the top of the workloads' sources, the pool's is in
docs/reference/pools.md.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

LINE_BYTES = 64
TREES = 32
LISTS = 64
SKIP_LEVELS = 6
ECHO_VERSIONS = 4
ECHO_BATCH = 8
SLAB_CLASSES = 17
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_STEP = 0xBF58476D1CE4E5B9

Words = npt.NDArray[Any]
Word = TypeVar("Word", int, Words)
Contents = dict[int, Any]
"""What a map holds: the stamp of each key, or more where a reader says so."""


class Pool:
    """The image of a pool. Addresses are the program's."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:  # most of it are holes, which reading would fill with zeros
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.data_bytes: int
        self.items: int
        self.seed: int
        self.duplicates: int
        magic, _, self._base = struct.unpack_from("<8sQQ", self._bytes)
        assert magic == b"!PMPOOL3"
        (self.root,) = struct.unpack_from("<Q", self._bytes, 64)
        _, _, self.data_bytes, self.items, self.seed, self.duplicates = struct.unpack_from(
            "<16s5Q", self._bytes, self.root - self._base
        )

    def word(self, address: int) -> int:
        """Return the 8 bytes at an address."""
        value: int = struct.unpack_from("<Q", self._bytes, address - self._base)[0]
        return value

    def half(self, address: int) -> int:
        """Return the 4 bytes at an address."""
        return self.word(address) & 0xFFFFFFFF

    def item(self, key_address: int, data_address: int, shares: int = 1) -> tuple[int, int]:
        """Return the key and stamp at an address; their data must be whole.

        So many items share the bytes that the workload was given.
        """
        key, stamp = self.word(key_address), self.word(key_address + 8)
        self.check_data(data_address, key, stamp, shares)
        return key, stamp

    def check_data(self, address: int, key: int, stamp: int, shares: int = 1) -> None:
        """Check that the data at an address belong to a key and a stamp."""
        wanted = self._payload(key, stamp, self.data_bytes // shares)
        found = np.frombuffer(self._bytes, np.uint64, len(wanted), address - self._base)
        assert np.array_equal(found, wanted)

    def _payload(self, key: int, stamp: int, data_bytes: int) -> Words:
        mixed = np.uint64((key ^ stamp * _GOLDEN) & _MASK)
        index = np.arange(data_bytes // 8, dtype=np.uint64)
        numbers = mixed + index * _STEP
        if self.duplicates:
            lines = mix(mixed + index // 8)
            duplicates = mix(lines) % 16 + index % 8 * _STEP
            numbers = np.where(lines < self.duplicates, duplicates, numbers)
        return numbers ^ numbers >> 29


def mix(word: Word) -> Word:
    """The finaliser of SplitMix64 (workloads/common/random.hpp)."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _MASK
    word = word ^ word >> 31
    return word


class Random:
    """Stream 0 is the set-up's; thread t has stream t + 1."""

    def __init__(self, seed: int, stream: int) -> None:
        self._state = mix(seed) ^ mix(~stream & _MASK)

    def next(self) -> int:
        """Return 64 random bits."""
        self._state = self._state + _GOLDEN & _MASK
        return mix(self._state)

    def below(self, bound: int) -> int:
        """Return a number, uniform over 0 to bound - 1."""
        return self.next() * bound >> 64


# ---- Readers ---------------------------------------------------------------------------------


def _tree_tops(pool: Pool) -> Iterator[int]:
    for tree in range(TREES):
        yield pool.word(pool.root + LINE_BYTES * (1 + tree))


def _chain(pool: Pool, link: int) -> Iterator[int]:
    """Yield nodes whose first word is the next one's address, from the link to the first."""
    while node := pool.word(link):
        yield node
        link = node


def _buckets(pool: Pool, table: int) -> Iterator[tuple[int, int]]:
    """Yield every node of a table {count; address of the buckets}, and its bucket's hash."""
    count, first = pool.word(table), pool.word(table + 8)
    for bucket in range(count):
        for node in _chain(pool, first + 8 * bucket):
            key = pool.word(node + 8)
            assert mix(key) % count == bucket
            yield node, key


def _read_hash_table(pool: Pool, table: int) -> Contents:
    return dict(pool.item(node + 8, node + LINE_BYTES) for node, _ in _buckets(pool, table))


def read_hashmap(pool: Pool) -> Contents:
    """Read every chain of every bucket."""
    return _read_hash_table(pool, pool.root + LINE_BYTES)


def read_hashmap_lowlevel(pool: Pool) -> Contents:
    """Read the same as `read_hashmap`, after three words in each node."""
    return _read_hash_table(pool, pool.root + LINE_BYTES + 24)


def read_linked_list(pool: Pool) -> Contents:
    """Read every list."""
    found: Contents = {}
    for part in range(LISTS):
        for node in _chain(pool, pool.root + LINE_BYTES * (2 + part)):
            key, stamp = pool.item(node + 8, node + LINE_BYTES)
            assert key % LISTS == part
            assert key not in found
            found[key] = stamp
    return found


def read_echo(pool: Pool) -> Contents:
    """Return for each key how often it was put, and the stamps of its versions, the oldest first.

    Entry {next, key, puts, state, version[4]}; Version {timestamp, key, stamp}.
    """
    found: Contents = {}
    for entry, key in _buckets(pool, pool.root + LINE_BYTES):
        puts = pool.word(entry + 16)
        stamps = []
        for number in range(max(0, puts - ECHO_VERSIONS), puts):
            version = pool.word(entry + 32 + 8 * (number % ECHO_VERSIONS))
            of, stamp = pool.item(version + 8, version + LINE_BYTES, ECHO_BATCH)
            assert of == key
            stamps.append(stamp)
        found[key] = puts, tuple(stamps)
    return found


def read_memcached(pool: Pool) -> Contents:
    """Item {next, key, hash, stamp; previous, next in the LRU list at byte 64; value at byte 128}.

    The dictionary has the order of the LRU list, the one to be evicted first.
    """
    found: Contents = {}
    for item, key in _buckets(pool, pool.root + LINE_BYTES):
        stamp = pool.word(item + 24)
        pool.check_data(item + 2 * LINE_BYTES, key, stamp)
        found[key] = stamp
    listed: Contents = {}
    for slab_class in range(SLAB_CLASSES):
        item = pool.word(pool.root + LINE_BYTES * (3 + slab_class) + 40)  # its tail
        while item:
            listed[pool.word(item + 8)] = pool.word(item + 24)
            item = pool.word(item + LINE_BYTES)
    assert listed == found
    return listed


def _read_binary(pool: Pool, left_offset: int, right_offset: int) -> Contents:
    found: Contents = {}
    for top in _tree_tops(pool):
        open_nodes = [top]
        while open_nodes:
            node = open_nodes.pop()
            if node:
                key, stamp = pool.item(node, node + LINE_BYTES)
                found[key] = stamp
                open_nodes += [pool.word(node + left_offset), pool.word(node + right_offset)]
    return found


def read_rbtree(pool: Pool) -> Contents:
    """Node {key, stamp, parent, left, right, red}."""
    return _read_binary(pool, 24, 32)


def read_binary_tree(pool: Pool) -> Contents:
    """Node {key, stamp, left, right}."""
    return _read_binary(pool, 16, 24)


def read_btree(pool: Pool) -> Contents:
    """Node {u32 count, u32 leaf; key[7]; item[7]; unused; child[8]}."""
    found: Contents = {}
    for top in _tree_tops(pool):
        open_nodes = [top]
        while open_nodes:
            node = open_nodes.pop()
            count, leaf = pool.half(node), pool.half(node + 4)
            for position in range(count):
                item = pool.word(node + 64 + 8 * position)
                key, stamp = pool.item(item, item + LINE_BYTES)
                assert key == pool.word(node + 8 + 8 * position)
                found[key] = stamp
            if not leaf:
                open_nodes += [pool.word(node + 128 + 8 * child) for child in range(count + 1)]
    return found


def read_ctree(pool: Pool) -> Contents:
    """A link is 0, an item's address, or a node's plus 1. Node {bit; child[2]}."""
    found: Contents = {}
    for top in _tree_tops(pool):
        open_links = [top]
        while open_links:
            link = open_links.pop()
            if link & 1:
                open_links += [pool.word(link + 7), pool.word(link + 15)]
            elif link:
                key, stamp = pool.item(link, link + LINE_BYTES)
                found[key] = stamp
    return found


def read_skiplist(pool: Pool) -> Contents:
    """Node {key, stamp, next[6]}; the root holds the heads."""
    found: Contents = {}
    for part in range(TREES):
        head = pool.root + LINE_BYTES * (1 + part)
        levels = []
        for level in range(SKIP_LEVELS):
            keys = []
            node = pool.word(head + 16 + 8 * level)
            while node:
                key, stamp = pool.item(node, node + LINE_BYTES)
                keys.append(key)
                found[key] = stamp
                node = pool.word(node + 16 + 8 * level)
            assert keys == sorted(keys)
            levels.append(set(keys))
        assert all(upper <= lower for lower, upper in itertools.pairwise(levels))
    return found


READERS: dict[str, Callable[[Pool], Contents]] = {
    "hashmap": read_hashmap,
    "hashmap_lowlevel": read_hashmap_lowlevel,
    "linked_list": read_linked_list,
    "rbtree": read_rbtree,
    "btree": read_btree,
    "ctree": read_ctree,
    "binary_tree": read_binary_tree,
    "skiplist": read_skiplist,
    "echo": read_echo,
    "memcached": read_memcached,
}
