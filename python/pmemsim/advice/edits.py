"""Edit recordings: add flushes and fences to a program, or leave some out, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pmemsim import _core
from pmemsim.trace import Place, Trace

What = Literal["flush", "flush loaded", "fence before", "fence after", "fence after call"]
NONE_LEFT_OUT: _core.Without = _core.Without()


@dataclass(frozen=True, order=True)
class Step:
    """A flush or a fence to add to a program."""

    what: What
    file: str
    line: int
    function: str
    calls: tuple[tuple[str, int], ...] = ()
    """For a fence after a call: file and line of its flush, then those of the flush's callers."""

    @property
    def place(self) -> str:
        """Return the source line, such as `list.c:12`."""
        return f"{self.file}:{self.line}"

    @property
    def is_flush(self) -> bool:
        """Return whether the step adds a flush; otherwise it adds a fence."""
        return self.what in ("flush", "flush loaded")

    def __str__(self) -> str:
        """Say what to do."""
        if self.is_flush:
            verb = "loads" if self.what == "flush loaded" else "stores"
            return f"flush what {self.place} {verb}, directly after that line"
        where = "before" if self.what == "fence before" else "after"
        return f"fence {where} {self.place}"

    def to_dict(self) -> dict[str, Any]:
        """Return the step as `--json` writes it."""
        return {name: getattr(self, name) for name in ("what", "file", "line", "function")}


def at(what: What, place: Place) -> Step:
    """Return the step at a statement."""
    return Step(what, place.file, place.line, place.function)


def after_call(calls: Sequence[Place]) -> Step:
    """Return a fence after a flush; `calls` are its line and those of its callers."""
    caller = calls[-1]
    lines = tuple((call.file, call.line) for call in calls)
    return Step("fence after call", caller.file, caller.line, caller.function, lines)


@dataclass(frozen=True)
class Edited:
    """An edited copy of a recording."""

    trace: Trace
    flushes: int
    """Executed flushes that were added."""
    fences: int


def edited(
    trace: Trace,
    path: Path,
    steps: Iterable[Step],
    without: _core.Without = NONE_LEFT_OUT,
    *,
    reserved: _core.Without = NONE_LEFT_OUT,
    only_sites: bool = False,
) -> Edited:
    """Write a copy of the recording with these steps, and without some flushes and fences.

    Instructions of a copy have new numbers, and branch prediction uses the numbers. `reserved` are
    flushes and fences that other copies leave out: this copy executes them, but numbers them as if
    it could leave them out. So compare times only among copies with equal steps, and with the same
    instructions in `without` and `reserved` together. With
    `only_sites`, the copy has the new numbers, but executes the same operations as the recording.

    No value depends on a flush or a fence, so the copy is also a recording of the program that has
    been changed in this way. Raises an `Error` if the copy can't be written.
    """
    edits = _core.Edits(without, reserved, only_sites)
    for step in steps:
        if step.what == "flush":
            edits.flush(step.file, step.line)
        elif step.what == "flush loaded":
            edits.flush_loaded(step.file, step.line)
        elif step.what == "fence before":
            edits.fence_before(step.file, step.line)
        elif step.what == "fence after":
            edits.fence_after(step.file, step.line)
        else:
            for call in _calls_of(trace, step):
                edits.fence_after_call(call)
    flushes, fences = edits.write(trace.file, path)
    return Edited(Trace(path), flushes, fences)


def _calls_of(trace: Trace, step: Step) -> list[_core.Without]:
    return [
        call.without
        for call in _core.persist_calls(trace.file)
        if tuple((each.file, each.line) for each in (call.place, *call.calls)) == step.calls
    ]
