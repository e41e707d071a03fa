"""Where a command's jobs are done: on this computer's cores, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from pmemsim import kept
from pmemsim.cli.console import err, progress_of
from pmemsim.cli.options import check_jobs
from pmemsim.errors import Error
from pmemsim.executor import Executor, Failure, LocalProcesses
from pmemsim.jobs import Job

Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Simulate on a Dask cluster that runs already, whose scheduler has this address, as "
        "in `tcp://host:8786`, instead of on this computer's cores.",
    ),
]


def check_execution(scheduler: str | None, jobs: int | None) -> None:
    """Raise an `Error` for options that can't be, or not together."""
    check_jobs(jobs)
    if scheduler is not None and "://" not in scheduler:  # Dask would look for it for a long time
        raise Error(f"--scheduler {scheduler}: write it as Dask prints it, as in tcp://host:8786")
    if scheduler is not None and jobs is not None:
        raise Error("--scheduler and --jobs: give one of them; a cluster has workers of its own")


@contextmanager
def execution(scheduler: str | None, jobs: int | None) -> Iterator[Executor]:
    """What does the jobs, as the options say."""
    if scheduler is None:
        yield LocalProcesses(jobs)
        return
    from pmemsim.cluster import Cluster  # Dask takes longer to load than many commands to run

    with Cluster(scheduler) as cluster:
        yield cluster


def do_missing(
    jobs: Sequence[Job],
    executor: Executor,
    what: str,
    finished: Callable[[Job, Failure | None], None] | None = None,
) -> None:
    """Do the jobs whose results aren't kept yet, with progress.

    `what` the jobs are, as in `simulations`; `finished` is told of each, and may raise to stop all.
    """
    todo = kept.missing(jobs)
    different = len({job.key for job in jobs})
    err.print(f"{different} {what}, {different - len(todo)} of them kept from earlier runs")
    try:
        with progress_of([job.label for job in todo], [job.weight for job in todo]) as progress:
            kept.run(todo, executor, progress, finished)
    except KeyboardInterrupt:
        there = different - sum(not kept.path_of(job).is_file() for job in todo)
        raise KeyboardInterrupt(
            f"interrupted; {there} of {different} {what} are kept: run the same command again to "
            "do the rest"
        ) from None
