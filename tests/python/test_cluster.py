"""A Dask cluster of two workers on this computer gives the same results, each once."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pmemsim import cluster
from pmemsim.cluster import Cluster
from pmemsim.crashing import Points
from pmemsim.errors import Error
from pmemsim.executor import Failure, LocalProcesses
from pmemsim.jobs import Crash, Crashes, Job, Outcome, Simulate, simulator_identity
from pmemsim.simulation import configure
from pmemsim.targets import find_target
from support import cache_with_recordings, long_except, pmemsim

DASK = str(Path(sys.executable).with_name("dask"))
POINTS = 200
SWEEP = """
axes:
  workload: [queue, hashmap]
  design: [sw-undo, np, asap, hw-undo, lad]
  machine: asap
  threads: 2
  regions: 200
  pm.wpq_entries: [16, 32, 64, 128]
paired:
  - pm.trcd: [100ns, 200ns, 300ns, 400ns, 500ns]
    pm.twr: [50ns, 100ns, 150ns, 200ns, 250ns]
"""


class Workers:
    """A scheduler and its workers, each a process with a cache folder of its own."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        folder.mkdir()
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.caches: list[Path] = []
        arguments = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", *arguments, "--scheduler-file", str(file), environment=environment
        )
        self.address = ""
        while not self.address:
            time.sleep(0.05)
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                self.address = json.loads(file.read_text())["address"]

    def add(self) -> subprocess.Popen[bytes]:
        """Add another worker."""
        cache = self._folder / f"cache{len(self.processes)}"
        process = self._start(
            "worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(self._folder),
            environment={"PMEMSIM_CACHE": str(cache)},
        )  # fmt: skip
        self.caches.append(cache)
        self.processes.append(process)
        return process

    def wait_until_registered(self) -> None:
        """Wait until the scheduler knows all workers, so that each gets a part of the points."""
        deadline = time.monotonic() + 120
        while (self._folder / "log").read_text().count("Registered to:") < len(self.processes):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _start(
        self, *arguments: str, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [DASK, *arguments],
                env={
                    **os.environ, "PYTHONPATH": str(Path(__file__).parent), **(environment or {}),
                },
                cwd=self._folder, stdout=log, stderr=log,
            )  # fmt: skip

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.processes, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with Workers(tmp_path / "cluster") as found:
        yield found


@pytest.mark.long
def test_a_sweep_is_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path: Path, workers: Workers
) -> None:
    """One of two workers is killed during the sweep."""
    spec = tmp_path / "sweep.yaml"
    spec.write_text(SWEEP)
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    done = pmemsim("sweep", spec, "--out", here, environment=cache_with_recordings(tmp_path / "a"))
    assert done.returncode == 0, done.stderr

    victim = workers.add()
    workers.add()
    workers.wait_until_registered()
    environment = cache_with_recordings(tmp_path / "b")
    process = subprocess.Popen(
        [
            str(Path(sys.executable).with_name("pmemsim")), "sweep", str(spec), "--out",
            str(there), "--scheduler", workers.address,
        ],
        env={**os.environ, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    results = tmp_path / "b" / "results"
    deadline = time.monotonic() + 120

    def each_worker_has_each_recording() -> bool:
        received = [list((cache / "recordings").glob("[!.]*.pmt")) for cache in workers.caches]
        return all(len(recordings) == 2 for recordings in received)

    while (
        len(list(results.glob("[!.]*.json"))) < POINTS // 4 or not each_worker_has_each_recording()
    ):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)
    output, text = process.communicate(timeout=200)
    assert process.returncode == 0, text
    assert len(list(results.glob("[!.]*.json"))) == POINTS
    ended = [int(n) for n in re.findall(rf"^\[(\d+)/{POINTS}\]", text, re.M)]
    assert ended == sorted(set(ended))
    assert ended[-1] == POINTS
    assert f"{POINTS} of {POINTS} points have results" in output

    frame = pd.read_parquet(here)
    assert len(frame) == POINTS
    assert (frame["status"] == "ok").all()
    assert frame["point"].is_unique
    pd.testing.assert_frame_equal(frame, pd.read_parquet(there), check_exact=True)
    assert here.read_bytes() == there.read_bytes()


def test_a_matrix_is_the_same_on_a_cluster(tmp_path: Path, workers: Workers) -> None:
    """Runs and crash runs include a design without guarantees and one that can't run."""
    workers.add()
    workers.add()
    arguments = (
        "matrix", "--workloads", "queue", "--designs", "np,sw-undo,asap,hops,sw-redo",
        "--machine", "asap", "--threads", "2", "--regions", "200", "--points", "300",
    )  # fmt: skip
    texts = []
    for name, more in (("here", ()), ("there", ("--scheduler", workers.address))):
        file = tmp_path / f"{name}.json"
        environment = cache_with_recordings(tmp_path / name)
        done = pmemsim(*arguments, *more, "--json", file, environment=environment)
        assert done.returncode == 0, done.stderr
        texts.append(file.read_bytes())
    assert texts[0] == texts[1]
    cells = json.loads(texts[0])["cells"]
    assert len(cells) == 5
    assert sum(cell["points"] == 300 and cell["violations"] == 0 for cell in cells) == 3
    assert any(list((cache / "recordings").glob("[!.]*.pmt")) for cache in workers.caches)


def small_jobs() -> list[Job]:
    trace = find_target("queue", threads=2, regions=200).trace()
    return [Job(trace, Simulate(configure(design, "asap"))) for design in ("np", "sw-undo")]


def results_of(executor: Cluster | LocalProcesses, jobs: list[Job]) -> list[object]:
    found: dict[int, object] = {}

    def finished(index: int, value: object) -> None:
        assert index not in found
        found[index] = value

    executor.run(jobs, finished)
    return [found[index] for index in range(len(jobs))]


def test_recording_is_sent_once(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """It isn't sent again for other jobs or another client, unless it is damaged."""
    sent = 0
    keep = cluster._keep_recording

    workers.add()
    jobs = small_jobs()
    here = results_of(LocalProcesses(), jobs)
    with Cluster(workers.address) as first:
        run = first._client.run

        def counting(function: Any, *arguments: Any, **options: Any) -> object:  # noqa: ANN401
            nonlocal sent
            sent += function is keep
            return run(function, *arguments, **options)

        monkeypatch.setattr(first._client, "run", counting)
        assert results_of(first, jobs) == here
        assert sent == 1
        assert results_of(first, jobs) == here
        assert sent == 1
    (kept,) = (workers.caches[0] / "recordings").glob("*.pmt")
    original = kept.stat().st_ino
    with Cluster(workers.address) as second:
        assert results_of(second, jobs) == here
        assert kept.stat().st_ino == original
        kept.write_bytes(kept.read_bytes()[:-100])
        assert results_of(second, jobs) == here
        assert kept.stat().st_size == jobs[0].trace.path.stat().st_size
        kept.unlink()  # a user may remove it to free space
        assert results_of(second, jobs) == here


def test_recording_damaged_in_transfer_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path))
    with pytest.raises(Error, match="damaged during the transfer"):
        cluster._keep_recording("0123", b"abc", "not its hash")
    assert list(tmp_path.iterdir()) == []


