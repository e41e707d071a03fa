"""Plot runs and comparisons; the file's suffix chooses the format (png, pdf, svg)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmemsim.comparison import Comparison, breakdown
from pmemsim.errors import Error
from pmemsim.estimates import Estimate
from pmemsim.files import check_writable, replacing
from pmemsim.matrices import Matrix
from pmemsim.predictability import ALL_STORES, WITHOUT_OWN_STORES, Predictability, share_found
from pmemsim.simulation import Result

if TYPE_CHECKING:
    from pmemsim.sweeping.series import Series

try:
    import matplotlib as mpl
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ValueError as error:
    raise Error(f"matplotlib: {error}; correct MPLBACKEND or the file matplotlibrc") from error

# Okabe and Ito's palette, whose colours colour-blind readers can distinguish.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
# Paul Tol's "muted" palette: shares of time must not look like designs.
_STALL_COLOURS = (
    "#DDDDDD", "#88CCEE", "#882255", "#DDCC77", "#332288", "#117733", "#44AA99",
)  # fmt: skip
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "text.parse_math": False,  # a name with dollars is a name, not a formula
    "svg.hashsalt": "pmemsim",
}


def check_plot_path(path: Path) -> None:
    """Raise an `Error` now if a plot could not be written to `path` later."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise Error(f"{path}: the suffix selects the plot's format; use .png, .pdf or .svg")
    check_writable(path)


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """Plot normalised throughput above, and the shares of the cores' time below."""
    groups = len(comparison.workloads) + 1
    width = max(5.5, 1.2 + 0.32 * groups * (len(comparison.designs) + 1))

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1)
        _throughput(top, comparison)
        _stacks(bottom, comparison)
        _share_legend(figure, bottom)
        figure.suptitle(f"machine {comparison.results[0].machine}", fontsize=10)

    save(draw, path, (width, 6.0))


