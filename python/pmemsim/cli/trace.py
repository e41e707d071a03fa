"""`pmemsim trace`: look into a recording, and check it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pmemsim.cli.console import out, table
from pmemsim.errors import Error
from pmemsim.trace import DETAILS, KINDS, PURPOSES, Operations, Trace

app = typer.Typer(no_args_is_help=True, help="Look into a recording, and check it.")

Path_ = Annotated[Path, typer.Argument(help="The trace (.pmt).", metavar="TRACE")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@app.command("info")
def info(path: Path_, as_json: Json = False) -> None:
    """Say what a recording holds: program, threads, persistent memory, operations by kind.

    Example: `pmemsim trace info queue.pmt`
    """
    trace = Trace(path)
    facts = {"hash": trace.hash, **trace.metadata, "summary": trace.summary()}
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    rows = [(key, _text(value)) for key, value in _flat(facts)]
    out.print(table(str(path), ["what", "value"], rows))


@app.command("dump")
def dump(
    path: Path_,
    thread: Annotated[int, typer.Option("--thread", help="Which thread.")] = 0,
    first: Annotated[int, typer.Option("--first", help="Number of the first operation.")] = 0,
    count: Annotated[int, typer.Option("--count", "-n", help="How many operations.")] = 100,
    as_json: Json = False,
) -> None:
    """Print recorded operations, one a line, with their source lines.

    Example: `pmemsim trace dump queue.pmt --thread 1 --first 5000 -n 20`
    """
    if first < 0 or count < 0:
        raise Error("--first and --count must not be negative")
    trace = Trace(path)
    sites = trace._file.sites()
    for number, operation in itertools.islice(_decoded(trace, thread, sites), first, first + count):
        if as_json:
            print(json.dumps({"operation": number, **operation}))
        else:
            print(_line(number, operation))


@app.command("verify")
def verify(path: Path_, as_json: Json = False) -> None:
    """Check every frame and every record of a recording; exit code 2 at the first bad one.

    Example: `pmemsim trace verify queue.pmt`
    """
    trace = Trace(path)
    trace.verify()
    operations = sum(trace.operation_count(thread) for thread in range(trace.threads))
    if as_json:
        print(json.dumps({"trace": str(path), "hash": trace.hash, "operations": operations}))
    else:
        print(f"{path}: good ({trace.threads} threads, {operations} operations)")


def _flat(value: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, part in value.items():
        if isinstance(part, dict):
            rows += _flat(part, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", part))
    return rows


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list):
        return "\n".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return str(value)


def _decoded(trace: Trace, thread: int, sites: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    number = 0
    for chunk in trace.operations(thread):
        for index in range(len(chunk.records)):
            yield number, _operation(chunk, index, sites)
            number += 1


def _operation(chunk: Operations, index: int, sites: list[dict[str, Any]]) -> dict[str, Any]:
    record = chunk.records[index]
    site = sites[int(record["site"])]
    kind = KINDS[record["kind"]]
    operation: dict[str, Any] = {"kind": kind}
    if kind in DETAILS:
        operation["detail"] = DETAILS[kind][record["detail"]]
    operation["address"] = f"{int(record['address']):#x}"
    for field in ("second", "size", "object", "version", "instructions"):
        if record[field]:
            operation[field] = int(record[field])
    if kind in ("branch", "atomic_update"):
        operation["flag"] = bool(record["flag"])
    operation["purpose"] = PURPOSES[record["purpose"]]
    value = chunk.value(index)
    if value:
        operation["value"] = value.hex()
    if site["line"]:
        operation["source"] = f"{site['file']}:{site['line']}"
        operation["function"] = site["function"]
    return operation


def _line(number: int, operation: dict[str, Any]) -> str:
    shown = dict(operation)
    kind = shown.pop("kind")
    detail = shown.pop("detail", "")
    return f"{number:8} {kind} {detail} ".ljust(34) + " ".join(
        f"{key}={value}" for key, value in shown.items()
    )
