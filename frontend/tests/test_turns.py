"""The recorded turns of threads that race: they say what each thread has read."""

from __future__ import annotations

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import HERE, built_toolchain, run
from pmemsim.trace import KINDS, Trace
from support import long_except

pytestmark = pytest.mark.quick

THREADS, ROUNDS, WORDS = 4, 200, 6


@pytest.fixture(scope="module", params=long_except(["-O0", "-O2"], "-O2"))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("turns") / "races"
    source = HERE / "recorded" / "races.c"
    compiler = built_toolchain() / "bin" / "pmemsim-cc"
    run(compiler, request.param, "-g", "-std=gnu11", source, "-o", output)
    return output


def record(program: Path, output: Path, **options: str) -> tuple[Trace, list[int]]:
    """Return the recording, and the addresses that the program prints."""
    done = subprocess.run(
        [str(program)], env={**os.environ, "PMEMSIM_TRACE": str(output), **options},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    trace = Trace(output)
    trace.verify()
    return trace, [int(address, 16) for address in done.stdout.split()]


def accesses(trace: Trace, thread: int) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield each operation's kind, address, bytes and stored value."""
    for chunk in trace.operations(thread):
        for index, record in enumerate(chunk.records):
            value = chunk.value(index)
            yield KINDS[record["kind"]], int(record["address"]), int(record["size"]), value


def in_order(trace: Trace) -> Iterator[tuple[int, str, int, int, bytes]]:
    """Yield all threads' operations in the order of the turns."""
    threads = [accesses(trace, thread) for thread in range(trace.threads)]
    executed = [0] * trace.threads
    for turn in trace.turns():
        thread, end = int(turn["thread"]), int(turn["end"])
        for _ in range(end - executed[thread]):
            yield (thread, *next(threads[thread]))
        executed[thread] = end
    assert executed == [trace.operation_count(thread) for thread in range(trace.threads)]


def count_right_reads(trace: Trace, shared: int, seen: int, block: int) -> Counter[str]:
    """Replay the recording; every value that a thread read must be the current one."""
    seen_end, block_end = seen + 8 * THREADS * ROUNDS, block + 8 * WORDS
    memory: defaultdict[int, int] = defaultdict(int)
    word, word_of = {}, {}  # each thread's value of `shared`, and the thread that had stored it
    loaded: dict[int, bytes] = {}
    counts: Counter[str] = Counter()
    last_writer = None
    for thread, kind, address, size, value in in_order(trace):
        there = bytes(memory[address + i] for i in range(size))
        if kind == "load" and address == shared:
            word[thread], word_of[thread] = there, last_writer
        elif kind == "copy_load":
            loaded[thread] = there if block <= address < block_end else b""
        elif kind == "copy_store" and (read := loaded.pop(thread, b"")):
            assert value == read
            counts["copied"] += 1
        elif kind == "store" and seen <= address < seen_end:
            assert value == word[thread]
            counts["read"] += 1
            counts["read of others"] += word_of[thread] not in (thread, None)
        if kind == "store" and address == shared:
            last_writer = thread
        for i, byte in enumerate(value):
            memory[address + i] = byte
    return counts


@pytest.mark.parametrize(
    "options",
    [{}]
    + [{"PMEMSIM_QUANTUM": quantum} for quantum in ("1", "7", "100")]
    + [{"PMEMSIM_SCHEDULE": f"{number}:3", "PMEMSIM_QUANTUM": "100"} for number in (1, 2, 3)],
    ids=lambda options: "-".join(options.values()) or "default",
)
def test_recorded_turns_give_the_values_of_racing_reads(
    program: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    trace, addresses = record(program, tmp_path / "races.pmt", **options)
    counts = count_right_reads(trace, *addresses)
    assert counts["read"] == THREADS * ROUNDS
    assert counts["copied"] == THREADS * ROUNDS * (8 * WORDS // 16)
    assert counts["read of others"] > (20 if options else 0)


def test_spinning_thread_reads_each_message_before_the_next_is_sent(tmp_path: Path) -> None:
    program, source = tmp_path / "messages", HERE / "recorded" / "messages.c"
    run(built_toolchain() / "bin" / "pmemsim-cc", "-O2", "-pthread", source, "-o", program)
    trace, (sent,) = record(program, tmp_path / "messages.pmt")
    operations = list(in_order(trace))
    sends = [
        index
        for index, (_, kind, address, _, _) in enumerate(operations)
        if kind == "atomic_store" and address == sent
    ]
    assert len(sends) == 200
    read_between = [
        any(kind == "atomic_load" and address == sent for _, kind, address, _, _ in between)
        for between in (operations[i:k] for i, k in pairwise(sends))
    ]
    # The first messages are sent before the receiver runs.
    assert sum(read_between) >= 0.9 * len(read_between)


def test_recording_of_one_thread_has_no_turns(tmp_path: Path) -> None:
    source = tmp_path / "alone.c"
    source.write_text("int main(void) { volatile int i = 0; return i; }\n")
    run(built_toolchain() / "bin" / "pmemsim-cc", source, "-o", tmp_path / "alone")
    environment = {**os.environ, "PMEMSIM_TRACE": str(tmp_path / "alone.pmt")}
    subprocess.run([str(tmp_path / "alone")], env=environment, check=True, timeout=60)
    assert len(Trace(tmp_path / "alone.pmt").turns()) == 0
