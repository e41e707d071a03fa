"""Define the jobs on recordings that any process can do, here or on another computer.

A job's identity covers the recording, every parameter and the simulator itself, so a result that
was kept under the same identity is valid.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar, Protocol

from pmemsim import _core
from pmemsim.crashing import Points, verify
from pmemsim.installation import version
from pmemsim.plugins import loaded
from pmemsim.predictability import predictability
from pmemsim.simulation import (
    Configuration,
    Progress,
    Result,
    StartingContents,
    simulate,
)
from pmemsim.trace import Trace


@dataclass(frozen=True)
class Outcome:
    """The kept result of one simulation, or of an analysis, which has no simulated time."""

    trace_hash: str
    threads: int
    instructions: int
    regions: int
    time_ns: float
    pm_write_bytes: int
    stats: dict[str, float]
    """All statistics by name, apart from those of single cores."""

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """Return the part of a result that is kept."""
        return cls(
            result.trace_hash,
            result.threads,
            result.instructions,
            result.regions,
            result.time_ns,
            result.pm_write_bytes,
            {s.name: s.value for s in result.statistics if not _is_of_one_core(s.name)},
        )


def _is_of_one_core(statistic: str) -> bool:
    group = statistic.partition(".")[0]
    return group.startswith("core") and group != "core"


@dataclass(frozen=True)
class Crashes:
    """The kept result of one crash run."""

    points: int
    violations: int
    story: list[str]
    """Explanation of the first violation; empty: there is none."""


Kept = Outcome | Crashes
"""The result of a job."""


class Work(Protocol):
    """Work on a recording. It is sent to other processes, so it contains only values."""

    @property
    def configuration(self) -> Configuration | None:
        """Return the design and the machine, if any."""

    @property
    def result(self) -> type[Kept]:
        """Return the class of its results."""

    @property
    def label(self) -> str:
        """Describe the work on the recording, for progress."""

    @property
    def options(self) -> list[object]:
        """Return the values that determine the result besides recording and configuration."""

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Kept:
        """Do the work and return its result."""


@dataclass(frozen=True)
class Simulate:
    """Simulate the recording."""

    configuration: Configuration
    result: ClassVar = Outcome

    @property
    def label(self) -> str:
        """Name the simulated design."""
        return f"on {self.configuration.design.name}"

    @property
    def options(self) -> list[object]:
        """Return the names of the result's values, so that kept results with others don't match."""
        return ["simulate", list(Outcome.__dataclass_fields__)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Outcome:
        """Simulate the recording and return the result."""
        return Outcome.of(simulate(trace, self.configuration, report, contents=contents))


@dataclass(frozen=True)
class Analyze:
    """Analyze the recording without simulating time."""

    configuration: None = None
    result: ClassVar = Outcome

    @property
    def label(self) -> str:
        """Name the analysis."""
        return "analysed"

    @property
    def options(self) -> list[object]:
        """Return the names of the result's values, so that kept results with others don't match."""
        return ["analyze", list(Outcome.__dataclass_fields__)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Outcome:
        """Read the recording to its end."""
        found = predictability(trace, report)
        return Outcome(
            trace.hash, trace.threads, found.instructions, 0, 0.0, 0,
            {f"predictability.{name}": float(n) for name, n in found.counts().items()},
        )  # fmt: skip


@dataclass(frozen=True)
class Crash:
    """Crash the design."""

    configuration: Configuration
    points: Points
    result: ClassVar = Crashes

    @property
    def label(self) -> str:
        """Name the crashed design."""
        return f"crashing on {self.configuration.design.name}"

    @property
    def options(self) -> list[object]:
        """Return the points that are visited."""
        return ["crash", asdict(self.points)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Crashes:
        """Crash the design; the oracle checks every image."""
        found = verify(trace, self.configuration, self.points, None, "", report)
        lines = list(found.story.lines) if found.story else []
        return Crashes(found.points, found.violations, lines)


@dataclass(frozen=True)
class Job:
    """Work that is ready to run: the recording exists, the configuration is valid."""

    trace: Trace
    work: Work
    name: str = field(default="", compare=False)
    """The job's description for progress; empty: of the recording and the work."""

    @cached_property
    def key(self) -> str:
        """Identify the result by the recording, every parameter, and the simulator's version."""
        configuration = self.work.configuration
        parameters = list(configuration.values.items()) if configuration else []
        text = json.dumps([self.trace.hash, parameters, *simulator_identity(), self.work.options])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def label(self) -> str:
        """Describe the job, for progress; a workload's arguments include its size and seed."""
        if self.name:
            return self.name
        metadata = self.trace.metadata
        words = metadata["arguments"] if "workload" in metadata else []
        size = ", ".join(word.removeprefix("--").replace("=", " ") for word in words)
        return f"{self.trace.name} {self.work.label}" + (f" ({size})" if size else "")

    @property
    def weight(self) -> float:
        """Return the job's relative duration: the operations that it simulates or reads."""
        trace, configuration = self.trace, self.work.configuration
        copies = int(configuration["run.instances"]) if configuration else 1
        return float(copies * sum(trace.operation_count(each) for each in range(trace.threads)))

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what decides how long an operation takes: the work, the machine, the threads."""
        configuration = self.work.configuration
        if configuration is None:
            return (self.work.label,)
        machine = (configuration.machine.name, configuration["run.instances"])
        return self.work.label, *machine, self.trace.threads


@cache
def _hash(code: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in code:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def simulator_identity() -> tuple[str, str]:
    """Return pmemsim's version and build with all plug-ins: the same ones give equal results."""
    return version(), _hash((Path(str(_core.__file__)), *loaded()))
