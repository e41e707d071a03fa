"""The recordings that a command works on; those that are missing are made first."""

from __future__ import annotations

from collections.abc import Callable

from pmemsim.cli.console import progress_of
from pmemsim.parallel import Report, run_all
from pmemsim.targets import Target
from pmemsim.trace import Trace


def open_traces(targets: list[Target], jobs: int | None) -> list[Trace]:
    """Open the targets' traces, recording what is missing first, with progress."""
    missing = [target for target in targets if not target.is_ready]

    def task(target: Target) -> Callable[[Report], None]:
        def record(report: Report) -> None:
            target.trace(keep_going=lambda: report(0.5))

        return record

    if missing:
        with progress_of([f"recording {target.name}" for target in missing]) as progress:
            run_all([task(target) for target in missing], jobs, progress)
    return [target.trace() for target in targets]
