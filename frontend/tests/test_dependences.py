"""Which loads feed which addresses and values, on examples worked out by hand."""

from __future__ import annotations

import pytest

from conftest import Kind, Recording, Site, Toolchain

pytestmark = pytest.mark.quick


def sites(recording: Recording, function: str, *kinds: Kind) -> list[Site]:
    """Return the sites of a function, in program order, inlined copies apart."""
    return [site for site in recording.sites if site.function == function and site.kind in kinds]


MAIN = "\nint main(void) { return 0; }\n"
NOINLINE = "#define NOINLINE __attribute__((noinline))\n"


def test_address_of_a_list_node_depends_on_the_load_of_the_previous_node(
    toolchain: Toolchain,
) -> None:
    """Each node's address comes from the load of the node before."""
    recording = toolchain.record(
        NOINLINE
        + """
struct node { struct node *next; long value; };
NOINLINE long walk(struct node *p) {
  long sum = 0;
  while (p) { sum += p->value; p = p->next; }
  return sum;
}"""
        + MAIN,
        "-O2",
    )
    value, following = sites(recording, "walk", Kind.LOAD)
    assert value.address == [(following.number, 0)]
    assert following.address == [(following.number, 0)]
    (end,) = [s for s in sites(recording, "walk", Kind.BRANCH) if s.data and s.instructions]
    assert end.data == [(following.number, 1)]


def test_streaming_loads_are_independent_and_indirect_loads_depend_on_the_index(
    toolchain: Toolchain,
) -> None:
    """A streaming loop's loads don't depend on each other; a[b[i]] depends on b[i]."""
    recording = toolchain.record(
        NOINLINE
        + """
NOINLINE long stream(const long *a, long n) {
  long sum = 0;
  #pragma clang loop vectorize(disable) unroll(disable)
  for (long i = 0; i < n; i++) sum += a[i];
  return sum;
}
NOINLINE void scatter(long *restrict a, const long *restrict b, long n) {
  #pragma clang loop vectorize(disable) unroll(disable)
  for (long i = 0; i < n; i++) a[b[i]] = b[i] * 5 + 1;
}
"""
        + MAIN,
        "-O2",
    )
    (load,) = sites(recording, "stream", Kind.LOAD)
    assert load.address == []
    (index,) = sites(recording, "scatter", Kind.LOAD)
    (store,) = sites(recording, "scatter", Kind.STORE)
    assert index.address == []
    assert store.address == [(index.number, 0)]  # base + 8 * index folds into the access
    assert store.data == [(index.number, 1 + 1)]  # by 5 multiplies lea; addition


def test_hash_bucket_depends_on_the_key_and_the_chain_on_the_bucket(toolchain: Toolchain) -> None:
    """The bucket's address comes from the key; the chain from the bucket and from itself."""
    recording = toolchain.record(
        NOINLINE
        + """
struct entry { struct entry *next; unsigned long key; };
struct entry *table[1024];
NOINLINE struct entry *find(const unsigned long *key) {
  unsigned long k = *key;
  struct entry *e = table[k * 0x9E3779B97F4A7C15ul >> 54];
  while (e && e->key != k) e = e->next;
  return e;
}"""
        + MAIN,
        "-O2",
    )
    # The optimizer makes one load of `table[...]` and `e->next`.
    key, link, entry_key = sites(recording, "find", Kind.LOAD)
    assert key.address == []
    assert sorted(link.address) == [(key.number, 5), (link.number, 0)]  # 5: multiply, shift, add
    assert entry_key.address == [(link.number, 0)]
    end, compare = sites(recording, "find", Kind.BRANCH)
    assert end.data == [(link.number, 1)]
    assert sorted(compare.data) == [(key.number, 1), (entry_key.number, 1)]


def test_unoptimized_use_depends_only_on_the_reload_of_its_variable(toolchain: Toolchain) -> None:
    """At -O0 each use reloads a variable, and depends on that reload alone."""
    recording = toolchain.record(
        NOINLINE
        + """
struct node { struct node *next; };
NOINLINE struct node *step(struct node *p) { return p->next; }"""
        + MAIN,
        "-O0",
    )
    variable, following = sites(recording, "step", Kind.LOAD)
    assert variable.address == []
    assert following.address == [(variable.number, 0)]


