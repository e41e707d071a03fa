"""List the micro-benchmarks of `pmemsim calibrate`, and run them natively.

Each is a loop of microbenchmarks.c with options. Its figure is the time of one operation: the
median of all repetitions but the first of each round, which warms up. All other figures are
measured between two rounds of a figure, so that a disturbance of seconds affects only one round.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pmemsim.calibration.processor import Processor
from pmemsim.errors import Error
from pmemsim.programs import KeepGoing, ending_of, run_program

KIB, MIB = 1 << 10, 1 << 20
LINE_BYTES = 64
PAGE_BYTES = 4096

ROUNDS = 3
REPETITIONS = 7  # repetitions of a round
# A repetition takes milliseconds, or seconds where threads contend on a busy machine.
_TIMEOUT_S = 60
# A report marks a figure as uncertain if its spread is larger.
UNSURE_SPREAD = 0.1


@dataclass(frozen=True)
class Benchmark:
    """A figure to measure."""

    name: str
    """Its name in reports: "load, 16 KiB"."""
    loop: str
    """Its name in microbenchmarks.c."""
    operations: int
    """Operations of a repetition."""
    options: tuple[str, ...] = ()
    recorded: int = 0
    """Operations of its recording; 0 if it can't be simulated."""
    needs: tuple[str, ...] = ()
    """Features of the processor, by the names of /proc/cpuinfo."""
    threads: int = 1


@dataclass(frozen=True)
class Measurement:
    """The measured figure of a micro-benchmark, in nanoseconds an operation."""

    benchmark: Benchmark
    median_ns: float
    least_ns: float
    most_ns: float
    spread: float
    """Spread of the repetitions: from the lower to the upper quartile, over the median."""

    @property
    def is_sure(self) -> bool:
        """Return whether the middle half of the repetitions has a small spread."""
        return self.spread <= UNSURE_SPREAD


@dataclass(frozen=True)
class Measurements:
    """All figures by name, and the reasons why others are missing."""

    found: dict[str, Measurement]
    missing: dict[str, str]

    def ns(self, name: str) -> float | None:
        """Return the median of a figure, in nanoseconds; None if it couldn't be measured."""
        return self.found[name].median_ns if name in self.found else None


def size_name(size: int) -> str:
    """Return a size in words, as in `16 KiB` or `4 MiB`."""
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


# Sizes of dependent loads: 16 KiB fit in any L1, 256 MiB in hardly any L3.
LOAD_SIZES = (
    *(
        16 * KIB,
        128 * KIB,
        256 * KIB,
        512 * KIB,
        1 * MIB,
        2 * MIB,
        3 * MIB,
        4 * MIB,
        5 * MIB,
        6 * MIB,
    ),
    *(7 * MIB, 8 * MIB, 10 * MIB, 12 * MIB, 16 * MIB, 24 * MIB, 32 * MIB, 64 * MIB, 256 * MIB),
)
MEMORY_SIZE = LOAD_SIZES[-1]
# Numbers of pages, of which one line each is loaded in sequence. 512 lines fill an L1 of 32 KiB.
PAGE_COUNTS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192)
# Numbers of instructions between two loads: when they fill a queue, the second load is delayed.
BETWEEN = "two loads, {} {} between"
BETWEEN_COUNTS = {
    "instructions": (96, 128, 160, 192, 224, 256, 320, 384, 512),
    "loads": (32, 48, 64, 72, 96, 128, 160, 192, 256),
    "stores": (32, 40, 48, 56, 64, 72, 96, 128),
}
_TWO_LOADS_SIZE = 64 * MIB
LINES_A_FENCE = (2, 4, 8, 16, 32, 64, 128, 256)
# Bytes of the lines that are written back: in the L1, or in the L2 if one fence orders many.
_FEW_LINES, _MANY_LINES = 16 * KIB, 256 * KIB

