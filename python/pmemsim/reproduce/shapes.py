"""The papers' orderings, checked: what must hold, and what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.storage import storage


@dataclass(frozen=True)
class Seen:
    """Whether a shape holds, and the numbers that say so."""

    holds: bool
    text: str


def pm_latency(measured: Measurements) -> Seen:
    """ASAP, 7.3: ASAP above both everywhere; HWRedo overtakes HWUndo; ASAP's slope near NP's."""
    points = measured.experiment.points
    fastest, slowest = points[0], points[-1]
    lead = min(
        measured.ratio("ASAP", other, point, point).mean
        for other in ("HWRedo", "HWUndo")
        for point in points
    )
    redo_first, redo_last = (
        measured.ratio("HWRedo", "HWUndo", point, point).mean for point in (fastest, slowest)
    )
    kept = {
        design: measured.ratio(design, design, slowest, fastest).mean
        for design in ("NP", "ASAP", "HWRedo", "HWUndo")
    }
    distance = {design: abs(share - kept["NP"]) for design, share in kept.items()}
    holds = (
        lead > 1
        and redo_first < 1 < redo_last
        and distance["ASAP"] < min(distance["HWRedo"], distance["HWUndo"])
    )
    slopes = ", ".join(f"{design} {share:.2f}" for design, share in kept.items())
    return Seen(
        holds,
        f"ASAP over the better of HWRedo and HWUndo at least {lead:.2f}; HWRedo over HWUndo "
        f"{redo_first:.2f} at {fastest.name}, {redo_last:.2f} at {slowest.name}; throughput kept "
        f"at {slowest.name}: {slopes}",
    )


_FEW_PERCENT = 0.05


def fences(measured: Measurements) -> Seen:
    """ASAP, 6.4: with a fence after every region it degenerates to HWUndo."""
    ratio = measured.ratio("ASAP, fences", "HWUndo")
    return Seen(
        abs(ratio.mean - 1) <= _FEW_PERCENT,
        f"ASAP with fences over HWUndo {ratio.mean:.3f} ± {ratio.ci95:.3f}",
    )


def lad_below_redu(measured: Measurements) -> Seen:
    """LALEA, IV-B: LAD's throughput is below REDU's."""
    ratio = measured.ratio("LAD", "REDU")
    sizes = measured.group_ratios("LAD", "REDU").items()
    by_size = ", ".join(f"{group}: {of_group.mean:.3f}" for group, of_group in sizes)
    return Seen(ratio.mean < 1, f"LAD over REDU {ratio.mean:.3f} ± {ratio.ci95:.3f} ({by_size})")


def fifo_storage(measured: Measurements) -> Seen:
    """LALEA, III-A: the entry FIFO as printed; the header FIFO as printed and as computed."""
    entries, headers = storage(measured.paper)[:2]
    whole = headers.printed_if
    return Seen(
        entries.bytes == entries.printed and headers.printed == whole,
        "; ".join(f"{s.name} {s.formula} = {s.bytes:g} B (printed: {s.printed:g} B)"
                  for s in (entries, headers)),
    )  # fmt: skip


# What "no performance improvement" and "about" are taken for.
_NO_GAIN = 0.05
_ABOUT = 0.15


def speculation_speedups(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.2: DPO below x86; who gains nothing and who much."""

    def over_x86(design: str, benchmark: str | None = None) -> float:
        return measured.ratio(design, "x86", name=benchmark).mean

    dpo = over_x86("DPO")
    short = {
        f"{design} {benchmark}": over_x86(design, benchmark)
        for benchmark in ("Queue", "Hashmap")
        for design in ("HOPS", "PMEM-Spec")
    }
    vacation, memcached = (over_x86("PMEM-Spec", name) for name in ("Vacation", "Memcached"))
    holds = (
        dpo < 1
        and max(short.values()) <= 1 + _NO_GAIN
        and abs(vacation / 1.33 - 1) <= _ABOUT
        and memcached > 1.4
    )
    regions = ", ".join(f"{which} {ratio:.3f}" for which, ratio in short.items())
    return Seen(
        holds,
        f"over x86: DPO {dpo:.3f}; {regions}; PMEM-Spec Vacation {vacation:.3f}, Memcached "
        f"{memcached:.3f}",
    )


def dpo_below_x86(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.3.1: DPO is below x86 on every benchmark, at every number of cores."""
    seen, holds = [], True
    for point in measured.experiment.points:
        ratios = measured.ratios("DPO", "x86", point, point)
        most, name = max((fmean(values), b.name) for b, values in ratios.items())
        holds = holds and most < 1
        seen.append(f"{most:.3f} ({name}) at {point.name}")
    return Seen(holds, f"DPO over x86 at most {', '.join(seen)}")


def never_overflows(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.3.2: a speculation buffer of 16 entries never overflows."""
    paper, experiment = measured.paper, measured.experiment
    totals = {
        point.name: sum(
            measured.outcome("PMEM-Spec", point, benchmark, seed).stats["pmem_spec.overflows"]
            for benchmark in experiment.benchmarks
            for seed in paper.seeds
        )
        for point in experiment.points
    }
    counts = ", ".join(f"{name}: {total:g}" for name, total in totals.items())
    return Seen(totals["16"] == 0, f"overflows by entries, all benchmarks and seeds: {counts}")


def above_x86(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.3.3: HOPS and PMEM-Spec stay above x86 at every persist-path latency."""
    ratios = {
        design: [measured.ratio(design, "x86", p, p).mean for p in measured.experiment.points]
        for design in ("HOPS", "PMEM-Spec")
    }
    names = ", ".join(point.name for point in measured.experiment.points)
    seen = "; ".join(
        f"{design} {', '.join(f'{ratio:.3f}' for ratio in of_design)}"
        for design, of_design in ratios.items()
    )
    return Seen(
        all(ratio > 1 for of_design in ratios.values() for ratio in of_design),
        f"over x86 at {names}: {seen}",
    )


def provoked_misspeculation(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.4: only on a slow path, never on one that is faster than the caches' way.

    No load may have read something stale where nothing could be taken back.
    """
    seen, found, unrepaired = [], {}, 0.0
    for point in measured.experiment.points:
        stats = [
            measured.outcome("PMEM-Spec", point, benchmark, seed).stats
            for benchmark in measured.experiment.benchmarks
            for seed in measured.paper.seeds
        ]
        counts = {
            name: sum(run[f"pmem_spec.{name}"] for run in stats)
            for name in ("load_alarms", "aborts", "unrepaired_loads")
        }
        found[point.name] = counts["load_alarms"]
        unrepaired += counts["unrepaired_loads"]
        seen.append(
            f"{point.name}: {counts['load_alarms']:g} misspeculations, {counts['aborts']:g} "
            "regions taken back"
        )
    holds = found["10ns"] == 0 < found["200ns"] and unrepaired == 0
    return Seen(holds, f"{'; '.join(seen)}; stale loads that weren't repaired: {unrepaired:g}")


SHAPES: dict[str, Callable[[Measurements], Seen]] = {
    shape.__name__: shape
    for shape in (
        pm_latency, fences, lad_below_redu, fifo_storage, speculation_speedups, dpo_below_x86,
        never_overflows, above_x86, provoked_misspeculation,
    )
}  # fmt: skip
