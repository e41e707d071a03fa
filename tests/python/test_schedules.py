"""Other interleavings of a program's threads: the bugs they reach, and how to repeat them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pmemsim.trace import Trace
from support import long_except, pmemsim

# The threads share a persistent page at a fixed address.
BEGINNING = """
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
static _Atomic uint64_t* words;  // 8 a line
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void persist(const void* address) {
  _mm_clflush(address);
  _mm_sfence();
}
static uint64_t get(int line) { return atomic_load(&words[8 * line]); }
static void set(int line, uint64_t value) { atomic_store(&words[8 * line], value); }
"""
MAIN = """
int main(void) {
  words = mmap((void*)0x500000000000, 4096, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  set(7, 1);  // line 7: the end
  return 0;
}
"""
# Reads and writes a counter in two critical sections, so that an update between them is lost.
LOST_UPDATE = """
static void* first(void* argument) {
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&mutex);
    uint64_t value = get(0);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    set(0, value + 1);
    persist(words);
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}
static void* second(void* argument) { return first(argument); }
"""
# Line 1 is published from line 0 before that is persistent; line 2 says so.
UNPERSISTED = """
static _Atomic int persistent;
static void* first(void* argument) {
  set(0, 42);
  persist(words);
  atomic_store(&persistent, 1);
  return argument;
}
static void* second(void* argument) {
  uint64_t seen = get(0);
  if (seen == 0) return argument;
  int was_persistent = atomic_load(&persistent);
  set(1, seen);
  persist(words + 8);
  if (!was_persistent) set(2, 1);
  return argument;
}
"""
ALONE = """
static void* first(void* argument) { return argument; }
static void* second(void* argument) { return argument; }
"""
PLACE = 0x500000000000
PM = ("--pm-range", "0x500000000000:0x500000001000")
COUNT = 50


def compiled(folder: Path, name: str, threads: str, level: str = "-O2") -> Path:
    source = folder / f"{name}.c"
    source.write_text(BEGINNING + threads + MAIN)
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    program = folder / name
    subprocess.run([compiler, level, source, "-pthread", "-o", program], check=True)
    return program


def recorded(program: Path, *options: str, count: int = COUNT) -> list[Trace]:
    output = program.with_suffix(".pmt")
    done = pmemsim("record", "--schedules", str(count), "-o", output, *PM, *options, "--", program)
    assert done.returncode == 0, done.stderr
    assert not output.exists()
    return [Trace(program.with_suffix(f".{number}.pmt")) for number in range(count)]


def stored(trace: Trace, line: int) -> list[int]:
    """Return the values that all threads have stored to the first word of a line."""
    values = []
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            records = chunk.records
            hits = (records["address"] == PLACE + 64 * line) & (records["has_value"] == 1)
            found = (chunk.value(int(index)) for index in np.flatnonzero(hits))
            values += [int.from_bytes(value, "little") for value in found]
    return values


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O2"))
def test_schedules_reach_a_lost_update(tmp_path: Path, level: str) -> None:
    traces = recorded(compiled(tmp_path, "lost", LOST_UPDATE, level))
    results = {max(stored(trace, 0)) for trace in traces}
    assert 6 in results, "nothing is lost where the threads don't overlap"
    assert min(results) < 6
    assert len(results) > 2


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O2"))
def test_schedules_reach_data_published_before_they_persist(tmp_path: Path, level: str) -> None:
    traces = recorded(compiled(tmp_path, "unpersisted", UNPERSISTED, level))
    published = [bool(stored(trace, 1)) for trace in traces]
    too_early = [bool(stored(trace, 2)) for trace in traces]
    assert not too_early[0], "schedule 0 reaches it, so that this shows nothing"
    assert any(too_early)
    assert any(seen and not early for seen, early in zip(published, too_early, strict=True))
    assert not all(published)


def test_the_same_seed_gives_the_same_recordings(tmp_path: Path) -> None:
    program = compiled(tmp_path, "lost", LOST_UPDATE)
    first = [trace.path.read_bytes() for trace in recorded(program, count=6)]
    again = [trace.path.read_bytes() for trace in recorded(program, count=6)]
    assert first == again
    assert len({trace.hash for trace in recorded(program, count=6)}) == 6
    others = [trace.path.read_bytes() for trace in recorded(program, "--seed", "2", count=6)]
    assert first[0] == others[0], "schedule 0 has no seed"
    assert all(one != other for one, other in zip(first[1:], others[1:], strict=True))


def test_schedule_0_is_the_recording_without_schedules(tmp_path: Path) -> None:
    program = compiled(tmp_path, "lost", LOST_UPDATE)
    usual = tmp_path / "usual.pmt"
    assert pmemsim("record", "-o", usual, *PM, "--", program).returncode == 0
    assert recorded(program, count=1)[0].path.read_bytes() == usual.read_bytes()


def test_schedule_recorded_alone_equals_that_of_several(tmp_path: Path) -> None:
    program = compiled(tmp_path, "lost", LOST_UPDATE)
    third = recorded(program, "--seed", "9", count=4)[3]
    alone = tmp_path / "alone.pmt"
    done = pmemsim("record", "--schedule", "3", "--seed", "9", "-o", alone, *PM, "--", program)
    assert done.returncode == 0, done.stderr
    assert alone.read_bytes() == third.path.read_bytes()


def test_every_result_names_its_schedule(tmp_path: Path) -> None:
    program = compiled(tmp_path, "lost", LOST_UPDATE)
    traces = [trace.path for trace in recorded(program, "--seed", "9", count=3)]
    shown = pmemsim("trace", "info", traces[2]).stdout
    assert "2 of seed 9" in shown
    facts = json.loads(pmemsim("trace", "info", "--json", "-", *traces).stdout)["recordings"]
    assert [fact["schedule"] for fact in facts] == [0, 1, 2]
    assert facts[2]["seed"] == 9
    assert "lost (schedule 2)" in pmemsim("trace", "info", *traces).stdout
    output = tmp_path / "out.json"

    def runs(*command: str | Path) -> list[tuple[str, int, int]]:
        done = pmemsim(*command, "--json", output)
        assert done.returncode == 0, done.stderr
        document = json.loads(output.read_text())
        found = document.get("runs", [document])
        return [(run["workload"], run["schedule"], run["seed"]) for run in found]

    assert runs("run", traces[1], "-d", "x86-bare", "-m", "asap") == [("lost (schedule 1)", 1, 9)]
    named = [("lost", 0, 0), ("lost (schedule 1)", 1, 9), ("lost (schedule 2)", 2, 9)]
    assert runs("compare", *traces, "-d", "x86-bare", "-m", "asap") == named
    assert runs("crash", *traces, "-d", "x86-bare") == named
    done = pmemsim("crash", traces[1], "-d", "x86-bare", "--verify", "false")
    assert done.returncode == 1
    assert "x86-bare does not recover lost (schedule 1)" in done.stderr
    assert f"pmemsim crash {traces[1]} " in done.stderr


def test_workload_is_recorded_under_several_schedules(tmp_path: Path) -> None:
    output = tmp_path / "queue.pmt"
    recipe = ("--threads", "2", "--regions", "40")
    done = pmemsim("record", "queue", *recipe, "--schedules", "3", "-o", output)
    assert done.returncode == 0, done.stderr
    traces = [Trace(output.with_suffix(f".{number}.pmt")) for number in range(3)]
    assert [trace.name for trace in traces] == ["queue", "queue (schedule 1)", "queue (schedule 2)"]
    assert len({trace.hash for trace in traces}) == 3
    crashed = tmp_path / "crash.json"
    alone = ("crash", "queue", *recipe, "-d", "sw-undo", "--schedule", "2", "--points", "50")
    done = pmemsim(*alone, "--json", crashed)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(crashed.read_text())["runs"]
    assert (run["workload"], run["schedule"], run["seed"]) == ("queue (schedule 2)", 2, 1)
    broken = ("--set", "pmemsim.faults=software_undo.log_fence", "--set", "pm.wpq_entries=2")
    done = pmemsim(*alone[:-2], *broken, "--subsets", "2", "--regions", "400")
    assert done.returncode == 1, done.stderr
    assert "--schedule 2" in done.stderr.split("to reproduce")[1]


@pytest.mark.long
def test_all_workloads_run_in_any_order(tmp_path: Path) -> None:
    """The workloads check their own data, so that a wrong interleaving would be seen."""
    done = pmemsim(
        "record", "--all", "--out-dir", tmp_path, "--threads", "3", "--regions", "60",
        "--schedule", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_one_thread_has_one_schedule(tmp_path: Path) -> None:
    program = tmp_path / "true"
    source = tmp_path / "true.c"
    source.write_text("int main(void) { volatile int x = 1; return x - 1; }")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, source, "-o", program], check=True)
    done = pmemsim("record", "--schedules", "4", "-o", tmp_path / "true.pmt", "--", program)
    assert done.returncode == 0, done.stderr
    assert "one thread, so schedules have no effect; only schedule 0 was recorded" in done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.pmt")) == ["true.0.pmt"]
    output = tmp_path / "queue.pmt"
    done = pmemsim("record", "queue", "-t", "1", "--regions", "9", "--schedules", "2", "-o", output)
    assert done.returncode == 0, done.stderr
    assert "queue has one thread" in done.stderr
    assert sorted(path.name for path in tmp_path.glob("queue*")) == ["queue.0.pmt"]


def test_a_program_that_fails_under_a_schedule_says_which(tmp_path: Path) -> None:
    fails = UNPERSISTED.replace("set(2, 1)", "exit(3)")
    program = compiled(tmp_path, "fails", fails)
    output = tmp_path / "fails.pmt"
    done = pmemsim("record", "--schedules", "50", "-o", output, *PM, "--", program)
    assert done.returncode == 2
    assert "ended with status 3 under schedule " in done.stderr
    assert (tmp_path / "fails.0.pmt").exists(), "what was recorded before is kept"


def test_interrupted_recording_of_schedules_reports_how_many_are_kept(tmp_path: Path) -> None:
    program = compiled(tmp_path, "lost", LOST_UPDATE)
    third, script = tmp_path / "third", tmp_path / "script"
    script.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/x.1.pmt ] || exec {program}\ntouch {third}; exec sleep 1000\n"
    )
    script.chmod(0o755)
    command = [Path(sys.executable).with_name("pmemsim"), "record", "--schedules", "5", *PM]
    process = subprocess.Popen(
        [*map(str, command), "-o", tmp_path / "x.pmt", "--", script],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not third.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=120)
    assert process.returncode == 130, text
    assert text.splitlines()[-1] == "pmemsim: interrupted; 2 of 5 recordings are kept"
    kept = sorted(tmp_path.glob("*.pmt"))
    assert kept == [tmp_path / "x.0.pmt", tmp_path / "x.1.pmt"]
    for path in kept:
        Trace(path).verify()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--schedules", "0"], "--schedules 0: must be 1 to 10000"),
        (["--schedules", "10001"], "--schedules 10001: must be 1 to 10000"),
        (["--schedules", "2", "--schedule", "1"], "--schedule 1 and --schedules 2: give one of"),
        (["--schedule", "-1"], "--schedule -1: must be 0 to"),
        (["--seed", "1"], "--seed 1: needs WORKLOAD or --all or --schedule"),
        (["--schedule", "1", "--seed", "-1"], "--seed -1: must be 0 to"),
        (["--schedules", "2", "--threads", "2"], "leave out --threads 2"),
    ],
)
def test_record_refuses_impossible_schedules(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    program = shutil.which("true")
    assert program
    output = tmp_path / "true.pmt"
    done = pmemsim("record", *arguments, "-o", output, "--", program)
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr


def test_schedule_option_is_refused_for_a_recording(queue_trace: Path) -> None:
    done = pmemsim("run", queue_trace, "-d", "asap", "-m", "asap", "--schedule", "1")
    assert done.returncode == 2
    assert "this is a recording; remove --schedule, which only workloads accept" in done.stderr
