"""Recording a user's own programs: successful cases, and the files that failures leave."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pmemsim as package
from pmemsim import recording
from pmemsim.flushes import flushes_outside_pm
from pmemsim.progress import watch_of
from pmemsim.recording import precompiled
from pmemsim.recordings import open_each
from pmemsim.targets import find_target
from pmemsim.toolchain import compiler
from pmemsim.workload_runs import WorkloadRun
from support import long_except, pmemsim

BARE = """
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char** argv) {
  uint64_t* data = mmap((void*)0x500000000000, 1 << 20, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  for (int i = 0; i < 100; ++i) {
    data[8 * i] = i;
    _mm_clflush(&data[8 * i]);
    _mm_sfence();
  }
  if (argc > 1 && !strcmp(argv[1], "exit")) return 3;
  if (argc > 1 && !strcmp(argv[1], "abort")) abort();
  if (argc > 1 && !strcmp(argv[1], "forever")) for (volatile int i = 0;; i = !i) {}
  return 0;
}
"""

WITH_REGIONS = """
#include <pmemsim/pm.h>
int main(void) {
  pm_pool* pool = pm_open(0, 8 << 20, 0);
  uint64_t* counters = pm_root(pool, 64);
  pm_roi_begin();
  for (int i = 0; i < 30; ++i) {
    pm_begin(pool);
    pm_log(counters, 64);
    for (int j = 0; j < 8; ++j) counters[j] += j;
    pm_end();
  }
  pm_roi_end();
  return pm_close(pool);
}
"""


def compile_c(source: Path, level: str = "-O2") -> Path:
    program = source.with_suffix("")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, level, source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a program that maps memory at a fixed address, stores, flushes and fences."""
    source = tmp_path_factory.mktemp("bare") / "bare.c"
    source.write_text(BARE)
    return compile_c(source)


def test_recording_without_persistent_memory_is_noted(tmp_path: Path, bare: Path) -> None:
    done = pmemsim("record", "-o", tmp_path / "bare.pmt", "--", bare)
    assert done.returncode == 0
    assert "no memory of the program was persistent; declare it with pm.h, --pm-path" in done.stderr
    assert "note: flushes of lines outside persistent memory: 100 of 100: " in done.stderr
    assert "(--pm-range 0x500000000000:0x500000100000, or --pm-heap if it was" in done.stderr
    shown = " ".join(pmemsim("trace", "info", tmp_path / "bare.pmt").stdout.split())
    assert "flushes of volatile memory │ 100 of 100:" in shown


def test_json_of_a_recording_has_its_size_and_its_notes(tmp_path: Path, bare: Path) -> None:
    arguments = ("record", "-o", tmp_path / "a.pmt", "--json")
    done = pmemsim(*arguments, tmp_path / "a.json", "--", bare)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "a.json").read_text())["recordings"]
    trace = package.Trace(tmp_path / "a.pmt")
    assert (found["workload"], found["trace_hash"]) == ("bare", trace.hash)
    assert (found["threads"], found["pm_regions"]) == (1, [])
    assert found["bytes"] == trace.path.stat().st_size
    (note,) = [note for note in found["notes"] if note.startswith("no memory of the program was")]
    assert f"pmemsim: note: {note}" in done.stderr
    refused = pmemsim(*arguments, "-", "--", bare)
    assert refused.returncode == 2
    assert "--json -: leave out PROGRAM; the program itself can write to" in refused.stderr


