"""Check the papers' orderings: their conditions, and the numbers seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from statistics import fmean, geometric_mean

from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.plan import Point
from pmemsim.reproduction.storage import storage


@dataclass(frozen=True)
class Seen:
    """The verdict on a shape, and the numbers behind it."""

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
        f"ASAP with fences over HWUndo {ratio}",
    )


def lad_below_redu(measured: Measurements) -> Seen:
    """LALEA, IV-B: LAD's throughput is below REDU's."""
    ratio = measured.ratio("LAD", "REDU")
    sizes = measured.group_ratios("LAD", "REDU").items()
    by_size = ", ".join(f"{group}: {of_group.mean:.3f}" for group, of_group in sizes)
    return Seen(ratio.mean < 1, f"LAD over REDU {ratio} ({by_size})")


def fifo_storage(measured: Measurements) -> Seen:
    """LALEA, III-A: the entry FIFO as printed; the header FIFO as printed and as computed."""
    entries, headers = storage(measured.paper)[:2]
    whole = headers.printed_if
    return Seen(
        entries.bytes == entries.printed and headers.printed == whole,
        "; ".join(f"{s.name} {s.formula} = {s.bytes:g} B (printed: {s.printed:g} B)"
                  for s in (entries, headers)),
    )  # fmt: skip


# Tolerances for "no performance improvement" and for "about".
_NO_GAIN = 0.05
_ABOUT = 0.15


def speculation_speedups(measured: Measurements) -> Seen:
    """PMEM-Spec, 8.2: DPO is below x86; some benchmarks gain nothing, and some gain much."""

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
    """PMEM-Spec, 8.4: misspeculation occurs only if the persist path is slower than the caches.

    No load may have read stale data where no state could be rolled back.
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


def _speedups(measured: Measurements, design: str, point: Point | None = None) -> dict[str, float]:
    """Return the speedups over the serialized backend at the same point, by benchmark."""
    ratios = measured.ratios(design, "Serialized", point, point)
    return {benchmark.name: fmean(of_seeds) for benchmark, of_seeds in ratios.items()}


