"""`pmemsim crash`: print the results, and fail if an image is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pmemsim import random_programs
from pmemsim.cli.console import out, si, table
from pmemsim.crashing import CrashRun, Refused
from pmemsim.errors import CheckFailed


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
