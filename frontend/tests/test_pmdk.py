"""Programs that call PMDK, as Debian ships it, or write files, have the findings they should."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import HERE, built_toolchain, run
from pmemsim.program_check import check_program
from pmemsim.trace import Trace
from shared import locked
from support import long_except, pmemsim

PROGRAMS = {
    "pmem_calls": "libpmem",
    "pmem2_calls": "libpmem2",
    "pmemobj_calls": "libpmemobj",
    "file_data": "",
}

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(shared_folder: Path) -> Build:
    """Compile a program of PMDK, once for all tests."""

    def compiled(name: str, *options: str) -> Path:
        library = PROGRAMS[name]
        if library and not Path(f"/usr/include/{library}.h").exists():
            pytest.skip(f"{library} is not installed (apt-get install {library}-dev)")
        folder = shared_folder / "-".join([name, *options]).replace("=", "-")
        program = folder / "program"
        with locked(shared_folder):
            if not program.exists():
                folder.mkdir(exist_ok=True)
                cc = built_toolchain() / "bin" / "pmemsim-cc"
                source = HERE / "recorded" / f"{name}.c"
                links = [f"-l{library.removeprefix('lib')}"] if library else []
                run(cc, "-O1", "-g", "-pthread", *options, source, *links, "-o", program)
        return program

    return compiled


def uses(name: str) -> list[str]:
    """Return the names of a program's uses."""
    return re.findall(r"USE\((\w+)\),", (HERE / "recorded" / f"{name}.c").read_text())


def announced(name: str, use: str) -> set[tuple[str, int]]:
    """Return the findings that comments in the program announce for a use: kind and line.

    A comment names kinds, behind the use if it isn't in the use's function.
    """
    function = ""
    findings = set()
    for number, line in enumerate((HERE / "recorded" / f"{name}.c").read_text().splitlines(), 1):
        if begins := re.match(r"static .*?(\w+)\(.*\{$", line):
            function = begins[1]
        comment = re.search(r"// (?:(no_\w+): )?((?:[a-z]+(?:-[a-z]+)+ ?)+)$", line)
        if comment and (comment[1] or function) == use:
            findings |= {(kind, number) for kind in comment[2].split()}
    return findings


def record(program: Path, folder: Path, use: str) -> Trace:
    (folder / "pm").mkdir()
    output = folder / "x.pmt"
    done = pmemsim("record", "-o", output, "--pm-path", folder / "pm", "--", program, use,
                   folder / "pm" / "pool")  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = Trace(output)
    trace.verify()
    return trace


