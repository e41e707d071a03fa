"""`pmemsim run`, `compare` and `bench`: simulate recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from pmemsim import bench as benchmark
from pmemsim import comparison as comparing
from pmemsim.cli.console import duration, err, out, percent, progress_of, si, table
from pmemsim.cli.record import DataBytes, DuplicateRatio, Opt, Regions, Seed, Threads
from pmemsim.comparison import Comparison, breakdown
from pmemsim.errors import Error
from pmemsim.files import check_writable, write_json
from pmemsim.parallel import Report, run_all
from pmemsim.presets import Setting, parse_overrides
from pmemsim.simulation import Result, configure, simulate
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace
from pmemsim.workloads import find_workload

Machine = Annotated[
    str, typer.Option("--machine", "-m", help="A machine's name, or the path of a YAML file.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="Set a parameter, as in `core.rob_entries=128`; repeatable."),
]
Instances = Annotated[
    int | None,
    typer.Option("--instances", help="Run so many independent copies of the recording."),
]
LockOrder = Annotated[
    str | None,
    typer.Option(
        "--lock-order",
        help="Who gets a lock: `recorded` (default) keeps the recording's order, `simulated` "
        "decides in simulated time (for timing only: the recorded values belong to the recorded "
        "order).",
    ),
]
Json = Annotated[
    str | None, typer.Option("--json", help="Write all results to this file; `-`: print them.")
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Write a plot; the suffix chooses png, pdf or svg.")
]
Image = Annotated[
    Path | None,
    typer.Option(
        "--image",
        help="Write to this file what the PM device holds in the end: the program's pool, as it "
        "would find it.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", help="Simulations at a time; default: all host cores.")
]


def run_command(
    target: Annotated[str, typer.Argument(help="A workload's name or a trace (.pmt).")],
    design: Annotated[
        str, typer.Option("--design", "-d", help="A design's name, or the path of a YAML file.")
    ],
    machine: Machine,
    overrides: Set = None,
    instances: Instances = None,
    lock_order: LockOrder = None,
    json_path: Json = None,
    plot_path: Plot = None,
    image_path: Image = None,
    opt: Opt = None,
    threads: Threads = None,
    regions: Regions = None,
    data_bytes: DataBytes = None,
    seed: Seed = None,
    duplicate_ratio: DuplicateRatio = None,
) -> None:
    """Simulate one recording on one design, and print every statistic.

    For example:

        pmemsim run queue --design sw-undo --machine asap --threads 4
        pmemsim run mine.pmt -d np -m asap --set core.rob_entries=128 --json out.json

    `pmemsim list designs`, `list machines` and `list workloads` name what there is; `pmemsim show
    machine NAME` prints every parameter that `--set` can change.
    """
    _check_outputs(json_path, plot_path)
    if image_path:
        check_writable(image_path)
    configuration = configure(design, machine, extra=_extra(overrides, instances, lock_order))
    found = find_target(
        target,
        opt=opt,
        threads=threads,
        regions=regions,
        data_bytes=data_bytes,
        seed=seed,
        duplicate_ratio=duplicate_ratio,
    )
    (trace,) = _open([found], None)

    def task(report: Report) -> Result:
        return simulate(trace, configuration, report, image_path)

    with progress_of([f"{found.name} on {design}"]) as progress:
        (result,) = run_all([task], progress=progress)
    if json_path:
        write_json(result.to_dict(), json_path)
    if plot_path:
        from pmemsim.plots import plot_result

        plot_result(result, plot_path)
    if json_path != "-":
        _print_result(result)


def compare_command(
    targets: Annotated[list[str], typer.Argument(help="Workloads' names or traces (.pmt).")],
    designs: Annotated[
        str, typer.Option("--designs", "-d", help="Designs, by commas; the first is the baseline.")
    ],
    machine: Machine,
    overrides: Set = None,
    instances: Instances = None,
    lock_order: LockOrder = None,
    json_path: Json = None,
    plot_path: Plot = None,
    jobs: Jobs = None,
    opt: Opt = None,
    threads: Threads = None,
    regions: Regions = None,
    data_bytes: DataBytes = None,
    seed: Seed = None,
    duplicate_ratio: DuplicateRatio = None,
) -> None:
    """Simulate several recordings on several designs: throughput, and where the time goes.

    For example:

        pmemsim compare queue hashmap --designs np,sw-undo --machine asap
        pmemsim compare a.pmt b.pmt --designs np,sw-undo -m asap --json out.json --plot out.png

    The table shows each design's throughput over the first one's, and what its cores waited for.
    """
    _check_outputs(json_path, plot_path)
    _check_jobs(jobs)
    extra = _extra(overrides, instances, lock_order)
    configurations = [configure(name, machine, extra=extra) for name in _names(designs)]
    found = [
        find_target(
            text,
            opt=opt,
            threads=threads,
            regions=regions,
            data_bytes=data_bytes,
            seed=seed,
            duplicate_ratio=duplicate_ratio,
        )
        for text in _distinct(targets, "target")
    ]
    traces = _open(found, jobs)
    labels = [f"{target.name} on {c.design.name}" for target in found for c in configurations]
    with progress_of(labels) as progress:
        comparison = comparing.compare(traces, configurations, jobs=jobs, progress=progress)
    if json_path:
        write_json(comparison.to_dict(), json_path)
    if plot_path:
        from pmemsim.plots import plot_comparison

        plot_comparison(comparison, plot_path)
    if json_path != "-":
        _print_comparison(comparison)


def bench_command(
    designs: Annotated[
        str, typer.Option("--designs", "-d", help="Designs, by commas.")
    ] = "np,sw-undo",
    machine: Machine = "asap",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Workloads; default: {', '.join(benchmark.WORKLOADS)}.",
            metavar="[WORKLOAD]...",
        ),
    ] = None,
    regions: Regions = None,
    json_path: Json = None,
) -> None:
    """Measure the simulator itself: speed and memory at 1, 2, 4 and 8 simulated cores.

    For example:

        pmemsim bench
        pmemsim bench queue --designs sw-undo --json bench.json

    Every size is simulated alone, in a process of its own on one host core.
    """
    _check_outputs(json_path, None)
    chosen = _names(designs)
    for design in chosen:
        configure(design, machine)
    measured = _distinct(names or benchmark.WORKLOADS, "workload")
    for name in measured:
        find_workload(name)
    sizes = [(cores, name) for cores in benchmark.CORES for name in measured]
    long = _open([find_target(name, threads=cores, regions=regions) for cores, name in sizes], None)
    short = _open(
        [
            find_target(name, threads=cores, regions=benchmark.SHORT_REGIONS)
            for cores, name in sizes
        ],
        None,
    )
    recordings = [
        benchmark.Recording(name, cores, trace.path, short_trace.path)
        for (cores, name), trace, short_trace in zip(sizes, long, short, strict=True)
    ]
    labels = [f"{name}, {cores} cores, {d}" for cores, name in sizes for d in chosen]
    with progress_of(labels) as progress:
        result = benchmark.bench(
            recordings, chosen, machine, progress=lambda done: progress(done - 1, 1.0)
        )
    if json_path:
        write_json(result.to_dict(), json_path)
    if json_path != "-":
        _print_bench(result, chosen)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Error("--designs needs at least one design; see: pmemsim list designs")
    return _distinct(names, "design")


def _distinct(names: Sequence[str], what: str) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise Error(f"{what} '{name}' stands twice; leave one out")
    return list(names)


def _check_outputs(json_path: str | None, plot_path: Path | None) -> None:
    if json_path and json_path != "-":
        check_writable(Path(json_path))
    if plot_path:
        from pmemsim.plots import check_plot_path

        check_plot_path(plot_path)


def _check_jobs(jobs: int | None) -> None:
    if jobs is not None and jobs < 1:
        raise Error(f"--jobs {jobs}: must be at least 1")


def _extra(
    overrides: list[str] | None, instances: int | None, lock_order: str | None
) -> tuple[Setting, ...]:
    settings = parse_overrides(overrides or [])
    if instances is not None:
        settings.append(Setting("run.instances", str(instances), "--instances"))
    if lock_order is not None:
        settings.append(Setting("run.lock_order", lock_order, "--lock-order"))
    return tuple(settings)


def _open(targets: list[Target], jobs: int | None) -> list[Trace]:
    """Open the targets' traces, recording what is missing first, with progress."""
    missing = [target for target in targets if not target.is_ready]

    def task(target: Target) -> Callable[[Report], None]:
        def record(report: Report) -> None:
            target.trace(keep_going=lambda: report(0.5))

        return record

    if missing:
        with progress_of([f"recording {target.name}" for target in missing]) as progress:
            run_all([task(target) for target in missing], jobs, progress)
    return [target.trace() for target in targets]


