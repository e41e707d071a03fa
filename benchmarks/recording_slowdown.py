"""How much slower a program is while it is being recorded than natively.

    .venv/bin/python benchmarks/recording_slowdown.py [WORKLOAD...]

Runs each workload natively and recorded, best of three, and compares the wall-clock times of the
whole program. (Its own clock does not serve: while it is being recorded it sees a virtual one.)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from native import build_native
from pmemsim.bench import WORKLOADS
from pmemsim.recording import build_workload

ARGUMENTS = ["--threads=4", "--regions=100000", "--data-bytes=64", "--seed=1"]


def wall_s(program: Path, environment: dict[str, str]) -> float:
    """Return the seconds that the program takes, the best of three runs."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run(
            [program, *ARGUMENTS], env={**os.environ, **environment}, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Print the table."""
    print(f"{'workload':12} {'native':>10} {'recorded':>10} {'slowdown':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for workload in sys.argv[1:] or WORKLOADS:
            native = wall_s(build_native(workload, "O2"), {})
            environment = {"PMEMSIM_TRACE": str(Path(folder) / "slowdown.pmt")}
            recorded = wall_s(build_workload(workload, "O2"), environment)
            print(f"{workload:12} {native:8.3f} s {recorded:8.3f} s {recorded / native:8.1f}x")


if __name__ == "__main__":
    main()
