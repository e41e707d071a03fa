"""Python's shortest interface: one call for a run, one call for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pmemsim import comparison, profiling
from pmemsim.comparison import Comparison
from pmemsim.errors import ConfigError, Error, Problems
from pmemsim.parallel import Report, run_all
from pmemsim.profiling import Profile
from pmemsim.simulation import (
    Configuration,
    Progress,
    Result,
    configure,
    settings_without_effect,
    simulate,
)
from pmemsim.targets import find_target
from pmemsim.trace import Trace


def _trace(trace: Trace | str | Path) -> Trace:
    return trace if isinstance(trace, Trace) else find_target(str(trace)).trace()


def _check_list(what: str, value: object, example: str) -> None:
    """Raise an `Error` if the argument is a single name instead of a list, or an empty list."""
    if isinstance(value, str | Path | Trace) or not value:
        raise Error(f"{what}: must be a list with at least one element, as in {example}")


def _refuse_idle(configurations: Sequence[Configuration]) -> None:
    if problems := settings_without_effect(configurations):
        raise ConfigError(problems)


def run(
    trace: Trace | str | Path,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    image: str | Path | None = None,
) -> Result:
    """Simulate one recording on one design and machine.

    `trace` is a `Trace`, the path of a `.pmt` file, or a workload's name. `design` and `machine`
    are names of presets or paths of YAML files. `overrides` maps parameters to values with their
    units, as in `{"core.rob_entries": 128, "pm.latency_factor": 4}`. `progress` is called with
    the fraction that is done. `image` is a file for what survives when power is lost after the
    run, as the program would find it when it maps its PM again. Raises `Error`, `ConfigError` or
    `TraceError` for bad input.
    """
    configuration = configure(design, machine, overrides)
    _refuse_idle([configuration])
    return simulate(_trace(trace), configuration, progress, Path(image) if image else None)


def profile(
    trace: Trace | str | Path,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Simulate one recording, and divide the cores' time by line, call path and cause; see `run`.

    `Profile.rows` has the parts, the longest first, and `Profile.result` what `run` returns.
    """
    configuration = configure(design, machine, overrides)
    _refuse_idle([configuration])
    return profiling.profile(_trace(trace), configuration, progress)


def compare(
    traces: Sequence[Trace | str | Path],
    *,
    designs: Sequence[str | Path],
    machine: str | Path,
    overrides: Mapping[str, object] | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Simulate several recordings on several designs, on all host cores; see `run`.

    The first design is the baseline of `Comparison.ratio` and `Comparison.geomean`.
    """
    problems = Problems()
    with problems.collected():
        _check_list("traces", traces, '["queue", "mine.pmt"]')
    with problems.collected():
        _check_list("designs", designs, '["np", "sw-undo"]')
    if jobs is not None and jobs < 1:
        problems.add([f"jobs: {jobs}: must be at least 1"])
    problems.raise_any()
    configurations = []
    for design in designs:
        with problems.collected():
            configurations.append(configure(design, machine, overrides))
    problems.raise_any()
    _refuse_idle(configurations)

    def task(trace: Trace | str | Path) -> Callable[[Report], Trace]:
        return lambda _: _trace(trace)

    opened = run_all([task(trace) for trace in traces], jobs)
    return comparison.compare(opened, configurations, jobs=jobs)
