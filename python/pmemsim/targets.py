"""Find recordings to simulate: a file, or a workload that is recorded when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmemsim.errors import ConfigError, Error
from pmemsim.programs import KeepGoing
from pmemsim.recording import Build, record_workload
from pmemsim.trace import Trace, check_trace_path
from pmemsim.workload_runs import (
    Argument,
    WorkloadRun,
    argument_problems,
    unknown_workload,
    workloads,
)

# A recording's set-up and its checks take about as long as this many regions.
_SET_UP_REGIONS = 2000


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


def find_target(text: str, *, opt: str | None = None, **arguments: Argument) -> Target:
    """Find a target by the name of a workload or the path of a trace.

    `opt` and `arguments` (threads, regions, data_bytes, seed, duplicate_ratio, items, mix,
    warm_up, log, whole_run, schedule; None: the default) say how a workload is recorded; with a
    trace they are an `Error`, because a recording can't be changed any more.
    """
    if text.endswith(".pmt") or "/" in text:
        path = Path(text)
        check_trace_path(path)
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
    return Target(text, WorkloadRun.of(text, opt=opt, **arguments))
