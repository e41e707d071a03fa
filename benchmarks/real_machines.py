"""Compare presets of existing machines with published measurements.

python benchmarks/real_machines.py [--json FILE] [--plots FOLDER]

Records curves.c (dependent loads, reads, writes past the caches, persisted lines; by threads and by
size of the block), simulates it on the machines that exist, and prints each published point beside
pmemsim's value: within 15%, or not. Ends with status 1 if one isn't. `--plots` draws the curves
with the points. `make machine-pages` commits both, and makes docs/reference/machines of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pmemsim
from native_builds import BUILD, ROOT
from pmemsim.calibration import measuring
from pmemsim.toolchain import compiler

WITHIN = 0.15
MIB = 1 << 20
PERSISTENT = "0x100000000000"
ONE_MODULE: dict[str, int | str] = {"pm.controllers": 1, "pm.channels_per_controller": 1}
BASIC = "arXiv 1903.05714"
SIZES = "AnandTech 2017, Skylake-SP servers"
XIANG = "Xiang et al., EuroSys 2022"
OUTLIERS = "arXiv 1908.03583, figure 3: outliers, once in about 14,000 overwrites (Wang et al.)"
NV_CMM = "SMART Modular, white paper of the NV-CMM-E3S"


@dataclass(frozen=True)
class Curve:
    """Simulated values by one varied quantity, and published values."""

    name: str
    machine: str
    unit: str
    over: str
    loop: str
    xs: tuple[int, ...]
    published: dict[int, tuple[float, str]]
    """Value and source by x."""
    fixed: dict[str, int] = field(default_factory=dict)
    """Options of the loop: threads, lines, bytes, shuffled; `over` names the one that varies."""
    overrides: dict[str, int | str] = field(default_factory=dict)
    without: dict[str, int | str] = field(default_factory=dict)
    """Settings of another run, by whose time the first one's is reduced; the rest is compared."""
    operations: int = 0
    """Operations of the loop; 0: enough of them for its kind."""
    used: bool = False
    """Whether the published values decided parameters of the preset."""
    in_dram: bool = False
    """Whether the memory of the loop is the machine's DRAM instead of PM."""


