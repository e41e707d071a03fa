"""Measure the simulator's own speed: instructions a second, host instructions, memory.

Each measurement is a process of its own (`python -m pmemsim.bench`), so that its peak memory is its
own. It simulates several times, and the fastest run counts, because other load on the host can only
increase the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from pmemsim.errors import Error
from pmemsim.executor import environment_of_simulations
from pmemsim.host_counters import callgrind_instructions, count_instructions, peak_memory_bytes
from pmemsim.presets import Setting, parse_overrides
from pmemsim.simulation import configure, simulate
from pmemsim.trace import Trace

CORES = (1, 2, 4, 8)
WORKLOADS = ("array_swap", "queue", "hashmap", "rbtree", "btree")
SHORT_REGIONS = 400
BASELINE = "sw-undo"
# Speed over the number of simulated cores is measured with these designs. Every other design is
# measured at one size, to limit the whole measurement to minutes.
SCALED = ("np", BASELINE)
CORES_OF_ALL = 4
SIMULATIONS = 3
"""Number of simulations of a measurement."""


@dataclass(frozen=True)
class Measurement:
    """The simulator's own speed on one recording, on one host core."""

    workload: str
    design: str
    machine: str
    cores: int
    """Simulated cores."""
    instructions: int
    """Simulated instructions."""
    wall_s: float
    """Wall-clock time of the fastest simulation."""
    minstructions_per_s: float
    """Million simulated instructions a second of one host core."""
    host_instructions_per_instruction: float | None
    """Host instructions per simulated instruction, by the processor's counter or by callgrind.

    None if both are unavailable.
    """
    host_instructions_per_operation: float | None
    """The same per simulated operation."""
    host_instructions_reason: str
    """Reason why host instructions were not counted; empty if they were."""
    peak_memory_bytes: int
    """Largest resident set of the whole process, including the interpreter."""
    configuration: dict[str, dict[str, str]]
    """The resolved configuration: value, unit and source location of every parameter."""
    trace_hash: str
    version: str


@dataclass(frozen=True)
class Bench:
    """All measurements."""

    runs: tuple[Measurement, ...]

    @property
    def sizes(self) -> list[tuple[str, int]]:
        """The designs with their numbers of cores, in the order of measurement."""
        designs = list(dict.fromkeys(run.design for run in self.runs))
        sizes = dict.fromkeys((run.design, run.cores) for run in self.runs)
        return sorted(sizes, key=lambda size: designs.index(size[0]))

    def geomean(self, design: str, cores: int) -> float:
        """Return the geometric mean of the workloads' million simulated instructions a second."""
        speeds = [
            run.minstructions_per_s
            for run in self.runs
            if (run.design, run.cores) == (design, cores)
        ]
        return geometric_mean(speeds)

    def over_baseline(self, design: str, cores: int) -> float | None:
        """Return the speed over that of sw-undo; None if sw-undo was not measured at this size."""
        if (BASELINE, cores) not in self.sizes:
            return None
        return self.geomean(design, cores) / self.geomean(BASELINE, cores)

    def to_dict(self) -> dict[str, Any]:
        """Return the measurements for `--json` (keys: docs/reference/results.md)."""
        return {
            "runs": [asdict(run) for run in self.runs],
            "geomean": [
                {
                    "design": design,
                    "cores": cores,
                    "minstructions_per_s": self.geomean(design, cores),
                    "over_sw_undo": self.over_baseline(design, cores),
                }
                for design, cores in self.sizes
            ],
        }


@dataclass(frozen=True)
class Recording:
    """A workload to be measured, and its number of simulated cores."""

    workload: str
    cores: int
    trace: Path
    short_trace: Path
    """The same recording with few regions, for counting host instructions by callgrind."""
    all_designs: bool
    """Whether every design is measured on this workload, not only `SCALED`."""


def bench(
    pairs: Sequence[tuple[Recording, str]],
    machine: str,
    counted: Collection[str],
    progress: Callable[[int], None] | None = None,
    extra: tuple[Setting, ...] = (),
) -> Bench:
    """Measure each recording on its design, one after the other; `extra` has additional settings.

    If the processor has no instruction counter, callgrind counts the host instructions of the
    designs in `counted`, which takes longer than everything else. `progress` is called with the
    number of measurements done.
    """
    runs = []
    for recording, design in pairs:
        runs.append(_measure_apart(recording, design, machine, extra, design in counted))
        if progress:
            progress(len(runs))
    return Bench(tuple(runs))


def why_not(
    design: str, machine: str, recordings: Sequence[Recording], extra: tuple[Setting, ...] = ()
) -> str | None:
    """Say why a design can't run these recordings on this machine; None if it can."""
    try:
        configuration = configure(design, machine, extra=extra)
        for recording in recordings:
            simulate(Trace(recording.short_trace), configuration)
    except Error as error:
        return str(error)
    return None


def pairs_of_all(
    recordings: Sequence[Recording], designs: Sequence[str]
) -> list[tuple[Recording, str]]:
    """Return the recordings and designs to measure: `SCALED` at every size, others at one."""
    return [
        (recording, design)
        for recording in recordings
        for design in designs
        if design in SCALED or recording.all_designs
    ]


def _measure_apart(
    recording: Recording, design: str, machine: str, extra: tuple[Setting, ...], counted: bool
) -> Measurement:
    assignments = [f"{setting.key}={setting.value}" for setting in extra]
    command = [
        sys.executable, "-m", "pmemsim.bench", str(recording.trace), design, machine, *assignments,
    ]  # fmt: skip
    child = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment_of_simulations()
    )
    if child.returncode != 0:
        raise Error(f"bench of {recording.workload} on {design} failed: {child.stderr.strip()}")
    measured = Measurement(
        recording.workload, design, machine, recording.cores, **json.loads(child.stdout)
    )
    if measured.host_instructions_per_instruction is not None or not counted:
        return measured
    configuration = configure(design, machine, extra=extra)
    settings = [vars(setting) for setting in configuration.settings]
    counted_there = callgrind_instructions(recording.short_trace, settings)
    reason = counted_there.reason
    return replace(
        measured,
        host_instructions_per_instruction=counted_there.per_instruction,
        host_instructions_per_operation=counted_there.per_operation,
        host_instructions_reason=f"{measured.host_instructions_reason}; {reason}" if reason else "",
    )


def _measure(trace: str, design: str, machine: str, *assignments: str) -> dict[str, Any]:
    configuration = configure(design, machine, extra=tuple(parse_overrides(assignments, [])))
    opened = Trace(trace)
    with count_instructions() as counter:
        result = simulate(opened, configuration)
    peak = peak_memory_bytes()
    again = [simulate(opened, configuration) for _ in range(SIMULATIONS - 1)]
    fastest = min([result, *again], key=lambda simulated: simulated.wall_s)
    operations = next(one.value for one in result.statistics if one.name == "core.operations")

    def per(simulated: float) -> float | None:
        if counter.instructions is None or simulated == 0:
            return None
        return counter.instructions / simulated

    return {
        "instructions": result.instructions,
        "wall_s": fastest.wall_s,
        "minstructions_per_s": fastest.instructions_per_wall_s / 1e6,
        "host_instructions_per_instruction": per(result.instructions),
        "host_instructions_per_operation": per(operations),
        "host_instructions_reason": counter.reason,
        "peak_memory_bytes": peak,
        **{key: result.to_dict()[key] for key in ("configuration", "trace_hash", "version")},
    }


if __name__ == "__main__":
    try:
        print(json.dumps(_measure(*sys.argv[1:])))
    except Error as error:
        sys.exit(str(error))
