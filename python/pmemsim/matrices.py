"""Build the matrix: every design on the same workloads and one machine, side by side.

A cell is one workload on one design: its speed, its writes to PM, its energy, its cost on the chip,
and whether it recovers wherever it crashes. A value that can't be determined is None, and the
cell's reason says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmemsim import result_cache
from pmemsim.crashing import Points
from pmemsim.errors import Error, on_one_line
from pmemsim.executor import Failure
from pmemsim.jobs import Crash, Crashes, Job, Outcome, Simulate
from pmemsim.simulation import Configuration
from pmemsim.storage import Unknown, storage_of, total_bytes
from pmemsim.trace import Trace

BASELINE = "sw-undo"
"""Default design that speedups are relative to."""
REDO_BASELINE = "sw-redo"
"""Default baseline for workloads that are recorded with a redo log."""
POINTS = 10_000
"""Default number of crash points of a cell."""


@dataclass(frozen=True)
class Cell:
    """One workload on one design."""

    workload: str
    design: str
    machine: str
    threads: int | None
    """Simulated cores that ran a thread."""
    speedup: float | None
    """The baseline's simulated time divided by this design's."""
    pm_write_bytes: int | None
    """Bytes written to the PM device."""
    energy_nj: float | None
    """Energy of the run; None without backend operations, too."""
    storage_bytes: float | None
    """Bytes on the chip that the design adds to the machine."""
    points: int | None
    """Crash points visited."""
    violations: int | None
    """Crash points with a violation."""
    trace_hash: str | None
    reason: str | None
    """Reason why a value is None."""


@dataclass(frozen=True)
class Matrix:
    """All cells, workload by workload, in the order of the designs."""

    cells: tuple[Cell, ...]
    baseline: str
    configurations: Mapping[str, Configuration]
    """The possible designs on the machine, and the baseline."""

    @property
    def workloads(self) -> list[str]:
        """Return the workloads, in their order."""
        return list(dict.fromkeys(cell.workload for cell in self.cells))

    @property
    def designs(self) -> list[str]:
        """Return the designs, in their order."""
        return list(dict.fromkeys(cell.design for cell in self.cells))

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix for `--json` (keys: docs/reference/results.md)."""
        return {
            "baseline": self.baseline,
            "cells": [vars(cell) for cell in self.cells],
            "configurations": {name: each.to_dict() for name, each in self.configurations.items()},
        }


@dataclass(frozen=True)
class Plan:
    """The cells and runs of a matrix, before any job is done."""

    workloads: Mapping[str, Trace | Error]
    """Recordings, or the reasons why there are none."""
    designs: Mapping[str, Configuration | Error]
    """Designs on the machine, or the reasons why they are incompatible with it."""
    machine: str
    baseline: Configuration | Error
    points: Points

    @property
    def jobs(self) -> list[Job]:
        """Return all jobs: simulations, the baseline's among them, and crashes."""
        found = []
        for trace in self.workloads.values():
            if isinstance(trace, Error):
                continue
            for configuration in (self.baseline, *self.designs.values()):
                if isinstance(configuration, Configuration):
                    found.append(Job(trace, Simulate(configuration)))
            for configuration in self.designs.values():
                if isinstance(configuration, Configuration):
                    found.append(Job(trace, Crash(configuration, self.points)))
        return found

    def matrix(self, failures: Mapping[str, Failure]) -> Matrix:
        """Return the matrix of the kept results; `failures` has jobs' failures by their keys."""
        cells = [
            self._cell(workload, trace, design, configuration, failures)
            for workload, trace in self.workloads.items()
            for design, configuration in self.designs.items()
        ]
        possible = {
            name: each for name, each in self.designs.items() if isinstance(each, Configuration)
        }
        name = ""
        if isinstance(self.baseline, Configuration):
            name = self.baseline.design.name
            possible.setdefault(name, self.baseline)
        return Matrix(tuple(cells), name, possible)

    def _cell(
        self,
        workload: str,
        trace: Trace | Error,
        design: str,
        configuration: Configuration | Error,
        failures: Mapping[str, Failure],
    ) -> Cell:
        reasons = [on_one_line(part) for part in (trace, configuration) if isinstance(part, Error)]
        outcome = base = crash = storage = None
        if isinstance(configuration, Configuration):
            structures = storage_of(configuration)
            if isinstance(structures, Unknown):
                reasons.append(f"storage: {structures.reason}")
            else:
                storage = total_bytes(structures)
        if isinstance(configuration, Configuration) and isinstance(trace, Trace):
            outcome = _result(Job(trace, Simulate(configuration)), Outcome, failures, reasons)
            base = self._baseline_of(trace, failures, reasons)
            crashed = Job(trace, Crash(configuration, self.points))
            crash = _result(crashed, Crashes, failures, reasons)
        return Cell(
            workload=workload,
            design=design,
            machine=self.machine,
            threads=outcome.threads if outcome else None,
            speedup=base.time_ns / outcome.time_ns if base and outcome else None,
            pm_write_bytes=outcome.pm_write_bytes if outcome else None,
            energy_nj=outcome.stats.get("energy.total_nj") if outcome else None,
            storage_bytes=storage,
            points=crash.points if crash else None,
            violations=crash.violations if crash else None,
            trace_hash=outcome.trace_hash if outcome else None,
            reason="; ".join(dict.fromkeys(reasons)) or None,
        )

    def _baseline_of(
        self, trace: Trace, failures: Mapping[str, Failure], reasons: list[str]
    ) -> Outcome | None:
        """Return the baseline's run, without which there is no speedup."""
        if isinstance(self.baseline, Error):
            reasons.append(f"no baseline: {on_one_line(self.baseline)}")
            return None
        why: list[str] = []
        outcome = _result(Job(trace, Simulate(self.baseline)), Outcome, failures, why)
        reasons += [f"no baseline: {reason}" for reason in why if reason not in reasons]
        return outcome


def _result(
    job: Job, result: type[result_cache.Result], failures: Mapping[str, Failure], reasons: list[str]
) -> result_cache.Result | None:
    """Return the job's result; if there is none, add the reason to `reasons`."""
    if failure := failures.get(job.key):
        reasons.append(failure.reason)
        return None
    return result_cache.load(job, result)
