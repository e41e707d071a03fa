"""`pmemsim sweep`: simulate all combinations of the values in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pmemsim.cli.command import OUTPUT, argument, declared, option
from pmemsim.cli.console import err, out, progress_of
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.errors import Error
from pmemsim.recordings import open_each
from pmemsim.rules import Given
from pmemsim.sweeping.spec import read_spec

if TYPE_CHECKING:
    pass


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
    # These modules take longer to load than many commands to run.
    from pmemsim.sweeping import series
    from pmemsim.sweeping.run import run_sweep

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
    results = run_sweep(
        spec,
        str(spec_path),
        out_path,
        lambda targets: open_each(targets, execution.jobs, progress_of),
        execution.do,
        lambda note: err.print(note, markup=False),
    )
    if json_path:
        results.to_json(json_path)
    for reason, count in results.failures.most_common():
        err.print(f"pmemsim: {count} failed: {reason}", markup=False)
    if results.failures.total() == len(results.table):
        raise Error(f"all points failed; {out_path} contains the reasons")
    if json_path != "-":
        out.print(f"{results.title}; all are in {out_path}", markup=False)
    if wanted and plot_path:
        series.series_of(wanted, results.table, spec).save_plot(plot_path)
