"""Build the matrix: every design on the same workloads and one machine, side by side.

A cell is one workload on one design: its speed, its writes to PM, its energy, its cost on the chip,
and whether it recovers wherever it crashes. A value that can't be determined is None, and the
cell's reason says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim import result_cache
from pmemsim.chosen import each_configured
from pmemsim.comparison import labels_of
from pmemsim.crashing import Points
from pmemsim.errors import Error, Problems, on_one_line
from pmemsim.executor import Failure
from pmemsim.jobs import Crash, Crashes, Job, Outcome, Simulate
from pmemsim.presets import Setting, load_preset
from pmemsim.results import Plot, Results
from pmemsim.runner import Do
from pmemsim.simulation import Configuration, check_values
from pmemsim.storage import Unknown, storage_of, total_bytes
from pmemsim.targets import Target
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
class Matrix(Results, Plot["tuple[Axes, Axes]"]):
    """All cells, workload by workload, in the order of the designs.

    Example:
        `pmemsim.matrix("queue", machine="asap", designs=["np"], points=10).to_frame()["speedup"]`
    """

    cells: tuple[Cell, ...]
    """The cells, with the speedup, bytes written to PM, energy, storage and violations of each."""
    baseline: str
    """The design that speedups are relative to."""
    configurations: Mapping[str, Configuration]
    """The possible designs on the machine, and the baseline."""
    command: ClassVar = "matrix"

    @property
    def title(self) -> str:
        """Name the machine and the baseline."""
        return f"machine {self.cells[0].machine}; speedups over {self.baseline}"

    @property
    def workloads(self) -> list[str]:
        """Return the workloads, in their order."""
        return list(dict.fromkeys(cell.workload for cell in self.cells))

    @property
    def designs(self) -> list[str]:
        """Return the designs, in their order."""
        return list(dict.fromkeys(cell.design for cell in self.cells))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each cell, by workload and design; values that don't exist are empty."""
        import pandas as pd

        frame = pd.DataFrame([vars(cell) for cell in self.cells])
        # Missing values would make columns of objects.
        counts = dict.fromkeys(("points", "violations"), "Int64")
        numbers = dict.fromkeys(("speedup", "energy_nj", "storage_bytes"), "float64")
        return frame.astype(counts | numbers).set_index(["workload", "design"])

    @property
    def _size(self) -> tuple[float, float]:
        return max(6.5, 2.0 + 0.55 * len(self.designs)), 3.2 + 0.7 * len(self.workloads)

    def _draw(self, figure: Figure) -> tuple[Axes, Axes]:
        """Draw heat maps of the speedups and of the PM write traffic; wrong designs are marked."""
        from pmemsim.plots import heat_map

        top, bottom = figure.subplots(2, 1)
        places = [(cell.workload, cell.design) for cell in self.cells]
        speedups = dict(zip(places, (cell.speedup for cell in self.cells), strict=True))
        written = dict(zip(places, (_megabytes(cell) for cell in self.cells), strict=True))
        marks = dict(zip(places, map(_mark, self.cells), strict=True))
        shape = (self.workloads, self.designs)
        heat_map(top, *shape, speedups, marks, "viridis")
        top.set_title(f"throughput over {self.baseline}", fontsize=9)
        heat_map(bottom, *shape, written, marks, "cividis_r")
        bottom.set_title("written to PM (MB)", fontsize=9)
        figure.suptitle(
            f"machine {self.cells[0].machine}; !: a crash leaves a wrong image, ?: not verified",
            fontsize=10,
        )
        return top, bottom

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix for `--json` (keys: docs/reference/results.md)."""
        return {
            "baseline": self.baseline,
            "cells": [vars(cell) for cell in self.cells],
            "configurations": {name: each.to_dict() for name, each in self.configurations.items()},
        }


def _megabytes(cell: Cell) -> float | None:
    return None if cell.pm_write_bytes is None else cell.pm_write_bytes / 1e6


def _mark(cell: Cell) -> str:
    return "?" if cell.violations is None else "!" if cell.violations else ""


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

    def measured(self, do: Do) -> Matrix:
        """Run the jobs without kept results; raises an `Error` if no combination is possible."""
        failures: dict[str, Failure] = {}

        def finished(job: Job, failure: Failure | None) -> None:
            if failure:
                failures[job.key] = failure

        do(self.jobs, "simulations and crashes", finished)
        matrix = self.matrix(failures)
        if all(cell.pm_write_bytes is None for cell in matrix.cells):
            raise Error(f"no combination is possible: {matrix.cells[0].reason}")
        return matrix

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


def workload_labels(
    wanted: Sequence[str], targets: Sequence[Target], traces: Sequence[Trace | Error]
) -> dict[str, Trace | Error]:
    """Return the recordings by distinct names: `compare`'s, or the target's without a trace.

    If such names are equal, use the names that the user gave.
    """
    opened = [trace for trace in traces if isinstance(trace, Trace)]
    label_of = dict(zip(opened, labels_of(opened), strict=True))
    labels = [
        label_of[trace] if isinstance(trace, Trace) else target.name
        for target, trace in zip(targets, traces, strict=True)
    ]
    count = Counter(labels)
    names = [
        text if count[label] > 1 else label for text, label in zip(wanted, labels, strict=True)
    ]
    return dict(zip(names, traces, strict=True))


def _check_names(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> None:
    """Add errors that don't depend on combinations: wrong names, files and parameters."""
    with problems.collected():
        load_preset("machine", machine)
    names = []
    for design in dict.fromkeys(designs):
        with problems.collected():
            names.append(load_preset("design", design).name)
    problems.add(
        f"{names.count(name)} of the designs have the name '{name}'; give each file a unique name"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    )
    with problems.collected():
        check_values(extra)


def default_baseline(log: str | None) -> str:
    """Return the baseline of workloads that are recorded with this software log."""
    return REDO_BASELINE if log == "redo" else BASELINE


@dataclass(frozen=True)
class MatrixChoice:
    """The designs that a user wants side by side on a machine."""

    designs: Sequence[str]
    machine: str
    extra: tuple[Setting, ...]
    """The user's settings."""
    baseline: str
    points: Points

    def configured(self, problems: Problems) -> dict[str, Configuration | Error]:
        """Return the designs on the machine, or why they are incompatible with it.

        Errors that don't depend on combinations are problems.
        """
        if self.baseline not in self.designs:
            try:
                load_preset("design", self.baseline)
            except Error as error:
                problems.add([f"--baseline {self.baseline}: {on_one_line(error)}"])
                return {}
        names = [*self.designs, self.baseline]
        _check_names(names, self.machine, self.extra, problems)
        return each_configured(names, self.machine, self.extra, problems)

    def plan(
        self,
        workloads: Mapping[str, Trace | Error],
        configured: Mapping[str, Configuration | Error],
    ) -> Plan:
        """Return the matrix of these recordings and configurations."""
        return Plan(
            workloads=workloads,
            designs={load_preset("design", name).name: configured[name] for name in self.designs},
            machine=load_preset("machine", self.machine).name,
            baseline=configured[self.baseline],
            points=self.points,
        )


def _result(
    job: Job, result: type[result_cache.Result], failures: Mapping[str, Failure], reasons: list[str]
) -> result_cache.Result | None:
    """Return the job's result; if there is none, add the reason to `reasons`."""
    if failure := failures.get(job.key):
        reasons.append(failure.reason)
        return None
    return result_cache.load(job, result)
