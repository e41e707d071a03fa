"""The stores of programs' machine code, compared with those of their recordings (benchmarks/)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import machine_stores
from disassembly import disassemble
from machine_stores import Event, Found, compare, ideal, recorded_events
from pmemsim.predictability import predictability
from pmemsim.targets import find_target
from support import long_except

POOL = machine_stores.POOL.start
REGISTERS = {
    "rax": 0x1000,
    "rcx": 0x10,
    "rsp": 0x8000,
    "rbp": 0x9000,
    "fs": 0x700000,
    "rdi": 0x2000,
}
# Instruction, kind, address of the store, and number of bytes.
INSTRUCTIONS = {
    "movq %rcx, -0x18(%rbp)": ("store", 0x9000 - 0x18, 8),
    "movl $7, (%rax,%rcx,4)": ("store", 0x1040, 4),
    "movb %sil, 0x3(%rax)": ("store", 0x1003, 1),
    "movw %r9w, (%rax)": ("store", 0x1000, 2),
    "addq %rcx, %fs:0x10": ("store", 0x700010, 8),
    "incl %fs:(%rdi)": ("store", 0x702000, 4),
    "sete (%rax)": ("store", 0x1000, 1),
    "shlq %cl, (%rax)": ("store", 0x1000, 8),
    "movups %xmm0, (%rax)": ("store", 0x1000, 16),
    "vmovdqu %ymm3, 0x20(%rdi)": ("store", 0x2020, 32),
    "movsd %xmm1, (%rax)": ("store", 0x1000, 8),
    "rep stosb": ("store", 0x2000, 1),
    "movsq": ("store", 0x2000, 8),
    "lock xaddl %ecx, (%rax)": ("store", 0x1000, 4),
    "pushq %rbp": ("push", 0x8000 - 8, 8),
    "callq *%rax": ("call", 0x8000 - 8, 8),
    "clwb 0x40(%rax)": ("flush", 0x1040, 0),
    "clflushopt (%rdi)": ("flush", 0x2000, 0),
    "movq (%rax), %rcx": None,
    "cmpq %rcx, (%rax)": None,
    "testb $1, (%rax)": None,
    "leaq 0x8(%rax), %rdi": None,
    "idivq (%rax)": None,
    "jmpq *(%rax)": None,
    "popq %rbp": None,
}


def test_disassembly_gives_address_and_size_of_each_store(tmp_path: Path) -> None:
    source, compiled = tmp_path / "all.s", tmp_path / "all.o"
    source.write_text("".join(f"{text}\n.balign 32\n" for text in INSTRUCTIONS))
    subprocess.run(["clang-19", "-c", source, "-o", compiled], check=True)
    found = disassemble(compiled)
    read = {}
    for number, text in enumerate(INSTRUCTIONS):
        instruction = found.get(32 * number)
        read[text] = instruction and (
            instruction.kind, instruction.address(REGISTERS), instruction.size
        )  # fmt: skip
    assert read == INSTRUCTIONS


def word(value: int) -> bytes:
    """Return a word's bytes in memory."""
    return value.to_bytes(8, "little")


def test_ideal_predictor_finds_addresses_and_data_of_write_backs() -> None:
    seven, eight = 7 << 32 | 7, 8 << 32 | 8
    events = [
        Event("store", 0x10, word(POOL + 72)),  # the address of a line
        Event("store", POOL + 64, word(seven)),
        Event("flush", POOL + 64),  # its address and, in its own store, its data
        Event("flush", POOL + 64),  # nothing was stored
        Event("store", POOL + 128, word(seven)),
        Event("flush", POOL + 128),  # data only
        Event("store", POOL + 64, word(seven)),
        Event("flush", POOL + 64),  # both, without its own store too
        Event("store", POOL + 64, word(eight)),
        Event("flush", POOL + 64),
    ]
    assert ideal(events) == Found(write_backs=4, address=3, data=4, both=3, without_own=1)


@pytest.mark.parametrize("workload", long_except(["queue", "queue_lowlevel", "hashmap"], "queue"))
def test_ideal_predictor_agrees_with_the_predictability_analysis(workload: str) -> None:
    trace = find_target(workload, threads=1, regions=60, items=500, opt="O0+O2").trace()
    analysed = predictability(trace).total
    found = ideal(recorded_events(trace))
    assert found.write_backs == analysed.write_backs
    assert found.address == analysed.in_all_stores.address
    assert found.data == analysed.in_all_stores.data_4_bytes
    assert found.both == analysed.in_all_stores.both_4_bytes
    assert found.without_own == analysed.without_own_stores.both_4_bytes


@pytest.mark.long
@pytest.mark.parametrize("workload", machine_stores.WORKLOADS)
def test_unoptimized_recordings_contain_the_executed_stores(workload: str) -> None:
    compared = compare(workload, "O0", regions=6)
    assert 0.95 <= compared.ratio <= 1
    recorded, executed = ideal(compared.recorded), ideal(compared.executed)
    assert recorded.shares[:3] == executed.shares[:3] == [1, 1, 1]
    assert recorded.write_backs == executed.write_backs
    # Old stack contents that are copied as padding differ, because the recorded program saves
    # loaded values there while they are recorded.
    assert abs(recorded.without_own - executed.without_own) <= 0.1 * executed.write_backs
