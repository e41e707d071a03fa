"""Instructions counted by the pass against what callgrind counts for the native program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conftest import HERE, LEVELS, Toolchain, run
from support import long_except

BOUND = 0.15
# Start-up code of the C library that is linked into every program.
START_UP = ("_start", "_init", "_fini", "frame_dummy", "__do_global", "register_tm", "0x0000")


def callgrind_count(program: Path, scratch: Path) -> int:
    """Count the instructions executed in the program's own code, the libraries' apart."""
    profile = scratch / "callgrind.out"
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program)
    listing = subprocess.run(
        ["callgrind_annotate", "--threshold=100", "--show=Ir", str(profile)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    total = 0
    for line in listing.splitlines():
        match = re.match(r"\s*([\d,]+) \(.*?\)\s+(\S.*?) \[(.*)\]\s*$", line)
        if match is None or Path(match[3]).name != program.name:
            continue
        if not any(name in match[2] for name in START_UP):
            total += int(match[1].replace(",", ""))
    return total


@pytest.mark.parametrize("level", long_except(LEVELS, "-O2"))
@pytest.mark.parametrize("kernel", sorted(p.name for p in (HERE / "kernels").glob("*.c*")))
def test_instruction_count_is_within_15_percent_of_callgrind(
    toolchain: Toolchain, kernel: str, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The counts agree within 15% at every level."""
    source = HERE / "kernels" / kernel
    native, recorded = toolchain.scratch / "native", toolchain.scratch / "recorded"
    clang = "clang++-19" if source.suffix == ".cpp" else "clang-19"
    run(clang, level, source, "-o", native)
    run(toolchain.compiler(source), level, source, "-o", recorded)
    expected = callgrind_count(native, toolchain.scratch)
    counted = toolchain.execute(recorded, PRINT_RUNTIME_COUNT_ONLY="1").instructions
    error = counted / expected - 1
    with capsys.disabled():
        print(f"\n{kernel:16} {level}: callgrind {expected:9}, pass {counted:9}, {error:+.2%}")
    assert abs(error) < BOUND
