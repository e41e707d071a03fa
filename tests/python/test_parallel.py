"""Jobs: order of results, failures, cancellation."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import pytest

from pmemsim.parallel import Cancelled, Report, run_all


def test_results_come_in_the_order_of_the_tasks() -> None:
    def task(number: int, seconds: float) -> int:
        time.sleep(seconds)
        return number

    tasks = [lambda _: task(0, 0.05), lambda _: task(1, 0.0), lambda _: task(2, 0.02)]
    assert run_all(tasks, jobs=3) == [0, 1, 2]


def test_no_more_jobs_at_a_time_than_asked() -> None:
    running = 0
    most = 0
    lock = threading.Lock()
    pair = threading.Barrier(2)

    def task(_: Report) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(60)
        time.sleep(0.01)
        with lock:
            running -= 1

    run_all([task] * 6, jobs=2)
    assert most == 2


def endless(begun: threading.Event, stopped: threading.Event) -> Callable[[Report], None]:
    """Run until the job is stopped."""

    def task(report: Report) -> None:
        begun.set()
        try:
            while True:
                report(0.5)
                time.sleep(0.001)
        finally:
            stopped.set()

    return task


def test_a_failure_stops_the_others_and_is_raised() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def fail(_: Report) -> None:
        begun.wait(60)
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        run_all([endless(begun, stopped), fail], jobs=2)
    assert stopped.is_set()


def test_progress_ends_at_one() -> None:
    seen: list[tuple[int, float]] = []

    def task(report: Report) -> None:
        report(0.5)

    run_all([task, task], jobs=1, progress=lambda index, fraction: seen.append((index, fraction)))
    assert seen == [(0, 0.0), (0, 0.5), (0, 1.0), (1, 0.0), (1, 0.5), (1, 1.0)]


def test_an_interrupt_while_jobs_are_started_stops_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool doesn't have the running thread in its list yet, and so doesn't wait for it."""
    stopped = threading.Event()

    start = threading.Thread.start

    def interrupted_start(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        run_all([endless(threading.Event(), stopped)])
    assert stopped.wait(60)


def test_a_signal_that_wakes_no_thread_ends_all_jobs() -> None:
    """The signal has arrived at another thread than the waiting one."""
    stopped = threading.Event()

    def task(report: Report) -> None:
        time.sleep(0.2)  # until that one waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        until = time.monotonic() + 20
        try:
            while time.monotonic() < until:
                report(0.5)
                time.sleep(0.01)
        except Cancelled:
            stopped.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        run_all([task])
    assert stopped.is_set()