class Deadly(Simulate):
    """Work that kills its process."""

    def run(self, *_: object) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@pytest.mark.long
def test_a_job_that_kills_its_workers_is_a_failure(tmp_path: Path) -> None:
    never_again = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    first, second = small_jobs()
    with Workers(tmp_path / "cluster", never_again) as workers:
        workers.add()
        with Cluster(workers.address) as found:
            (alive,) = results_of(found, [first])
            (dead,) = results_of(found, [Job(second.trace, Deadly(configure("np", "asap")))])
            workers.add()
            (other,) = results_of(found, [second])
    assert isinstance(alive, Outcome)
    assert isinstance(dead, Failure)
    assert "died" in dead.reason
    assert isinstance(other, Outcome)


def test_a_job_that_kills_its_process_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    first, second = small_jobs()
    jobs = [Job(first.trace, Deadly(configure("np", "asap"))), first, second]
    dead, *others = results_of(LocalProcesses(1), jobs)
    assert isinstance(dead, Failure)
    assert (
        "died of signal SIGKILL; if memory ran out, run fewer tasks at the same time (--jobs)"
        in dead.reason
    )
    assert others == results_of(LocalProcesses(2), jobs[1:])


class Telling(Crash):
    """Work that reports its process's memory settings."""

    def run(self, *_: object) -> Crashes:
        return Crashes(0, 0, [os.environ["GLIBC_TUNABLES"]])


def test_processes_that_simulate_have_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    job = Job(small_jobs()[0].trace, Telling(configure("np", "asap"), Points()))
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    (ours,) = results_of(LocalProcesses(1), [job])
    assert ours == Crashes(0, 0, ["glibc.malloc.hugetlb=1"])
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
    (both,) = results_of(LocalProcesses(1), [job])
    assert both == Crashes(0, 0, ["glibc.malloc.hugetlb=1:glibc.malloc.check=1"])


def test_a_job_that_is_refused_is_a_failure() -> None:
    trace = small_jobs()[0].trace
    few = Job(trace, Simulate(configure("np", "asap", {"core.count": 1})))
    refused, other = results_of(LocalProcesses(1), [few, small_jobs()[0]])
    assert isinstance(refused, Failure)
    assert "core.count" in refused.reason
    assert isinstance(other, Outcome)


@pytest.mark.parametrize(
    "address", long_except(["tcp://127.0.0.1:9", "what://ever"], "what://ever")
)
def test_missing_scheduler_is_reported(tmp_path: Path, address: str) -> None:
    spec = tmp_path / "sweep.yaml"
    spec.write_text(SWEEP)
    done = pmemsim("sweep", spec, "--scheduler", address)
    assert done.returncode == 2
    assert f"--scheduler {address}: no Dask scheduler answers at this address" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_lost_scheduler_is_reported(workers: Workers, capfd: pytest.CaptureFixture[str]) -> None:
    workers.add()
    trace = small_jobs()[0].trace
    jobs = [
        Job(trace, Simulate(configure("np", "asap", {"core.rob_entries": entries})))
        for entries in range(100, 200)
    ]
    with (
        Cluster(workers.address) as found,
        pytest.raises(Error, match="the connection to the scheduler was lost"),
    ):
        found.run(jobs, lambda *_: workers.scheduler.kill())
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("other", long_except(["version", "build"], "build"))
def test_another_build_is_refused(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    workers.add()
    jobs = small_jobs()
    version, build = simulator_identity()
    ours = ("0.0.1", build) if other == "version" else (version, "another")
    what = f"pmemsim {version}" if other == "version" else f"another build of {version}"
    sentence = f"runs {what}, and this command is from pmemsim {ours[0]}; install the same wheel"
    with Cluster(workers.address) as found:
        found._client.wait_for_workers(1)
        monkeypatch.setattr(cluster, "simulator_identity", lambda: ours)
        with pytest.raises(Error, match=sentence):
            found.run(jobs, lambda *_: None)
        # This simulates a worker that joins after all builds were checked.
        monkeypatch.setattr(found, "_check_builds", lambda: None)
        for result in results_of(found, jobs):
            assert isinstance(result, Failure)
            assert sentence in result.reason
