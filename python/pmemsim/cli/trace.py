"""`pmemsim trace`: print and check the contents of a recording."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pmemsim.arguments import MOST, check_whole
from pmemsim.cli.command import TARGET, Command, Group, argument, declared, option
from pmemsim.cli.console import err, out, percent, table
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.errors import Problems
from pmemsim.files import write_json
from pmemsim.flushes import flushes_outside_pm
from pmemsim.not_instrumented import MOST_NAMED, described, named_functions, warning
from pmemsim.trace import DETAILS, KINDS, PURPOSES, Operations, Trace
from pmemsim.unrecorded import not_recorded, unrecorded

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Show the contents of a recording, or check its file."
)

Paths = Annotated[list[Path], argument("TRACE", "Traces (.pmt).")]
Path_ = Annotated[Path, argument("TRACE", "The trace (.pmt).")]
AVERAGE = "a region, on average"


@app.command("info", cls=Command)
@declared
def info(paths: Paths, *, json_path: Json = None) -> None:
    """Summarise a recording: its program, threads, persistent memory, and operations by kind.

    For several recordings, the command prints one table of what an average region of each does. The
    recording of a low-level program has no regions. If it contains the number of requested
    operations, as with pmemsim's workloads, each operation counts as a region.

    Examples: `pmemsim trace info queue.pmt`, `pmemsim trace info traces/*.pmt`
    """
    _check_json(json_path, paths)
    traces = [Trace(path) for path in paths]
    summaries = [trace.summary() for trace in traces]
    if json_path:
        recordings = list(map(_info, traces, summaries))
        write_json("trace info", {"recordings": recordings}, json_path)
    if json_path == "-":
        return
    if len(traces) == 1:
        _print_one(traces[0], summaries[0])
        return
    units = list(map(_unit, traces, summaries))
    rows = [tuple(_rounded(key, value) for key, value in unit.items()) for unit in units]
    columns = [("" if n == 0 else ">") + key.replace("_", " ") for n, key in enumerate(units[0])]
    out.print(table(AVERAGE, columns, rows))


def _check_json(json_path: str | None, paths: Sequence[Path]) -> None:
    """Raise a `ConfigError` if the JSON can't be written, or would replace a recording."""
    problems = Problems()
    check_outputs(problems, json_path)
    keep_inputs(problems, [json_path], [str(path) for path in paths])
    problems.raise_any()


def _info(trace: Trace, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        **_identity(trace),
        "threads": trace.threads,
        "seed": trace.seed,
        "schedule": trace.schedule,
        "region": _unit(trace, summary),
        "summary": summary,
        "metadata": trace.metadata,
    }


def _identity(trace: Trace) -> dict[str, str]:
    return {"file": str(trace.path), "workload": trace.name, "trace_hash": trace.hash}


def _print_one(trace: Trace, summary: dict[str, Any]) -> None:
    unit = _unit(trace, summary)
    out.print(table(str(trace.path), ["recording", "value"], _facts(trace, summary)))
    counted = summary["total"]
    external = counted["external_instructions"]
    share = external / max(1, counted["instructions"] + external)
    if text := warning(trace.name, share, trace.metadata):
        err.print(text, markup=False)
    total, threads = _flat(summary["total"]), [_flat(thread) for thread in summary["threads"]]
    rows = [
        (key.replace("_", " "), *(_text(part.get(key, "")) for part in (total, *threads)))
        for key in total
    ]
    columns = ["counted", ">all threads", *(f">thread {n}" for n in range(len(threads)))]
    out.print(table("", columns, rows))
    if unit["regions"]:
        averages = [(key.replace("_", " "), _rounded(key, value)) for key, value in unit.items()]
        out.print(table("", [AVERAGE, ">value"], averages))


@app.command("dump", cls=Command)
@declared
def dump(
    path: Path_,
    *,
    thread: Annotated[int, option(TARGET, "--thread", value="N", help="The thread's number.")] = 0,
    first: Annotated[
        int, option(TARGET, "--first", value="N", help="Number of the first operation.")
    ] = 0,
    count: Annotated[
        int, option(TARGET, "--count", "-n", value="N", help="Number of operations to print.")
    ] = 100,
    json_path: Json = None,
) -> None:
    """Print recorded operations with their source lines, one per line.

    Example: `pmemsim trace dump queue.pmt --thread 1 --first 5000 -n 20`
    """
    problems = Problems()
    # A range may reach beyond the end of the recording: nothing is printed for the rest.
    check_whole(problems, "--first", min(first, MOST), 0)
    check_whole(problems, "--count", min(count, MOST), 0)
    problems.raise_any()
    _check_json(json_path, [path])
    trace = Trace(path)
    held = trace.operation_count(thread)
    first, count = min(first, held), min(count, held)
    if json_path:
        found = itertools.islice(_decoded(trace, thread), first, first + count)
        operations = [{"operation": number, **operation} for number, operation in found]
        dumped = {**_identity(trace), "thread": thread, "operations": operations}
        write_json("trace dump", dumped, json_path)
    if json_path != "-":
        # Nothing needs cleaning up when the reader of the output has ended (`| head`).
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        trace.dump(thread, first, count, sys.stdout.fileno())


