"""The heap that counts as persistent memory, with each allocator that a program is linked with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conftest import HERE, built_toolchain, run
from pmemsim.program_check import check_program
from pmemsim.trace import Trace
from shared import locked

PROGRAMS = HERE / "recorded"
GIVEN = 11  # addresses that every program prints


@pytest.fixture(scope="session")
def programs(shared_folder: Path) -> Path:
    """Build a program, plain and linked with an allocator in two ways."""
    folder = shared_folder / "allocators"
    folder.mkdir(exist_ok=True)
    with locked(folder):
        if (folder / "done").exists():
            return folder
        source = PROGRAMS / "foreign_allocator.cpp"
        plain, recorded = "clang++-19", built_toolchain() / "bin" / "pmemsim-c++"
        options = ("-O1", "-fPIC", "-std=c++20", "-fno-builtin")
        run(plain, *options, "-shared", source, "-o", folder / "libforeign.so")
        run(plain, *options, "-c", source, "-o", folder / "foreign.o")
        run("clang-19", "-fPIC", "-shared", "-Wl,-z,initfirst", PROGRAMS / "early_allocation.c",
            "-o", folder / "libearly.so")  # fmt: skip
        options = ("-O0", *options[1:])  # all its accesses to memory are instrumented
        run(recorded, *options, "-shared", source, "-o", folder / "libinstrumented.so")
        run(recorded, *options, "-c", source, "-o", folder / "instrumented.o")
        for file in ("new_operators.cpp", "own_new_operators.cpp"):
            run(recorded, "-O1", "-std=c++20", "-c", PROGRAMS / file, "-o", folder / f"{file}.o")
        libraries = ["-L", folder, f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed"]
        linked = {
            "plain": [],
            "dynamic": [*libraries, "-lforeign"],
            "dynamic_instrumented": [*libraries, "-linstrumented"],
            "static": [folder / "foreign.o"],
            # No other operators are found then.
            "instrumented": [folder / "instrumented.o", "-static-libstdc++"],
            "instrumented_early": [folder / "instrumented.o", *libraries, "-learly"],
            "static_library": ["-static-libstdc++"],
            "own": [folder / "own_new_operators.cpp.o"],
        }
        for name, parts in linked.items():
            run(recorded, folder / "new_operators.cpp.o", *parts, "-o", folder / name)
        (folder / "done").touch()
    return folder


def record(
    program: Path, output: Path, *arguments: str, **options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments], env={**os.environ, "PMEMSIM_TRACE": str(output), **options},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def outside(done: subprocess.CompletedProcess[str], output: Path) -> list[str]:
    """Return the program's allocations outside the heap that counts as persistent."""
    assert done.returncode == 0, done.stderr
    trace = Trace(output)
    trace.verify()
    (heap,) = trace.metadata["pm_regions"]
    given = {name: int(at, 16) for name, at in map(str.split, done.stdout.splitlines())}
    assert len(given) >= GIVEN
    assert all(at % 256 == 0 for name, at in given.items() if name.startswith("aligned"))
    assert given.get("class", 0) % 64 == 0
    return [name for name, at in given.items() if not heap["begin"] <= at < heap["end"]]


@pytest.mark.parametrize(
    "program",
    ["plain", "dynamic", "dynamic_instrumented", "static_library", "own", "preloaded"],
)
def test_every_operator_new_allocates_from_the_persistent_heap(
    programs: Path, tmp_path: Path, program: str
) -> None:
    output = tmp_path / "trace.pmt"
    options = {"PMEMSIM_PM_HEAP": "1"}
    if program == "preloaded":
        options["LD_PRELOAD"] = str(programs / "libforeign.so")
        program = "plain"
    done = record(programs / program, output, **options)
    assert outside(done, output) == []


@pytest.mark.parametrize(
    "program",
    [
        "plain", "dynamic", "dynamic_instrumented", "static_library", "own", "static",
        "instrumented", "instrumented_early",
    ],
)  # fmt: skip
def test_programs_without_pm_heap_keep_their_allocator(
    programs: Path, tmp_path: Path, program: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(programs / program, output)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= GIVEN
    assert Trace(output).metadata["pm_regions"] == []
    assert run(programs / program).stdout.splitlines()


@pytest.mark.parametrize("heap", ["0", "1"])
def test_operator_new_throws_when_there_is_no_memory(
    programs: Path, tmp_path: Path, heap: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(programs / "plain", output, "too much", PMEMSIM_PM_HEAP=heap)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", ["static", "instrumented", "instrumented_early"])
def test_an_allocator_that_is_part_of_the_program_is_refused(
    programs: Path, tmp_path: Path, program: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(programs / program, output, PMEMSIM_PM_HEAP="1")
    assert done.returncode == 2
    assert f"{program} has an allocator linked statically" in done.stderr
    assert "link that library dynamically" in done.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("function", "name"),
    [("je_malloc", "jemalloc"), ("tc_malloc", "tcmalloc"), ("mi_malloc", "mimalloc")],
)
def test_a_program_that_contains_a_known_allocator_is_refused(
    tmp_path: Path, function: str, name: str
) -> None:
    source, output = tmp_path / "mine.c", tmp_path / "trace.pmt"
    source.write_text(f"void* {function}(unsigned long n) {{ return (void*)n; }} int main() {{}}")
    run(built_toolchain() / "bin" / "pmemsim-cc", source, "-o", tmp_path / "mine")
    done = record(tmp_path / "mine", output, PMEMSIM_PM_HEAP="1")
    assert done.returncode == 2
    assert f"mine has {name} linked statically" in done.stderr


FREED = """
#include <stdlib.h>
#include <string.h>
#include <immintrin.h>
static void persist(char* memory) { _mm_clflush(memory); _mm_sfence(); }
int main(int count, char** words) {
  char* kept = aligned_alloc(64, 64);
  memset(kept, 0, 64);
  persist(kept);
  for (int i = 0; i < 20; ++i) {
    char* scratch = i % 2 ? malloc(40 + 30 * i) : calloc(3, 9 + 10 * i);
    memset(scratch, i, 20);
    scratch = realloc(scratch, 2000);
    scratch[1900] = 1;
    kept[i] = scratch[0];
    persist(kept);
    if (i != 19 || strcmp(words[1], "early")) free(scratch);
    if (!strcmp(words[1], "late")) kept[i + 1] = scratch[100];
  }
  persist(kept);
  return 0;
}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("use", "kinds"),
    [("freed", set()), ("early", {"never-flushed"}), ("late", {"used-after-free"})],
)
def test_freed_memory_of_the_persistent_heap_needs_no_flush_and_has_no_use(
    tmp_path: Path, use: str, kinds: set[str]
) -> None:
    source, program = tmp_path / "freed.c", tmp_path / "freed"
    source.write_text(FREED)
    compiler = built_toolchain() / "bin" / "pmemsim-cc"
    run(compiler, "-O1", "-g", "-fno-builtin", "-Wno-use-after-free", source, "-o", program)
    output = tmp_path / "trace.pmt"
    done = record(program, output, use, PMEMSIM_PM_HEAP="1")
    assert done.returncode == 0, done.stderr
    findings = check_program(Trace(output)).findings
    assert {each.kind for each in findings if each.loses_data} == kinds
