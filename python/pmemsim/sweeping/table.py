"""Write a sweep's results to one file, a row for each point, which appears whole or not at all.

The columns are the axes, then the point's description and status, then the measurements. A point
whose simulation is in the Parquet file already isn't simulated again, whatever the cache folder
has. Measurements aren't read from a CSV file, which other programs may have changed.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from pmemsim import result_cache
from pmemsim.errors import Error
from pmemsim.files import replacing
from pmemsim.installation import version
from pmemsim.jobs import Outcome
from pmemsim.sweeping.columns import column_of
from pmemsim.sweeping.points import Point
from pmemsim.sweeping.spec import Spec

Row = dict[str, Any]
OK, FAILED = "ok", "failed"
_STATE = ("point", "status", "reason")
SPEEDUP = "speedup"
MEASURED_NUMBERS = (
    "cores", "instructions", "completed_regions", "time_ns", "regions_per_s", "pm_write_bytes",
)  # fmt: skip
"""Numbers that every run has, beside its statistics."""
# Measured columns with text; the statistics are numbers.
_TEXTS = ("trace_hash", "version")
INTEGER_COLUMNS = ("cores", "instructions", "completed_regions", "pm_write_bytes")
_CHECKSUM = b"pmemsim.checksum"


def row_of(point: Point, known: Mapping[str, Row], failures: Mapping[str, str]) -> Row:
    """Return a point's row from the file or the cache folder, or with the reason of its failure.

    `known` are results, and `failures` reasons, by the jobs' keys.
    """
    if point.job is None:
        return {**point.values, "status": FAILED, "reason": point.reason}
    key = point.job.key
    if key in failures:
        return {**point.values, "point": key, "status": FAILED, "reason": failures[key]}
    measured = known[key] if key in known else _measured(result_cache.load(point.job, Outcome))
    return {**point.values, "point": key, "status": OK, "reason": "", **measured}


def _measured(outcome: Outcome) -> Row:
    return {
        "trace_hash": outcome.trace_hash,
        "version": version(),
        "cores": outcome.threads,
        "instructions": outcome.instructions,
        "completed_regions": outcome.regions,
        "time_ns": outcome.time_ns,
        "regions_per_s": outcome.regions / outcome.time_ns * 1e9 if outcome.time_ns else 0.0,
        "pm_write_bytes": outcome.pm_write_bytes,
        **outcome.stats,
    }


def table_of(rows: Sequence[Row], spec: Spec) -> pa.Table:
    """Return the rows, in their order, with typed columns, and each point's speedup."""
    columns = dict.fromkeys([*spec.names, *_STATE, SPEEDUP, *_TEXTS, *MEASURED_NUMBERS])
    for row in rows:
        columns |= dict.fromkeys(row)
    values: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in columns}
    types = {name: _type_of_results(name) for name in columns}
    for name in spec.names:
        values[name] = list(column_of(name, values[name]).values)
        types[name] = _type_of_axis(values[name])
    values[SPEEDUP] = _speedups(rows, spec)
    return pa.table([pa.array(values[name], types[name]) for name in columns], names=list(columns))


def _speedups(rows: Sequence[Row], spec: Spec) -> list[float | None]:
    """Return the first design's time over each row's, at the same values of the other axes."""
    designs = spec.axis_of("design")
    others = [name for name in spec.names if name not in designs[0]]

    def place(row: Row) -> tuple[object, ...]:
        return tuple(row[name] for name in others)

    baselines = {
        place(row): row.get("time_ns") for row in rows if designs[0].items() <= row.items()
    }
    return [
        baseline / time if (baseline := baselines[place(row)]) and (time := row.get("time_ns"))
        else None
        for row in rows
    ]  # fmt: skip


def _type_of_axis(values: Sequence[Any]) -> pa.DataType:
    kinds = {type(value) for value in values}
    if kinds == {int}:
        return pa.int64() if all(value < 1 << 63 for value in values) else pa.uint64()
    if kinds == {bool}:
        return pa.bool_()
    return pa.float64() if kinds == {float} else pa.string()


