"""Run a recording on a design and a machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pmemsim import _core
from pmemsim.errors import ConfigError, Error, Problems, did_you_mean
from pmemsim.files import replacing
from pmemsim.installation import version
from pmemsim.plugins import load_added
from pmemsim.presets import Preset, Setting, read_preset
from pmemsim.results import Plot, Results, page_of
from pmemsim.trace import Trace

# pandas takes longer to import than many commands take to run, so it is imported on demand.
if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Progress = Callable[[float], None]
Histogram = tuple[tuple[float, int], ...]
_CELL_WRITES = 1e8
_GIB = 2**30
_NS_PER_YEAR = 365.25 * 86_400 * 1e9
LockOrder = Literal["recorded", "simulated"]
Statistic = _core.Statistic
check_values = _core.check_values


class Configuration(_core.Configuration):
    """A design on a machine, with the user's settings: the values of all parameters.

    `configuration["core.rob_entries"]` is the value of one, as text with its unit. `configure`
    makes it, and resolves it once.

    Raises:
        Error: There is no parameter of a name.

    Example:
        `pmemsim.configure("sw-undo", "asap").to_frame().loc["core.count", "value"]`
    """

    design: Preset
    """The design, with its `name` and `summary`."""
    machine: Preset
    """The machine, with its `name` and `summary`."""
    overrides: tuple[Setting, ...]
    """The user's settings beside the presets."""

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

    def _repr_html_(self) -> str:
        return page_of(repr(self), self.to_frame())

    def to_frame(self) -> pd.DataFrame:
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
    """Load and check a design and a machine.

    Args:
        design: A design's name, `DESIGN@BACKEND`, or the path of a design's YAML file.
        machine: A machine's name, or the path of its YAML file.
        overrides: Values of parameters with their units, by name, as in
            `{"core.rob_entries": 128, "dram.trcd": "14ns"}`.
        extra: Further settings, with the places that errors name.

    Returns:
        The values of all parameters.

    Raises:
        ConfigError: Something is wrong; the exception lists all errors.

    Example:
        `pmemsim.configure("sw-undo", "asap")["core.rob_entries"]`
    """
    given = settings_of(overrides)
    problems = Problems()
    machine_preset = read_preset("machine", machine, problems.found)
    design_preset = read_preset("design", design, problems.found)
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


def settings_of(overrides: Mapping[str, object] | None) -> tuple[Setting, ...]:
    """Return a Python program's values of parameters; raises an `Error` if they are no dict."""
    if overrides is not None and not isinstance(overrides, Mapping):
        raise Error('overrides: must be a dict, as in {"core.rob_entries": 128}')
    return tuple(
        Setting(str(key), _text(value), "overrides") for key, value in (overrides or {}).items()
    )


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
class Result(Results, Plot["Axes"]):
    """The measurements of a run. Simulated time is in nanoseconds, wall-clock time in seconds.

    Example:
        `pmemsim.run("queue", design="asap", machine="asap").stats["pm.writes"]`
    """

    workload: str
    """The recording's name."""
    design: str
    """The design's name."""
    machine: str
    """The machine's name."""
    threads: int
    """Simulated threads."""
    seed: int
    """The recording's seed."""
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
    """The statistics, each with `name`, `value`, `unit` and `description`."""
    configuration: Configuration = field(repr=False)
    """The values of all parameters."""
    trace_hash: str
    """The recording's hash, 16 hexadecimal digits."""
    version: str
    """pmemsim's version."""
    schedule: int = 0
    """The recording's interleaving of threads; 0: the recorder's own."""
    core_stalls: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    """How each core spent its time: the statistics `stall.*` of each core."""
    region_latencies: Histogram = field(default=(), repr=False)
    """Regions by their time from begin to end: the shortest time of an interval, and a number."""
    commit_latencies: Histogram = field(default=(), repr=False)
    """Regions by their time from the end until they were durable."""
    command: ClassVar = "run"

    @property
    def title(self) -> str:
        """Name the recording, the design and the machine, with the simulated time."""
        return (
            f"{self.workload}: design {self.design}, machine {self.machine}, "
            f"{self.time_ns / 1e6:.3g} ms simulated"
        )

    @property
    def regions_per_s(self) -> float:
        """Return the atomic regions a second of simulated time."""
        return self.regions / self.time_ns * 1e9 if self.time_ns else 0.0

    @property
    def pm_years_per_gib(self) -> float | None:
        """Return how long 1 GiB of PM lasts with this run's rate of writes, in years.

        The writes wear all of its cells evenly, and a cell of PCM endures 1e8 of them (Lee et al.:
        Architecting Phase Change Memory as a Scalable DRAM Alternative, ISCA 2009). Twice the
        memory lasts twice as long. None: nothing was written.
        """
        written = self._statistic("pm.media_bytes_written") or self.pm_write_bytes
        if not written:
            return None
        return _CELL_WRITES * _GIB / written * self.time_ns / _NS_PER_YEAR

    @property
    def pm_years_of_worst_line(self) -> float | None:
        """Return when the cells of the most written line are worn, in years of this run.

        No wear levelling moves the line, apart from that of the design's backend. A cell of PCM
        endures 1e8 writes (`pm_years_per_gib`). None: nothing was written, or all of it is in the
        buffers of a buffered device.
        """
        writes = self._statistic("pm.most_line_writes")
        return _CELL_WRITES / writes * self.time_ns / _NS_PER_YEAR if writes else None

    def _statistic(self, name: str) -> float:
        """Return the value of a statistic; 0 if there is none of this name."""
        return next((each.value for each in self.statistics if each.name == name), 0.0)

    @property
    def instructions_per_wall_s(self) -> float:
        """Return the simulated instructions a second of host time."""
        return self.instructions / self.wall_s if self.wall_s else 0.0

    @cached_property
    def stats(self) -> pd.Series[float]:
        """Return the statistics by name."""
        import pandas as pd

        return pd.Series({s.name: s.value for s in self.statistics}, name="value", dtype=float)

    def to_frame(self) -> pd.DataFrame:
        """Return the statistics by name, with their units and meaning."""
        import pandas as pd

        frame = pd.DataFrame(
            [(s.name, s.value, s.unit, s.description) for s in self.statistics],
            columns=["name", "value", "unit", "description"],
        )
        return frame.set_index("name")

    @property
    def _latencies(self) -> dict[str, Histogram]:
        found = {"begin to end": self.region_latencies, "end to durable": self.commit_latencies}
        return {label: histogram for label, histogram in found.items() if histogram}

    @property
    def _size(self) -> tuple[float, float]:
        return 6.5, 5.0 if self._latencies else 2.2

    def _draw(self, figure: Figure) -> Axes:
        """Draw the shares of the cores' time as one bar, and the latencies of regions below it."""
        from pmemsim.plots import bar_of_shares, histograms, legend_below

        axes: Axes
        if self._latencies:
            axes, bottom = figure.subplots(2, 1, height_ratios=(1, 2))
            histograms(bottom, self._latencies)
        else:
            axes = figure.subplots()
        bar_of_shares(axes, breakdown(self))
        axes.set_xlabel("share of the cores' time (%)")
        axes.set_title(self.title, fontsize=9)
        legend_below(figure, axes)
        return axes

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
            "pm_years_per_gib": self.pm_years_per_gib,
            "pm_years_of_worst_line": self.pm_years_of_worst_line,
            "wall_s": self.wall_s,
            "instructions_per_wall_s": self.instructions_per_wall_s,
            "stats": {s.name: _number(s.value) for s in self.statistics},
            "core_stalls": [
                {name: _number(value) for name, value in stalls.items()}
                for stalls in self.core_stalls
            ],
            "region_latencies": _intervals(self.region_latencies),
            "commit_latencies": _intervals(self.commit_latencies),
            "configuration": self.configuration.to_dict(),
            "trace_hash": self.trace_hash,
            "version": self.version,
        }


