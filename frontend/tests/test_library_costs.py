"""Instructions of library functions: the recorder's estimates against what callgrind counts."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import HERE, REPOSITORY, built_toolchain, run
from pmemsim.trace import Trace
from support import long_except, pmemsim

PROGRAMS = sorted(path.name for path in (HERE / "library_calls").glob("*.c*"))
BOUND = {"sorting.c": 0.15}
OTHER_BOUND = 0.25
# callgrind counts each byte of a `rep movsb`, so it isn't used.
VECTOR_COPIES = (
    "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"
)
COUNT_REGION = """
#include <valgrind/callgrind.h>
void pm_roi_begin(void) { CALLGRIND_ZERO_STATS; }
void pm_roi_end(void) { CALLGRIND_DUMP_STATS; }
"""


def compile_both(source: Path, folder: Path, level: str) -> tuple[Path, Path]:
    """Compile the program natively, with a region that callgrind counts, and for recording."""
    region = folder / "region.c"
    region.write_text(COUNT_REGION)
    run("clang-19", "-c", region, "-o", folder / "region.o")
    cxx = source.suffix == ".cpp"
    options = ["-std=c++20"] if cxx else []
    clang = "clang++-19" if cxx else "clang-19"
    native, recorded = folder / "native", folder / "recorded"
    include = f"-I{REPOSITORY / 'include'}"
    run(clang, *options, level, include, source, folder / "region.o", "-o", native, "-lm")
    compiler = built_toolchain() / "bin" / ("pmemsim-c++" if cxx else "pmemsim-cc")
    run(compiler, *options, level, source, "-o", recorded, "-lm")
    return native, recorded


def callgrind_count(program: Path, folder: Path) -> int:
    """Count all instructions of the region of interest, the libraries' as well."""
    subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'profile'}", program],
        env={**os.environ, "GLIBC_TUNABLES": VECTOR_COPIES},
        capture_output=True, check=True,
    )  # fmt: skip
    found = re.search(r"^summary: (\d+)", (folder / "profile.1").read_text(errors="replace"), re.M)
    assert found is not None
    return int(found[1])