def test_pm_hint_finds_the_end_of_its_mapping(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "bare.pmt"
    hints = ["--pm-hint", "500000000000", "--pm-hint", "0x600000000000"]
    done = pmemsim("record", "-o", output, *hints, "--", bare)
    assert done.returncode == 0
    assert "persistent" not in done.stderr
    (region,) = package.Trace(output).metadata["pm_regions"]
    assert region == {"begin": 0x500000000000, "end": 0x500000100000, "source": "--pm-hint"}


def said_of_flushes(flushes: int, memory: list[dict[str, Any]]) -> str:
    """Return the message about memory from 0x1000 to 0x2000, unless it has another place."""
    outside = [{"begin": 0x1000, "end": 0x2000} | entry for entry in memory]
    return flushes_outside_pm({"flushes": flushes, "flushes_outside_pm": outside})


def test_flushes_outside_persistent_memory_name_the_option_that_takes_them_in() -> None:
    memory = [
        {"memory": "heap", "flushes": 1000},
        {"memory": "anonymous", "asked": 0x10000000000, "flushes": 20},
        {"memory": "anonymous", "asked": 0x10000000000, "flushes": 3},
        {"memory": "stack", "flushes": 7},
        {"memory": "file", "path": "/pm/a/pool", "flushes": 6},
        {"memory": "data", "path": "/bin/mine", "flushes": 5},
        {"memory": "anonymous", "flushes": 4},
        {"memory": "anonymous", "begin": 0xFFFFFFF000, "end": 0x10000001000, "flushes": 2},
    ]
    assert said_of_flushes(2000, memory) == (
        "1,047 of 2,000: 1,000 of the heap (--pm-heap); 25 of memory that the program requests at "
        "0x10000000000 (--pm-hint 0x10000000000); 7 of stacks, which no option makes persistent; "
        "6 of /pm/a/pool (--pm-path /pm/a); 9 elsewhere"
    )
    assert flushes_outside_pm({}) == flushes_outside_pm({"flushes_outside_pm": []}) == ""


def test_control_characters_in_a_recording_name_are_not_printed(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "bare.pmt"
    there: list[str | Path] = ["--pm-range", "0x500000000000:0x500000100000", "--", bare]
    pmemsim("record", "-o", output, "--name", "\x1b]0;mine\x07\x1b[31m", *there)
    crash: list[str | Path] = ["crash", output, "-d", "eadr", "--points", "9"]
    for done in (pmemsim("trace", "info", output), pmemsim(*crash)):
        assert done.returncode == 0, done.stderr
        assert "?]0;mine??[31m" in done.stdout
        assert "\x1b" not in done.stdout + done.stderr


def test_flushes_of_memory_that_is_no_file_say_what_it_is() -> None:
    memory = [
        {"memory": "private", "path": "/pm/a/pool", "flushes": 4},
        {"memory": "shared", "flushes": 3},
        {"memory": "data", "path": "/bin/mine", "flushes": 2},
        {"memory": "anonymous", "flushes": 1},
    ]
    assert said_of_flushes(10, memory) == (
        "10 of 10: 4 of a private mapping of /pm/a/pool, which never reaches it (map it "
        "MAP_SHARED); 3 of memory at 0x1000 to 0x2000 that is shared without a file (--pm-range "
        "0x1000:0x2000); 2 of the static data of /bin/mine (--pm-range 0x1000:0x2000); 1 of memory "
        "at 0x1000 to 0x2000 (--pm-range 0x1000:0x2000, or --pm-heap if it was allocated)"
    )


def test_program_with_bare_flushes_is_recorded(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "bare.pmt"
    done = pmemsim(
        "record", "-o", output, "--name", "mine", "--pm-range", "0x500000000000:0x500000100000",
        "--", bare,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "persistent" not in done.stderr
    trace = package.Trace(output)
    assert trace.name == "mine"
    frame = trace.to_frame(0)
    assert (frame["kind"] == "flush").sum() == 100
    assert (frame["kind"] == "fence").sum() == 100
    shown = pmemsim("trace", "info", output).stdout
    assert "flushes" in shown
    assert "a region, on average" not in shown  # it has none
    result = package.run(output, design="x86-bare", machine="asap")
    assert result.regions == 0
    assert result.pm_write_bytes == 100 * 64
    np = package.run(output, design="np", machine="asap")
    assert np.time_ns < result.time_ns


def test_commands_accept_the_recording_of_a_users_program(tmp_path: Path) -> None:
    source = tmp_path / "counters.c"
    source.write_text(WITH_REGIONS)
    own = tmp_path / "own.pmt"
    # A name that a workload has, too, doesn't make it that workload.
    done = pmemsim("record", "--name", "queue", "-o", own, "--", compile_c(source))
    assert done.returncode == 0, done.stderr
    result = tmp_path / "result.json"

    def runs(*arguments: str | Path) -> list[dict[str, Any]]:
        done = pmemsim(*arguments, "--json", result)
        assert done.returncode == 0, done.stderr
        document = json.loads(result.read_text())
        found: list[dict[str, Any]] = document.get("runs", [document])
        return found

    (run,) = runs("run", own, "--design", "asap", "--machine", "asap")
    assert (run["workload"], run["regions"]) == ("queue", 30)
    compared = runs("compare", own, "-d", "np,hw-undo", "-m", "asap")
    assert [run["regions"] for run in compared] == [30, 30]
    (crashed,) = runs("crash", own, "--design", "hw-undo")
    assert crashed["points"] > 30
    assert (crashed["checked"], crashed["violations"]) == (0, 0)
    (measured,) = runs("bench", own, "--designs", "sw-undo")
    assert (measured["workload"], measured["cores"]) == ("queue", 1)
    (facts,) = json.loads(pmemsim("trace", "info", "--json", "-", own).stdout)["recordings"]
    assert facts["region"]["regions"] == 30
    assert facts["region"]["lines_written"] == 1


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [("exit", "ended with status 3"), ("abort", "died of signal SIGABRT")],
)
def test_a_program_that_fails_leaves_no_trace(
    tmp_path: Path, bare: Path, argument: str, sentence: str
) -> None:
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--", bare, argument)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_death_by_an_unnamed_signal_is_reported_by_number(tmp_path: Path) -> None:
    number = signal.SIGRTMIN + 2
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--", "sh", "-c", f"kill -{number} $$")
    assert done.returncode == 2
    assert f"sh: died of signal {number:d}; no trace was kept" in done.stderr


@pytest.mark.parametrize(
    ("whom", "number"),
    [
        ("pmemsim", signal.SIGINT),
        ("group", signal.SIGINT),
        ("pmemsim", signal.SIGTERM),
        ("pmemsim", signal.SIGHUP),
    ],
)
def test_an_interrupted_recording_leaves_no_trace(
    tmp_path: Path, bare: Path, whom: str, number: signal.Signals
) -> None:
    command = [Path(sys.executable).with_name("pmemsim"), "record", "-o", tmp_path / "x.pmt"]
    process = subprocess.Popen(
        [*map(str, command), "--", str(bare), "forever"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".pmemsim-*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    if whom == "group":  # a terminal signals the whole process group
        subprocess.run(["kill", "-INT", "--", f"-{process.pid}"], check=True)
    else:
        process.send_signal(number)
    try:
        _, text = process.communicate(timeout=120)  # the program has ended, too: it has our stderr
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, text
    assert list(tmp_path.iterdir()) == []


def test_next_recording_removes_files_of_a_killed_one(tmp_path: Path, bare: Path) -> None:
    """Its program ends, too, and the next recording removes its files."""
    command = [str(Path(sys.executable).with_name("pmemsim")), "record", "-o"]
    process = subprocess.Popen([*command, tmp_path / "x.pmt", "--", bare, "forever"])
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".pmemsim-*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while programs_at(bare) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert programs_at(bare) == []
    left = list(tmp_path.iterdir())
    assert [path.name[:9] for path in left] == [".pmemsim-"]
    assert pmemsim("record", "-o", tmp_path / "x.pmt", "--", bare).returncode == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "x.pmt"]


def programs_at(path: Path) -> list[str]:
    """Return the processes that run the program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").readlink() == path:
                found.append(process.name)
    return found


def test_an_existing_trace_survives_a_failed_recording(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "x.pmt"
    assert pmemsim("record", "-o", output, "--", bare).returncode == 0
    before = output.read_bytes()
    assert pmemsim("record", "-o", output, "--", bare, "abort").returncode == 2
    assert output.read_bytes() == before


ONE_REGION = """
#include <pmemsim/pm.h>
int main(void) {
  pm_pool* pool = pm_open(NULL, 8 << 20, 0);
  uint64_t* data = pm_root(pool, 4096);
  pm_thread(pool, 0);
  pm_roi_begin();
  pm_begin(pool);
  pm_range ranges[] = {{&data[0], 8}, {&data[2], 24}, {&data[7], 16}, {&data[9], 1}, {data, 64}};
  pm_log_ranges(ranges, 5);
  for (int i = 0; i < 10; ++i) data[i] = i;
  pm_end();
  pm_roi_end();
  return pm_close(pool);
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_region_persists_each_line_once_and_fences_three_times(
    tmp_path: Path, level: str
) -> None:
    """The five ranges are in two lines."""
    source, output = tmp_path / "region.c", tmp_path / "region.pmt"
    source.write_text(ONE_REGION)
    program = compile_c(source, level)
    done = pmemsim("record", "-o", output, "--", program)
    assert done.returncode == 0, done.stderr
    frame = package.Trace(output).to_frame(0)
    assert list(frame[frame["kind"] == "fence"]["purpose"]) == ["log", "data_flush", "commit"]
    flushes = frame[frame["kind"] == "flush"]
    assert (flushes["address"] // 64).is_unique
    # Two lines of old contents behind their header, two lines of data, the commit word.
    assert flushes["purpose"].value_counts().to_dict() == {
        "log": 3, "data_flush": 2, "commit": 1, "release": 0, "program": 0,
    }  # fmt: skip


LONG = """
#include <stdint.h>
#include <stdlib.h>
static volatile uint64_t data[8192];
int main(int argc, char** argv) {
  for (long i = 0, end = atol(argv[argc - 1]); i < end; ++i) data[i * 8 % 8192] += i;
  return 0;
}
"""
# A small process starts the program, since a process's peak includes its memory before exec.
RECORD = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss if status == 0 else "failed")
"""
SIMULATE = """
import sys, pmemsim
from pmemsim.host_counters import peak_memory_bytes
pmemsim.Trace(sys.argv[1]).verify()
pmemsim.Trace(sys.argv[1]).summary()
pmemsim.run(sys.argv[1], design="x86-bare", machine="asap")
print(peak_memory_bytes() // 1024)
"""


@pytest.mark.long
def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    source = tmp_path / "long.c"
    source.write_text(LONG)
    program = compile_c(source)
    recording, simulating, operations = [], [], []
    for rounds in (100_000, 5_000_000):
        trace = tmp_path / f"{rounds}.pmt"
        recording.append(memory_of(RECORD, program, str(rounds), PMEMSIM_TRACE=str(trace)))
        simulating.append(memory_of(SIMULATE, trace))
        operations.append(package.Trace(trace).operation_count(0))
    assert operations[1] > 45 * operations[0]
    for short, long in (recording, simulating):
        assert long < short + 8 * 1024


def memory_of(script: str, *arguments: str | Path, **variables: str) -> int:
    """Return what a Python script prints: the peak of its memory in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def test_a_failing_compiler_is_reported_by_itself(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return undeclared; }\n")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    done = subprocess.run([compiler, source], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "undeclared" in done.stderr


def test_precompiled_header_is_made_again_if_an_included_file_has_changed(tmp_path: Path) -> None:
    header, system = tmp_path / "own.hpp", tmp_path / "system.hpp"
    system.write_text("int one();\n")
    header.write_text("#include <system.hpp>\n")
    command = [str(compiler("pmemsim-c++")), "-isystem", str(tmp_path)]

    def compiled() -> Path:
        return precompiled(header, command, tmp_path)

    first = compiled().read_bytes()
    made = compiled().stat().st_mtime_ns
    assert compiled().stat().st_mtime_ns == made  # it is used unchanged
    system.write_text("int one(), two();\n")
    second = compiled().read_bytes()
    assert second != first
    compiled().write_bytes(b"another compiler's")
    assert compiled().read_bytes() == second


def test_concurrent_requests_make_a_recording_once(
    tmp_path: Path, queue_trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def slowly(run: WorkloadRun, output: Path, _: object) -> None:
        begun.append(run.workload)
        time.sleep(0.5)
        shutil.copyfile(queue_trace, output)

    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path))
    monkeypatch.setattr(recording, "record_uncached", slowly)
    run = WorkloadRun.of("queue")
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(recording.record_workload, [run, run]))
    assert begun == ["queue"]
    assert [trace.path for trace in made] == [run.cached_trace] * 2
    assert list(run.cached_trace.parent.iterdir()) == [run.cached_trace]


def test_recordings_of_one_program_begin_with_its_only_compilation(tmp_path: Path) -> None:
    done = pmemsim(
        "compare", "queue", "--designs", "np", "--machine", "asap", "--seeds", "2", "--threads",
        "1", "--regions", "20", environment={"PMEMSIM_CACHE": str(tmp_path)},
    )  # fmt: skip
    lines = [line.partition(";")[0] for line in done.stderr.splitlines() if line[0] == "["]
    assert lines[:3] == [
        "[1/3] compiling queue O2",
        "[2/3] recording queue",
        "[3/3] recording queue",
    ]


def test_failed_compilation_is_the_error_of_each_of_its_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = []

    def fail(build: recording.Build, _: object) -> None:
        compiled.append(build.workload)
        raise package.RecordError(f"{build.workload}: could not be built")

    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path))
    monkeypatch.setattr(recording.Build, "make", fail)
    targets = [find_target(name, seed=seed) for name in ("queue", "btree") for seed in (1, 2)]
    found = open_each(targets, 1, watch_of(False))
    assert [str(each).partition(":")[0] for each in found] == ["queue", "queue", "btree", "btree"]
    assert compiled == ["queue", "btree"]


def test_levels_of_the_library_link_the_same_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path))
    first = recording.Build("queue", "O0").make()
    (compiled,) = first.parent.glob("*.o")
    made = compiled.stat().st_mtime_ns
    second = recording.Build("queue", "O0+O2").make()
    assert first.read_bytes() != second.read_bytes()
    assert list(tmp_path.rglob("*.o")) == [compiled]
    assert compiled.stat().st_mtime_ns == made


