"""Plots of a report, as Plotly.js takes them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from pmemsim.reporting.blocks import Plot

# Okabe and Ito's palette, as in pmemsim.plots, and Paul Tol's "muted" palette for shares of time.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_SHARES = ("#DDDDDD", "#88CCEE", "#882255", "#DDCC77", "#332288", "#117733", "#44AA99")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "hexagon")
# Further names have the same colours with another pattern or dash, as in the legends of page.html.
_PATTERNS = ("", "/", "-", "|", "\\")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


_MOST_TICKS = 12
_WIDE_RANGE = 8  # an axis with such a ratio of its ends is logarithmic


def plain(text: str) -> str:
    """Return a text that Plotly.js shows unchanged; it takes tags as formatting."""
    return html.escape(text, quote=False)


def _turn(index: int) -> int:
    """Return how often all colours were used before this name."""
    return index // len(_COLOURS) % len(_PATTERNS)


def grouped_bars(
    title: str,
    y_title: str,
    groups: Sequence[str],
    bars: Mapping[str, Sequence[float | None]],
    intervals: Mapping[str, Sequence[float]],
) -> Plot:
    """Return a plot with a bar for each design in each group, with its confidence interval."""
    traces = [
        {
            "type": "bar",
            "name": plain(name),
            "x": [plain(group) for group in groups],
            "y": list(values),
            "marker": {
                "color": _COLOURS[index % len(_COLOURS)],
                "pattern": {"shape": _PATTERNS[_turn(index)], "fgcolor": "#ffffff"},
            },
            "meta": {"turn": _turn(index)},
            **({"error_y": _error(intervals[name])} if any(intervals[name]) else {}),
            "hovertemplate": "%{x}, " + plain(name) + ": %{y:.3f}<extra></extra>",
        }
        for index, (name, values) in enumerate(bars.items())
    ]
    line = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1,
        "line": {"width": 1, "dash": "dot"},
    }  # fmt: skip
    layout = {"barmode": "group", "yaxis": {"title": {"text": plain(y_title)}}, "shapes": [line]}
    summary = "Bars: " + "; ".join(
        f"{name}: {', '.join(map(_shown, groups, values))}" for name, values in bars.items()
    )
    return Plot(title, summary, traces, layout)


def _error(halves: Sequence[float]) -> dict[str, Any]:
    return {"type": "data", "array": list(halves), "thickness": 1}


def _shown(name: str, value: float | None) -> str:
    return f"{name} {'none' if value is None else format(value, '.3g')}"


def shares(title: str, bars: Mapping[str, Mapping[str, float]]) -> Plot:
    """Return a plot with a horizontal bar of shares, which add up to 1, for each name."""
    names = list(bars)
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plain(label),
            "y": [plain(name) for name in names],
            "x": [100 * bars[name][label] for name in names],
            "marker": {"color": _SHARES[index % len(_SHARES)]},
            "hovertemplate": "%{y}: " + plain(label) + " %{x:.1f}%<extra></extra>",
        }
        for index, label in enumerate(next(iter(bars.values())))
    ]
    layout = {
        "barmode": "stack",
        "height": 100 + 30 * len(names),
        "xaxis": {"title": {"text": "cores' time (%)"}, "range": [0, 100]},
        "yaxis": {"autorange": "reversed", "automargin": True},
    }
    largest = [
        f"{name}: mostly {max(parts, key=lambda label: parts[label])}"
        for name, parts in bars.items()
    ]
    return Plot(title, "Shares of time. " + "; ".join(largest), traces, layout)


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    marks: Sequence[Sequence[str]],
) -> Plot:
    """Return a plot with a coloured square for each cell, its number, and a mark behind it.

    A phone has more room downwards, so the plot is transposed if there are more columns than rows.
    """
    if len(columns) > len(rows):
        rows, columns = columns, rows
        values = list(zip(*values, strict=True))
        marks = list(zip(*marks, strict=True))
    texts = [
        ["-" if v is None else f"{v:.2f}{m}" for v, m in zip(of_row, marked, strict=True)]
        for of_row, marked in zip(values, marks, strict=True)
    ]
    trace = {
        "type": "heatmap",
        "x": [plain(each) for each in columns],
        "y": [plain(each) for each in rows],
        "z": [list(each) for each in values],
        "text": texts,
        "texttemplate": "%{text}",
        "colorscale": "Cividis",
        "showscale": False,
        "hovertemplate": "%{y}, %{x}: %{text}<extra></extra>",
    }
    layout = {
        "height": 80 + 32 * len(rows),
        "yaxis": {"autorange": "reversed", "automargin": True},
        "xaxis": {"automargin": True},
    }
    return Plot(title, "A number for each cell, which the table below has, too.", [trace], layout)


def lines(
    title: str,
    x_title: str,
    y_title: str,
    x: Sequence[Any],
    values: Mapping[str, Sequence[float | None]],
) -> Plot:
    """Return a plot with a line for each name; text on the horizontal axis has no lines."""
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in x)
    places: list[Any] = list(x) if numbers else [plain(str(each)) for each in x]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers" if numbers else "markers",
            "name": plain(name),
            "x": places,
            "y": list(of_line),
            "marker": {
                "color": _COLOURS[index % len(_COLOURS)],
                "symbol": _SYMBOLS[(index + _turn(index)) % len(_SYMBOLS)],
                "size": 9,
            },
            "line": {"dash": _DASHES[_turn(index)]},
            "meta": {"turn": _turn(index)},
        }
        for index, (name, of_line) in enumerate(values.items())
    ]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": plain(x_title)}},
        "yaxis": {"title": {"text": plain(y_title)}, "rangemode": "tozero"},
    }
    if not numbers:
        layout["xaxis"]["type"] = "category"
    elif len(places) <= _MOST_TICKS:
        layout["xaxis"] |= {"tickvals": places, "ticktext": [f"{each:g}" for each in places]}
        if min(places) > 0 and max(places) >= _WIDE_RANGE * min(places):
            layout["xaxis"]["type"] = "log"
    return Plot(title, f"{y_title} over {x_title}; the table below has the values.", traces, layout)


def ratios_to_paper(
    title: str, rows: Mapping[str, tuple[float, float]], descriptions: Sequence[str]
) -> Plot:
    """Return a plot with a point for each entry: measured over published, with its interval."""
    names = [plain(name) for name in rows]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "measured over published",
        "x": [ratio for ratio, _ in rows.values()],
        "y": names,
        "error_x": _error([half for _, half in rows.values()]),
        "marker": {"color": _COLOURS[0], "size": 9},
        "text": [plain(each) for each in descriptions],
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
    }
    band = {
        "type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": 0.85, "x1": 1.15,
        "fillcolor": "#009E73", "opacity": 0.15, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    line = {
        "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": 1, "x1": 1,
        "line": {"width": 1, "dash": "dot"},
    }  # fmt: skip
    layout = {
        "height": 90 + 30 * len(names),
        "shapes": [band, line],
        "xaxis": {"title": {"text": "measured / paper"}},
        "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
    }
    summary = "Measured over published: " + "; ".join(
        f"{name} {ratio:.3g}" for name, (ratio, _) in rows.items()
    )
    return Plot(title, summary, [trace], layout)
