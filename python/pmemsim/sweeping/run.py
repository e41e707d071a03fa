"""Simulate the points of a sweep that have no results yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]

from pmemsim.arguments import names_of_parameters
from pmemsim.comparison import design_label
from pmemsim.executor import Failure
from pmemsim.jobs import Job
from pmemsim.results import Results
from pmemsim.runner import Do
from pmemsim.sweeping import table as tables
from pmemsim.sweeping.points import Opened, configuration_of, points_of, reason_of
from pmemsim.sweeping.series import Series, Wanted, check_wanted, series_of
from pmemsim.sweeping.spec import Spec
from pmemsim.sweeping.table import FAILED, SPEEDUP

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SweepResults(Results):
    """The results of a sweep, a row for each combination of the axes' values.

    Example:
        `pmemsim.sweep({"axes": {"workload": "queue", "design": "np", "machine": "asap"}}).title`
    """

    table: pa.Table
    """The results as pyarrow's table."""
    spec: Spec
    """The axes."""
    command: ClassVar = "sweep"

    @property
    def title(self) -> str:
        """Count the points with results."""
        rows = self.table.num_rows
        return f"{rows - self.failures.total()} of {rows} points have results"

    @property
    def failures(self) -> Counter[str]:
        """Count the failed points by the reason of the failure."""
        states = zip(
            self.table["status"].to_pylist(), self.table["reason"].to_pylist(), strict=True
        )
        return Counter(reason for status, reason in states if status == FAILED)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each point: the axes' values, its speedup, measurements, statistics.

        Parameters are numbers; `to_dict()["units"]` has their units.
        """
        frame: pd.DataFrame = self.table.to_pandas()
        for name in tables.INTEGER_COLUMNS:  # failed points have none
            if self.table[name].null_count:
                frame[name] = frame[name].astype("Int64")
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the results for `--json` (keys: docs/reference/results.md)."""
        found = tables.to_dict(self.table, self.spec)
        return found | {"configurations": _configurations(found["points"], found["units"])}

    def series(self, x: str, y: str = SPEEDUP, hue: str | None = None) -> Series:
        """Return a column over an axis, with a line for each value of the axis `hue`.

        Each value is a mean over the values of the other axes. Raises a `ConfigError` for unknown
        names, and an `Error` if no point has a value.
        """
        wanted = Wanted(x, y, hue)
        with names_of_parameters({}):
            check_wanted(wanted, self.spec)
            return series_of(wanted, self.table, self.spec)

    def plot(self, x: str, y: str = SPEEDUP, hue: str | None = None) -> Axes:
        """Plot a column over an axis; see `series`."""
        return self.series(x, y, hue).plot()


def _configurations(
    points: Sequence[Mapping[str, Any]], units: Mapping[str, str]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return the parameters of each design that has a result, without the axes."""
    machines = {point["axes"]["machine"] for point in points}
    found = {}
    for point in points:
        design, machine = (str(point["axes"][name]) for name in ("design", "machine"))
        label = design_label(design, machine, machines)
        if point["status"] == FAILED or label in found:
            continue
        parameters = configuration_of(point, units).to_dict()
        found[label] = {key: each for key, each in parameters.items() if key not in units}
    return found


def run_sweep(
    spec: Spec,
    place: str,
    out: Path | None,
    opened: Opened,
    do: Do,
    tell: Callable[[str], None],
) -> SweepResults:
    """Simulate all points, and write them to a file if `out` names one.

    Points whose results are in the file already aren't simulated again. `place` names the source of
    the parameters in results. `tell` is called with notes on the run.
    """
    if out:
        tables.check_suffix(out)
    known = tables.read_results(out, spec.names) if out else {}
    points = points_of(list(spec.combinations()), opened, place)
    if out:
        tables.check_same_sweep(out, known, points)
    if known:
        tell(f"{len(known)} results are already in {out}")
    failures: dict[str, str] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure.reason

    do([point.job for point in points if point.job], "simulations", finished, known)
    for point in points:
        if point.job and (reason := failures.get(point.job.key)) is not None:
            failures[point.job.key] = reason_of(point.job, point.values, place, reason)
    rows = [tables.row_of(point, known, failures) for point in points]
    results = SweepResults(tables.table_of(rows, spec), spec)
    if out:
        tables.write(results.table, out)
    return results
