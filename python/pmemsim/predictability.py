"""Measure how predictable a recording's writes are, without simulation (PMWeaver, section III)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pmemsim import _core
from pmemsim.installation import version
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace

SHARES = ("address", "data_4_bytes", "both_4_bytes", "data_8_bytes", "both_8_bytes")
"""What earlier stores may contain: the address, the data in 4 or 8 bytes, or both."""
ALL_STORES, WITHOUT_OWN_STORES = "in_all_stores", "without_own_stores"
"""Whether the line's own stores since its last write-back count as earlier stores."""

Found = _core.Predictable
StoreSet = _core.StoreSet


def share_found(found: Found, stores: str, what: str) -> float:
    """Return the found share: `stores` is a constant above, `what` one of `SHARES`."""
    return _count(found, stores, what) / found.write_backs if found.write_backs else 0.0


def _count(found: Found, stores: str, what: str) -> int:
    number: int = getattr(getattr(found, stores), what)
    return number


@dataclass(frozen=True)
class Predictability:
    """The data that an ideal predictor would find in a recording."""

    workload: str
    optimization: str
    """Optimization level of the recorded program; empty if unknown."""
    total: Found
    by_line: tuple[tuple[Place, Found], ...]
    """Results by source line of the last store before the write-back; most write-backs first."""
    distances: tuple[tuple[int | None, int], ...]
    """A histogram of the instructions since a line's last store: upper bounds with their counts.

    The bound None has no limit.
    """
    store_sets: int
    """Number of different sets of store instructions in which write-backs were found."""
    most_frequent_sets: tuple[StoreSet, ...]
    """The 20 most frequent sets."""
    instructions: int
    stores: int
    other_flushes: int
    """Flushes of lines to which the thread has not stored since their last flush: not write-backs.
    """
    trace_hash: str

    @property
    def frequent_share(self) -> float:
        """Return the share of write-backs from the 20 most frequent sets (figure 11)."""
        return self._frequent / self.total.write_backs if self.total.write_backs else 0.0

    @property
    def _frequent(self) -> int:
        return sum(found.write_backs for found in self.most_frequent_sets)

    def counts(self) -> dict[str, int]:
        """Return the write-backs by what an ideal predictor finds: the figures of the paper."""
        own = {f"found_{what}": _count(self.total, ALL_STORES, what) for what in SHARES}
        others = {
            f"found_{what}_elsewhere": _count(self.total, WITHOUT_OWN_STORES, what)
            for what in SHARES
        }
        whole = {"write_backs": self.total.write_backs, "most_frequent_sets": self._frequent}
        return {**whole, **own, **others}

    def distance_of(self, share: float) -> int | None:
        """Return the bound within which this share of the write-backs follow their last store."""
        seen = 0
        for bound, count in self.distances:
            seen += count
            if seen >= share * self.total.write_backs:
                return bound
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the result for `--json` (keys: docs/reference/results.md)."""
        return {
            "workload": self.workload,
            "optimization": self.optimization,
            "total": self.total.to_dict(),
            "by_line": [{**line.to_dict(), **found.to_dict()} for line, found in self.by_line],
            "distances": [
                {"instructions": bound, "write_backs": count} for bound, count in self.distances
            ],
            "store_sets": self.store_sets,
            "most_frequent_sets": [found.to_dict() for found in self.most_frequent_sets],
            "instructions": self.instructions,
            "stores": self.stores,
            "other_flushes": self.other_flushes,
            "trace_hash": self.trace_hash,
            "version": version(),
        }


def predictability(trace: Trace, progress: Progress | None = None) -> Predictability:
    """Read a recording to its end; `progress` is called with the share that has been read."""
    found = _core.predictability(trace.file, progress)
    return Predictability(
        workload=trace.name,
        optimization=str(trace.metadata.get("optimization", "")),
        total=found.total,
        by_line=tuple((line.store, line.found) for line in found.by_line),
        distances=tuple(found.distances),
        store_sets=found.store_sets,
        most_frequent_sets=tuple(found.most_frequent_sets),
        instructions=found.instructions,
        stores=found.stores,
        other_flushes=found.other_flushes,
        trace_hash=trace.hash,
    )
