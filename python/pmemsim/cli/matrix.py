"""`pmemsim matrix`: every design on the same workloads and one machine, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pmemsim import matrices
from pmemsim.arguments import sample_of
from pmemsim.cli.choices import before_backends, find_targets, names_of
from pmemsim.cli.command import DESIGN, EXPLORATION, declared, option
from pmemsim.cli.console import out, progress_of, si, table
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import (
    Backends,
    MoreTargets,
    Recipe,
    Simulation,
    TargetsIfAny,
    all_targets,
    check_outputs,
    keep_inputs,
)
from pmemsim.crashing import Points
from pmemsim.errors import CheckFailed, Problems, printable
from pmemsim.matrices import Cell, Matrix, MatrixChoice, Plan, default_baseline, workload_labels
from pmemsim.presets import preset_names
from pmemsim.recordings import open_each
from pmemsim.rules import Given


@dataclass(frozen=True)
class _Options:
    """Options that select what to simulate and crash."""

    simulation: Simulation
    execution: Execution
    recipe: Recipe
    more_targets: MoreTargets = None
    designs: Annotated[str | None, option(
        DESIGN, "--designs", "-d", value="DESIGN,...", default="all",
        help="The designs to simulate, separated by commas.",
    )] = None  # fmt: skip
    backends: Backends = None
    baseline: Annotated[str | None, option(
        DESIGN, "--baseline", value="DESIGN",
        default=f"{matrices.BASELINE}; with --log redo {matrices.REDO_BASELINE}",
        help="The design to which speedups are relative.",
    )] = None  # fmt: skip
    points: Annotated[str, option(
        EXPLORATION, "--points", value="N|all",
        help="Crashes each cell at N random points, or at all points.",
    )] = str(matrices.POINTS)  # fmt: skip

    def plan(self, targets: Sequence[str], problems: Problems) -> Plan:
        """Return the matrix to compute; raises a `ConfigError` with all errors."""
        simulation = self.simulation
        baseline = self.baseline or default_baseline(self.recipe.log)
        machine = simulation.machine
        outputs = (simulation.json_path, simulation.plot_path, self.execution.slurm_path)
        check_outputs(problems, simulation.json_path, simulation.plot_path)
        self.execution.check(problems)
        names = preset_names("design")
        if self.designs is not None:
            names = names_of(self.designs, problems)
        names = before_backends(names, self.backends, problems)
        keep_inputs(problems, outputs, (*targets, *names, baseline, machine))
        choice = MatrixChoice(
            designs=names,
            machine=machine,
            extra=simulation.settings(problems.found),
            baseline=baseline,
            points=Points(sample_of(self.points, problems)),
        )
        configured = choice.configured(problems)
        found = find_targets(targets, self.recipe, problems)
        problems.raise_any()
        traces = open_each(found, self.execution.jobs, progress_of)
        return choice.plan(workload_labels(targets, found, traces), configured)


@declared
def matrix_command(targets: TargetsIfAny = None, *, given: Given, options: _Options) -> None:
    """Simulate and crash every design on the same workloads and one machine, side by side.

    For example:

        pmemsim matrix --workloads queue,hashmap --machine asap --threads 4
        pmemsim matrix queue --designs np,asap,mine.yaml -m lalea --json out.json --plot out.png
        pmemsim matrix queue --designs sw-undo,asap --backends none,verified-janus -m janus

    Each cell shows:

    * the speedup over sw-undo (or --baseline) on the same recording and machine;

    * the bytes written to PM;

    * the run's energy, which only designs with backend operations have;

    * the bytes of storage that the design adds to the chip;

    * the number of crash points whose recovered image is wrong.

    A combination that is not possible shows a reason instead of numbers, and does not affect other
    cells. Results are kept in the cache folder, so a second run computes only missing ones. The
    exit code is 1 if an image is wrong.
    """
    wanted = all_targets(targets, options.more_targets)
    matrix = options.plan(wanted, given.problems()).measured(options.execution.do)
    json_path, plot_path = options.simulation.json_path, options.simulation.plot_path
    if json_path:
        matrix.to_json(json_path)
    if plot_path:
        matrix.save_plot(plot_path)
    if json_path != "-":
        _print(matrix)
    _fail_if_wrong(matrix)


def _print(matrix: Matrix) -> None:
    reasons = list(dict.fromkeys(cell.reason for cell in matrix.cells if cell.reason))
    rows = []
    for workload in matrix.workloads:
        cells = [cell for cell in matrix.cells if cell.workload == workload]
        rows += [_row(cell, cell is cells[0], reasons) for cell in cells]
    columns = [
        "workload", "design", f">over {matrix.baseline}", ">PM writes", "?energy", "?storage",
        ">points", ">violations", *([">note"] if reasons else []),
    ]  # fmt: skip
    threads = sorted({cell.threads for cell in matrix.cells if cell.threads})
    title = f"machine {matrix.cells[0].machine}, {' and '.join(map(str, threads))} threads"
    out.print(table(title, columns, rows))
    for number, reason in enumerate(reasons, 1):
        out.print(f"note {number}: {printable(reason)}", markup=False)


def _row(cell: Cell, first: bool, reasons: Sequence[str]) -> tuple[str, ...]:
    def shown(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        cell.workload if first else "",
        cell.design,
        shown(cell.speedup, ".3f"),
        "-" if cell.pm_write_bytes is None else f"{si(cell.pm_write_bytes)}B",
        "-" if cell.energy_nj is None else f"{cell.energy_nj / 1e6:.3g} mJ",
        "-" if cell.storage_bytes is None else f"{si(cell.storage_bytes)}B",
        shown(cell.points, ","),
        shown(cell.violations, ","),
        *([str(reasons.index(cell.reason) + 1) if cell.reason else ""] if reasons else []),
    )


def _fail_if_wrong(matrix: Matrix) -> None:
    wrong = [cell for cell in matrix.cells if cell.violations]
    if wrong:
        named = ", ".join(f"{cell.design} on {cell.workload}" for cell in wrong)
        raise CheckFailed(
            f"violations in: {named}; `pmemsim crash TARGET --design DESIGN` with the same "
            "options explains the first one"
        )
