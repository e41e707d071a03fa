"""Draw the papers' figures in their form: bars by benchmark, lines over a varied parameter.

Each value has its 95% confidence interval and, where the paper reports one, the paper's value. A
missing bar says why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from statistics import fmean
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmemsim.errors import Error
from pmemsim.estimates import Estimate, estimate
from pmemsim.plots import grouped_bars, intervals, legend_above, lines
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.metrics import METRICS
from pmemsim.reproduction.plan import Benchmark, Entry, Point
from pmemsim.results import Plot

_MISSING = Estimate(nan, nan)
# The average number of characters in an inch of a title.
_CHARACTERS_PER_INCH = 12


@dataclass(frozen=True)
class _Bar:
    """A bar, with the paper's value; or why there is no bar."""

    measured: Estimate
    reported: float | None = None
    lacking: str = ""


@dataclass(frozen=True)
class ExperimentFigure(Plot["list[Axes]"]):
    """An experiment's figure, with axes for each size of the data."""

    measured: Measurements

    @property
    def _size(self) -> tuple[float, float]:
        experiment, groups = self.measured.experiment, self.measured.paper.groups
        if experiment.varies:
            return 5.5, 3.8
        series = len(experiment.designs) * len(_metrics(self.measured))
        width = 1.2 + 0.34 * len(experiment.benchmarks) / len(groups) * (series + 1)
        return max(5.5, width), 3.2 * len(groups) + 0.4

    def _draw(self, figure: Figure) -> list[Axes]:
        if self.measured.experiment.varies:
            return [_lines(figure, self.measured)]
        groups = self.measured.paper.groups
        every = [row[0] for row in figure.subplots(len(groups), squeeze=False)]
        for axes, group in zip(every, groups, strict=True):
            _bars(axes, self.measured, group)
        _set_title(figure, self.measured)
        return every


def _set_title(figure: Figure, measured: Measurements) -> None:
    """Set the title, in as many lines as the figure's width needs."""
    experiment = measured.experiment
    title = f"{experiment.title} ({measured.paper.name.upper()}, {experiment.where})"
    if measured.scale == "smoke":
        title += ", smoke: means nothing"
    characters = int(figure.get_figwidth() * _CHARACTERS_PER_INCH)
    figure.suptitle(fill(title, characters), fontsize=10)


def _is_normalised(measured: Measurements) -> bool:
    """Return whether values are shown over the baseline's."""
    experiment = measured.experiment
    return bool(experiment.baseline) and METRICS[experiment.metric].compared != "never"


def _metrics(measured: Measurements) -> Sequence[str]:
    experiment = measured.experiment
    return (experiment.metric,) if _is_normalised(measured) else experiment.metrics


def _label(measured: Measurements) -> str:
    return ", ".join(METRICS[metric].label for metric in _metrics(measured))


def _bars(axes: Axes, measured: Measurements, group: str) -> None:
    experiment = measured.experiment
    benchmarks = [b for b in experiment.benchmarks if b.group == group]
    size = f", {group}" if len(measured.paper.groups) > 1 else ""
    if _is_normalised(measured):
        over, mean = f" over {experiment.baseline}{size}", "geomean"
        series = {design: _ratios(measured, design, benchmarks) for design in experiment.designs}
    else:
        over, mean = size, "mean"
        series = {
            label: _values(of_metric, design, benchmarks)
            for label, of_metric, design in _each(measured)
        }
    names = [benchmark.name for benchmark in benchmarks]
    heights = {label: [bar.measured.mean for bar in bars] for label, bars in series.items()}
    places = grouped_bars(axes, [*names, mean], heights)
    for label, bars in series.items():
        intervals(axes, places[label], [bar.measured for bar in bars])
        for place, bar in zip(places[label], bars, strict=True):
            if bar.lacking:
                axes.text(
                    place, 0, f" {bar.lacking}", rotation=90, fontsize=5.5, ha="center", va="bottom"
                )
    _reported(axes, {label: [bar.reported for bar in bars] for label, bars in series.items()},
              places)  # fmt: skip
    axes.set_ylabel(_label(measured) + over)


