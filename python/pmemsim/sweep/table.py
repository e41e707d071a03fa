"""Write a sweep's results to one Parquet file, a row a point, which appears whole or not at all.

The columns are the axes, then the point's description and status, then the measurements. A point
whose simulation is in the file already isn't simulated again, whatever the cache folder has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from pmemsim import result_cache
from pmemsim.errors import Error
from pmemsim.files import replacing
from pmemsim.installation import version
from pmemsim.jobs import Outcome
from pmemsim.sweep.points import Point

Row = dict[str, Any]
OK, FAILED = "ok", "failed"
_STATE = ("point", "status", "reason")
# Measured columns with text; the statistics are numbers.
_TEXTS = ("trace_hash", "version")
_INTEGER_COLUMNS = ("cores", "instructions", "completed_regions", "pm_write_bytes")
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


def write(rows: Sequence[Row], axes: Sequence[str], path: Path) -> None:
    """Write the rows, in their order."""
    columns = dict.fromkeys([*axes, *_STATE])
    for row in rows:
        columns |= dict.fromkeys(row)
    schema = pa.schema([(name, _type_of(name, axes, rows)) for name in columns])
    with replacing(path) as partial:
        table = pa.Table.from_pylist(rows, schema=schema)
        parquet.write_table(table.replace_schema_metadata({_CHECKSUM: _checksum(table)}), partial)


def _type_of(name: str, axes: Sequence[str], rows: Iterable[Row]) -> pa.DataType:
    if name in axes:
        kinds = {type(row[name]) for row in rows}
        if kinds == {int}:
            return pa.int64() if all(row[name] < 1 << 63 for row in rows) else pa.uint64()
        if kinds == {bool}:
            return pa.bool_()
        return pa.float64() if kinds == {float} else pa.string()
    if name in (*_STATE, *_TEXTS):
        return pa.string()
    return pa.int64() if name in _INTEGER_COLUMNS else pa.float64()


def read_results(path: Path, axes: Sequence[str]) -> dict[str, Row]:
    """Return the file's measurements by point; none if there is no file."""
    if not path.exists():
        return {}
    try:
        table = parquet.read_table(path)
        if (table.schema.metadata or {}).get(_CHECKSUM) != _checksum(table):
            raise ValueError("it is damaged, or another program wrote it")
        return {
            row["point"]: {
                name: value
                for name, value in row.items()
                if value is not None and name not in (*axes, *_STATE)
            }
            for row in table.to_pylist()
            if row["status"] == OK
        }
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise Error(
            f"{path}: the file does not contain results of a sweep "
            f"({str(error).splitlines()[0]}); choose another --out, or delete the file"
        ) from error


def _checksum(table: pa.Table) -> bytes:
    """Return a checksum of all names, types and values; Parquet's own doesn't cover names."""
    text = json.dumps([[str(field) for field in table.schema], table.to_pylist()])
    return hashlib.sha256(text.encode()).hexdigest().encode()


def check_same_sweep(path: Path, known: Iterable[str], points: Iterable[Point]) -> None:
    """Raise an `Error` if the file has results of another sweep, which would be lost."""
    wanted = {point.job.key for point in points if point.job}
    others = sum(key not in wanted for key in known)
    if others:
        raise Error(
            f"{path}: the file contains {others} results of another sweep or another version of "
            "pmemsim; choose another --out, or delete the file"
        )
