"""The recording runtime, with programs that are hard to record."""

from __future__ import annotations

import functools
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import pmemsim
from conftest import HERE, built_toolchain, run
from pmemsim.trace import DETAILS, Trace
from shared import locked
from support import LONG_TESTS, long_except
from support import pmemsim as command

PROGRAMS = HERE / "recorded"
THREADED = (
    "mutexes", "condition_variables", "barriers", "reader_writer_locks", "semaphores", "spins",
    "cpp20", "nested_threads", "time_outs", "other_locks", "robust_mutexes", "thread_locals",
    "cancelled_threads", "c11_threads", "awaited_signals", "file_locks", "processors",
    "many_threads",
)  # fmt: skip
USUALLY_THREADED = long_except(
    THREADED, "mutexes", "condition_variables", "barriers", "cpp20", "time_outs", "many_threads",
)  # fmt: skip
GOOD_ENDINGS = (
    "return", "exit_in_thread", "_exit", "quick_exit", "exit_in_handler", "main_thread_ends",
    "call_back", "catch_exceptions", "handle_signals", "jump_out_of_handlers", "fork_a_child",
    "talk_through_a_pipe", "read_without_blocking", "hide_environment", "wait_for_children", "child_dies",
    "leave_threads_running", "jump_over_frames", "unwind_frames", "handle_stack_overflow",
    "early_thread", "try_another_program",
)  # fmt: skip
# These programs sleep in a system call that the runtime doesn't intercept.
SLEEPERS = (
    "own_futex", "standard_input", "shell", "message_queue", "pause_for_signal", "named_pipe",
)  # fmt: skip
# Statuses that the programs would have without the runtime.
BAD_ENDINGS = {
    "segmentation_fault": -signal.SIGSEGV,
    "abort": -signal.SIGABRT,
    "uncaught_exception": -signal.SIGABRT,
    "stack_overflow": -signal.SIGSEGV,
    "interrupt": -signal.SIGINT,
    "terminate": -signal.SIGTERM,
    "exit_status": 3,
    "_exit_status": 4,
}


@pytest.fixture(scope="session")
def build(shared_folder: Path) -> Callable[[str, str], Path]:
    """Compile a program with the real runtime, once."""
    folder = shared_folder / "recorded"
    folder.mkdir(exist_ok=True)
    bin_folder = built_toolchain() / "bin"

    def compiled(source: str, level: str) -> Path:
        program = folder / f"{Path(source).stem}{level}"
        with locked(folder):
            if program.exists():
                return program
            cxx = source.endswith(".cpp")
            run(
                bin_folder / ("pmemsim-c++" if cxx else "pmemsim-cc"), level, "-g",
                "-std=c++20" if cxx else "-std=gnu11", PROGRAMS / source, "-o", program,
            )  # fmt: skip
        return program

    return compiled


