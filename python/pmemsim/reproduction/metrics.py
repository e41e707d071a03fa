"""Compute the quantities of the papers' figures from a run's statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pmemsim.jobs import Outcome

Comparison = Literal["always", "never", "optional"]
_LINE_BYTES = 64
_BOTH_RIGHT = ("pmweaver.right_by_stores", "pmweaver.right_by_timeout")
# Statistics with the total latency of commits, and with their number. LAD's own commits also wait
# for the data.
_COMMITS = (
    ("hw_redo.commit_latency_ns", "hw_redo.committed"),
    ("lad.log_completion_ns", "lad.committed"),
)


@dataclass(frozen=True)
class Metric:
    """A quantity; None if a run lacks it, such as a log write's latency if nothing is logged."""

    label: str
    of: Callable[[Outcome], float | None]
    compared: Comparison = "always"
    """Whether papers report it relative to another design. An uncompared metric may be 0."""
    of_recording: bool = False
    """Whether the recording alone determines the metric."""
    lacking: str = "none"
    """What a run lacks that has no value."""


def _throughput(run: Outcome) -> float | None:
    """Programs without marked regions count as one: all designs run the same operations."""
    return (run.regions or 1) / run.time_ns


def _execution_time(run: Outcome) -> float | None:
    """PMWeaver, VI-B1: of the measured part, regions or not."""
    return run.time_ns


def _speed(run: Outcome) -> float | None:
    """Inverse of the execution time."""
    return 1 / run.time_ns


def _region_time(run: Outcome) -> float | None:
    """ASAP, 7.1: the average number of cycles of a region; the clock cancels out in ratios."""
    return run.stats["core.region_time_ns"] / run.regions


def _drained_region_time(run: Outcome) -> float | None:
    """The same as `_region_time`, until all stores of the region have left the store queue."""
    return run.stats["core.drained_region_time_ns"] / run.regions


def _region_rate(run: Outcome) -> float | None:
    """Regions over the time in regions: throughput without the work between them."""
    return run.regions / run.stats["core.region_time_ns"]


def _pm_writes(run: Outcome) -> float | None:
    """ASAP, 7.2: lines written to the device by its banks, without lines that a queue dropped."""
    return run.stats["pm.bytes_written"] / _LINE_BYTES


def _log_latency(run: Outcome) -> float | None:
    """LALEA, IV-C: from a log write's start until it is persistent."""
    return _mean(run, "log.entry_latency_ns", "log.persistent_entries")


def _commit_latency(run: Outcome) -> float | None:
    """LALEA, IV-D: from a transaction's last instruction until its log requests are complete."""
    means = [_mean(run, total, count) for total, count in _COMMITS]
    return next((mean for mean in means if mean is not None), None)


def _misspeculations(run: Outcome) -> float | None:
    """PMEM-Spec, 8.4: number of loads or stores that the hardware has found to be too early."""
    if "pmem_spec.load_alarms" not in run.stats:
        return None
    alarms = run.stats["pmem_spec.load_alarms"] + run.stats["pmem_spec.store_alarms"]
    return alarms / (run.regions or 1)


def _executed_before(run: Outcome) -> float | None:
    """Janus, 5.2.2: writes all of whose sub-operations had been executed at their arrival."""
    writes = run.stats.get("backend.writes")
    return run.stats["backend.executed_before"] / writes if writes else None


def _support_latency(run: Outcome) -> float | None:
    """PMWeaver, VI-B6: time from a PM write's arrival to the end of its operations, in ns."""
    return _mean(run, "backend.time_ns", "backend.writes")


def _both_right(run: Outcome) -> float | None:
    """PMWeaver, VI-B4: PM writes whose address and data were predicted, from stores or not."""
    return _share(run, _BOTH_RIGHT, "backend.writes")


def _address_right(run: Outcome) -> float | None:
    """PMWeaver, VI-B4: PM writes whose address was predicted, whatever the data."""
    others = (f"pmweaver.{name}" for name in ("address_right", "reused", "address_only"))
    return _share(run, (*_BOTH_RIGHT, *others), "backend.writes")


def _right_by_stores(run: Outcome) -> float | None:
    """PMWeaver, VI-B5: writes whose address and data were predicted from stores."""
    return _share(run, ("pmweaver.right_by_stores",), "backend.writes")


def _right_by_timeout(run: Outcome) -> float | None:
    """PMWeaver, VI-B5: writes predicted because no thread had stored to the line for a while."""
    return _share(run, ("pmweaver.right_by_timeout",), "backend.writes")


def _accuracy(run: Outcome) -> float | None:
    """PMWeaver, VI-B8: correctly predicted writes of all predictions."""
    made = sum(run.stats.get(f"pmweaver.{name}", 0.0) for name in ("by_stores", "by_timeout"))
    return sum(run.stats[name] for name in _BOTH_RIGHT) / made if made else None


