"""The host's own instruction counter (Linux perf events), for `pmemsim bench`."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_SYSCALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_HARDWARE, _INSTRUCTIONS = 0, 1
_ATTRIBUTE_BYTES = 64  # struct perf_event_attr, version 0
_EXCLUDE_KERNEL_AND_HYPERVISOR = 1 << 5 | 1 << 6


@dataclass
class Counter:
    """Host instructions of a block, or why they could not be counted."""

    instructions: int | None = None
    reason: str = ""


@contextmanager
def count_instructions() -> Iterator[Counter]:
    """Count the user-mode instructions that this thread executes in the block."""
    counter = Counter()
    attribute = struct.pack(
        "=IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _INSTRUCTIONS, 0, 0, 0,
        _EXCLUDE_KERNEL_AND_HYPERVISOR,
    ).ljust(_ATTRIBUTE_BYTES, b"\0")  # fmt: skip
    number = _SYSCALL.get(platform.machine())
    if number is None:
        counter.reason = f"no perf events on {platform.machine()}"
        yield counter
        return
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attribute, 0, -1, -1, 0)
    if descriptor < 0:
        counter.reason = f"perf_event_open: {os.strerror(ctypes.get_errno())}"
        yield counter
        return
    try:
        before = _read(descriptor)
        yield counter
        counter.instructions = _read(descriptor) - before
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> int:
    (count,) = struct.unpack("=Q", os.read(descriptor, 8))
    return int(count)
