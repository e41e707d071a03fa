"""Compare designs on the same recordings: throughput over a baseline, and shares of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from pmemsim.errors import Error
from pmemsim.parallel import Report, run_all
from pmemsim.simulation import Configuration, Result, StartingContents, simulate
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """Results of every workload on every design; the first design is the baseline."""

    results: tuple[Result, ...]
    designs: tuple[str, ...]

    @property
    def workloads(self) -> tuple[str, ...]:
        """Return the workloads, in the order they were given."""
        return tuple(dict.fromkeys(result.workload for result in self.results))

    def result(self, workload: str, design: str) -> Result:
        """Return the result of one workload on one design."""
        for result in self.results:
            if (result.workload, result.design) == (workload, design):
                return result
        raise Error(f"no result of workload '{workload}' on design '{design}'")

    def ratio(self, result: Result) -> float:
        """Return the throughput over the baseline's: the ratio of times for the same work."""
        return self.result(result.workload, self.designs[0]).time_ns / result.time_ns

    def geomean(self) -> dict[str, float]:
        """Return each design's throughput over the baseline's: geometric mean of the workloads."""
        means = {}
        for design in self.designs:
            ratios = [self.ratio(self.result(workload, design)) for workload in self.workloads]
            means[design] = geometric_mean(ratios)
        return means

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each workload and design: throughput, ratio, shares of time."""
        import pandas as pd

        rows = [
            {
                "workload": result.workload,
                "design": result.design,
                "regions_per_s": result.regions_per_s,
                "time_ns": result.time_ns,
                "ratio": self.ratio(result),
                **breakdown(result),
            }
            for result in self.results
        ]
        return pd.DataFrame(rows).set_index(["workload", "design"])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for `--json` (keys: docs/reference/results.md)."""
        return {
            "runs": [result.to_dict() for result in self.results],
            "geomean": self.geomean(),
        }


# The statistics stall.* that tables and plots show, in the order of drawing. The remaining time is
# the core's own: instructions, their latencies, branches, hits in the L1.
STALLS = {
    "cache misses": ("private_cache", "shared_cache", "other_core", "dram", "pm"),
    "fence stalls": ("fence",),
    "store-queue stalls": ("store_queue",),
    "lock waiting": ("lock",),
    "thread waiting": ("condition", "barrier", "join", "order"),
    "commits and pauses": ("commit", "speculation"),
}


def breakdown(result: Result) -> dict[str, float]:
    """Return the shares of the cores' time, which add up to 1; `core` is the remaining share."""
    times = {statistic.name: statistic.value for statistic in result.statistics}
    total = times["stall.total_ns"]
    shares = {
        label: sum(times[f"stall.{cause}_ns"] for cause in causes) / total if total else 0.0
        for label, causes in STALLS.items()
    }
    return {"core": 1.0 - sum(shares.values()), **shares}


def compare(
    traces: Sequence[Trace],
    configurations: Sequence[Configuration],
    *,
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Comparison:
    """Simulate every trace on every configuration, `jobs` at a time (default: all host cores).

    Traces of one name, such as two recordings of the same program, are labelled by their files.
    `progress(index, fraction)` counts the runs trace by trace, configuration by configuration.
    """
    check_design_names(configurations)
    labels = labels_of(traces)
    for label, count in Counter(labels).items():
        if count > 1:
            raise Error(f"the recording '{label}' is given {count} times; name it once")

    def task(trace: Trace, label: str, configuration: Configuration) -> Callable[[Report], Result]:
        def run(report: Report) -> Result:
            result = simulate(trace, configuration, report, contents=contents[trace])
            return replace(result, workload=label)

        return run

    contents = {trace: StartingContents(trace, len(configurations)) for trace in traces}
    tasks = [
        task(trace, label, configuration)
        for trace, label in zip(traces, labels, strict=True)
        for configuration in configurations
    ]
    results = run_all(tasks, jobs, progress)
    return Comparison(tuple(results), tuple(c.design.name for c in configurations))


def check_design_names(configurations: Sequence[Configuration]) -> None:
    """Raise an `Error` if two designs could not be distinguished."""
    names = Counter(configuration.design.name for configuration in configurations)
    for name, count in names.items():
        if count > 1:
            raise Error(
                f"{count} of the designs have the name '{name}'; give each file a unique name"
            )


def labels_of(traces: Sequence[Trace]) -> list[str]:
    """Return a distinct name for each recording: of its workload, its file, or the path."""
    labels = [trace.name for trace in traces]
    for other in (lambda trace: trace.path.stem, lambda trace: str(trace.path)):
        count = Counter(labels)
        labels = [
            other(trace) if count[label] > 1 else label
            for trace, label in zip(traces, labels, strict=True)
        ]
    return labels
