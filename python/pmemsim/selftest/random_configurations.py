"""Random configurations: layers on a machine, extreme values, and a program, from a seed."""

from __future__ import annotations

import contextlib
import random
import shlex
from dataclasses import dataclass
from functools import cached_property

from pmemsim import _core, plugins
from pmemsim.errors import ConfigError
from pmemsim.presets import BEFORE, Setting, load_preset, preset_names
from pmemsim.selftest.extreme_values import extreme_values
from pmemsim.simulation import Configuration
from pmemsim.workload_runs import WorkloadRun

MOST_VALUES = 8
"""Extreme values of a configuration. Of more values nearly all combinations are refused."""
SEEDS_PER_PROGRAM = 16
"""Consecutive seeds that share a program, since recording it takes longer than a simulation."""
_MOST_THREADS = 4
_MOST_INSTANCES = 4
_TIMED_ONLY = 0.07
_REGIONS = 32
_TRIES = 10_000  # The search for a design would not end for a mechanism that no legal design has.
_MECHANISMS = (
    "x86", "eadr", "dpo", "hops", "pmem-spec", "hw-undo", "hw-redo", "asap", "lad", "none",
)  # fmt: skip
# Designs with a redo log need a program with one, and `random` has none.
_REDO_PROGRAMS = 4
_REDO_ITEMS = 16

_Values = list[tuple[str, str]]


@dataclass(frozen=True)
class RandomCase:
    """A design on a machine with extreme values, and the program that it runs."""

    seed: int
    design: str
    machine: str
    values: tuple[tuple[str, str], ...]
    program: WorkloadRun

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration that the simulator takes."""
        return _configuration(self.design, self.machine, list(self.values))

    def command(self, name: str, *options: str) -> str:
        """Return the command of that name with this case's program and configuration."""
        program = self.program
        words = ["pmemsim", name, program.workload, "--threads", f"{program.threads}"]
        words += ["--regions", f"{program.regions}", "--seed", f"{program.seed}"]
        if program.log == "redo":
            words += ["--log", "redo", "--items", f"{program.items}"]
        words += ["-d", self.design, "-m", self.machine, *options]
        for key, value in self.values:
            words += ["--set", f"{key}={value}"]
        return shlex.join([*words, *plugins.options()])


def random_case(seed: int) -> RandomCase:
    """Return the case of a seed. Raises `ConfigError` if its values don't go together."""
    numbers = random.Random(seed)
    design, machine, layers, legal = _legal_design(numbers)
    extremes = _extreme_values(numbers, legal)
    values = [*layers, *_ways_to_run(numbers), *extremes]
    configuration = _configuration(design, machine, values)
    # Commands refuse settings without effect, and a setting may have none beside others.
    used = tuple((key, value) for key, value in values if not configuration.idle(key))
    log = "redo" if configuration.runs_redo_logs else "undo"
    return RandomCase(seed, design, machine, used, _program(seed, log))


def _configuration(design: str, machine: str, values: _Values) -> Configuration:
    settings = tuple(Setting(key, value, "--set") for key, value in values)
    return Configuration(load_preset("design", design), load_preset("machine", machine), settings)


def _legal_design(numbers: random.Random) -> tuple[str, str, _Values, Configuration]:
    """Return a design that the simulator accepts on a machine: a preset, or a choice of layers.

    A mechanism of the design is chosen first, since some mechanisms are in few designs.
    """
    mechanism = numbers.choice(_MECHANISMS)
    for _ in range(_TRIES):
        machine = numbers.choice(preset_names("machine"))
        design, layers = numbers.choice((_preset_design, _layers))(numbers)
        chosen = {each.key: each.value for each in load_preset("design", design).settings}
        chosen.update(layers)
        if mechanism not in (chosen["ordering"], chosen["atomicity"]):
            continue
        with contextlib.suppress(ConfigError):
            return design, machine, layers, _configuration(design, machine, layers)
    raise RuntimeError(f"{mechanism} is in none of {_TRIES} random designs")


def _preset_design(numbers: random.Random) -> tuple[str, _Values]:
    design = numbers.choice(preset_names("design"))
    if numbers.random() < 0.5:
        design += BEFORE + numbers.choice(preset_names("backend"))
    return design, []


def _layers(numbers: random.Random) -> tuple[str, _Values]:
    layers = []
    for layer in _core.layer_names():
        names = [each.name for each in _core.layers() if each.layer == layer]
        names = numbers.sample(names, numbers.randint(1, 3) if layer == "backend" else 1)
        layers.append((layer, ",".join(name for name in names if name != "none") or "none"))
    return "sw-undo", layers


def _extreme_values(numbers: random.Random, configuration: Configuration) -> _Values:
    """Return extreme values of some of the parameters that have an effect."""
    known = [
        (each.key, extreme_values(each))
        for each in _core.parameters()
        if not (each.key in _core.layer_names() or each.key.startswith("run."))
        and not configuration.idle(each.key)
    ]
    known = [(key, values) for key, values in known if values]
    chosen = numbers.sample(known, numbers.randint(1, MOST_VALUES))
    return [(key, numbers.choice(values)) for key, values in chosen]


def _ways_to_run(numbers: random.Random) -> _Values:
    """For few cases, return settings for copies of the program, or for another order of locks.

    A crash can't be checked with these.
    """
    found = []
    if numbers.random() < _TIMED_ONLY:
        found.append(("run.instances", f"{numbers.randint(2, _MOST_INSTANCES)}"))
    if numbers.random() < _TIMED_ONLY:
        found.append(("run.lock_order", "simulated"))
    return found


def _program(seed: int, log: str) -> WorkloadRun:
    number = 1 + seed // SEEDS_PER_PROGRAM
    if log == "redo":
        number = 1 + number % _REDO_PROGRAMS
    return WorkloadRun.of(
        "vacation" if log == "redo" else "random",
        threads=1 + number % _MOST_THREADS,
        regions=_REGIONS,
        seed=number,
        log=log,
        items=_REDO_ITEMS if log == "redo" else None,
    )
