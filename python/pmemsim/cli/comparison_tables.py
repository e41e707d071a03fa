"""The tables of `pmemsim compare`: times and ratios, and how the cores spend their time."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from pmemsim.cli.console import (
    HAND_PLACED_FLUSHES,
    duration,
    machine_line,
    out,
    percent,
    si,
    table,
)
from pmemsim.comparison import Comparison, times_over
from pmemsim.not_instrumented import share_of
from pmemsim.simulation import Result, breakdown


def print_comparison(comparison: Comparison) -> None:
    """Print the times and ratios of all runs, and below them how the cores spend their time."""
    number = comparison.samples
    of_samples = f", {number} recordings of each workload" if number > 1 else ""
    _print_times(comparison, f"{_machines_of(comparison)}{of_samples}")
    _print_causes(comparison)
    baseline = comparison.designs[0]
    estimated = ", ".join(
        f"{name} {percent(share_of(comparison.result(name, baseline)))}"
        for name in comparison.workloads
    )
    out.print(f"instructions not instrumented, but estimated: {estimated}", markup=False)


def _print_times(comparison: Comparison, title: str) -> None:
    has_machines = len(comparison.machines) > 1
    rows = []
    for names, results in _cases(comparison):
        case = results[0].workload, comparison.name_of(results[0])
        ratio = str(comparison.estimate(*case))
        here = str(comparison.estimate(*case, on_machine=True))
        has_regions = all(result.regions for result in results)
        rows.append(
            (
                *names,
                duration(fmean(result.time_ns for result in results)),
                ratio,
                *([here] if has_machines else []),
                si(fmean(result.regions_per_s for result in results)) if has_regions else "-",
                f"{fmean(r.time_ns / r.regions for r in results):,.1f}" if has_regions else "-",
            )
        )
    for index, design in enumerate(comparison.designs):
        (_, *names), _ = next(each for each in _cases(comparison, design))
        mean = str(comparison.geomean_estimate(design))
        here = str(comparison.geomean_estimate(design, on_machine=True))
        means = [mean, here] if has_machines else [mean]
        rows.append(("" if index else "geomean", *names, "", *means, "", ""))
    first = comparison.results[0].design
    on_machine = [f">over {first} on the same machine"] if has_machines else []
    over = f">over {comparison.designs[0]}"
    columns = [*_names(comparison), ">time", over, *on_machine, "?regions/s", "?ns/region"]
    out.print(table(title, columns, rows))


def _print_causes(comparison: Comparison) -> None:
    """Print the parts of each run's time, which add up to its total, over the baseline's time."""
    rows = []
    for names, results in _cases(comparison):
        parts = [times_over(result, comparison.baseline_of(result)) for result in results]
        means = [fmean(part[label] for part in parts) for label in parts[0]]
        rows.append((*names, *(f"{100 * share:.1f}" for share in (sum(means), *means))))
    labels = [f"?{label}" for label in breakdown(comparison.results[0])]
    columns = [*_names(comparison), ">all", *labels]
    title = f"time of all cores, in % ({comparison.designs[0]}: 100)"
    out.print(table(title, columns, rows))


def _names(comparison: Comparison) -> list[str]:
    return ["workload", "design", *(["machine"] if len(comparison.machines) > 1 else [])]


def _cases(comparison: Comparison, *designs: str) -> Iterator[tuple[list[str], tuple[Result, ...]]]:
    """Return the names of each row, and its results, one for each recording."""
    for workload in comparison.workloads:
        for index, design in enumerate(designs or comparison.designs):
            results = comparison.samples_of(workload, design)
            machine = [results[0].machine] if len(comparison.machines) > 1 else []
            yield ["" if index else workload, results[0].design, *machine], results


def _machines_of(comparison: Comparison) -> str:
    """Return the machines of a comparison, with the settings beside the presets."""
    configuration = comparison.results[0].configuration
    settings = {HAND_PLACED_FLUSHES: configuration[HAND_PLACED_FLUSHES]}
    settings |= {setting.key: setting.value for setting in configuration.overrides}
    return machine_line(", ".join(comparison.machines), settings)
