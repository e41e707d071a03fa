"""`pmemsim run` and `compare`: simulate recordings."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim import comparison as comparing
from pmemsim.arguments import check_jobs
from pmemsim.chosen import distinct
from pmemsim.cli.choices import configurations_of, find_targets, names_of
from pmemsim.cli.command import DESIGN, MACHINE, OUTPUT, WORKLOAD, declared, option
from pmemsim.cli.comparison_tables import print_comparison
from pmemsim.cli.console import (
    duration,
    err,
    out,
    percent,
    progress_of,
    run_with_progress,
    si,
    table,
)
from pmemsim.cli.options import (
    Design,
    Jobs,
    Recipe,
    Simulation,
    Target,
    Targets,
    check_outputs,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.cold_start import cold_starts
from pmemsim.errors import Error, Problems
from pmemsim.not_instrumented import described_run, share_of, warning
from pmemsim.simulation import Configuration, Result, Statistic, breakdown, simulate
from pmemsim.targets import Target as Recorded
from pmemsim.targets import check_samples, samples_of
from pmemsim.trace import Trace

Image = Annotated[Path | None, option(
    OUTPUT, "--image", value="FILE",
    help="Writes the image of persistent memory that survives a power loss after the run: the "
        "program's pool before recovery.",
)]  # fmt: skip


Stats = Annotated[str | None, option(
    OUTPUT, "--stats", value="GLOB,...", default="all",
    help="Prints only the statistics whose names match one of these globs, as in "
        "`stall.*,*.latency_ns`.",
)]  # fmt: skip


PerCore = Annotated[bool, option(
    OUTPUT, "--per-core", help="Prints how each core spent its time, too.",
)]  # fmt: skip


@declared
def run_command(
    target: Target,
    *,
    design: Design,
    simulation: Simulation,
    recipe: Recipe,
    image_path: Image = None,
    stats: Stats = None,
    per_core: PerCore = False,
) -> None:
    """Simulate one recording on one design, and print every statistic.

    For example:

        pmemsim run queue --design sw-undo --machine asap --threads 4
        pmemsim run mine.pmt -d np -m asap --set core.rob_entries=128 --json out.json
        pmemsim run mine.pmt -d lad -m asap --stats 'lad.*,pm.wpq*'

    `pmemsim list` shows the names of all designs, machines and workloads. `pmemsim show machine
    NAME` prints every parameter that `--set` can change.
    """
    problems = Problems()
    (configuration,), (found,) = _checked(
        [target], [design], [simulation.machine], simulation, recipe, problems, image_path
    )
    (trace,) = open_traces([found], None)
    result = run_with_progress(
        f"{found.name} on {design}",
        lambda report: simulate(trace, configuration, report, image_path),
    )
    if simulation.json_path:
        result.to_json(simulation.json_path)
    if simulation.plot_path:
        result.save_plot(simulation.plot_path)
    if simulation.json_path != "-":
        _print_result(result, _chosen(result.statistics, stats))
        if per_core:
            _print_cores(result)
    _warn_of_estimates(trace, result)


@dataclass(frozen=True)
class Samples:
    """How many recordings of each workload are compared."""

    seeds: Annotated[int, option(
        WORKLOAD, "--seeds", value="N",
        help="Records each workload with N consecutive seeds, from --seed on, and prints means "
            "with 95% confidence intervals.",
    )] = 1  # fmt: skip
    schedules: Annotated[int, option(
        WORKLOAD, "--schedules", value="N",
        help="Records N thread interleavings of each workload and seed, from --schedule on.",
    )] = 1  # fmt: skip

    def check(self, problems: Problems) -> None:
        """Add impossible numbers to the problems."""
        check_samples(self.seeds, self.schedules, problems)


@dataclass(frozen=True)
class OnMachines(Simulation):
    """Options of simulations on one or several machines."""

    machine: Annotated[str, option(
        MACHINE, "--machine", "-m", value="MACHINE,...",
        help="The machines' names or YAML files, separated by commas. The baseline runs on the "
            "first.",
    )]  # fmt: skip

    def machines(self, problems: Problems) -> list[str]:
        """Return the machines' names; a problem is added if there is none."""
        names = [each.strip() for each in self.machine.split(",") if each.strip()]
        if not names:
            problems.add(["--machine names no machine; `pmemsim list machines` shows the names"])
        return distinct(names, "machine", problems)


