"""Simulate recordings: `run`, `compare`, `profile`, `timeline`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from pmemsim import comparison, profiling
from pmemsim.api.common import (
    AnyTrace,
    Overrides,
    check_list,
    check_outputs,
    configurations_of,
    like_command,
    opened,
    recordings_of,
    samples_of_recording,
)
from pmemsim.arguments import check_jobs
from pmemsim.chosen import distinct
from pmemsim.comparison import Comparison
from pmemsim.errors import Problems, did_you_mean
from pmemsim.profiling import Profile
from pmemsim.progress import Progress, watch_of
from pmemsim.runner import Runner
from pmemsim.simulation import Result, simulate
from pmemsim.targets import Recipe, check_samples
from pmemsim.timelines import (
    FORMATS,
    Format,
    WrittenTimeline,
    bounds_of,
    check_format,
    write_timeline,
)


@like_command("run", trace="TARGET", overrides="--set")
def run(
    trace: AnyTrace,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Overrides | None = None,
    image: str | Path | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> Result:
    """Simulate one recording on one design and machine.

    Args:
        trace: A `Trace`, the path of a `.pmt` file, a workload's name, or a `WorkloadRun`. A
            workload is recorded if it has to be.
        design: A design's name, `DESIGN@BACKEND`, or the path of a design's YAML file.
        machine: A machine's name, or the path of its YAML file.
        overrides: Values of parameters with their units, by name, as in
            `{"core.rob_entries": 128, "dram.trcd": "14ns"}`.
        image: The file to write: the pool as it would be after a power failure at the end of the
            run. Further pools get `.1`, `.2`, ... appended.
        progress: True shows a bar in terminals and notebooks, False nothing. A function is called
            with the finished fraction, 0 to 1; an exception that it raises ends the simulation.
        **recipe: How a workload is recorded, as in `threads=4`: see `Recipe`.

    Returns:
        The simulated time and all statistics.

    Raises:
        ConfigError: A design, a machine or an argument is wrong; the exception lists all errors.
        TraceError: The recording is damaged.
        RecordError: The workload couldn't be built or recorded.
        StuckError: The simulation can't proceed.
        Error: The design can't run this recording.

    Example:
        `pmemsim.run("queue", design="asap", machine="asap", threads=4).time_ns`
    """
    problems = Problems()
    check_outputs([image], [trace, design, machine], problems)
    configurations = configurations_of([design], machine, overrides, problems)
    found = recordings_of(trace, recipe, problems)
    problems.raise_any()
    runner = Runner(watch_of(progress))
    (opened_trace,) = opened(found, runner)
    return runner.run(
        f"{opened_trace.name} on {configurations[0].design.name}",
        lambda report: simulate(
            opened_trace, configurations[0], report, Path(image) if image else None
        ),
    )


@like_command("compare", traces="TARGET", overrides="--set")
def compare(
    traces: Sequence[AnyTrace],
    *,
    designs: Sequence[str | Path],
    machine: str | Path | Sequence[str | Path],
    overrides: Overrides | None = None,
    seeds: int = 1,
    schedules: int = 1,
    jobs: int | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> Comparison:
    """Simulate several recordings on several designs, on all host cores.

    Args:
        traces: A list of recordings or workloads, each as in `run`.
        designs: A list of designs, each as in `run`. The first is the baseline of
            `Comparison.ratio` and `Comparison.geomean`.
        machine: The machine, as in `run`, or a list of machines. The baseline is the first design
            on the first machine.
        overrides: Values of parameters, as in `run`.
        seeds: Number of consecutive seeds with which each workload is recorded, for means with
            confidence intervals.
        schedules: Number of thread interleavings of each workload and seed.
        jobs: Number of simulations at the same time; default: all host cores.
        progress: As in `run`.
        **recipe: How workloads are recorded: see `Recipe`.

    Returns:
        The runs, and their ratios over the first design.

    Raises:
        ConfigError: A design, a machine or an argument is wrong; the exception lists all errors.
        Error: As for `run`.

    Example:
        `pmemsim.compare(["queue"], designs=["sw-undo", "asap"], machine="asap").to_frame()`
    """
    problems = Problems()
    with problems.collected():
        check_list("traces", traces, '["queue", "mine.pmt"]')
    with problems.collected():
        check_list("designs", designs, '["np", "sw-undo"]')
    check_jobs(problems, jobs)
    problems.raise_any()
    distinct([str(each) for each in designs], "design", problems)
    machines: list[str | Path] = []
    if isinstance(machine, Sequence) and not isinstance(machine, str):
        machines += machine
    else:
        machines.append(machine)
    with problems.collected():
        check_list("machine", machines, '["asap", "cxl"]')
    distinct([str(each) for each in machines], "machine", problems)
    problems.raise_any()
    configurations = [
        configuration
        for each in machines
        for configuration in configurations_of(designs, each, overrides, problems)
    ]
    with problems.collected():
        comparison.check_design_names(configurations)
    check_samples(seeds, schedules, problems)
    found = recordings_of(traces, recipe, problems)
    problems.raise_any()
    each = [samples_of_recording(one, seeds, schedules, problems) for one in found]
    problems.raise_any()
    runner = Runner(watch_of(progress), jobs)
    made = iter(opened([one for samples in each for one in samples], runner))
    workloads = [[next(made) for _ in samples] for samples in each]
    labels = [
        f"{trace.name} on {comparison.design_label(c.design.name, c.machine.name, machines)}"
        for samples in workloads
        for trace in samples
        for c in configurations
    ]
    with runner.watch(labels) as report:
        return comparison.compare_samples(workloads, configurations, jobs, report)


@like_command("profile", trace="TARGET", overrides="--set")
def profile(
    trace: AnyTrace,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Overrides | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> Profile:
    """Simulate one recording, and divide the cores' time by line, call path and cause.

    Args:
        trace: A recording or a workload, as in `run`.
        design: The design, as in `run`.
        machine: The machine, as in `run`.
        overrides: Values of parameters, as in `run`.
        progress: As in `run`.
        **recipe: How a workload is recorded: see `Recipe`.

    Returns:
        The parts of the time in `rows`, the longest first, and in `result` what `run` returns.

    Raises:
        ConfigError: A design, a machine or an argument is wrong; the exception lists all errors.
        Error: As for `run`.

    Example:
        `pmemsim.profile("queue", design="asap", machine="asap").to_frame().head()`
    """
    problems = Problems()
    configurations = configurations_of([design], machine, overrides, problems)
    found = recordings_of(trace, recipe, problems)
    problems.raise_any()
    runner = Runner(watch_of(progress))
    (opened_trace,) = opened(found, runner)
    return runner.run(
        f"{opened_trace.name} on {configurations[0].design.name}",
        lambda report: profiling.profile(opened_trace, configurations[0], report),
    )


@like_command("timeline", trace="TARGET", overrides="--set", start="--from", end="--to")
def timeline(
    trace: AnyTrace,
    output: str | Path,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Overrides | None = None,
    format: Format = "perfetto",
    start: str | None = None,
    end: str | None = None,
    show_regions: str | int | None = None,
    slowest: int | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> WrittenTimeline:
    """Simulate one recording, and write what it does in time for the viewers Perfetto and Konata.

    Args:
        trace: A recording or a workload, as in `run`.
        output: The file to write; usually `*.pftrace` for Perfetto, `*.kanata` for Konata. The
            suffix of one is refused for the other.
        design: The design, as in `run`.
        machine: The machine, as in `run`.
        overrides: Values of parameters, as in `run`.
        format: `perfetto` or `kanata`.
        start: Simulated time with its unit, as in `12.5us`, from which on events are written.
        end: Simulated time with its unit up to which events are written.
        show_regions: Which regions of each thread to show, as in `100-120`; the first one is 1.
        slowest: Number of the slowest regions to show, and to return.
        progress: As in `run`.
        **recipe: How a workload is recorded: see `Recipe`.

    Returns:
        How much was written; `to_frame()` has the slowest regions.

    Raises:
        ConfigError: A design, a machine or an argument is wrong; the exception lists all errors.
        Error: As for `run`, or if nothing is within the bounds.

    Example:
        `pmemsim.timeline("queue", "queue.pftrace", design="asap", machine="asap", slowest=5)`
    """
    problems = Problems()
    if format not in FORMATS:
        problems.add([f"format: unknown format '{format}'{did_you_mean(str(format), FORMATS)}"])
    regions = None if show_regions is None else str(show_regions)
    bounds = bounds_of(start, end, regions, slowest, problems)
    check_outputs([output], [trace, design, machine], problems)
    if format in FORMATS:
        check_format(Path(str(output)), format, problems)
    configurations = configurations_of([design], machine, overrides, problems)
    found = recordings_of(trace, recipe, problems)
    problems.raise_any()
    runner = Runner(watch_of(progress))
    (opened_trace,) = opened(found, runner)
    written = runner.run(
        f"{opened_trace.name} on {configurations[0].design.name}",
        lambda report: write_timeline(
            opened_trace, configurations[0], Path(output), bounds, format, report
        ),
    )
    return WrittenTimeline(opened_trace, configurations[0], Path(output), written)
