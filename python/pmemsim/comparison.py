"""Compare designs on the same recordings: throughput over a baseline, and shares of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim.cold_start import cold_starts
from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.parallel import Report, run_all
from pmemsim.results import Plot, Results
from pmemsim.simulation import (
    Configuration,
    Histogram,
    Result,
    StartingContents,
    breakdown,
    simulate,
)
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Comparison(Results, Plot["tuple[Axes, ...]"]):
    """Results of every workload on every design; the first design is the baseline.

    With several machines, a design's name here is `DESIGN on MACHINE`. A workload may have several
    samples, which are recordings with other seeds or schedules: the same number on every design, in
    the same order.

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
        return f"machine {', '.join(self.machines)}; ratios over {self.designs[0]}"

    @property
    def workloads(self) -> tuple[str, ...]:
        """Return the workloads, in the order they were given."""
        return tuple(dict.fromkeys(result.workload for result in self.results))

    @property
    def machines(self) -> tuple[str, ...]:
        """Return the machines, in the order they were given."""
        return tuple(dict.fromkeys(result.machine for result in self.results))

    def name_of(self, result: Result) -> str:
        """Return the name of a result's design among `designs`."""
        return design_label(result.design, result.machine, self.machines)

    @property
    def samples(self) -> int:
        """Return the number of recordings of a workload."""
        return len(self.samples_of(self.workloads[0], self.designs[0]))

    def samples_of(self, workload: str, design: str) -> tuple[Result, ...]:
        """Return the results of one workload on one design, one for each recording."""
        found = tuple(
            result
            for result in self.results
            if (result.workload, self.name_of(result)) == (workload, design)
        )
        if not found:
            raise Error(f"no result of workload '{workload}' on design '{design}'")
        return found

    def result(self, workload: str, design: str) -> Result:
        """Return the result of one workload on one design: of its first recording."""
        return self.samples_of(workload, design)[0]

    def baseline_of(self, result: Result, design: str | None = None) -> Result:
        """Return the same recording's result on the baseline, or on another design."""
        name = design or self.designs[0]
        for baseline in self.samples_of(result.workload, name):
            if (baseline.seed, baseline.schedule) == (result.seed, result.schedule):
                return baseline
        raise Error(
            f"no result of workload '{result.workload}', seed {result.seed}, schedule "
            f"{result.schedule} on design '{name}'"
        )

    def ratio(self, result: Result) -> float:
        """Return the throughput over the baseline's: the ratio of times for the same work."""
        return self.baseline_of(result).time_ns / result.time_ns

    def ratio_on_machine(self, result: Result) -> float:
        """Return the throughput over the first design's on the same machine."""
        name = design_label(self.results[0].design, result.machine, self.machines)
        return self.baseline_of(result, name).time_ns / result.time_ns

    def ratios(self, workload: str, design: str, *, on_machine: bool = False) -> list[float]:
        """Return the ratio for each recording of a workload.

        `on_machine`: over the first design on the same machine, instead of the baseline.
        """
        ratio = self.ratio_on_machine if on_machine else self.ratio
        return [ratio(result) for result in self.samples_of(workload, design)]

    def estimate(self, workload: str, design: str, *, on_machine: bool = False) -> Estimate:
        """Return the mean of `ratios()`, with its confidence interval."""
        return estimate(self.ratios(workload, design, on_machine=on_machine))

    def geomean_estimate(self, design: str, *, on_machine: bool = False) -> Estimate:
        """Return the mean of the recordings' geometric means of `ratios()` over the workloads."""
        by_workload = [
            self.ratios(workload, design, on_machine=on_machine) for workload in self.workloads
        ]
        return estimate([geometric_mean(ratios) for ratios in zip(*by_workload, strict=True)])

    def geomean(self, *, on_machine: bool = False) -> dict[str, float]:
        """Return each design's throughput over the baseline's: geometric mean of the workloads.

        `on_machine`: over the first design on the same machine, instead of the baseline.
        """
        return {
            design: self.geomean_estimate(design, on_machine=on_machine).mean
            for design in self.designs
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run: throughput, ratio, shares of the run's own time by cause.

        The table and the plot show the same times as shares of the baseline's time. With several
        machines, the index also has the level `machine`, and `design` is the design alone.
        """
        import pandas as pd

        index = ["workload", "design"] + (["machine"] if len(self.machines) > 1 else [])
        rows = [
            {
                "workload": result.workload,
                "design": result.design,
                "machine": result.machine,
                "seed": result.seed,
                "schedule": result.schedule,
                "regions_per_s": result.regions_per_s,
                "time_ns": result.time_ns,
                "ratio": self.ratio(result),
                "ratio_on_machine": self.ratio_on_machine(result),
                **breakdown(result),
            }
            for result in self.results
        ]
        return pd.DataFrame(rows).set_index(index)

    @property
    def _size(self) -> tuple[float, float]:
        groups = len(self.workloads) + 1
        width = max(5.5, 1.2 + 0.32 * groups * (len(self.designs) + 1))
        return width, 9.0 if self._latencies else 6.0

    @property
    def _latencies(self) -> dict[str, Histogram]:
        """Return the times of all regions from begin to end on each design."""
        return {
            design: tuple(
                interval
                for result in self.results
                if self.name_of(result) == design
                for interval in result.region_latencies
            )
            for design in self.designs
            if any(self.name_of(each) == design and each.region_latencies for each in self.results)
        }

    def _draw(self, figure: Figure) -> tuple[Axes, ...]:
        """Draw throughput, the cores' time over the baseline's, and the latencies of regions."""
        from pmemsim.plots import grouped_bars, histograms, legend_below, stacks_of_times

        latencies = self._latencies
        # The causes of the bottom have their legend below it.
        top, *rest, bottom = figure.subplots(3 if latencies else 2, 1)
        means = self.geomean()
        heights = {
            design: [*(self.ratio(self.result(w, design)) for w in self.workloads), means[design]]
            for design in self.designs
        }
        grouped_bars(top, [*self.workloads, "geomean"], heights)
        top.set_ylabel("throughput")
        times = {
            workload: {design: self._times(workload, design) for design in self.designs}
            for workload in self.workloads
        }
        stacks_of_times(bottom, times)
        bottom.set_ylabel("time of all cores (%)")
        for axes in rest:
            histograms(axes, latencies)
            if len(self.workloads) > 1:
                axes.set_xlabel("latency of a region (ns), all workloads together")
        legend_below(figure, bottom)
        figure.suptitle(self.title, fontsize=10)
        return top, bottom, *rest

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for `--json` (keys: docs/reference/results.md)."""
        return {
            "runs": [result.to_dict() for result in self.results],
            "ratios": [
                {"workload": workload, "design": design}
                | _interval(self.estimate(workload, design))
                | self._on_machine(workload, design)
                for workload in self.workloads
                for design in self.designs
            ],
            "geomean": self.geomean(),
            "geomean_ci95": {d: self.geomean_estimate(d).ci95 for d in self.designs},
            "cold": [
                start.to_dict() | {"design": self.name_of(start.result)}
                for start in cold_starts(self.results)
            ],
        }

    def _times(self, workload: str, design: str) -> dict[str, float]:
        result = self.result(workload, design)
        return times_over(result, self.baseline_of(result))

    def _on_machine(self, workload: str, design: str) -> dict[str, Any]:
        """Return a design's machine, and its mean ratio to the first design on this machine."""
        found = self.estimate(workload, design, on_machine=True)
        return {
            "machine": self.result(workload, design).machine,
            "ratio_on_machine": found.mean,
            "ci95_on_machine": found.ci95,
        }


def design_label(design: str, machine: str, machines: Collection[object]) -> str:
    """Return a design's name in a comparison on some machines."""
    return design if len(machines) == 1 else f"{design} on {machine}"


def _interval(estimate: Estimate) -> dict[str, float]:
    return {"ratio": estimate.mean, "ci95": estimate.ci95}


def times_over(result: Result, baseline: Result) -> dict[str, float]:
    """Return the parts of all cores' time, as shares of the baseline's time of all cores."""
    whole = _core_time(result) / _core_time(baseline) if _core_time(baseline) else 0.0
    return {label: share * whole for label, share in breakdown(result).items()}


def _core_time(result: Result) -> float:
    return next(each.value for each in result.statistics if each.name == "stall.total_ns")


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
    machines = {each.machine.name for each in configurations}
    designs = (design_label(c.design.name, c.machine.name, machines) for c in configurations)
    return Comparison(tuple(results), tuple(designs))


def check_design_names(configurations: Sequence[Configuration]) -> None:
    """Raise an `Error` if two designs could not be distinguished."""
    names = Counter((each.design.name, each.machine.name) for each in configurations)
    for (design, machine), count in names.items():
        alike = [each for each in configurations if each.machine.name == machine]
        same_machine = all(each.machine == alike[0].machine for each in alike)
        what, name = ("designs", design) if same_machine else ("machines", machine)
        if count > 1:
            raise Error(
                f"{count} of the {what} have the name '{name}'; give each file a unique name"
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