def _reported(
    axes: Axes, values: Mapping[str, Sequence[float | None]], places: Mapping[str, Sequence[float]]
) -> None:
    """Mark the paper's values."""
    marks = [
        (place, value)
        for label, of_label in values.items()
        for place, value in zip(places[label], of_label, strict=True)
        if value is not None
    ]
    if marks:
        across, up = zip(*marks, strict=True)
        axes.scatter(
            across, up, marker="D", s=14, facecolors="none", edgecolors="black", linewidths=0.9,
            label="the paper's value", zorder=3,
        )  # fmt: skip
        legend_above(axes)


def _ratios(measured: Measurements, design: str, benchmarks: Sequence[Benchmark]) -> list[_Bar]:
    """Return a bar for each benchmark, and one for their mean."""
    baseline, group = measured.experiment.baseline, benchmarks[0].group
    ratios = _or_nothing(lambda: measured.ratios(design, baseline))
    mean = _or_missing(lambda: measured.ratio(design, baseline, group=group))
    reported = _reported_ratios(measured, design, group)
    return _all_bars(measured, (design, baseline), benchmarks, ratios, mean, reported)


def _values(measured: Measurements, design: str, benchmarks: Sequence[Benchmark]) -> list[_Bar]:
    """Return a bar for each benchmark, and one for their mean."""
    counts = _or_nothing(lambda: measured.counts(design))
    of_group = [counts[each] for each in benchmarks if each in counts]
    seeds = zip(*of_group, strict=True)
    mean = estimate([fmean(of_seed) for of_seed in seeds]) if of_group else _MISSING
    reported = {
        entry.benchmark: value
        for entry in measured.experiment.entries
        if (entry.of, entry.over) == (design, "")
        and (entry.metric or _own_metric(measured)) == measured.experiment.metric
        and (value := _in_figure(entry)) is not None
    }
    return _all_bars(measured, (design,), benchmarks, counts, mean, reported)


Reported = Mapping[str | None, float]
"""The paper's values by benchmark; that of None is the mean's."""


def _reported_ratios(measured: Measurements, design: str, group: str) -> Reported:
    """Return the paper's values of a design, over the figure's baseline.

    Where the paper compares a design with another one than the baseline, the value is the paper's
    ratio times what was measured of that other one.
    """
    experiment = measured.experiment
    values: dict[str | None, float] = {}
    for entry in sorted(experiment.entries, key=lambda entry: entry.over != experiment.baseline):
        value = _in_figure(entry)
        is_of_bars = entry.of == design and entry.over and not entry.metric
        if value is None or not is_of_bars:
            continue
        other = _or_missing(partial(
            measured.ratio, entry.over, experiment.baseline, group=group, name=entry.benchmark
        ))  # fmt: skip
        values.setdefault(entry.benchmark, value * other.mean)
    return values


def _all_bars(
    measured: Measurements, designs: Sequence[str], benchmarks: Sequence[Benchmark],
    values: Mapping[Benchmark, Sequence[float]], mean: Estimate, reported: Reported,
) -> list[_Bar]:  # fmt: skip
    known = {} if benchmarks[0].beside else reported
    bars = []
    for benchmark in benchmarks:
        if benchmark in values:
            bars.append(_Bar(estimate(values[benchmark]), known.get(benchmark.name)))
        else:
            bars.append(_Bar(_MISSING, None, _lacking(measured, designs, benchmark)))
    lacking = "" if values else METRICS[measured.experiment.metric].lacking
    return [*bars, _Bar(mean, known.get(None), lacking)]


def _in_figure(entry: Entry) -> float | None:
    value = entry.fact.value
    return value + 1 if value is not None and entry.less_one else value


def _own_metric(measured: Measurements) -> str:
    """Return the experiment's metric, where one of its entries' metrics is measured."""
    return measured.paper.experiments[measured.experiment.id].metric


