"""Make recordings and run jobs for a command or a Python function, with progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pmemsim import recordings, result_cache
from pmemsim.executor import Executor, Failure, LocalProcesses
from pmemsim.jobs import Job
from pmemsim.parallel import Report, run_all
from pmemsim.progress import Watch, run_one
from pmemsim.targets import Target
from pmemsim.trace import Trace

Value = TypeVar("Value")
Finished = Callable[[Job, Failure | None], None]
"""Called after each job; it may raise an error to stop all jobs."""


class Do(Protocol):
    """Runs the jobs that have no kept result yet.

    `what` names the jobs, as in `simulations`. `known` has the keys of jobs to skip.
    """

    def __call__(
        self,
        jobs: Sequence[Job],
        what: str,
        finished: Finished | None = None,
        known: Collection[str] = (),
    ) -> None:
        """Run the jobs."""


@dataclass(frozen=True)
class Runner:
    """The processes that record and simulate, and what shows their progress."""

    watch: Watch
    jobs: int | None = None
    """Number of tasks that run at the same time; None: one on each host core."""
    scheduler: str | None = None
    """Address of the Dask cluster that simulates; None: this computer."""

    def open_traces(self, targets: list[Target]) -> list[Trace]:
        """Open the targets' traces, after recording missing ones."""
        return recordings.open_traces(targets, self.jobs, self.watch)

    def run(self, label: str, task: Callable[[Report], Value]) -> Value:
        """Run one task, which may use all of the host's cores."""
        return run_one(label, task, self.watch)

    def run_all(
        self, labels: Sequence[str], tasks: Sequence[Callable[[Report], Value]]
    ) -> list[Value]:
        """Run all tasks in threads of this process, and return their results in the same order."""
        with self.watch(labels) as progress:
            return run_all(tasks, self.jobs, progress)

    def do(
        self,
        jobs: Sequence[Job],
        what: str,
        finished: Finished | None = None,
        known: Collection[str] = (),
    ) -> None:
        """Run the jobs that have no kept result yet, each once."""
        different = {job.key: job for job in jobs if job.key not in known}
        self.do_missing(result_cache.missing(different.values()), finished)

    def do_missing(self, jobs: Sequence[Job], finished: Finished | None) -> None:
        """Run jobs that have no kept result."""
        if not jobs:
            return
        labels, weights, kinds = ([job.label for job in jobs], [job.weight for job in jobs],
                                  [job.kind for job in jobs])  # fmt: skip
        with self._executor() as executor, self.watch(labels, weights, kinds) as progress:
            result_cache.run(jobs, executor, progress, finished)

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        if self.scheduler is None:
            yield LocalProcesses(self.jobs)
            return
        from pmemsim.cluster import Cluster  # Dask takes longer to load than many commands to run

        with Cluster(self.scheduler) as cluster:
            yield cluster
