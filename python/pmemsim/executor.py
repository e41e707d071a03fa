"""Run many jobs at once: on processes of this computer, or on a Dask cluster (`cluster.py`).

A job that fails is a result, too, and doesn't affect other jobs, even if its process dies. So each
process does one job at a time, and a process that dies is replaced.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from typing import Protocol

from pmemsim.jobs import Job, Kept
from pmemsim.parallel import Report, run_all
from pmemsim.programs import ending_of


@dataclass(frozen=True)
class Failure:
    """A failed job, with the reason in a sentence."""

    reason: str


Finished = Callable[[int, Kept | Failure], None]
"""Called with a job's index and result, from several threads; its exceptions stop all jobs."""


class Executor(Protocol):
    """The computers or processes on which jobs run."""

    def run(
        self,
        jobs: Sequence[Job],
        finished: Finished,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        """Run all jobs, beginning in their order; each is finished once."""


class LocalProcesses:
    """Processes of this computer, `jobs` at a time (default: one a host core)."""

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs

    def run(
        self,
        jobs: Sequence[Job],
        finished: Finished,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        """Run all jobs, beginning in their order; each is finished once."""
        pool = _Pool()

        def task(index: int) -> Callable[[Report], None]:
            return lambda report: finished(index, pool.do(jobs[index], report))

        try:
            run_all([task(index) for index in range(len(jobs))], self._jobs, progress)
        finally:
            pool.close()


class _Pool:
    """Processes that are idle or run a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[_Process] = []
        self._idle: list[_Process] = []

    def do(self, job: Job, report: Report) -> Kept | Failure:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is None:
            process = _Process()
            with self._lock:
                self._all.append(process)
        value = process.do(job, report)
        if value is None:
            return Failure(
                f"the process that ran the task {process.ending()}; if memory ran out, run fewer "
                "tasks at the same time (--jobs)"
            )
        with self._lock:
            self._idle.append(process)
        return value

    def close(self) -> None:
        for process in self._all:
            process.end()


_POLL_S = 0.1


def environment_of_simulations() -> dict[str, str]:
    """Return the environment of a process that does nothing but simulate.

    With glibc's heap in huge pages the host finds the data of many simulated cores in less time
    (docs/explanation/performance.md). The user's own tunables are last, so that they take
    precedence.
    """
    tunables = ["glibc.malloc.hugetlb=1", *filter(None, [os.environ.get("GLIBC_TUNABLES")])]
    return {**os.environ, "GLIBC_TUNABLES": ":".join(tunables)}


class _Process:
    """One process that does jobs (`worker.py`)."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            # -P: the worker doesn't import modules from the user's folder.
            command = [sys.executable, "-P", "-m", "pmemsim.worker", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=environment_of_simulations(),
            )

    def do(self, job: Job, report: Report) -> Kept | Failure | None:
        """Return the job's result; None if the process has died of it."""
        share = 0.0
        try:
            self._connection.send((job.trace.path.absolute(), job.work))
            while True:
                while not self._connection.poll(_POLL_S):
                    report(share)
                message = self._connection.recv()
                if not isinstance(message, float):
                    return _result(message)
                share = message
                report(share)
        except (EOFError, ConnectionError):
            return None

    def ending(self) -> str:
        """Say how the process ended."""
        return ending_of(self._process.wait())

    def end(self) -> None:
        """End the process, whatever it does."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _result(message: object) -> Kept | Failure:
    assert isinstance(message, Kept | Failure)
    return message
