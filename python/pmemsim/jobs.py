"""Jobs on recordings: what any process can do, here or on another computer, and what it gives back.

A job's identity covers the recording, every parameter and the simulator itself, so a result that
has been kept under it is the result.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar, Protocol

from pmemsim import _core
from pmemsim.crash import Points, verify
from pmemsim.plugins import loaded
from pmemsim.predictability import predictability
from pmemsim.simulation import (
    Configuration,
    Progress,
    Result,
    StartingContents,
    simulate,
    version,
)
from pmemsim.trace import Trace


@dataclass(frozen=True)
class Outcome:
    """What is kept of one simulation, or of a look at a recording, which takes no time."""

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
        """What to keep of a result."""
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
    """What is kept of one crash run."""

    points: int
    violations: int
    story: list[str]
    """What went wrong first; empty: nothing."""


Kept = Outcome | Crashes
"""The result of a job."""


class Work(Protocol):
    """What to do with a recording. It goes to other processes, so it holds values alone."""

    @property
    def configuration(self) -> Configuration | None:
        """The design and the machine, if any."""

    @property
    def result(self) -> type[Kept]:
        """What its results are."""

    @property
    def label(self) -> str:
        """What is done to the recording, for progress."""

    @property
    def options(self) -> list[object]:
        """What the result depends on besides recording and configuration."""

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Kept:
        """Do it."""


@dataclass(frozen=True)
class Simulate:
    """Simulate the recording."""

    configuration: Configuration
    result: ClassVar = Outcome

    @property
    def label(self) -> str:
        """On which design it runs."""
        return f"on {self.configuration.design.name}"

    @property
    def options(self) -> list[object]:
        """What the result holds, in case older ones are kept: the names of its values."""
        return ["simulate", list(Outcome.__dataclass_fields__)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Outcome:
        """Simulate it."""
        return Outcome.of(simulate(trace, self.configuration, report, contents=contents))


@dataclass(frozen=True)
class Analyze:
    """Look at the recording without simulating time."""

    configuration: None = None
    result: ClassVar = Outcome

    @property
    def label(self) -> str:
        """What is done."""
        return "analysed"

    @property
    def options(self) -> list[object]:
        """What the result holds, in case older ones are kept: the names of its values."""
        return ["analyze", list(Outcome.__dataclass_fields__)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Outcome:
        """Read it to its end."""
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
        """On which design it crashes."""
        return f"crashing on {self.configuration.design.name}"

    @property
    def options(self) -> list[object]:
        """Which points are visited."""
        return ["crash", asdict(self.points)]

    def run(self, trace: Trace, contents: StartingContents, report: Progress) -> Crashes:
        """Crash it; the oracle checks every image."""
        found = verify(trace, self.configuration, self.points, None, "", report)
        lines = list(found.story.lines) if found.story else []
        return Crashes(found.points, found.violations, lines)


@dataclass(frozen=True)
class Job:
    """Work on one recording, ready to be done: the recording exists, the configuration is right."""

    trace: Trace
    work: Work

    @cached_property
    def key(self) -> str:
        """Identifies the result: recording, every parameter, and the simulator's version."""
        configuration = self.work.configuration
        parameters = list(configuration.values.items()) if configuration else []
        text = json.dumps([self.trace.hash, parameters, *simulator_identity(), self.work.options])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def label(self) -> str:
        """What it is, for progress."""
        return f"{self.trace.name} {self.work.label}"

    @property
    def weight(self) -> float:
        """How long it takes, relative to others: the recording's operations."""
        trace = self.trace
        return float(sum(trace.operation_count(thread) for thread in range(trace.threads)))


@cache
def _hash(code: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in code:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def simulator_identity() -> tuple[str, str]:
    """Pmemsim's version and its build with all plug-ins: the same ones give the same results."""
    return version(), _hash((Path(str(_core.__file__)), *loaded()))
