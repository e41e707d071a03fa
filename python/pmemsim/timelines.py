"""Write what a run does in time, for the viewers Perfetto and Konata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pmemsim import _core
from pmemsim.arguments import check_whole, picoseconds_of
from pmemsim.errors import Error, Problems
from pmemsim.files import replacing
from pmemsim.results import Results, typed_frame
from pmemsim.simulation import Configuration, Progress
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

Bounds = _core.TimelineBounds
Timeline = _core.Timeline
SlowRegion = _core.SlowRegion
Format = Literal["perfetto", "kanata"]

LAST_PS = 2**63 - 1
"""A time after the end of any run."""
ALL = Bounds(from_ps=0, until_ps=LAST_PS, first_region=0, last_region=0, slowest=0)


FORMATS = ("perfetto", "kanata")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST_SLOWEST = 10**6


def bounds_of(
    start: str | None,
    end: str | None,
    show_regions: str | None,
    slowest: int | None,
    problems: Problems,
) -> Bounds:
    """Return the bounds of a timeline; errors are added to the problems."""
    begin = None if start is None else picoseconds_of("--from", start, problems)
    until = None if end is None else picoseconds_of("--to", end, problems)
    if begin is not None and until is not None and begin > until:
        problems.add([f"--from {start}: is later than --to {end}; exchange them"])
    check_whole(problems, "--slowest", slowest, 1, _MOST_SLOWEST)
    first, last = _range(show_regions, problems)
    return Bounds(
        from_ps=ALL.from_ps if begin is None else begin,
        until_ps=ALL.until_ps if until is None else until,
        first_region=first,
        last_region=last,
        slowest=slowest or 0,
    )


def check_format(path: Path, format: str, problems: Problems) -> None:
    """Add a file whose suffix is that of the other format."""
    suffixes = {".pftrace": "perfetto", ".kanata": "kanata"}
    if (wanted := suffixes.get(path.suffix.lower(), format)) != format:
        problems.add(
            [f"{path}: the suffix is that of {wanted}; choose --format {wanted}, or another suffix"]
        )


def _range(numbers: str | None, problems: Problems) -> tuple[int, int]:
    if numbers is None:
        return 0, 0
    match = _RANGE.fullmatch(numbers)
    if match is None:
        problems.add([f"--show-regions {numbers}: must be a number or a range, as in 100-120"])
        return 0, 0
    first, last = int(match[1]), int(match[2] or match[1])
    check_whole(problems, "--show-regions", first, 1)
    check_whole(problems, "--show-regions", last, max(first, 1))
    return first, last


@dataclass(frozen=True)
class WrittenTimeline(Results):
    """A timeline that was written to a file, and its slowest regions.

    Example:
        `pmemsim.timeline("queue", "q", design="np", machine="asap", slowest=2).to_frame()`
    """

    trace: Trace
    """The recording."""
    configuration: Configuration
    """The design on its machine."""
    path: Path
    """The file of the timeline."""
    found: Timeline
    """The numbers of what is in the file."""
    command: ClassVar = "timeline"

    @property
    def title(self) -> str:
        """Name the file and the simulated run."""
        return (
            f"{self.path}: {self.trace.name} on {self.configuration.design.name}, machine "
            f"{self.configuration.machine.name}, {self.found.time_ps / 1e9:.3g} ms simulated"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each of the slowest regions, by rank; times are in nanoseconds."""
        columns = {
            **dict.fromkeys(("rank", "thread", "number"), "int64"),
            **dict.fromkeys(("begin_ns", "retired_ns", "end_ns"), "float64"),
            "executions": "int64", "durable": "bool", "waits": "object",
        }  # fmt: skip
        return typed_frame(self.to_dict()["slowest"], columns).set_index("rank")

    def to_dict(self) -> dict[str, Any]:
        """Return the timeline's numbers for `--json` (keys: docs/reference/results.md)."""
        counts = ("events", "regions", "slices", "values", "tracks", "rows", "arrows")
        return {
            "workload": self.trace.name,
            "design": self.configuration.design.name,
            "machine": self.configuration.machine.name,
            "time_ns": self.found.time_ps / 1000,
            **{name: getattr(self.found, name) for name in counts},
            "slowest": [_slow(region) for region in self.found.slowest],
            "trace_hash": self.trace.hash,
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


def write_timeline(
    trace: Trace,
    configuration: Configuration,
    path: Path,
    bounds: Bounds = ALL,
    format: Format = "perfetto",
    progress: Progress | None = None,
) -> Timeline:
    """Simulate a recording, and write its timeline within the bounds to a file.

    The same trace, configuration and bounds give the same file. Raises `Error` if the design cannot
    run this recording, or if no region is within the bounds.
    """
    with replacing(path) as partial:
        written = _core.write_timeline(
            trace.file, configuration, bounds, format == "kanata", partial, progress
        )
        if not written.tracks and not written.rows:
            raise Error(
                f"{path}: nothing is within the bounds; the run ends at "
                f"{written.time_ps / 1000:,.0f} ns"
            )
        return written