@declared
def compare_command(
    targets: Targets,
    *,
    designs: Annotated[
        str,
        option(
            DESIGN,
            "--designs",
            "-d",
            value="DESIGN,...",
            help="The designs to simulate, separated by commas. The first is the baseline.",
        ),
    ],
    simulation: OnMachines,
    recipe: Recipe,
    samples: Samples,
    jobs: Jobs = None,
) -> None:
    """Compare designs on several recordings: their throughput, and how their time is spent.

    For example:

        pmemsim compare queue hashmap --designs np,sw-undo --machine asap
        pmemsim compare a.pmt b.pmt --designs np,sw-undo -m asap --json out.json --plot out.png
        pmemsim compare mine.pmt --designs x86-bare -m xeon-optane,cxl
        pmemsim compare btree --designs sw-undo,asap -m asap --threads 4 --seeds 5 --schedules 2

    The first table shows the time of each run and region, and the throughput relative to the first
    design on the first machine. The second one shows how all cores spend their time, as shares of
    the baseline's time. With several seeds or schedules, the tables show their means, and half the
    width of the 95% confidence interval behind `±`.
    """
    problems = Problems()
    check_jobs(problems, jobs)
    samples.check(problems)
    chosen = names_of(designs, problems)
    machines = simulation.machines(problems)
    configurations, found = _checked(targets, chosen, machines, simulation, recipe, problems)
    each = [samples_of(target, samples.seeds, samples.schedules, problems) for target in found]
    problems.raise_any()
    recordings = [target for targets in each for target in targets]
    opened = iter(open_traces(recordings, jobs))
    traces = [[next(opened) for _ in targets] for targets in each]
    names = [
        comparing.design_label(c.design.name, c.machine.name, machines) for c in configurations
    ]
    labels = [f"{target.name} on {name}" for target in recordings for name in names]
    sizes = [trace.path.stat().st_size for same in traces for trace in same for _ in names]
    with progress_of(labels, sizes, names * len(recordings)) as progress:
        comparison = comparing.compare_samples(traces, configurations, jobs, progress)
    if simulation.json_path:
        comparison.to_json(simulation.json_path)
    if simulation.plot_path:
        comparison.save_plot(simulation.plot_path)
    if simulation.json_path != "-":
        print_comparison(comparison)
    for start in cold_starts(comparison.results):
        err.print(
            f"pmemsim: warning: {start.sentence(comparison.name_of(start.result))}", markup=False
        )
    for (trace, *_), workload in zip(traces, comparison.workloads, strict=True):
        _warn_of_estimates(trace, comparison.result(workload, comparison.designs[0]))


def _checked(
    targets: Sequence[str],
    designs: Sequence[str],
    machines: Sequence[str],
    simulation: Simulation,
    recipe: Recipe,
    problems: Problems,
    image_path: Path | None = None,
) -> tuple[list[Configuration], list[Recorded]]:
    """Return what to simulate; raises a `ConfigError` with its errors and those in `problems`."""
    check_outputs(problems, simulation.json_path, simulation.plot_path, [image_path])
    outputs = (simulation.json_path, simulation.plot_path, image_path)
    keep_inputs(problems, outputs, (*targets, *designs, *machines))
    extra = simulation.settings(problems.found)
    configurations = [
        each
        for machine in machines
        for each in configurations_of(designs, machine, extra, problems)
    ]
    with problems.collected():
        comparing.check_design_names(configurations)
    found = find_targets(targets, recipe, problems)
    problems.raise_any()
    return configurations, found


def _warn_of_estimates(trace: Trace, result: Result) -> None:
    if text := warning(result.workload, share_of(result), trace.metadata):
        err.print(text, markup=False)


def _chosen(statistics: Sequence[Statistic], globs: str | None) -> list[Statistic]:
    """Return the statistics that match; raises an `Error` if a glob matches none."""
    if globs is None:
        return list(statistics)
    found = set[str]()
    for glob in (each.strip() for each in globs.split(",")):
        names = fnmatch.filter([each.name for each in statistics], glob)
        if not names:
            raise Error(
                f"--stats {glob}: this run has no such statistic; `pmemsim list statistics` shows "
                "the names, and which designs count them"
            )
        found.update(names)
    return [each for each in statistics if each.name in found]


def _lifetime(years: float | None) -> str:
    """Return a duration in the largest unit of which it has one or more."""
    if years is None:
        return "-"
    for unit, per_year in (("years", 1.0), ("days", 365.25), ("hours", 8766.0)):
        if years * per_year >= 1:
            return f"{years * per_year:,.3g} {unit}"
    return f"{years * 525_960:,.3g} minutes"


def _print_result(result: Result, statistics: Sequence[Statistic]) -> None:
    shares = ", ".join(
        f"{label} {percent(share)}"
        for label, share in breakdown(result).items()
        if share or label == "core"
    )
    facts = [
        ("design, machine", f"{result.design}, {result.machine}"),
        ("threads", str(result.threads)),
        ("simulated time", duration(result.time_ns)),
        ("instructions", si(result.instructions)),
        ("not instrumented", described_run(result)),
        ("atomic regions", f"{result.regions} ({si(result.regions_per_s)} a second)"),
        ("written to PM", f"{si(result.pm_write_bytes)}B"),
        ("1 GiB of PM lasts", _lifetime(result.pm_years_per_gib)),
        ("most written line lasts", _lifetime(result.pm_years_of_worst_line)),
        ("use of the cores' time", shares),
        (
            "simulation speed",
            f"{si(result.instructions_per_wall_s)} instructions a second ({result.wall_s:.2f} s)",
        ),
    ]
    out.print(table(result.workload, ["", "value"], facts))
    rows = [(s.name, f"{s.value:,.6g}", s.unit, s.description) for s in statistics]
    out.print(table("statistics", ["name", ">value", "unit", "meaning"], rows))


def _print_cores(result: Result) -> None:
    """Print the parts of each core's time, by the causes that took any."""
    rows = []
    for number, stalls in enumerate(result.core_stalls):
        total = sum(stalls.values())
        shares = (f"{100 * time / total:.1f}" if total else "-" for time in stalls.values())
        rows.append((str(number), duration(total), *shares))
    causes = [_cause_of(name) for name in result.core_stalls[0]]
    columns = ["core", ">time", *(f"?{cause}" for cause in causes)]
    out.print(table("time of each core, and its parts in %", columns, rows))


def _cause_of(name: str) -> str:
    return name.removeprefix("stall.").removesuffix("_ns").replace("_", " ")