LOAD = "load, {}"
HUGE_LOAD = f"load, {size_name(MEMORY_SIZE)}, huge pages"
PERSISTENT_LOAD = f"load, {size_name(MEMORY_SIZE)}, persistent"
PAGES = "load of {} pages"
INDEPENDENT = f"independent load, {size_name(MEMORY_SIZE)}"
CLWB = "store, clwb, sfence"
NONTEMPORAL = "non-temporal line, sfence"
LOAD_AFTER = "store, clwb, mfence, load"
# Loads of the L2.
BEHIND_LOCKED = "write back, locked addition, {} loads"
FEW_BEHIND, MANY_BEHIND = 1, 33
CLWB_MFENCE = "store, clwb, mfence"
READ = "read a line, {} threads"
WRITE = "non-temporal line, {} threads"
HAND_OVER = "hand a line over"


def benchmarks(processor: Processor, file: Path | None = None) -> list[Benchmark]:
    """Measure and return all figures.

    Persistent memory is in `file`, or in DRAM if there is none.
    """
    persistent = () if file is None else (f"file={file}",)
    some = [
        Benchmark("addition", "cycle", 1_600_000),
        Benchmark("independent instruction", "instruction", 1_800_000),
        Benchmark("multiplication", "multiply", 300_000, recorded=20_000),
        Benchmark("division", "divide", 300_000, recorded=20_000),
        Benchmark("locked addition", "locked", 300_000, recorded=20_000),
        Benchmark("branch, random", "random_branch", 1 << 18, recorded=1 << 17),
        Benchmark("branch, always taken", "even_branch", 1 << 18, recorded=1 << 17),
    ]
    some += [_load(LOAD.format(size_name(size)), "load", size) for size in LOAD_SIZES]
    some.append(Benchmark(HUGE_LOAD, "load", 200_000, (f"bytes={MEMORY_SIZE}", "huge")))
    if file is not None:
        some.append(_load(PERSISTENT_LOAD, "persistent_load", MEMORY_SIZE, persistent))
    some += [_load(PAGES.format(n), "page_load", n * PAGE_BYTES) for n in PAGE_COUNTS]
    some.append(_load(INDEPENDENT, "independent_load", MEMORY_SIZE))
    some += [_between(kind, count) for kind, counts in BETWEEN_COUNTS.items() for count in counts]
    some += _write_backs(persistent)
    some += [_behind_locked(count, persistent) for count in (FEW_BEHIND, MANY_BEHIND)]
    for threads in _thread_counts(len(processor.cpus)):
        some += _bandwidths(threads, persistent)
    some.append(Benchmark(HAND_OVER, "hand_over", 20_000, ("threads=2",), recorded=4000, threads=2))
    return some


