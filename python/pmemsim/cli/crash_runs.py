"""`pmemsim crash`: run designs on recordings and random programs, and print the results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pmemsim import plugins, random_programs
from pmemsim.cli.choices import find_targets
from pmemsim.cli.console import out, progress_of, si, table
from pmemsim.cli.options import Recipe, check_whole
from pmemsim.cli.recordings import open_traces
from pmemsim.crashing import (
    Case,
    Checker,
    CheckerWanted,
    CrashRun,
    Points,
    Refused,
    checker_of,
    verify_or_refuse,
)
from pmemsim.errors import CheckFailed, Problems
from pmemsim.parallel import Report, host_cores, run_all
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun, argument_problems

_MOST_PROGRAMS = 10**5  # half a day of work; the list of all runs is made before the first begins


@dataclass(frozen=True)
class Crashes:
    """The crash runs that the user wants, with their options."""

    cases: Sequence[Sequence[Case]]
    """Of each set of settings, the designs."""
    points: Points
    recipe: Recipe
    checker: CheckerWanted
    check_images: int | None
    """None: all."""
    jobs: int | None

    def of_targets(self, wanted: Sequence[str], problems: Problems) -> list[CrashRun | Refused]:
        """Crash every case on every target."""
        targets = find_targets(wanted, self.recipe, problems, seed_is_own=True)
        problems.raise_any()
        traces = open_traces(targets, self.jobs)
        checkers = [checker_of(trace, self.checker, self.check_images) for trace in traces]
        recordings = list(zip(wanted, traces, checkers, strict=True))
        pairs = [
            (case, *recording)
            for design in zip(*self.cases, strict=True)
            for case in design
            for recording in recordings
        ]

        def task(
            case: Case, target: str, trace: Trace, checker: Checker | None
        ) -> Callable[[Report], CrashRun | Refused]:
            command = self._command(target, case, self.recipe)
            jobs = max(1, (self.jobs or host_cores()) // len(pairs))
            return lambda report: verify_or_refuse(
                trace, case, self.points, checker, command, report, jobs
            )

        labels = [f"{trace.name} on {case.label}" for case, _, trace, _ in pairs]
        with progress_of(labels) as progress:
            return run_all([task(*pair) for pair in pairs], self.jobs, progress)

    def of_random_programs(self, count: int, problems: Problems) -> list[CrashRun | Refused]:
        """Crash every design on random programs, each program with the next set of settings."""
        check_whole(problems, "--random", count, 1, _MOST_PROGRAMS)
        recipe = self.recipe
        if recipe.regions is None:
            recipe = replace(recipe, regions=random_programs.REGIONS)
        with problems.collected():
            first = WorkloadRun.of(random_programs.WORKLOAD, opt=recipe.opt, **recipe.arguments)
            problems.add(argument_problems(seed=first.seed + max(count, 1) - 1))
        problems.raise_any()
        programs = [replace(first, seed=first.seed + number) for number in range(count)]

        def command_of(program: WorkloadRun, case: Case) -> str:
            return self._command(program.workload, case, replace(recipe, seed=program.seed))

        labels = [
            f"random program, seed {each.seed}, threads {each.threads}, regions {each.regions}"
            for each in programs
        ]
        with progress_of(labels) as progress:
            return random_programs.crash_programs(
                programs,
                self.cases,
                self.points,
                lambda trace: checker_of(trace, self.checker, self.check_images),
                command_of,
                self.jobs,
                progress,
            )

    def _command(self, target: str, case: Case, recipe: Recipe) -> str:
        """Return a command that crashes the same simulation again."""
        words = ["pmemsim", "crash", target, *case.options, *recipe.words()]
        if self.points.subsets:
            words += ["--subsets", str(self.points.subsets)]
        if self.check_images is None:
            words += ["--verify-images", "all"]
        return shlex.join([*words, *self.checker.options, *plugins.options()])


def print_runs(runs: Sequence[CrashRun]) -> None:
    """Return a table of the runs."""
    columns: dict[str, Callable[[CrashRun], str]] = {
        "design": lambda run: run.design,
        "stress": lambda run: run.stress,
        "workload": lambda run: run.workload,
        ">programs": lambda run: f"{run.programs:,}",
        ">threads": lambda run: str(run.threads),
        ">points": lambda run: _part(run.points, run.all_points),
        ">images": lambda run: f"{run.images:,}",
        ">recoveries restarted": lambda run: f"{run.restarts:,}",
        ">images checked by the program": _checked,
        ">violations": lambda run: f"{run.violations:,}",
        ">points/s": lambda run: si(run.points_per_s),
    }
    if not any(run.stress for run in runs):
        del columns["stress"]
    if all(run.programs == 1 for run in runs):
        del columns[">programs"]
    rows = [[cell(run) for cell in columns.values()] for run in runs]
    out.print(table(f"machine {runs[0].machine}", list(columns), rows))


def _part(some: int, of_all: int) -> str:
    return f"{some:,}" if some == of_all else f"{some:,} of {of_all:,}"


def _checked(run: CrashRun) -> str:
    if run.unchecked is None:
        return "no check"
    return _part(run.checked, run.checked + run.unchecked)


def print_refused(refused: Sequence[Refused]) -> None:
    """Return a table of designs that are incompatible with stress settings."""
    if refused:
        rows = [(case.design, case.stress, case.reason) for case in refused]
        out.print(table("combinations that are not possible", ["design", "stress", "why"], rows))


# Number of wrong runs that an error message names after the first one.
_NAMED = 20


def fail_if_wrong(runs: Sequence[CrashRun]) -> None:
    """Raise `CheckFailed` with the explanation of the first violation."""
    wrong = [run for run in runs if run.story is not None]
    if not wrong:
        return
    first = wrong[0]
    story = first.story
    assert story is not None
    lines = [
        f"{first.design} does not recover {first.workload}: {story.lines[0]}",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to reproduce: {story.command}",
    ]
    if len(wrong) > 1:
        others = ", ".join(map(_named, wrong[1 : 1 + _NAMED]))
        more = f" and {len(wrong) - 1 - _NAMED} more" if len(wrong) - 1 > _NAMED else ""
        lines.append(f"  violations also in: {others}{more}")
    raise CheckFailed("\n".join(lines))


def _named(run: CrashRun) -> str:
    stress = f" with {run.stress}" if run.stress else ""
    seed = f" of seed {run.seed}" if run.workload.startswith(random_programs.WORKLOAD) else ""
    return f"{run.design} on {run.workload}{seed}{stress}"
