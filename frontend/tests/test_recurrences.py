"""Values that loops carry in registers, with their cycles, computed by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pmemsim
from conftest import Kind, Recording, Site, Toolchain, built_toolchain, run

NOINLINE = "#define NOINLINE __attribute__((noinline))\n"
PLAIN = '_Pragma("clang loop vectorize(disable) unroll(disable)")\n'


def record(toolchain: Toolchain, code: str, *flags: str) -> Recording:
    """Record a program; without a main() that does anything if it has none."""
    main = "" if "main(" in code else "\nint main(void) { return 0; }\n"
    return toolchain.record(NOINLINE + code.replace("LOOP", PLAIN) + main, "-O2", flags=flags)


def sites(recording: Recording, kind: Kind = Kind.RECURRENCE) -> list[Site]:
    """Return the sites of the function f, in program order."""
    return [site for site in recording.sites if site.function == "f" and site.kind is kind]


def recurrences(toolchain: Toolchain, code: str, *flags: str) -> list[Site]:
    """Return the recurrences of the function f."""
    return sites(record(toolchain, code, *flags))


@pytest.mark.parametrize(
    ("kind", "step", "cycles"),
    [
        ("unsigned long", "x * a + 12345", 3 + 1),
        ("unsigned long", "(x ^ a) * 0x100000001b3", 1 + 3),
        ("unsigned long", "x * 33 + a", 2 + 1),
        ("unsigned long", "x * 5 ^ a", 1 + 1),
        ("unsigned", "a / x + 1", 26 + 1),
        ("int", "a % x + 1", 26 + 1),
        ("unsigned long", "a / x + 1", 35 + 1),
        ("long", "a / x + 1", 42 + 1),
        ("unsigned", "x / 10 + a", 5 + 1),
        ("unsigned", "x % 10 + a", 9 + 1),
        ("double", "x + a", 4),
        ("double", "x * a + 1.0", 4 + 4),
        ("double", "a / x", 13),
        ("float", "a / x", 11),
        ("double", "__builtin_fabs(x) * a", 1 + 4),
        ("int", "(x > a ? x : a) + i * 3 & 4095", 2 + 1 + 1),
    ],
)
def test_recurrence_step_takes_the_latency_of_its_instructions(
    toolchain: Toolchain, kind: str, step: str, cycles: int
) -> None:
    """Counters beside it leave no record."""
    (value,) = recurrences(
        toolchain,
        f"NOINLINE {kind} f({kind} x, {kind} a, long n) {{ LOOP"
        f"for (long i = 0; i < n; i++) x = {step}; return x; }}",
        "-fno-math-errno",
    )
    assert value.instructions == 0
    assert value.address == []
    assert value.data == [(value.number, cycles)]


def test_a_fused_multiply_add_is_one_instruction(toolchain: Toolchain) -> None:
    """The code is compiled with -mfma."""
    code = """NOINLINE double f(double x, double a, long n) {
      LOOP for (long i = 0; i < n; i++) x = x * a + 1.0; return x; }"""
    (value,) = recurrences(toolchain, code, "-mfma")
    assert value.data == [(value.number, 4)]


def test_recurrence_restarts_with_its_loop_and_continues_each_iteration(
    toolchain: Toolchain,
) -> None:
    """The inner loop's hash restarts with each key; the outer one's continues."""
    recording = record(
        toolchain,
        """
NOINLINE unsigned long f(const char **keys, int n) {
  unsigned long all = 1;
  for (int i = 0; i < n; i++) {
    unsigned long h = 5381;
    LOOP for (const char *p = keys[i]; *p; p++) h = h * 0x100000001b3 ^ *p;
    all = all * 0x100000001b3 ^ h;
  }
  return all;
}
int main(void) { const char *keys[] = {"ab", "cde"}; return f(keys, 2) == 0; }""",
    )
    outer, inner = sites(recording)
    assert (inner.number, 4) in inner.data
    assert {cycles for number, cycles in inner.data if number != inner.number} == {1 + 1}
    assert inner.address == []
    # The value that the inner loop has left, or the first value of a key without characters.
    assert (outer.number, 4) in outer.data
    flags = {site.number: [] for site in (outer, inner)}
    for operation in recording.of(Kind.RECURRENCE):
        flags[operation.site.number].append(operation.flag)
    assert flags[outer.number] == [0, 1]
    assert flags[inner.number] in ([0, 1, 0, 1, 1], [0, 1, 1, 0, 1, 1, 1])


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "long f(struct node *p) { long n = 0; for (; p; p = p->next) n ^= p->value; return n; }",
            id="a list",
        ),
        pytest.param(
            """long f(const long *a, long low, long high, long key) {
              while (low < high) {
                long middle = (low + high) / 2;
                if (__builtin_unpredictable(a[middle] < key)) low = middle + 1; else high = middle;
              }
              return low; }""",
            id="a binary search",
        ),
        pytest.param(
            "long f(const int *a, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i];"
            " return s; }",
            id="a sum of integers",
        ),
        pytest.param(
            """unsigned long f(const char *s, long n) {
              unsigned long h = 1;
              LOOP for (long i = 0; i < n; i++) if (s[i] == 32) { h = 7; } else {
                h = h * 0x100000001b3; asm volatile(""); }
              return h; }""",
            id="a value that one branch resets",
        ),
    ],
)
def test_loops_paced_by_loads_or_counters_have_no_recurrence(
    toolchain: Toolchain, code: str
) -> None:
    """Values that may restart within the loop have no recurrence either."""
    node = "struct node { struct node *next; long value; };\n"
    assert recurrences(toolchain, f"{node} NOINLINE {code}") == []


def test_recurrence_of_a_loop_with_branches_takes_the_shortest_path(toolchain: Toolchain) -> None:
    """It isn't known in advance which branch is taken."""
    code = """NOINLINE unsigned long f(unsigned long x, unsigned long a, long n) {
      LOOP for (long i = 0; i < n; i++) {
        if (i % 100 == a) { x = x / a; asm volatile(""); } else { x = x * a; asm volatile(""); }
      }
      return x; }"""
    (value,) = recurrences(toolchain, code)
    assert (value.number, 3) in value.data


