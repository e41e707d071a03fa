"""Run a program one machine instruction at a time (ptrace), from one function to another."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

TRACE_ME, POKE_TEXT, POKE_USER, CONTINUE, STEP, GET_REGISTERS = 0, 4, 6, 7, 9, 12
BREAKPOINT = 0xCC
NO_RANDOM_ADDRESSES = 0x0040000
REGISTERS = (
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi",
    "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs", "gs",
)  # fmt: skip
"""Registers in the kernel's order; the last two are the segments' bases."""
RIP_OFFSET = 8 * REGISTERS.index("rip")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Stepped:
    """A program that stops before each instruction, with its registers and its memory."""

    def __init__(self, command: list[str]) -> None:
        self.registers: dict[str, int] = {}
        self._user = (ctypes.c_ulonglong * 27)()
        self._process = os.fork()
        if self._process == 0:
            libc.ptrace(TRACE_ME, 0, None, None)
            libc.personality(NO_RANDOM_ADDRESSES)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.execv(command[0], command)
        self._wait()
        self._memory = os.open(f"/proc/{self._process}/mem", os.O_RDONLY)

    def __enter__(self) -> Stepped:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def _wait(self) -> None:
        _, status = os.waitpid(self._process, 0)
        if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != signal.SIGTRAP:
            raise RuntimeError(f"the program ended or got a signal ({status:#x})")

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the program's memory."""
        return os.pread(self._memory, size, address)

    def c_library(self) -> tuple[Path, int]:
        """Return the path of the C library and its address."""
        for line in Path(f"/proc/{self._process}/maps").read_text().splitlines():
            addresses, _, _, _, _, *name = line.split(maxsplit=5)
            if name and Path(name[0]).name.startswith("libc.so"):
                return Path(name[0]), int(addresses.partition("-")[0], 16)
        raise RuntimeError("the program has no C library")

    def go_to(self, address: int) -> None:
        """Run the program until it reaches an address."""
        word = int.from_bytes(self.read(address, 8), "little")
        libc.ptrace(POKE_TEXT, self._process, address, word & ~0xFF | BREAKPOINT)
        libc.ptrace(CONTINUE, self._process, None, None)
        self._wait()
        libc.ptrace(POKE_TEXT, self._process, address, word)
        libc.ptrace(POKE_USER, self._process, RIP_OFFSET, address)

    def steps_to(self, end: int) -> Iterator[int]:
        """Yield the address of each instruction before it executes, up to `end`."""
        while True:
            libc.ptrace(GET_REGISTERS, self._process, None, ctypes.byref(self._user))
            self.registers = dict(zip(REGISTERS, self._user, strict=False))
            if self.registers["rip"] == end:
                return
            yield self.registers["rip"]
            libc.ptrace(STEP, self._process, None, None)
            self._wait()
