"""Run a user's checker on the images that a model or guarantees allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pmemsim.crashing import Checker
from pmemsim.errors import Error
from pmemsim.left_out import LeftOut, check_without_each
from pmemsim.persistency import ModelRun, Wanted, combined, show_order
from pmemsim.progress import Watch, run_one
from pmemsim.recovery import RecoveryRun, crash_recovery, only_one
from pmemsim.trace import Trace


@dataclass(frozen=True)
class Images:
    """The result of a checker on the images of one model."""

    run: ModelRun
    recovery: RecoveryRun | None = None
    """The result of crashes during recovery; None if these were not wanted."""
    left_out: tuple[LeftOut, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `--json` (keys: docs/reference/results.md)."""
        recovery = self.recovery.to_dict() if self.recovery else None
        left_out = [instruction.to_dict() for instruction in self.left_out]
        return {
            **self.run.to_dict(),
            "recovery": recovery,
            **({"left_out": left_out} if left_out else {}),
        }


def check_images(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: Callable[[Wanted], str],
    jobs: int,
    watch: Watch,
    *,
    without_each: bool,
) -> Images:
    """Run the checker on images, on crashes of its recovery, and on images without instructions.

    Each step runs only if the checker rejected no image before. `command` returns the command that
    shows images to the user again.
    """
    by = f"{trace.name} under {wanted.allowed_by}"
    orders = wanted.orders(trace)
    known: set[int | None] = set()
    runs: list[ModelRun] = []
    for order in orders:
        found = _show_order(trace, order, checker, command(order), jobs, by, known, watch)
        runs += [found] if found else []
        run = combined(runs, wanted.budget)
        if run.story:
            return Images(run)
        if wanted.image is None:
            _refuse_unread(runs[0])
    recovery = None
    if wanted.design is None and not only_one(wanted):
        first = orders[0]
        recovery = run_one(
            f"recovery of {by}",
            lambda report: crash_recovery(
                trace, first, checker, runs[0], command(first), jobs, report
            ),
            watch,
        )
    if not without_each:
        return Images(run, recovery)
    left_out = run_one(
        f"{by} without each flush and fence",
        lambda report: tuple(check_without_each(trace, wanted, checker, jobs, report)),
        watch,
    )
    return Images(run, recovery, left_out)


def _show_order(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: str,
    jobs: int,
    by: str,
    known: set[int | None],
    watch: Watch,
) -> ModelRun | None:
    # A wrong image of recovery is written instead of the image with which recovery began.
    first = wanted if wanted.recovery_image is None else replace(wanted, keep=None)
    late = "" if wanted.delayed is None else f", thread {wanted.delayed} delayed"
    return run_one(
        by + late,
        lambda report: show_order(trace, first, checker, command, known, jobs, report),
        watch,
    )


def _refuse_unread(run: ModelRun) -> None:
    if run.unread:
        raise Error(
            f"{run.workload}: the checker read no data that a crash can change, so no image was "
            "checked; the checker must read the image file that its last argument names"
        )
