"""Branches that are recorded, against those that callgrind counts in the native program."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from conftest import HERE, LEVELS, Kind, Recording, Toolchain, run
from support import long_except

SWITCHES = HERE / "switches.c"
COMPUTED_GOTO = """
#include <stdio.h>
static unsigned char program[1000];
__attribute__((noinline)) static unsigned long interpret(unsigned long x) {
  static const void* const codes[] = {&&add, &&twice, &&invert, &&skip, &&end};
  const unsigned char* at = program;
  goto* codes[*at];
add: x += at - program; goto* codes[*++at];
twice: x = x * 2 + 1; goto* codes[*++at];
invert: x = ~x; goto* codes[*++at];
skip: at += x & 1; goto* codes[*++at];
end: return x;
}
int main(void) {
  for (int i = 0; i < 990; ++i) program[i] = i * i % 11 & 3;
  for (int i = 990; i < 1000; ++i) program[i] = 4;
  printf("%lu\\n", interpret(3));
  return 0;
}
"""
POINTERS = """
static long one(long x) { return x + 1; }
static long two(long x) { return x * 2; }
static long (*volatile chosen[2])(long) = {one, two};
__attribute__((noinline)) static long call_all(long x) {
  for (int i = 0; i < 300; ++i) x = chosen[i % 3 == 0](x);
  return x;
}
int main(void) { return call_all(1) == 0; }
"""
VIRTUAL_CALLS = """
struct Shape { virtual long next(long x) = 0; };
struct Add : Shape { long next(long x) override { return x + 1; } };
struct Twice : Shape { long next(long x) override { return x * 2; } };
static Add add;
static Twice twice;
static Shape* volatile shapes[2] = {&add, &twice};
extern "C" __attribute__((noinline)) long call_all(long x) {
  for (int i = 0; i < 300; ++i) x = shapes[i % 3 == 0]->next(x);
  return x;
}
int main() { return call_all(1) == 0; }
"""
CONDITIONS = """
static volatile unsigned names, others;
__attribute__((noinline)) static void count(const char* text, const int* numbers) {
  for (; *text; ++text, ++numbers) {
    if ((*text >= 'a' && *text <= 'z') || *text == '_' || *numbers > 100) {
      ++names;
      __asm__ volatile("# name" ::);
    } else if (*numbers != 3 && numbers[1] != *text) {
      ++others;
      __asm__ volatile("# other" ::);
    }
  }
}
int main(void) {
  static char text[500];
  static int numbers[501];
  for (int i = 0; i < 499; ++i) text[i] = 32 + i * i % 90, numbers[i] = i * 7 % 150;
  count(text, numbers);
  return names == 0;
}
"""
PROGRAMS = {
    "computed_goto": (COMPUTED_GOTO, ".c", "interpret"),
    "pointers": (POINTERS, ".c", "call_all"),
    "virtual_calls": (VIRTUAL_CALLS, ".cpp", "call_all"),
}


def callgrind_branches(program: Path, scratch: Path) -> dict[str, tuple[int, int]]:
    """Return the conditional and the indirect branches that each function executed."""
    profile = scratch / "callgrind.out"
    run("valgrind", "--tool=callgrind", "--branch-sim=yes", f"--callgrind-out-file={profile}",
        program)  # fmt: skip
    listing = run("callgrind_annotate", "--threshold=100", "--show=Bc,Bi", profile).stdout
    counts: dict[str, tuple[int, int]] = {}
    for line in listing.splitlines():
        match = re.match(
            r"\s*([\d,.]+)(?: \(.*?\))?\s+([\d,.]+)(?: \(.*?\))?\s+\S*?:(\w+) \[", line
        )
        if match is not None:
            conditional, indirect = (
                int(text.replace(",", "").replace(".", "0")) for text in match.group(1, 2)
            )
            counts[match[3]] = conditional, indirect
    return counts


def recorded_branches(recording: Recording) -> dict[str, tuple[int, int]]:
    """Return the conditional and the indirect branches recorded in each function."""
    conditional = Counter(each.site.function for each in recording.of(Kind.BRANCH))
    indirect = Counter(each.site.function for each in recording.of(Kind.INDIRECT_BRANCH))
    return {name: (conditional[name], indirect[name]) for name in conditional | indirect}


@pytest.mark.parametrize("level", long_except(LEVELS, "-O0", "-O2"))
@pytest.mark.parametrize("flags", long_except(["", "-fno-jump-tables", "-fPIC"], ""))
def test_switches_are_recorded_as_the_branches_of_the_native_program(
    toolchain: Toolchain, level: str, flags: str
) -> None:
    """Each function of the file has one switch."""
    options = tuple(flags.split())
    native = toolchain.scratch / "native"
    run("clang-19", level, *options, SWITCHES, "-o", native)
    expected = callgrind_branches(native, toolchain.scratch)
    recording = toolchain.record(SWITCHES.read_text(), level, flags=options)
    found = recorded_branches(recording)
    names = re.findall(r"^FUNCTION (\w+)", SWITCHES.read_text(), re.MULTILINE)
    assert len(names) == 15
    for name in names:
        conditional, indirect = found.get(name, (0, 0))
        # A value between the entries of a table leaves the search at once in the native program.
        assert conditional == pytest.approx(expected[name][0], rel=0.01), name
        assert indirect == expected[name][1], name


@pytest.mark.parametrize("level", long_except(LEVELS, "-O2"))
@pytest.mark.parametrize("name", PROGRAMS)
def test_indirect_branches_are_recorded_as_in_the_native_program(
    toolchain: Toolchain, name: str, level: str
) -> None:
    code, suffix, function = PROGRAMS[name]
    recording = toolchain.record(code, level, suffix)
    native = toolchain.scratch / "native"
    clang = "clang++-19" if suffix == ".cpp" else "clang-19"
    run(clang, level, toolchain.scratch / f"program{suffix}", "-o", native)
    conditional, indirect = callgrind_branches(native, toolchain.scratch)[function]
    found = recorded_branches(recording)[function]
    assert found[0] == pytest.approx(conditional, abs=2)
    assert found[1] == indirect
    assert indirect >= 300


@pytest.mark.parametrize("level", long_except(LEVELS, "-O2"))
def test_branches_on_several_conditions_are_recorded_as_in_the_native_program(
    toolchain: Toolchain, level: str
) -> None:
    recording = toolchain.record(CONDITIONS, level)
    native = toolchain.scratch / "native"
    run("clang-19", level, toolchain.scratch / "program.c", "-o", native)
    conditional, _ = callgrind_branches(native, toolchain.scratch)["count"]
    assert recorded_branches(recording)["count"][0] == pytest.approx(conditional, rel=0.02)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_indirect_calls_have_their_targets_and_depend_on_the_loaded_pointer(
    toolchain: Toolchain, level: str
) -> None:
    calls = toolchain.record(POINTERS, level).of(Kind.INDIRECT_BRANCH)
    assert len(calls) == 300
    assert len({call.address for call in calls}) == 2
    for i, call in enumerate(calls):
        assert (call.address == calls[0].address) == (i % 3 == 0)
        loads = [site for site, _ in call.site.data]
        assert loads
        assert call.site.instructions > 0
