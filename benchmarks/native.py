"""Compare programs on this processor with their simulation on a machine fitted to it.

python benchmarks/native.py --machine mine.yaml

The programs are twenty small ones (benchmarks/programs) and the workloads. A small one measures
itself natively, one repetition after the other, and is recorded, whose last repetition is
simulated; an operation is what its first lines say. A workload runs natively with its software
undo log, again and again, and is recorded, with one thread; an operation is a region of its region
of interest. An operation's simulated time is to be within 25% of the native one, the median of the
repetitions, for each program, and the mean of the absolute logarithms of the ratios within 10%.
Prints a table; ends with status 1 if a bound is missed. The programs were written before any
machine was fitted to measurements, and none may be.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import pmemsim
from native_builds import BUILD, ROOT, build_native, need
from pmemsim.calibration import measuring
from pmemsim.recording import record_workload
from pmemsim.simulation import configure
from pmemsim.workload_runs import WorkloadRun, workloads

PROGRAMS = ROOT / "benchmarks" / "programs"
PROGRAM_NAMES = tuple(sorted(path.stem for path in PROGRAMS.glob("*.c")))
NAMES = (*PROGRAM_NAMES, *workloads())
# Address at which measured.h maps persistent memory.
PERSISTENT = "0x100000000000"
EACH = 0.25
MEAN = 0.10


@dataclass(frozen=True)
class Row:
    """The native and simulated times of a program's operation, in nanoseconds."""

    program: str
    native_ns: float
    """Median of the repetitions; the first, which warms up, doesn't count."""
    least_ns: float
    most_ns: float
    simulated_ns: float

    @property
    def ratio(self) -> float:
        """Return the simulated time over the native time."""
        return self.simulated_ns / self.native_ns


def installed(command: str) -> str:
    """Return the path of one of the package's commands."""
    return str(Path(sys.executable).parent / command)


def build(program: str, compiler: str, target: Path, *options: str) -> Path:
    """Compile one of the programs; returns the executable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    source = PROGRAMS / f"{program}.c"
    include = f"-I{measuring.source().parent}"  # the folder of measured.h
    command: list[str | Path] = [compiler, "-O2", include, *options]
    command += ["-pthread", source, "-o", target]
    subprocess.run(command, check=True)
    return target


def native_times(executable: Path, operations: int, repetitions: int) -> list[float]:
    """Return the nanoseconds of an operation in each repetition except the first."""
    command: list[str | Path] = [executable, str(operations), str(repetitions + 1)]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [total / printed["operations"] for total in printed["total_ns"][1:]]


def simulated_time(program: str, executable: Path, operations: int, machine: str) -> float:
    """Return the simulated nanoseconds of an operation in the recording's measured part."""
    trace = BUILD / "native" / f"{program}.pmt"
    command: list[str | Path] = [installed("pmemsim"), "record", "--pm-hint", PERSISTENT]
    command += ["-o", trace, "--", executable, str(operations), "2"]
    recorded = subprocess.run(command, capture_output=True)
    if recorded.returncode != 0:
        sys.exit(recorded.stderr.decode())
    return pmemsim.run(trace, design="x86-bare", machine=machine).time_ns / operations


def measure_workload(name: str, operations: int, repetitions: int, machine: str) -> Row:
    """Run a workload natively and simulate its recording."""
    run = WorkloadRun.of(name, threads=1, regions=operations)
    clock = ROOT / "benchmarks" / "roi_clock.c"
    native = build_native(name, "O2", clock, ("-Wl,--wrap=mmap",))
    times = []
    for _ in range(repetitions):
        finished = subprocess.run([native, *run.arguments], check=True, capture_output=True)
        times.append(json.loads(finished.stderr)["roi_ns"] / operations)
    simulated = pmemsim.run(record_workload(run).path, design="sw-undo", machine=machine).time_ns
    return Row(name, median(times), min(times), max(times), simulated / operations)


def measure(program: str, operations: int, repetitions: int, machine: str) -> Row:
    """Run a program natively and simulate its recording."""
    if program not in PROGRAM_NAMES:
        return measure_workload(program, operations, repetitions, machine)
    folder = BUILD / "native"
    native = build(program, need("clang-19", "clang-19"), folder / program, "-DPMEMSIM_NATIVE")
    times = native_times(native, operations, repetitions)
    recorded = build(program, installed("pmemsim-cc"), folder / f"{program}-recorded")
    simulated = simulated_time(program, recorded, operations, machine)
    return Row(program, median(times), min(times), max(times), simulated)


def mean_log_ratio(rows: list[Row]) -> float:
    """Return the mean of the absolute logarithms of simulated over native times."""
    return sum(abs(math.log(row.ratio)) for row in rows) / len(rows)


def missed(rows: list[Row]) -> list[str]:
    """Return a sentence for each bound that is exceeded."""
    found = [
        f"{row.program}: {row.ratio:.2f} of the native time, not within {EACH:.0%}"
        for row in rows
        if abs(math.log(row.ratio)) > math.log(1 + EACH)
    ]
    mean = mean_log_ratio(rows)
    if mean > math.log(1 + MEAN):
        found.append(f"mean: off by {math.exp(mean) - 1:.0%}, more than {MEAN:.0%}")
    return found


def main(arguments: list[str]) -> int:
    """Measure and print; return 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machine", required=True, help="a machine's name, or a YAML file's path")
    parser.add_argument("--operations", type=int, default=10000, help="in a repetition")
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--json", type=Path, help="write all results to this file, too")
    parser.add_argument("programs", nargs="*", default=NAMES, help="default: all")
    given = parser.parse_args(arguments)
    if given.operations < 1 or given.repetitions < 1:
        parser.error("--operations and --repetitions must be at least 1")
    for program in given.programs:
        if program not in NAMES:
            parser.error(f"there is no program {program}; there are {', '.join(NAMES)}")
    try:
        configure("x86-bare", given.machine)
    except pmemsim.Error as error:
        parser.error(str(error))
    rows = []
    print(f"{'program':<18}{'native ns':>12}{'least':>10}{'most':>10}{'simulated ns':>14}  ratio")
    for program in given.programs:
        row = measure(program, given.operations, given.repetitions, given.machine)
        rows.append(row)
        print(
            f"{program:<18}{row.native_ns:>12.1f}{row.least_ns:>10.1f}{row.most_ns:>10.1f}"
            f"{row.simulated_ns:>14.1f}  {row.ratio:.2f}",
            flush=True,
        )
    problems = missed(rows)
    print(f"mean of the absolute logarithms of the ratios: {mean_log_ratio(rows):.3f}")
    print("\n".join(problems) or "all bounds are kept")
    if given.json:
        given.json.write_text(json.dumps({"rows": [asdict(row) for row in rows]}, indent=2))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
