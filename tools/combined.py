#!/usr/bin/env python3
"""Measures designs of several papers together, for docs/explanation/combined.md.

    .venv/bin/python tools/combined.py    # measure: minutes; then run `make docs` for the tables

experiments/combined/results.json has the values of the page's tables: the JSON of the matrix, what
the cores' time was spent on, and variations of operations and logs. `make docs` writes the tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from markdown_table import table

RESULTS = Path(__file__).resolve().parents[1] / "experiments" / "combined" / "results.json"
WORKLOADS = ("array_swap", "queue", "hashmap", "btree", "tatp", "tpcc")
DESIGNS = ("sw-undo", "hops", "pmem-spec", "hw-undo", "redu+lalea+blom", "lad+lalea", "asap")
BACKENDS = (
    "none", "verified-serialized", "verified-parallel", "verified-janus", "enc+veri",
    "enc+veri-pmweaver",
)  # fmt: skip
ACCOUNTED = ("verified-parallel", "verified-janus", "enc+veri-pmweaver")
"""Backends of the designs whose time is accounted for."""
SOFTWARE = DESIGNS[0]
RUNS = ("--machine", "janus", "--threads", "4", "--regions", "400", "--warm-up", "1000")
POINTS = ("--points", "1000")
DIGITS = 5
FREE = ("integrity.hash_latency=0ns", "integrity.mac_latency=0ns", "encryption.aes_latency=0ns")
"""Operations that take no time; their traffic remains."""
FRESH = ("integrity.staleness=ignored",)
"""Hashes that are never outdated by other writes."""
SMALL = ("log.ring_size=16KiB",)
"""Hardware logs whose lines are used again soon, so that their metadata are cached."""
UNDO = ("hw-undo", "asap")
"""Designs with a hardware undo log, whose entries leave the queue if their region commits."""
STALLS = {
    "fences": ("fence",),
    "commits": ("commit",),
    "store queue": ("store_queue",),
    "speculation": ("speculation",),
    "locks": ("lock", "locked"),
}
"""Causes of stalls, with their parts of statistics' names."""


# ---- measure -------------------------------------------------------------------------------------


def matrix_command(*more: str) -> list[str]:
    """Return the command that the page names, which measures everything but the accounts."""
    return [
        "pmemsim", "matrix", "--workloads", ",".join(WORKLOADS), "--designs", ",".join(DESIGNS),
        "--backends", ",".join(BACKENDS), *RUNS, *POINTS, *more,
    ]  # fmt: skip


def measure() -> None:
    """Run the commands, and keep what the tables need."""
    cells = _json_of(matrix_command())["cells"]
    accounts = _compared([before(design, each) for design in DESIGNS for each in ACCOUNTED])
    without = _compared(DESIGNS)
    alone, usual = _times(without), _times(accounts)
    free = _times(_compared([before(design, "verified-parallel") for design in DESIGNS], FREE))
    late, early = "verified-parallel", "verified-janus"
    fresh = _times(_compared([before(d, each) for d in DESIGNS for each in (late, early)], FRESH))
    small = _times(_compared([before(design, late) for design in UNDO], SMALL))
    results = {
        "cells": [_rounded(cell) for cell in cells],
        "accounts": _accounts(accounts),
        "dropped": _rounded(_dropped([*without, *accounts])),
        "small": _rounded(
            {d: _ratio(usual[before(d, late)], small[before(d, late)]) for d in UNDO}
        ),
        "free": _rounded({d: _ratio(free[before(d, late)], alone[d]) for d in DESIGNS}),
        "fresh": _rounded(
            {d: _ratio(fresh[before(d, late)], fresh[before(d, early)]) for d in DESIGNS}
        ),
    }
    RESULTS.write_text(f"{json.dumps(results, indent=1)}\n", encoding="utf-8")


