"""Run a recording on a design and a machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pmemsim import _core
from pmemsim.errors import ConfigError, Error, Problems, did_you_mean
from pmemsim.files import replacing
from pmemsim.installation import version
from pmemsim.plugins import load_added
from pmemsim.presets import Preset, Setting, read_preset
from pmemsim.trace import Trace

# pandas takes longer to import than many commands take to run, so it is imported on demand.
if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[float], None]
LockOrder = Literal["recorded", "simulated"]
Statistic = _core.Statistic
check_values = _core.check_values


class Configuration(_core.Configuration):
    """A design on a machine, with the user's settings: the values of all parameters.

    `configuration["core.rob_entries"]` is the value of one, as text with its unit. The
    configuration is resolved once, when it is made, which raises a `ConfigError` with all its
    errors.
    """

    def __init__(self, design: Preset, machine: Preset, overrides: Sequence[Setting] = ()) -> None:
        self.design = design
        self.machine = machine
        self.overrides = tuple(overrides)
        load_added()
        super().__init__(self.settings)

    def __reduce__(self) -> tuple[type[Configuration], tuple[Preset, Preset, Sequence[Setting]]]:
        """Pickle the configuration by its settings; another process resolves it again."""
        return Configuration, (self.design, self.machine, self.overrides)

    def __repr__(self) -> str:
        beside = "".join(f", {setting.key}={setting.value}" for setting in self.overrides)
        return f"<{self.design.name} on {self.machine.name}{beside}>"

    def __getitem__(self, key: str) -> str:
        """Return the value of a parameter. Raises an `Error` if there is none of this name."""
        if key not in self.values:
            raise Error(f"unknown parameter '{key}'{did_you_mean(key, self.values)}")
        return self.values[key]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return everything that differs from the defaults; later settings win."""
        return (*self.machine.settings, *self.design.settings, *self.overrides)

    @property
    def by_hand(self) -> tuple[Setting, ...]:
        """Return the user's own settings, from the user's presets and from overrides."""
        return tuple(setting for setting in self.settings if not setting.ships)

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Return the values of all parameters by their keys."""
        return {parameter.key: parameter.value for parameter in self.parameters}

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Return each parameter's value and the place that set it, by its key."""
        return {each.key: {"value": each.value, "place": each.place} for each in self.parameters}

    def describe(self) -> pd.DataFrame:
        """Return all parameters by key, with their values, the values' sources and meaning."""
        import pandas as pd

        columns = ["key", "value", "place", "description"]
        rows = [[getattr(parameter, name) for name in columns] for parameter in self.parameters]
        return pd.DataFrame(rows, columns=columns).set_index("key")


def configure(
    design: str | Path,
    machine: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    extra: tuple[Setting, ...] = (),
) -> Configuration:
    """Load and check a design and a machine (names of presets, or paths of YAML files).

    `overrides` maps parameters to values with units, as in `{"pm.latency_factor": 4}`.
    Raises `ConfigError` with everything that is wrong.
    """
    if overrides is not None and not isinstance(overrides, Mapping):
        raise Error('overrides: must be a dict, as in {"core.rob_entries": 128}')
    problems = Problems()
    machine_preset = read_preset("machine", machine, problems.found)
    design_preset = read_preset("design", design, problems.found)
    given = tuple(
        Setting(str(key), _text(value), "overrides") for key, value in (overrides or {}).items()
    )
    own = (*given, *extra)
    if machine_preset is None or design_preset is None:
        with problems.collected():
            presets = (preset for preset in (machine_preset, design_preset) if preset)
            settings = [setting for preset in presets for setting in preset.settings]
            check_values((*settings, *own))
        raise ConfigError(problems.found)
    with problems.collected():
        configuration = Configuration(design_preset, machine_preset, own)
    problems.raise_any()
    return configuration