def _listed(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {number:.2f}" for name, number in numbers.items())


def preexecution_speedups(measured: Measurements) -> Seen:
    """Janus, 5.2.1: speedups fall with cores, differ by benchmark, and exceed parallelization's."""
    points = measured.experiment.points
    means = {point.name: measured.ratio("Janus", "Serialized", point, point).mean
             for point in points}  # fmt: skip
    falls = all(a > b for a, b in pairwise(means.values()))
    by_benchmark = _speedups(measured, "Janus", points[0])
    more = min(by_benchmark[name] for name in ("B-Tree", "TATP", "TPCC"))
    less = max(by_benchmark[name] for name in ("Hash Table", "RB-Tree"))
    parallel = measured.ratio("Parallel", "Serialized", points[0], points[0]).mean
    early = measured.ratio("Janus", "Parallel", points[0], points[0]).mean
    return Seen(
        falls and more > less and parallel < early,
        f"over serialized by cores: {_listed(means)}; with one: {_listed(by_benchmark)}; from "
        f"parallelization {parallel:.2f}, from pre-execution {early:.2f}",
    )


def compiler_close_to_hand(measured: Measurements) -> Seen:
    """Janus, 5.2.3: automatic hints are within 12% in most cases; RB-Tree and Queue gain little."""
    by_hand = _speedups(measured, "Janus")
    by_compiler = _speedups(measured, "Janus, compiler")
    poor = ("RB-Tree", "Queue")
    close = [
        abs(by_compiler[name] / by_hand[name] - 1) <= 0.12 for name in by_hand if name not in poor
    ]
    holds = sum(close) > len(close) / 2 and all(
        by_compiler[name] - 1 <= (by_hand[name] - 1) / 2 for name in poor
    )
    return Seen(holds, f"by hand: {_listed(by_hand)}; by the compiler: {_listed(by_compiler)}")


def duplicates_matter_little(measured: Measurements) -> Seen:
    """Janus, 5.2.4: with MD5 the speedup barely moves, with CRC-32 it rises."""
    speedups = {point.name: measured.ratio("Janus", "Serialized", point, point).mean
                for point in measured.experiment.points}  # fmt: skip
    md5 = [speedup for name, speedup in speedups.items() if name.startswith("MD5")]
    crc32 = [speedup for name, speedup in speedups.items() if name.startswith("CRC-32")]
    holds = max(md5) / min(md5) - 1 <= _NO_GAIN and all(a < b for a, b in pairwise(crc32))
    return Seen(holds, f"over serialized: {_listed(speedups)}")


def sizes_rise_then_fall(measured: Measurements) -> Seen:
    """Janus, 5.2.5: pre-execution gains most at some size between, parallelization ever more."""
    points = measured.experiment.points
    early, parallel = (
        {point.name: measured.ratio(of, over, point, point).mean for point in points}
        for of, over in (("Janus", "Parallel"), ("Parallel", "Serialized"))
    )
    most = max(early, key=early.__getitem__)
    holds = (
        most not in (points[0].name, points[-1].name)
        and all(a <= b for a, b in pairwise(parallel.values()))
    )  # fmt: skip
    return Seen(
        holds, f"from pre-execution: {_listed(early)}; from parallelization: {_listed(parallel)}"
    )


def resources_saturate(measured: Measurements) -> Seen:
    """Janus, 5.2.6: more units and buffers help; B-Tree gains even from unlimited ones."""
    points = measured.experiment.points
    means = {point.name: measured.ratio("Janus", "Serialized", point, point).mean
             for point in points}  # fmt: skip
    last_step = {
        name: at_end / before
        for (name, before), at_end in zip(
            _speedups(measured, "Janus", points[-2]).items(),
            _speedups(measured, "Janus", points[-1]).values(),
            strict=True,
        )
    }
    saturated = [name for name, gain in last_step.items() if gain - 1 <= _NO_GAIN]
    holds = (
        all(a < b for a, b in pairwise(list(means.values())[:-1]))
        and "B-Tree" not in saturated
        and len(saturated) > len(last_step) / 2
    )
    return Seen(
        holds,
        f"over serialized: {_listed(means)}; unlimited over {points[-2].name}: "
        f"{_listed(last_step)}",
    )


_SYSTEMS = ("Enc+Veri", "Dedup")
_TRANSACTIONAL = ("B-Tree", "C-Tree", "RB-Tree", "Skiplist", "Hashmap TX")


def _gains(measured: Measurements, system: str, what: str) -> dict[str, float]:
    """Return speedups, by default PMWeaver's, over the system without it, by benchmark."""
    ratios = measured.ratios(f"{system}, {what}", system)
    return {benchmark.name: fmean(of_seeds) for benchmark, of_seeds in ratios.items()}


def addresses_and_data(measured: Measurements) -> Seen:
    """PMWeaver, VI-B2: low-level programs gain more; systems differ in the gain from addresses."""
    holds, seen = True, []
    of_addresses = {}
    for system in _SYSTEMS:
        gains = _gains(measured, system, "PMWeaver")
        transactional = geometric_mean(gains[name] for name in _TRANSACTIONAL)
        low_level = geometric_mean(
            gain for name, gain in gains.items() if name not in _TRANSACTIONAL
        )
        whole = measured.ratio(f"{system}, PMWeaver", system).mean
        alone = measured.ratio(f"{system}, address", system).mean
        of_addresses[system] = (alone - 1) / (whole - 1) if whole > 1 else nan
        holds = holds and low_level > transactional
        seen.append(
            f"{system}: transactional {transactional:.2f}, low-level {low_level:.2f}; all "
            f"{whole:.2f}, by addresses alone {alone:.2f}"
        )
    mostly = of_addresses["Enc+Veri"] > 0.5 > of_addresses["Dedup"]
    return Seen(holds and mostly, "; ".join(seen))


def hints_below_prediction(measured: Measurements) -> Seen:
    """PMWeaver, VI-B3: Janus is below PMWeaver in most programs, above in one on each system."""
    above = {"Enc+Veri": "TPCC", "Dedup": "Hashmap Low-Level"}
    holds, seen = True, []
    for system in _SYSTEMS:
        by_hints = _gains(measured, system, "Janus")
        predicted = _gains(measured, system, "PMWeaver")
        below = [name for name in by_hints if by_hints[name] < predicted[name]]
        holds = holds and len(below) > len(by_hints) / 2 and above[system] not in below
        seen.append(
            f"{system}: Janus {_listed(by_hints)}, below PMWeaver in {len(below)} of "
            f"{len(by_hints)}, {above[system]} {predicted[above[system]]:.2f} there"
        )
    return Seen(holds, "; ".join(seen))


def _speedups_at_points(measured: Measurements) -> dict[str, dict[str, float]]:
    """Return PMWeaver's speedup at each point over the system without it there, by system."""
    return {
        system: {
            point.name: measured.ratio(f"{system}, PMWeaver", system, point, point).mean
            for point in measured.experiment.points
        }
        for system in _SYSTEMS
    }


def _by_system(speedups: Mapping[str, Mapping[str, float]]) -> str:
    return "; ".join(f"{system}: {_listed(of_points)}" for system, of_points in speedups.items())


def instances_keep_speedup(measured: Measurements) -> Seen:
    """PMWeaver, VI-B7: several instances have about the speedup of one."""
    speedups = _speedups_at_points(measured)
    holds = all(
        speedup > 1 and abs(speedup / of_points["1"] - 1) <= _ABOUT
        for of_points in speedups.values()
        for speedup in of_points.values()
    )
    return Seen(holds, f"speedup by instances: {_by_system(speedups)}")


def longer_paths(measured: Measurements) -> Seen:
    """PMWeaver, VI-B8: a longer PC path covers slightly less, but is more accurate."""
    points = measured.experiment.points
    coverage, accuracy = (
        {p.name: measured.by(metric).count("Enc+Veri, PMWeaver", p).mean for p in points}
        for metric in ("both_right", "accuracy")
    )
    covered, right = list(coverage.values()), list(accuracy.values())
    holds = (
        all(a >= b for a, b in pairwise(covered))
        and covered[-1] >= covered[0] * (1 - _ABOUT)
        and all(a <= b for a, b in pairwise(right))
        and covered[0] > covered[-1]
        and right[0] < right[-1]
    )
    return Seen(holds, f"coverage {_listed(coverage)}; accuracy {_listed(accuracy)}")


def structures_suffice(measured: Measurements) -> Seen:
    """PMWeaver, VI-B8: larger structures help up to those of Table I, and hardly beyond."""
    speedups = _speedups_at_points(measured)
    holds = all(
        of_points["0.25x"] < of_points["0.5x"] < of_points["1x"]
        and abs(of_points["32x"] / of_points["1x"] - 1) <= _NO_GAIN
        for of_points in speedups.values()
    )
    return Seen(holds, f"speedup by size: {_by_system(speedups)}")


SHAPES: dict[str, Callable[[Measurements], Seen]] = {
    shape.__name__: shape
    for shape in (
        pm_latency, fences, lad_below_redu, fifo_storage, speculation_speedups, dpo_below_x86,
        never_overflows, above_x86, provoked_misspeculation, preexecution_speedups,
        compiler_close_to_hand, duplicates_matter_little, sizes_rise_then_fall, resources_saturate,
        addresses_and_data, hints_below_prediction, instances_keep_speedup, longer_paths,
        structures_suffice,
    )
}  # fmt: skip
