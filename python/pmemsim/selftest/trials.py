"""Trials of random configurations: each runs twice and crashes, in a process of its own.

A trial fails if two runs differ, if an image after a crash is wrong, if the simulator reports an
error of its own, or if the process dies or doesn't end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pmemsim.crashing import Points, verify
from pmemsim.errors import ConfigError, Error, on_one_line
from pmemsim.parallel import Report, run_all
from pmemsim.recording import record_workload
from pmemsim.selftest.child_process import PROCESSOR_SECONDS, ChildFailedError, in_child_process
from pmemsim.selftest.random_configurations import RandomCase, random_case
from pmemsim.simulation import Configuration, simulate
from pmemsim.trace import Trace

POINTS = 50
"""Crash points of a trial."""
# Parts of error messages that refuse to crash a valid configuration.
_NOT_JUDGED = (
    "has no durability guarantees",
    "only for one copy of the program",
    "crash images can't be checked",
    "models only time and traffic",
)
_TOO_SMALL = re.compile(r"choose a larger ([\w.]+)")
# About two of three seeds give a case that runs, so this many seeds are far too many for one.
_SEEDS_PER_CASE = 10


@dataclass(frozen=True)
class Outcome:
    """The result of a trial."""

    failure: str = ""
    refusal: str = ""
    """Reason why the simulator doesn't run this program with these values."""
    crashed: bool = False
    """Whether the design guarantees something, so that images after crashes were checked."""


@dataclass
class Trials:
    """The results of cases with consecutive seeds."""

    ran: int = 0
    crashed: int = 0
    refusals: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count the outcome of a seed."""
        if outcome.refusal:
            self.refusals.append(outcome.refusal)
            return
        self.ran += 1
        self.crashed += outcome.crashed
        if outcome.failure:
            case = random_case(seed)
            crash = case.command("crash", "--points", f"{POINTS}")
            again = f"to reproduce:\n  {case.command('run')}\n  {crash}"
            self.failures.append(f"seed {seed}: {outcome.failure}\n{again}")

    def __str__(self) -> str:
        """Return the counts in a sentence."""
        return (
            f"{self.ran} random configurations ran, {self.crashed} of them crashed, "
            f"{len(self.failures)} failed; {len(self.refusals)} more were refused"
        )


def run_trials(
    first_seed: int,
    wanted: int,
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Trials:
    """Try consecutive seeds until the wanted number of cases has run, or too many were refused.

    `jobs` cases run at a time (default: one a host core). `progress` is called with the number of a
    case, counted from 0, and 0.0 as it begins, or 1.0 as it ends. The number of a refused case goes
    to the next one.
    """
    trials = Trials()
    numbers = list(range(wanted))
    first, end = first_seed, first_seed + _SEEDS_PER_CASE * wanted
    while trials.ran < wanted and first < end:
        seeds = range(first, min(first + wanted - trials.ran, end))
        for seed, outcome in zip(seeds, _try_seeds(seeds, numbers, jobs, progress), strict=True):
            trials.add(seed, outcome)
        first = seeds.stop
    if trials.ran < wanted:
        trials.failures.append(f"too few cases could run: {trials}")
    return trials


def _try_seeds(
    seeds: range,
    numbers: list[int],
    jobs: int | None,
    progress: Callable[[int, float], None] | None,
) -> list[Outcome]:
    """Try these seeds; those that run take numbers away."""

    def task(seed: int, _: Report) -> Outcome:
        number = numbers.pop()
        if progress is not None:
            progress(number, 0.0)
        outcome = _try_seed(seed)
        if outcome.refusal:
            numbers.append(number)
        elif progress is not None:
            progress(number, 1.0)
        return outcome

    return run_all([partial(task, seed) for seed in seeds], jobs)


def _try_seed(seed: int) -> Outcome:
    try:
        return try_case(random_case(seed))
    except ConfigError as error:
        return Outcome(refusal=on_one_line(error))


def try_case(case: RandomCase, processor_seconds: float = PROCESSOR_SECONDS) -> Outcome:
    """Run and crash a case, whatever happens to the process that does it."""
    trace = record_workload(case.program)
    points = Points(sample=POINTS, seed=case.program.seed)
    try:
        return in_child_process(
            _outcome, trace, case.configuration, points, processor_seconds=processor_seconds
        )
    except ChildFailedError as error:
        return Outcome(failure=str(error))


def _outcome(trace: Trace, configuration: Configuration, points: Points) -> Outcome:
    try:
        return _run_and_crash(trace, configuration, points)
    except ConfigError as error:
        return Outcome(refusal=on_one_line(error))
    except Error as error:
        text = str(error)
        refused = _is_of_the_values(text, configuration)
        return Outcome(refusal=text) if refused else Outcome(failure=text)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")


def _is_of_the_values(error: str, configuration: Configuration) -> bool:
    """Return whether a run can't end because of the values that the case has chosen.

    Locks in simulated order may contradict the recorded order of atomic variables. A list of one
    entry may hold a region that waits for another one's entry. A latency of a second, times a
    factor, may exceed what simulated time can be.
    """
    small = _TOO_SMALL.search(error)
    chosen = {setting.key: setting.value for setting in configuration.overrides}
    return (
        "use run.lock_order=recorded" in error
        or (small is not None and small[1] in chosen)
        or ("the simulated time exceeds" in error and "1s" in chosen.values())
    )


def _run_and_crash(trace: Trace, configuration: Configuration, points: Points) -> Outcome:
    first, second = (simulate(trace, configuration) for _ in range(2))
    if first.statistics != second.statistics:
        pairs = zip(first.statistics, second.statistics, strict=True)
        different = [one.name for one, other in pairs if one != other]
        return Outcome(failure=f"two runs have different values of {', '.join(different)}")
    try:
        run = verify(trace, configuration, points, None, "")
    except ConfigError as error:
        if any(reason in str(error) for reason in _NOT_JUDGED):
            return Outcome()
        return Outcome(failure=f"it runs, but can't be crashed: {error}")
    if run.story is None:
        return Outcome(crashed=True)
    wrong = f"{run.violations} of {run.points} crash points are wrong"
    return Outcome(failure="\n    ".join([wrong, *run.story.lines]), crashed=True)