def test_mutually_dependent_recurrences_are_both_recorded(toolchain: Toolchain) -> None:
    """In a rotation both continue from both; the first is recorded before the second."""
    code = """NOINLINE double f(double x, double y, double c, double s, long n) {
      LOOP for (long i = 0; i < n; i++) { double t = x * c - y * s; y = x * s + y * c; x = t; }
      return x + y; }"""
    first, second = recurrences(toolchain, code, "-ffp-contract=off")
    assert sorted(first.data) == [(first.number, 8), (second.number, 8)]
    assert second.data == [(second.number, 8)]


def test_recurrence_through_a_called_function_is_recorded(toolchain: Toolchain) -> None:
    """Arguments and results are followed."""
    code = """static NOINLINE unsigned long step(unsigned long x) { return x * 37 * 0x12345678 + 1; }
    NOINLINE unsigned long f(unsigned long x, long n) {
      LOOP for (long i = 0; i < n; i++) x = step(x); return x; }"""
    (value,) = recurrences(toolchain, code)
    assert value.data == [(value.number, 4)]


def test_vectorized_sum_has_several_recurrences(toolchain: Toolchain) -> None:
    """The compiler makes several recurrences of one, and each is recorded."""
    code = """NOINLINE float f(const float *a, long n) {
      float s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }"""
    values = recurrences(toolchain, code, "-ffast-math")
    assert len(values) > 1
    for value in values:
        assert (value.number, 4) in value.data


def test_load_and_store_depend_on_the_recurrence_they_use(toolchain: Toolchain) -> None:
    """A load at a random place follows the step, and a store has the final value."""
    recording = record(
        toolchain,
        """
NOINLINE void f(const long *volatile *a, unsigned long x, long n, unsigned long *out) {
  LOOP for (long i = 0; i < n; i++) { x = x * 0x5851f42d4c957f2d + 1; (void)a[x >> 40]; }
  *out = x;
}""",
    )
    (value,) = sites(recording)
    (load,) = sites(recording, Kind.LOAD)
    (store,) = sites(recording, Kind.STORE)
    assert load.address == [(value.number, 4 + 1)]
    assert store.data == [(value.number, 4)]


CHAINS = """
#include <string.h>
NOINLINE unsigned long multiply_add(unsigned long x, long n) {
  LOOP for (long i = 0; i < n; i++) x = x * 0x5851f42d4c957f2d + 1;
  return x;
}
NOINLINE unsigned divide(unsigned x, long n) {
  LOOP for (long i = 0; i < n; i++) x = 0xfffffff1 / (x | 1);
  return x;
}
NOINLINE double floats(double x, long n) {
  LOOP for (long i = 0; i < n; i++) x = x * 0.75;
  return x;
}
int main(int argc, char **argv) {
  const long n = 20000;
  if (!strcmp(argv[1], "multiply_add")) return multiply_add(argc, n) == 1;
  if (!strcmp(argv[1], "divide")) return divide(argc, n) == 0;
  return floats(argc, n) == 1;
}
"""


def test_recorded_recurrences_simulate_in_the_expected_cycles(tmp_path: Path) -> None:
    """Times agree within 5%, from the source to the simulated time."""
    (tmp_path / "chains.c").write_text(NOINLINE + CHAINS.replace("LOOP", PLAIN))
    program, trace = tmp_path / "chains", tmp_path / "chains.pmt"
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O2", tmp_path / "chains.c", "-o", program)
    for name, cycles in (("multiply_add", 3 + 1), ("divide", 1 + 26), ("floats", 4)):
        run(program, name, env={**os.environ, "PMEMSIM_TRACE": str(trace)})
        for division in (26, 11):
            overrides = {"core.frequency": "1GHz", "core.division_latency": f"{division}cycles"}
            result = pmemsim.run(trace, design="np", machine="asap", overrides=overrides)
            expected = cycles - 26 + division if name == "divide" else cycles
            assert result.time_ns == pytest.approx(20000 * expected, rel=0.05), name
