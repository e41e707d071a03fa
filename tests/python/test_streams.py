"""Streams to PM (streams.c): the device's peak, more channels, and writes that a channel holds."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from pmemsim import record, run
from pmemsim.calibration import measuring
from pmemsim.presets import preset_names
from pmemsim.simulation import Configuration, configure
from pmemsim.toolchain import compiler
from pmemsim.trace import Trace
from shared import locked
from support import long_except

LINE_BYTES = 64
PART_BYTES = 1 << 20
WRITES = ("stores", "flushes", "past")
# Shared caches are so small that most lines of `stores` are evicted within the run.
SMALL_CACHES = {
    "l1.size": "8KiB", "l1.ways": 2, "l2.size": "0B", "shared.size": "64KiB",
    "shared.size_per_core": "0B", "shared.ways": 4,
}  # fmt: skip
CACHED_LINES = 64 * 1024 // LINE_BYTES


@pytest.fixture(scope="session")
def program(shared_folder: Path) -> Path:
    """Return the program of streams.c."""
    path = shared_folder / "streams"
    with locked(shared_folder):
        if not path.exists():
            include = f"-I{measuring.source().parent}"  # the folder of measured.h
            source = Path(__file__).with_name("streams.c")
            subprocess.run(
                [compiler("pmemsim-cc"), "-O2", include, "-pthread", source, "-o", path], check=True
            )
    return path


def recording(program: Path, kind: str, threads: int, operations: int) -> Trace:
    path = program.parent / f"{kind}-{threads}-{operations}.pmt"
    with locked(program.parent):
        if not path.exists():
            command = [str(program), kind, str(operations), "1"]
            command += [f"threads={threads}", f"bytes={PART_BYTES}"]
            record(command, path, pm_hints=["0x100000000000"])
    return Trace(path)


def number(value: str) -> float:
    """Return a value in ns, bytes or bytes a second."""
    units = {
        "ps": 1e-3,
        "ns": 1,
        "us": 1e3,
        "B": 1,
        "KiB": 1024,
        "B/s": 1,
        "MB/s": 1e6,
        "GB/s": 1e9,
    }
    found = re.fullmatch(r"([\d.]+)([A-Za-z/]*)", value)
    assert found is not None
    return float(found[1]) * (units[found[2]] if found[2] else 1)


def peak_write_lines_per_ns(machine: Configuration) -> float:
    """Return the peak rate of the slowest part: buses, links, media or banks."""

    def of(name: str) -> float:
        return number(machine[f"pm.{name}"])

    channels = of("controllers") * of("channels_per_controller")
    rates = [channels / of("tburst")]
    if of("link_bandwidth"):
        rates.append(of("controllers") * of("link_bandwidth") / 1e9 / LINE_BYTES)
    if machine["pm.device"] == "buffered":
        lines = of("internal_line") / LINE_BYTES
        rates.append(channels * lines / of("media_write_interval"))
    if machine["pm.device"] == "fixed":
        banks = of("ranks") * of("banks_per_rank")
        rates.append(channels * banks / of("write_latency"))
    return min(rates)


def waiting_lines(machine: Configuration) -> float:
    """Return the number of lines that may have left the cores and not reached the device."""
    channels = number(machine["pm.controllers"]) * number(machine["pm.channels_per_controller"])
    lines = channels * (number(machine["pm.wpq_entries"]) + 1)
    if machine["pm.device"] == "buffered":
        buffered = number(machine["pm.internal_line"]) / LINE_BYTES
        lines += channels * (number(machine["pm.write_buffer_lines"]) + 2) * buffered
    return lines


def threads_of(machine: str) -> int:
    return int(configure("x86-bare", machine)["core.count"])


@cache
def runs() -> list[tuple[str, str, int]]:
    return [
        (machine, kind, threads)
        for machine in preset_names("machine")
        if machine != "_common"
        for kind in WRITES
        for threads in sorted({1, 4, threads_of(machine)})
    ]


@pytest.mark.parametrize(
    ("machine", "kind", "threads"),
    long_except(runs(), *[each for each in runs() if each[2] == 4 and each[0] == "xeon-optane"]),
)
def test_no_stream_of_writes_exceeds_the_device(
    program: Path, machine: str, kind: str, threads: int
) -> None:
    lines = 16_000 // threads * threads
    overrides = SMALL_CACHES if kind == "stores" else {}
    result = run(
        recording(program, kind, threads, lines),
        design="x86-bare", machine=machine, overrides=overrides,
    )  # fmt: skip
    settings = configure("x86-bare", machine, overrides)
    cores = threads * (
        number(settings["core.write_combining_buffers"]) + number(settings["core.mshrs"])
    )
    not_there = waiting_lines(settings) + cores + (CACHED_LINES if kind == "stores" else 0)
    most = peak_write_lines_per_ns(settings) * result.time_ns
    assert lines - not_there <= 1.01 * most, f"{lines / result.time_ns * LINE_BYTES:.1f} GB/s"


# On cxl all channels share the links, which limit the rate.
@pytest.mark.parametrize(
    ("machine", "slower"),
    [("asap", 1.01), ("xeon-6140", 1.01), ("xeon-optane", 1.01), ("cxl", 1.05)],
)
def test_more_channels_are_no_slower(program: Path, machine: str, slower: float) -> None:
    """Four threads read parts in order that begin at a distance of a power of two."""
    trace = recording(program, "loads", 4, 40_000)
    key = "pm.channels_per_controller"
    times = [
        run(
            trace, design="x86-bare", machine=machine,
            overrides={**SMALL_CACHES, "pm.controllers": 1, key: channels},
        ).time_ns
        for channels in (1, 2, 4, 8)
    ]  # fmt: skip
    for few, many in pairwise(times):
        assert many <= slower * few, times


UNHASHED = {"pm.channel_hashing": "false", "pm.bank_hashing": "false"}


@pytest.mark.parametrize(("mapping", "slower"), [({}, False), (UNHASHED, True)])
def test_wider_core_is_no_slower_with_hashing(
    program: Path, mapping: dict[str, str], slower: bool
) -> None:
    trace = recording(program, "loads", 4, 40_000)
    narrow, wide = (
        run(
            trace, design="x86-bare", machine="asap",
            overrides={**SMALL_CACHES, **mapping, "core.width": width},
        ).time_ns
        for width in (5, 8)
    )  # fmt: skip
    assert (wide > 1.05 * narrow) if slower else (wide <= 1.01 * narrow)


def test_more_channels_do_not_help_without_hashing(program: Path) -> None:
    """Threads that read in step meet in one channel, whichever it is."""
    trace = recording(program, "loads", 4, 40_000)
    two, four = (
        run(
            trace, design="x86-bare", machine="asap",
            overrides={**SMALL_CACHES, **UNHASHED, "pm.channels_per_controller": channels},
        ).time_ns
        for channels in (2, 4)
    )  # fmt: skip
    assert four > 0.95 * two


@pytest.mark.parametrize(("policy", "written"), [("drain", 1_024_000), ("hold", 256)])
def test_idle_channel_decides_how_many_overwrites_reach_the_device(
    program: Path, policy: str, written: int
) -> None:
    result = run(
        recording(program, "overwrites", 1, 4000),
        design="x86-bare", machine="xeon-optane",
        overrides={"pm.idle_writes": policy, "pm.write_merging": "true"},
    )  # fmt: skip
    assert result.stats["pm.bytes_written"] == written


def test_overwrites_stall_while_the_module_migrates_their_block(program: Path) -> None:
    def time_ns(writes_before_a_migration: int) -> float:
        return run(
            recording(program, "overwrites", 1, 4000),
            design="x86-bare", machine="xeon-optane",
            overrides={"pm.wear_writes": writes_before_a_migration},
        ).time_ns  # fmt: skip

    # The WPQ hides as much as it takes to fill it.
    assert 0.9 * 50_000 < time_ns(3000) - time_ns(0) <= 50_000
