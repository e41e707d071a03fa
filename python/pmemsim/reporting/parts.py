"""Parts that the sections of several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pmemsim.reporting.blocks import Details, Table

Json = dict[str, Any]
_LARGE = 10_000


def number(value: float | None) -> str:
    """Return a number with at least 4 significant digits, and whole numbers in full."""
    if value is None:
        return "-"
    whole = float(value).is_integer() or abs(value) >= _LARGE
    return f"{value:,.0f}" if whole else f"{value:,.4g}"


def place_of(place: Mapping[str, Any]) -> str:
    """Return a location in words."""
    return f"{place['file']}:{place['line']}" if place["line"] else "an unknown line"


def call_of(call: Json) -> str:
    """Return a call in words."""
    return f"called at {place_of(call)} ({call['function']})"


def configurations(
    of_designs: Mapping[str, Json], title: str = "Resolved configurations"
) -> Details:
    """Return all parameters: those in which the designs differ, then those that they share."""
    first = next(iter(of_designs.values()), {})
    settings = {name: list(map(str, values.values())) for name, values in first.items()}
    shared = {
        key: cell
        for key, cell in settings.items()
        if all(list(each.get(key, {}).values()) == cell for each in of_designs.values())
    }
    columns = ["parameter", ">value", "set by"]
    tables = [
        Table(f"Parameters of {name}", columns, rows)
        for name, each in of_designs.items()
        if (rows := [[key, v["value"], v["place"]] for key, v in each.items() if key not in shared])
    ]
    rows = [[key, *cell] for key, cell in shared.items()]
    return Details(title, [*tables, Table("Parameters of all designs", columns, rows)])


def recordings(runs: Iterable[Mapping[str, Any]]) -> Details:
    """Return the hashes of all recordings."""
    hashes = dict.fromkeys(
        (str(run.get("workload") or run["axes"]["workload"]), str(run["trace_hash"]))
        for run in runs
        if run["trace_hash"]
    )
    return Details("Recordings", [Table("Recordings", ["workload", "trace_hash"], list(hashes))])