def recorded(program: Path, output: Path) -> Trace:
    subprocess.run(
        [program], env={**os.environ, "PMEMSIM_TRACE": str(output)}, capture_output=True, check=True
    )
    trace = Trace(output)
    trace.verify()
    return trace


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O2"))
@pytest.mark.parametrize(
    "name", long_except(PROGRAMS, "containers.cpp", "copies.c", "printing.c", "sorting.c")
)
def test_estimates_of_library_functions_are_close_to_callgrind(
    tmp_path: Path, name: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    native, program = compile_both(HERE / "library_calls" / name, tmp_path, level)
    expected = callgrind_count(native, tmp_path)
    counts = recorded(program, tmp_path / "first.pmt").metadata["instructions"]
    counted = counts["instrumented"] + counts["external"]
    error = counted / expected - 1
    with capsys.disabled():
        print(f"\n{name:14} {level}: callgrind {expected:9}, recorded {counted:9}, {error:+.1%}")
    assert abs(error) < BOUND.get(name, OTHER_BOUND)
    recorded(program, tmp_path / "second.pmt")
    assert (tmp_path / "first.pmt").read_bytes() == (tmp_path / "second.pmt").read_bytes()


# ---- Code in libraries and objects that pmemsim-cc did not compile ------------------------------

LIBRARY = """
long times(long n) { return n * n; }
long apply(long (*function)(long), long n) { return function(n) + 1; }
"""
CALLER = """
long times(long), apply(long (*)(long), long), own(long);
static volatile long cell;
static long square(long n) { return cell = n * n; }
int main(void) {
  for (int i = 0; i < 100; ++i) cell += times(i) + own(i);
  for (int i = 0; i < 7; ++i) cell += apply(square, i);
  return 0;
}
"""
OWN = """
long own(long n) { return n + 1; }
"""
TABLE = (REPOSITORY / "frontend" / "library_costs.inc").read_text()
CONSTANTS = sorted(int(constant) for constant in re.findall(r", (\d+), [\d.]+F\}", TABLE))
COST_OF_UNKNOWN = CONSTANTS[len(CONSTANTS) // 2]


def compile_caller(folder: Path, how: str, level: str, library_by: str | Path) -> Path:
    """Compile a program whose library is linked dynamically, statically or as an object."""
    for name, text in (("library", LIBRARY), ("caller", CALLER), ("own", OWN)):
        (folder / f"{name}.c").write_text(text)
    library = folder / {"shared": "library.so", "archive": "library.a", "object": "library.o"}[how]
    options = ["-shared", "-fPIC"] if how == "shared" else ["-c"]
    made = folder / "library.o" if how == "archive" else library
    run(library_by, "-O1", *options, folder / "library.c", "-o", made)
    if how == "archive":
        run("ar", "rcs", library, made)
    program = folder / "program"
    cc = built_toolchain() / "bin" / "pmemsim-cc"
    run(cc, level, "-g", folder / "caller.c", folder / "own.c", library, "-o", program)
    return program


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("how", ["shared", "archive", "object"])
def test_functions_of_unknown_cost_are_counted_and_named(
    tmp_path: Path, how: str, level: str
) -> None:
    program = compile_caller(tmp_path, how, level, "clang-19")
    trace = recorded(program, tmp_path / "x.pmt")
    # A function in the program itself is only known not to be instrumented if it calls nothing.
    calls = {"times": 100, **({"apply": 7} if how == "shared" else {})}
    named = {each["name"]: each["calls"] for each in trace.metadata["unknown_functions"]}
    assert named == calls
    unknown = sum(calls.values()) * COST_OF_UNKNOWN
    assert trace.metadata["instructions"]["unknown"] == unknown
    assert trace.summary()["total"]["unknown_instructions"] == unknown


@pytest.mark.parametrize("how", ["shared", "archive", "object"])
def test_functions_that_are_recorded_are_not_estimated(tmp_path: Path, how: str) -> None:
    program = compile_caller(tmp_path, how, "-O2", built_toolchain() / "bin" / "pmemsim-cc")
    trace = recorded(program, tmp_path / "x.pmt")
    assert "unknown_functions" not in trace.metadata
    assert trace.metadata["instructions"]["external"] == 0


def test_commands_show_the_share_of_estimates_and_warn(tmp_path: Path) -> None:
    program = compile_caller(tmp_path, "shared", "-O2", "clang-19")
    path = tmp_path / "x.pmt"
    recorded(program, path)
    for command in (
        ("trace", "info", path),
        ("run", path, "--design", "np", "--machine", "asap"),
        ("compare", path, "--designs", "np", "--machine", "asap"),
    ):
        done = pmemsim(*command)
        assert done.returncode == 0, done.stderr
        assert "instrument" in done.stdout
        assert "of the instructions are estimates" in done.stderr
        assert "times (100 calls), apply (7 calls)" in done.stderr


def test_few_estimates_give_no_warning(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("""
        #include <stdlib.h>
        volatile long cell;
        int main(int argc, char** argv) {
          for (int i = 0; i < 10000; ++i) cell = cell + i;
          return atoi(argv[0]) == 7;
        }""")
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O1", source, "-o", tmp_path / "program")
    trace = recorded(tmp_path / "program", tmp_path / "x.pmt")
    assert trace.metadata["instructions"]["external"] > 0
    done = pmemsim("trace", "info", tmp_path / "x.pmt")
    assert "estimated" in done.stdout
    assert done.stderr == ""


def test_a_programs_own_function_of_a_known_name_is_not_estimated(tmp_path: Path) -> None:
    """It is instrumented, so that its instructions are recorded."""
    main, own = tmp_path / "main.c", tmp_path / "own.c"
    main.write_text("double cbrt(double); int main(void) { return cbrt(2) != 2.5; }")
    own.write_text("double cbrt(double x) { return x + 0.5; }")
    cc = built_toolchain() / "bin" / "pmemsim-cc"
    run(cc, "-O1", "-fno-builtin", main, own, "-o", tmp_path / "program")
    trace = recorded(tmp_path / "program", tmp_path / "x.pmt")
    assert trace.metadata["instructions"]["external"] == 0


def test_a_function_of_a_known_name_may_have_other_arguments(tmp_path: Path) -> None:
    """It is in an object that pmemsim-cc did not compile; its argument is no string."""
    main, own = tmp_path / "main.c", tmp_path / "own.c"
    main.write_text("""
        int strpbrk(int), strcasecmp(int, int);
        int main(void) { return strpbrk(5) + strcasecmp(7, 1); }""")
    own.write_text("""
        int strpbrk(int x) { return x - 5; }
        int strcasecmp(int x, int y) { return x - 7 * y; }""")
    run("clang-19", "-fno-builtin", "-c", own, "-o", tmp_path / "own.o")
    cc = built_toolchain() / "bin" / "pmemsim-cc"
    run(cc, "-O1", "-fno-builtin", "-w", main, tmp_path / "own.o", "-o", tmp_path / "program")
    trace = recorded(tmp_path / "program", tmp_path / "x.pmt")
    assert trace.metadata["instructions"]["external"] > 0


def test_a_qsort_of_the_program_replaces_the_librarys(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("""
        #include <stdlib.h>
        volatile int sorted;
        void qsort(void* a, size_t n, size_t bytes, int (*order)(const void*, const void*)) {
          sorted = order(a, (char*)a + bytes);
        }
        static int order(const void* a, const void* b) { return *(int*)a - *(int*)b; }
        int main(void) {
          int two[2] = {5, 3};
          qsort(two, 2, sizeof two[0], order);
          return sorted != 2;
        }""")
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O1", source, "-o", tmp_path / "program")
    trace = recorded(tmp_path / "program", tmp_path / "x.pmt")
    assert trace.metadata["instructions"]["external"] == 0


def test_comparisons_may_sort_and_jump_out(tmp_path: Path) -> None:
    """A comparison function may call qsort itself, throw, and end the outer sort."""
    source = tmp_path / "program.cpp"
    source.write_text("""
        #include <cstdlib>
        static int inner(const void* a, const void* b) {
          return *static_cast<const int*>(a) - *static_cast<const int*>(b);
        }
        static int calls = 0;
        static int outer(const void* a, const void* b) {
          int small[4] = {4, 3, 2, 1};
          std::qsort(small, 4, sizeof(int), inner);
          if (small[0] != 1) std::abort();
          if (++calls == 20) throw 7;
          return inner(a, b);
        }
        int main() {
          int numbers[100];
          for (int i = 0; i < 100; ++i) numbers[i] = i * 37 % 101;
          try {
            std::qsort(numbers, 100, sizeof(int), outer);
          } catch (int) {
            std::qsort(numbers, 100, sizeof(int), inner);
            for (int i = 1; i < 100; ++i) if (numbers[i - 1] > numbers[i]) return 1;
            return 0;
          }
          return 2;
        }""")
    run(built_toolchain() / "bin" / "pmemsim-c++", "-O1", source, "-o", tmp_path / "program")
    trace = recorded(tmp_path / "program", tmp_path / "x.pmt")
    assert trace.metadata["instructions"]["external"] > 20 * 4 * 10
