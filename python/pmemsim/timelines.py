"""Write what a run does in time, for the viewers Perfetto and Konata."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pmemsim import _core
from pmemsim.files import replacing
from pmemsim.simulation import Configuration, Progress
from pmemsim.trace import Trace

Bounds = _core.TimelineBounds
Timeline = _core.Timeline
SlowRegion = _core.SlowRegion
Format = Literal["perfetto", "kanata"]

LAST_PS = 2**63 - 1
"""A time after the end of any run."""
ALL = Bounds(from_ps=0, until_ps=LAST_PS, first_region=0, last_region=0, slowest=0)


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
        return _core.write_timeline(
            trace.file, configuration, bounds, format == "kanata", partial, progress
        )
