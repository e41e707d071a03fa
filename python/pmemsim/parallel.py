"""Run several long jobs on the host's cores, with progress and a fixed order of results.

Jobs are threads, because their work (simulating, waiting for a recorder) is outside the interpreter
lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

_POLL_S = 0.1
Value = TypeVar("Value")
Report = Callable[[float], None]
"""Called with the fraction of a job that is done; raises `Cancelled` when it should stop."""


class Cancelled(BaseException):
    """Cancellation of a job after another one failed, or after Ctrl-C."""


def host_cores() -> int:
    """Return the number of host cores that this process may use."""
    return len(os.sched_getaffinity(0))


def run_all(
    tasks: Sequence[Callable[[Report], Value]],
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> list[Value]:
    """Run all tasks, `jobs` at a time (default: one a host core); return results in their order.

    `progress(index, fraction)` is called from the jobs' threads. If a task fails, the others are
    stopped and the first failure, in the tasks' order, is raised.
    """
    stop = threading.Event()

    def run(index: int) -> Value:
        def report(fraction: float) -> None:
            if stop.is_set():
                raise Cancelled
            if progress:
                progress(index, fraction)

        report(0.0)
        value = tasks[index](report)
        report(1.0)
        return value

    with ThreadPoolExecutor(max_workers=jobs or host_cores()) as pool:
        try:
            # Ctrl-C may arrive here, too: a job may run before the pool has noted its thread.
            futures = [pool.submit(run, index) for index in range(len(tasks))]
            _wait(futures)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    done = [future for future in futures if not future.cancelled()]
    failures = [error for future in done if (error := future.exception())]
    for error in failures:
        if not isinstance(error, Cancelled):
            raise error
    return [future.result() for future in futures]


def _wait(futures: Sequence[Future[Any]]) -> None:
    """Wait until all tasks are done, or one has failed.

    The wait is in short steps, because a signal before a step, or to another thread, doesn't end
    the step.
    """
    pending: Collection[Future[Any]] = futures
    while pending:
        done, pending = wait(pending, _POLL_S, FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return
