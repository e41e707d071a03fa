"""Crash several designs on several recordings, or on random programs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim import plugins, random_programs
from pmemsim.arguments import check_whole, picoseconds_of, sample_of
from pmemsim.crashing import (
    DEFAULT_CHECKS,
    Case,
    Checker,
    CheckerWanted,
    CrashRun,
    Points,
    Refused,
    checker_of,
    verify_or_refuse,
)
from pmemsim.errors import ConfigError, Problems
from pmemsim.parallel import Report, host_cores
from pmemsim.results import Results
from pmemsim.runner import Runner
from pmemsim.simulation import Configuration
from pmemsim.stress import stress_sets
from pmemsim.targets import Recipe, words_of_recipe
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun, argument_problems, workload_run

if TYPE_CHECKING:
    import pandas as pd

_MOST_SUBSETS = 10**5  # a point then takes some seconds, which delay Ctrl-C
_MOST_PROGRAMS = 10**5  # half a day of work; the list of all runs is made before the first begins


@dataclass(frozen=True)
class CrashResults(Results):
    """The crash runs of designs on recordings, or on random programs.

    Example:
        `pmemsim.crash("queue", designs=["asap"], points=100).to_frame()["images"]`
    """

    every: tuple[CrashRun, ...] = field(repr=False)
    """The runs of each design on each recording or random program."""
    refused: tuple[Refused, ...]
    """Designs that are incompatible with stress settings, each once, whatever the recording."""
    random: bool = False
    """Whether the recordings are random programs."""
    command: ClassVar = "crash"

    @cached_property
    def runs(self) -> list[CrashRun]:
        """Return the runs; those of random programs are added up for each design."""
        return random_programs.in_sum(self.every) if self.random else list(self.every)

    @property
    def violations(self) -> int:
        """Return the number of crash points with a wrong image."""
        return sum(run.violations for run in self.every)

    @property
    def title(self) -> str:
        """Name the machine, and count the violations."""
        return f"machine {self.every[0].machine}; crash points with a violation: {self.violations}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run, by design, stress settings and recording.

        `explanation` says what the first violation is, and how to see it again.
        """
        import pandas as pd

        counts = (
            "programs", "threads", "points", "all_points", "images", "repaired", "restarts",
            "checked", "unchecked", "violations", "wall_s",
        )  # fmt: skip
        rows = [
            {
                "design": run.design,
                "stress": run.stress,
                "workload": run.workload,
                **{name: getattr(run, name) for name in counts},
                "explanation": "\n".join([*run.story.lines, run.story.command])
                if run.story
                else "",
            }
            for run in self.runs
        ]
        frame = pd.DataFrame(rows).astype({"unchecked": "Int64"})  # empty without a checker
        return frame.set_index(["design", "stress", "workload"])

    def to_dict(self) -> dict[str, Any]:
        """Return the results for `--json` (keys: docs/reference/results.md)."""
        return {
            "runs": [run.to_dict() for run in self.runs],
            "refused": [vars(case) for case in self.refused],
            "configurations": {
                run.design_and_stress: run.configuration.to_dict() for run in self.runs
            },
        }


def _results(found: Iterable[CrashRun | Refused], *, random: bool) -> CrashResults:
    """Return the results; raises a `ConfigError` if every design is refused."""
    runs: list[CrashRun] = []
    refused: dict[tuple[str, str], Refused] = {}
    for each in found:
        if isinstance(each, CrashRun):
            runs.append(each)
        else:
            refused.setdefault((each.design, each.stress), each)
    if not runs:
        raise ConfigError([next(iter(refused.values())).reason])
    return CrashResults(tuple(runs), tuple(refused.values()), random)


def cases_of(
    designs: Sequence[str], machine: str, configurations: Sequence[Configuration], *, stress: bool
) -> list[list[Case]]:
    """Return the designs to crash, grouped by set of stress settings."""
    return [
        [
            Case(name, machine, configuration, settings)
            for name, configuration in zip(designs, configurations, strict=True)
        ]
        for settings in (stress_sets().values() if stress else [None])
    ]


