"""`pmemsim matrix`: every design on the same workloads and one machine, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pmemsim import comparison as comparing
from pmemsim import matrices
from pmemsim.cli.choices import before_backends, each_configured, find_targets, names_of
from pmemsim.cli.command import DESIGN, EXPLORATION, declared, option
from pmemsim.cli.console import out, si, table
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
    sample_of,
)
from pmemsim.cli.recordings import open_each
from pmemsim.cli.rules import Given
from pmemsim.crashing import Points
from pmemsim.errors import CheckFailed, Error, Problems
from pmemsim.executor import Failure
from pmemsim.files import write_json
from pmemsim.jobs import Job
from pmemsim.matrices import Cell, Matrix, Plan
from pmemsim.presets import Setting, load_preset, preset_names
from pmemsim.simulation import check_values
from pmemsim.targets import Target
from pmemsim.trace import Trace


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

    @property
    def chosen_baseline(self) -> str:
        """The design that speedups are relative to."""
        redo = self.recipe.log == "redo"
        return self.baseline or (matrices.REDO_BASELINE if redo else matrices.BASELINE)

    def plan(self, targets: Sequence[str], problems: Problems) -> Plan:
        """Return the matrix to compute; raises a `ConfigError` with all errors."""
        simulation, baseline = self.simulation, self.chosen_baseline
        machine = simulation.machine
        outputs = (simulation.json_path, simulation.plot_path, self.execution.slurm_path)
        check_outputs(problems, simulation.json_path, simulation.plot_path)
        self.execution.check(problems)
        names = preset_names("design")
        if self.designs is not None:
            names = names_of(self.designs, problems)
        names = before_backends(names, self.backends, problems)
        keep_inputs(problems, outputs, (*targets, *names, baseline, machine))
        extra = simulation.settings(problems.found)
        _check_names([*names, baseline], machine, extra, problems)
        configured = each_configured([*names, baseline], machine, extra, problems)
        points = Points(sample_of(self.points, problems))
        found = find_targets(targets, self.recipe, problems)
        problems.raise_any()
        traces = open_each(found, self.execution.jobs)
        return Plan(
            workloads=dict(zip(_labels(list(targets), found, traces), traces, strict=True)),
            designs={load_preset("design", name).name: configured[name] for name in names},
            machine=load_preset("machine", machine).name,
            baseline=configured[baseline],
            points=points,
        )


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
    matrix = _measured(options.plan(wanted, given.problems()), options.execution)
    json_path, plot_path = options.simulation.json_path, options.simulation.plot_path
    if json_path:
        write_json("matrix", matrix.to_dict(), json_path)
    if plot_path:
        from pmemsim.plots import plot_matrix

        plot_matrix(matrix, plot_path)
    if json_path != "-":
        _print(matrix)
    _fail_if_wrong(matrix)


def _check_names(
    designs: list[str], machine: str, extra: tuple[Setting, ...], problems: Problems
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


def _labels(wanted: list[str], targets: list[Target], traces: list[Trace | Error]) -> list[str]:
    """Return a distinct name for each workload: `compare`'s, or the target's without a trace.

    If such names are equal, use the names that the user gave.
    """
    opened = [trace for trace in traces if isinstance(trace, Trace)]
    label_of = dict(zip(opened, comparing.labels_of(opened), strict=True))
    labels = [
        label_of[trace] if isinstance(trace, Trace) else target.name
        for target, trace in zip(targets, traces, strict=True)
    ]
    count = Counter(labels)
    return [text if count[label] > 1 else label for text, label in zip(wanted, labels, strict=True)]


def _measured(plan: Plan, execution: Execution) -> Matrix:
    failures: dict[str, Failure] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure

    execution.do(plan.jobs, "simulations and crashes", finished)
    matrix = plan.matrix(failures)
    if all(cell.pm_write_bytes is None for cell in matrix.cells):
        raise Error(f"no combination is possible: {matrix.cells[0].reason}")
    return matrix


def _print(matrix: Matrix) -> None:
    rows = []
    for workload in matrix.workloads:
        cells = [cell for cell in matrix.cells if cell.workload == workload]
        rows += [_row(cell, first=cell is cells[0]) for cell in cells]
    columns = [
        "workload", "design", f">over {matrix.baseline}", ">PM writes", ">energy", ">storage",
        ">points", ">violations", "why not",
    ]  # fmt: skip
    threads = sorted({cell.threads for cell in matrix.cells if cell.threads})
    title = f"machine {matrix.cells[0].machine}, {' and '.join(map(str, threads))} threads"
    out.print(table(title, columns, rows))


def _row(cell: Cell, first: bool) -> tuple[str, ...]:
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
        cell.reason or "",
    )


def _fail_if_wrong(matrix: Matrix) -> None:
    wrong = [cell for cell in matrix.cells if cell.violations]
    if wrong:
        named = ", ".join(f"{cell.design} on {cell.workload}" for cell in wrong)
        raise CheckFailed(
            f"violations in: {named}; `pmemsim crash TARGET --design DESIGN` with the same "
            "options explains the first one"
        )
