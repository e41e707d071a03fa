"""What the papers' figures show, from a run's statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pmemsim.jobs import Outcome

_LINE_BYTES = 64
# What tells the latency of commits, and how many there were. LAD's own commits wait for the data,
# too.
_COMMITS = (
    ("hw_redo.commit_latency_ns", "hw_redo.committed"),
    ("lad.log_completion_ns", "lad.committed"),
)


@dataclass(frozen=True)
class Metric:
    """One quantity; None where a run has none, as a log write's latency where nothing is logged."""

    label: str
    of: Callable[[Outcome], float | None]
    counted: bool = False
    """Whether the papers report it as it is, instead of over another design's; it may be 0."""


def _throughput(run: Outcome) -> float | None:
    return run.regions / run.time_ns


def _region_time(run: Outcome) -> float | None:
    """ASAP, 7.1: the average number of cycles of a region; the clock cancels out in ratios."""
    return run.stats["core.region_time_ns"] / run.regions


def _drained_region_time(run: Outcome) -> float | None:
    """As `_region_time`, until all that the region has stored has left the store queue."""
    return run.stats["core.drained_region_time_ns"] / run.regions


def _region_rate(run: Outcome) -> float | None:
    """Regions for the time spent in regions: throughput without what programs do between them."""
    return run.regions / run.stats["core.region_time_ns"]


def _pm_writes(run: Outcome) -> float | None:
    """ASAP, 7.2: lines written to the device, by its banks; what a queue dropped is not there."""
    return run.stats["pm.bytes_written"] / _LINE_BYTES


def _log_latency(run: Outcome) -> float | None:
    """LALEA, IV-C: from a log write's start until it is persistent."""
    return _mean(run, "log.entry_latency_ns", "log.persistent_entries")


def _commit_latency(run: Outcome) -> float | None:
    """LALEA, IV-D: from a transaction's last instruction until its log requests are complete."""
    means = [_mean(run, total, count) for total, count in _COMMITS]
    return next((mean for mean in means if mean is not None), None)


def _misspeculations(run: Outcome) -> float | None:
    """PMEM-Spec, 8.4: how often the hardware has found loads or stores that came too early."""
    if "pmem_spec.load_alarms" not in run.stats:
        return None
    alarms = run.stats["pmem_spec.load_alarms"] + run.stats["pmem_spec.store_alarms"]
    return alarms / run.regions


def _executed_before(run: Outcome) -> float | None:
    """Janus, 5.2.2: writes all of whose sub-operations had been executed when they came."""
    writes = run.stats.get("backend.writes")
    return run.stats["backend.executed_before"] / writes if writes else None


def _mean(run: Outcome, total: str, count: str) -> float | None:
    number = run.stats.get(count)
    return run.stats[total] / number if number else None


METRICS = {
    "throughput": Metric("throughput", _throughput),
    "region_time": Metric("cycles per atomic region", _region_time),
    "drained_region_time": Metric("cycles until regions have drained", _drained_region_time),
    "region_rate": Metric("throughput inside regions", _region_rate),
    "pm_writes": Metric("PM write traffic", _pm_writes),
    "log_latency": Metric("log entry persistence latency", _log_latency),
    "commit_latency": Metric("commit latency", _commit_latency),
    "executed_before": Metric(
        "share of writes that were completely pre-executed", _executed_before, counted=True
    ),
    "misspeculations": Metric("misspeculations a region", _misspeculations, counted=True),
}