def _compared(designs: Sequence[str], settings: Sequence[str] = ()) -> list[Mapping[str, Any]]:
    """Return the runs of all workloads on these designs."""
    options = [part for setting in settings for part in ("--set", setting)]
    command = ["pmemsim", "compare", *WORKLOADS, "--designs", ",".join(designs), *RUNS, *options]
    runs: list[Mapping[str, Any]] = _json_of(command)["runs"]
    return runs


def _times(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return the times of all workloads, by design."""
    times: dict[str, list[float]] = {}
    for run in runs:
        times.setdefault(run["design"], []).append(run["time_ns"])
    return times


def _dropped(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the share of log entries that left the queue unwritten, the mean of the workloads."""
    shares: dict[str, list[float]] = {}
    for run in runs:
        if run["design"].partition("@")[0] in UNDO:
            stats = run["stats"]
            share = stats["log.dropped"] / stats["pm.log_writes"]
            shares.setdefault(run["design"], []).append(share)
    return {design: fmean(found) for design, found in shares.items()}


def _ratio(times: Sequence[float], others: Sequence[float]) -> float:
    return geometric_mean(a / b for a, b in zip(times, others, strict=True))


def _json_of(command: Sequence[str]) -> dict[str, Any]:
    program = Path(sys.executable).parent / command[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        subprocess.run([program, *command[1:], "--json", path], check=True)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        for key, value in values.items()
    }


def _accounts(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return each design's account, the mean of the workloads."""
    accounts: dict[str, list[dict[str, float]]] = {}
    for run in runs:
        accounts.setdefault(run["design"], []).append(_account(run))
    return {
        design: _rounded({key: fmean(each[key] for each in found) for key in found[0]})
        for design, found in accounts.items()
    }


def _account(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the shares of the cores' time, and what became of writes and announcements."""
    stats, core_ns = run["stats"], run["time_ns"] * run["threads"]
    shares = {
        cause: sum(stats.get(f"stall.{part}_ns", 0.0) for part in parts) / core_ns
        for cause, parts in STALLS.items()
    }
    hints = stats.get("janus.operations", 0.0)
    return {
        **shares,
        "writes": stats["backend.writes"] / run["regions"],
        "operations_ns": stats["backend.time_ns"] / stats["backend.writes"],
        "used_hints": stats.get("janus.used", 0.0) / hints if hints else 0.0,
        "learnt": stats.get("pmweaver.write_backs", 0.0) / run["regions"],
    }


# ---- tables --------------------------------------------------------------------------------------


class Results:
    """The committed results, by design."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.accounts: Mapping[str, Mapping[str, float]] = results["accounts"]
        self.dropped: Mapping[str, float] = results["dropped"]
        self.small: Mapping[str, float] = results["small"]
        self.free: Mapping[str, float] = results["free"]
        self.fresh: Mapping[str, float] = results["fresh"]
        self._cells: dict[str, list[Mapping[str, Any]]] = {}
        for cell in results["cells"]:
            self._cells.setdefault(cell["design"], []).append(cell)

    @property
    def designs(self) -> list[str]:
        """Return all combinations, in the order of the command."""
        return list(self._cells)

    def speed(self, design: str, over: str = SOFTWARE) -> float:
        """Return the geometric mean of the speedups over another design."""
        return self._mean(design, over, "speedup")

    def traffic(self, design: str) -> float:
        """Return the geometric mean of the PM writes over those of the software log."""
        return self._mean(design, SOFTWARE, "pm_write_bytes")

    def energy(self, design: str) -> float | None:
        """Return the geometric mean of the energy over the software log before verified-parallel.

        None: the design has no operations, and its energy is unknown.
        """
        if self._cells[design][0]["energy_nj"] is None:
            return None
        return self._mean(design, f"{SOFTWARE}@verified-parallel", "energy_nj")

    def total(self, design: str, key: str) -> int:
        """Return the sum of a count over the workloads."""
        return sum(cell[key] for cell in self._cells[design])

    def storage(self, design: str) -> float:
        """Return the design's bytes on the chip."""
        return float(self._cells[design][0]["storage_bytes"])

    def _mean(self, design: str, over: str, key: str) -> float:
        return geometric_mean(
            cell[key] / other[key]
            for cell, other in zip(self._cells[design], self._cells[over], strict=True)
        )


def read_results() -> Results:
    """Return the committed results."""
    return Results(json.loads(RESULTS.read_text(encoding="utf-8")))


def before(design: str, backend: str) -> str:
    """Return the name of a design before a backend."""
    return design if backend == "none" else f"{design}@{backend}"


def gain_table() -> str:
    """Return what each design gains over the software log, alone and before each backend."""
    found, backends = read_results(), ("none", *ACCOUNTED)
    rows = [
        (
            f"`{design}`",
            *(f"{found.speed(before(design, b), before(SOFTWARE, b)):.2f}" for b in backends),
        )
        for design in DESIGNS
    ]
    return table("design", "alone", *(f"before `{each}`" for each in ACCOUNTED), rows=rows)


def early_table() -> str:
    """Return what each design gains by operations that run in parallel, or start early."""
    found, rows = read_results(), []
    for design in DESIGNS:
        serialized, parallel, janus, late, pmweaver = (
            found.speed(before(design, backend)) for backend in BACKENDS[1:]
        )
        values = (
            found.speed(design) / parallel, found.free[design], parallel / serialized,
            janus / parallel, found.fresh[design], pmweaver / late,
        )  # fmt: skip
        rows.append((f"`{design}`", *(f"{value:.2f}" for value in values)))
    columns = (
        "design", "slower before `verified-parallel`", "... with operations that take no time",
        "parallel over serialized", "Janus over parallel", "... with hashes that stay valid",
        "PMWeaver over `enc+veri`",
    )  # fmt: skip
    return table(*columns, rows=rows)


def log_table() -> str:
    """Return how many log entries are never written, and what caching their metadata gains."""
    found, late = read_results(), "verified-parallel"
    rows = [
        (
            f"`{design}`",
            f"{found.dropped[design]:.0%}",
            f"{found.dropped[before(design, late)]:.0%}",
            f"{found.traffic(design):.2f}",
            f"{found.traffic(before(design, late)):.2f}",
            f"{found.small[design]:.2f}",
        )
        for design in UNDO
    ]
    columns = (
        "design", "entries dropped, alone", f"before `{late}`", "PM writes, alone",
        f"before `{late}`", "gain of a log of 16 KiB there",
    )  # fmt: skip
    return table(*columns, rows=rows)


def combination_table() -> str:
    """Return each combination's speed, traffic, energy, storage and crash verdict."""
    found = read_results()
    rows = [
        (
            f"`{design}`",
            f"{found.speed(design):.3f}",
            f"{found.traffic(design):.2f}",
            "" if (energy := found.energy(design)) is None else f"{energy:.2f}",
            f"{found.storage(design) / 1024:,.0f}",
            f"{found.total(design, 'points'):,}",
            f"{found.total(design, 'violations'):,}",
        )
        for design in found.designs
    ]
    columns = (
        "design", "speed", "PM writes", "energy", "storage, KiB", "crash points", "violations",
    )  # fmt: skip
    return table(*columns, rows=rows)


def account_table() -> str:
    """Return where the cores' time goes, and what becomes of writes, hints and write-backs."""
    rows = [
        (
            f"`{design}`",
            *(f"{account[cause]:.0%}" for cause in STALLS),
            f"{account['writes']:.1f}",
            f"{account['operations_ns']:.0f}",
            f"{account['used_hints']:.0%}" if design.endswith("janus") else "",
            f"{account['learnt']:.1f}" if design.endswith("pmweaver") else "",
        )
        for design, account in read_results().accounts.items()
    ]
    columns = (
        "design", *STALLS, "writes a region", "ns of a write's operations",
        "announced lines used", "write-backs that PMWeaver sees a region",
    )  # fmt: skip
    return table(*columns, rows=rows)


if __name__ == "__main__":
    measure()