def _load(name: str, loop: str, size: int, more: tuple[str, ...] = ()) -> Benchmark:
    operations = max(20_000, min(size // LINE_BYTES, 1 << 17))
    return Benchmark(name, loop, 100_000, (f"bytes={size}", *more), recorded=operations)


def _write_backs(persistent: tuple[str, ...]) -> list[Benchmark]:
    def one(name: str, loop: str, needs: str, size: int, lines: int = 1) -> Benchmark:
        options = (f"bytes={size}", f"lines={lines}", *persistent)
        wanted = (needs,) if needs else ()
        return Benchmark(name, loop, 20_480, options, recorded=4096, needs=wanted)

    clwb, nontemporal = "store_clwb_sfence", "nontemporal_sfence"
    return [
        one(CLWB, clwb, "clwb", _FEW_LINES),
        one(CLWB_MFENCE, "store_clwb_mfence", "clwb", _FEW_LINES),
        one("store, clflushopt, sfence", "store_clflushopt_sfence", "clflushopt", _FEW_LINES),
        one("store, clflush, sfence", "store_clflush_sfence", "", _FEW_LINES),
        one(NONTEMPORAL, nontemporal, "", _FEW_LINES),
        one("non-temporal line, mfence", "nontemporal_mfence", "", _FEW_LINES),
        one(LOAD_AFTER, "load_after_clwb", "clwb", _FEW_LINES),
        one(f"{CLWB}, always the same line", clwb, "clwb", LINE_BYTES),
        *(one(f"{CLWB}, {n} lines a fence", clwb, "clwb", _MANY_LINES, n) for n in LINES_A_FENCE),
        *(one(f"{NONTEMPORAL}, {n} lines a fence", nontemporal, "", _MANY_LINES, n)
          for n in LINES_A_FENCE[2::3]),
    ]  # fmt: skip


def _between(kind: str, count: int) -> Benchmark:
    options = (f"bytes={_TWO_LOADS_SIZE}", f"lines={count}")
    return Benchmark(BETWEEN.format(count, kind), f"{kind}_between", 5000, options)


def _behind_locked(count: int, persistent: tuple[str, ...]) -> Benchmark:
    options = (f"bytes={128 * KIB}", f"lines={count}", *persistent)
    name = BEHIND_LOCKED.format(count)
    return Benchmark(name, "load_behind_locked", 20_000, options, recorded=4096)


def _thread_counts(cpus: int) -> list[int]:
    """Return the numbers 1, 2, 4, ... and the number of all processors."""
    return sorted({count for count in (1, 2, 4, 8, 16, 32, 64) if count <= cpus} | {min(cpus, 64)})


def _bandwidths(threads: int, persistent: tuple[str, ...]) -> list[Benchmark]:
    # Each thread's part is larger than any cache.
    lines = threads << 19
    options = (f"bytes={lines * LINE_BYTES}", f"threads={threads}")
    recorded = threads << 16
    read, write = READ.format(threads), WRITE.format(threads)
    return [
        Benchmark(read, "read_bandwidth", lines, options, recorded, (), threads),
        Benchmark(write, "write_bandwidth", lines, (*options, *persistent), recorded, (), threads),
    ]


def source() -> Path:
    """Return the source of the micro-benchmarks; measured.h is in the same folder."""
    return Path(str(resources.files("pmemsim"))) / "calibration" / "microbenchmarks.c"


def measure(
    program: Path,
    processor: Processor,
    wanted: list[Benchmark],
    report: Callable[[int, float], None] = lambda index, fraction: None,
    keep_going: KeepGoing | None = None,
) -> Measurements:
    """Run the micro-benchmarks natively, one after the other."""
    times: dict[str, list[float]] = {benchmark.name: [] for benchmark in wanted}
    missing: dict[str, str] = {}
    for round_number in range(ROUNDS):
        for index, benchmark in enumerate(wanted):
            if benchmark.name in missing:
                continue
            reason = _why_not(benchmark, processor)
            try:
                if not reason:
                    times[benchmark.name] += _measure_round(program, benchmark, keep_going)
            except TimeoutError:
                reason = f"took longer than {_TIMEOUT_S} s; the machine may be busy"
            if reason:
                missing[benchmark.name] = reason
            report(index, (round_number + 1) / ROUNDS)
    found = {
        benchmark.name: summarise(benchmark, times[benchmark.name])
        for benchmark in wanted
        if benchmark.name not in missing
    }
    return Measurements(found, missing)


def _why_not(benchmark: Benchmark, processor: Processor) -> str:
    for feature in benchmark.needs:
        if feature not in processor.flags:
            return f"the processor does not support {feature}"
    if benchmark.threads > len(processor.cpus):
        return f"requires {benchmark.threads} processors"
    return ""


def _measure_round(
    program: Path, benchmark: Benchmark, keep_going: KeepGoing | None
) -> list[float]:
    """Return the time of an operation, in ns, in each repetition of a round except the first."""
    command = [str(program), benchmark.loop, str(benchmark.operations), str(REPETITIONS + 1)]
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaints:
        status = run_program(
            [*command, *benchmark.options],
            keep_going,
            timeout_s=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=complaints,
        )
        for file in (printed, complaints):
            file.seek(0)
        if status != 0:
            why = complaints.read().decode(errors="replace").strip() or ending_of(status)
            raise Error(f"{benchmark.name}: could not be measured: {why}")
        totals = json.loads(printed.read())["total_ns"]
    return [total / benchmark.operations for total in totals[1:]]


def summarise(benchmark: Benchmark, times: list[float]) -> Measurement:
    """Summarise the times of an operation in all repetitions, in ns, as one figure."""
    lower, median, upper = statistics.quantiles(times, n=4, method="inclusive")
    return Measurement(benchmark, median, min(times), max(times), (upper - lower) / median)
