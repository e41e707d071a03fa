"""Measure how predictable a recording's writes are, without simulation (PMWeaver, section III)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pmemsim import _core
from pmemsim.installation import version
from pmemsim.results import Plot
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


_PREDICTABLE = (
    (ALL_STORES, "address", "address"),
    (ALL_STORES, "data_4_bytes", "data"),
    (ALL_STORES, "both_4_bytes", "both"),
    (WITHOUT_OWN_STORES, "both_4_bytes", "both, without the line's own stores"),
)


@dataclass(frozen=True)
class PredictabilityPlot(Plot["tuple[Axes, Axes, Axes]"]):
    """The data in earlier stores, the distances of write-backs, and the store sets."""

    recordings: Sequence[Predictability]

    @property
    def _names(self) -> list[str]:
        return [f"{each.workload} {each.optimization}".strip() for each in self.recordings]

    @property
    def _size(self) -> tuple[float, float]:
        return max(6.5, 1.5 + 0.7 * len(self.recordings)), 8.0

    def _draw(self, figure: Figure) -> tuple[Axes, Axes, Axes]:
        top, middle, bottom = figure.subplots(3, 1)
        self._draw_shares(top)
        self._draw_distances(middle)
        self._draw_sets(bottom)
        for axes in (top, middle, bottom):
            axes.set_ylim(0, 100)
            axes.set_ylabel("write-backs (%)")
        figure.legend(ncols=4, loc="outside lower center", fontsize=8)
        return top, middle, bottom

    def _draw_shares(self, axes: Axes) -> None:
        from pmemsim.plots import COLOURS

        places = range(len(self.recordings))
        for index, (stores, what, label) in enumerate(_PREDICTABLE):
            shares = [100 * share_found(each.total, stores, what) for each in self.recordings]
            left = [place - 0.4 + 0.2 * (index + 0.5) for place in places]
            axes.bar(left, shares, 0.18, label=label, color=COLOURS[index])
        axes.set_xticks(places, self._names, rotation=20, ha="right")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    def _draw_distances(self, axes: Axes) -> None:
        from pmemsim.plots import COLOURS

        for index, each in enumerate(self.recordings):
            bounds = [bound for bound, _ in each.distances if bound is not None]
            shares = _running_shares([count for _, count in each.distances], each)[: len(bounds)]
            axes.plot(bounds, shares, color=COLOURS[index % len(COLOURS)])
        axes.set_xscale("log")
        axes.set_xlabel("instructions from a line's last store to its write-back, at most")

    def _draw_sets(self, axes: Axes) -> None:
        from pmemsim.plots import COLOURS

        for index, (name, each) in enumerate(zip(self._names, self.recordings, strict=True)):
            shares = _running_shares([one.write_backs for one in each.most_frequent_sets], each)
            colour = COLOURS[index % len(COLOURS)]
            axes.plot(range(1, len(shares) + 1), shares, color=colour, label=name)
        axes.set_xlabel("most frequent sets of store instructions")


def _running_shares(counts: Sequence[int], of: Predictability) -> list[float]:
    """Return the sum of the counts up to each, in percent of the write-backs."""
    return [100 * each / max(of.total.write_backs, 1) for each in accumulate(counts)]


def predictability(trace: Trace, progress: Progress | None = None) -> Predictability:
    """Read a recording to its end; `progress` is called with the share that has been read."""
    trace.require_values()
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
