"""Simulations whose results are kept, so that what was simulated once is not simulated again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from pmemsim import _core
from pmemsim.errors import Error
from pmemsim.files import cache_dir, replacing
from pmemsim.parallel import Report, run_all
from pmemsim.reproduce.plan import Case
from pmemsim.simulation import (
    Configuration,
    Result,
    StartingContents,
    configure,
    simulate,
    version,
)
from pmemsim.trace import Trace
from pmemsim.workloads import WorkloadRun


@dataclass(frozen=True)
class Outcome:
    """What is kept of one simulation."""

    trace_hash: str
    regions: int
    time_ns: float
    stats: dict[str, float]
    """All statistics by name, apart from those of single cores."""

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """What to keep of a result."""
        stats = {s.name: s.value for s in result.statistics if not _is_of_one_core(s.name)}
        return cls(result.trace_hash, result.regions, result.time_ns, stats)


def _is_of_one_core(statistic: str) -> bool:
    group = statistic.partition(".")[0]
    return group.startswith("core") and group != "core"


@dataclass(frozen=True)
class Simulation:
    """A simulation that is ready to be run: the recording exists, the configuration is right."""

    trace: Trace
    configuration: Configuration

    @property
    def key(self) -> str:
        """Identifies the result: recording, every parameter, and the simulator's version."""
        parameters = [(p["key"], p["value"]) for p in self.configuration.resolve()]
        text = json.dumps([self.trace.hash, parameters, version(), _simulator_hash()])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def kept(self) -> Path:
        """Where the result is kept once it is there."""
        return cache_dir() / "results" / f"{self.trace.name}-{self.key}.json"


@cache
def _simulator_hash() -> str:
    """Identifies the simulator's own code, which may change between two versions."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


def configurations(cases: Iterable[Case]) -> dict[tuple[str, str, object], Configuration]:
    """The checked configurations of all cases, each once; raises `ConfigError` for a bad one."""
    wanted = dict.fromkeys((case.design, case.machine, case.settings) for case in cases)
    return {
        (design, machine, settings): configure(design, machine, dict(settings))
        for design, machine, settings in wanted
    }


def prepare(cases: Sequence[Case], traces: dict[WorkloadRun, Trace]) -> dict[Case, Simulation]:
    """The cases' simulations, given their recordings."""
    known = configurations(cases)
    return {
        case: Simulation(traces[case.run], known[case.design, case.machine, case.settings])
        for case in cases
    }


def missing(simulations: Iterable[Simulation]) -> list[Simulation]:
    """The simulations whose results are not kept yet, each once, the longest first."""
    unique = {simulation.kept: simulation for simulation in simulations}
    absent = [simulation for path, simulation in unique.items() if not path.is_file()]
    return sorted(absent, key=weight, reverse=True)


def weight(simulation: Simulation) -> float:
    """How long a simulation takes, in operations."""
    trace = simulation.trace
    return float(sum(trace.operation_count(thread) for thread in range(trace.threads)))


def simulate_missing(
    simulations: Sequence[Simulation],
    jobs: int | None,
    progress: Callable[[int, float], None] | None = None,
) -> None:
    """Simulate, `jobs` at a time; each result is kept as soon as it is there."""
    if simulations:
        simulations[0].kept.parent.mkdir(parents=True, exist_ok=True)

    def task(simulation: Simulation) -> Callable[[Report], None]:
        def run(report: Report) -> None:
            trace, configuration = simulation.trace, simulation.configuration
            result = simulate(trace, configuration, report, contents=contents[trace])
            outcome = Outcome.of(result)
            with replacing(simulation.kept) as partial:
                partial.write_text(json.dumps(asdict(outcome)))

        return run

    simulations_of = Counter(simulation.trace for simulation in simulations)
    contents = {trace: StartingContents(trace, count) for trace, count in simulations_of.items()}
    run_all([task(simulation) for simulation in simulations], jobs, progress)


def load(simulation: Simulation) -> Outcome:
    """The result that was kept."""
    try:
        return Outcome(**json.loads(simulation.kept.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise Error(
            f"{simulation.kept}: can't be read ({error}); delete it and run the command again"
        ) from error
