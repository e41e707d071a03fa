"""Run jobs on an existing Dask cluster, of which only the scheduler's address is needed.

1 A recording is sent to a worker once, when a job on the worker requests it by its hash. The worker
  keeps it in its cache folder, and checks it on arrival and whenever it opens it.
2 If a worker dies, Dask gives its jobs to other workers; each job's result arrives once.
3 Results are the same to the bit only if all workers have the same build of pmemsim. So a worker
  with another build is refused.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim.errors import Error
from pmemsim.executor import Failure, Finished
from pmemsim.files import cache_dir, replacing
from pmemsim.jobs import Job, Kept, Work, simulator_identity
from pmemsim.trace import Trace
from pmemsim.worker import perform

try:
    import distributed
except ImportError as error:
    raise Error("--scheduler: Dask is not installed; run: pip install 'pmemsim[dask]'") from error

_CONNECT_S = 10


@dataclass(frozen=True)
class _Missing:
    """The error that a worker does not have a recording yet."""

    worker: str


class Cluster:
    """The workers of a Dask scheduler, at an address such as `tcp://host:8786`."""

    def __init__(self, address: str) -> None:
        self._address = address
        # pmemsim reports errors in its own sentences; Dask prints tracebacks.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise Error(
                f"--scheduler {address}: no Dask scheduler answers at this address; start one "
                "with `dask scheduler`, and pass the address that it prints, as in tcp://host:8786"
            ) from error
        self._given_out = 0
        """Number of jobs that were submitted."""
        self._sent: dict[tuple[str, str], int] = {}
        """Number of jobs submitted before a recording was sent, by worker and recording."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(
        self,
        jobs: Sequence[Job],
        finished: Finished,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        """Run all jobs, beginning in their order; each is finished once."""
        if not jobs:
            return
        self._check_builds()
        series = uuid.uuid4().hex
        # Each unfinished task's job by the task's name, and how many jobs were submitted before.
        tasks_out: dict[str, tuple[int, int]] = {}

        def submit(index: int) -> distributed.Future[Any]:
            job = jobs[index]
            self._given_out += 1
            name = f"pmemsim-{series}-{self._given_out}"
            tasks_out[name] = (index, self._given_out)
            return self._client.submit(
                _perform_there, job.trace.hash, job.work, simulator_identity(), key=name, pure=False
            )

        tasks = [submit(index) for index in range(len(jobs))]
        pending = distributed.as_completed(tasks, loop=self._client.loop)
        try:
            for future in pending:
                index, number = tasks_out.pop(future.key)
                value = self._value_of(future)
                if isinstance(value, _Missing):
                    failure = self._send(jobs[index].trace, value.worker, number)
                    if failure is None:
                        pending.add(submit(index))
                        continue
                    value = failure
                finished(index, value)
                if progress:
                    progress(index, 1.0)
        finally:
            out: list[distributed.Future[Any]] = [
                distributed.Future(name, self._client) for name in tasks_out
            ]
            self._client.cancel(out)

    def _check_builds(self) -> None:
        """Raise an `Error` if a worker has another build of pmemsim, or none (rule 3)."""
        ours = simulator_identity()
        try:
            # The scheduler unpacks tasks, too.
            found = {self._address: self._client.run_on_scheduler(_identity_there)}
            found |= self._client.run(_identity_there)
        except Exception as error:  # any error of unpacking the function on the worker
            raise Error(
                f"--scheduler {self._address}: the scheduler or a worker can't load pmemsim "
                f"({error}); install pmemsim {ours[0]} on their hosts"
            ) from error
        for address, theirs in found.items():
            if theirs != ours:
                raise Error(f"--scheduler {self._address}: {_other_build(address, theirs, ours)}")
        if len(found) == 1:
            print(f"pmemsim: {self._address} has no workers yet; waiting for one", file=sys.stderr)

    def _value_of(self, future: distributed.Future[Any]) -> Kept | Failure | _Missing:
        try:
            value = future.result()
        except distributed.KilledWorker:
            return Failure(
                "each worker that ran the task died; if memory ran out, start workers with more "
                "memory"
            )
        except distributed.CancelledError as error:
            raise Error(
                f"--scheduler {self._address}: the connection to the scheduler was lost; finished "
                "results are kept: run the same command again"
            ) from error
        except Exception as error:  # the exceptions of Dask, for one job
            return Failure(f"{type(error).__name__}: {error}")
        assert isinstance(value, Kept | Failure | _Missing)
        return value

    def _send(self, trace: Trace, worker: str, number: int) -> Failure | None:
        """Send the recording to a worker (rule 1), unless it was sent since job `number`."""
        if self._sent.get((worker, trace.hash), 0) >= number:
            return None
        data = trace.path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        try:
            self._client.run(_keep_recording, trace.hash, data, digest, workers=[worker])
        except Exception as error:
            if worker in self._client.nthreads():
                return Failure(f"{worker} could not store the recording: {error}")
            return None  # rule 2: the worker has died, and another one will request the recording
        self._sent[worker, trace.hash] = self._given_out
        return None


def _other_build(address: str, theirs: tuple[str, str], ours: tuple[str, str]) -> str:
    what = f"pmemsim {theirs[0]}" if theirs[0] != ours[0] else f"another build of {ours[0]}"
    return (
        f"{address} runs {what}, and this command is from pmemsim {ours[0]}; install the same "
        "wheel on both sides to get equal results"
    )


# ---- on the workers ------------------------------------------------------------------------------


def _path_of(recording: str) -> Path:
    return cache_dir() / "recordings" / f"{recording}.pmt"


def _identity_there() -> tuple[str, str]:
    return simulator_identity()


def _perform_there(
    recording: str, work: Work, identity: tuple[str, str]
) -> Kept | Failure | _Missing:
    """Do work on a recording that this worker has."""
    worker: str = distributed.get_worker().address
    if simulator_identity() != identity:  # the worker joined later
        return Failure(_other_build(worker, simulator_identity(), identity))
    path = _path_of(recording)
    if not _is_kept(recording, path):
        return _Missing(worker)
    return perform(path, work, lambda _: None)


def _is_kept(recording: str, path: Path) -> bool:
    try:
        return Trace(path).hash == recording
    except Error:  # missing or damaged
        return False


def _keep_recording(recording: str, data: bytes, digest: str) -> None:
    """Keep a received recording if its hash is the one that was sent."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise Error(
            f"the recording {recording} was damaged during the transfer; run the command again"
        )
    path = _path_of(recording)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_bytes(data)
