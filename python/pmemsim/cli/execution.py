"""Where a command's jobs are done: on this computer's cores, a Dask cluster, or by Slurm."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pmemsim import kept, slurm
from pmemsim.cli.console import err, out, progress_of
from pmemsim.cli.options import Jobs, check_jobs
from pmemsim.errors import Error, Problems
from pmemsim.executor import Executor, Failure, LocalProcesses
from pmemsim.files import check_writable, replacing
from pmemsim.jobs import Job
from pmemsim.slurm import Share

_SLURM_OPTIONS = ("--slurm", "--tasks", "--at-once")


@dataclass(frozen=True)
class Execution:
    """Where jobs are done."""

    jobs: Jobs = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            help="Simulate on a Dask cluster that runs already, whose scheduler has this address, "
            "as in `tcp://host:8786`, instead of on this computer's cores.",
        ),
    ] = None
    slurm_path: Annotated[
        Path | None,
        typer.Option(
            "--slurm",
            help="Simulate nothing, but record the workloads and write a job array for Slurm's "
            "sbatch to this file.",
        ),
    ] = None
    tasks: Annotated[
        int | None,
        typer.Option(
            "--tasks",
            help="With --slurm: tasks of the array, each with a share of the simulations.",
            show_default=f"({slurm.DEFAULT_TASKS}, or the simulations if there are fewer)",
        ),
    ] = None
    at_once: Annotated[
        int | None,
        typer.Option(
            "--at-once",
            help="With --slurm: tasks that may run at a time, at most.",
            show_default=f"({slurm.DEFAULT_AT_ONCE})",
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(
            "--share",
            help="Do the K-th of N shares of the simulations, from 0, as in `0/16`, and keep their "
            "results; what tasks of --slurm do.",
            metavar="K/N",
        ),
    ] = None

    def check(self, problems: Problems) -> None:
        """Add what can't be, or not together."""
        with problems.collected():
            check_jobs(self.jobs)
        if self.scheduler is not None and "://" not in self.scheduler:
            # Dask would look for it for a long time.
            problems.add(
                [f"--scheduler {self.scheduler}: write it as Dask prints it, as in tcp://host:8786"]
            )
        if self.scheduler is not None and self.jobs is not None:
            problems.add(
                ["--scheduler and --jobs: give one of them; a cluster has workers of its own"]
            )
        ways = {
            "--scheduler": self.scheduler is not None,
            "--slurm": self.slurm_path is not None,
            "--share": self.share is not None,
        }
        chosen = [name for name, given in ways.items() if given]
        if len(chosen) > 1:
            problems.add([f"{' and '.join(chosen)}: give one of them"])
        if self.share is not None:
            with problems.collected():
                Share.parse(self.share)
        self._check_slurm(problems)

    def _check_slurm(self, problems: Problems) -> None:
        for name, given in (("--tasks", self.tasks), ("--at-once", self.at_once)):
            if given is not None and self.slurm_path is None:
                problems.add([f"{name} {given}: is for --slurm; leave it out"])
        if self.tasks is not None and not 1 <= self.tasks <= slurm.MOST_TASKS:
            problems.add([f"--tasks {self.tasks}: must be 1 to {slurm.MOST_TASKS}"])
        if self.at_once is not None and self.at_once < 1:
            problems.add([f"--at-once {self.at_once}: must be at least 1"])
        if self.slurm_path is not None:
            with problems.collected():
                check_writable(self.slurm_path)

    def do(
        self,
        jobs: Sequence[Job],
        what: str,
        finished: Callable[[Job, Failure | None], None] | None = None,
        known: Collection[str] = (),
    ) -> None:
        """Do the jobs whose results aren't kept yet, with progress.

        `what` the jobs are, as in `simulations`; `finished` is told of each, and may raise to stop
        all; `known` are keys of jobs that needn't be done. With --slurm and --share the command
        ends here.
        """
        each = list({job.key: job for job in jobs}.values())
        if self.slurm_path is not None and each:
            self._write_script(self.slurm_path, len(each), what)
            raise typer.Exit
        if self.share is not None:
            each = Share.parse(self.share).take(each)
        wanted = [job for job in each if job.key not in known]
        failed: Counter[str] = Counter()

        def told(job: Job, failure: Failure | None) -> None:
            if failure:
                failed[failure.reason] += 1
            if finished:
                finished(job, failure)

        if wanted:
            with self._executor() as executor:
                _do_missing(wanted, executor, what, told)
        if self.share is not None:
            if failed:
                (reason, count), *_ = failed.most_common()
                raise Error(f"{failed.total()} of {len(each)} {what} failed, {count} as: {reason}")
            raise typer.Exit

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        if self.scheduler is None:
            yield LocalProcesses(self.jobs)
            return
        from pmemsim.cluster import Cluster  # Dask takes longer to load than many commands to run

        with Cluster(self.scheduler) as cluster:
            yield cluster

    def _write_script(self, path: Path, count: int, what: str) -> None:
        tasks = min(self.tasks or slurm.DEFAULT_TASKS, count)
        at_once = min(self.at_once or slurm.DEFAULT_AT_ONCE, tasks)
        arguments = slurm.without(sys.argv[1:], _SLURM_OPTIONS)
        with replacing(path) as partial:
            partial.write_text(slurm.script(arguments, path.stem, tasks, at_once))
        out.print(
            f"{count} {what} in {tasks} tasks, at most {at_once} at a time\n"
            f"to start them: {shlex.join(['sbatch', str(path)])}\n"
            f"when all have ended: {shlex.join(['pmemsim', *arguments])}",
            markup=False,
        )


def _do_missing(
    jobs: Sequence[Job],
    executor: Executor,
    what: str,
    finished: Callable[[Job, Failure | None], None],
) -> None:
    todo = kept.missing(jobs)
    err.print(f"{len(jobs)} {what}, {len(jobs) - len(todo)} of them kept from earlier runs")
    try:
        with progress_of([job.label for job in todo], [job.weight for job in todo]) as progress:
            kept.run(todo, executor, progress, finished)
    except KeyboardInterrupt:
        there = len(jobs) - sum(not kept.path_of(job).is_file() for job in todo)
        raise KeyboardInterrupt(
            f"interrupted; {there} of {len(jobs)} {what} are kept: run the same command again to "
            "do the rest"
        ) from None
