"""`pmemsim matrix`: every design on the same workloads and one machine, side by side."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from pmemsim import comparison as comparing
from pmemsim import matrix as matrices
from pmemsim.cli.choices import Backends, before_backends, distinct, names_of, refuse_idle
from pmemsim.cli.console import out, si, table
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import (
    Recipe,
    Simulation,
    check_outputs,
    keep_inputs,
    options_of,
    sample_of,
)
from pmemsim.cli.recordings import open_each
from pmemsim.crash import Points
from pmemsim.errors import CheckFailed, Error, Problems
from pmemsim.executor import Failure
from pmemsim.files import write_json
from pmemsim.jobs import Job
from pmemsim.matrix import Cell, Matrix, Plan
from pmemsim.presets import Setting, load_preset, preset_names
from pmemsim.simulation import Configuration, check_values, configure
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace


@options_of(Recipe)
@options_of(Simulation)
@options_of(Execution)
def matrix_command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Workloads' names or traces (.pmt).", metavar="TARGET"),
    ] = None,
    *,
    more_targets: Annotated[
        str | None, typer.Option("--workloads", help="Targets, by commas.")
    ] = None,
    designs: Annotated[
        str | None, typer.Option("--designs", "-d", help="Designs, by commas; default: all.")
    ] = None,
    backends: Backends = None,
    simulation: Simulation,
    recipe: Recipe,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            help="The design that speedups are over.",
            show_default=f"({matrices.BASELINE}; with --log redo: {matrices.REDO_BASELINE})",
        ),
    ] = None,
    points: Annotated[
        str,
        typer.Option(
            "--points", help="Crash points of each cell, chosen at random; or `all` of them."
        ),
    ] = str(matrices.POINTS),
    execution: Execution,
) -> None:
    """Simulate and crash every design on the same workloads and one machine, side by side.

    For example:

        pmemsim matrix --workloads queue,hashmap --machine asap --threads 4
        pmemsim matrix queue --designs np,asap,mine.yaml -m lalea --json out.json --plot out.png
        pmemsim matrix queue --designs sw-undo,asap --backends none,verified-janus -m janus

    Of each cell: the speedup over sw-undo (or --baseline) on the same recording and machine, the
    bytes written to PM, the bytes that the design adds on the chip, and at how many crash points
    recovery left something wrong. What can't work has no numbers, but a reason, and takes nothing
    else with it. Results are kept in the cache folder: a second run does only what is missing.
    The exit code is 1 if an image is wrong.
    """
    if baseline is None:
        redo = recipe.arguments["log"] == "redo"
        baseline = matrices.REDO_BASELINE if redo else matrices.BASELINE
    problems = Problems()
    with problems.collected():
        check_outputs(simulation.json_path, simulation.plot_path)
    execution.check(problems)
    names = preset_names("design") if designs is None else names_of(designs, problems)
    names = before_backends(names, backends, problems)
    wanted = distinct(
        [*(targets or []), *(more_targets.split(",") if more_targets else [])], "target", problems
    )
    if not wanted:
        problems.add(["name at least one target: a workload or a trace (.pmt)"])
    outputs = (simulation.json_path, simulation.plot_path, execution.slurm_path)
    keep_inputs(problems, outputs, (*wanted, *names, baseline, simulation.machine))
    extra = simulation.settings(problems.found)
    _check_names([*names, baseline], simulation.machine, extra, problems)
    refuse_idle([*names, baseline], simulation.machine, extra, problems)
    chosen_points = Points(sample_of(points, problems))
    found = []
    for target in wanted:
        with problems.collected():
            found.append(find_target(target, opt=recipe.opt, **recipe.arguments))
    problems.raise_any()
    traces = open_each(found, execution.jobs)
    plan = Plan(
        workloads=dict(zip(_labels(wanted, found, traces), traces, strict=True)),
        designs={
            load_preset("design", name).name: _configured(name, simulation.machine, extra)
            for name in names
        },
        machine=load_preset("machine", simulation.machine).name,
        baseline=_configured(baseline, simulation.machine, extra),
        points=chosen_points,
    )
    matrix = _measured(plan, execution)
    if simulation.json_path:
        write_json(matrix.to_dict(), simulation.json_path)
    if simulation.plot_path:
        from pmemsim.plots import plot_matrix

        plot_matrix(matrix, simulation.plot_path)
    if simulation.json_path != "-":
        _print(matrix)
    _fail_if_wrong(matrix)


def _check_names(
    designs: list[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> None:
    """Note what is wrong whatever goes together: names, files, parameters."""
    with problems.collected():
        load_preset("machine", machine)
    names = []
    for design in dict.fromkeys(designs):
        with problems.collected():
            names.append(load_preset("design", design).name)
    problems.add(
        f"{names.count(name)} of the designs have the name '{name}'; give each file its own"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    )
    with problems.collected():
        check_values(extra)


def _labels(wanted: list[str], targets: list[Target], traces: list[Trace | Error]) -> list[str]:
    """A name of its own for each: as `compare` has it, or the target's where there is no trace.

    Where these are the same, all have what the user has called them.
    """
    opened = [trace for trace in traces if isinstance(trace, Trace)]
    label_of = dict(zip(opened, comparing.labels_of(opened), strict=True))
    labels = [
        label_of[trace] if isinstance(trace, Trace) else target.name
        for target, trace in zip(targets, traces, strict=True)
    ]
    count = Counter(labels)
    return [text if count[label] > 1 else label for text, label in zip(wanted, labels, strict=True)]


def _configured(design: str, machine: str, extra: tuple[Setting, ...]) -> Configuration | Error:
    try:
        return configure(design, machine, extra=extra)
    except Error as error:
        return error


def _measured(plan: Plan, execution: Execution) -> Matrix:
    failures: dict[str, Failure] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure

    execution.do(plan.jobs, "simulations and crashes", finished)
    matrix = plan.matrix(failures)
    if all(cell.pm_write_bytes is None for cell in matrix.cells):
        raise Error(f"no cell can work: {matrix.cells[0].reason}")
    return matrix


def _print(matrix: Matrix) -> None:
    rows = []
    for workload in matrix.workloads:
        cells = [cell for cell in matrix.cells if cell.workload == workload]
        rows += [_row(cell, first=cell is cells[0]) for cell in cells]
    columns = [
        "workload", "design", f">over {matrix.baseline}", ">PM writes", ">storage", ">points",
        ">violations", "why not",
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
            f"violations in: {named}; `pmemsim crash TARGET --design DESIGN` with the same options "
            "tells what went wrong"
        )
