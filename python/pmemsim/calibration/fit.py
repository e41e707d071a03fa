"""Fit a machine's parameters to measured figures, by the closed forms that the model obeys.

docs/guides/write_machine.md ("How parameters are fitted") explains each form; tests/validation/
checks the simulator against the same ones. A figure whose repetitions vary too much decides
nothing: the parameter keeps its default, and the result says why.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pmemsim.calibration.measurements import (
    KIB,
    LINE_BYTES,
    MIB,
    PAGE_BYTES,
    Measurement,
    Measurements,
    size_name,
)
from pmemsim.errors import Error
from pmemsim.presets import Preset

HUGE_PAGE_BYTES = 2 * MIB

# A figure between two steps of a curve belongs to the lower step if it is at most this multiple.
_ON_THE_STEP = 1.25
# Upper limits of the simulator. A larger value means that other load disturbed the measurement.
_WIDEST, _MOST_MSHRS, _MOST_CHANNELS, _MOST_CORES, _MOST_LINES = 16, 64, 16, 64, 256
# The bandwidth counts as saturated if additional threads increase it by less than this share.
_STILL_RISING = 1.25
# Cycles of an operation of a chain whose instructions no processor removes or fuses when it renames
# registers. Agner Fog's instruction tables: IMUL r64,r64 takes 3 cycles on Intel's processors since
# Nehalem and on AMD's since Zen, ADD r,r and XOR r,r 1, ROR r,i 1.
_CHAINS = {"multiply": 3, "add_register": 1, "rotate_and_xor": 2}
# Chains whose cycles differ by more than this share contradict one another.
_AGREEING = 0.1
# The largest spread of a figure that decides between a time and twice that time.
_ABOUT = 0.5
# Threads share a core if a thread alone has at least _SHARING times as many lines in flight, and if
# twice as many threads are at least _RISING times as fast.
_SHARING, _RISING = 1.5, 1.8
# Queues: what lies between two loads, entries of a block of eight, and entries of the two loads and
# of their own stores and loops (microbenchmarks.c, TWO_LOADS).
_QUEUES = {
    "core.rob_entries": ("instructions", 10, 10),
    "core.load_queue_entries": ("loads", 8, 4),
    "core.store_queue_entries": ("stores", 8, 2),
}
# Share of loads from which all of them miss in a TLB, within the precision of a measurement.
_ALL_MISS = 0.9
_WORDS = LINE_BYTES // 8


@dataclass(frozen=True)
class Fitted:
    """A parameter's value, and the figures that it was computed from."""

    key: str
    value: str
    source: str


@dataclass(frozen=True)
class Fit:
    """The parameters that the measurements decide, and reasons why others are not fitted."""

    parameters: list[Fitted]
    refused: dict[str, str]


def fit(measured: Measurements, defaults: Preset) -> Fit:
    """Fit the parameters that the measurements decide; all others keep those of `defaults`.

    Raises `Error` if a figure is missing or unusable that no machine can do without.
    """
    return _Fit(measured, defaults).all()


class _UnusableError(Exception):
    """A figure is missing or varies too much; the text says which and why."""


