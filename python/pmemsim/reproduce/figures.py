"""The papers' figures, drawn as they are there: bars by benchmark, lines where something varies."""

from __future__ import annotations

import statistics
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmemsim.plots import grouped_bars, lines, save
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.metrics import METRICS


def draw(measured: Measurements, path: Path) -> None:
    """Draw an experiment's figure."""
    if measured.experiment.varies:
        save(lambda figure: _lines(figure.subplots(), measured), path, (5.5, 3.8))
        return
    groups = measured.paper.groups
    width = 1.2 + 0.34 * len(measured.experiment.benchmarks) / len(groups) * (
        len(measured.experiment.designs) + 1
    )

    def bars(figure: Figure) -> None:
        for row, group in zip(figure.subplots(len(groups), squeeze=False), groups, strict=True):
            _bars(row[0], measured, group)
        figure.suptitle(_title(measured), fontsize=10)

    save(bars, path, (max(5.5, width), 3.2 * len(groups) + 0.4))


def _title(measured: Measurements) -> str:
    experiment = measured.experiment
    return f"{experiment.title} ({measured.paper.name.upper()}, {experiment.where})"


def _bars(axes: Axes, measured: Measurements, group: str) -> None:
    experiment = measured.experiment
    names = [b.name for b in measured.experiment.benchmarks if b.group == group]
    heights = {}
    for design in experiment.designs:
        ratios = measured.ratios(design, experiment.baseline)
        means = {b.name: statistics.fmean(r) for b, r in ratios.items() if b.group == group}
        bars = [means.get(name, float("nan")) for name in names]
        mean = measured.ratio(design, experiment.baseline, group=group).mean
        heights[design] = [*bars, mean]
    grouped_bars(axes, [*names, "geomean"], heights)
    size = f", {group}" if len(measured.paper.groups) > 1 else ""
    axes.set_ylabel(f"{METRICS[experiment.metric].label} over {experiment.baseline}{size}")


def _lines(axes: Axes, measured: Measurements) -> None:
    experiment = measured.experiment
    first = experiment.points[0]
    # The same point's, where the points have recordings of their own, and so other programs.
    fixed = None if any(point.is_recorded_anew for point in experiment.points) else first
    heights = {
        design: [
            measured.ratio(design, experiment.baseline, point, fixed or point).mean
            for point in experiment.points
        ]
        for design in experiment.designs
    }
    lines(axes, [point.name for point in experiment.points], heights)
    axes.set_xlabel(experiment.varies)
    at = f" at {fixed.name}" if fixed else ""
    axes.set_ylabel(f"{METRICS[experiment.metric].label} over {experiment.baseline}{at}, geomean")
    axes.figure.suptitle(_title(measured), fontsize=10)