def found(trace: Trace, expected: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the findings that can lose data: kind and line, or that of a call that is expected."""
    lines = set()
    for each in check_program(trace).findings:
        if each.loses_data:
            places = [(each.kind, place.line) for place in (each.place, *each.calls)]
            lines.add(next((place for place in places if place in expected), places[0]))
    return lines


def check_findings(build: Build, folder: Path, name: str, use: str, *options: str) -> None:
    expected = announced(name, use)
    assert bool(expected) == use.startswith("no_")
    assert found(record(build(name, *options), folder, use), expected) == expected


EVERY = [(name, use) for name in PROGRAMS for use in uses(name)]
USUAL = [
    ("pmem_calls", "copies"), ("pmem_calls", "no_drain_of_big_copy"), ("pmem_calls", "threads"),
    ("pmem_calls", "from_table"), ("pmem_calls", "no_flush_by_flags"), ("pmem2_calls", "copies"),
    ("pmem2_calls", "no_drain"), ("pmemobj_calls", "transaction"), ("pmemobj_calls", "aborted"),
    ("pmemobj_calls", "aborted_inside"), ("pmemobj_calls", "objects"), ("pmemobj_calls", "no_add"),
    ("pmemobj_calls", "threads"), ("pmemobj_calls", "no_add_before_store"),
    ("pmemobj_calls", "allocated"), ("pmemobj_calls", "no_use_after_free"),
    ("pmemobj_calls", "lists"), ("file_data", "written"), ("file_data", "no_sync_at_the_end"),
    ("file_data", "stored_by_fsync"), ("file_data", "stored_by_threads"),
    ("file_data", "no_sync_of_page"), ("file_data", "cut"), ("file_data", "no_sync_of_cut"),
    ("file_data", "through_another_descriptor"), ("file_data", "by_position"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "use"), long_except(EVERY, *USUAL))
def test_program_has_exactly_the_announced_findings(
    build: Build, tmp_path: Path, name: str, use: str
) -> None:
    check_findings(build, tmp_path, name, use)


def check(trace: Trace, *options: str | Path) -> tuple[int, str]:
    done = pmemsim("check", trace.path, *options)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(
    ("use", "status"),
    [
        ("written", 0),
        ("appended", 0),
        ("unsynced_record", 1),
        ("stored", 0),
        ("no_sync_of_page", 1),
    ],
)
def test_images_of_a_written_file_have_lost_what_was_not_synced(
    build: Build, tmp_path: Path, use: str, status: int
) -> None:
    program = build("file_data")
    trace = record(program, tmp_path, use)
    found, said = check(trace, "--verify", f"{program} check", "--budget", "300")
    assert found == status
    assert ("0 rejected" in said) == (status == 0)
    assert "/usr/include" not in said, "stores of pwrite are named at the program's line"


OWN = """
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int pmem_persist(char* at, int a, int b, int c, int d, int e, int f, int g) {
  *at = a + b + c + d + e + f + g;
  __asm__ volatile("clflush %0" ::"m"(*at) : "memory");
  return g;
}
int main(int count, char** words) {
  int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 4096)) return 1;
  char* pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return pmem_persist(pool, 1, 2, 3, 4, 5, 6, 7) != 7;
}
"""
PLUGIN = """
#include <libpmem.h>
void put(char* pool) { *pool = 1; pmem_persist(pool, 1); }
"""
HOST = """
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char** words) {
  int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 4096)) return 1;
  char* pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* plugin = dlopen(words[1], RTLD_LAZY | RTLD_LOCAL);
  if (!plugin) return 2;
  ((void (*)(char*))dlsym(plugin, "put"))(pool);
  return 0;
}
"""


def compiled(folder: Path, name: str, code: str, *options: str) -> Path:
    source, output = folder / f"{name}.c", folder / name
    source.write_text(code)
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O1", "-g", source, *options, "-o", output)
    return output


def test_functions_of_the_program_with_names_of_pmdk_are_the_programs(tmp_path: Path) -> None:
    trace = record(compiled(tmp_path, "own", OWN), tmp_path, "use")
    assert found(trace, set()) == set()
    assert trace.metadata["flushes"] == 1


def test_calls_of_a_plugin_that_alone_links_libpmem_are_recorded(
    build: Build, tmp_path: Path
) -> None:
    build("pmem_calls")  # skips without libpmem
    plugin = compiled(tmp_path, "plugin.so", PLUGIN, "-shared", "-fPIC", "-lpmem")
    trace = record(compiled(tmp_path, "host", HOST), tmp_path, str(plugin))
    assert found(trace, set()) == set()


@pytest.mark.parametrize(
    "options",
    [
        ("-fno-plt",),
        pytest.param(("-no-pie",), marks=pytest.mark.long),
        pytest.param(("-no-pie", "-fno-plt"), marks=pytest.mark.long),
        pytest.param(("-Wl,-z,lazy", "-Wl,-z,norelro"), marks=pytest.mark.long),
        pytest.param(("-Wl,--as-needed",), marks=pytest.mark.long),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("use", ["pointer", "from_table", "copies"])
def test_calls_are_recorded_however_the_program_is_linked(
    build: Build, tmp_path: Path, use: str, options: tuple[str, ...]
) -> None:
    check_findings(build, tmp_path, "pmem_calls", use, *options)


def test_images_of_libpmemobj_are_undecided(build: Build, tmp_path: Path) -> None:
    trace = record(build("pmemobj_calls"), tmp_path, "transaction")
    assert trace.metadata["libraries"] == ["libpmemobj"]
    for options in (["--verify", "true"], ["--answers", "cat"]):
        status, said = check(trace, *options)
        assert status == 3
        assert "no crash image can be made, because libpmemobj stores the metadata" in said


def test_errors_of_libpmemobj_count_although_images_are_undecided(
    build: Build, tmp_path: Path
) -> None:
    trace = record(build("pmemobj_calls"), tmp_path, "no_add")
    status, said = check(trace, "--verify", "true")
    assert status == 1
    assert "no crash image can be made" in said


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize(
    ("name", "use"),
    long_except(
        [(name, use) for name, use in EVERY if use != "flags"], ("pmemobj_calls", "no_add")
    ),
)
def test_findings_are_the_same_at_each_level(
    build: Build, tmp_path: Path, name: str, use: str, level: str
) -> None:
    check_findings(build, tmp_path, name, use, level)


LEAK = """
#include <libpmemobj.h>
int main(int count, char** words) {
  PMEMobjpool* pool = pmemobj_create(words[count - 1], "leak", PMEMOBJ_MIN_POOL, 0600);
  PMEMoid* root = pmemobj_direct(pmemobj_root(pool, 64));
  TX_BEGIN(pool) {
    pmemobj_tx_add_range_direct(root, sizeof *root);
    *root = pmemobj_tx_zalloc(40, 1);
  }
  TX_END
  PMEMoid lost, freed;
  if (pmemobj_zalloc(pool, &freed, 40, 1) || pmemobj_zalloc(pool, &lost, 40, 1)) return 1;
  pmemobj_free(&freed);
#ifdef LISTS
  for (PMEMoid each = pmemobj_first(pool); each.off != 0; each = pmemobj_next(each)) {}
#endif
  pmemobj_close(pool);
  return 0;
}
"""


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("-DLISTS",)])
def test_object_without_a_pointer_is_leaked_unless_the_program_lists_objects(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    if not Path("/usr/include/libpmemobj.h").exists():
        pytest.skip("libpmemobj is not installed (apt-get install libpmemobj-dev)")
    source, program = tmp_path / "leak.c", tmp_path / "leak"
    source.write_text(LEAK)
    cc = built_toolchain() / "bin" / "pmemsim-cc"
    run(cc, "-O1", "-g", *options, source, "-lpmemobj", "-o", program)
    trace = record(program, tmp_path, "run")
    lines = [each.place.line for each in check_program(trace).findings if each.kind == "leaked"]
    lost = LEAK[: LEAK.index("pmemobj_zalloc(pool, &lost")].count("\n") + 1
    assert lines == ([] if options else [lost])