def _lead(run: Outcome) -> float | None:
    """PMWeaver, VI-B6: time from a prediction of address and data to its write, in ns."""
    right = sum(run.stats.get(name, 0.0) for name in _BOTH_RIGHT)
    return run.stats["pmweaver.right_early_ns"] / right if right else None


def _lead_of_all(run: Outcome) -> float | None:
    """PMWeaver's artifact: the same time averaged over all PM writes, unpredicted ones with 0."""
    return _share(run, ("pmweaver.right_early_ns",), "backend.writes")


def _address_seen(run: Outcome) -> float | None:
    """PMWeaver's artifact: writes of lines that were predicted at any time before."""
    return _share(run, ("pmweaver.address_seen",), "backend.writes")


def _known_late(run: Outcome) -> float | None:
    """PMWeaver, VI-B6: PM writes whose prediction came less than 50 ns before them."""
    return _share(run, ("pmweaver.known_late",), "backend.writes")


def _late_or_forgotten(run: Outcome) -> float | None:
    """PMWeaver's artifact: the same, and writes of lines whose predictions have all left.

    It takes such a line as predicted when its write arrives (dram_ctrl.cc, untimelyPrediction).
    """
    seen, right, late = _address_seen(run), _address_right(run), _known_late(run)
    if seen is None or right is None or late is None:
        return None
    return late + max(seen - right, 0.0)


def _soon_written_back(run: Outcome) -> float | None:
    """PMWeaver, II-D: lines that are flushed within 610 ns of the last store to them."""
    return _share(run, ("pmweaver.write_backs_within_610ns",), "pmweaver.write_backs")


def _energy(run: Outcome) -> float | None:
    """PMWeaver, VI-B10: energy of the operations and of the predictor, for the same work."""
    return run.stats.get("energy.total_nj")


def _found(what: str) -> Callable[[Outcome], float | None]:
    """PMWeaver, III-A: share of write-backs of which `what` is in earlier stores."""
    return lambda run: _share(run, (f"predictability.{what}",), "predictability.write_backs")


def _share(run: Outcome, parts: Iterable[str], whole: str) -> float | None:
    number = run.stats.get(whole)
    if not number or any(part not in run.stats for part in parts):
        return None
    return sum(run.stats[part] for part in parts) / number


def _mean(run: Outcome, total: str, count: str) -> float | None:
    return _share(run, (total,), count)


METRICS = {
    "throughput": Metric("throughput", _throughput),
    "execution_time": Metric("execution time", _execution_time),
    "speed": Metric("speed", _speed),
    "region_time": Metric("cycles per atomic region", _region_time),
    "drained_region_time": Metric("cycles until regions have drained", _drained_region_time),
    "region_rate": Metric("throughput inside regions", _region_rate),
    "pm_writes": Metric("PM write traffic", _pm_writes),
    "log_latency": Metric("log entry persistence latency", _log_latency, lacking="nothing logged"),
    "commit_latency": Metric("commit latency", _commit_latency, lacking="no commit"),
    "executed_before": Metric(
        "share of writes that were completely pre-executed",
        _executed_before,
        "never",
        lacking="no PM write",
    ),
    "misspeculations": Metric(
        "misspeculations a region", _misspeculations, "never", lacking="no speculation"
    ),
    "support_latency": Metric(
        "latency of a write's operations", _support_latency, "optional", lacking="no PM write"
    ),
    "address_right": Metric("address right", _address_right, "never", lacking="no PM write"),
    "both_right": Metric("address and data right", _both_right, "never"),
    "right_by_stores": Metric("right from stores", _right_by_stores, "never"),
    "right_by_timeout": Metric("right by timeout", _right_by_timeout, "never"),
    "accuracy": Metric("useful predictions", _accuracy, "never", lacking="no prediction"),
    "lead": Metric(
        "time from prediction to write (ns)", _lead, "never", lacking="no right prediction"
    ),
    "lead_of_all": Metric("time from prediction to write, 0 without (ns)", _lead_of_all, "never"),
    "address_seen": Metric("address predicted before", _address_seen, "never"),
    "known_late": Metric("predicted too late", _known_late, "never"),
    "late_or_forgotten": Metric("predicted too late, or forgotten", _late_or_forgotten, "never"),
    "soon_written_back": Metric("write-backs within 610 ns", _soon_written_back, "never"),
    "energy": Metric("energy", _energy),
    **{
        name: Metric(label, _found(what), "never", of_recording=True)
        for name, label, what in (
            ("address_found", "address", "found_address"),
            ("data_found", "data", "found_data_4_bytes"),
            ("both_found", "both", "found_both_4_bytes"),
            ("address_found_elsewhere", "address, in others", "found_address_elsewhere"),
            ("data_found_elsewhere", "data, in others", "found_data_4_bytes_elsewhere"),
            ("both_found_elsewhere", "both, in others", "found_both_4_bytes_elsewhere"),
            ("frequent_sets", "share of the 20 most frequent sets", "most_frequent_sets"),
        )
    },
}