def _lacking(measured: Measurements, designs: Sequence[str], benchmark: Benchmark) -> str:
    """Return why a benchmark has no bar: what the runs of the first such design lack."""
    first = measured.experiment.points[0]
    lacking = METRICS[measured.experiment.metric].lacking
    for design in designs:
        values = [measured.value(design, first, benchmark, seed) for seed in measured.paper.seeds]
        if None in values or (len(designs) > 1 and 0 in values):
            what = lacking if None in values else "0"
            return f"{what} ({design})" if design else what
    return lacking


def _or_nothing(
    values: Callable[[], dict[Benchmark, list[float]]],
) -> dict[Benchmark, list[float]]:
    """Return the values; none if no benchmark has the metric."""
    try:
        return values()
    except Error:
        return {}


def _or_missing(value: Callable[[], Estimate]) -> Estimate:
    """Return the value; a missing one if no benchmark has the metric."""
    try:
        return value()
    except Error:
        return _MISSING


def _each(measured: Measurements) -> Iterator[tuple[str, Measurements, str]]:
    """Return every design with every metric, labelled by what differs."""
    metrics, designs = _metrics(measured), measured.experiment.designs
    for design in designs:
        for metric in metrics:
            label = METRICS[metric].label
            named = design if len(metrics) == 1 else f"{design}: {label}"
            yield named if design else label, measured.by(metric), design


def _lines(figure: Figure, measured: Measurements) -> Axes:
    axes = figure.subplots()
    experiment = measured.experiment
    first = experiment.points[0]
    # The baseline is of the same point where points have recordings, and so programs, of their own.
    fixed = None if any(point.has_own_recordings for point in experiment.points) else first
    if _is_normalised(measured):
        series = {
            design: [_ratio_at(measured, design, point, fixed or point)
                     for point in experiment.points]
            for design in experiment.designs
        }  # fmt: skip
        at = f" at {fixed.name}" if fixed else ""
        axes.set_ylabel(f"{_label(measured)} over {experiment.baseline}{at}, geomean")
    else:
        series = {
            label: [_count_at(of_metric, design, point) for point in experiment.points]
            for label, of_metric, design in _each(measured)
        }
        axes.set_ylabel(f"{_label(measured)}, mean")
    heights = {label: [bar.measured.mean for bar in bars] for label, bars in series.items()}
    lines(axes, [point.name for point in experiment.points], heights)
    places = {label: list(range(len(bars))) for label, bars in series.items()}
    for label, bars in series.items():
        intervals(axes, places[label], [bar.measured for bar in bars])
    _reported(axes, {label: [bar.reported for bar in bars] for label, bars in series.items()},
              places)  # fmt: skip
    axes.set_xlabel(experiment.varies)
    _set_title(figure, measured)
    return axes


def _ratio_at(measured: Measurements, design: str, point: Point, over_at: Point) -> _Bar:
    experiment = measured.experiment
    first = experiment.points[0]

    def over_baseline(of: str, at: Point) -> Estimate:
        return _or_missing(lambda: measured.ratio(of, experiment.baseline, at, over_at))

    reported = [
        value * over_baseline(entry.over, entry.over_at or first).mean
        for entry in sorted(experiment.entries, key=lambda each: each.over != experiment.baseline)
        if (value := _in_figure(entry)) is not None
        and (entry.of, entry.at or first) == (design, point)
        and entry.over
        and not (entry.metric or entry.benchmark)
    ]
    return _Bar(over_baseline(design, point), reported[0] if reported else None)


def _count_at(measured: Measurements, design: str, point: Point) -> _Bar:
    first = measured.experiment.points[0]
    reported = [
        _in_figure(entry)
        for entry in measured.experiment.entries
        if (entry.of, entry.over, entry.benchmark) == (design, "", None)
        and (entry.metric or _own_metric(measured)) == measured.experiment.metric
        and (entry.at or first) == point
    ]
    value = _or_missing(lambda: measured.count(design, point))
    return _Bar(value, reported[0] if reported else None)
