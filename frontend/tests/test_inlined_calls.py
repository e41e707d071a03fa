"""The inlined calls of a site, and the begin and end of functions."""

from __future__ import annotations

import pytest

from conftest import LEVELS, Kind, Recording, Toolchain

PERSIST = """
#include <emmintrin.h>
static inline __attribute__((always_inline)) void flush(void *p) { _mm_clflush(p); }
static inline __attribute__((always_inline)) void persist(void *p) {
  flush(p);
}
long a[8], b[8];
__attribute__((noinline)) void insert(void) {
  a[0] = 1;
  persist(a);
  b[0] = 2;
  persist(b);
}
int main(void) { insert(); return 0; }
"""

STATIC = """
long a[8];
static void set(long *at, long value) { *at = value; }
__attribute__((noinline)) void insert(long value) {
  set(a, value);
}
int main(int argc, char **argv) { (void)argv; insert(argc); return 0; }
"""

ATOMIC = """
#include <atomic>
std::atomic<long> a;
__attribute__((noinline)) void insert(long value) {
  a.store(value, std::memory_order_release);
}
int main(int argc, char **) { insert(argc); return 0; }
"""


def names(calls: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """Name files without their folders, and functions without their parameters."""
    return [(file.split("/")[-1], line, function.split("(")[0]) for file, line, function in calls]


@pytest.mark.parametrize("level", LEVELS)
def test_sites_in_always_inline_functions_have_their_callers(
    toolchain: Toolchain, level: str
) -> None:
    flushes = toolchain.record(PERSIST, level).of(Kind.FLUSH)
    assert [(op.site.function, op.site.line) for op in flushes] == 2 * [("flush", 3)]
    assert [names(op.site.inlined_at) for op in flushes] == [
        [("program.c", 5, "persist"), ("program.c", line, "insert")] for line in (10, 12)
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_function_that_the_compiler_inlines_has_its_caller(
    toolchain: Toolchain, level: str
) -> None:
    stores = toolchain.record(STATIC, level).of(Kind.STORE, function="set")
    calls = [names(op.site.inlined_at) for op in stores if op.site.line == 3]
    assert calls
    assert all(chain == ([] if level == "-O0" else [("program.c", 5, "insert")]) for chain in calls)


@pytest.mark.parametrize("level", LEVELS)
def test_atomics_of_a_system_header_have_the_line_that_uses_them(
    toolchain: Toolchain, level: str
) -> None:
    (store,) = toolchain.record(ATOMIC, level, suffix=".cpp").of(Kind.ATOMIC_STORE)
    assert store.site.file.startswith("/usr/")
    *_, outermost = names(store.site.inlined_at)
    assert outermost == ("program.cpp", 5, "insert")


def test_inlined_calls_of_one_source_line_share_an_entry(toolchain: Toolchain) -> None:
    """Their sites share the place, so that tables stay small."""
    recording = toolchain.record(
        PERSIST.replace("persist(a);", "persist(a); persist(a + 1);"), "-O2"
    )
    chains = {tuple(op.site.inlined_at) for op in recording.of(Kind.FLUSH)}
    assert len(recording.of(Kind.FLUSH)) == 3
    assert len(chains) == 2
    assert recording.inlined_calls == 4  # persist and flush, from two lines


def calls_of(recording: Recording) -> list[str]:
    """Follow the marks: each function when it is entered, and `-` when one is left."""
    found = []
    for op in recording.operations:
        if op.site.entry:
            found.append(op.site.function)
        if op.site.exit:
            found.append("-")
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_calls_record_the_begin_and_end_of_functions(toolchain: Toolchain, level: str) -> None:
    recording = toolchain.record(
        """
long a[8];
#define FUNCTION __attribute__((noinline))
FUNCTION void leaf(long i) { a[i] = i; __asm__ volatile(""); }
FUNCTION void deeper(long i) {
  if (i > 0) deeper(i - 1);
  leaf(i);
  __asm__ volatile("" ::: "memory");
}
FUNCTION void loops(long n) { for (long i = 0; i < n; ++i) leaf(i); __asm__ volatile(""); }
int main(int argc, char **argv) { (void)argv; deeper(argc); loops(2); leaf(0); return 0; }
""",
        level,
        flags=("-fno-optimize-sibling-calls",),
    )
    expected = ["main", "deeper", "deeper", *2 * ["leaf", "-", "-"]]
    expected += ["loops", "leaf", "-", "leaf", "-", "-", "leaf", "-", "-"]
    assert calls_of(recording) == expected
