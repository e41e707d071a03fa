"""Find recordings to simulate: a file, or a workload that is recorded when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from pmemsim.arguments import check_whole
from pmemsim.errors import ConfigError, Error, Problems
from pmemsim.programs import KeepGoing
from pmemsim.recording import Build, record_workload
from pmemsim.trace import EXAMPLE, Trace, recording_path
from pmemsim.workload_runs import (
    Argument,
    WorkloadRun,
    argument_problems,
    unknown_workload,
    workload_run,
    workloads,
)

# A recording's set-up and its checks take about as long as this many regions.
_SET_UP_REGIONS = 2000


class Recipe(TypedDict, total=False):
    """How a workload is recorded: keyword arguments of the functions that take a recording.

    The workload has a default for each value that is missing. A recording accepts none.

    Raises:
        ConfigError: A value is impossible, or the workload doesn't have it.

    Example:
        `pmemsim.run("queue", design="asap", machine="asap", threads=2, regions=50).regions`
    """

    threads: int
    """Number of threads."""
    regions: int
    """Number of atomic regions in the measured part."""
    seed: int
    """Seed of the random numbers."""
    data_bytes: int
    """Size of one data item, in bytes."""
    opt: str
    """Optimisation level: `O0` to `O3`, or `O0+O2` (program and pm.h's library)."""
    items: int
    """Number of items in the data structure before the measured part."""
    mix: str
    """Operations of the regions."""
    duplicate_ratio: float
    """Share of the data that duplicates other data, from 0 to 1."""
    warm_up: int
    """Number of regions that run before the measured part, to fill the caches."""
    compute_instructions: int
    """Number of instructions that each region executes in addition, without accessing PM."""
    log: str
    """The program's software log: `undo` or `redo`."""
    hints: str
    """Pre-execution hints: `manual`, `auto`, `none`, or a profile's path."""
    schedule: int
    """Number of the thread interleaving, among those that the seed generates."""
    whole_run: bool
    """Whether set-up and warm-up are recorded and measured, too."""


def words_of_recipe(recipe: Recipe, *but: str) -> list[str]:
    """Return a recipe as words of a command, without some of its options."""
    words = []
    values: dict[str, object] = {**recipe}
    for key in Recipe.__annotations__:
        name = f"--{key.replace('_', '-')}"
        if key in values and name not in but:
            words += [name] if values[key] is True else [name, str(values[key])]
    return words


@dataclass(frozen=True)
class Target:
    """A `.pmt` file, or the recipe of a workload's recording."""

    name: str
    source: Path | WorkloadRun

    @property
    def is_ready(self) -> bool:
        """Return whether the recording exists already."""
        return isinstance(self.source, Path) or self.source.cached_trace.is_file()

    @property
    def weight(self) -> float:
        """Return how long recording takes, compared with other recordings of the same workload."""
        if isinstance(self.source, Path):
            return 1.0
        return float(self.source.regions + self.source.warm_up + _SET_UP_REGIONS)

    @property
    def build(self) -> Build | None:
        """Return the program that is recorded; None for a `.pmt` file."""
        return None if isinstance(self.source, Path) else Build.of(self.source)

    def trace(self, keep_going: KeepGoing | None = None) -> Trace:
        """Open the recording; a workload is recorded first if need be."""
        if isinstance(self.source, Path):
            return Trace(self.source)
        return record_workload(self.source, keep_going=keep_going)


def is_recording(text: str) -> bool:
    """Return whether a target's name means a recording, not a workload."""
    return text.endswith(".pmt") or "/" in text or text.startswith(EXAMPLE)


def find_target(text: str, *, opt: str | None = None, **arguments: Argument) -> Target:
    """Find a target by the name of a workload, the path of a trace, or `example:NAME`.

    `opt` and `arguments` (threads, regions, data_bytes, seed, duplicate_ratio, items, mix,
    warm_up, log, whole_run, schedule; None: the default) say how a workload is recorded; with a
    trace they are an `Error`, because a recording can't be changed any more.
    """
    if is_recording(text):
        path = recording_path(text)
        given = [key for key, value in {"opt": opt, **arguments}.items() if value is not None]
        if given:
            options = ", ".join(f"--{key.replace('_', '-')}" for key in given)
            raise Error(
                f"{text}: this is a recording; remove {options}, which only workloads accept"
            )
        return Target(path.stem, path)
    if text not in workloads():
        problem = f"{unknown_workload(text)} (a trace's name ends with .pmt)"
        if Path(text).is_dir():
            problem = f"{text}: this is a folder; name a workload or a trace (.pmt)"
        elif Path(text).exists():
            problem = f"{text}: this is not a trace; the name of a trace ends with .pmt"
        raise ConfigError([problem, *argument_problems(opt, **arguments)])
    return Target(text, workload_run(text, opt=opt, **arguments))


_MOST_SAMPLES = 1000


def check_samples(seeds: int, schedules: int, problems: Problems) -> None:
    """Add impossible numbers of samples to the problems."""
    check_whole(problems, "--seeds", seeds, 1, _MOST_SAMPLES)
    check_whole(problems, "--schedules", schedules, 1, _MOST_SAMPLES)


def samples_of(target: Target, seeds: int, schedules: int, problems: Problems) -> list[Target]:
    """Return recordings with consecutive seeds, each with several schedules.

    A problem is added if the target can have one recording only.
    """
    if isinstance(target.source, Path):
        given = [("--seeds", seeds), ("--schedules", schedules)]
        options = " and ".join(name for name, number in given if number != 1)
        if options:
            problems.add(
                [f"{target.name}: this is a recording; {options} need the name of a workload"]
            )
        return [target]
    run = target.source
    if schedules > 1 and run.threads == 1:
        problems.add(
            [
                f"--schedules {schedules}: {target.name} has one thread, so that schedules have no "
                "effect; add --threads, or use --seeds"
            ]
        )
    return [
        replace(target, source=replace(run, seed=run.seed + seed, schedule=run.schedule + number))
        for seed in range(seeds)
        for number in range(schedules)
    ]
