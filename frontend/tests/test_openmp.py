"""Recordings have the order that OpenMP and C++20 give, and no other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from conftest import HERE, Kind, Toolchain, built_toolchain, run
from pmemsim import _core
from pmemsim.trace import Trace
from support import long_except, pmemsim

CONSTRUCTS = (
    "fork_join", "many_teams", "nested", "barrier", "implied_barrier", "critical", "critical_hint",
    "atomic", "atomic_update", "single", "copyprivate", "masked", "sections", "ordered",
    "ordered_static", "doacross", "task", "taskwait", "recursion", "group_recursion", "taskgroup", "task_barrier", "depend",
    "depend_set", "depend_wait", "undeferred", "taskloop", "detach", "reduction",
    "reduction_barrier", "reduction_array", "task_reduction", "lock", "nest_lock", "flush", "teams",
)  # fmt: skip
WAITS = (
    "latch", "latch_wait", "barrier", "barrier_completion", "barrier_drop", "semaphore",
    "binary_semaphore", "atomic_wait", "atomic_wait_long", "atomic_flag", "stop",
)  # fmt: skip
OPENMP = "-fopenmp", "-fopenmp-version=51"

Build = Callable[..., Path]


def has_openmp() -> bool:
    """Return whether LLVM's OpenMP is installed."""
    empty = subprocess.run(
        ["clang-19", "-fopenmp", "-x", "c", "-", "-o", "/dev/null"],
        input="#include <omp.h>\nint main(void) { return omp_get_level(); }",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return empty.returncode == 0


needs_openmp = pytest.mark.skipif(
    not has_openmp(), reason="LLVM's OpenMP is not installed (apt-get install libomp-19-dev)"
)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program of tests/recorded once for each list of options."""
    folder = tmp_path_factory.mktemp("openmp")

    @cache
    def built(source: str, *options: str) -> Path:
        compiler = "pmemsim-c++" if source.endswith("cpp") or "c++" in options else "pmemsim-cc"
        output = folder / "-".join([source, *options]).replace("=", "-")
        run(built_toolchain() / "bin" / compiler, "-g", "-pthread", *options,
            HERE / "recorded" / source, "-o", output)  # fmt: skip
        return output

    return built


def record(output: Path, *command: str | Path, **variables: str) -> Trace:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "PMEMSIM_TRACE": str(output), **variables},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    _core.store_races(output)
    trace = Trace(output)
    trace.verify()
    return trace


def races(output: Path, *command: str | Path) -> int:
    return int(record(output, *command).summary()["races"])


@needs_openmp
@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("options", long_except(["-O1", "-O0", "-O3 -x c++"], "-O1"))
def test_openmp_construct_orders_accesses_and_its_lack_is_a_race(
    build: Build, tmp_path: Path, options: str, construct: str
) -> None:
    program = build("openmp.c", *OPENMP, *options.split())
    assert races(tmp_path / "right.pmt", program, construct, "right") == 0
    assert races(tmp_path / "wrong.pmt", program, construct, "wrong") > 0


@needs_openmp
def test_list_of_openmp_constructs_is_complete(build: Build) -> None:
    assert tuple(run(build("openmp.c", *OPENMP, "-O1")).stdout.split()) == CONSTRUCTS


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("level", long_except(["-O0", "-O1", "-O3"], "-O1"))
def test_wait_of_cpp20_orders_accesses_and_its_lack_is_a_race(
    build: Build, tmp_path: Path, level: str, wait: str
) -> None:
    program = build("waits.cpp", "-std=c++20", level)
    assert races(tmp_path / "right.pmt", program, wait, "right") == 0
    assert races(tmp_path / "wrong.pmt", program, wait, "wrong") > 0


def test_list_of_cpp20_waits_is_complete(build: Build) -> None:
    assert tuple(run(build("waits.cpp", "-std=c++20", "-O1")).stdout.split()) == WAITS


@needs_openmp
@pytest.mark.parametrize("schedule", ["0:0", "3:5"])
@pytest.mark.parametrize("construct", ["barrier", "depend", "critical", "reduction"])
def test_openmp_recording_can_be_repeated(
    build: Build, tmp_path: Path, construct: str, schedule: str
) -> None:
    program = build("openmp.c", *OPENMP, "-O1")
    recorded = [
        record(tmp_path / name, program, construct, "right", PMEMSIM_SCHEDULE=schedule).path
        for name in ("one.pmt", "other.pmt")
    ]
    assert recorded[0].read_bytes() == recorded[1].read_bytes()


@needs_openmp
@pytest.mark.parametrize(("option", "status"), [("-O1", 0), ("-DWRONG", 1)])
def test_check_of_openmp_program_finds_a_missing_barrier(
    build: Build, tmp_path: Path, option: str, status: int
) -> None:
    program = build("openmp_persistent.c", *OPENMP, option)
    (tmp_path / "pm").mkdir()
    trace = tmp_path / "x.pmt"
    done = pmemsim("record", "-o", trace, "--pm-path", tmp_path / "pm", "--",
                   program, "run", tmp_path / "pm" / "x")  # fmt: skip
    assert done.returncode == 0, done.stderr
    checked = pmemsim("check", trace, "--verify", f"{program} check")
    assert checked.returncode == status, checked.stdout


@needs_openmp
def test_flush_of_openmp_is_a_fence(toolchain: Toolchain) -> None:
    code = """
        int main(void) {
        #pragma omp flush
          return 0;
        }"""
    recording = toolchain.record(code, "-O1", flags=("-fopenmp",))
    assert len(recording.of(Kind.FENCE)) == 1


@needs_openmp
def test_openmp_tool_can_not_be_disabled(build: Build, tmp_path: Path) -> None:
    program = build("openmp.c", *OPENMP, "-O1")
    trace = record(tmp_path / "x.pmt", program, "barrier", "right", OMP_TOOL="disabled")
    assert trace.summary()["races"] == 0


def test_synchronisation_by_gccs_openmp_is_noted(tmp_path: Path) -> None:
    """Its library does not say when threads wait."""
    library, program = tmp_path / "library.c", tmp_path / "program.c"
    library.write_text("""
        void run(void (*body)(int)) {
        #pragma omp parallel for num_threads(4)
          for (int i = 0; i < 8; ++i) body(i);
        }""")
    program.write_text("""
        void run(void (*body)(int));
        static volatile long cells[8];
        static void body(int i) { cells[i] = i; }
        int main(void) { run(body); return 0; }""")
    shared = tmp_path / "library.so"
    run("gcc", "-O1", "-fopenmp", "-fPIC", "-shared", library, "-o", shared)
    run(built_toolchain() / "bin" / "pmemsim-cc", program, shared, "-o", tmp_path / "program")
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--", tmp_path / "program")
    assert done.returncode == 0, done.stderr
    note = "synchronisation by GCC's OpenMP (libgomp) is not recorded"
    assert f"pmemsim: note: partial: {note}" in done.stderr


@needs_openmp
def test_programs_own_openmp_tool_is_noted(tmp_path: Path) -> None:
    program = tmp_path / "program.c"
    program.write_text("""
        static volatile long cells[8];
        void *ompt_start_tool(unsigned version, const char *runtime) {
          return version != 0 && runtime != 0 ? (void *)0 : (void *)&cells;
        }
        int main(void) {
        #pragma omp parallel for num_threads(4)
          for (int i = 0; i < 8; ++i) cells[i] = i;
          return 0;
        }""")
    run(built_toolchain() / "bin" / "pmemsim-cc", "-fopenmp", program, "-o", tmp_path / "program")
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--", tmp_path / "program")
    assert done.returncode == 0, done.stderr
    note = "synchronisation by OpenMP is not recorded, because the program has an OpenMP tool"
    assert f"pmemsim: note: partial: {note}" in done.stderr


LIBRARY = """
static long cells[64], total;
void work(int right) {
#pragma omp parallel num_threads(4)
  {
#pragma omp for nowait
    for (int i = 0; i < 64; ++i) cells[i] = i;
    if (right) {
#pragma omp barrier
    }
#pragma omp for reduction(+ : total)
    for (int i = 0; i < 64; ++i) total += cells[63 - i];
  }
}
"""
LOADER = """
#include <dlfcn.h>
int main(int count, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  void (*work)(int) = (void (*)(int))dlsym(library, "work");
  work(count > 2);
  return 0;
}
"""


@needs_openmp
def test_openmp_in_a_library_loaded_later_is_recorded(tmp_path: Path) -> None:
    """Its functions are not in the program's global scope, also if nothing is recorded."""
    compiler = built_toolchain() / "bin" / "pmemsim-cc"
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "loader.c").write_text(LOADER)
    library, loader = tmp_path / "library.so", tmp_path / "loader"
    run(compiler, "-O1", "-fopenmp", "-shared", "-fPIC", tmp_path / "library.c", "-o", library)
    run(compiler, "-O1", tmp_path / "loader.c", "-o", loader)
    run(loader, library, "right")
    assert races(tmp_path / "right.pmt", loader, library, "right") == 0
    assert races(tmp_path / "wrong.pmt", loader, library) > 0