# The statistics stall.* that tables and plots show, in the order of drawing. The remaining time is
# the core's own: instructions, their latencies, branches, hits in the L1.
STALLS = {
    "cache misses": ("private_cache", "shared_cache", "other_core", "dram", "pm"),
    "fence stalls": ("fence",),
    "store queue stalls": ("store_queue",),
    "lock waiting": ("lock",),
    "thread waiting": ("condition", "barrier", "join", "order"),
    "commits and pauses": ("commit", "speculation"),
}


def breakdown(result: Result) -> dict[str, float]:
    """Return the shares of the cores' time, which add up to 1; `core` is the remaining share."""
    return shares_of({statistic.name: statistic.value for statistic in result.statistics})


def shares_of(times: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of the cores' time from a run's statistics."""
    total = times["stall.total_ns"]
    shares = {
        label: sum(times[f"stall.{cause}_ns"] for cause in causes) / total if total else 0.0
        for label, causes in STALLS.items()
    }
    return {"core": 1.0 - sum(shares.values()), **shares}


def _intervals(histogram: Histogram) -> list[dict[str, float]]:
    return [{"from_ns": _number(begin), "regions": count} for begin, count in histogram]


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
    """Simulate a recording on a configuration.

    The same trace and configuration give the same result, except for wall-clock time.

    Args:
        trace: The recording.
        configuration: The design on its machine.
        progress: A function called with the finished fraction, 0 to 1; an exception that it raises
            ends the simulation.
        image: A file for the pool as a power failure after the run leaves it: what the program
            would find when it maps its PM again. Further pools get `.1`, `.2`, ... appended.
        contents: The recording's initial contents, shared with other simulations of it.

    Returns:
        The simulated time and all statistics.

    Raises:
        StuckError: The simulation can't proceed.
        Error: The design can't run this recording.

    Example:
        `pmemsim.simulate(pmemsim.Trace("queue.pmt"), pmemsim.configure("asap", "asap")).time_ns`
    """
    _check_objects(trace, configuration)
    with contextlib.ExitStack() as files:
        images = [str(files.enter_context(replacing(path))) for path in _image_paths(trace, image)]
        start = contents.take() if contents else None
        run = _core.simulate(trace.file, configuration, progress, images, start)
    return result_of(trace, configuration, run)


def _check_objects(trace: object, configuration: object) -> None:
    """Raise a `ConfigError` if these are names, which only other functions accept."""
    problems = Problems()
    if not isinstance(trace, Trace):
        problems.add([f"trace: {trace!r} must be a Trace, as in pmemsim.Trace('queue.pmt')"])
    if not isinstance(configuration, Configuration):
        problems.add(
            [f"configuration: {configuration!r} must be a Configuration, which pmemsim.configure "
             "returns"]
        )  # fmt: skip
    problems.raise_any()


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
        core_stalls=tuple({each.name: each.value for each in stalls} for stalls in run.stalls),
        region_latencies=_histogram(run.region_latencies),
        commit_latencies=_histogram(run.commit_latencies),
    )


def _histogram(buckets: Sequence[_core.LatencyBucket]) -> Histogram:
    return tuple((bucket.from_ps / 1000, bucket.count) for bucket in buckets)


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
