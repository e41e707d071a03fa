"""Keep results of jobs in the cache folder, so that no job is done twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

from pmemsim.errors import Error
from pmemsim.executor import Executor, Failure
from pmemsim.files import cache_dir, replacing
from pmemsim.jobs import Crashes, Job, Kept, Outcome

Result = TypeVar("Result", Outcome, Crashes)


def path_of(job: Job) -> Path:
    """Return the path at which the job's result is kept."""
    return cache_dir() / "results" / f"{job.trace.name}-{job.key}.json"


def missing(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs without a kept result, each once, the longest first."""
    unique = {path_of(job): job for job in jobs}
    absent = [job for path, job in unique.items() if not _holds_result(path, job)]
    return sorted(absent, key=lambda job: job.weight, reverse=True)


def _holds_result(path: Path, job: Job) -> bool:
    """Return whether a result is there: a crashed host may leave an empty file instead."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    names = {field.name for field in fields(job.work.result)}
    return isinstance(value, dict) and value.keys() == names


def load(job: Job, result: type[Result]) -> Result:
    """Return the job's kept result of this class."""
    path = path_of(job)
    try:
        return result(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise Error(
            f"{path}: the file could not be read ({error}); delete it and run the command again"
        ) from error


def run(
    jobs: Sequence[Job],
    executor: Executor,
    progress: Callable[[int, float], None] | None = None,
    finished: Callable[[Job, Failure | None], None] | None = None,
) -> None:
    """Do the jobs, keep each result as soon as it exists, and then call `finished`.

    `finished` is called for one job at a time; an exception of it stops the others.
    """
    if jobs:
        path_of(jobs[0]).parent.mkdir(parents=True, exist_ok=True)
    one_at_a_time = threading.Lock()

    def keep(index: int, value: Kept | Failure) -> None:
        job = jobs[index]
        if not isinstance(value, Failure):
            with replacing(path_of(job)) as partial:
                partial.write_text(json.dumps(asdict(value)))
        if finished:
            with one_at_a_time:
                finished(job, value if isinstance(value, Failure) else None)

    executor.run(jobs, keep, progress)
