"""Draw the parts of plots in one style; a file's suffix chooses its format (png, pdf, svg)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pmemsim.errors import Error
from pmemsim.estimates import Estimate
from pmemsim.files import check_writable, replacing

try:
    import matplotlib as mpl
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ValueError as error:
    raise Error(f"matplotlib: {error}; correct MPLBACKEND or the file matplotlibrc") from error

# Okabe and Ito's palette, whose colours colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
# Further names have the same colours with another hatch, line or marker.
_HATCHES = ("", "////", "....", "xxxx", "----", "oooo", "||||", "++++")
_LINES = (
    "-", "--", ":", "-.", (0, (8, 2)), (0, (1, 4)), (0, (6, 2, 1, 2, 1, 2)), (0, (10, 4, 2, 4)),
)  # fmt: skip
_MARKERS = "osD^vX*P"
# Paul Tol's "muted" palette: shares of time must not look like designs.
_SHARE_COLOURS = (
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


def bar_style(index: int) -> dict[str, Any]:
    """Return the style of a name's bars, by its number among the names of a plot."""
    style = {"color": COLOURS[index % len(COLOURS)]}
    hatch = _HATCHES[index // len(COLOURS) % len(_HATCHES)]
    # A hatch has the colour of edges.
    return {**style, "hatch": hatch, "edgecolor": "white"} if hatch else style


def line_style(index: int, *, marked: bool = True) -> dict[str, Any]:
    """Return the style of a name's line, by its number among the names of a plot."""
    turn = index // len(COLOURS) % len(_LINES)
    style = {"color": COLOURS[index % len(COLOURS)], "linestyle": _LINES[turn]}
    return {**style, "marker": _MARKERS[turn]} if marked else style


def check_plot_path(path: Path) -> None:
    """Raise an `Error` now if a plot could not be written to `path` later."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise Error(f"{path}: the suffix selects the plot's format; use .png, .pdf or .svg")
    check_writable(path)


_WIDE_RANGE = 8
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
_MOST_TICKS = 12


def curves(axes: Axes, xs: Sequence[Any], lines: Mapping[str, Sequence[float | None]]) -> None:
    """Draw a line for each name: numbers at their values, text at equal distances."""
    numbers = not any(isinstance(x, str | bool) for x in xs)
    places = xs if numbers else list(range(len(xs)))
    for index, (label, values) in enumerate(lines.items()):
        style = line_style(index) if numbers else {**line_style(index), "linestyle": ""}
        drawn = [math.nan if value is None else value for value in values]
        axes.plot(places, drawn, label=label, **style)
    if numbers and xs[0] > 0 and xs[-1] >= _WIDE_RANGE * xs[0]:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    if not numbers or len(places) <= _MOST_TICKS:
        axes.set_xticks(places, [f"{x:g}" if numbers else str(x) for x in xs])
    axes.set_ylim(bottom=0)
    legend_above(axes)


def heat_map(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float | None],
    marks: Mapping[tuple[str, str], str],
    colours: str,
) -> None:
    """Draw a square for each cell, with its number and mark; cells without a number are white."""
    squares = [
        [math.nan if (value := values[row, column]) is None else value for column in columns]
        for row in rows
    ]
    image = axes.imshow(squares, aspect="auto", cmap=colours)
    for (row, column), mark in marks.items():
        x, y = columns.index(column), rows.index(row)
        value = squares[y][x]
        text = mark if math.isnan(value) else f"{value:.3g}{mark}"
        # A colour map has its dark colours at one end.
        red, green, blue, _ = image.to_rgba(np.asarray(value))
        dark = not math.isnan(value) and 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        axes.text(
            x, y, text, ha="center", va="center", fontsize=7.5, color="white" if dark else "black"
        )
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(visible=False)


def bar_of_shares(axes: Axes, shares: Mapping[str, float]) -> None:
    """Draw shares of time as the parts of one bar."""
    begin = 0.0
    for (label, share), colour in zip(shares.items(), _SHARE_COLOURS, strict=True):
        axes.barh([0], [100 * share], left=[begin], color=colour, label=label, height=0.5)
        begin += 100 * share
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_xlim(0, 100)


_BINS_PER_DECADE = 10


def histograms(axes: Axes, latencies: Mapping[str, Sequence[tuple[float, int]]]) -> None:
    """Draw the share of regions in equal intervals of a logarithmic scale, in nanoseconds.

    Each histogram has the begins of its intervals, and the numbers of regions.
    """
    begins_of_all = [max(begin, 1.0) for each in latencies.values() for begin, _ in each]
    first = math.floor(math.log10(min(begins_of_all)))
    last = max(first + 1, math.ceil(math.log10(max(begins_of_all)) + 0.01))
    edges = np.logspace(first, last, (last - first) * _BINS_PER_DECADE + 1)
    for index, (label, histogram) in enumerate(latencies.items()):
        # Latencies below 1 ns, such as those of regions that are durable at their end, are in the
        # first interval.
        begins = [max(begin, 1.0) for begin, _ in histogram]
        counts = [count for _, count in histogram]
        shares, _ = np.histogram(begins, edges, weights=counts)
        style = line_style(index, marked=False)
        axes.stairs(100 * shares / sum(counts), edges, label=label, linewidth=1.4, **style)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("latency of a region (ns)")
    axes.set_ylabel("regions (%)")
    legend_above(axes)


def stacks_of_times(axes: Axes, groups: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Draw a stack of times by cause for each name of each group, as percentages on one scale."""
    places: list[float] = []
    labels: list[str] = []
    shares: list[Mapping[str, float]] = []
    middles: dict[str, float] = {}
    begin = 0.0
    for group, stacks in groups.items():
        middles[group] = begin + (len(stacks) - 1) / 2
        for index, (label, stack) in enumerate(stacks.items()):
            places.append(begin + index)
            labels.append(label)
            shares.append(stack)
        begin += len(stacks) + 0.8
    begins = [0.0] * len(places)
    for part, colour in zip(shares[0], _SHARE_COLOURS, strict=True):
        heights = [100 * share[part] for share in shares]
        axes.bar(places, heights, 0.85, begins, label=part, color=colour)
        begins = [begin + height for begin, height in zip(begins, heights, strict=True)]
    axes.axhline(100, color="#555555", linewidth=0.8)
    axes.set_xticks(places, labels, rotation=45, ha="right", fontsize=7)
    top = axes.get_ylim()[1]
    for group, middle in middles.items():
        axes.text(middle, top, group, ha="center", va="bottom", fontsize=8)


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
        bars = axes.bar(places, values, bar * 0.92, label=design, **bar_style(index))
        axes.bar_label(bars, fmt="%.2f", fontsize=6.5, padding=1)
        drawn[design] = places
    axes.axhline(1, color="#555555", linewidth=0.8)
    axes.axvline(len(names) - 1.5, color="#999999", linewidth=0.6, linestyle=":")
    axes.set_xticks(range(len(names)), names)
    legend_above(axes)
    return drawn


_LEGEND_CHARACTERS_PER_INCH = 11


def legend_above(axes: Axes) -> None:
    """Write the legend above the axes."""
    labels = axes.get_legend_handles_labels()[1]
    # A legend in constrained layout is as wide as its text, even beyond the figure.
    figure = axes.get_figure(root=True)
    assert figure is not None
    characters = _LEGEND_CHARACTERS_PER_INCH * figure.get_figwidth()
    most = int(characters / (6 + max(map(len, labels))))
    columns = max(1, min(len(labels), 6, most))
    axes.legend(ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0))


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
        axes.plot(range(len(names)), values, label=design, **line_style(index))
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(bottom=0)
    legend_above(axes)


def legend_below(figure: Figure, axes: Axes) -> None:
    """Write the legend of the axes below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="outside lower center", fontsize=8)


Drawn = TypeVar("Drawn")


def shown(draw: Callable[[Figure], Drawn], size: tuple[float, float]) -> Drawn:
    """Draw in pmemsim's style on a figure that a notebook or a window shows."""
    from matplotlib import pyplot

    try:
        # A notebook's backend sets up itself here; in the style's context, that would be undone.
        figure = pyplot.figure(figsize=size, layout="constrained")
    except (ImportError, RuntimeError) as error:  # the backend's window system isn't there
        raise Error(
            f"matplotlib: {error}; set MPLBACKEND=agg, or write the plot with save_plot()"
        ) from error
    with mpl.rc_context(_STYLE):
        return draw(figure)


def save(draw: Callable[[Figure], object], path: Path, size: tuple[float, float]) -> None:
    """Draw in pmemsim's style and write the file, whole or not at all."""
    # The Figure is made without pyplot: it needs no window system and no global state.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        with replacing(path) as partial:
            figure.savefig(partial, dpi=200)
