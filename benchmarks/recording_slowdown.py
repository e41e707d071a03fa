"""Measure how much slower a program runs when it is recorded.

    .venv/bin/python benchmarks/recording_slowdown.py [WORKLOAD...]

Runs each workload natively and recorded, best of three, and compares the wall-clock and processor
times of the whole program. (The program's own clock can't be used: a recorded program sees a
virtual clock.) On a busy machine run it with real-time priority: chrt --fifo 50 .venv/bin/python
...
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from command_line import chosen_workloads
from native_builds import build_native
from pmemsim.recording import build_workload

ARGUMENTS = ["--threads=4", "--regions=100000", "--seed=1"]


def seconds(program: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall-clock and the processor time of the program, each the best of three runs."""
    walls, processors = [], []
    for _ in range(3):
        before, begin = os.times(), time.perf_counter()
        subprocess.run(
            [program, *ARGUMENTS], env={**os.environ, **environment}, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        walls.append(time.perf_counter() - begin)
        after = os.times()
        processors.append(
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
    return min(walls), min(processors)


def main() -> None:
    """Print the table."""
    workloads = chosen_workloads(__doc__)
    print(f"{'workload':19} {'recorded':>10} {'native':>10} {'slowdown':>9} {'processor time':>15}")
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads:
            native, native_processor = seconds(build_native(workload, "O2"), {})
            environment = {
                "PMEMSIM_TRACE": str(Path(folder) / "slowdown.pmt"),
                "PMEMSIM_CONTENTS": str(Path(folder) / "contents"),
            }
            recorded, processor = seconds(build_workload(workload, "O2"), environment)
            print(
                f"{workload:19} {recorded:8.3f} s {native:8.3f} s {recorded / native:8.1f}x "
                f"{processor / native_processor:14.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
