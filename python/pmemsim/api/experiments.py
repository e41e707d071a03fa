"""Run many simulations: `sweep`, `matrix`, `reproduce`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Unpack

from pmemsim import matrices, recordings
from pmemsim.api.common import (
    AnyTrace,
    Overrides,
    Recording,
    check_list,
    check_outputs,
    designs_of,
    given_recipe,
    like_command,
    path_of,
    recordings_of,
)
from pmemsim.arguments import check_jobs, sample_of
from pmemsim.chosen import before_backends
from pmemsim.crashing import Points
from pmemsim.errors import Error, Problems
from pmemsim.matrices import Matrix, MatrixChoice, default_baseline, workload_labels
from pmemsim.presets import Setting, preset_names
from pmemsim.progress import Progress, watch_of
from pmemsim.reproduction.plan import Scale
from pmemsim.reproduction.run import Reproduction, reproduce_experiments
from pmemsim.reproduction.studies import choose
from pmemsim.runner import Runner
from pmemsim.simulation import settings_of
from pmemsim.sweeping.run import SweepResults, run_sweep
from pmemsim.sweeping.spec import read_spec, spec_of
from pmemsim.targets import Recipe, Target
from pmemsim.trace import Trace


def _runner(
    jobs: int | None, scheduler: str | None, progress: Progress, problems: Problems
) -> Runner:
    check_jobs(problems, jobs)
    if scheduler is not None and "://" not in scheduler:
        # Dask would try to connect for a long time.
        problems.add(
            [f"scheduler {scheduler}: must be an address as Dask prints it: tcp://host:8786"]
        )
    return Runner(watch_of(progress), jobs, scheduler)


@like_command("sweep")
def sweep(
    spec: str | Path | Mapping[str, object],
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress = True,
) -> SweepResults:
    """Simulate all combinations of workloads, designs, machines and parameters.

    Args:
        spec: The path of a YAML file with the values to vary, or a dict with the same keys: `axes`
            and `paired`.
        out: A file for the results (Parquet, or CSV with the suffix .csv). Points whose results are
            in a Parquet file already aren't simulated again.
        jobs: Number of simulations at the same time; default: all host cores.
        scheduler: Address of the scheduler of a Dask cluster that simulates, as in
            `tcp://host:8786`.
        progress: As in `run`.

    Returns:
        A row for each point; a point that failed has the reason.

    Raises:
        ConfigError: The values to vary are wrong; the exception lists all errors.
        Error: The file can't be read or written, or has results of another sweep.

    Example:
        `pmemsim.sweep({"axes": {"workload": "queue", "design": "np", "machine": ["asap", "cxl"]}})`
    """
    problems = Problems()
    runner = _runner(jobs, scheduler, progress, problems)
    check_outputs([out], [spec], problems)
    found = None
    if not isinstance(spec, Mapping | str | Path):
        raise Error(f"spec: {spec!r} must be the path of a YAML file, or a dict with 'axes'")
    with problems.collected():
        found = spec_of(spec, "spec") if isinstance(spec, Mapping) else read_spec(Path(spec))
    problems.raise_any()
    assert found is not None
    place = "spec" if isinstance(spec, Mapping) else str(spec)

    def opened(targets: list[Target]) -> list[Trace | Error]:
        return recordings.open_each(targets, jobs, runner.watch)

    return run_sweep(found, place, path_of(out), opened, runner.do, lambda _: None)


@like_command("matrix", traces="TARGET", overrides="--set")
def matrix(
    traces: AnyTrace | Sequence[AnyTrace],
    *,
    machine: str | Path,
    designs: Sequence[str | Path] | None = None,
    backends: Sequence[str] | None = None,
    baseline: str | None = None,
    points: int | Literal["all"] = matrices.POINTS,
    overrides: Overrides | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> Matrix:
    """Simulate and crash designs on the same workloads and one machine, side by side.

    Args:
        traces: A recording or a workload as in `run`, or a list of them.
        machine: The machine, as in `run`.
        designs: A list of designs; default: all.
        backends: Names of backends, each of which is combined with each design; `none` is the
            design without one.
        baseline: The design that speedups are relative to; default: `sw-undo`, or `sw-redo` for
            the software log `redo`.
        points: Number of random crash points of each cell, or `all`.
        overrides: Values of parameters, as in `run`.
        jobs: Number of tasks at the same time; default: all host cores.
        scheduler: Address of the scheduler of a Dask cluster that simulates, as in
            `tcp://host:8786`.
        progress: As in `run`.
        **recipe: How workloads are recorded: see `Recipe`.

    Returns:
        A cell for each workload and design; a cell that is not possible has the reason.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: No combination is possible.

    Example:
        `pmemsim.matrix("queue", machine="asap", designs=["sw-undo", "asap"], points=100).plot()`
    """
    problems = Problems()
    runner = _runner(jobs, scheduler, progress, problems)
    names = preset_names("design") if designs is None else designs_of(designs, problems)
    names = before_backends(names, backends, problems)
    with problems.collected():
        check_list("traces", [traces] if isinstance(traces, AnyTrace) else traces, '["queue"]')
    extra: tuple[Setting, ...] = ()
    with problems.collected():
        extra = settings_of(overrides)
    log = given_recipe(recipe).get("log")
    sample = sample_of(str(points), problems)
    choice = MatrixChoice(
        names, str(machine), extra, baseline or default_baseline(log), Points(sample)
    )
    configured = choice.configured(problems)
    found = recordings_of(traces, recipe, problems)
    problems.raise_any()
    return choice.plan(_labelled(found, runner), configured).measured(runner.do)


def _labelled(found: Sequence[Recording], runner: Runner) -> dict[str, Trace | Error]:
    """Return the recordings, or why there are none, by distinct names."""
    targets = [
        each.source if isinstance(each.source, Target) else Target(each.name, each.source.path)
        for each in found
    ]
    opened = recordings.open_each(targets, runner.jobs, runner.watch)
    return workload_labels([each.name for each in found], targets, opened)


@like_command("reproduce", papers="PAPER")
def reproduce(
    papers: str | Sequence[str],
    *,
    scale: Scale = "quick",
    ablations: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress = True,
) -> Reproduction:
    """Reproduce papers' experiments, and compare the results with the published ones.

    Args:
        papers: A paper's name, or a list of papers, each followed by its experiments to run
            (default: all), as in `["asap", "fig7"]`. `experiments()` has the names.
        scale: Size of the runs: `quick` takes minutes, `paper` runs ten times as many regions,
            and the numbers of `smoke` mean nothing.
        ablations: Also runs the papers' ablations.
        jobs: Number of tasks at the same time; default: all host cores.
        scheduler: Address of the scheduler of a Dask cluster that simulates, as in
            `tcp://host:8786`.
        progress: As in `run`.

    Returns:
        The entries with the papers' values and the measured ones.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: There is no such paper or experiment, or a simulation failed.

    Example:
        `pmemsim.reproduce(["asap", "fig7"]).to_frame()[["published", "measured"]]`
    """
    problems = Problems()
    runner = _runner(jobs, scheduler, progress, problems)
    if scale not in ("quick", "paper", "smoke"):
        problems.add([f"scale {scale}: must be quick, paper or smoke"])
    with problems.collected():
        names = [papers] if isinstance(papers, str) else papers
        check_list("papers", names, '["asap", "fig7"]')
    problems.raise_any()
    chosen = choose(names, scale, ablations=ablations)
    return reproduce_experiments(chosen, scale, runner.open_traces, runner.do)