def _type_of_results(name: str) -> pa.DataType:
    if name in (*_STATE, *_TEXTS):
        return pa.string()
    return pa.int64() if name in INTEGER_COLUMNS else pa.float64()


def to_dict(table: pa.Table, spec: Spec) -> dict[str, Any]:
    """Return the results for `--json` (keys: docs/reference/results.md).

    The axes are apart from the measurements, so that these have the same names as in a run.
    """
    names = {"cores": "threads", "completed_regions": "regions"}
    apart = (*_STATE, SPEEDUP, *_TEXTS, *MEASURED_NUMBERS)
    return {
        "units": {
            name: column_of(name, [values[name] for values in spec.axis_of(name)]).unit
            for name in spec.names
        },
        "points": [
            {
                "axes": {name: row[name] for name in spec.names},
                **{names.get(name, name): row.get(name) for name in apart},
                "stats": {
                    name: value
                    for name, value in row.items()
                    if name not in (*spec.names, *apart) and value is not None
                },
            }
            for row in table.to_pylist()
        ],
    }


def write(table: pa.Table, path: Path) -> None:
    """Write a table; the suffix .csv selects CSV instead of Parquet."""
    with replacing(path) as partial:
        if _is_csv(path):
            arrow_csv.write_csv(table, partial)
        else:
            marked = table.replace_schema_metadata({_CHECKSUM: _checksum(table)})
            parquet.write_table(marked, partial)


def check_suffix(path: Path) -> None:
    """Raise an `Error` if the suffix is that of another format."""
    if path.suffix.lower() not in (".csv", ".parquet", ".pq", ""):
        raise Error(f"{path}: the suffix selects the file's format; use .parquet or .csv")


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def read_results(path: Path, axes: Sequence[str]) -> dict[str, Row]:
    """Return the file's measurements by point; none if there is no file, or only a CSV file."""
    if _is_csv(path) or not path.exists():
        return {}
    try:
        table = parquet.read_table(path)
        if (table.schema.metadata or {}).get(_CHECKSUM) != _checksum(table):
            raise ValueError("it is damaged, or another program wrote it")
        return {
            row["point"]: {
                name: value
                for name, value in row.items()
                if value is not None and name not in (*axes, *_STATE, SPEEDUP)
            }
            for row in table.to_pylist()
            if row["status"] == OK
        }
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise _foreign(path, str(error).splitlines()[0]) from error


def _foreign(path: Path, why: str) -> Error:
    return Error(
        f"{path}: the file does not contain results of a sweep ({why}); choose another --out, or "
        "delete the file"
    )


def _checksum(table: pa.Table) -> bytes:
    """Return a checksum of all names, types and values; Parquet's own doesn't cover names."""
    text = json.dumps([[str(field) for field in table.schema], table.to_pylist()])
    return hashlib.sha256(text.encode()).hexdigest().encode()


def check_same_sweep(path: Path, known: Iterable[str], points: Iterable[Point]) -> None:
    """Raise an `Error` if the file has results of another sweep, which would be lost.

    `known` are the points of a Parquet file; those of a CSV file are read here.
    """
    wanted = {point.job.key for point in points if point.job}
    if _is_csv(path) and path.exists():
        known = _points_of_csv(path)
    others = sum(key not in wanted for key in known)
    if others:
        raise Error(
            f"{path}: the file contains {others} results of another sweep or another version of "
            "pmemsim; choose another --out, or delete the file"
        )


def _points_of_csv(path: Path) -> list[str]:
    """Return the points that have results in a CSV file."""
    try:
        with path.open(newline="") as file:
            rows = csv.DictReader(file)
            if not {*_STATE} <= {*(rows.fieldnames or ())}:
                raise _foreign(path, f"it lacks the columns {', '.join(_STATE)}")
            return [row["point"] for row in rows if row["status"] == OK]
    except (OSError, ValueError, csv.Error) as error:
        raise _foreign(path, str(error)) from error
