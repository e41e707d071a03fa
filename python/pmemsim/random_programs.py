"""Crash designs on random programs: record each, crash all designs on it, and delete it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pmemsim.crashing import Case, Checker, CrashRun, Points, Refused, verify_or_refuse
from pmemsim.errors import ConfigError, Error
from pmemsim.files import named, temporary_folder
from pmemsim.parallel import Report, run_all
from pmemsim.recording import build_workload, record_uncached
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun

WORKLOAD = "random"
REGIONS = 30
"""Default number of regions of a program: many short programs find more violations than a few long
ones, and their explanations are shorter."""


def crash_programs(
    programs: Sequence[WorkloadRun],
    turns: Sequence[Sequence[Case]],
    points: Points,
    checker_of: Callable[[Trace], Checker | None],
    command_of: Callable[[WorkloadRun, Case], str],
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> list[CrashRun | Refused]:
    """Record each program and crash all cases of one group on it; the groups are used in turn.

    `command_of` returns the user's command that crashes one case on one program. The `Error` of a
    failed simulation contains it.
    """
    build_workload(WORKLOAD, programs[0].opt)

    def crash(number: int, report: Report) -> list[CrashRun | Refused]:
        program = programs[number]
        own = replace(points, seed=program.seed)
        cases = turns[number % len(turns)]
        found = []
        with temporary_folder() as folder:
            path = folder / f"{WORKLOAD}.pmt"
            record_uncached(program, path, lambda: report(0.0))
            trace = Trace(path)
            for done, case in enumerate(cases):
                command = command_of(program, case)

                def of_case(share: float, done: int = done) -> None:
                    report((done + share) / (len(cases) + 1))

                try:
                    with named(path, f"{WORKLOAD} of seed {program.seed}"):
                        run = verify_or_refuse(
                            trace, case, own, checker_of(trace), command, of_case
                        )
                except ConfigError:
                    raise
                except Error as error:
                    raise type(error)(f"{error}; to reproduce: {command}") from error
                found.append(run)
        return found

    tasks = [lambda report, number=number: crash(number, report) for number in range(len(programs))]
    return [run for found in run_all(tasks, jobs, progress) for run in found]


def in_sum(runs: Sequence[CrashRun]) -> list[CrashRun]:
    """Return the sums for each design and its stress settings, with the first explanation."""
    groups: dict[tuple[str, str], list[CrashRun]] = {}
    for run in runs:
        groups.setdefault((run.design, run.stress), []).append(run)
    return [_sum(group) for group in groups.values()]


def _sum(runs: Sequence[CrashRun]) -> CrashRun:
    stories = [run.story for run in runs if run.story]
    return replace(
        runs[0],
        programs=len(runs),
        points=sum(run.points for run in runs),
        all_points=sum(run.all_points for run in runs),
        images=sum(run.images for run in runs),
        repaired=sum(run.repaired for run in runs),
        restarts=sum(run.restarts for run in runs),
        checked=sum(run.checked for run in runs),
        unchecked=(
            None
            if any(run.unchecked is None for run in runs)
            else sum(run.unchecked or 0 for run in runs)
        ),
        violations=sum(run.violations for run in runs),
        wall_s=sum(run.wall_s for run in runs),
        story=stories[0] if stories else None,
    )
