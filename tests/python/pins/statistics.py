"""Measures the pinned statistics: short simulations on every design and every machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pins.configurations import (
    BACKENDS,
    DESIGNS,
    configuration,
    recording,
    runs_redo_logs,
)
from pins.files import Files, number
from pmemsim.presets import preset_names
from pmemsim.simulation import Result, Statistic, simulate
from pmemsim.stress import stress_sets
from pmemsim.trace import Trace

MOST_CORES = 8
MODULES = {
    "sim": ("events", "result"),
    "energy": ("energy",),
    "cpu": ("core", "stall"),
    "cache": ("shared",),
    "mem": ("dram", "pm"),
    "ordering": ("dpo", "hops", "pmem_spec"),
    "atomicity": ("asap", "hw_redo", "hw_undo", "lad", "log"),
    "backend": (
        "backend", "compression", "counter_cache", "deduplication", "deferred_entries",
        "encryption", "error_correction", "fingerprint_cache", "integrity", "metadata", "oram",
        "tree_cache", "wear_leveling",
    ),
    "precompute": ("janus", "pmweaver"),
}  # fmt: skip
"""The groups of statistics that each module counts; a statistic's name begins with its group."""
_MODULE_OF = {group: module for module, groups in MODULES.items() for group in groups}
_UNITS_OF_TIMES = ("ns", "nJ", "ratio")
"""Units of statistics that change with any latency. All other statistics are counts."""

# Backends that no preset has alone.
_BACKENDS_ALONE = ("compression", "error-correction", "wear-leveling", "oram")
# Designs that run with the settings of stress.yaml, since their structures differ most.
_STRESSED = ("sw-undo", "hw-undo", "asap", "redu+lalea+blom", "lad", "dpo", "hops", "pmem-spec")


@dataclass(frozen=True)
class Run:
    """A simulation."""

    machine: str
    design: str
    cores: int
    settings: tuple[tuple[str, str], ...] = ()
    settings_name: str = ""

    def __str__(self) -> str:
        """Return the words that the lines of its statistics begin with, before the cores."""
        name = f"{self.design}/{self.settings_name}" if self.settings_name else self.design
        return f"{self.machine} {name}"

    def result(self) -> Result:
        """Simulate as many copies of the recording as all cores need."""
        trace = self._trace()
        copies = {"run.instances": str(self.cores // trace.threads)}
        settings = dict(self.settings) | copies
        return simulate(trace, configuration(self.design, self.machine, settings))

    def _trace(self) -> Trace:
        if runs_redo_logs(self.design, self.machine):
            return recording("redo_log")
        return recording("one_thread" if self.cores == 1 else "four_threads")


def runs() -> list[Run]:
    """Return all runs in the order of their lines."""
    found = dict.fromkeys([*_runs_of_presets(), *_runs_of_backends_alone(), *_stressed_runs()])
    return sorted(found, key=lambda run: (str(run), run.cores))


def _cores_of(machine: str) -> tuple[int, int]:
    """Return 1, and the machine's number of cores or `MOST_CORES`, the smaller of the two."""
    return 1, min(int(configuration("np", machine)["core.count"]), MOST_CORES)


def _runs_of_presets() -> Iterator[Run]:
    pairs = [(machine, design) for machine in DESIGNS for design in DESIGNS[machine]]
    pairs += [(machine, f"sw-undo@{name}") for machine in BACKENDS for name in BACKENDS[machine]]
    pairs += [(name, design) for name in preset_names("machine") for design in ("sw-undo", "asap")]
    for machine, design in pairs:
        for cores in _cores_of(machine):
            yield Run(machine, design, cores)


def _runs_of_backends_alone() -> Iterator[Run]:
    for backend in _BACKENDS_ALONE:
        for cores in _cores_of("janus"):
            yield Run("janus", "sw-undo", cores, (("backend", backend),), backend)


def _stressed_runs() -> Iterator[Run]:
    for machine, designs in DESIGNS.items():
        for stress in stress_sets().values():
            if machine == "lalea" and stress.name == "written":
                continue  # LALEA's designs keep data in the write queue, which must survive.
            for design in set(designs) & set(_STRESSED):
                yield Run(machine, design, 4, stress.values, stress.name)


def measure() -> Files:
    """Return the lines of all runs."""
    return files_of((run, run.result()) for run in runs())


def files_of(results: Iterable[tuple[Run, Result]]) -> Files:
    """Return all statistics that aren't zero, counts apart from times, in a file for each module.

    A line has the values of one statistic with each number of cores. Raises a `KeyError` for a
    statistic of a group that isn't in `MODULES`.
    """
    files: dict[str, dict[tuple[str, str], dict[str, str]]] = defaultdict(dict)
    for run, result in results:
        for statistic in _statistics(result, run.cores):
            values = files[_file_of(statistic)].setdefault((str(run), statistic.name), {})
            values[str(run.cores)] = number(statistic.value)
    return {
        file: [
            f"{run} {','.join(values)} {statistic} {','.join(values.values())}"
            for (run, statistic), values in lines.items()
        ]
        for file, lines in files.items()
    }


def _statistics(result: Result, cores: int) -> Iterator[Statistic]:
    """Yield the statistics of a run, but of its single cores only the last one's."""
    yield Statistic("result.time_ns", result.time_ns, "ns", "")
    shown = ("core", f"core{cores - 1}") if cores > 1 else ("core",)
    for statistic in result.statistics:
        group = statistic.name.partition(".")[0]
        if statistic.value and (not group.startswith("core") or group in shown):
            yield statistic


def _file_of(statistic: Statistic) -> str:
    group = statistic.name.partition(".")[0].rstrip("0123456789")
    kind = "times" if statistic.unit in _UNITS_OF_TIMES else "counts"
    return f"{kind}/{_MODULE_OF[group]}.txt"
