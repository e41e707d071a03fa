"""Simulate the micro-benchmarks on the machine that was fitted to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pmemsim.calibration.fit import HUGE_PAGE_BYTES
from pmemsim.calibration.measurements import Measurement
from pmemsim.parallel import Report, run_all
from pmemsim.recording import record
from pmemsim.simulation import configure, simulate
from pmemsim.trace import Trace

# Address at which measured.h maps persistent memory.
PERSISTENT = "0x100000000000"
# This design adds nothing to the program's own stores, write-backs and fences.
DESIGN = "x86-bare"


def simulate_all(
    program: Path,
    wanted: list[Measurement],
    machine: Path,
    folder: Path,
    progress: Callable[[int, float], None] | None = None,
) -> dict[str, float]:
    """Record each micro-benchmark and simulate it; return nanoseconds an operation by name.

    `program` is built for recording; each recording is written to `folder` and removed after its
    simulation.
    """
    usual = configure(DESIGN, machine)
    huge = configure(DESIGN, machine, {"tlb.page_size": f"{HUGE_PAGE_BYTES}B"})

    def task(index: int, measured: Measurement) -> Callable[[Report], float]:
        def run(report: Report) -> float:
            trace = folder / f"{index}.pmt"
            operations = measured.recorded_operations
            command = [str(program), measured.loop, str(operations), "2"]
            # Persistent memory is recorded as the range that it is mapped to, whatever backs it.
            options = [option for option in measured.options if not option.startswith("file=")]
            record(
                [*command, *options], trace, pm_hints=[PERSISTENT], keep_going=lambda: report(0.3)
            )
            configuration = huge if measured.is_huge else usual
            result = simulate(Trace(trace), configuration, lambda part: report(0.5 + part / 2))
            trace.unlink()
            return result.time_ns / operations

        return run

    tasks = [task(index, measured) for index, measured in enumerate(wanted)]
    times = run_all(tasks, progress=progress)
    return {measured.name: ns for measured, ns in zip(wanted, times, strict=True)}
