"""Draw the papers' figures in their form: bars by benchmark, lines over a varied parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmemsim.plots import grouped_bars, lines, save
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.metrics import METRICS


def draw(measured: Measurements, path: Path) -> None:
    """Draw an experiment's figure."""
    if measured.experiment.varies:
        save(lambda figure: _lines(figure, measured), path, (5.5, 3.8))
        return
    groups = measured.paper.groups
    series = len(measured.experiment.designs) * len(_metrics(measured))
    width = 1.2 + 0.34 * len(measured.experiment.benchmarks) / len(groups) * (series + 1)

    def bars(figure: Figure) -> None:
        for row, group in zip(figure.subplots(len(groups), squeeze=False), groups, strict=True):
            _bars(row[0], measured, group)
        figure.suptitle(_title(measured), fontsize=10)

    save(bars, path, (max(5.5, width), 3.2 * len(groups) + 0.4))


def _title(measured: Measurements) -> str:
    experiment = measured.experiment
    return f"{experiment.title} ({measured.paper.name.upper()}, {experiment.where})"


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
    names = [b.name for b in experiment.benchmarks if b.group == group]
    size = f", {group}" if len(measured.paper.groups) > 1 else ""
    if _is_normalised(measured):
        over, mean = f" over {experiment.baseline}{size}", "geomean"
        heights = {design: _ratios(measured, design, group, names) for design in experiment.designs}
    else:
        over, mean = size, "mean"
        heights = {
            label: _values(of_metric, design, group, names)
            for label, of_metric, design in _each(measured)
        }
    grouped_bars(axes, [*names, mean], heights)
    axes.set_ylabel(_label(measured) + over)


def _ratios(measured: Measurements, design: str, group: str, names: Sequence[str]) -> list[float]:
    baseline = measured.experiment.baseline
    ratios = measured.ratios(design, baseline)
    means = {b.name: fmean(of_seeds) for b, of_seeds in ratios.items() if b.group == group}
    bars = [means.get(name, nan) for name in names]
    return [*bars, measured.ratio(design, baseline, group=group).mean]


def _values(measured: Measurements, design: str, group: str, names: Sequence[str]) -> list[float]:
    counts = measured.counts(design)
    means = {b.name: fmean(of_seeds) for b, of_seeds in counts.items() if b.group == group}
    return [*(means.get(name, nan) for name in names), fmean(means.values())]


def _each(measured: Measurements) -> Iterator[tuple[str, Measurements, str]]:
    """Return every design with every metric, labelled by what differs."""
    metrics, designs = _metrics(measured), measured.experiment.designs
    for design in designs:
        for metric in metrics:
            label = METRICS[metric].label
            named = design if len(metrics) == 1 else f"{design}: {label}"
            yield named if design else label, measured.by(metric), design


def _lines(figure: Figure, measured: Measurements) -> None:
    axes = figure.subplots()
    experiment = measured.experiment
    first = experiment.points[0]
    # The baseline is of the same point where points have recordings, and so programs, of their own.
    fixed = None if any(point.has_own_recordings for point in experiment.points) else first
    if _is_normalised(measured):
        heights = {
            design: [
                measured.ratio(design, experiment.baseline, point, fixed or point).mean
                for point in experiment.points
            ]
            for design in experiment.designs
        }
        at = f" at {fixed.name}" if fixed else ""
        axes.set_ylabel(f"{_label(measured)} over {experiment.baseline}{at}, geomean")
    else:
        heights = {
            label: [of_metric.count(design, point).mean for point in experiment.points]
            for label, of_metric, design in _each(measured)
        }
        axes.set_ylabel(f"{_label(measured)}, mean")
    lines(axes, [point.name for point in experiment.points], heights)
    axes.set_xlabel(experiment.varies)
    figure.suptitle(_title(measured), fontsize=10)
