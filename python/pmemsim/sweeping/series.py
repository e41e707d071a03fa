"""Select what a plot of a sweep shows: a column over an axis, for each value of another axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from pmemsim.declared_statistics import statistics
from pmemsim.errors import Error, Problems, did_you_mean, near
from pmemsim.results import Plot
from pmemsim.sweeping.columns import column_of
from pmemsim.sweeping.spec import Spec
from pmemsim.sweeping.table import MEASURED_NUMBERS, SPEEDUP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EXAMPLE = "x=pm.wpq_entries,y=speedup,hue=design"
_KEYS = ("x", "y", "hue")


@dataclass(frozen=True)
class Wanted:
    """The columns of a plot."""

    x: str
    """An axis."""
    y: str
    """A column of numbers."""
    hue: str | None
    """An axis with a line for each value; None: one line."""


@dataclass(frozen=True)
class Series(Plot["Axes"]):
    """The values of a plot."""

    x_label: str
    y_label: str
    x: list[Any]
    lines: dict[str, list[float | None]]
    """For each line, a value for each of `x`; None if no point has one."""
    title: str

    @property
    def _size(self) -> tuple[float, float]:
        return 6.5, 4.0

    def _draw(self, figure: Figure) -> Axes:
        from pmemsim.plots import curves

        axes = figure.subplots()
        curves(axes, self.x, self.lines)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        figure.suptitle(self.title, fontsize=9)
        return axes


def wanted_of(text: str, spec: Spec) -> Wanted:
    """Read `x=AXIS,y=COLUMN,hue=AXIS`; raises a `ConfigError` with all errors."""
    problems = Problems()
    given = dict(_pairs(text, problems))
    if not problems.found and "x" not in given:
        problems.add([f"--plot {text}: x is missing; write for example {_EXAMPLE}"])
    problems.raise_any()
    wanted = Wanted(given["x"], given.get("y", SPEEDUP), given.get("hue"))
    check_wanted(wanted, spec)
    return wanted


def check_wanted(wanted: Wanted, spec: Spec) -> None:
    """Raise a `ConfigError` for columns that the sweep doesn't have."""
    problems = Problems()
    columns = (SPEEDUP, *MEASURED_NUMBERS, *statistics())
    choices = {"x": spec.names, "y": columns, "hue": spec.names}
    for key, name in vars(wanted).items():
        if name is not None and name not in choices[key]:
            what = "is no column of numbers" if key == "y" else "is no axis of the sweep"
            if key == "y" and near(str(name), columns) is None:
                known = ", ".join((SPEEDUP, *MEASURED_NUMBERS))
                hint = f"; choose one of {known}, or a statistic (`pmemsim list statistics`)"
            else:
                hint = did_you_mean(str(name), choices[key])
            problems.add([f"--plot {key}={name}: {what}{hint}"])
    if wanted.hue is not None and wanted.hue == wanted.x:
        problems.add([f"--plot hue={wanted.hue}: must be another axis than x"])
    if wanted.y == SPEEDUP and len(spec.axis_of("design")) == 1:
        problems.add(
            ["--plot: a speedup needs several designs; add one to the sweep, or plot y=time_ns"]
        )
    problems.raise_any()


def _pairs(text: str, problems: Problems) -> Iterator[tuple[str, str]]:
    seen = set()
    for part in text.split(","):
        key, equals, name = part.partition("=")
        if not equals or key not in _KEYS or key in seen:
            problems.add(
                [f"--plot {text}: '{part}' must be one x, y or hue with a name, as in {_EXAMPLE}"]
            )
            return
        seen.add(key)
        yield key, name


def series_of(wanted: Wanted, table: pa.Table, spec: Spec) -> Series:
    """Return the plot's values; each is a mean over the values of the other axes."""
    if wanted.y not in table.column_names or table[wanted.y].null_count == len(table):
        raise Error(f"--plot y={wanted.y}: no point of the sweep has a value; plot another column")
    xs, ys = table[wanted.x].to_pylist(), table[wanted.y].to_pylist()
    hues = table[wanted.hue].to_pylist() if wanted.hue else [wanted.y] * len(xs)
    places = _ordered(xs)
    mean = geometric_mean if wanted.y == SPEEDUP else fmean
    lines: dict[str, list[float | None]] = {}
    labels = _labels(wanted.hue, _ordered(hues))
    for hue in labels:
        values = [
            [y for x, y, h in zip(xs, ys, hues, strict=True) if (x, h) == (place, hue)]
            for place in places
        ]
        found = [[value for value in each if value is not None] for each in values]
        lines[labels[hue]] = [mean(each) if each else None for each in found]
    y_label = f"speedup over {spec.axis_of('design')[0]['design']}" if wanted.y == SPEEDUP else ""
    unit = column_of(wanted.x, [values[wanted.x] for values in spec.axis_of(wanted.x)]).unit
    return Series(
        f"{wanted.x} ({unit})" if unit else wanted.x,
        y_label or wanted.y,
        places,
        lines,
        _title(wanted, spec),
    )


def _labels(axis: str | None, values: Sequence[Any]) -> dict[Any, str]:
    """Return distinct labels of an axis' values."""
    short = {
        value: f"{axis}={value}" if isinstance(value, int | float) else _short(value)
        for value in values
    }
    return short if len({*short.values()}) == len(short) else {each: str(each) for each in values}


def _short(value: object) -> str:
    """Return a value, or the name of a recording's file instead of its path."""
    text = str(value)
    return Path(text).stem if text.endswith(".pmt") else text


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Return the different values: numbers by size, text in its order in the sweep."""
    found = list(dict.fromkeys(values))
    return found if any(isinstance(value, str) for value in found) else sorted(found)


def _title(wanted: Wanted, spec: Spec) -> str:
    """Say what the points have in common, and over which axes each value is a mean."""
    shown = {name for key in (wanted.x, wanted.hue) if key for name in spec.axis_of(key)[0]}
    rest = [axis for axis in spec.axes if not shown & axis[0].keys()]
    fixed = [
        f"{name} {_short(axis[0][name])}" for axis in rest if len(axis) == 1 for name in axis[0]
    ]
    varied = [name for axis in rest if len(axis) > 1 for name in axis[0]]
    kind = "geometric mean" if wanted.y == SPEEDUP else "mean"
    return "; ".join(
        text
        for text in (", ".join(fixed), f"{kind} over {', '.join(varied)}" if varied else "")
        if text
    )
