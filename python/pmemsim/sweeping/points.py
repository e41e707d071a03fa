"""Make the points of a sweep: each combination of its axes is a simulation or an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim.errors import ConfigError, Error, on_one_line
from pmemsim.jobs import Job, Simulate
from pmemsim.presets import Setting
from pmemsim.simulation import Configuration, configure, settings_without_effect
from pmemsim.sweeping.spec import RECIPE, REQUIRED, Combination
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace
from pmemsim.workload_runs import Argument

Opened = Callable[[list[Target]], list[Trace | Error]]
"""Opens recordings, and makes missing ones."""


@dataclass(frozen=True)
class Point:
    """A combination of the axes' values."""

    values: Combination
    job: Job | None
    """The simulation; None if it is impossible."""
    reason: str
    """Reason why the simulation is impossible; empty if it is possible."""


def points_of(combinations: Sequence[Combination], opened: Opened, place: str) -> list[Point]:
    """Return the points, in their order; each recording is opened once.

    `place` names the source of the parameters in results.
    """
    targets = {_recipe_of(values): _target(values) for values in combinations}
    able = {recipe: target for recipe, target in targets.items() if isinstance(target, Target)}
    traces: dict[tuple[object, ...], Trace | Error] = {
        recipe: target for recipe, target in targets.items() if isinstance(target, Error)
    }
    traces |= zip(able, opened(list(able.values())), strict=True)

    made: dict[tuple[str, str, tuple[Setting, ...]], Configuration | Error] = {}

    def configuration(
        design: str, machine: str, settings: tuple[Setting, ...]
    ) -> Configuration | Error:
        wanted = (design, machine, settings)
        if wanted not in made:
            try:
                made[wanted] = configure(design, machine, extra=settings)
            except Error as error:
                made[wanted] = error
        return made[wanted]

    def point(values: Combination) -> Point:
        settings = tuple(
            Setting(name, str(value), place)
            for name, value in values.items()
            if name not in (*REQUIRED, *RECIPE)
        )
        trace = traces[_recipe_of(values)]
        configured = configuration(str(values["design"]), str(values["machine"]), settings)
        wrong = [part for part in (trace, configured) if isinstance(part, Error)]
        if isinstance(trace, Error) or isinstance(configured, Error):
            return Point(values, None, "; ".join(on_one_line(error) for error in wrong))
        return Point(values, Job(trace, Simulate(configured), _name_of(values, varied)), "")

    varied = [
        name
        for name in combinations[0]
        if any(each[name] != combinations[0][name] for each in combinations)
    ]

    points = [point(values) for values in combinations]
    # No simulation would differ along such an axis.
    configured = [found for found in made.values() if isinstance(found, Configuration)]
    if problems := settings_without_effect(configured):
        raise ConfigError(problems)
    return points


def configuration_of(point: Mapping[str, Any], units: Mapping[str, str]) -> Configuration:
    """Return the configuration of a point in the JSON of a sweep, by its axes."""
    axes = point["axes"]
    overrides = {
        key: f"{value}{units.get(key, '')}" if not isinstance(value, bool) else value
        for key, value in axes.items()
        if "." in key
    }
    return configure(axes["design"], axes["machine"], overrides)


def _name_of(values: Combination, varied: Sequence[str]) -> str:
    """Describe a point for progress: its workload, its design, and its other varied values."""
    main = ("workload", "design")
    others = ", ".join(f"{name} {values[name]}" for name in varied if name not in main)
    workload = Path(str(values["workload"])).name
    return f"{workload} on {values['design']}" + (f" ({others})" if others else "")


def reason_of(job: Job, values: Combination, place: str, text: str) -> str:
    """Return the reason of a job's failure without paths of this computer.

    The same points must give the same file on each computer. `place` names the source of
    parameters.
    """
    # Other processes know recordings by their absolute paths.
    name, path = str(values["workload"]), str(job.trace.path.absolute())
    text = text.removeprefix(f"{place}: ").replace(path, name)
    own = f"{job.trace.path}: "
    return f"{name}: {text.removeprefix(own)}" if text.startswith(own) else text


def _recipe_of(values: Combination) -> tuple[object, ...]:
    """Return the values that determine the recording."""
    return tuple(values.get(name) for name in ("workload", *RECIPE))


def _target(values: Combination) -> Target | Error:
    arguments: dict[str, Argument] = {
        name: values[name] for name in RECIPE if name in values and name != "opt"
    }
    opt = str(values["opt"]) if "opt" in values else None
    try:
        return find_target(str(values["workload"]), opt=opt, **arguments)
    except Error as error:
        return error
