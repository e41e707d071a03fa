"""Compare the instructions that a recording counts with those that callgrind counts natively.

    .venv/bin/python benchmarks/instruction_counts.py [WORKLOAD...]

Both count the whole run of the same program with one thread, and only what is in the program
itself: libc and other code that was not instrumented is left out on both sides. Prints a table;
ends with status 1 if a workload is off by more than 15%.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from command_line import chosen_workloads
from native_builds import build_native, need
from pmemsim.recording import build_workload
from pmemsim.trace import Trace

ARGUMENTS = ["--threads=1", "--regions=2000", "--seed=1"]
TOLERANCE = 0.15


def callgrind_count(program: Path, scratch: Path) -> int:
    """Count the instructions that were executed in the program's own code."""
    output = scratch / "callgrind.out"
    subprocess.run(
        [need("valgrind", "valgrind"), "--tool=callgrind", f"--callgrind-out-file={output}",
         program, *ARGUMENTS],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    names: dict[str, str] = {}
    total = 0
    inside = False
    lines = iter(output.read_text().splitlines())
    for line in lines:
        if match := re.fullmatch(r"ob=(\(\d+\))(?: (.*))?", line):
            names.setdefault(match[1], match[2])
            inside = names[match[1]] == str(program)
        elif match := re.fullmatch(r"cob=(\(\d+\)) (.*)", line):
            names.setdefault(match[1], match[2])
        elif line.startswith("calls="):
            next(lines)  # the callee's cost, which is counted where the callee is
        elif inside and (match := re.fullmatch(r"[+*\-\d]\S* (\d+)", line)):
            total += int(match[1])
    return total


def recorded_count(workload: str, opt: str, scratch: Path) -> int:
    """Count the instrumented instructions of a recording of the whole run."""
    path = scratch / f"{workload}-{opt}.pmt"
    environment = {"PMEMSIM_TRACE": str(path), "PMEMSIM_ROI": "whole"}
    subprocess.run(
        [build_workload(workload, opt), *ARGUMENTS],
        env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return int(Trace(path).summary()["total"]["instructions"])


def main() -> int:
    """Print the table; returns the exit status."""
    workloads = chosen_workloads(__doc__)
    worst = 0.0
    print(f"{'workload':19} {'opt':3} {'callgrind':>14} {'recorded':>14} {'off by':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads:
            for opt in ("O0", "O2"):
                native = callgrind_count(build_native(workload, opt), Path(folder))
                recorded = recorded_count(workload, opt, Path(folder))
                off = recorded / native - 1
                worst = max(worst, abs(off))
                print(f"{workload:19} {opt:3} {native:14,} {recorded:14,} {off:8.1%}", flush=True)
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
