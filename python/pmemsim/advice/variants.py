"""Variants of a recorded program without some flushes and fences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pmemsim import _core
from pmemsim.advice.edits import NONE_LEFT_OUT, Step, edited
from pmemsim.left_out import have_same_images
from pmemsim.persistency import Wanted
from pmemsim.program_check import check_program
from pmemsim.trace import Place, Trace

# Functions of pm.h's library that flush or fence because the program asks for it.
_FLUSH_FUNCTIONS = {
    "flush_clwb", "flush_clflushopt", "flush_clflush", "persist_flush", "persist_fence",
    "pm_flush", "pm_order", "pm_durable",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A line of the program that flushes or fences: what can be taken out of its source.

    The compiler may have made several instructions of it, for example where it has inlined the
    line's function.
    """

    name: str
    """clwb, clflushopt, clflush, sfence, mfence."""
    places: tuple[Place, ...]
    """The instruction's line and those of the helper functions' calls, the innermost first."""
    executed: int
    without: _core.Without

    @property
    def in_region_code(self) -> bool:
        """Return whether pm.h's library executes it for a region, where no program can remove it.

        The log's code comes and goes with the program's calls of pm_log.
        """
        return any(
            place.file.startswith("library/") and place.function not in _FLUSH_FUNCTIONS
            for place in self.places
        )

    @property
    def caller(self) -> Place:
        """Return the line of the program that flushes or fences, directly or through helpers."""
        return self.places[-1]


def calls_of(trace: Trace) -> list[Call]:
    """Return the lines that flush or fence, the last one first."""
    found: dict[tuple[str, tuple[tuple[str, int], ...]], Call] = {}
    for each in reversed(_core.persist_calls(trace.file)):
        places = (each.place, *each.calls)
        key = (each.name, tuple((place.file, place.line) for place in places))
        before = found.get(key)
        found[key] = Call(
            each.name,
            places,
            each.executed + (before.executed if before else 0),
            each.without.joined(before.without) if before else each.without,
        )
    return list(found.values())


class Variants:
    """A program, perhaps with added steps, and the same program without some instructions.

    Edited recordings are written to `path`, one after the other.
    """

    def __init__(
        self, trace: Trace, wanted: Wanted, path: Path, steps: tuple[Step, ...] = ()
    ) -> None:
        self.trace = trace
        self.wanted = wanted
        self.path = path
        self.steps = steps

    def does_without(self, without: _core.Without) -> bool:
        """Return whether the instructions have no effect, on images or on the rules.

        Images don't tell that data must be durable when an operation ends, or when the program
        replies; the rules do.
        """
        return self.has_same_images(without) and self.breaks_no_rule(without)

    def has_same_images(self, without: _core.Without) -> bool:
        """Return whether a crash leaves the same images without the instructions."""
        if not self.steps:
            return have_same_images(self.trace, self.wanted, without)
        variant = self._without(without).file
        whole = self._whole.file
        orders = [order.of(self.trace) for order in self.wanted.orders(self.trace)]
        return all(_core.same_images(whole, order, variant, order) for order in orders)

    def breaks_no_rule(self, without: _core.Without) -> bool:
        """Return whether the rules find no other error without the instructions."""
        return _faults(self._without(without)) <= self._whole_faults

    def _without(self, without: _core.Without) -> Trace:
        return edited(self.trace, self.path, self.steps, without).trace

    @cached_property
    def _whole(self) -> Trace:
        if not self.steps:
            return self.trace
        return edited(
            self.trace, self.path.with_suffix(".whole.pmt"), self.steps, NONE_LEFT_OUT
        ).trace

    @cached_property
    def _whole_faults(self) -> set[tuple[str, str]]:
        return _faults(self._whole)


def _faults(trace: Trace) -> set[tuple[str, str]]:
    """Return the errors that the rules find, by kind and line."""
    return {(each.kind, str(each.place)) for each in check_program(trace).faults}
