"""Fit a machine's parameters to measured figures, by the closed forms that the model obeys.

docs/guides/write_machine.md ("Measure this computer") explains each form; tests/validation/ checks
the simulator against the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pmemsim.calibration.measurements import (
    BEHIND_LOCKED,
    BETWEEN,
    BETWEEN_COUNTS,
    CLWB,
    CLWB_MFENCE,
    FEW_BEHIND,
    HAND_OVER,
    INDEPENDENT,
    LINE_BYTES,
    LOAD,
    LOAD_AFTER,
    LOAD_SIZES,
    MANY_BEHIND,
    MEMORY_SIZE,
    MIB,
    NONTEMPORAL,
    PAGE_BYTES,
    PAGE_COUNTS,
    PAGES,
    PERSISTENT_LOAD,
    READ,
    WRITE,
    Measurements,
    size_name,
)
from pmemsim.calibration.processor import Processor
from pmemsim.errors import Error
from pmemsim.presets import Preset

# A figure between two steps of a curve belongs to the lower step if it is at most this multiple.
_ON_THE_STEP = 1.25
# Upper limits of the simulator. A larger value means that other load disturbed the measurement.
_WIDEST, _MOST_MSHRS, _MOST_CHANNELS = 16, 64, 16
# The bandwidth counts as saturated if additional threads increase it by less than this share.
_STILL_RISING = 1.25


@dataclass(frozen=True)
class Fitted:
    """A parameter's value, and the figures that it was computed from."""

    key: str
    value: str
    source: str


def fit(processor: Processor, measured: Measurements, defaults: Preset) -> list[Fitted]:
    """Fit the parameters that the measurements decide; all others keep those of `defaults`.

    Raises `Error` if a figure is missing that no machine can do without.
    """
    return _Fit(processor, measured, defaults).all()