class _Fit:
    def __init__(self, measured: Measurements, defaults: Preset) -> None:
        self._processor = measured.processor
        for level in (1, 2):
            if level not in self._processor.cache_bytes or level not in self._processor.cache_ways:
                raise Error(
                    f"the system does not report the size of the level {level} cache "
                    "(/sys/devices/system/cpu); measure on the host of this virtual "
                    "machine, or write a preset by hand (docs/guides/write_machine.md)"
                )
        self._measured = measured
        self._defaults = {setting.key: setting.value for setting in defaults.settings}
        self._threads = 1  # logical processors of a core
        self._misses = 0  # lines in flight of a thread alone
        self._found: list[Fitted] = []
        self._refused: dict[str, str] = {}

    def all(self) -> Fit:
        try:
            self._clock()
            self._latencies()
        except _UnusableError as why:
            raise Error(
                f"{why}; a machine can't be fitted without this measurement; measure again while "
                "nothing else runs on this computer"
            ) from why
        steps: list[tuple[str, Callable[[], None]]] = [
            ("core.width", self._width),
            ("core.locked_latency", self._locked),
            ("core.division_latency", self._division),
            ("core.branch_penalty", self._branch_penalty),
            *((key, functools.partial(self._queue, key, *queue)) for key, queue in _QUEUES.items()),
            ("core.mshrs", self._mshrs),
            ("core.threads_per_core", self._threads_per_core),
            ("shared.snoop_latency", self._snoop),
            ("dram.channels_per_controller", self._channels),
            ("core.flush_interval", self._flush_interval),
            ("core.write_combining_buffers", self._write_combining_buffers),
            ("prefetch.streams", self._prefetcher),
            ("core.clwb_evicts", self._eviction),
            ("core.loads_pass_locks", self._loads_behind_locks),
        ]
        for key, step in steps:
            try:
                step()
            except _UnusableError as why:
                self._refused[key] = str(why)
        return Fit(self._found, self._refused)

    # ---- Helpers of the closed forms ------------------------------------------------------------

    def _one(self, loop: str, holds: Callable[[Measurement], bool] = lambda _: True) -> Measurement:
        """Return the only usable figure of a loop."""
        found = [each for each in self._measured.of(loop) if holds(each)]
        for each in found:
            if each.is_usable:
                return each
        if found:
            raise _UnusableError(found[0].why_unusable())
        reasons = "; ".join(dict.fromkeys(self._measured.missing.values()))
        raise _UnusableError(
            f"the loop {loop} was not measured" + (f" ({reasons})" if reasons else "")
        )

    def _ns(self, loop: str) -> float:
        return self._one(loop).median_ns

    def _about(self, loop: str) -> tuple[float, str]:
        """Return the time of a loop of one thread, in nanoseconds and in words.

        It may vary by half, and then decides only what differs by a factor of two.
        """
        found = [each for each in self._measured.of(loop) if each.threads == 1]
        if not found or found[0].spread > _ABOUT:
            found = [self._one(loop, lambda each: each.threads == 1)]
        about = "" if found[0].is_usable else "about "
        return found[0].median_ns, f"{about}{found[0].median_ns:.2f} ns"

    def _curve(self, loop: str, option: str) -> dict[int, float]:
        """Return the usable times of a loop with small pages, by the value of an option."""
        found = {
            each.number(option): each.median_ns
            for each in self._measured.of(loop)
            if each.is_usable and not each.is_huge
        }
        if not found:
            self._one(loop)
            raise _UnusableError(f"the loop {loop} was not measured with small pages")
        return dict(sorted(found.items()))

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

    def _clock(self) -> None:
        """Fit the frequency to chains of operations with known numbers of cycles."""
        chains = {
            each.name: each.median_ns / _CHAINS[each.loop]
            for loop in _CHAINS
            for each in self._measured.of(loop)
            if each.is_usable
        }
        if not chains:
            self._one("multiply")
        cycle = self._cycle = statistics.median_low(chains.values())
        given = ", ".join(f"{name}: {ns:.3f} ns" for name, ns in chains.items())
        if any(abs(ns / cycle - 1) > _AGREEING for ns in chains.values()):
            raise Error(
                f"the chains give different cycles ({given}), so that the frequency is unknown; "
                "measure again with a fixed frequency, while nothing else runs on this computer"
            )
        cores = min(self._processor.cpus, _MOST_CORES)
        self._add("core.count", str(cores), "logical processors that may be used")
        self._add(
            "core.frequency", f"{1000 / cycle:.0f}MHz", f"a cycle is {cycle:.3f} ns, by {given}"
        )

    def _width(self) -> None:
        instruction = self._ns("instruction")
        width = max(1, min(_WIDEST, round(self._cycle / instruction)))
        self._add("core.width", str(width), f"independent instruction: {instruction:.3f} ns")

    def _locked(self) -> None:
        locked = self._ns("locked")
        cycles = max(1, round(locked / self._cycle) - 1)  # in addition to the write to the L1
        self._add("core.locked_latency", f"{cycles}cycles", f"locked addition: {locked:.2f} ns")

    def _division(self) -> None:
        division = self._ns("divide")
        cycles = max(1, round(division / self._cycle) - 1)  # an addition follows it
        self._add("core.division_latency", f"{cycles}cycles", f"division: {division:.2f} ns")

    def _branch_penalty(self) -> None:
        # Every other random branch is mispredicted: it executes after its load, and the penalty
        # follows. A disturbance only lengthens the time of the other branches, so that their least
        # time is right even if it varies.
        random = self._ns("random_branch")
        always = self._measured.of("even_branch")
        if not always:
            raise _UnusableError("the loop even_branch was not measured")
        base = always[0].median_ns if always[0].is_usable else always[0].least_ns
        which = "" if always[0].is_usable else "at least "
        penalty = max(0, round((2 * (random - base) - self._l1) / self._cycle - 1))
        self._add(
            "core.branch_penalty",
            f"{penalty}cycles",
            f"branch, random: {random:.2f} ns; branch, always taken: {which}{base:.2f} ns",
        )

    def _queue(self, key: str, kind: str, of_eight: int, own: int) -> None:
        """Fit a queue to the number of instructions between two loads that delays the second."""
        times = self._curve(f"{kind}_between", "lines")
        together = _ON_THE_STEP * min(times.values())
        room = _last_of_first(times, lambda count: times[count] <= together) or min(times)
        self._add(
            key,
            str(room * of_eight // 8 + own),
            f"two loads, {room} {kind} between: the largest number with which they overlap",
        )

    def _mshrs(self) -> None:
        independent = self._one("independent_load")
        memory = self._loads.get(independent.number("bytes"), self._memory)
        self._misses = max(1, min(_MOST_MSHRS, round(memory / independent.median_ns)))
        self._add(
            "core.mshrs",
            str(self._misses),
            f"{independent.name}: {independent.median_ns:.2f} ns; dependent {memory:.1f} ns",
        )

    def _threads_per_core(self) -> None:
        """Find logical processors that share a core.

        Its threads have fewer lines in flight than a thread alone, although the bandwidth of all
        threads still rises with their number.
        """
        usable = [each for each in self._measured.of("read_bandwidth") if each.is_usable]
        pairs = [
            (few, many)
            for few in usable
            for many in usable
            if few.threads > 1 and many.threads == 2 * few.threads
        ]
        if not pairs:
            raise _UnusableError("no two numbers of reading threads have usable times")
        few, many = max(pairs, key=lambda pair: pair[1].threads)
        in_flight = self._memory / (many.median_ns * many.threads)
        rising = few.median_ns / many.median_ns
        if rising < _RISING or self._misses < _SHARING * in_flight:
            return
        self._threads = round(self._misses / in_flight)
        self._add(
            "core.threads_per_core",
            str(self._threads),
            f"{many.name}: {in_flight:.1f} lines in flight of each thread, {self._misses} of one "
            f"alone, and {rising:.2f} times as fast as {few.threads} threads",
        )

    # ---- Latencies, from the core to memory -----------------------------------------------------

    def _latencies(self) -> None:
        self._loads = self._curve("load", "bytes")
        in_l1 = [size for size in self._loads if size <= self._processor.cache_bytes[1] // 2]
        first, second = self._processor.cache_bytes[1], self._processor.cache_bytes[2]
        in_l2 = [size for size in self._loads if 2 * first <= size <= second // 2]
        for level, sizes in ((1, in_l1), (2, in_l2)):
            if not sizes:
                raise _UnusableError(f"no load of the level {level} cache has a usable time")
        self._l1 = self._loads[in_l1[-1]]
        self._in_l2 = self._loads[in_l2[0]]
        self._tlb()
        self._private_caches(in_l1[-1], in_l2[0])
        self._shared_cache()
        self._path()

    def _tlb(self) -> None:
        """Fit both TLBs to loads of one line a page, which miss the first TLB, then the second."""
        times = {size // PAGE_BYTES: ns for size, ns in self._curve("page_load", "bytes").items()}
        self._pages = times
        # Numbers of pages, one line each, that certainly fit the L1, and the L2.
        l1_lines = self._processor.cache_bytes[1] // LINE_BYTES // 2
        l2_lines = self._processor.cache_bytes[2] // LINE_BYTES // 2
        few = max((n for n in times if n <= l1_lines), default=0)
        if few == 0:
            raise _UnusableError("no load of a few pages has a usable time")
        self._second = max(0.0, times[few] - self._l1)
        if self._second < self._cycle / 2:
            few_entries = few
        else:
            few_entries = _last(n for n in times if times[n] <= _ON_THE_STEP * self._l1) or 1
        self._entries = self._partly_missing(times, few_entries, few)
        in_l2 = [n for n in times if 2 * l1_lines < n <= l2_lines]
        limit = self._in_l2 + max(1.5 * self._second, 0.25 * self._in_l2)
        self._second_entries = _last_of_first(in_l2, lambda n: times[n] <= limit) or few
        walked = [n for n in in_l2 if n > self._second_entries and times[n] > limit]
        self._walk, walk_source = self._walk_latency(times, walked)
        if self._second < self._cycle and self._walk < self._cycle:
            self._entries = 0
            return
        ways = _ways(self._entries)
        self._add("tlb.entries", str(self._entries), self._entries_source)
        self._add("tlb.ways", str(ways), "not measured: divides the entries")
        self._add(
            "tlb.second_entries",
            str(self._second_entries),
            f"load of {self._second_entries} pages: no walk",
        )
        second_ways = str(_ways(self._second_entries))
        self._add("tlb.second_ways", second_ways, "not measured: divides the entries")
        self._add_ns(
            "tlb.second_latency",
            self._second,
            f"load of {few} pages: {times[few]:.2f} ns, {self._l1:.2f} ns with few pages",
        )
        self._add_ns("tlb.walk_latency", self._walk, walk_source)

    def _partly_missing(self, times: dict[int, float], entries: int, few: int) -> int:
        """Return the number of entries with which that share of loads misses.

        In sets of four, a page beyond the entries makes all five pages of its set miss.
        """
        self._entries_source = f"load of {entries} pages: the L1's time"
        above = next((n for n in times if entries < n < few), None)
        if above is None or self._second <= 0:
            return entries
        share = (times[above] - self._l1) / self._second
        between = round((above - share * above / 5) / 4) * 4
        if share > _ALL_MISS or not entries < between <= above:
            return entries
        self._entries_source += f", {share:.0%} of the loads of {above} pages miss"
        return between

    def _walk_latency(self, times: dict[int, float], walked: list[int]) -> tuple[float, str]:
        if walked:
            walk = times[walked[-1]] - self._in_l2 - self._second
            return max(0.0, walk), (
                f"load of {walked[-1]} pages: {times[walked[-1]]:.2f} ns, {self._in_l2:.2f} ns in "
                "the L2 with few pages"
            )
        huge = self._huge()
        if huge is None or huge.number("bytes") not in self._loads:
            return 0.0, "no usable time of pages beyond the second TLB"
        size = huge.number("bytes")
        small = self._loads[size]
        missing = max(0.1, 1 - self._second_entries * PAGE_BYTES / size)
        walk = (small - huge.median_ns - self._second + self._huge_wait(huge)) / missing
        return max(0.0, walk), (
            f"load, {size_name(size)}: {small:.1f} ns; {huge.name}: {huge.median_ns:.1f} ns"
        )

    def _huge(self) -> Measurement | None:
        """Return the loads of the largest memory with huge pages, if their time is usable."""
        largest = max(self._loads)
        return next(
            (
                each
                for each in self._measured.of("load")
                if each.is_huge and each.is_usable and each.number("bytes") >= largest
            ),
            None,
        )

    def _huge_wait(self, huge: Measurement) -> float:
        pages = huge.number("bytes") / HUGE_PAGE_BYTES
        return self._second * max(0.0, 1 - self._entries / pages)

    def _tlb_wait(self, size: int) -> float:
        """Return the average translation time of a load of a random line in this much memory."""
        pages = size / PAGE_BYTES
        if self._entries == 0 or pages <= self._entries:
            return 0.0
        missing_second = max(0.0, 1 - self._second_entries / pages)
        return (1 - self._entries / pages) * self._second + missing_second * self._walk

    def _private_caches(self, in_l1: int, in_l2: int) -> None:
        reported, ways = self._processor.cache_bytes, self._processor.cache_ways
        self._l2 = max(0.0, self._in_l2 - self._l1)
        exact = reported[1] // LINE_BYTES
        ns = self._pages.get(exact, 0.0) - self._second
        # Other data than a loop's are in the L1, too: a loop may not have all ways.
        taken = ways[1] > 1 and ns > (self._l1 + self._in_l2) / 2
        why = f"; load of {exact} pages: {self._pages[exact]:.2f} ns, less one way" if taken else ""
        for level, ns, source in (
            (1, self._l1, f"load, {size_name(in_l1)}: {self._l1:.2f} ns"),
            (2, self._l2, f"load, {size_name(in_l2)}: {self._in_l2:.2f} ns, less the L1's"),
        ):
            own_ways = ways[level] - (taken and level == 1)
            size = reported[level] // ways[level] * own_ways
            how = "reported by the system" + (why if level == 1 else "")
            self._add(f"l{level}.size", f"{size // KIB}KiB", how)
            self._add(f"l{level}.ways", str(own_ways), how)
            self._add_ns(f"l{level}.latency", ns, source)
            self._add_ns(f"l{level}.tag_latency", ns, "as a hit")

    def _shared_cache(self) -> None:
        reported, ways = self._processor.cache_bytes, self._processor.cache_ways
        times = {size: self._load_without_walk(size) for size in self._loads}
        largest = max(times)
        self._load_of_memory(times[largest], largest)
        upper = reported.get(3, largest // 2)
        # Sizes whose loads miss the L2. The least time is that of the L3, even if other programs
        # use a part of it.
        beyond = [size for size in times if 2 * reported[2] <= size <= upper]
        least = min((times[size] for size in beyond), default=math.inf)
        if least * _ON_THE_STEP > self._memory:
            self._require_loads_of_l3(upper)
            beyond = []
        place = _last_of_first(beyond, lambda size: times[size] <= _ON_THE_STEP * least)
        size = place or 2 * reported[2]
        self._shared = 0.0
        half_way = (least + self._memory) / 2
        size = _last_of_first(beyond, lambda size: times[size] <= half_way) or size
        if place:
            note = f"load, {size_name(size)}: the L3's time"
            above = next((one for one in times if one > size), None)
            if above is not None:
                note += f"; load, {size_name(above)}: {times[above]:.0f} ns"
        else:
            note = "no load beyond the L2 is faster than memory's"
        if 3 in reported and size < reported[3]:
            note += f"; the system reports {reported[3] // MIB} MiB"
        self._add("shared.size", f"{size // KIB}KiB", note)
        self._add("shared.size_per_core", "0B", "measured as a whole")
        reported_ways = ways.get(3, 16)
        divides = size % (reported_ways * LINE_BYTES) == 0
        self._add(
            "shared.ways",
            str(reported_ways if divides else 16),
            "reported by the system" if divides else f"{reported_ways} don't divide the size",
        )
        source = "no load shows an L3"
        if place:
            hit = statistics.median(times[size] for size in beyond if size <= place)
            self._shared = hit - self._l1 - self._l2
            source = (
                f"load, {size_name(beyond[0])} to {size_name(place)}: {hit:.2f} ns less waits for "
                "pages, L1 and L2"
            )
        self._shared = self._add_ns("shared.latency", self._shared, source)
        self._add_ns("shared.tag_latency", self._shared, "as a hit")

    def _require_loads_of_l3(self, upper: int) -> None:
        """Raise an error if the loads that would show the L3 vary too much."""
        for each in self._measured.of("load"):
            size = each.number("bytes")
            if 2 * self._processor.cache_bytes[2] <= size <= upper and not each.is_usable:
                raise _UnusableError(each.why_unusable())

    def _load_of_memory(self, small_pages: float, size: int) -> None:
        """Set the time of a load from memory without translation."""
        huge = self._huge()
        if huge is None:
            self._memory = small_pages
            self._memory_source = f"load, {size_name(size)}: {small_pages:.1f} ns"
        else:
            self._memory = huge.median_ns - self._huge_wait(huge)
            self._memory_source = f"{huge.name}: {huge.median_ns:.1f} ns"

    def _load_without_walk(self, size: int) -> float:
        return self._loads[size] - self._tlb_wait(size)

    def _snoop(self) -> None:
        hand_over = self._ns("hand_over")
        # A store takes the line from the other core, which has loaded it earlier.
        ns = hand_over / 2 - self._l1 - self._l2 - self._shared
        self._add_ns("shared.snoop_latency", ns, f"hand a line over: {hand_over:.1f} ns")

    # ---- Memory ---------------------------------------------------------------------------------

    def _path(self) -> None:
        """Fit the latencies of the path to memory.

        Loads, flushes and non-temporal writes share a part, which the fastest of them has alone.
        The others have additional times of their own.
        """
        lookups = self._l1 + self._l2 + self._shared
        known = self._default_ns("pm.front_latency") + self._default_ns("path.response_latency")
        row = self._default_ns("dram.trp") + self._default_ns("dram.trcd")
        # At a random load, the bank has another row open.
        device = row + self._default_ns("dram.tcl") + self._default_ns("dram.tburst")
        self._load_of_open_row = self._memory - row
        write_back = self._write_back()
        nontemporal = self._one("nontemporal_sfence", lambda each: each.number("lines") == 1)
        self._round_trip, self._line_round_trip = write_back.median_ns, nontemporal.median_ns
        parts = {
            "dram.back_latency": (
                self._memory - lookups - known - device,
                f"{self._memory_source}, less waits for pages, the path and the DRAM's own time",
            ),
            "path.flush_latency": (
                write_back.median_ns - lookups - known - 2 * self._cycle,
                f"{write_back.name}: {write_back.median_ns:.1f} ns, less look-ups and path",
            ),
            "path.nontemporal_latency": (
                nontemporal.median_ns - self._shared - known - _WORDS * self._cycle,
                f"{nontemporal.name}: {nontemporal.median_ns:.1f} ns, less the L3 and the path",
            ),
        }
        least, source = min(parts.values())
        request = self._add_ns("path.request_latency", least, f"the fastest access: {source}")
        self._way = lookups + request + known
        for key, (ns, source) in parts.items():
            self._add_ns(key, ns - request, source)
        self._back = (parts["dram.back_latency"][0] - request, parts["dram.back_latency"][1])

    def _write_back(self) -> Measurement:
        """Return the round trip of a write-back by the processor's best flush instruction."""
        for how in ("clwb", "clflushopt", "clflush"):
            found = [
                each
                for each in self._measured.of(f"store_{how}_sfence")
                if each.number("lines") == 1 and each.number("bytes") > LINE_BYTES
            ]
            if found and not found[0].is_usable:
                raise _UnusableError(found[0].why_unusable())
            if found:
                return found[0]
        raise _UnusableError("no instruction that writes a line back was measured")

    def _flush_interval(self) -> None:
        """Fit the rate of write-backs to the largest number of lines before one fence."""
        best = self._write_back()
        many = [
            each
            for each in self._measured.of(best.loop)
            if each.is_usable and each.number("lines") > 1
        ]
        if not many:
            self._one(best.loop, lambda each: each.number("lines") > 1)
        most = max(many, key=lambda each: each.number("lines"))
        lines = most.number("lines")
        interval = (most.median_ns * lines - best.median_ns) / (lines - 1)
        source = f"{most.name}: {most.median_ns:.2f} ns a line"
        # The store and its flush leave the store queue in a cycle each.
        if interval <= 2 * self._cycle:
            raise _UnusableError(f"{source}, no longer than a store and its flush take")
        self._add_ns("core.flush_interval", interval, source)
        in_flight = min(_MOST_LINES, math.ceil(self._round_trip / interval) + 1)
        self._add(
            "core.flush_registers",
            str(in_flight),
            f"flushes in flight at this rate, in a round trip of {self._round_trip:.0f} ns",
        )

    def _write_combining_buffers(self) -> None:
        """Fit the buffers to the lines in flight where the fewest threads write."""
        fewest = self._fewest_threads("write_bandwidth")
        each_ns = fewest.median_ns * fewest.threads
        of_core = min(self._threads, fewest.threads)
        lines = max(1, min(_MOST_LINES, round(of_core * self._line_round_trip / each_ns)))
        self._add(
            "core.write_combining_buffers",
            str(lines),
            f"{fewest.name}: {each_ns:.2f} ns a line and thread, {of_core} on a core, in a round "
            f"trip of {self._line_round_trip:.0f} ns",
        )

    def _fewest_threads(self, loop: str) -> Measurement:
        usable = [each for each in self._measured.of(loop) if each.is_usable]
        return min(usable, key=lambda each: each.threads) if usable else self._one(loop)

    def _channels(self) -> None:
        burst = self._default_ns("dram.tburst")
        best, threads = self._best(["read_bandwidth", "write_bandwidth"])
        channels = max(1, min(_MOST_CHANNELS, math.ceil(burst / best.median_ns)))
        source = (
            f"{best.name}: {best.median_ns:.2f} ns a line{threads}, a channel needs {burst:g} ns"
        )
        self._add("dram.channels_per_controller", str(channels), source)
        for memory in ("dram", "pm"):
            self._add(
                f"{memory}.interleaving",
                "line",
                "not measured: processors' channels alternate every 256 bytes to 4 KiB",
            )
        persistent = self._measured.of("persistent_load")
        if not persistent:
            self._add("pm.channels_per_controller", str(channels), "PM is DRAM here")
            self._add("pm.ranks", "2", "PM is DRAM here")
            self._add_ns("pm.back_latency", *self._back)
            return
        load = self._one("persistent_load")
        writing, threads = self._best(["write_bandwidth"])
        banks = int(self._defaults["pm.banks_per_rank"])
        self._add("pm.device", "fixed", "a file on a DAX mount, whose device is unknown")
        back = self._default_ns("pm.back_latency")
        wait = self._tlb_wait(load.number("bytes"))
        self._add_ns(
            "pm.read_latency",
            load.median_ns - wait - self._way - back - burst,
            f"{load.name}: {load.median_ns:.1f} ns, less the way",
        )
        self._add_ns(
            "pm.write_latency",
            banks * writing.median_ns - burst,
            f"{writing.name}: {writing.median_ns:.2f} ns a line{threads}, by {banks} banks",
        )

    def _best(self, loops: Iterable[str]) -> tuple[Measurement, str]:
        """Return the smallest time per line, and whether more threads might be faster."""
        all_of_them = [each for loop in loops for each in self._measured.of(loop)]
        usable = [each for each in all_of_them if each.is_usable]
        if not usable:
            raise _UnusableError("no bandwidth has a usable time")
        best = min(usable, key=lambda each: each.median_ns)
        fewer = [each for each in usable if each.loop == best.loop and each.threads < best.threads]
        most = max(each.threads for each in all_of_them)
        rising = not fewer or fewer[-1].median_ns > _STILL_RISING * best.median_ns
        return best, " (more threads might be faster)" if best.threads == most and rising else ""

    # ---- Features that some processors lack -----------------------------------------------------

    def _prefetcher(self) -> None:
        """Fit the prefetcher: the lines in flight determine the time of a sequential line."""
        sequential, in_order = self._about("read_bandwidth")
        independent, at_random = self._about("independent_load")
        if sequential > independent / 2:
            raise _UnusableError(
                f"a line takes {in_order} in order, {at_random} at random: no prefetcher shows"
            )
        lines = min(_MOST_LINES, max(1, round(self._load_of_open_row / sequential)))
        source = f"read a line, 1 threads: {in_order}; at random {at_random}"
        self._add("prefetch.streams", "32", "not measured")
        self._add("prefetch.distance", str(lines), source)
        self._add("prefetch.registers", str(lines), source)

    def _eviction(self) -> None:
        more = self._ns("load_after_clwb") - self._ns("store_clwb_mfence")
        evicts = more > self._load_of_open_row / 2
        source = f"store, clwb, mfence, load: {more:.1f} ns more than without the load"
        self._add("core.clwb_evicts", str(evicts).lower(), source)

    def _loads_behind_locks(self) -> None:
        """Fit whether loads execute while a locked instruction stalls on a write-back."""
        times = self._curve("load_behind_locked", "lines")
        few, many = min(times), max(times)
        if few == many:
            raise _UnusableError("only one number of loads behind a lock has a usable time")
        own = (many - few) * self._in_l2
        added = times[many] - times[few]
        source = (
            f"write back, locked addition, {many} loads: {added:.0f} ns more than {few}, "
            f"whose loads take {own:.0f} ns"
        )
        self._add("core.loads_pass_locks", str(added < own / 2).lower(), source)


def _last(numbers: Iterable[int]) -> int | None:
    found = list(numbers)
    return found[-1] if found else None


def _last_of_first(numbers: Iterable[int], holds: Callable[[int], bool]) -> int | None:
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