@app.command("verify", cls=Command)
@declared
def verify(path: Path_, *, json_path: Json = None) -> None:
    """Check every frame and every record of a recording; exit code 2 if one is invalid.

    Example: `pmemsim trace verify queue.pmt`
    """
    _check_json(json_path, [path])
    trace = Trace(path)
    notes = trace.verify()
    operations = sum(trace.operation_count(thread) for thread in range(trace.threads))
    if json_path:
        facts = {**_identity(trace), "threads": trace.threads, "operations": operations}
        write_json("trace verify", {**facts, "notes": notes}, json_path)
    if json_path == "-":
        return
    print(f"{path}: good ({trace.threads} threads, {operations} operations)")
    for note in notes:
        print(f"  {note}")


def _unit(trace: Trace, summary: dict[str, Any]) -> dict[str, str | float]:
    """Return what an average region does, or, without regions, an average requested operation.

    Such operations have the program's own log, if any, and the lines that they write are the lines
    that they flush.
    """
    total = summary["total"]
    count = total["regions"] or trace.metadata.get("regions", 0)

    def each(value: float) -> float:
        return value / count if count else 0.0

    if total["regions"]:
        lines = total["lines_per_region"]
        instructions = total["program_instructions_per_region"]
        with_log = total["instructions_per_region"]
    else:
        lines = each(total["flushes"])
        instructions = with_log = each(total["instructions"] + total["external_instructions"])
    return {
        "workload": trace.name,
        "regions": count,
        "lines_written": lines,
        "instructions": instructions,
        "instructions_with_log": with_log,
        "flushes": each(total["flushes"]),
        "fences": each(total["fences"]),
        "locks": each(total["locks"]),
        "different_locks": total["different_locks"],
        "busiest_lock_share": total["busiest_lock"] / total["locks"] if total["locks"] else 0.0,
    }


def _rounded(key: str, value: str | float) -> str:
    if isinstance(value, str):
        return value
    if key.endswith("_share"):
        return percent(value)
    return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def _facts(trace: Trace, summary: dict[str, Any]) -> list[tuple[str, str]]:
    metadata = trace.metadata
    total = summary["total"]
    external = total["external_instructions"]
    instructions = total["instructions"] + external
    regions = [
        f"{region['begin']:#x} to {region['end']:#x} ({region['source']})"
        for region in metadata["pm_regions"]
    ]
    changed = unrecorded(metadata)
    missing = not_recorded(metadata)
    unknown = named_functions(metadata, MOST_NAMED)
    outside = flushes_outside_pm(metadata).replace("; ", "\n").replace(": ", ":\n", 1)
    return [
        ("workload", trace.name),
        ("command", " ".join([metadata["program"], *metadata.get("arguments", [])])),
        ("recorded by", f"pmemsim {metadata.get('pmemsim', '?')}"),
        ("hash", trace.hash),
        ("threads", str(trace.threads)),
        ("schedule", f"{trace.schedule} of seed {trace.seed}" if trace.schedule else "0"),
        *([("thread turns", _turns(summary["turns"]))] if trace.threads > 1 else []),
        *([("races, replayed in order", f"{summary['races']:,}")] if summary["turns"] else []),
        ("persistent memory", "\n".join(regions) or "none"),
        *([("changed without a recorded store", changed)] if changed else []),
        *([("partial", "\n".join(missing))] if missing else []),
        *([("flushes of volatile memory", outside)] if outside else []),
        ("instructions", f"{instructions:,}"),
        (
            "instructions without instrumentation",
            f"{external:,} ({described(external, total['unknown_instructions'], instructions)})",
        ),
        *([("functions of unknown cost", "\n".join(unknown))] if unknown else []),
        ("recorded instructions (sites)", f"{summary['sites']:,}"),
        ("pages of persistent memory at the start", f"{summary['image_pages']:,}"),
        ("lines touched before the start", f"{summary['warm_lines']:,}"),
    ]


def _turns(count: int) -> str:
    return f"{count:,}" if count else "not recorded, so the order of races is a guess; record again"


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, int | float]:
    rows: dict[str, int | float] = {}
    for key, part in value.items():
        rows |= _flat(part, f"{prefix}{key}: ") if isinstance(part, dict) else {prefix + key: part}
    return rows


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _decoded(trace: Trace, thread: int) -> Iterator[tuple[int, dict[str, Any]]]:
    sites = trace.sites.to_dict("records")
    number = 0
    for chunk in trace.operations(thread):
        for index in range(len(chunk.records)):
            yield number, _operation(chunk, index, sites)
            number += 1


def _operation(
    chunk: Operations, index: int, sites: Sequence[Mapping[Hashable, Any]]
) -> dict[str, Any]:
    record = chunk.records[index]
    site = sites[int(record["site"])]
    kind = KINDS[record["kind"]]
    operation: dict[str, Any] = {"kind": kind}
    if kind in DETAILS:
        operation["detail"] = DETAILS[kind][record["detail"]]
    for field in ("address", "second", "size", "object", "version", "instructions"):
        operation[field] = int(record[field])
    operation["flag"] = bool(record["flag"])
    operation["purpose"] = PURPOSES[record["purpose"]]
    operation["value"] = chunk.value(index).hex()
    return {**operation, "file": site["file"], "line": site["line"], "function": site["function"]}