def plot_result(result: Result, path: Path) -> None:
    """Plot the shares of the cores' time in one run, as one bar."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        begin = 0.0
        for (label, share), colour in zip(breakdown(result).items(), _STALL_COLOURS, strict=True):
            axes.barh([0], [100 * share], left=[begin], color=colour, label=label, height=0.5)
            begin += 100 * share
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the cores' time (%)")
        axes.set_title(
            f"{result.workload}: design {result.design}, machine {result.machine}, "
            f"{result.time_ns / 1e6:.3g} ms simulated",
            fontsize=9,
        )
        _share_legend(figure, axes)

    save(draw, path, (6.5, 2.2))


def plot_matrix(matrix: Matrix, path: Path) -> None:
    """Plot heat maps of the speedups and of the PM write traffic; wrong designs are marked."""
    width = max(6.5, 2.0 + 0.55 * len(matrix.designs))
    height = 3.2 + 0.7 * len(matrix.workloads)

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1)
        speedups = {(c.workload, c.design): c.speedup for c in matrix.cells}
        _heat_map(top, matrix, speedups, f"throughput over {matrix.baseline}", "viridis")
        written = {
            (c.workload, c.design): None if c.pm_write_bytes is None else c.pm_write_bytes / 1e6
            for c in matrix.cells
        }
        _heat_map(bottom, matrix, written, "written to PM (MB)", "cividis_r")
        figure.suptitle(
            f"machine {matrix.cells[0].machine}; !: a crash leaves a wrong image, ?: not verified",
            fontsize=10,
        )

    save(draw, path, (width, height))


def plot_series(series: Series, path: Path) -> None:
    """Plot a column of a sweep over an axis: numbers at their values, text at equal distances."""
    numbers = not any(isinstance(x, str | bool) for x in series.x)
    places = series.x if numbers else list(range(len(series.x)))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for index, (label, values) in enumerate(series.lines.items()):
            axes.plot(
                places, [math.nan if value is None else value for value in values], label=label,
                marker="o", linestyle="-" if numbers else "", color=_COLOURS[index % len(_COLOURS)],
            )  # fmt: skip
        if numbers and series.x[0] > 0 and series.x[-1] >= _WIDE_RANGE * series.x[0]:
            axes.set_xscale("log", base=2)
            axes.minorticks_off()
        if not numbers or len(places) <= _MOST_TICKS:
            axes.set_xticks(places, [f"{x:g}" if numbers else str(x) for x in series.x])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(series.x_label)
        axes.set_ylabel(series.y_label)
        figure.suptitle(series.title, fontsize=9)
        legend_above(axes)

    save(draw, path, (6.5, 4.0))


_WIDE_RANGE = 8
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
_MOST_TICKS = 12
_PREDICTABLE = (
    (ALL_STORES, "address", "address"),
    (ALL_STORES, "data_4_bytes", "data"),
    (ALL_STORES, "both_4_bytes", "both"),
    (WITHOUT_OWN_STORES, "both_4_bytes", "both, without the line's own stores"),
)


def plot_predictability(recordings: Sequence[Predictability], path: Path) -> None:
    """Plot the data in earlier stores, the distances of write-backs, and the store sets."""
    names = [f"{each.workload} {each.optimization}".strip() for each in recordings]

    def draw(figure: Figure) -> None:
        top, middle, bottom = figure.subplots(3, 1)
        for index, (stores, what, label) in enumerate(_PREDICTABLE):
            places = [group - 0.4 + 0.2 * (index + 0.5) for group in range(len(names))]
            shares = [100 * share_found(each.total, stores, what) for each in recordings]
            top.bar(places, shares, 0.18, label=label, color=_COLOURS[index])
        top.set_xticks(range(len(names)), names, rotation=20, ha="right")
        top.set_ylabel("write-backs (%)")
        top.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        for index, (name, each) in enumerate(zip(names, recordings, strict=True)):
            colour = _COLOURS[index % len(_COLOURS)]
            bounds = [bound for bound, _ in each.distances if bound is not None]
            counts = np.cumsum([count for _, count in each.distances])[: len(bounds)]
            middle.plot(bounds, 100 * counts / max(each.total.write_backs, 1), color=colour)
            sets = [found.write_backs for found in each.most_frequent_sets]
            covered = 100 * np.cumsum(sets) / max(each.total.write_backs, 1)
            bottom.plot(range(1, len(sets) + 1), covered, color=colour, label=name)
        middle.set_xscale("log")
        middle.set_xlabel("instructions from a line's last store to its write-back, at most")
        middle.set_ylabel("write-backs (%)")
        bottom.set_xlabel("most frequent sets of store instructions")
        bottom.set_ylabel("write-backs (%)")
        for axes in (top, middle, bottom):
            axes.set_ylim(0, 100)
        figure.legend(ncols=4, loc="outside lower center", fontsize=8)

    save(draw, path, (max(6.5, 1.5 + 0.7 * len(names)), 8.0))


def _heat_map(
    axes: Axes,
    matrix: Matrix,
    values: Mapping[tuple[str, str], float | None],
    title: str,
    colours: str,
) -> None:
    """Draw a square for each cell, with its number; cells without a number stay white."""
    workloads, designs = matrix.workloads, matrix.designs
    squares = [
        [math.nan if (value := values[w, d]) is None else value for d in designs] for w in workloads
    ]
    image = axes.imshow(squares, aspect="auto", cmap=colours)
    for cell in matrix.cells:
        row, column = workloads.index(cell.workload), designs.index(cell.design)
        value = squares[row][column]
        mark = "?" if cell.violations is None else "!" if cell.violations else ""
        text = f"{mark}" if math.isnan(value) else f"{value:.3g}{mark}"
        # A colour map has its dark colours at one end.
        red, green, blue, _ = image.to_rgba(np.asarray(value))
        dark = not math.isnan(value) and 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        axes.text(
            column, row, text, ha="center", va="center", fontsize=7.5,
            color="white" if dark else "black",
        )  # fmt: skip
    axes.set_xticks(range(len(designs)), designs, rotation=45, ha="right")
    axes.set_yticks(range(len(workloads)), workloads)
    axes.grid(visible=False)
    axes.set_title(title, fontsize=9)


def _throughput(axes: Axes, comparison: Comparison) -> None:
    names = [*comparison.workloads, "geomean"]
    means = comparison.geomean()
    heights = {
        design: [
            *(comparison.ratio(comparison.result(w, design)) for w in comparison.workloads),
            means[design],
        ]
        for design in comparison.designs
    }
    grouped_bars(axes, names, heights)
    axes.set_ylabel(f"throughput over {comparison.designs[0]}")


def grouped_bars(
    axes: Axes, names: Sequence[str], heights: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Draw a bar for each design in each group; the last group, the mean, is set apart.

    Returns the places of each design's bars on the horizontal axis.
    """
    bar = 0.8 / len(heights)
    drawn = {}
    for index, (design, values) in enumerate(heights.items()):
        places = [group - 0.4 + bar * (index + 0.5) for group in range(len(names))]
        bars = axes.bar(
            places, values, bar * 0.92, label=design, color=_COLOURS[index % len(_COLOURS)]
        )
        axes.bar_label(bars, fmt="%.2f", fontsize=6.5, padding=1)
        drawn[design] = places
    axes.axhline(1, color="#555555", linewidth=0.8)
    axes.axvline(len(names) - 1.5, color="#999999", linewidth=0.6, linestyle=":")
    axes.set_xticks(range(len(names)), names)
    legend_above(axes)
    return drawn