class _Fit:
    def __init__(self, processor: Processor, measured: Measurements, defaults: Preset) -> None:
        for level in (1, 2):
            if level not in processor.cache_bytes:
                raise Error(
                    f"the system does not report the size of the level {level} cache "
                    "(/sys/devices/system/cpu); run calibrate on the host of this virtual "
                    "machine, or write a preset by hand (docs/guides/write_machine.md)"
                )
        self._processor = processor
        self._measured = measured
        self._defaults = {setting.key: setting.value for setting in defaults.settings}
        self._found: list[Fitted] = []

    def all(self) -> list[Fitted]:
        self._core()
        self._tlb()
        self._caches()
        self._memory()
        self._prefetcher()
        self._eviction()
        self._loads_behind_locks()
        return self._found

    # ---- Helpers of the closed forms ------------------------------------------------------

    def _ns(self, name: str) -> float:
        value = self._measured.ns(name)
        if value is None:
            reason = self._measured.missing.get(name, "it wasn't measured")
            raise Error(f"{name}: {reason}; a machine can't be fitted without this measurement")
        return value

    def _default_ns(self, key: str) -> float:
        """Return a time of the defaults in nanoseconds."""
        return float(self._defaults[key].removesuffix("ns"))

    def _add(self, key: str, value: str, source: str) -> None:
        self._found.append(Fitted(key, value, source))

    def _add_ns(self, key: str, ns: float, source: str) -> float:
        """Set a time, which is at least 0 ns, and return it."""
        kept = max(0.0, round(ns, 2))
        self._add(key, f"{kept:g}ns", source)
        return kept

    # ---- Core -----------------------------------------------------------------------------------

    def _core(self) -> None:
        cycle = self._cycle = self._ns("addition")
        instruction = self._ns("independent instruction")
        self._l1 = self._ns(LOAD.format("16 KiB"))
        self._add("core.count", str(len(self._processor.cpus)), "processors that may be used")
        self._add(
            "core.frequency", f"{1000 / cycle:.0f}MHz", f"a dependent addition: {cycle:.3f} ns"
        )
        width = max(1, min(_WIDEST, round(cycle / instruction)))
        self._add("core.width", str(width), f"an independent instruction: {instruction:.3f} ns")
        locked = self._ns("locked addition")
        cycles = max(1, round(locked / cycle) - 1)  # in addition to the write to the L1
        self._add("core.locked_latency", f"{cycles}cycles", f"a locked addition: {locked:.2f} ns")
        # Every other random branch is mispredicted: it executes after its load, and the penalty
        # follows.
        random, always = self._ns("branch, random"), self._ns("branch, always taken")
        penalty = max(0, round((2 * (random - always) - self._l1) / cycle - 1))
        self._add(
            "core.branch_penalty",
            f"{penalty}cycles",
            f"a random branch {random:.2f} ns, one that is always taken {always:.2f} ns",
        )
        for key, kind, of_eight in (
            ("core.rob_entries", "instructions", 10),  # including the instructions of the loop
            ("core.load_queue_entries", "loads", 8),
            ("core.store_queue_entries", "stores", 8),
        ):
            room = self._room_between(kind) * of_eight // 8
            self._add(
                key, str(room), f"largest number of {kind} between two loads that still overlap"
            )
        memory, independent = self._ns(LOAD.format(size_name(MEMORY_SIZE))), self._ns(INDEPENDENT)
        self._add(
            "core.mshrs",
            str(max(1, min(_MOST_MSHRS, round(memory / independent)))),
            f"a load from memory {memory:.1f} ns, {independent:.2f} ns if independent",
        )

    def _room_between(self, kind: str) -> int:
        """Return the number of instructions between two loads that delays the second load."""
        counts = list(BETWEEN_COUNTS[kind])
        times = {count: self._ns(BETWEEN.format(count, kind)) for count in counts}
        together = _ON_THE_STEP * min(times.values())
        return _last_of_first(counts, lambda count: times[count] <= together) or counts[0]

    # ---- TLBs -----------------------------------------------------------------------------------

    def _tlb(self) -> None:
        """Fit both TLBs to loads of one line a page, which miss the first TLB, then the second."""
        times = {count: self._ns(PAGES.format(count)) for count in PAGE_COUNTS}
        in_l1 = self._l1
        in_l2 = self._ns(LOAD.format("128 KiB"))
        # The lines of `few` pages are in the L1 for certain, those of `more` pages in the L2.
        few, more = 256, 1024
        most = max(n for n in PAGE_COUNTS if n * LINE_BYTES <= self._processor.cache_bytes[2] // 2)
        entries = _last(n for n in PAGE_COUNTS if n <= few and times[n] <= _ON_THE_STEP * in_l1)
        second = max(0.0, times[few] - in_l1)
        candidates = [n for n in PAGE_COUNTS if more <= n <= most]
        in_second = _last_of_first(
            candidates, lambda n: times[n] - in_l2 <= max(1.5 * second, 0.25 * in_l2)
        )
        walk = max(0.0, times[most] - in_l2 - second)
        self._entries, self._second_entries = entries or 1, in_second or few
        self._second, self._walk = second, walk
        if second < self._cycle and walk < self._cycle:
            self._entries = 0
            return
        self._add("tlb.entries", str(self._entries), "pages whose loads take as long as the L1's")
        self._add("tlb.ways", str(_ways(self._entries)), "not measured")
        self._add("tlb.second_entries", str(self._second_entries), "pages without a walk")
        self._add("tlb.second_ways", str(_ways(self._second_entries)), "not measured")
        self._add_ns(
            "tlb.second_latency",
            second,
            f"{times[few]:.2f} ns with {few} pages, {in_l1:.2f} with few",
        )
        self._add_ns(
            "tlb.walk_latency",
            walk,
            f"{times[most]:.2f} ns with {most} pages in the L2, {in_l2:.2f} with few",
        )

    def _tlb_wait(self, size: int) -> float:
        """Return the average translation time of a load of a random line in this much memory."""
        pages = size / PAGE_BYTES
        if self._entries == 0 or pages <= self._entries:
            return 0.0
        missing_second = max(0.0, 1 - self._second_entries / pages)
        return (1 - self._entries / pages) * self._second + missing_second * self._walk

    # ---- Caches ---------------------------------------------------------------------------------

    def _caches(self) -> None:
        reported, ways = self._processor.cache_bytes, self._processor.cache_ways
        in_l2 = self._ns(LOAD.format("128 KiB"))
        self._l2 = max(0.0, in_l2 - self._l1)
        for level, ns, source in (
            (1, self._l1, f"a load, 16 KiB: {self._l1:.2f} ns"),
            (2, self._l2, f"a load, 128 KiB: {in_l2:.2f} ns, less the L1's"),
        ):
            self._add(f"l{level}.size", f"{reported[level] // 1024}KiB", "reported by the system")
            self._add(f"l{level}.ways", str(ways[level]), "reported by the system")
            self._add_ns(f"l{level}.latency", ns, source)
            self._add_ns(f"l{level}.tag_latency", ns, "as a hit")
        self._shared_cache(reported, ways)

    def _shared_cache(self, reported: dict[int, int], ways: dict[int, int]) -> None:
        times = {size: self._load_without_walk(size) for size in LOAD_SIZES}
        upper = reported.get(3, MEMORY_SIZE // 2)
        # The largest size whose loads certainly hit in the L3, even if other programs use part of
        # it.
        hits = [size for size in LOAD_SIZES if 2 * reported[2] <= size <= upper // 2]
        least = min((times[size] for size in hits), default=math.inf)
        place = _last_of_first(hits, lambda size: times[size] <= _ON_THE_STEP * least) or (
            min(hits, key=lambda size: times[size]) if hits else 2 * reported[2]
        )
        in_shared = times[place] if place in times else self._l1 + self._l2
        self._shared = in_shared - self._l1 - self._l2
        half_way = (in_shared + times[MEMORY_SIZE]) / 2
        held = [size for size in LOAD_SIZES if 2 * reported[2] <= size <= upper]
        size = _last_of_first(held, lambda size: times[size] <= half_way) or 2 * reported[2]
        note = f"loads from this size are closer to {in_shared:.1f} ns than to memory's"
        if 3 in reported and size < reported[3]:
            note += f"; the system reports {reported[3] // MIB} MiB"
        self._add("shared.size", f"{size // 1024}KiB", note)
        self._add("shared.size_per_core", "0B", "measured as a whole")
        reported_ways = ways.get(3, 16)
        divides = size % (reported_ways * LINE_BYTES) == 0
        self._add(
            "shared.ways",
            str(reported_ways if divides else 16),
            "reported by the system" if divides else f"{reported_ways} don't divide the size",
        )
        self._shared = self._add_ns(
            "shared.latency",
            self._shared,
            f"a load, {size_name(place)}: {in_shared:.2f} ns less waits for pages, L1 and L2",
        )
        self._add_ns("shared.tag_latency", self._shared, "as a hit")
        hand_over = self._measured.ns(HAND_OVER)
        if hand_over is not None:
            # A store takes the line from the other core, which has loaded it earlier.
            ns = hand_over / 2 - self._l1 - self._l2 - self._shared
            self._add_ns("shared.snoop_latency", ns, f"a line is handed over in {hand_over:.1f} ns")

    def _load_without_walk(self, size: int) -> float:
        return self._ns(LOAD.format(size_name(size))) - self._tlb_wait(size)

    # ---- Memory ---------------------------------------------------------------------------------

    def _memory(self) -> None:
        """Fit the latency of the path to memory, and the additional time of loads and flushes.

        A non-temporal write of a line has the latency of the path alone.
        """
        lookups = self._l1 + self._l2 + self._shared
        nontemporal = self._ns(NONTEMPORAL)
        known = self._default_ns("pm.front_latency") + self._default_ns("path.response_latency")
        words = LINE_BYTES // 8
        request = self._add_ns(
            "path.request_latency",
            nontemporal - self._shared - known - words * self._cycle,
            f"a non-temporal line, sfence: {nontemporal:.1f} ns, less the L3 and the controller",
        )
        way = lookups + request + known
        write_back, how = self._write_back()
        self._add_ns(
            "path.flush_latency",
            write_back - way - 2 * self._cycle,
            f"{how}: {write_back:.1f} ns, less the way that a non-temporal line takes",
        )
        load = self._load_without_walk(MEMORY_SIZE)
        # At a random load, the bank has another row open.
        row = self._default_ns("dram.trp") + self._default_ns("dram.trcd")
        device = row + self._default_ns("dram.tcl") + self._default_ns("dram.tburst")
        self._load_of_open_row = load - row
        back_source = (
            f"a load, {size_name(MEMORY_SIZE)}: {load:.1f} ns less waits for pages, the way and "
            "the DRAM's own time"
        )
        self._add_ns("dram.back_latency", load - way - device, back_source)
        self._channels(way, back_source, load - way - device)

    def _write_back(self) -> tuple[float, str]:
        """Return the round-trip time of a write-back by the processor's best flush instruction."""
        for how in (CLWB, "store, clflushopt, sfence", "store, clflush, sfence"):
            found = self._measured.ns(how)
            if found is not None:
                return found, how
        raise Error(f"{CLWB}: no instruction that writes a line back could be measured")

    def _channels(self, way: float, back_source: str, back: float) -> None:
        burst = self._default_ns("dram.tburst")
        reading, threads = self._best(READ)
        channels = max(1, min(_MOST_CHANNELS, math.ceil(burst / reading)))
        source = f"a line is read in {reading:.2f} ns {threads}, a channel needs {burst:g} ns"
        self._add("dram.channels_per_controller", str(channels), source)
        for memory in ("dram", "pm"):
            self._add(
                f"{memory}.interleaving",
                "line",
                "not measured: processors' channels alternate every 256 bytes to 4 KiB",
            )
        persistent = self._measured.ns(PERSISTENT_LOAD)
        if persistent is None:
            self._add("pm.channels_per_controller", str(channels), "PM is DRAM here")
            self._add("pm.ranks", "2", "PM is DRAM here")
            self._add_ns("pm.back_latency", back, back_source)
            return
        writing, threads = self._best(WRITE)
        banks = int(self._defaults["pm.banks_per_rank"])
        self._add("pm.device", "fixed", "a file on a DAX mount, whose device is unknown")
        self._add_ns(
            "pm.read_latency",
            persistent
            - self._tlb_wait(MEMORY_SIZE)
            - way
            - self._default_ns("pm.back_latency")
            - burst,
            f"a persistent load, {size_name(MEMORY_SIZE)}: {persistent:.1f} ns, less the way",
        )
        self._add_ns(
            "pm.write_latency",
            banks * writing - burst,
            f"a line is written in {writing:.2f} ns {threads}, by {banks} banks",
        )

    # ---- Features that some processors lack
    # ----------------------------------------------------------

    def _prefetcher(self) -> None:
        """Fit the prefetcher: the lines in flight determine the time of a sequential line."""
        sequential, independent = self._ns(READ.format(1)), self._ns(INDEPENDENT)
        if sequential > independent / 2:
            return
        lines = min(256, max(1, round(self._load_of_open_row / sequential)))
        source = f"a line takes {sequential:.2f} ns in order, {independent:.2f} ns at random"
        self._add("prefetch.streams", "32", "not measured")
        self._add("prefetch.distance", str(lines), source)
        self._add("prefetch.registers", str(lines), source)

    def _eviction(self) -> None:
        after, without = self._measured.ns(LOAD_AFTER), self._measured.ns(CLWB_MFENCE)
        if after is None or without is None:
            return
        evicts = after - without > self._load_of_open_row / 2
        source = f"a load after clwb and mfence adds {after - without:.1f} ns"
        self._add("core.clwb_evicts", str(evicts).lower(), source)

    def _loads_behind_locks(self) -> None:
        """Return whether loads execute while a locked instruction stalls on a write-back."""
        few, many = (self._ns(BEHIND_LOCKED.format(count)) for count in (FEW_BEHIND, MANY_BEHIND))
        more = (MANY_BEHIND - FEW_BEHIND) * (self._l1 + self._l2)
        source = f"{MANY_BEHIND - FEW_BEHIND} loads of {more:.0f} ns more add {many - few:.0f} ns"
        self._add("core.loads_pass_locks", str(many - few < more / 2).lower(), source)

    def _best(self, name: str) -> tuple[float, str]:
        """Return the smallest time per line for any number of threads, and this number."""
        counts = [n for n in range(1, 65) if self._measured.ns(name.format(n)) is not None]
        times = {n: self._ns(name.format(n)) for n in counts}
        best = min(counts, key=lambda n: times[n])
        threads = f"with {best} of {counts[-1]} threads"
        if best == counts[-1] and (
            len(counts) == 1 or times[counts[-2]] > _STILL_RISING * times[best]
        ):
            threads += " (more threads might be faster)"
        return times[best], threads


def _last(numbers: Iterable[int]) -> int | None:
    found = list(numbers)
    return found[-1] if found else None


def _last_of_first(numbers: list[int], holds: Callable[[int], bool]) -> int | None:
    """Return the last value before the first that does not fulfil the condition."""
    last = None
    for number in numbers:
        if not holds(number):
            break
        last = number
    return last


def _ways(entries: int) -> int:
    """Return a plausible associativity that divides the number of entries."""
    return next(ways for ways in (4, 6, 8, 12, 3, 2, 1) if entries % ways == 0)