def record(
    program: Path | str, *arguments: str | Path, output: Path, **options: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PMEMSIM_TRACE": str(output), **options}
    return subprocess.run(
        [str(program), *map(str, arguments)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def assert_nothing_left(output: Path) -> None:
    assert not output.exists()
    assert not output.with_name(output.name + ".partial").exists()


def verified(output: Path) -> Trace:
    trace = Trace(output)
    trace.verify()
    return trace


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O2"))
@pytest.mark.parametrize("name", USUALLY_THREADED)
def test_threads_recorded_twice_give_the_same_bytes(
    build: Callable[[str, str], Path], tmp_path: Path, name: str, level: str
) -> None:
    program = build("threads.cpp", level)
    # The long form adds the values between them.
    for count in ("1", "4", "8", "18") if LONG_TESTS else ("1", "18"):
        first, second = tmp_path / "first.pmt", tmp_path / "second.pmt"
        done = record(program, name, count, output=first)
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
        # Called by another name of the file, with a larger environment.
        other_name = os.path.relpath(program)
        done = record(other_name, name, count, output=second, FILLER="x" * 777 * int(count))
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
        assert first.read_bytes() == second.read_bytes()
        verified(first)


# Releases that each kind of acquire waits for.
RELEASES_OF = {
    "mutex_lock": {"mutex_unlock"},
    "read_lock": {"write_unlock"},
    "write_lock": {"write_unlock", "read_unlock"},
    "condition_wait": {"condition_signal"},
    "barrier_wait": {"barrier_arrive"},
    "semaphore_wait": {"semaphore_post"},
    "thread_start": {"thread_create"},
    "thread_join": {"thread_end"},
}
# Acquires by which programs synchronise, other than those of threads.
ACQUIRES_OF = {
    "mutexes": {"mutex_lock"},
    "condition_variables": {"mutex_lock", "condition_wait"},
    "barriers": {"barrier_wait"},
    "reader_writer_locks": {"read_lock", "write_lock"},
    "semaphores": {"semaphore_wait"},
    "spins": set(),
    "cpp20": set(),
    "nested_threads": {"mutex_lock"},
    "cancelled_threads": set(),
    "c11_threads": {"mutex_lock", "condition_wait"},
    "many_threads": {"mutex_lock"},
}  # fmt: skip


def synchronisation(trace: Trace, thread: int) -> pd.DataFrame:
    """Return a thread's records of synchronisation, by name."""
    records = trace.to_frame(thread)
    records = records[records["kind"] == "sync"]
    return records.assign(does=[DETAILS["sync"][detail] for detail in records["detail"]])


@pytest.mark.parametrize("name", ACQUIRES_OF)
def test_kinds_of_synchronisation_are_distinguished(
    build: Callable[[str, str], Path], tmp_path: Path, name: str
) -> None:
    """Each acquire waits for a release of its own kind, or for none."""
    output = tmp_path / "trace.pmt"
    done = record(build("threads.cpp", "-O2"), name, "4", output=output)
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    records = pd.concat(synchronisation(trace, thread) for thread in range(trace.threads))
    acquires = records[records["does"].isin(RELEASES_OF)]
    releases = records[~records["does"].isin(RELEASES_OF)]
    assert set(acquires["does"]) == ACQUIRES_OF[name] | {"thread_start", "thread_join"}
    makers = {(made.object, made.version): made.does for made in releases.itertuples()}
    for acquire in acquires[acquires["version"] > 0].itertuples():
        assert makers[acquire.object, acquire.version] in RELEASES_OF[acquire.does]


def test_every_thread_is_created_started_ended_and_joined(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    assert record(build("threads.cpp", "-O2"), "mutexes", "4", output=output).returncode == 0
    trace = verified(output)
    creator = synchronisation(trace, 0)["does"].tolist()
    assert creator == 4 * ["thread_create"] + 4 * ["thread_join"]
    for thread in range(1, trace.threads):
        first, *others, last = synchronisation(trace, thread)["does"]
        assert (first, last) == ("thread_start", "thread_end")
        assert set(others) == {"mutex_lock", "mutex_unlock"}


@pytest.fixture(scope="session")
def bad_timing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes rare timing of the runtime's own threads frequent."""
    library = tmp_path_factory.mktemp("preloaded") / "bad_timing.so"
    run("gcc", "-O2", "-shared", "-fPIC", PROGRAMS / "bad_timing.c", "-o", library)
    return library


@pytest.mark.parametrize("name", USUALLY_THREADED)
def test_timing_does_not_change_what_is_recorded(
    build: Callable[[str, str], Path], tmp_path: Path, bad_timing: Path, name: str
) -> None:
    """No thread loses its turn while it is being woken."""
    program = build("threads.cpp", "-O2")
    traces = [tmp_path / "first.pmt", tmp_path / "second.pmt"]
    for output in traces:
        done = record(program, name, "8", output=output, LD_PRELOAD=str(bad_timing))
        assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    assert traces[0].read_bytes() == traces[1].read_bytes()


def test_timing_does_not_change_unwritten_stack_contents(
    build: Callable[[str, str], Path], tmp_path: Path, bad_timing: Path
) -> None:
    """A program that stores memory that it has never written stores the same each time."""
    program = build("leftovers.c", "-O0")
    contents = set()
    for preloaded in ("", "", str(bad_timing)):
        done = record(program, output=tmp_path / "t.pmt", LD_PRELOAD=preloaded)
        assert (done.returncode, done.stderr) == (0, "")
        contents.add((tmp_path / "t.pmt").read_bytes())
    assert len(contents) == 1


def test_threads_may_end_while_the_watchdog_inspects_them(
    build: Callable[[str, str], Path], tmp_path: Path, bad_timing: Path
) -> None:
    """Its data must not vanish while it looks at them; of a thousand ends, it sees a few."""
    program = build("threads.cpp", "-O2")
    for _ in range(3):
        done = record(
            program, "many_threads", "50", output=tmp_path / "t.pmt", LD_PRELOAD=str(bad_timing)
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


@pytest.mark.parametrize("name", USUALLY_THREADED)
def test_instrumented_threads_run_without_a_recording(
    build: Callable[[str, str], Path], name: str
) -> None:
    assert run(build("threads.cpp", "-O2"), name, "4").stdout == "right\n"


def test_threads_take_turns(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    """A shorter quantum switches threads more often, so that locks change hands more often."""
    program = build("threads.cpp", "-O2")
    alternations = {}
    for quantum in ("100", "100000"):
        output = tmp_path / f"{quantum}.pmt"
        assert (
            record(program, "mutexes", "4", output=output, PMEMSIM_QUANTUM=quantum).returncode == 0
        )
        trace = verified(output)
        owners: dict[int, int] = {}
        for thread in range(trace.threads):
            frame = trace.to_frame(thread)
            locks = frame[(frame["kind"] == "sync") & (frame["detail"] == 0)]
            owners |= dict.fromkeys(locks["version"], thread)
        order = [owners[version] for version in sorted(owners)]
        changes = sum(a != b for a, b in itertools.pairwise(order))
        alternations[quantum] = changes
    assert alternations["100"] > 2 * alternations["100000"]


# Ways in which the tables' threads get exclusive access to a slot.
TABLES = ("mutex", "spin_lock", "ticket_lock", "compare_and_swap")


@pytest.fixture(scope="session")
def table(
    build: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, int], Path]:
    """Record threads that update a table of 64 slots, by each kind of lock and number of threads."""
    program = build("tables.c", "-O2")
    folder = tmp_path_factory.mktemp("tables")

    @functools.cache
    def recorded(kind: str, threads: int) -> Path:
        output = folder / f"{kind}-{threads}.pmt"
        done = record(program, kind, str(threads), "300", output=output)
        assert (done.returncode, done.stderr) == (0, "")
        return output

    return recorded


def test_thread_that_waited_does_not_catch_up_with_the_others(
    table: Callable[[str, int], Path],
) -> None:
    """They don't catch up on the other threads' progress in the meantime."""
    recording = table("waited_for", 4)
    assert time_of(recording, "recorded") < 1.1 * time_of(recording, "simulated")


def test_threads_without_contention_are_switched_rarely(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """A switch takes most of the recording's time; turns of 2000 instructions have some updates."""
    done = record(build("tables.c", "-O2"), "own_slot", "4", "300", output=tmp_path / "t.pmt")
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) < 4 * 300 / 5


def time_of(recording: Path, lock_order: str) -> float:
    order = {"run.lock_order": lock_order}
    return pmemsim.run(recording, design="np", machine="asap", overrides=order).time_ns


@pytest.mark.parametrize("threads", [2, 4, 8] if LONG_TESTS else [8])
@pytest.mark.parametrize("kind", TABLES)
def test_contention_grows_equally_in_recorded_and_simulated_order(
    table: Callable[[str, int], Path], kind: str, threads: int
) -> None:
    """In recorded order, time grows as if each lock went to the first in simulated time."""
    growth = time_of(table(kind, threads), "recorded") / time_of(table(kind, 1), "recorded")
    alone, together = (time_of(table("mutex", count), "simulated") for count in (1, threads))
    assert growth == pytest.approx(together / alone, rel=0.25)


# Lock operations that the recording finds in accesses to atomic variables, by function of
# own_locks.c.
OWN_LOCKS = {
    "exchange": {"takes", "gives_back", "of_lock"},
    "compare_exchange": {"takes", "gives_back"},
    "assembly": {"takes", "gives_back"},
    "initialised_again": {"takes", "gives_back", "of_lock"},
    "beside_others": {"takes", "gives_back", "of_lock"},
    "beside_a_flag": {"no_lock"},
    "count": {"no_lock"},
    "count_both": {"no_lock"},
    "one_thread": {"no_lock"},
    "released_by_another": {"no_lock"},
    "written_by_another": {"no_lock"},
    "version": {"no_lock"},
    "kept": {"no_lock"},
    "mixed": {"no_lock"},
    "both_ways": {"no_lock"},
}


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O2"))
@pytest.mark.parametrize("name", OWN_LOCKS)
def test_locks_of_the_programs_own_are_recognised(
    build: Callable[[str, str], Path], tmp_path: Path, name: str, level: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("own_locks.c", level), name, output=output, PMEMSIM_QUANTUM="50")
    assert (done.returncode, done.stderr) == (0, "")
    trace = verified(output)
    roles = set()
    for thread in range(trace.threads):
        records = trace.to_frame(thread)
        for kind in ("atomic_load", "atomic_store", "atomic_update"):
            details = records[records["kind"] == kind]["detail"]
            roles |= {DETAILS[kind][detail] for detail in details}
    assert roles == OWN_LOCKS[name]


def test_simulated_lock_order_applies_to_the_programs_own_locks(
    table: Callable[[str, int], Path],
) -> None:
    recording = table("spin_lock", 8)
    assert time_of(recording, "simulated") < 0.97 * time_of(recording, "recorded")


def test_long_spins_record_few_loads(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    """However long a thread spins, the trace has a few loads of it."""
    output = tmp_path / "spins.pmt"
    assert record(build("threads.cpp", "-O2"), "spins", "8", output=output).returncode == 0
    trace = verified(output)
    loads = sum((trace.to_frame(t)["kind"] == "atomic_load").sum() for t in range(trace.threads))
    assert loads < 8 * 50 * 4


@pytest.mark.parametrize(
    "name",
    long_except(
        GOOD_ENDINGS, "return", "exit_in_thread", "_exit", "main_thread_ends", "handle_signals",
        "jump_out_of_handlers", "fork_a_child", "wait_for_children", "leave_threads_running",
    ),
)  # fmt: skip
def test_programs_that_end_normally_are_recorded(
    build: Callable[[str, str], Path], tmp_path: Path, name: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), name, output=output, BEGIN_EARLY="1")
    assert done.returncode == 0, done.stderr
    assert "no trace" not in done.stderr
    assert verified(output).operation_count(0) > 3000


def test_library_loaded_late_is_recorded(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    source, library = tmp_path / "sum.c", tmp_path / "libsum.so"
    source.write_text(
        "long sum(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }"
    )
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O1", "-fPIC", "-shared", source, "-o", library)
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), "load_library", output=output, LIBRARY=str(library))
    assert done.returncode == 0, done.stderr
    assert (verified(output).to_frame(0)["kind"] == "store").sum() > 3 * 3000


def test_program_replaced_by_exec_leaves_no_recording(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), "another_program", output=output)
    assert done.returncode == 0
    assert "replaced itself by /bin/true" in done.stderr
    assert_nothing_left(output)


@pytest.mark.parametrize("name", long_except(SLEEPERS, "own_futex", "shell", "named_pipe"))
def test_unseen_sleep_of_a_thread_is_noted_and_does_not_stop_the_recording(
    build: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "trace.pmt"
    done = record(build("sleepers.cpp", "-O1"), name, output=output)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "thread turns depend on real time" in done.stderr
    assert verified(output).metadata["turns_by_real_time"] >= 1


def test_program_with_openmp_threads_of_a_library_is_recorded(tmp_path: Path) -> None:
    """GCC's OpenMP has threads that wait at futexes of its own."""
    library, program = tmp_path / "library.cpp", tmp_path / "program.cpp"
    library.write_text("""
        extern "C" long run(long (*body)(int)) {
          long sum = 0;
          for (int round = 0; round < 20; ++round) {
            #pragma omp parallel for num_threads(4) reduction(+ : sum)
            for (int i = 0; i < 8; ++i) sum += body(i);
          }
          return sum;
        }""")
    program.write_text("""
        extern "C" long run(long (*body)(int));
        static volatile long cells[1000];
        static long body(int i) {
          for (long k = 0; k < 1000; ++k) cells[k] = cells[k] + i;
          return i;
        }
        int main() { return run(body) == 20 * 28 ? 0 : 1; }""")
    output = tmp_path / "trace.pmt"
    shared = tmp_path / "library.so"
    run("g++", "-O1", "-fopenmp", "-fPIC", "-shared", library, "-o", shared)
    run(built_toolchain() / "bin" / "pmemsim-c++", program, shared, "-o", tmp_path / "program")
    done = record(tmp_path / "program", output=output)
    assert done.returncode == 0, done.stderr
    assert verified(output).threads == 4


FOREIGN_LIBRARY = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;
void spend(long rounds) { __asm__ volatile("1: dec %0\\n jnz 1b" : "+r"(rounds)); }
void add(long n) {
  pthread_mutex_lock(&mutex);
  total += n;
  pthread_mutex_unlock(&mutex);
}
long sum(long (*of)(long), long n) {
  long s = total;
  while (n > 0) s += of(n--);
  return s;
}
"""
FOREIGN_PROGRAM = """
#include <pthread.h>
#include <stddef.h>
void spend(long rounds), add(long n);
long sum(long (*of)(long), long n);
static volatile long cell;
static long square(long n) { return cell = n * n; }
static void *work(void *unused) {
  for (int i = 0; i < 100; ++i) add(i);
  return unused;
}
int main(void) {
  for (int i = 0; i < 3; ++i) spend(2000);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return sum(square, 3) == 4 * 4950 + 14 && sum(square, 0) == 4 * 4950 ? 0 : 1;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_library_that_is_not_instrumented_is_counted(tmp_path: Path, level: str) -> None:
    """It may take the program's locks and call back."""
    source, library = tmp_path / "library.c", tmp_path / "library.so"
    source.write_text(FOREIGN_LIBRARY)
    run("gcc", "-O1", "-fPIC", "-shared", source, "-o", library)
    main, program = tmp_path / "program.c", tmp_path / "program"
    main.write_text(FOREIGN_PROGRAM)
    run(built_toolchain() / "bin" / "pmemsim-cc", level, main, library, "-o", program)
    traces = [tmp_path / "first.pmt", tmp_path / "second.pmt"]
    for output in traces:
        done = record(program, output=output)
        assert (done.returncode, done.stderr) == (0, "")
    assert traces[0].read_bytes() == traces[1].read_bytes()
    trace = verified(traces[0])
    assert trace.metadata["unknown_functions"] == [
        {"name": "add", "calls": 400},
        {"name": "spend", "calls": 3},
        {"name": "sum", "calls": 2},
    ]
    frame = trace.to_frame(0)
    cells = frame[(frame["kind"] == "store") & (frame["size"] == 8)]["address"].value_counts()
    assert cells.max() >= 3  # callbacks of the library are recorded as well


@pytest.mark.parametrize("name", BAD_ENDINGS)
def test_programs_that_end_abnormally_leave_no_recording(
    build: Callable[[str, str], Path], tmp_path: Path, name: str
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), name, output=output)
    assert done.returncode == BAD_ENDINGS[name]
    assert "no trace was written" in done.stderr
    assert_nothing_left(output)


def test_core_dump_takes_no_time(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    """It leaves out most of the terabyte of address space that the runtime reserves."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if most == 0:
        pytest.skip("no core dumps here")
    done = subprocess.run(
        [build("endings.cpp", "-O1"), "segmentation_fault"],
        env={**os.environ, "PMEMSIM_TRACE": str(tmp_path / "trace.pmt")}, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGSEGV


def test_program_without_a_recording_needs_little_address_space(
    build: Callable[[str, str], Path],
) -> None:
    few = 1 << 30
    done = subprocess.run(
        [build("endings.cpp", "-O1"), "much"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (few, few)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("limits", "cure"),
    [
        ([resource.RLIMIT_AS], "ulimit -v unlimited"),
        ([resource.RLIMIT_DATA], "ulimit -d unlimited"),
        (
            [resource.RLIMIT_AS, resource.RLIMIT_DATA],
            "ulimit -v unlimited; ulimit -d unlimited",
        ),
    ],
)
def test_recording_with_too_little_address_space_names_the_limit(
    build: Callable[[str, str], Path], tmp_path: Path, limits: list[int], cure: str
) -> None:
    def limit() -> None:
        for each in limits:
            resource.setrlimit(each, (1 << 30, 1 << 30))

    output = tmp_path / "trace.pmt"
    done = subprocess.run(
        [build("endings.cpp", "-O1"), "much"],
        env={**os.environ, "PMEMSIM_TRACE": str(output)}, preexec_fn=limit,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert (
        "274877906944 bytes of address space at 0x600000000000 could not be reserved" in done.stderr
    )
    assert done.stderr.endswith(f"; allow it with: {cure}\n")
    assert_nothing_left(output)


def test_program_with_its_own_zstd_is_recorded(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("own_zstd.c", "-O1"), output=output)
    assert done.returncode == 0, done.stderr
    assert verified(output).operation_count(0) > 4096


def test_deadlock_is_reported(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), "deadlock", output=output)
    assert done.returncode == 2
    assert "thread 0 waits for the mutex" in done.stderr
    assert "which thread 0 holds" in done.stderr
    assert "endings.cpp:" in done.stderr
    assert_nothing_left(output)


def test_interrupted_program_leaves_no_recording(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    environment = {**os.environ, "PMEMSIM_TRACE": str(output)}
    process = subprocess.Popen(
        [build("endings.cpp", "-O1"), "forever"], env=environment, stderr=subprocess.PIPE, text=True
    )
    partial = output.with_name(output.name + ".partial")
    while not partial.exists() or partial.stat().st_size < 100_000:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "no trace was written" in errors
    assert_nothing_left(output)


def test_recording_on_a_full_disk_fails(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    """A limit on the file's size fails as a full disk does."""
    output = tmp_path / "trace.pmt"
    done = subprocess.run(
        [build("endings.cpp", "-O1"), "much"],
        env={**os.environ, "PMEMSIM_TRACE": str(output)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "the trace could not be written: File too large" in done.stderr
    assert_nothing_left(output)


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("PMEMSIM_QUANTUM", "0", "must be a number of instructions"),
        ("PMEMSIM_SCHEDULE", "3", "a schedule's number and a seed, as in 3:1"),
        ("PMEMSIM_SCHEDULE", "-3:1", "a schedule's number and a seed, as in 3:1"),
        ("PMEMSIM_METADATA", '{"a": }', "not a JSON object"),
        ("PMEMSIM_PM_RANGE", "2000:1000", "LO below HI"),
        ("PMEMSIM_PM_HINT", "1000,2001", "it must be ADDRESS[,ADDRESS...], of pages"),
        ("PMEMSIM_ROI", "half", 'must be "whole" or "marked"'),
        ("PMEMSIM_TRACE", "/nonexistent/trace.pmt", "the trace could not be created"),
    ],
)
def test_impossible_settings_are_refused(
    build: Callable[[str, str], Path], tmp_path: Path, variable: str, value: str, complaint: str
) -> None:
    output = tmp_path / "trace.pmt"
    environment = {**os.environ, "PMEMSIM_TRACE": str(output), variable: value}
    done = subprocess.run(
        [build("endings.cpp", "-O1"), "return"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert complaint in done.stderr
    assert_nothing_left(output)


def test_metadata_of_the_caller_is_stored_except_the_number_of_threads(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    given = {"workload": "été", "seed": 2**63, "threads": 77}
    done = record(
        build("threads.cpp", "-O2"), "mutexes", "3", output=output,
        PMEMSIM_METADATA=json.dumps(given),
    )  # fmt: skip
    assert done.returncode == 0
    trace = verified(output)
    assert trace.metadata["workload"] == "été"
    assert trace.metadata["seed"] == 2**63
    assert trace.metadata["threads"] == 4  # the runtime knows better
    assert trace.metadata["arguments"] == ["mutexes", "3"]
    summary = trace.summary()["total"]
    counted = trace.metadata["instructions"]
    assert counted["instrumented"] == summary["instructions"]
    assert counted["external"] == summary["external_instructions"] > 0
    assert trace.metadata["operations"] == summary["operations"]


def stores_to_pm(trace: Trace) -> int:
    return int(trace.summary()["total"]["pm_stores"])


@pytest.mark.parametrize("source", ["path", "range", "heap"])
def test_persistent_memory_is_declared_by_path_range_or_heap(
    build: Callable[[str, str], Path], tmp_path: Path, source: str
) -> None:
    output, file = tmp_path / "trace.pmt", tmp_path / "pm" / "pool"
    file.parent.mkdir()
    options = {
        "path": {"PMEMSIM_PM_PATH": f"/nonexistent:{tmp_path / 'pm'}"},
        "range": {"PMEMSIM_PM_RANGE": "0x10000000000:0x10000010000"},
        "heap": {"PMEMSIM_PM_HEAP": "1"},
    }[source]
    program = build("memory.c", "-O1")
    done = record(program, source, file, output=output, PMEMSIM_ROI="marked", **options)
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    assert stores_to_pm(trace) == 101  # 42, and the thread's 43s
    (region,) = trace.metadata["pm_regions"]
    assert (
        region["source"] == {"path": str(file), "range": "--pm-range", "heap": "--pm-heap"}[source]
    )
    # 99 was written before the region of interest, so it is in the image.
    summary = trace.summary()
    assert summary["image_pages"] >= 1
    assert summary["warm_lines"] >= 1
    assert trace.threads == 2


def test_all_warm_lines_are_kept_wherever_memory_lies(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(
        build("warm_lines.c", "-O1"), output=output,
        PMEMSIM_PM_RANGE="0x20000000000:0x20000040000", PMEMSIM_ROI="marked",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert verified(output).summary()["warm_lines"] == 2 * 64 * 64


def test_mapping_after_an_unmapped_file_is_not_persistent(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """No mapping replaces it unless the program asks for one."""
    output = tmp_path / "trace.pmt"
    done = record(
        build("memory.c", "-O1"), "unmapped", tmp_path / "pool", output=output,
        PMEMSIM_ROI="marked", PMEMSIM_PM_PATH=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    assert len(trace.metadata["pm_regions"]) == 1
    assert stores_to_pm(trace) == 0


# Ways to map files, and of how many memories each leaves contents.
MAPPED = {
    "header_last": 1, "header_first": 1, "windows": 1, "again": 1, "another_file_at_its_place": 2,
    "threads": 1, "partly_unmapped": 1, "moved": 1, "grown": 1, "grown_where_asked": 1,
    "privately": 1, "system_calls": 1, "marks": 1, "declared": 1, "anonymously": 2, "spinning": 1,
    "plainly": 1,
}  # fmt: skip


@pytest.fixture
def mapped(
    build: Callable[[str, str], Path], tmp_path: Path
) -> Callable[[str], tuple[Trace, list[Path]]]:
    """Record a way to map files, and return the trace and the files."""

    def recorded(way: str) -> tuple[Trace, list[Path]]:
        output, files = tmp_path / "trace.pmt", [tmp_path / "file", tmp_path / "other"]
        files[0].write_bytes(b"old" * 100)
        declares = way in ("declared", "anonymously")
        options = {} if declares else {"PMEMSIM_PM_PATH": str(tmp_path)}
        if way == "spinning":
            options["PMEMSIM_QUANTUM"] = "3"  # so that turns end anywhere in the loop
        done = record(
            build("mappings.c", "-O1"), way, *files, output=output, PMEMSIM_ROI="whole", **options
        )
        assert done.returncode == 0, done.stderr
        return verified(output), files

    return recorded


@pytest.mark.parametrize(
    "way",
    long_except(
        MAPPED, "header_last", "windows", "another_file_at_its_place", "threads", "partly_unmapped",
        "moved", "privately", "anonymously", "spinning",
    ),
)  # fmt: skip
def test_all_mappings_of_a_file_are_one_persistent_memory(
    mapped: Callable[[str], tuple[Trace, list[Path]]], tmp_path: Path, way: str
) -> None:
    """The simulated program leaves the same in PM as the recorded one in the file."""
    trace, files = mapped(way)
    assert len(trace.metadata["pm_regions"]) == MAPPED[way]
    pmemsim.run(trace, design="x86-bare", machine="asap", image=tmp_path / "image")
    images = [tmp_path / "image", tmp_path / "image.1"][: MAPPED[way]]
    for image, file in zip(images, files, strict=False):
        assert image.read_bytes() == file.read_bytes()
    # A page has the contents that it has when it is mapped first, and only the first has any.
    assert trace.summary()["image_pages"] == (way != "anonymously")


CHECKER = """
import sys
(image,) = (open(path, "rb").read() for path in sys.argv[1:])
assert len(image) == 4 * 4096
assert image[4096 + 3] != 3 or image[1:3] == b"\\1\\2"
"""


def test_checker_gets_one_file_with_the_stores_of_both_mappings(
    mapped: Callable[[str], tuple[Trace, list[Path]]], tmp_path: Path
) -> None:
    trace, _ = mapped("header_last")
    checker = tmp_path / "checker.py"
    checker.write_text(CHECKER)
    done = command(
        "crash", trace.path, "--design", "x86-bare", "--verify", f"{sys.executable} {checker}",
        "--verify-images", "4",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 4 " in done.stdout.replace("│", " ")


def test_atomic_variable_in_two_mappings_is_one_variable(
    mapped: Callable[[str], tuple[Trace, list[Path]]],
) -> None:
    trace, _ = mapped("threads")
    frame = pd.concat(trace.to_frame(thread) for thread in range(trace.threads))
    atomics = frame[frame["kind"] == "atomic_update"]
    assert len(atomics) == 2
    assert atomics["address"].nunique() == atomics["object"].nunique() == 1
    assert set(atomics["version"]) == {1, 2}


def test_marks_use_addresses_of_the_first_mapping(
    mapped: Callable[[str], tuple[Trace, list[Path]]],
) -> None:
    trace, _ = mapped("marks")
    frame = trace.to_frame(0)
    marks = frame[frame["kind"] == "mark"]
    assert list(marks["address"]) == [trace.metadata["pm_regions"][0]["begin"] + 4096]


@pytest.mark.parametrize("way", ["cramped", "outgrown"])
def test_file_that_outgrows_its_first_mapping_is_refused(
    build: Callable[[str, str], Path], tmp_path: Path, way: str
) -> None:
    output, file = tmp_path / "trace.pmt", tmp_path / "file"
    done = record(
        build("mappings.c", "-O1"), way, file, tmp_path / "other", output=output,
        PMEMSIM_PM_PATH=str(tmp_path), PMEMSIM_ROI="whole",
    )  # fmt: skip
    assert done.returncode == 2
    assert f"{file} grew beyond its first mapping" in done.stderr
    assert_nothing_left(output)


def test_recreated_file_is_another_persistent_memory(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output, file = tmp_path / "trace.pmt", tmp_path / "file"
    done = record(
        build("mappings.c", "-O1"), "recreated", file, tmp_path / "other", output=output,
        PMEMSIM_PM_PATH=str(tmp_path), PMEMSIM_ROI="whole",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    regions = verified(output).metadata["pm_regions"]
    assert [region["source"] for region in regions] == [str(file)] * 3


def flushed(
    build: Callable[[str, str], Path], tmp_path: Path, **options: str
) -> tuple[Trace, dict[str, int]]:
    """Return the flushes outside persistent memory, by kind of memory."""
    output, file = tmp_path / "trace.pmt", tmp_path / "file"
    done = record(
        build("flushes.c", "-O1"), file, output=output, PMEMSIM_ROI="whole", **options
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    assert trace.metadata["flushes"] == trace.summary()["total"]["flushes"] == 55
    counts: dict[str, int] = {}
    for memory in trace.metadata["flushes_outside_pm"]:
        assert memory["begin"] < memory["end"]
        name = memory["memory"]
        if name in ("file", "private", "data"):
            name += " " + memory["path"]
        if "asked" in memory:
            name += f" asked for at {memory['asked']:#x}"
        counts[name] = counts.get(name, 0) + memory["flushes"]
    return trace, counts


def test_flushes_outside_persistent_memory_say_where(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    counts = {
        "heap": 1,
        "stack": 2,
        f"data {build('flushes.c', '-O1')}": 3,
        f"file {tmp_path / 'file'}": 4,
        f"private {tmp_path / 'file'}": 8,
        "shared": 7 + 9,
        "anonymous": 5 + 6,
        "anonymous asked for at 0x10000000000": 10,
    }
    assert flushed(build, tmp_path)[1] == counts
    for name, options in {
        "heap": {"PMEMSIM_PM_HEAP": "1"},
        f"file {tmp_path / 'file'}": {"PMEMSIM_PM_PATH": str(tmp_path)},
        "anonymous": {"PMEMSIM_PM_RANGE": "10000000000:10000010000"},
    }.items():
        rest = {other: count for other, count in counts.items() if other != name}
        assert flushed(build, tmp_path, **options)[1] == rest


def test_mapping_at_a_hinted_address_is_persistent(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """One mapping gets the address, others follow it; a replacement is a new memory."""
    hints = "0x20000000000,0x10000000000"
    trace, counts = flushed(build, tmp_path, PMEMSIM_PM_HINT=hints)
    assert counts.keys() & {"anonymous", "anonymous asked for at 0x10000000000"} == set()
    regions = trace.metadata["pm_regions"]
    assert [(region["source"], region["end"] - region["begin"]) for region in regions] == [
        ("--pm-hint", 3 << 16),
        ("--pm-hint", 1 << 16),
    ]
    assert regions[0]["begin"] == 0x10000000000
    assert stores_to_pm(trace) == 3 * 5 + 6


def test_whole_run_is_recorded_if_wanted(build: Callable[[str, str], Path], tmp_path: Path) -> None:
    output = tmp_path / "trace.pmt"
    done = record(
        build("memory.c", "-O1"), "heap", output=output, PMEMSIM_PM_HEAP="1", PMEMSIM_ROI="whole"
    )
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    # 99, 42, the thread's 43s, 1000 and the zeros of calloc.
    assert stores_to_pm(trace) == 103 + (1 << 16) // 16
    assert trace.summary()["warm_lines"] == 0


def test_every_allocator_allocates_from_the_persistent_heap(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("allocators.c", "-O1"), output=output, PMEMSIM_PM_HEAP="1")
    assert done.returncode == 0, done.stderr
    (heap,) = verified(output).metadata["pm_regions"]
    given = {name: int(at, 16) for name, at in map(str.split, done.stdout.splitlines())}
    assert len(given) == 12
    outside = [name for name, at in given.items() if not heap["begin"] <= at < heap["end"]]
    assert outside == []
    assert given["valloc"] % 4096 == given["pvalloc"] % 4096 == 0


def test_contents_of_a_mapped_file_are_in_the_image(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """This holds for a file mapped during the recording, too."""
    output, file = tmp_path / "trace.pmt", tmp_path / "pool"
    file.write_bytes(b"\0" * 8192 + b"old contents")
    done = record(
        build("memory.c", "-O1"), "path", file, output=output,
        PMEMSIM_ROI="whole", PMEMSIM_PM_PATH=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert verified(output).summary()["image_pages"] == 1


@pytest.mark.parametrize("region", ["whole", "marked"])
def test_image_of_a_file_shorter_than_its_mapping_has_its_contents(
    build: Callable[[str, str], Path], tmp_path: Path, region: str
) -> None:
    """The image has the file's contents; memory after its end can't be accessed."""
    output, file = tmp_path / "trace.pmt", tmp_path / "pool"
    file.write_bytes(b"\0" * 4096 + b"old contents")
    done = record(
        build("memory.c", "-O1"), "short", file, output=output,
        PMEMSIM_ROI=region, PMEMSIM_PM_PATH=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = verified(output)
    (mapped,) = trace.metadata["pm_regions"]
    assert mapped["end"] - mapped["begin"] == 1 << 16
    assert trace.summary()["image_pages"] == 1


def test_region_of_interest_that_never_begins_is_an_error(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    output = tmp_path / "trace.pmt"
    done = record(build("endings.cpp", "-O1"), "return", output=output, PMEMSIM_ROI="marked")
    assert done.returncode == 2
    assert "PMEMSIM_ROI=whole" in done.stderr
    assert_nothing_left(output)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_writes_of_libraries_and_kernel(
    build: Callable[[str, str], Path], tmp_path: Path, level: str
) -> None:
    """The recorded stores, replayed, give the memory as the program leaves it."""
    output, left = tmp_path / "trace.pmt", tmp_path / "left"
    done = record(
        build("library_writes.c", level), left, output=output,
        PMEMSIM_PM_RANGE="0x10000000000:0x10000001000", PMEMSIM_ROI="whole",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    replayed = replayed_stores(output)
    assert replayed == left.read_bytes()
    assert {0, 64, 128, 192, 256, 320, 384, 448, 512, 576} <= {
        at for at in range(0, 0x1000, 64) if any(replayed[at : at + 64])
    }


def test_threads_are_recorded_with_an_instrumented_allocator(
    build: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """Turns may end within the creation of a thread, for which the C library allocates."""
    program, output = build("allocating_threads.c", "-O0"), tmp_path / "trace.pmt"
    for quantum in ("1", "50"):
        done = record(program, output=output, PMEMSIM_QUANTUM=quantum)
        assert done.returncode == 0, done.stderr
        assert verified(output).threads == 4


def replayed_stores(output: Path) -> bytes:
    """Replay the recorded stores into the page at 0x10000000000, which was empty."""
    replayed = bytearray(0x1000)
    for operations in verified(output).operations(0):
        for index, address in enumerate(operations.records["address"]):
            value = operations.value(index)
            if value and address >> 12 == 1 << 28:
                at = int(address) & 0xFFF
                replayed[at : at + len(value)] = value
    return bytes(replayed)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "source",
    [
        "assembly.c",
        pytest.param(
            "avx512.c",
            marks=pytest.mark.skipif(
                "avx512_vbmi2" not in Path("/proc/cpuinfo").read_text(),
                reason="the processor doesn't have all of AVX-512",
            ),
        ),
    ],
)
def test_replayed_stores_of_single_instructions_give_the_final_memory(
    build: Callable[[str, str], Path], tmp_path: Path, source: str, level: str
) -> None:
    """The recorded stores, replayed, give the memory as the program leaves it."""
    output, left = tmp_path / "trace.pmt", tmp_path / "left"
    done = record(
        build(source, level), left, output=output,
        PMEMSIM_PM_RANGE="0x10000000000:0x10000001000", PMEMSIM_ROI="whole",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert replayed_stores(output) == left.read_bytes()