def settings_without_effect(configurations: Sequence[Configuration]) -> list[str]:
    """Return a message for each setting by hand that has no effect in any configuration.

    Settings in pmemsim's own presets are allowed, since other designs may use them.
    """
    problems: dict[tuple[str, str], str] = {}
    used: set[tuple[str, str]] = set()
    for configuration in configurations:
        for setting in configuration.by_hand:
            what = (setting.place, setting.key)
            if why := configuration.idle(setting.key):
                problem = f"{setting.place}: {setting.key}={setting.value} {why}"
                problems.setdefault(what, problem)
            else:
                used.add(what)
    return [problem for what, problem in problems.items() if what not in used]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class Result:
    """The measurements of a run. Simulated time is in nanoseconds, wall-clock time in seconds."""

    workload: str
    design: str
    machine: str
    threads: int
    seed: int
    instructions: int
    """Simulated instructions, all cores together."""
    time_ns: float
    """Simulated time until the last core has finished."""
    regions: int
    """Atomic regions that were completed (0 for a program without regions)."""
    pm_write_bytes: int
    """Bytes written to the persistent-memory device."""
    wall_s: float
    """Seconds that the simulation took on this host."""
    statistics: tuple[Statistic, ...] = field(repr=False)
    configuration: Configuration = field(repr=False)
    trace_hash: str
    version: str
    schedule: int = 0
    """The recording's interleaving of threads; 0: the recorder's own."""

    @property
    def regions_per_s(self) -> float:
        """Return the atomic regions a second of simulated time."""
        return self.regions / self.time_ns * 1e9 if self.time_ns else 0.0

    @property
    def instructions_per_wall_s(self) -> float:
        """Return the simulated instructions a second of host time."""
        return self.instructions / self.wall_s if self.wall_s else 0.0

    @cached_property
    def stats(self) -> pd.Series[float]:
        """Return the statistics by name."""
        import pandas as pd

        return pd.Series({s.name: s.value for s in self.statistics}, name="value", dtype=float)

    def describe(self) -> pd.DataFrame:
        """Return the statistics by name, with their units and meaning."""
        import pandas as pd

        frame = pd.DataFrame(
            [(s.name, s.value, s.unit, s.description) for s in self.statistics],
            columns=["name", "value", "unit", "description"],
        )
        return frame.set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return the result for `--json` (keys: docs/reference/results.md)."""
        return {
            "workload": self.workload,
            "design": self.design,
            "machine": self.machine,
            "threads": self.threads,
            "seed": self.seed,
            "schedule": self.schedule,
            "instructions": self.instructions,
            "time_ns": self.time_ns,
            "regions": self.regions,
            "regions_per_s": self.regions_per_s,
            "pm_write_bytes": self.pm_write_bytes,
            "wall_s": self.wall_s,
            "instructions_per_wall_s": self.instructions_per_wall_s,
            "stats": {s.name: _number(s.value) for s in self.statistics},
            "configuration": self.configuration.to_dict(),
            "trace_hash": self.trace_hash,
            "version": self.version,
        }


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


class StartingContents:
    """Initial contents of a recording's persistent memory, for a known number of simulations.

    They are loaded when the first simulation needs them, and released after the last one.
    """

    def __init__(self, trace: Trace, simulations: int) -> None:
        self._trace = trace
        self._left = simulations
        self._lock = threading.Lock()
        self._contents: _core.Contents | None = None

    def take(self) -> _core.Contents:
        """Return the contents for one of the simulations."""
        with self._lock:
            contents = self._contents or _core.load_contents(self._trace.file)
            self._left -= 1
            self._contents = contents if self._left > 0 else None
            return contents


def simulate(
    trace: Trace,
    configuration: Configuration,
    progress: Progress | None = None,
    image: Path | None = None,
    contents: StartingContents | None = None,
) -> Result:
    """Run a recording. `progress` is called with the fraction that is done (0 to 1).

    `image` gets the data that survive when power is lost after the run: the file that the program
    would find when it maps its PM again. If a program has several such files, the second is `image`
    with `.1` appended to its name, and so on. `contents` are the recording's, shared with other
    simulations of it. The same trace and configuration give the same result, except for wall-clock
    time. Raises `Error` if the design cannot run this recording.
    """
    with contextlib.ExitStack() as files:
        images = [str(files.enter_context(replacing(path))) for path in _image_paths(trace, image)]
        start = contents.take() if contents else None
        run = _core.simulate(trace.file, configuration, progress, images, start)
    return result_of(trace, configuration, run)


def result_of(trace: Trace, configuration: Configuration, run: _core.RunResult) -> Result:
    """Return the measurements of a run of the recording."""
    return Result(
        workload=trace.name,
        design=configuration.design.name,
        machine=configuration.machine.name,
        threads=run.threads,
        seed=trace.seed,
        instructions=run.instructions,
        time_ns=run.time_ps / 1000,
        regions=run.regions,
        pm_write_bytes=run.pm_write_bytes,
        wall_s=run.wall_s,
        statistics=tuple(run.statistics),
        configuration=configuration,
        trace_hash=trace.hash,
        version=version(),
        schedule=trace.schedule,
    )


def _image_paths(trace: Trace, image: Path | None) -> list[Path]:
    if image is None:
        return []
    regions = trace.metadata["pm_regions"]
    if not regions:
        raise Error(
            f"{trace.path}: the program has no persistent memory, so there is no image to write"
        )
    others = [image.with_name(f"{image.name}.{number}") for number in range(1, len(regions))]
    return [image, *others]
