"""How programs of others are built and run: what docs/others.md tells users to type.

The lines are bash's, in a copy of the tree, where CC and CXX are the compilers: `pmemsim-cc` and
`pmemsim-c++`, or a plain clang to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MICROSECONDS = r"\d+ usec\s+\d+ ops/sec"
# Makes 100,000 different keys, in no order.
KEYS = (
    "awk 'BEGIN { for (x = 1; n++ < 100000;) { x = x * 48271 % 2147483647; print x } }' > keys.txt"
)


@dataclass(frozen=True)
class Program:
    """One program of a source tree."""

    name: str
    """What the table calls it, and its recording."""
    build: tuple[str, ...]
    """Lines that build it, after those of its tree."""
    command: str
    """How it is run."""
    binary: str
    """Where it is."""
    times: str
    """Regular expression for what it prints that no two runs have in common."""
    pools: str | None = None
    """The folder whose files are persistent memory; `None`: the heap is."""

    @property
    def persistent(self) -> str:
        """The option of `pmemsim record` that says what is persistent memory."""
        return f"--pm-path {self.pools}" if self.pools else "--pm-heap"


@dataclass(frozen=True)
class Source:
    """A source tree."""

    name: str
    known_by: tuple[str, ...]
    """Files that tell the tree from others."""
    programs: tuple[Program, ...]
    prepare: tuple[str, ...] = ()
    """Lines that go before all programs'."""
    libraries: Mapping[str, str] = field(default_factory=dict)
    """Libraries that are linked, and Debian's packages of them."""


def recipe_of(tree: Path) -> Source | None:
    """The recipe for a source tree, if there is one."""
    for source in SOURCES:
        if all((tree / file).is_file() for file in source.known_by):
            return source
    return None


def _pmdk(container: str) -> Program:
    return Program(
        name=f"pmdk_{container}",
        build=(),
        command="env LD_LIBRARY_PATH=src/nondebug PMEM_IS_PMEM_FORCE=1 "
        f"src/examples/libpmemobj/map/mapcli {container} pools/{container} 4711 < commands.txt",
        binary="src/examples/libpmemobj/map/mapcli",
        times="$^",
        pools="pools",
    )


def _recipe(index: str) -> Program:
    return Program(
        name=index,
        build=(f"cmake -S {index} -B {index}/build", f"make -C {index}/build"),
        command=f"{index}/build/example 20000 2",
        binary=f"{index}/build/example",
        times=r"[\d.]+ ,?ops/us|[\d.]+ sec|took: .*",
    )


def _fast_fair(name: str, folder: str, options: str, run: str) -> Program:
    return Program(
        name=name,
        build=(
            f"sed -i '/^ *clear_cache();/d' {folder}/src/test.cpp",
            f"$CXX -O3 -g -std=c++11 -w {options}{folder}/src/test.cpp -o {folder}/btree",
        ),
        command=f"{folder}/btree -n 100000 {run}-i keys.txt",
        binary=f"{folder}/btree",
        times=r"elapsed_time: .*|\(usec\) : \d+",
    )


SOURCES = (
    Source(
        name="PMDK",
        known_by=("src/libpmemobj/obj.c", "src/examples/libpmemobj/map/mapcli.c"),
        prepare=(
            "export NDCTL_ENABLE=n PMEMOBJ_IGNORE_DIRTY_SHUTDOWN=y PMEMOBJ_IGNORE_BAD_BLOCKS=y",
            "export EXTRA_CFLAGS=-Wno-error",
            "make -C src/libpmem",
            "make -C src/libpmemobj",
            "make -C src/examples/libpmemobj/map LIBDIR=$PWD/src/nondebug mapcli",
            "mkdir -p pools",
            "printf 'n 2000\\nc 5\\np\\nq\\n' > commands.txt",
        ),
        programs=(_pmdk("btree"), _pmdk("hashmap_atomic")),
    ),
    Source(
        name="RECIPE",
        known_by=("P-CLHT/src/clht_lb_res.c", "P-ART/Tree.cpp"),
        libraries={
            "tbb": "libtbb-dev",
            "jemalloc": "libjemalloc-dev",
            "boost_system": "libboost-system-dev",
            "boost_thread": "libboost-thread-dev",
        },
        prepare=(
            "export CFLAGS='-g -D_GNU_SOURCE -fheinous-gnu-extensions'",
            "export CXXFLAGS='-g -fno-access-control -Wno-register'",
            "sed -i 's/tbb::task_scheduler_init init(/tbb::global_control init("
            "tbb::global_control::max_allowed_parallelism, /' P-*/example.cpp",
            "sed -i '/ clflush(/s/\\([&(]\\)mapping_table\\[snapshot\\./"
            "\\1p_tree_p->mapping_table[snapshot./g' P-BwTree/src/bwtree.h",
        ),
        programs=tuple(map(_recipe, ("P-CLHT", "P-ART", "P-Masstree", "P-BwTree"))),
    ),
    Source(
        name="FAST_FAIR",
        known_by=("single/src/btree.h", "concurrent/src/btree.h"),
        prepare=(KEYS,),
        programs=(
            _fast_fair("fast_fair", "single", "", ""),
            _fast_fair("fast_fair_mixed", "concurrent", "-pthread -DCONCURRENT -DMIXED ", "-t 4 "),
        ),
    ),
    Source(
        name="CCEH",
        known_by=("src/CCEH_MSB.cpp", "util/persist.h"),
        prepare=(
            KEYS,
            "sed -i '/^ *clear_cache();/d; s|/home/.*/input_rand.txt|keys.txt|' src/test.cpp",
            "mkdir -p bin",
            'make test CXX="$CXX -g -w"',
        ),
        programs=(
            Program(
                name="cceh",
                build=(),
                command="bin/single_threaded_cceh 100000",
                binary="bin/single_threaded_cceh",
                times=MICROSECONDS,
            ),
            Program(
                name="cceh_threads",
                build=(),
                command="bin/multi_threaded_cceh 100000 4",
                binary="bin/multi_threaded_cceh",
                times=MICROSECONDS + r"|Util.*",  # which depends on who comes first
            ),
        ),
    ),
)