def legend_above(axes: Axes) -> None:
    """Write the legend above the axes."""
    labels = axes.get_legend_handles_labels()[1]
    axes.legend(ncols=min(len(labels), 6), loc="lower center", bbox_to_anchor=(0.5, 1.0))


def intervals(axes: Axes, places: Sequence[float], samples: Sequence[Estimate]) -> None:
    """Draw the 95% confidence interval of each value."""
    axes.vlines(
        places,
        [each.mean - each.ci95 for each in samples],
        [each.mean + each.ci95 for each in samples],
        colors="#333333", linewidth=0.9,
    )  # fmt: skip


def lines(axes: Axes, names: Sequence[str], heights: Mapping[str, Sequence[float]]) -> None:
    """Draw a line for each design over the values of the varied parameter."""
    for index, (design, values) in enumerate(heights.items()):
        axes.plot(
            range(len(names)), values, marker="o", label=design,
            color=_COLOURS[index % len(_COLOURS)],
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(bottom=0)
    legend_above(axes)


def _stacks(axes: Axes, comparison: Comparison) -> None:
    places: list[float] = []
    labels: list[str] = []
    shares: list[dict[str, float]] = []
    for group, workload in enumerate(comparison.workloads):
        for index, design in enumerate(comparison.designs):
            places.append(group * (len(comparison.designs) + 0.8) + index)
            labels.append(design)
            shares.append(breakdown(comparison.result(workload, design)))
    begins = [0.0] * len(places)
    for label, colour in zip(shares[0], _STALL_COLOURS, strict=True):
        heights = [100 * share[label] for share in shares]
        axes.bar(places, heights, 0.85, begins, label=label, color=colour)
        begins = [begin + height for begin, height in zip(begins, heights, strict=True)]
    axes.set_xticks(places, labels, rotation=45, ha="right", fontsize=7)
    axes.set_ylim(0, 100)
    axes.set_ylabel("share of the cores' time (%)")
    for group, workload in enumerate(comparison.workloads):
        middle = group * (len(comparison.designs) + 0.8) + (len(comparison.designs) - 1) / 2
        axes.text(middle, 101, workload, ha="center", va="bottom", fontsize=8)


def _share_legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="outside lower center", fontsize=8)


def save(draw: Callable[[Figure], None], path: Path, size: tuple[float, float]) -> None:
    """Draw in pmemsim's style and write the file, whole or not at all."""
    # The Figure is made without pyplot: it needs no window system and no global state.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        with replacing(path) as partial:
            figure.savefig(partial, dpi=200)
