"""`pmemsim bench`: measure the simulator's own speed and memory use."""

from __future__ import annotations

from typing import Annotated

from pmemsim import bench as benchmark
from pmemsim import comparison as comparing
from pmemsim.chosen import distinct, each_configured
from pmemsim.cli.choices import names_of
from pmemsim.cli.command import DESIGN, argument, declared, option
from pmemsim.cli.console import err, out, progress_of, table
from pmemsim.cli.options import (
    Json,
    Machine,
    Overrides,
    Regions,
    Threads,
    check_outputs,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.errors import Error, Problems
from pmemsim.files import write_json
from pmemsim.presets import Setting, parse_overrides, preset_names
from pmemsim.simulation import configure
from pmemsim.targets import find_target
from pmemsim.workload_runs import workloads


@declared
def bench_command(
    names: Annotated[
        list[str] | None,
        argument(
            "TARGET",
            f"Workloads' names or traces (.pmt). Default: {', '.join(benchmark.WORKLOADS)}.",
        ),
    ] = None,
    *,
    designs: Annotated[
        str | None,
        option(
            DESIGN,
            "--designs",
            "-d",
            value="DESIGN,...",
            default="all designs that support the recording",
            help="The designs to measure, separated by commas.",
        ),
    ] = None,
    machine: Machine = "asap",
    overrides: Overrides = None,
    threads: Threads = None,
    regions: Regions = None,
    json_path: Json = None,
) -> None:
    """Measure the simulator's own speed and memory use, for every design.

    For example:

        pmemsim bench
        pmemsim bench queue --designs sw-undo --json bench.json
        pmemsim bench tpcc -m pmem-spec --threads 64 --set core.count=64 --designs hops,pmem-spec
        pmemsim bench mine.pmt

    Each workload is simulated with each design and number of simulated cores three times, in a
    separate process on one host core; the fastest run counts. Without --designs, np and sw-undo are
    measured with 1, 2, 4 and 8 simulated cores, and all others with 4. With --threads, all designs
    are measured with that number only. A trace is measured with its recorded number of threads.
    """
    problems = Problems()
    check_outputs(problems, json_path)
    chosen = preset_names("design") if designs is None else names_of(designs, problems)
    extra = tuple(parse_overrides(overrides or [], problems.found))
    # Without --designs, designs that can't run are omitted later. Here only np is configured, which
    # finds mistakes in the machine itself.
    for design in chosen if designs is not None else ("np",):
        with problems.collected():
            configure(design, machine, extra=extra)
    each_configured(chosen, machine, extra, problems)
    measured = distinct(names or benchmark.WORKLOADS, "target", problems)
    keep_inputs(problems, [json_path], (*measured, *chosen, machine))
    for name in measured:
        with problems.collected():
            find_target(name, threads=threads, regions=regions)
    problems.raise_any()
    recordings = _bench_recordings(measured, threads, regions)
    if designs is None:
        pairs = benchmark.pairs_of_all(recordings, _runnable(chosen, machine, recordings, extra))
    else:
        pairs = [(recording, design) for recording in recordings for design in chosen]
    if not pairs:
        raise Error(
            f"no design supports this recording on machine {machine}; choose another machine"
        )
    labels = [f"{recording.workload}, {recording.cores} cores, {d}" for recording, d in pairs]
    with progress_of(labels) as progress:
        counted = benchmark.SCALED if designs is None else chosen
        result = benchmark.bench(
            pairs, machine, counted, lambda done: progress(done - 1, 1.0), extra
        )
    if json_path:
        write_json("bench", result.to_dict(), json_path)
    if json_path != "-":
        _print_bench(result)


def _bench_recordings(
    names: list[str], threads: int | None, regions: int | None
) -> list[benchmark.Recording]:
    """Return the recordings: workloads at every size or the given one.

    A trace is used unchanged, also where a short recording is needed.
    """
    own = [name for name in names if name not in workloads()]
    cores_of_all = benchmark.CORES_OF_ALL if threads is None else threads
    each = benchmark.CORES if threads is None else (threads,)
    sizes = [(cores, name) for cores in each for name in names if name not in own]
    long = open_traces(
        [find_target(name, threads=cores, regions=regions) for cores, name in sizes], None
    )
    short = open_traces(
        [
            find_target(name, threads=cores, regions=benchmark.SHORT_REGIONS)
            for cores, name in sizes
        ],
        None,
    )
    recordings = [
        benchmark.Recording(name, cores, trace.path, short_trace.path, cores == cores_of_all)
        for (cores, name), trace, short_trace in zip(sizes, long, short, strict=True)
    ]
    traces = open_traces([find_target(name) for name in own], None)
    for label, trace in zip(comparing.labels_of(traces), traces, strict=True):
        recordings.append(benchmark.Recording(label, trace.threads, trace.path, trace.path, True))
    return recordings


def _runnable(
    designs: list[str],
    machine: str,
    recordings: list[benchmark.Recording],
    extra: tuple[Setting, ...],
) -> list[str]:
    """Return the designs that can run all recordings; print the reason for each other design."""
    reasons = {design: benchmark.why_not(design, machine, recordings, extra) for design in designs}
    for design, reason in reasons.items():
        if reason:
            err.print(f"{design} is skipped: {reason}", markup=False)
    return [design for design, reason in reasons.items() if not reason]


def _or_dash(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.0f}"


def _print_bench(result: benchmark.Bench) -> None:
    rows = [
        (
            run.workload,
            run.design,
            str(run.cores),
            f"{run.minstructions_per_s:.2f}",
            "",
            _or_dash(run.host_instructions_per_instruction),
            _or_dash(run.host_instructions_per_operation),
            f"{run.peak_memory_bytes / 2**20:.0f}",
        )
        for run in result.runs
    ]
    for design, cores in result.sizes:
        over = result.over_baseline(design, cores)
        speed = f"{result.geomean(design, cores):.2f}"
        ratio = "-" if over is None else f"{over:.2f}"
        rows.append(("geomean", design, str(cores), speed, ratio, "", "", ""))
    columns = [
        "workload", "design", ">simulated cores", ">million instructions/s",
        f">over {benchmark.BASELINE}", ">host instructions per instruction", ">per operation",
        ">peak memory (MiB)",
    ]  # fmt: skip
    out.print(table(f"machine {result.runs[0].machine}", columns, rows))
    if reason := result.runs[0].host_instructions_reason:
        err.print(f"host instructions were not counted: {reason}", markup=False)