def points_of(
    points: str | int, at: str | None, subsets: int, seed: int | None, problems: Problems
) -> Points:
    """Return the wanted crash points; errors are added to the problems."""
    at_ps = None if at is None else picoseconds_of("--at", at, problems)
    check_whole(problems, "--subsets", subsets, 0, _MOST_SUBSETS)
    problems.add(argument_problems(seed=seed))
    sample = sample_of(str(points), problems)
    return Points(sample, 1 if seed is None else seed, at_ps, subsets)


def image_checks(wanted: str | int | None, *, default: int, problems: Problems) -> int | None:
    """Return the number of images that a checker sees; None: all."""
    if wanted is None:
        return default
    if wanted == "all":
        return None
    if str(wanted).lstrip("-").isdecimal():
        check_whole(problems, "--verify-images", int(wanted), 0)
        return int(wanted)
    problems.add([f"--verify-images {wanted}: must be a whole number, or `all`"])
    return default


def default_checks(*, random: bool, checker: CheckerWanted) -> int:
    """Return how many images a checker sees by default.

    The oracle checks all images; starting random programs' checkers would take longer than that.
    """
    return DEFAULT_CHECKS if not random or checker.given else 0


def random_programs_of(count: int, recipe: Recipe) -> list[WorkloadRun]:
    """Return `count` random programs; raises a `ConfigError` if there can't be any."""
    problems = Problems()
    check_whole(problems, "--random", count, 1, _MOST_PROGRAMS)
    first = None
    with problems.collected():
        of_one: Recipe = {"regions": random_programs.REGIONS, **recipe}
        first = workload_run(random_programs.WORKLOAD, **of_one)
    problems.raise_any()
    assert first is not None
    problems.add(argument_problems(seed=first.seed + count - 1))
    problems.raise_any()
    return [replace(first, seed=first.seed + number) for number in range(count)]


@dataclass(frozen=True)
class CrashSuite:
    """Crash runs that a user wants."""

    cases: Sequence[Sequence[Case]]
    """Of each set of stress settings, the designs."""
    points: Points
    recipe: Recipe
    """How the workloads are recorded."""
    checker: CheckerWanted
    check_images: int | None
    """Number of images that the checker sees; None: all."""
    runner: Runner

    def on_traces(self, recordings: Sequence[tuple[str, Trace]]) -> CrashResults:
        """Crash every case on every recording; each has the user's name for it."""
        checkers = [checker_of(trace, self.checker, self.check_images) for _, trace in recordings]
        pairs = [
            (case, name, trace, checker)
            for design in zip(*self.cases, strict=True)
            for case in design
            for (name, trace), checker in zip(recordings, checkers, strict=True)
        ]

        def task(
            case: Case, target: str, trace: Trace, checker: Checker | None
        ) -> Callable[[Report], CrashRun | Refused]:
            command = self._command(target, case, self.recipe)
            jobs = max(1, (self.runner.jobs or host_cores()) // len(pairs))
            return lambda report: verify_or_refuse(
                trace, case, self.points, checker, command, report, jobs
            )

        labels = [f"{trace.name} on {case.label}" for case, _, trace, _ in pairs]
        found = self.runner.run_all(labels, [task(*pair) for pair in pairs])
        return _results(found, random=False)

    def on_random_programs(self, programs: Sequence[WorkloadRun]) -> CrashResults:
        """Crash every design on random programs, each program with the next set of settings."""

        def command_of(program: WorkloadRun, case: Case) -> str:
            recipe: Recipe = {
                "regions": random_programs.REGIONS, **self.recipe, "seed": program.seed,
            }  # fmt: skip
            return self._command(program.workload, case, recipe)

        labels = [
            f"random program, seed {each.seed}, threads {each.threads}, regions {each.regions}"
            for each in programs
        ]
        with self.runner.watch(labels) as progress:
            found = random_programs.crash_programs(
                programs,
                self.cases,
                self.points,
                lambda trace: checker_of(trace, self.checker, self.check_images),
                command_of,
                self.runner.jobs,
                progress,
            )
        return _results(found, random=True)

    def _command(self, target: str, case: Case, recipe: Recipe) -> str:
        """Return a command that crashes the same simulation again."""
        words = ["pmemsim", "crash", target, *case.options, *words_of_recipe(recipe)]
        if self.points.subsets:
            words += ["--subsets", str(self.points.subsets)]
        if self.check_images is None:
            words += ["--verify-images", "all"]
        return shlex.join([*words, *self.checker.options, *plugins.options()])
