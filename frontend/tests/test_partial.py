"""Constructs that can't be recorded are warned of at compile time, and noted once executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import LEVELS, built_toolchain, run
from support import long_except, pmemsim

PM = "500000000000:500000001000"
PROGRAM = """
#include <immintrin.h>
#include <string.h>
#include <sys/mman.h>
%s
int main(int count, char **arguments) {
  long *pm = mmap((void *)0x500000000000, 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  static char other[4096] __attribute__((aligned(64)));
  (void)other;
  pm[0] = count;
  if (count > 5) {
    %s
  }
  return 0;
}
"""
RTM = '__attribute__((target("rtm")))'
CASES = {
    "transaction": (
        f"{RTM} static void f(long *p) {{ if (_xbegin() == _XBEGIN_STARTED) {{ ++*p; _xend(); }} "
        "else p[1] = 2; }",
        "f(pm);",
        "'_xbegin' always aborts",
    ),
    "transaction_in_assembly": (
        "",
        '__asm__ volatile("jmp 2f\\n xbegin 1f\\n xend\\n1:\\n2:" ::: "eax", "memory");',
        "inline assembly begins a hardware transaction",
    ),
    "transaction_in_bytes": (
        "",
        '__asm__ volatile("jmp 1f\\n .byte 0xc7,0xf8,0,0,0,0\\n1:" ::: "eax", "memory");',
        "inline assembly begins a hardware transaction",
    ),
    "intrinsic": (
        '__attribute__((target("fxsr"))) static void f(void *p) { _fxsave(p); }',
        "f(pm);",
        "the intrinsic 'fxsave' may write to memory",
    ),
    "address_in_assembly": (
        "long place __attribute__((used));",
        '__asm__ volatile("movq $1, place(%%rip)" ::: "memory");',
        "inline assembly 'movq' accesses an address",
    ),
    "large_atomic": (
        "struct s { long a[4]; } shared;",
        "struct s copy; __atomic_load(&shared, &copy, __ATOMIC_SEQ_CST); pm[1] = copy.a[0];",
        "atomic accesses by '__atomic_load' (libatomic)",
    ),
}
ARGUMENTS = ["1", "2", "3", "4", "5"]


def compiled(folder: Path, level: str, declaration: str, statement: str) -> tuple[Path, str]:
    """Return the program, and the compiler's messages."""
    source, output = folder / "program.c", folder / "program"
    source.write_text(PROGRAM % (declaration, statement))
    built = run(built_toolchain() / "bin" / "pmemsim-cc", level, "-g", "-Wno-atomic-alignment",
                "program.c", "-o", output, "-Wl,--as-needed", "-l:libatomic.so.1",
                cwd=folder)  # fmt: skip
    return output, built.stderr


@pytest.mark.parametrize("level", long_except(LEVELS, "-O1"))
@pytest.mark.parametrize("case", long_except(CASES, "transaction", "intrinsic", "large_atomic"))
def test_executed_construct_that_is_not_recorded_is_noted(
    tmp_path: Path, level: str, case: str
) -> None:
    declaration, statement, problem = CASES[case]
    program, said = compiled(tmp_path, level, declaration, statement)
    (line,) = [line for line in said.splitlines() if problem in line]
    place = "5" if declaration.startswith("__attribute__") else "13"
    assert line.startswith(f"pmemsim: program.c: line {place}: {problem}")
    trace = tmp_path / "x.pmt"
    note = f"partial: program.c:{place}: {problem}"

    done = pmemsim("record", "-o", trace, "--pm-range", PM, "--", program, *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert f"pmemsim: note: {note}" in done.stderr
    assert note in pmemsim("check", trace).stdout
    assert f"program.c:{place}: {problem}" in pmemsim("trace", "info", trace).stdout

    done = pmemsim("record", "-o", trace, "--pm-range", PM, "--", program)
    assert done.returncode == 0, done.stderr
    assert "partial" not in done.stderr, "not executed"
    assert problem not in pmemsim("check", trace).stdout


def test_intrinsic_that_writes_to_volatile_memory_is_not_noted(tmp_path: Path) -> None:
    declaration = CASES["intrinsic"][0]
    program, said = compiled(tmp_path, "-O1", declaration, "f(other);")
    assert "the intrinsic 'fxsave' may write to memory" in said
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--pm-range", PM, "--", program, *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert "partial" not in done.stderr
