"""Find flushes, fences and logging that a program doesn't need, and the time that each costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.advice.edits import NONE_LEFT_OUT, edited
from pmemsim.advice.logging import AFTER_RECOVERY, needless_logging
from pmemsim.advice.variants import Call, Variants, calls_of
from pmemsim.crashing import Checker
from pmemsim.parallel import Report, run_all
from pmemsim.persistency import Wanted, check_orders
from pmemsim.simulation import Configuration, Progress, simulate
from pmemsim.trace import Trace

SAME = "same crash images"
"""The proof that an instruction has no effect: every crash leaves the same images without it."""
NOTHING = (
    "no flush, fence or log can be removed: without it, a crash leaves other images, or the rules "
    "or the checker find an error"
)
"""The result for a program from which nothing can be removed."""


def is_proven(proof: str) -> bool:
    """Return whether all with such a proof can be removed together."""
    return proof == SAME or proof.startswith(AFTER_RECOVERY)


@dataclass(frozen=True)
class Superfluous:
    """A flush, a fence or a call of pm_log that can be removed."""

    call: Call
    proof: str
    """`SAME`, how many crash images of the program without it a checker has accepted, or why
    recovery doesn't need the log's entry."""
    saved_ns: float
    """How much shorter the run is without this instruction; negative: longer."""

    @property
    def proven(self) -> bool:
        """Return whether all with such a proof can be removed together."""
        return is_proven(self.proof)

    def to_dict(self) -> dict[str, Any]:
        """Return the instruction as `--json` writes it."""
        place, *calls = self.call.places
        return {
            "name": self.call.name,
            "file": place.file,
            "line": place.line,
            "function": place.function,
            "calls": [call.to_dict() for call in calls],
            "executed": self.call.executed,
            "proof": self.proof,
            "saved_ns": self.saved_ns,
        }


@dataclass(frozen=True)
class Savings:
    """All that can be removed, and the time of the run with and without it."""

    each: tuple[Superfluous, ...]
    """Those with a proof first, then by the time that they cost."""
    time_ns: float
    """Time of the run as recorded."""
    without_ns: float
    """Time of the run without all proven ones together."""
    note: str = ""
    """Why calls of pm_log weren't examined; empty if they were, or if there are none."""

    @property
    def proven(self) -> list[Superfluous]:
        """Return those that can be removed together."""
        return [each for each in self.each if each.proven]


def find_superfluous(
    trace: Trace,
    configuration: Configuration,
    wanted: Wanted,
    checker: Checker | None,
    folder: Path,
    jobs: int,
    progress: Progress | None = None,
) -> Savings:
    """Leave out each flush, fence and call of pm_log; prove that it has no effect, and simulate.

    One without which the rules find an error is needed, too: images don't tell that data must be
    durable when an operation ends, or when the program replies. Of several instructions that make
    one another superfluous, the first is kept. Without a checker, only those with a proof are
    returned. Edited recordings are written to `folder`. Raises an `Error` if the design can't run
    the recording.
    """
    variants = Variants(trace, wanted, folder / "edited.pmt")
    candidates, together = _candidates(variants, checker, jobs, progress)
    logging = needless_logging(trace, configuration, together)
    candidates += logging.calls
    together = together.joined(logging.together)
    alone = [call.without for call, _ in candidates]
    times = _Times(trace, configuration, folder, jobs)
    base, without, *each = times.of([NONE_LEFT_OUT, together, *alone])
    found = [
        Superfluous(call, proof, base - time)
        for (call, proof), time in zip(candidates, each, strict=True)
    ]
    ordered = sorted(found, key=lambda one: (not one.proven, -one.saved_ns))
    return Savings(tuple(ordered), base, without, logging.note)


def _candidates(
    variants: Variants, checker: Checker | None, jobs: int, progress: Progress | None
) -> tuple[list[tuple[Call, str]], _core.Without]:
    """Return what can be removed, each with its proof, and all that has a proof as one."""
    calls = [call for call in calls_of(variants.trace) if not call.in_region_code]
    together, found = NONE_LEFT_OUT, list[tuple[Call, str]]()
    for index, call in enumerate(calls):
        if progress:
            progress(index / len(calls))
        more = together.joined(call.without)
        if variants.does_without(more):
            together = more
            found.append((call, SAME))
        elif checker and (proof := _accepted(variants, call, checker, jobs)):
            found.append((call, proof))
    return found, together


def _accepted(variants: Variants, call: Call, checker: Checker, jobs: int) -> str:
    """Say how many images without the call the checker accepts; empty: it is needed."""
    if variants.has_same_images(call.without) or not variants.breaks_no_rule(call.without):
        return ""  # rules need it, or something that goes makes it necessary
    left = replace(variants.wanted, without=call.without)
    run = check_orders(variants.trace, left, checker, jobs)
    if run.story:
        return ""
    return f"{'accepted' if run.complete else 'not refuted'}: {run.extent} crash images"


class _Times:
    def __init__(self, trace: Trace, configuration: Configuration, folder: Path, jobs: int) -> None:
        self.trace = trace
        self.configuration = configuration
        self.folder = folder
        self.jobs = jobs

    def of(self, variants: Sequence[_core.Without]) -> list[float]:
        """Return the simulated time of the program without each of these, in ns."""
        every = NONE_LEFT_OUT
        for without in variants:
            every = every.joined(without)

        def task(number: int, without: _core.Without) -> Callable[[Report], float]:
            def run(report: Report) -> float:
                path = self.folder / f"without-{number}.pmt"
                copy = edited(self.trace, path, (), without, reserved=every)
                time = simulate(copy.trace, self.configuration, report).time_ns
                path.unlink()
                return time

            return run

        return run_all([task(*each) for each in enumerate(variants)], self.jobs)
