"""`pmemsim timeline`: write what one simulation does in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

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
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.errors import Problems
from pmemsim.presets import parse_overrides
from pmemsim.timelines import (
    FORMATS,
    Bounds,
    Format,
    SlowRegion,
    Timeline,
    WrittenTimeline,
    bounds_of,
    check_format,
    write_timeline,
)


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
        return bounds_of(self.start, self.end, self.numbers, self.slowest, problems)


@declared
def timeline_command(
    target: Target,
    *,
    design: Design,
    machine: Machine,
    output: Annotated[Path, option(
        OUTPUT, "--output", "-o", value="FILE",
        help="The file to write; usually FILE.pftrace for Perfetto, FILE.kanata for Konata.",
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
    if format_name not in FORMATS:
        problems.add([f"--format {format_name}: must be {' or '.join(FORMATS)}"])
    else:
        check_format(output, format_name, problems)
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
        WrittenTimeline(trace, configurations[0], output, timeline).to_json(json_path)
    if json_path != "-":
        _print_timeline(timeline, output, format_name)


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
