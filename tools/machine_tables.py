"""Tables of machines that exist: measured and simulated values, from committed results.

`make machine-pages` writes the files of benchmarks/results and the pages that contain the tables
(docs/reference/machines, docs/explanation/validation.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_table import table

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
PUBLISHED = "published.json"
NEAR, FAR = 0.15, 0.25
USABLE_SPREAD = 0.15
KIB, MIB = 1 << 10, 1 << 20
LINE_BYTES = 64


@dataclass(frozen=True)
class Pair:
    """A measured value and the simulated one, in the same unit."""

    measured: float
    simulated: float

    @property
    def ratio(self) -> float:
        """Return the simulated value over the measured one."""
        return self.simulated / self.measured


def published_table(machine: str) -> str:
    """Return each published value of a machine beside the simulated one, and a summary."""
    points = _published_points(machine)
    rows = [
        (
            f"{each['curve']}, {_condition(each)}",
            f"{each['published']:.4g} {each['unit']}",
            each["source"],
            f"{each['simulated']:.4g} {each['unit']}",
            f"{_pair_of_point(each).ratio:.2f}",
            "yes" if each["used"] else "",
        )
        for each in points
    ]
    columns = ("measurement", "published", "source", "simulated", "ratio", "input of the preset")
    near = _within(map(_pair_of_point, points), NEAR)
    inputs = sum(each["used"] for each in points)
    summary = (
        f"Within {NEAR:.0%}: {near} of {len(points)} values. Inputs of the preset: {inputs}.\n"
    )
    return f"{table(*columns, rows=rows)}\n{summary}"


def loop_table(name: str) -> str:
    """Return the loops of a file that `pmemsim calibrate --json` has written, and a summary."""
    loops = _loops(name)
    counted = _counted_loops(name)
    rows = [
        (
            each["name"],
            _nanoseconds(each["median_ns"]),
            f"{each['spread']:.0%}",
            _nanoseconds(each["simulated_ns"]) if _is_simulated(each) else "-",
            f"{_pair_of_loop(each).ratio:.2f}" if _is_simulated(each) else "-",
            "yes" if _counts(each) else "no",
        )
        for each in loops
    ]
    columns = ("loop", "measured ns", "spread", "simulated ns", "ratio", "counts")
    summary = (
        f"Loops: {len(loops)}. Loops that count: {len(counted)}, of which {_within(counted, FAR)} "
        f"are within {FAR:.0%}, and {_within(counted, NEAR)} within {NEAR:.0%}.\n"
    )
    return f"{table(*columns, rows=rows)}\n{summary}"


def overview(published: Sequence[str], measured: Sequence[str]) -> str:
    """Return a row for each machine with published measurements, and with measured loops."""
    rows = []
    for machine in published:
        points = _published_points(machine)
        inputs = str(sum(each["used"] for each in points))
        name = f"published figures, {_link(machine)}"
        rows.append(_overview_row(name, inputs, [_pair_of_point(each) for each in points]))
    for machine in measured:
        name = f"loops of `calibrate`, {_link(machine)}"
        rows.append(_overview_row(name, "most", _counted_loops(f"{machine}.json")))
    columns = ("compared with", "values", "inputs", "within 15%", "within 25%", "ratios")
    return table(*columns, rows=rows)


def _overview_row(name: str, inputs: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    ratios = [pair.ratio for pair in pairs]
    extremes = f"{min(ratios):.2f} to {max(ratios):.2f}"
    near, far = _within(pairs, NEAR), _within(pairs, FAR)
    return (name, str(len(pairs)), inputs, str(near), str(far), extremes)


def _link(page: str) -> str:
    return f"[{page}](../reference/machines/{page}.md)"


def _read(name: str) -> str:
    return (RESULTS / name).read_text(encoding="utf-8")


def _published_points(machine: str) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = json.loads(_read(PUBLISHED))
    return [each for each in points if each["machine"] == machine and each["published"] is not None]


def _loops(name: str) -> list[dict[str, Any]]:
    loops: list[dict[str, Any]] = json.loads(_read(name))["measurements"]
    return loops


def _pair_of_point(point: dict[str, Any]) -> Pair:
    return Pair(point["published"], point["simulated"])


def _pair_of_loop(loop: dict[str, Any]) -> Pair:
    return Pair(loop["median_ns"], loop["simulated_ns"])


def _is_simulated(loop: dict[str, Any]) -> bool:
    return loop["simulated_ns"] is not None


def _counts(loop: dict[str, Any]) -> bool:
    """Return whether the repetitions of a loop agree; others decide no parameter either."""
    return _is_simulated(loop) and loop["spread"] <= USABLE_SPREAD


def _counted_loops(name: str) -> list[Pair]:
    return [_pair_of_loop(each) for each in _loops(name) if _counts(each)]


def _within(pairs: Iterable[Pair], limit: float) -> int:
    return sum(abs(pair.ratio - 1) <= limit for pair in pairs)


def _condition(point: dict[str, Any]) -> str:
    """Return the varied quantity of a point in words."""
    x = point["x"]
    if point["over"] == "shuffled":
        return "at random" if x else "in order"
    if point["over"] == "lines":
        return f"blocks of {LINE_BYTES * x} B"
    if point["over"] == "threads":
        return f"{x} thread{'s' if x > 1 else ''}"
    if x == LINE_BYTES:
        return "always the same line"
    return f"in {x // MIB} MiB" if x >= MIB else f"in {x // KIB} KiB"


def _nanoseconds(time: float) -> str:
    digits = 0 if time >= 1000 else 1 if time >= 100 else 2
    return f"{time:,.{digits}f}"
