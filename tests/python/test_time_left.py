"""The time left in the progress of many jobs, on a clock of the test's own."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

import pytest
from rich.console import Console

from pmemsim.cli import console
from pmemsim.time_left import TimeLeft


def left_after(
    durations: Sequence[float], weights: Sequence[float], kinds: Sequence[str], at: float
) -> float | None:
    """Return the time left at a time; two jobs run at a time, and report ten times a second."""
    now = 0.0
    left = TimeLeft(weights, kinds, lambda: now)
    waiting = list(range(len(durations)))
    running: dict[int, float] = {}
    while now <= at and (waiting or running):
        while waiting and len(running) < 2:
            running[waiting.pop(0)] = now
            left.report(max(running), 0.0)
        now += 0.1
        for job, begin in list(running.items()):
            share = min(1.0, (now - begin) / durations[job])
            left.report(job, share)
            if share == 1:
                del running[job]
    return left.seconds


@pytest.mark.quick
def test_time_left_is_unknown_before_a_job_has_shown_its_rate() -> None:
    assert TimeLeft([1.0, 2.0]).seconds is None
    assert TimeLeft([1.0, 2.0]).text == "-:--:--"


def test_time_left_of_equal_jobs() -> None:
    # Ten jobs of 10 s, two at a time, take 50 s.
    left = left_after([10.0] * 10, [1.0] * 10, ["x"] * 10, at=20.0)
    assert left == pytest.approx(30.0, abs=0.5)


def test_time_left_follows_the_rate_of_each_kind() -> None:
    # Equal weights, but jobs of one kind take 20 times as long: 4 x 20 s and 8 x 1 s.
    durations, kinds = [20.0, 1.0] * 4 + [1.0] * 4, ["slow", "fast"] * 4 + ["fast"] * 4
    for at in (5.0, 15.0, 30.0):
        left = left_after(durations, [1.0] * 12, kinds, at)
        assert left is not None
        rest = finished_at(durations) - at
        assert rest / 2 <= left <= 2 * rest, at


@pytest.mark.parametrize("seed", range(5))
def test_time_left_is_right_within_a_factor_of_two(seed: int) -> None:
    # Recordings of many sizes on designs of many speeds; other programs disturb each job.
    draw = random.Random(seed)
    speeds = {"np": 1.0, "asap": 2.0, "pmem-spec": 8.0}
    jobs = [(draw.uniform(1, 4), kind) for _ in range(10) for kind in speeds]
    weights, kinds = [size for size, _ in jobs], [kind for _, kind in jobs]
    durations = [size * speeds[kind] * draw.uniform(0.8, 1.25) for size, kind in jobs]
    end = finished_at(durations)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        left = left_after(durations, weights, kinds, share * end)
        rest = (1 - share) * end
        assert left is not None
        assert rest / 2 <= left <= 2 * rest, share


def finished_at(durations: Sequence[float]) -> float:
    """Return when two places have done the jobs in their order."""
    places = [0.0, 0.0]
    for duration in durations:
        places[places.index(min(places))] += duration
    return max(places)


def test_time_left_is_at_least_that_of_the_longest_job() -> None:
    # One long job among short ones: at 10 s, nine tenths of it are left.
    left = left_after([100.0, 1.0, 1.0], [100.0, 1.0, 1.0], ["x"] * 3, at=10.0)
    assert left == pytest.approx(90.0, rel=0.05)


def test_jobs_that_are_first_reported_when_they_end_took_the_time_since_the_end_before() -> None:
    # Short jobs on a cluster report nothing else: ten of 1 s, two at a time.
    now = 0.0
    left = TimeLeft([1.0] * 10, clock=lambda: now)
    for pair in range(2):
        now += 1.0
        left.report(2 * pair, 1.0)
        left.report(2 * pair + 1, 1.0)
        assert left.seconds == pytest.approx(4.0 - pair)


def test_progress_lines_have_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, width=120))
    with console.progress_of(["a", "b", "c"]) as report:
        for job in range(3):
            report(job, 0.0)
            report(job, 1.0)
    lines = screen.getvalue().splitlines()
    assert lines == ["[1/3] a; 0:00:00 left", "[2/3] b; 0:00:00 left", "[3/3] c"]
