"""`pmemsim sweep`: simulate all combinations that a file asks for."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pmemsim.cli.console import err, out
from pmemsim.cli.execution import Scheduler, check_execution, do_missing, execution
from pmemsim.cli.options import Jobs, keep_inputs
from pmemsim.cli.recordings import open_each
from pmemsim.errors import Error, Problems
from pmemsim.executor import Failure
from pmemsim.files import check_writable, replacing
from pmemsim.jobs import Job
from pmemsim.sweep import slurm
from pmemsim.sweep.points import Point, points_of
from pmemsim.sweep.slurm import Share
from pmemsim.sweep.spec import Spec, read_spec

if TYPE_CHECKING:
    from pmemsim.sweep.table import Row


def sweep_command(
    spec_path: Annotated[
        Path, typer.Argument(help="A YAML file that says what is varied.", metavar="SPEC")
    ],
    out_path: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file of the results.",
            show_default="SPEC's name with .parquet",
        ),
    ] = None,
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    slurm_path: Annotated[
        Path | None,
        typer.Option(
            "--slurm",
            help="Simulate nothing, but record the workloads and write a job array for Slurm's "
            "sbatch to this file.",
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(
            "--tasks",
            help="With --slurm: tasks of the array, each with a share of the points.",
            show_default=f"{slurm.DEFAULT_TASKS}, or the points if there are fewer",
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            "--at-once",
            help="With --slurm: tasks that may run at a time, at most.",
            show_default=f"({slurm.DEFAULT_AT_ONCE})",
        ),
    ] = None,
    share_text: Annotated[
        str | None,
        typer.Option(
            "--share",
            help="Simulate the K-th of N shares alone, from 0, as in `0/16`, into a file of its "
            "own; what tasks of --slurm do.",
            metavar="K/N",
        ),
    ] = None,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect", help="Simulate nothing, but make one file of those of all shares."
        ),
    ] = False,
) -> None:
    """Simulate all combinations of workloads, designs, machines and parameters that a file names.

    For example, with a file latency.yaml:

        axes:
          workload: [queue, hashmap]
          design: [sw-undo, asap]
          machine: asap
          threads: [1, 2, 4]
        paired:
          - pm.read_latency: [100ns, 300ns]
            pm.write_latency: [50ns, 150ns]

        pmemsim sweep latency.yaml
        pmemsim sweep latency.yaml --scheduler tcp://host:8786
        pmemsim sweep latency.yaml --slurm latency.sh --tasks 16 --at-once 4

    The results are a row a point in one Parquet file (pandas.read_parquet reads it). A point that
    fails has a reason in its row, and takes no other with it. Every result is kept as soon as it
    is there: after Ctrl-C or a crash, the same command goes on where it stopped, and tries again
    what failed. docs/sweep.md says what can stand in the file.
    """
    problems = Problems()
    out_path = out_path or spec_path.with_suffix(".parquet")
    with problems.collected():
        check_execution(scheduler, jobs)
    with problems.collected():
        check_writable(out_path)
    keep_inputs(problems, [out_path, slurm_path], [str(spec_path)])
    problems.add(_conflicts(scheduler, slurm_path, tasks, at_once, share_text, collect))
    share = None
    if share_text is not None:
        with problems.collected():
            share = Share.parse(share_text)
    spec = None
    with problems.collected():
        spec = read_spec(spec_path)
    problems.raise_any()
    assert spec is not None
    if slurm_path is not None:
        _write_script(spec, spec_path, out_path, slurm_path, tasks, at_once, jobs)
    elif collect:
        _collect(spec, spec_path, out_path)
    else:
        _simulate(spec, spec_path, out_path, share, scheduler, jobs)


def _conflicts(
    scheduler: str | None,
    slurm_path: Path | None,
    tasks: int | None,
    at_once: int | None,
    share: str | None,
    collect: bool,
) -> list[str]:
    ways = {
        "--scheduler": scheduler is not None,
        "--slurm": slurm_path is not None,
        "--share": share is not None,
        "--collect": collect,
    }
    chosen = [name for name, given in ways.items() if given]
    found = []
    if len(chosen) > 1:
        found.append(f"{' and '.join(chosen)}: give one of them")
    if tasks is not None and slurm_path is None:
        found.append(f"--tasks {tasks}: is for --slurm; leave it out")
    if tasks is not None and not 1 <= tasks <= slurm.MOST_TASKS:
        found.append(f"--tasks {tasks}: must be 1 to {slurm.MOST_TASKS}")
    if at_once is not None and slurm_path is None:
        found.append(f"--at-once {at_once}: is for --slurm; leave it out")
    if at_once is not None and at_once < 1:
        found.append(f"--at-once {at_once}: must be at least 1")
    return found


def _points(spec: Spec, spec_path: Path, share: Share | None, jobs: int | None) -> list[Point]:
    """The points, or a share of them; what they need is recorded."""
    combinations = list(spec.combinations())
    return points_of(
        share.take(combinations) if share else combinations,
        lambda targets: open_each(targets, jobs),
        str(spec_path),
    )


def _simulate(
    spec: Spec,
    spec_path: Path,
    out_path: Path,
    share: Share | None,
    scheduler: str | None,
    jobs: int | None,
) -> None:
    from pmemsim.sweep import table  # takes longer to load than many commands to run

    path = share.part(out_path) if share else out_path
    known = table.read_results(path, spec.names)
    points = _points(spec, spec_path, share, jobs)
    table.check_same_sweep(path, known, points)
    if known:
        err.print(f"{len(known)} results are in {path} already", markup=False)
    failures: dict[str, str] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure.reason

    todo = [point.job for point in points if point.job and point.job.key not in known]
    if todo:
        with execution(scheduler, jobs) as executor:
            do_missing(todo, executor, "simulations", finished)
    rows = [table.row_of(point, known, failures) for point in points]
    table.write(rows, spec.names, path)
    _report(rows, path)


def _collect(spec: Spec, spec_path: Path, out_path: Path) -> None:
    from pmemsim.sweep import table

    parts = slurm.parts_of(out_path)
    if not parts:
        raise Error(
            f"--collect: there are no files of shares beside {out_path}; run the tasks first"
        )
    known = table.read_results(out_path, spec.names)
    for part in parts:
        known |= table.read_results(part, spec.names)
    points = _points(spec, spec_path, None, None)
    table.check_same_sweep(out_path, known, points)
    failures = {
        point.job.key: "no share's file has it; run the tasks again, or the sweep without --collect"
        for point in points
        if point.job and point.job.key not in known
    }
    rows = [table.row_of(point, known, failures) for point in points]
    table.write(rows, spec.names, out_path)
    _report(rows, out_path)


def _write_script(
    spec: Spec,
    spec_path: Path,
    out_path: Path,
    slurm_path: Path,
    tasks: int | None,
    at_once: int | None,
    jobs: int | None,
) -> None:
    check_writable(slurm_path)
    points = _points(spec, spec_path, None, jobs)  # recorded now, so that no task has to
    count = min(tasks or slurm.DEFAULT_TASKS, len(points))
    at_once = min(slurm.DEFAULT_AT_ONCE if at_once is None else at_once, count)
    collect = ["sweep", str(spec_path), "--out", str(out_path), "--collect"]
    with replacing(slurm_path) as partial:
        partial.write_text(slurm.script(spec_path, out_path, count, at_once))
    out.print(
        f"{len(points)} points in {count} tasks, at most {at_once} at a time\n"
        f"to start them: {shlex.join(['sbatch', str(slurm_path)])}\n"
        f"when all have ended: {shlex.join(['pmemsim', *collect])}",
        markup=False,
    )


def _report(rows: Sequence[Row], path: Path) -> None:
    from pmemsim.sweep.table import FAILED

    failed = [row for row in rows if row["status"] == FAILED]
    for reason, count in Counter(row["reason"] for row in failed).most_common():
        err.print(f"pmemsim: {count} failed: {reason}", markup=False)
    if not rows:
        raise Error(f"the share has no point; {path} is empty")
    if len(failed) == len(rows):
        raise Error(f"no point has worked; {path} has the reasons")
    done = len(rows) - len(failed)
    out.print(f"{done} of {len(rows)} points have results; all are in {path}", markup=False)
