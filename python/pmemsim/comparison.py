"""Compare designs on the same recordings: throughput over a baseline, and shares of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim.cold_start import cold_starts
from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.parallel import Report, run_all
from pmemsim.results import Plot, Results
from pmemsim.simulation import Configuration, Result, StartingContents, breakdown, simulate
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Comparison(Results, Plot["tuple[Axes, Axes]"]):
    """Results of every workload on every design; the first design is the baseline.

    A workload may have several samples, which are recordings with other seeds or schedules: the
    same number on every design, in the same order.

    Example:
        `pmemsim.compare(["queue"], designs=["np", "asap"], machine="asap").geomean()`
    """

    results: tuple[Result, ...]
    """The runs, workload by workload, design by design."""
    designs: tuple[str, ...]
    """The designs; the first is the baseline."""
    command: ClassVar = "compare"

    @property
    def title(self) -> str:
        """Name the machine and the baseline."""
        return f"machine {self.results[0].machine}; ratios over {self.designs[0]}"

    @property
    def workloads(self) -> tuple[str, ...]:
        """Return the workloads, in the order they were given."""
        return tuple(dict.fromkeys(result.workload for result in self.results))

    @property
    def samples(self) -> int:
        """Return the number of recordings of a workload."""
        return len(self.samples_of(self.workloads[0], self.designs[0]))

    def samples_of(self, workload: str, design: str) -> tuple[Result, ...]:
        """Return the results of one workload on one design, one for each recording."""
        found = tuple(
            result
            for result in self.results
            if (result.workload, result.design) == (workload, design)
        )
        if not found:
            raise Error(f"no result of workload '{workload}' on design '{design}'")
        return found

    def result(self, workload: str, design: str) -> Result:
        """Return the result of one workload on one design: of its first recording."""
        return self.samples_of(workload, design)[0]

    def ratio(self, result: Result) -> float:
        """Return the throughput over the baseline's: the ratio of times for the same work."""
        for baseline in self.samples_of(result.workload, self.designs[0]):
            if (baseline.seed, baseline.schedule) == (result.seed, result.schedule):
                return baseline.time_ns / result.time_ns
        raise Error(
            f"no result of workload '{result.workload}', seed {result.seed}, schedule "
            f"{result.schedule} on design '{self.designs[0]}'"
        )

    def ratios(self, workload: str, design: str) -> list[float]:
        """Return the ratio for each recording of a workload."""
        return [self.ratio(result) for result in self.samples_of(workload, design)]

    def estimate(self, workload: str, design: str) -> Estimate:
        """Return the mean ratio of a workload's recordings, with its confidence interval."""
        return estimate(self.ratios(workload, design))

    def geomean_estimate(self, design: str) -> Estimate:
        """Return the mean of the recordings' geometric means over the workloads."""
        by_workload = [self.ratios(workload, design) for workload in self.workloads]
        return estimate([geometric_mean(ratios) for ratios in zip(*by_workload, strict=True)])

    def geomean(self) -> dict[str, float]:
        """Return each design's throughput over the baseline's: geometric mean of the workloads."""
        return {design: self.geomean_estimate(design).mean for design in self.designs}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run: throughput, ratio, shares of time."""
        import pandas as pd

        rows = [
            {
                "workload": result.workload,
                "design": result.design,
                "seed": result.seed,
                "schedule": result.schedule,
                "regions_per_s": result.regions_per_s,
                "time_ns": result.time_ns,
                "ratio": self.ratio(result),
                **breakdown(result),
            }
            for result in self.results
        ]
        return pd.DataFrame(rows).set_index(["workload", "design"])

    @property
    def _size(self) -> tuple[float, float]:
        groups = len(self.workloads) + 1
        return max(5.5, 1.2 + 0.32 * groups * (len(self.designs) + 1)), 6.0

    def _draw(self, figure: Figure) -> tuple[Axes, Axes]:
        """Draw normalised throughput above, and the shares of the cores' time below."""
        from pmemsim.plots import grouped_bars, legend_below, stacks_of_shares

        top, bottom = figure.subplots(2, 1)
        means = self.geomean()
        heights = {
            design: [*(self.ratio(self.result(w, design)) for w in self.workloads), means[design]]
            for design in self.designs
        }
        grouped_bars(top, [*self.workloads, "geomean"], heights)
        top.set_ylabel(f"throughput over {self.designs[0]}")
        shares = {
            workload: {design: breakdown(self.result(workload, design)) for design in self.designs}
            for workload in self.workloads
        }
        stacks_of_shares(bottom, shares)
        bottom.set_ylabel("share of the cores' time (%)")
        legend_below(figure, bottom)
        figure.suptitle(f"machine {self.results[0].machine}", fontsize=10)
        return top, bottom

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for `--json` (keys: docs/reference/results.md)."""
        return {
            "runs": [result.to_dict() for result in self.results],
            "ratios": [
                {"workload": workload, "design": design}
                | _interval(self.estimate(workload, design))
                for workload in self.workloads
                for design in self.designs
            ],
            "geomean": self.geomean(),
            "geomean_ci95": {d: self.geomean_estimate(d).ci95 for d in self.designs},
            "cold": [start.to_dict() for start in cold_starts(self.results)],
        }


def _interval(estimate: Estimate) -> dict[str, float]:
    return {"ratio": estimate.mean, "ci95": estimate.ci95}


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
    return compare_samples([(trace,) for trace in traces], configurations, jobs, progress)


def compare_samples(
    workloads: Sequence[Sequence[Trace]],
    configurations: Sequence[Configuration],
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Comparison:
    """Do the same as `compare` with several recordings of each workload."""
    check_design_names(configurations)
    labels = labels_of([traces[0] for traces in workloads])
    for label, count in Counter(labels).items():
        if count > 1:
            raise Error(f"the recording '{label}' is given {count} times; name it once")

    def task(trace: Trace, label: str, configuration: Configuration) -> Callable[[Report], Result]:
        def run(report: Report) -> Result:
            result = simulate(trace, configuration, report, contents=contents[trace])
            return replace(result, workload=label)

        return run

    contents = {
        trace: StartingContents(trace, len(configurations))
        for traces in workloads
        for trace in traces
    }
    tasks = [
        task(trace, label, configuration)
        for traces, label in zip(workloads, labels, strict=True)
        for trace in traces
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
