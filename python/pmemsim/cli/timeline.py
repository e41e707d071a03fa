"""`pmemsim timeline`: write what one simulation does in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from pmemsim.cli.choices import configurations_of, find_targets
from pmemsim.cli.command import OUTPUT, declared, option
from pmemsim.cli.console import duration, out, run_with_progress, table
from pmemsim.cli.options import (
    Design,
    Json,
    Machine,
    Overrides,
    Recipe,
    Target,
    check_outputs,
    check_whole,
    keep_inputs,
    picoseconds_of,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.errors import Problems
from pmemsim.files import write_json
from pmemsim.presets import parse_overrides
from pmemsim.simulation import Configuration
from pmemsim.timelines import ALL, Bounds, Format, SlowRegion, Timeline, write_timeline
from pmemsim.trace import Trace

_FORMATS = ("perfetto", "kanata")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST_SLOWEST = 10**6


@dataclass(frozen=True)
class _Part:
    """Options that bound the timeline."""

    start: Annotated[str | None, option(
        OUTPUT, "--from", value="TIME", default="the start",
        help="Shows what happens from this simulated time on, as in 12.5us.",
    )] = None  # fmt: skip
    end: Annotated[str | None, option(
        OUTPUT, "--to", value="TIME", default="the end",
        help="Shows what happens up to this simulated time.",
    )] = None  # fmt: skip
    numbers: Annotated[str | None, option(
        OUTPUT, "--show-regions", value="A-B",
        help="Shows the time of these regions of each thread, counted from 1, with everything that "
            "happens meanwhile.",
    )] = None  # fmt: skip
    slowest: Annotated[int | None, option(
        OUTPUT, "--slowest", value="N",
        help="Shows the time of the N slowest regions, from their begin until they are durable, "
            "with everything that happens meanwhile; prints them.",
    )] = None  # fmt: skip

    def bounds(self, problems: Problems) -> Bounds:
        """Return the bounds; errors are added to the problems."""
        start = None if self.start is None else picoseconds_of("--from", self.start, problems)
        end = None if self.end is None else picoseconds_of("--to", self.end, problems)
        if start is not None and end is not None and start > end:
            problems.add([f"--from {self.start}: is later than --to {self.end}; exchange them"])
        check_whole(problems, "--slowest", self.slowest, 1, _MOST_SLOWEST)
        first, last = self._range(problems)
        return Bounds(
            from_ps=ALL.from_ps if start is None else start,
            until_ps=ALL.until_ps if end is None else end,
            first_region=first,
            last_region=last,
            slowest=self.slowest or 0,
        )

    def _range(self, problems: Problems) -> tuple[int, int]:
        if self.numbers is None:
            return 0, 0
        match = _RANGE.fullmatch(self.numbers)
        if match is None:
            problems.add(
                [f"--show-regions {self.numbers}: must be a number or a range, as in 100-120"]
            )
            return 0, 0
        first, last = int(match[1]), int(match[2] or match[1])
        check_whole(problems, "--show-regions", first, 1)
        check_whole(problems, "--show-regions", last, max(first, 1))
        return first, last


@declared
def timeline_command(
    target: Target,
    *,
    design: Design,
    machine: Machine,
    output: Annotated[Path, option(
        OUTPUT, "--output", "-o", value="FILE",
        help="The file to write; by custom FILE.pftrace for Perfetto, FILE.kanata for Konata.",
    )],
    format_name: Annotated[str, option(
        OUTPUT, "--format", value="perfetto|kanata",
        help="The viewer: https://ui.perfetto.dev, or Konata.",
    )] = "perfetto",
    part: _Part,
    overrides: Overrides = None,
    recipe: Recipe,
    json_path: Json = None,
) -> None:  # fmt: skip
    """Write what one simulation does in time, for the viewers Perfetto and Konata.

    For example:

        pmemsim timeline queue --design asap --machine asap -o queue.pftrace
        pmemsim timeline mine.pmt -d sw-undo -m asap --slowest 20 -o slow.pftrace
        pmemsim timeline mine.pmt -d sw-undo -m asap --format kanata --to 20us -o mine.kanata

    docs/guides/see_in_time.md explains the tracks and rows.
    """
    problems = Problems()
    if format_name not in _FORMATS:
        problems.add([f"--format {format_name}: must be {' or '.join(_FORMATS)}"])
    bounds = part.bounds(problems)
    check_outputs(problems, json_path, files=[output])
    keep_inputs(problems, (json_path, output), (target, design, machine))
    extra = tuple(parse_overrides(overrides or [], problems.found))
    configurations = configurations_of([design], machine, extra, problems)
    found = find_targets([target], recipe, problems)
    problems.raise_any()
    (trace,) = open_traces(found, None)
    timeline = run_with_progress(
        f"{found[0].name} on {design}",
        lambda report: write_timeline(
            trace, configurations[0], output, bounds, cast(Format, format_name), report
        ),
    )
    if json_path:
        write_json("timeline", _document(trace, configurations[0], timeline), json_path)
    if json_path != "-":
        _print_timeline(timeline, output, format_name)


def _document(trace: Trace, configuration: Configuration, timeline: Timeline) -> dict[str, Any]:
    counts = ("events", "regions", "slices", "values", "tracks", "rows", "arrows")
    return {
        "workload": trace.name,
        "design": configuration.design.name,
        "machine": configuration.machine.name,
        "time_ns": timeline.time_ps / 1000,
        **{name: getattr(timeline, name) for name in counts},
        "slowest": [_slow(region) for region in timeline.slowest],
        "trace_hash": trace.hash,
    }


def _slow(region: SlowRegion) -> dict[str, Any]:
    waits = zip(region.causes, region.stalls_ps, strict=True)
    return {
        "rank": region.rank,
        "thread": region.thread,
        "number": region.number,
        "begin_ns": region.begin_ps / 1000,
        "retired_ns": region.retired_ps / 1000,
        "end_ns": region.end_ps / 1000,
        "executions": region.executions,
        "durable": region.durable,
        "waits": [{"cause": cause, "time_ns": time / 1000} for cause, time in waits],
    }


def _print_timeline(timeline: Timeline, path: Path, format_name: str) -> None:
    if timeline.slowest:
        out.print(table("slowest regions", _COLUMNS, map(_row, timeline.slowest)))
    if format_name == "kanata":
        contents = f"{timeline.rows} rows, {timeline.arrows} arrows"
        viewer = "Konata (https://github.com/shioyadan/Konata)"
    else:
        contents = (
            f"{timeline.slices} slices and {timeline.values} counter values on "
            f"{timeline.tracks} tracks"
        )
        viewer = "https://ui.perfetto.dev, which reads it without uploading it"
    out.print(
        f"{path}: {contents}, of a run of {duration(timeline.time_ps / 1000)}; open it in {viewer}",
        markup=False,
    )


_COLUMNS = (">rank", ">thread", ">region", ">begin", ">executes", ">commits", "waits")


def _row(region: SlowRegion) -> Sequence[str]:
    waits = sorted(zip(region.stalls_ps, region.causes, strict=True), reverse=True)
    return (
        str(region.rank),
        str(region.thread),
        str(region.number),
        duration(region.begin_ps / 1000),
        duration((region.retired_ps - region.begin_ps) / 1000),
        duration((region.end_ps - region.retired_ps) / 1000) if region.durable else "-",
        ", ".join(f"{cause} {duration(time / 1000)}" for time, cause in waits) or "-",
    )
