"""Open the recordings that a command works on, and make missing ones first."""

from __future__ import annotations

from collections.abc import Callable

from pmemsim.cli.console import progress_of
from pmemsim.errors import Error
from pmemsim.parallel import Report, run_all
from pmemsim.targets import Target
from pmemsim.trace import Trace

# A recorder doesn't say how far its program is.
_BEGUN = 0.01


def open_traces(targets: list[Target], jobs: int | None) -> list[Trace]:
    """Open the targets' traces, after recording missing ones, with progress."""

    def failed(_: int, error: Error) -> None:
        raise error

    _record_missing(targets, jobs, failed)
    return [target.trace() for target in targets]


def open_each(targets: list[Target], jobs: int | None) -> list[Trace | Error]:
    """Do the same as `open_traces`, but return an `Error` in place of each missing trace."""
    failures: dict[int, Error] = {}
    _record_missing(targets, jobs, failures.__setitem__)
    return [failures.get(index) or _opened(target) for index, target in enumerate(targets)]


def _record_missing(
    targets: list[Target], jobs: int | None, failed: Callable[[int, Error], None]
) -> None:
    missing = [index for index, target in enumerate(targets) if not target.is_ready]

    def task(index: int) -> Callable[[Report], None]:
        def record(report: Report) -> None:
            try:
                targets[index].trace(keep_going=lambda: report(_BEGUN))
            except Error as error:
                failed(index, error)

        return record

    if missing:
        labels = [f"recording {targets[index].name}" for index in missing]
        weights = [targets[index].weight for index in missing]
        kinds = [targets[index].name for index in missing]
        with progress_of(labels, weights, kinds) as progress:
            run_all([task(index) for index in missing], jobs, progress)


def _opened(target: Target) -> Trace | Error:
    try:
        return target.trace()
    except Error as error:
        return error