LINKERS_CACHE = Path("/etc/ld.so.cache")
RECORD_WORKLOAD = """
import sys
from pathlib import Path
from pmemsim.recording import record_uncached
from pmemsim.workload_runs import WorkloadRun
workload, output = sys.argv[1:]
record_uncached(WorkloadRun.of(workload, threads=2, regions=100), Path(output))
"""


# The kernel places other mappings elsewhere if the dynamic linker maps a longer file. Workloads of
# each kind: nodes, strings, a tree, a log by hand, a benchmark.
@pytest.mark.parametrize(
    "workload",
    long_except(["queue", "string_swap", "btree", "tatp_lowlevel", "memcached"], "queue"),
)
def test_recording_of_a_workload_does_not_depend_on_the_linkers_cache(
    workload: str, tmp_path: Path
) -> None:
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if tried.returncode != 0 or not LINKERS_CACHE.is_file():
        pytest.skip("a private mount namespace (unshare -m) is not permitted here")
    longer, usual, changed = (tmp_path / name for name in ("cache", "usual.pmt", "changed.pmt"))
    longer.write_bytes(LINKERS_CACHE.read_bytes() + bytes(1 << 20))
    record = [sys.executable, "-c", RECORD_WORKLOAD, workload]
    mounted = f'mount --bind {longer} {LINKERS_CACHE} || exit 1; exec "$0" "$@"'
    subprocess.run([*record, usual], check=True)
    subprocess.run(["unshare", "-m", "sh", "-c", mounted, *record, changed], check=True)
    assert usual.read_bytes() == changed.read_bytes()
