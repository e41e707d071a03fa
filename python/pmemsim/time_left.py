"""Estimate how long the jobs of a command still take, from those that have run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

# A running job's own progress predicts its end from this fraction on.
_TELLING = 0.05


@dataclass
class _Rate:
    """The seconds that a kind of jobs takes for each unit of weight."""

    seconds: float = 0.0
    weight: float = 0.0

    def add(self, seconds: float, weight: float) -> None:
        self.seconds += seconds
        self.weight += weight


class TimeLeft:
    """The time until all jobs have ended.

    A job's duration is its weight times the rate of its kind, which jobs of this kind have shown;
    of a kind that has not run yet, the rate of all jobs. The jobs share as many places as have run
    at a time. A job's own progress refines the estimate while it runs.
    """

    def __init__(
        self,
        weights: Sequence[float],
        kinds: Sequence[Hashable] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._weights = weights
        self._kinds = kinds or [""] * len(weights)
        self._clock = clock
        self._waiting: dict[Hashable, float] = defaultdict(float)
        for weight, kind in zip(self._weights, self._kinds, strict=True):
            self._waiting[kind] += weight
        self._begin: dict[int, float] = {}
        self._done: dict[int, float] = {}
        self._rates: dict[Hashable, _Rate] = {}
        self._places = 1
        self._newest_end = clock()
        self._ended_weight = 0.0
        self.count = len(weights)
        self.ended = 0

    @property
    def running(self) -> list[int]:
        """Return the jobs that run, and have shown how far they are."""
        return [index for index, fraction in self._done.items() if fraction > 0]

    @property
    def done(self) -> float:
        """Return the weight of what is done."""
        parts = (fraction * self._weights[index] for index, fraction in self._done.items())
        return self._ended_weight + sum(parts)

    def report(self, index: int, fraction: float) -> bool:
        """Note how much of a job is done, and return whether it has ended now.

        The first report of a job is its begin. A job that is first reported when it has ended, as
        short ones on a cluster are, has taken the time since the newest end before.
        """
        weight, kind = self._weights[index], self._kinds[index]
        if index not in self._begin:
            self._begin[index] = self._clock() if fraction < 1 else self._newest_end
            self._waiting[kind] -= weight
            self._done[index] = 0.0
            self._places = max(self._places, len(self._done))
        if fraction < 1:
            self._done[index] = fraction
            return False
        if self._done.pop(index, None) is None:
            return False
        self._newest_end = self._clock()
        self._rates.setdefault(kind, _Rate()).add(self._newest_end - self._begin[index], weight)
        self._ended_weight += weight
        self.ended += 1
        return True

    @property
    def seconds(self) -> float | None:
        """Return the estimate; None before any job has shown its rate."""
        rates = {kind: _Rate(rate.seconds, rate.weight) for kind, rate in self._rates.items()}
        for index, fraction in self._done.items():
            if fraction >= _TELLING:
                rate = rates.setdefault(self._kinds[index], _Rate())
                rate.add(self._clock() - self._begin[index], fraction * self._weights[index])
        everything = _Rate()
        for rate in rates.values():
            everything.add(rate.seconds, rate.weight)
        if not everything.weight:
            return None

        def duration(kind: Hashable, weight: float) -> float:
            rate = rates.get(kind, everything)
            return weight * rate.seconds / rate.weight

        running = [self._rest(index, duration) for index in self._done]
        waiting = sum(duration(kind, weight) for kind, weight in self._waiting.items())
        return max([(sum(running) + waiting) / self._places, *running])

    def _rest(self, index: int, duration: Callable[[Hashable, float], float]) -> float:
        """Return how long a running job still takes."""
        elapsed, fraction = self._clock() - self._begin[index], self._done[index]
        if fraction >= _TELLING:
            return elapsed * (1 - fraction) / fraction
        return max(0.0, duration(self._kinds[index], self._weights[index]) - elapsed)

    @property
    def text(self) -> str:
        """Return the estimate as hours, minutes and seconds."""
        seconds = self.seconds
        if seconds is None:
            return "-:--:--"
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}"
