"""Open the recordings that a command works on, with the commands' progress."""

from __future__ import annotations

from pmemsim import recordings
from pmemsim.cli.console import progress_of
from pmemsim.targets import Target
from pmemsim.trace import Trace


def open_traces(targets: list[Target], jobs: int | None) -> list[Trace]:
    """Open the targets' traces, after recording missing ones, with progress."""
    return recordings.open_traces(targets, jobs, progress_of)