def _print_result(result: Result) -> None:
    shares = ", ".join(f"{label} {percent(share)}" for label, share in breakdown(result).items())
    facts = [
        ("design, machine", f"{result.design}, {result.machine}"),
        ("threads", str(result.threads)),
        ("simulated time", duration(result.time_ns)),
        ("instructions", si(result.instructions)),
        ("atomic regions", f"{result.regions} ({si(result.regions_per_s)} a second)"),
        ("written to PM", f"{si(result.pm_write_bytes)}B"),
        ("where cores' time went", shares),
        (
            "simulation speed",
            f"{si(result.instructions_per_wall_s)} instructions a second ({result.wall_s:.2f} s)",
        ),
    ]
    out.print(table(result.workload, ["", "value"], facts))
    rows = [(s.name, f"{s.value:,.6g}", s.unit, s.description) for s in result.statistics]
    out.print(table("statistics", ["name", ">value", "unit", "meaning"], rows))


def _print_comparison(comparison: Comparison) -> None:
    baseline = comparison.designs[0]
    labels = list(breakdown(comparison.results[0]))
    rows = []
    for result in comparison.results:
        shares = breakdown(result)
        rows.append(
            (
                result.workload if result.design == baseline else "",
                result.design,
                si(result.regions_per_s) if result.regions else "-",
                f"{comparison.ratio(result):.3f}",
                *(percent(shares[label]) for label in labels),
            )
        )
    for design, mean in comparison.geomean().items():
        name = "geomean" if design == baseline else ""
        rows.append((name, design, "", f"{mean:.3f}", *("" for _ in labels)))
    columns = ["workload", "design", ">regions/s", f">over {baseline}", *(f">{x}" for x in labels)]
    out.print(table(f"machine {comparison.results[0].machine}", columns, rows))


def _print_bench(result: benchmark.Bench, designs: list[str]) -> None:
    rows = [
        (
            run.workload,
            run.design,
            str(run.cores),
            f"{run.minstructions_per_s:.2f}",
            f"{run.host_instructions_per_instruction:.0f}"
            if run.host_instructions_per_instruction is not None
            else "-",
            f"{run.peak_memory_bytes / 2**20:.0f}",
        )
        for run in result.runs
    ]
    for design in designs:
        for cores in benchmark.CORES:
            rows.append(
                ("geomean", design, str(cores), f"{result.geomean(design, cores):.2f}", "", "")
            )
    columns = [
        "workload", "design", ">simulated cores", ">million instructions/s",
        ">host instructions per instruction", ">peak memory (MiB)",
    ]  # fmt: skip
    out.print(table(f"machine {result.runs[0].machine}", columns, rows))
    if reason := result.runs[0].host_instructions_reason:
        err.print(f"host instructions were not counted: {reason}", markup=False)