# Threads' parts begin in different channels.
PART = 4 * MIB + 4096
THREADS = (1, 2, 4, 8, 12, 17, 24)
BLOCKS = (1, 2, 4, 8, 64)
OPTANE = "xeon-optane"
# The values were measured with huge pages, or in the kernel, which maps memory by them. The machine
# cxl-nv-cmm has no TLB.
HUGE_PAGES: dict[str, int | str] = {"tlb.page_size": "2MiB"}
# "Prefetching disabled" (arXiv 1903.05714, 3.1.1). Random blocks are as long as the program wants.
NO_PREFETCH: dict[str, int | str] = {"prefetch.streams": 0}
ONE_MODULE_AT_RANDOM = {**ONE_MODULE, **NO_PREFETCH}
# A load of the module then takes only the time in the caches and on the way to the link.
NO_MODULE: dict[str, int | str] = {
    "pm.device": "fixed", "pm.read_latency": "0ns", "pm.link_latency": "0ns",
    "pm.front_latency": "0ns", "pm.back_latency": "0ns",
}  # fmt: skip
# Lines of a pool in the L2.
POOL = {"bytes": 4096 * 64}
CURVES = (
    Curve(
        "loads, one after the other", OPTANE, "ns", "shuffled", "chase", (0, 1),
        {0: (152.5, f"{BASIC}: half of a random load's"), 1: (305.0, BASIC)},
        {"bytes": 128 * MIB}, NO_PREFETCH, used=True,
    ),
    Curve(
        "loads from DRAM, one after the other", OPTANE, "ns", "shuffled", "chase", (1,),
        {1: (305.0 / 3, f"{BASIC}: Optane's 305 ns are about three times DRAM's")},
        {"bytes": 128 * MIB}, NO_PREFETCH, in_dram=True,
    ),
    Curve(
        "reads in order, six modules", OPTANE, "GB/s", "threads", "read", THREADS,
        {17: (39.4, f"{BASIC}: the most, reached with 17 threads"), 24: (39.4, BASIC)},
        {"lines": 4, "bytes": PART},
    ),
    Curve(
        "reads in order, one module", OPTANE, "GB/s", "threads", "read", THREADS,
        {4: (6.6, BASIC)}, {"lines": 4, "bytes": PART}, ONE_MODULE, used=True,
    ),
    Curve(
        "writes in order, six modules", OPTANE, "GB/s", "threads", "write", THREADS,
        {4: (13.9, f"{BASIC}: four threads saturate")}, {"lines": 4, "bytes": PART},
    ),
    Curve(
        "writes in order, one module", OPTANE, "GB/s", "threads", "write", THREADS,
        {1: (2.3, BASIC)}, {"lines": 4, "bytes": PART}, ONE_MODULE, used=True,
    ),
    Curve(
        "reads at random, one module", OPTANE, "GB/s", "lines", "read", BLOCKS,
        {1: (6.6 / 4, f"{BASIC}: four times less than in order"), 4: (6.6, BASIC)},
        {"threads": 16, "bytes": 8 * MIB, "shuffled": 1}, ONE_MODULE_AT_RANDOM,
    ),
    Curve(
        "writes at random, one module", OPTANE, "GB/s", "lines", "write", BLOCKS,
        {1: (2.3 / 4, f"{BASIC}: four times less than in order"), 4: (2.3, BASIC)},
        {"threads": 4, "bytes": 8 * MIB, "shuffled": 1}, ONE_MODULE_AT_RANDOM,
    ),
    Curve(
        "loads, one after the other", "xeon-6140", "ns", "bytes", "chase",
        (16 << 10, 512 << 10, 8 * MIB, 128 * MIB),
        {
            16 << 10: (4 / 2.3, f"{SIZES}: 4 cycles"),
            512 << 10: (14 / 2.3, f"{SIZES}: 14 cycles"),
            8 * MIB: (55 / 2.3, f"{SIZES}: 54 to 56 cycles"),
            128 * MIB: (89.0, SIZES),
        },
        {"shuffled": 1}, used=True,
    ),
    Curve(
        "reads in order", "xeon-6140", "GB/s", "threads", "read", (1, 2, 4, 8, 18),
        {18: (199 / 2, f"{SIZES}: Intel's STREAM of two sockets")}, {"lines": 4, "bytes": PART},
    ),
    Curve(
        "store, clwb, sfence", OPTANE, "ns", "bytes", "persist", (64, POOL["bytes"]),
        {64: (800.0, f"{XIANG}: read after persist"), POOL["bytes"]: (62.0, BASIC)}, used=True,
    ),
    Curve(
        "line past the caches, sfence", OPTANE, "ns", "bytes", "persist_past", (POOL["bytes"],),
        {POOL["bytes"]: (90.0, BASIC)}, used=True,
    ),
    Curve(
        "stall by wear levelling, in 20,000 overwrites of 256 B", OPTANE, "us", "bytes",
        "overwrite", (64 << 10,), {64 << 10: (50.0, OUTLIERS)},
        without={"pm.wear_writes": 0}, operations=20_000, used=True,
    ),
    Curve(
        "store, clwb, sfence", "xeon-6140", "ns", "bytes", "persist", (POOL["bytes"],),
        {POOL["bytes"]: (57.0, f"{BASIC}: DRAM")}, used=True,
    ),
    Curve(
        "line past the caches, sfence", "xeon-6140", "ns", "bytes", "persist_past",
        (POOL["bytes"],), {POOL["bytes"]: (86.0, f"{BASIC}: DRAM")}, used=True,
    ),
    Curve(
        "reads in order", "cxl-nv-cmm", "GB/s", "threads", "read", (1, 4, 16),
        {16: (32.0, NV_CMM)}, {"lines": 4, "bytes": PART}, used=True,
    ),
    Curve(
        "round trip of the module, loads one after the other", "cxl-nv-cmm", "ns", "shuffled",
        "chase", (1,), {1: (200.0, f"{NV_CMM}: about 200 ns")}, {"bytes": 128 * MIB},
        without=NO_MODULE, used=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A simulated value."""

    curve: str
    machine: str
    unit: str
    over: str
    x: int
    simulated: float
    published: float | None
    source: str
    used: bool
    """Whether the published value decided parameters of the preset."""

    @property
    def is_within(self) -> bool:
        """Return whether the value is within 15% of the published value; true if there is none."""
        return self.published is None or abs(self.simulated / self.published - 1) <= WITHIN


def build(folder: Path) -> Path:
    """Compile curves.c for recording."""
    program = folder / "curves"
    include = f"-I{measuring.source().parent}"  # the folder of measured.h
    source = ROOT / "benchmarks" / "curves.c"
    command: list[str | Path] = [compiler("pmemsim-cc"), "-O2", include, "-pthread", source]
    subprocess.run([*command, "-o", program], check=True)
    return program


def recording(program: Path, curve: Curve, x: int) -> tuple[Path, int]:
    """Record a point's program, unless a curve has; return its trace and the accessed lines."""
    options = {**curve.fixed, curve.over: x}
    if curve.operations:
        operations = curve.operations
    elif curve.loop == "chase":  # the previous repetition warms the caches
        operations = max(20_000, min(options["bytes"] // 64, 1 << 17))
    elif curve.unit == "ns":
        operations = max(1000, options["bytes"] // 64)  # each line of a pool once
    else:
        operations = options.get("threads", 1) * 8192
    texts = [f"{key}={value}" for key, value in options.items() if key != "shuffled"]
    if options.get("shuffled"):
        texts.append("shuffled")
    place = ["dram"] if curve.in_dram else []
    trace = program.parent / f"{'-'.join([curve.loop, *place, *texts])}.pmt"
    if not trace.is_file():
        repetitions = "2" if curve.loop == "chase" else "1"
        command = [str(program), curve.loop, str(operations), repetitions, *texts]
        pmemsim.record(command, trace, pm_hints=[] if curve.in_dram else [PERSISTENT])
    return trace, operations


def time_ns(trace: Path, curve: Curve, settings: dict[str, int | str]) -> float:
    """Return the simulated time of a recording."""
    return pmemsim.run(trace, design="x86-bare", machine=curve.machine, overrides=settings).time_ns


def value_of(curve: Curve, time: float, lines: int) -> float:
    """Return what the curve shows of a time in ns: of a line, of the whole run, or a bandwidth."""
    if curve.unit == "us":
        return time / 1000
    return time / lines if curve.unit == "ns" else lines * 64 / time


def measure(program: Path, curve: Curve) -> list[Point]:
    """Simulate all of a curve's points."""
    points = []
    pages = {} if curve.machine == "cxl-nv-cmm" else HUGE_PAGES
    for x in curve.xs:
        trace, lines = recording(program, curve, x)
        settings = {**pages, **curve.overrides}
        time = time_ns(trace, curve, settings)
        if curve.without:
            time -= time_ns(trace, curve, {**settings, **curve.without})
        value = value_of(curve, time, lines)
        published, source = curve.published.get(x, (None, ""))
        where = (curve.name, curve.machine, curve.unit, curve.over)
        used = curve.used and published is not None
        points.append(Point(*where, x, value, published, source, used))
    return points


def show(point: Point) -> str:
    """Return a line of the table."""
    published = "" if point.published is None else f"{point.published:.3g} ({point.source})"
    verdict = "" if point.is_within else "  MISSED"
    where = f"{point.machine}, {point.curve}, {point.over}={point.x}"
    return f"{where:<62}{point.simulated:>9.3g} {point.unit:<5}{published}{verdict}"


def plot(points: list[Point], folder: Path) -> None:
    """Draw each machine's curves, with the published points, as NAME.svg; a point is no curve."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "pmemsim"  # makes the file reproducible
    for machine in dict.fromkeys(point.machine for point in points):
        own = [point for point in points if point.machine == machine]
        places = {(point.unit, point.over, point.x) for point in own}
        drawn_over = Counter((unit, over) for unit, over, _ in places)
        panels = sorted(panel for panel, count in drawn_over.items() if count > 1)
        if not panels:
            continue
        figure, axes = plt.subplots(
            1, len(panels), figsize=(4 * len(panels), 4), layout="constrained", squeeze=False
        )
        for (unit, over), axis in zip(panels, axes[0], strict=True):
            for name in dict.fromkeys(p.curve for p in own if (p.unit, p.over) == (unit, over)):
                line = [p for p in own if (p.curve, p.unit, p.over) == (name, unit, over)]
                (drawn,) = axis.plot([p.x for p in line], [p.simulated for p in line], label=name)
                known = [(p.x, p.published) for p in line if p.published is not None]
                axis.scatter(*zip(*known, strict=True), color=drawn.get_color(), zorder=3)
            axis.set_xlabel(over)
            axis.set_ylabel(unit)
            if over == "bytes":
                axis.set_xscale("log", base=2)
            axis.set_ylim(bottom=0)
            axis.legend(fontsize="small")
        figure.suptitle(f"{machine}: simulated (lines) and published (dots)")
        figure.savefig(folder / f"{machine}.svg", metadata={"Date": None})
        plt.close(figure)


def main(arguments: list[str]) -> int:
    """Simulate and print; return 1 if a published point is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write all points to this file, too")
    parser.add_argument("--plots", type=Path, help="draw the curves into this folder (svg)")
    given = parser.parse_args(arguments)
    folder = BUILD / "curves"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.pmt"):  # recordings of another version
        old.unlink()
    program = build(folder)
    points = []
    for curve in CURVES:
        for point in measure(program, curve):
            points.append(point)
            print(show(point), flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(point) for point in points], indent=2) + "\n")
    if given.plots:
        plot(points, given.plots)
    missed = [point for point in points if not point.is_within]
    print(f"{len(missed)} of {sum(p.published is not None for p in points)} points are missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
