"""`pmemsim sweep`: simulate all combinations of the values in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pmemsim.cli.command import OUTPUT, argument, declared, option
from pmemsim.cli.console import err, out
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.cli.recordings import open_each
from pmemsim.cli.rules import Given
from pmemsim.errors import Error
from pmemsim.executor import Failure
from pmemsim.files import write_json
from pmemsim.jobs import Job
from pmemsim.sweeping.points import points_of
from pmemsim.sweeping.spec import read_spec

if TYPE_CHECKING:
    from pmemsim.sweeping.table import Row


@declared
def sweep_command(
    spec_path: Annotated[Path, argument("SPEC", "A YAML file that lists the values to vary.")],
    *,
    given: Given,
    out_path: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--out",
            "-o",
            value="FILE",
            default="SPEC with the suffix .parquet",
            help="The file to which the results are written: CSV with the suffix .csv, or Parquet.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        option(
            OUTPUT,
            "--plot",
            value="x=AXIS,y=COLUMN,hue=AXIS",
            help="Plots a column over an axis, with a line for each value of another axis. "
            "Without y, the column is `speedup`.",
        ),
    ] = None,
    plot_path: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--plot-file",
            value="FILE",
            default="the name of --out with the suffix .png",
            help="The plot's file, whose suffix selects the format: .png, .pdf or .svg.",
        ),
    ] = None,
    json_path: Json = None,
    execution: Execution,
) -> None:
    """Simulate all combinations of workloads, designs, machines and parameters in a YAML file.

    For example, with a file latency.yaml:

        axes:
          workload: [queue, hashmap]
          design: [sw-undo, asap]
          machine: asap
          threads: [1, 2, 4]
        paired:
          - pm.trcd: [14ns, 140ns]
            pm.twr: [15ns, 150ns]

        pmemsim sweep latency.yaml
        pmemsim sweep latency.yaml --scheduler tcp://host:8786
        pmemsim sweep latency.yaml -o latency.csv --plot x=threads,y=speedup,hue=design
        pmemsim sweep latency.yaml --slurm latency.sh --tasks 16 --at-once 4

    The results are written to one file with a row for each point, which pandas.read_parquet or
    pandas.read_csv reads; parameters are numbers there. A point that fails has the reason in its
    row, and does not affect other points. Each result is kept at once: after Ctrl-C or a crash, the
    same command continues, and repeats failed points.
    docs/guides/sweep.md describes the YAML file.
    """
    from pmemsim.sweeping import series, table  # take longer to load than many commands to run

    problems = given.problems()
    out_path = out_path or spec_path.with_suffix(".parquet")
    if plot:
        plot_path = plot_path or out_path.with_suffix(".png")
    execution.check(problems)
    check_outputs(problems, json_path, plot_path, files=[out_path])
    outputs = [out_path, plot_path, json_path, execution.slurm_path]
    keep_inputs(problems, outputs, [str(spec_path)])
    spec = wanted = None
    with problems.collected():
        spec = read_spec(spec_path)
        wanted = series.wanted_of(plot, spec) if plot else None
    problems.raise_any()
    assert spec is not None
    known = table.read_results(out_path, spec.names)
    points = points_of(
        list(spec.combinations()),
        lambda targets: open_each(targets, execution.jobs),
        str(spec_path),
    )
    table.check_same_sweep(out_path, known, points)
    if known:
        err.print(f"{len(known)} results are already in {out_path}", markup=False)
    failures: dict[str, str] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure.reason

    jobs = [point.job for point in points if point.job]
    execution.do(jobs, "simulations", finished, known)
    rows = [table.row_of(point, known, failures) for point in points]
    found = table.table_of(rows, spec)
    table.write(found, out_path)
    if json_path:
        write_json("sweep", table.to_dict(found, spec), json_path)
    _report(rows, out_path, quiet=json_path == "-")
    if wanted and plot_path:
        from pmemsim.plots import plot_series

        plot_series(series.series_of(wanted, found, spec), plot_path)


def _report(rows: Sequence[Row], path: Path, *, quiet: bool) -> None:
    from pmemsim.sweeping.table import FAILED

    failed = [row for row in rows if row["status"] == FAILED]
    for reason, count in Counter(row["reason"] for row in failed).most_common():
        err.print(f"pmemsim: {count} failed: {reason}", markup=False)
    if len(failed) == len(rows):
        raise Error(f"all points failed; {path} contains the reasons")
    done = len(rows) - len(failed)
    if not quiet:
        out.print(f"{done} of {len(rows)} points have results; all are in {path}", markup=False)