def test_dependences_pass_between_functions(toolchain: Toolchain) -> None:
    """Arguments depend on what the callers pass, results on what the callee returns."""
    recording = toolchain.record(
        NOINLINE
        + """
static NOINLINE long get(const long *p) { return *p; }
static NOINLINE void put(long *p, long v) { *p = v; }
NOINLINE void move(long **from, long *to) { put(to, get(*from) / 3.0); }
"""
        + MAIN,
        "-O2",
    )
    (pointer,) = sites(recording, "move", Kind.LOAD)
    (value,) = sites(recording, "get", Kind.LOAD)
    (stored,) = sites(recording, "put", Kind.STORE)
    assert value.address == [(pointer.number, 0)]
    assert stored.address == []
    assert stored.data == [(value.number, 5 + 13 + 5)]  # conversion, division, conversion


def test_accumulation_depends_on_the_latest_load(toolchain: Toolchain) -> None:
    """A running sum's store depends on the last load, and on the sum before, through an addition."""
    recording = toolchain.record(
        NOINLINE
        + """
NOINLINE void sum(const double *a, long n, double *out) {
  double s = 0;
  #pragma clang loop vectorize(disable) unroll(disable)
  for (long i = 0; i < n; i++) s += a[i];
  *out = s;
}"""
        + MAIN,
        "-O2",
    )
    (load,) = sites(recording, "sum", Kind.LOAD)
    (store,) = sites(recording, "sum", Kind.STORE)
    (before,) = sites(recording, "sum", Kind.RECURRENCE)
    assert sorted(store.data) == sorted([(before.number, 4), (load.number, 4)])


def test_select_depends_on_both_sides_and_an_atomic_condition(toolchain: Toolchain) -> None:
    """Atomics are sources; a select depends on both sides and the condition."""
    recording = toolchain.record(
        NOINLINE
        + """
NOINLINE void f(long *a, long *b, _Atomic long *c, long *out) {
  long x = *a, y = *b, z = *c;
  *out = __builtin_unpredictable(z > 0) ? x : y;
}"""
        + MAIN,
        "-O2",
    )
    x, y = sites(recording, "f", Kind.LOAD)
    (z,) = sites(recording, "f", Kind.ATOMIC_LOAD)
    (store,) = sites(recording, "f", Kind.STORE)
    assert sorted(store.data) == sorted([(x.number, 1), (y.number, 1), (z.number, 2)])


def test_at_most_eight_dependences_are_kept(toolchain: Toolchain) -> None:
    """The nearest of many sources are kept."""
    terms = " + ".join(f"a[{i * 100}]" for i in range(20))
    recording = toolchain.record(
        NOINLINE + f"NOINLINE void f(volatile long *a, long *out) {{ *out = {terms}; }}" + MAIN,
        "-O2",
    )
    loads = sites(recording, "f", Kind.LOAD)
    (store,) = sites(recording, "f", Kind.STORE)
    assert len(loads) == 20
    assert {number for number, _ in store.data} == {load.number for load in loads[12:]}


def test_flush_in_inline_assembly_depends_on_base_and_index(toolchain: Toolchain) -> None:
    """A flush waits for base and index, whether the base is a pointer or an integer."""
    recording = toolchain.record(
        NOINLINE
        + """
NOINLINE void of_pointer(char **base, const long *index) {
  asm volatile("clflush (%0,%1,8)" :: "r"(*base), "r"(*index) : "memory");
}
NOINLINE void of_integer(const unsigned long *base, const long *index) {
  asm volatile("clflush (%0,%1,8)" :: "r"(*base), "r"(*index) : "memory");
}
"""
        + MAIN,
        "-O2",
    )
    for function in ("of_pointer", "of_integer"):
        base, index = sites(recording, function, Kind.LOAD)
        (flush,) = sites(recording, function, Kind.FLUSH)
        assert sorted(flush.address) == [(base.number, 0), (index.number, 0)]
