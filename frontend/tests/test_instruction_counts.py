"""Instructions counted by the pass against what callgrind counts for the native program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from statistics import mean

import pytest

from conftest import HERE, Toolchain, run

BOUND = 0.10
MEAN = 0.05
KERNELS = sorted(path.name for path in (HERE / "kernels").glob("*.c*"))
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
    return total + count_copies(profile, program)


def count_copies(profile: Path, program: Path) -> int:
    """Count the instructions of copies by the C library that the program itself has called.

    Recordings contain their loads and stores.
    """
    names: dict[str, str] = {}
    inside, callee, total = False, "", 0
    lines = iter(profile.read_text().splitlines())
    for line in lines:
        if match := re.fullmatch(r"(c?ob|c?fn)=(\(\d+\))(?: (.*))?", line):
            key = match[1][-2:] + match[2]
            names.setdefault(key, match[3] or "")
            if match[1] == "ob":
                inside = Path(names[key]).name == program.name
            elif match[1] == "cfn":
                callee = names[key]
        elif line.startswith("calls="):
            cost = int(next(lines).split()[1])
            if inside and re.search("mem(cpy|move|set)", callee):
                total += cost
    return total


def error_of(toolchain: Toolchain, kernel: str, level: str) -> float:
    """Return the relative error of the recorded count."""
    source = HERE / "kernels" / kernel
    native, recorded = toolchain.scratch / "native", toolchain.scratch / "recorded"
    clang = "clang++-19" if source.suffix == ".cpp" else "clang-19"
    run(clang, level, source, "-o", native, "-lm")
    run(toolchain.compiler(source), level, source, "-o", recorded, "-lm")
    expected = callgrind_count(native, toolchain.scratch)
    counted = toolchain.execute(recorded, PRINT_RUNTIME_COUNT_ONLY="1").instructions
    error = counted / expected - 1
    print(f"{kernel:24} {level}: callgrind {expected:9}, pass {counted:9}, {error:+.2%}")
    return error


@pytest.mark.parametrize("kernel", ["sorts.c", "interpreter_switch.c", "virtual_calls.cpp"])
def test_instruction_count_is_within_10_percent_of_callgrind(
    toolchain: Toolchain, kernel: str
) -> None:
    assert abs(error_of(toolchain, kernel, "-O2")) < BOUND


@pytest.mark.long
@pytest.mark.parametrize(
    ("level", "kernels"),
    [("-O0", KERNELS), ("-O1", KERNELS[::2]), ("-O2", KERNELS), ("-O3", KERNELS[1::2])],
)
def test_instruction_counts_are_within_5_percent_on_average(
    toolchain: Toolchain, level: str, kernels: list[str]
) -> None:
    """Each kernel is compiled at three levels: at -O0, at -O2, and at one of the others."""
    errors = {kernel: abs(error_of(toolchain, kernel, level)) for kernel in kernels}
    assert len(errors) >= 8
    assert {kernel: error for kernel, error in errors.items() if error >= BOUND} == {}
    assert mean(errors.values()) < MEAN
