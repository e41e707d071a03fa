"""Leave out each of a program's flushes and fences in turn, and test whether a checker notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from pmemsim import _core
from pmemsim.crashing import Checker
from pmemsim.persistency import Wanted, check_orders
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace

Verdict = Literal["found", "same images", "all accepted", "not found"]


@dataclass(frozen=True)
class LeftOut:
    """A flush or a fence, and the verdict on the program without it."""

    name: str
    """clwb, clflushopt, clflush, sfence, mfence."""
    file: str
    line: int
    function: str
    calls: tuple[Place, ...]
    """Calls that led to the instruction if it is in a helper function, the innermost first."""
    executed: int
    """Number of executions; for a flush, only executions on persistent memory."""
    verdict: Verdict
    """The verdict on the program without the instruction.

    Either the checker rejects an image, or the images are the same, or it accepts all images, or it
    accepts those that it has checked.
    """
    problem: str
    """The checker's answer to the image that it rejects; empty: there is none."""
    images: str
    """Number of images that the checker has checked, and of all; empty if they are the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return the instruction as `--json` writes it."""
        return {**vars(self), "calls": [call.to_dict() for call in self.calls]}

    @property
    def place(self) -> str:
        """Return the line of the program that flushes or fences, directly or through helpers."""
        last = self.calls[-1] if self.calls else self
        return f"{last.file}:{last.line}"

    @property
    def way(self) -> str:
        """Return the functions that lead there, innermost first, and the lines between helpers."""
        helpers = [f"{call.function}:{call.line}" for call in self.calls[:-1]]
        return " < ".join([self.function, *helpers, *(call.function for call in self.calls[-1:])])


def check_without_each(
    trace: Trace, wanted: Wanted, checker: Checker, jobs: int, progress: Progress | None = None
) -> Iterator[LeftOut]:
    """Leave out each flush and each fence in turn, and check the images of the remaining program.

    No value depends on a flush or a fence, so the recording is also one of the program without it.
    If the images without the instruction are the same, they aren't checked again.
    """
    file = _core.TraceFile(str(trace.path))
    found = _core.persist_calls(file)
    for index, call in enumerate(found):
        place = call.place
        where = (
            call.name, place.file, place.line, place.function, tuple(call.calls), call.executed,
        )  # fmt: skip
        report = _part_of(progress, index, len(found)) if progress else None
        if report:
            report(0)
        left = replace(wanted, without=call.without)
        if have_same_images(trace, wanted, call.without):
            yield LeftOut(*where, "same images", "", "")
            continue
        run = check_orders(trace, left, checker, jobs, report)
        said = run.story.lines[0] if run.story else ""
        unnoticed: Verdict = "all accepted" if run.complete else "not found"
        yield LeftOut(*where, "found" if run.story else unnoticed, said, run.extent)


def _part_of(progress: Progress, index: int, parts: int) -> Progress:
    return lambda share: progress((index + share) / parts)


def have_same_images(trace: Trace, wanted: Wanted, without: _core.Without) -> bool:
    """Return whether a crash leaves the same images without some instructions.

    This is so if it holds in each order of the threads that is explored.
    """
    return all(
        _core.same_images(
            trace.file, order.of(trace), trace.file, replace(order, without=without).of(trace)
        )
        for order in wanted.orders(trace)
    )
