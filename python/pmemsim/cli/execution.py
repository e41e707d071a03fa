"""Execution of a command's jobs: on this computer's cores, on a Dask cluster, or by Slurm."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pmemsim import result_cache, slurm
from pmemsim.arguments import check_jobs, check_whole
from pmemsim.cli.command import EXECUTION, option
from pmemsim.cli.console import err, out, progress_of
from pmemsim.cli.options import Jobs, check_outputs
from pmemsim.errors import Error, Problems
from pmemsim.executor import Failure
from pmemsim.files import replacing
from pmemsim.jobs import Job
from pmemsim.runner import Runner
from pmemsim.slurm import Share

_SLURM_OPTIONS = ("--slurm", "--tasks", "--at-once")


@dataclass(frozen=True)
class Execution:
    """Options that select where jobs run."""

    jobs: Jobs = None
    scheduler: Annotated[str | None, option(
        EXECUTION, "--scheduler", value="ADDRESS",
        help="Simulates on a running Dask cluster; the address of its scheduler, as in "
            "tcp://host:8786.",
    )] = None  # fmt: skip
    slurm_path: Annotated[Path | None, option(
        EXECUTION, "--slurm", value="FILE",
        help="Records the workloads and writes a Slurm job array for sbatch to this file, without "
            "simulating.",
    )] = None  # fmt: skip
    tasks: Annotated[int | None, option(
        EXECUTION, "--tasks", value="N", more=True,
        default=f"{slurm.DEFAULT_TASKS}, or the number of simulations if that is less",
        help="With --slurm: number of tasks of the array, each of which runs a share of the "
            "simulations.",
    )] = None  # fmt: skip
    at_once: Annotated[int | None, option(
        EXECUTION, "--at-once", value="N", more=True, default=f"{slurm.DEFAULT_AT_ONCE}",
        help="With --slurm: largest number of tasks that run at the same time.",
    )] = None  # fmt: skip
    share: Annotated[str | None, option(
        EXECUTION, "--share", value="K/N", more=True,
        help="Runs share K (0 to N-1) of N shares of the simulations, as in 0/16, and keeps the "
            "results. The tasks of --slurm use this option.",
    )] = None  # fmt: skip

    def check(self, problems: Problems) -> None:
        """Add the errors of these options to the problems."""
        check_jobs(problems, self.jobs)
        if self.scheduler is not None and "://" not in self.scheduler:
            # Dask would try to connect for a long time.
            problems.add(
                [
                    f"--scheduler {self.scheduler}: must be an address as printed by Dask, as in "
                    "tcp://host:8786"
                ]
            )
        if self.share is not None:
            with problems.collected():
                Share.parse(self.share)
        check_whole(problems, "--tasks", self.tasks, 1, slurm.MOST_TASKS)
        check_whole(problems, "--at-once", self.at_once, 1)
        check_outputs(problems, None, files=[self.slurm_path])

    def do(
        self,
        jobs: Sequence[Job],
        what: str,
        finished: Callable[[Job, Failure | None], None] | None = None,
        known: Collection[str] = (),
    ) -> None:
        """Run the jobs that have no kept result yet, with progress.

        `what` names the jobs, as in `simulations`. `finished` is called after each job; it may
        raise an error to stop all jobs. `known` has the keys of jobs to skip. With --slurm and
        --share the command ends here.
        """
        each = list({job.key: job for job in jobs}.values())
        if self.slurm_path is not None and each:
            self._write_script(self.slurm_path, len(each), what)
            raise typer.Exit
        if self.share is not None:
            each = Share.parse(self.share).take(each)
        wanted = [job for job in each if job.key not in known]
        failed: Counter[str] = Counter()

        def job_ended(job: Job, failure: Failure | None) -> None:
            if failure:
                failed[failure.reason] += 1
            if finished:
                finished(job, failure)

        if wanted:
            self._do_missing(wanted, what, job_ended)
        if self.share is not None:
            if failed:
                (reason, count), *_ = failed.most_common()
                raise Error(
                    f"{failed.total()} of {len(each)} {what} failed, {count} of them with: {reason}"
                )
            raise typer.Exit

    @property
    def runner(self) -> Runner:
        """Return what runs the command's jobs."""
        return Runner(progress_of, self.jobs, self.scheduler)

    def _do_missing(
        self, jobs: Sequence[Job], what: str, finished: Callable[[Job, Failure | None], None]
    ) -> None:
        todo = result_cache.missing(jobs)
        err.print(f"{len(jobs)} {what}, {len(jobs) - len(todo)} of them kept from earlier runs")
        try:
            self.runner.do_missing(todo, finished)
        except KeyboardInterrupt:
            there = len(jobs) - sum(not result_cache.path_of(job).is_file() for job in todo)
            raise KeyboardInterrupt(
                f"interrupted; {there} of {len(jobs)} {what} are kept: run the same command again "
                "to do the rest"
            ) from None

    def _write_script(self, path: Path, count: int, what: str) -> None:
        tasks = min(self.tasks or slurm.DEFAULT_TASKS, count)
        at_once = min(self.at_once or slurm.DEFAULT_AT_ONCE, tasks)
        arguments = slurm.without(sys.argv[1:], _SLURM_OPTIONS)
        with replacing(path) as partial:
            partial.write_text(slurm.script(arguments, path.stem, tasks, at_once))
        out.print(
            f"{count} {what} in {tasks} tasks, at most {at_once} at a time\nto start them, run: "
            f"{shlex.join(['sbatch', str(path)])}\nwhen all have ended, run: "
            f"{shlex.join(['pmemsim', *arguments])}",
            markup=False,
        )
