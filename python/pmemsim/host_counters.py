"""Measure host instructions and memory of a simulation, for `pmemsim bench`.

The processor's own counter (Linux perf events) counts instructions during the run. If the processor
has none, as in many virtual machines, valgrind's callgrind counts a short run, if it is installed.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pmemsim import _core

_SYSCALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
_HARDWARE, _INSTRUCTIONS = 0, 1
_ATTRIBUTE_BYTES = 64  # struct perf_event_attr, version 0
_EXCLUDE_KERNEL_AND_HYPERVISOR = 1 << 5 | 1 << 6


@dataclass
class Counter:
    """Host instructions of a block, or the reason why they could not be counted."""

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


# This script loads the simulator alone; the rest of the package would take long under valgrind.
_SIMULATE = """
import importlib.util, json, sys, types
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
settings = [types.SimpleNamespace(**setting) for setting in json.loads(sys.argv[3])]
configuration = core.Configuration(settings)
result = core.simulate(core.TraceFile(sys.argv[2]), configuration, None, [], None)
operations = next(one.value for one in result.statistics if one.name == "core.operations")
print(result.instructions, int(operations))
"""


@dataclass(frozen=True)
class HostInstructions:
    """Host instructions of a simulation, or the reason why they could not be counted."""

    per_instruction: float | None = None
    per_operation: float | None = None
    reason: str = ""


def callgrind_instructions(trace: Path, settings: Sequence[Mapping[str, str]]) -> HostInstructions:
    """Count the host instructions per simulated instruction and operation of a short recording.

    Only the simulation proper counts, not its set-up.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return HostInstructions(reason="valgrind, the alternative, is not installed")
    assert _core.__file__ is not None
    # The name with its parenthesis: callgrind turns counting off and on again at each function that
    # matches, and run() calls functions whose names begin with "run".
    command = [
        valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null",
        "--toggle-collect=pmemsim::Machine::run(*", sys.executable, "-S", "-c", _SIMULATE,
        _core.__file__, str(trace), json.dumps(settings),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or collected is None or int(collected[1]) == 0:
        return HostInstructions(reason=f"valgrind failed: {run.stderr.strip()[-200:]}")
    instructions, operations = (int(number) for number in run.stdout.split())
    return HostInstructions(int(collected[1]) / instructions, int(collected[1]) / operations)


def _read(descriptor: int) -> int:
    (count,) = struct.unpack("=Q", os.read(descriptor, 8))
    return int(count)


def peak_memory_bytes() -> int:
    """Return the largest resident set of this program; `getrusage` begins with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kibibytes) * 1024
