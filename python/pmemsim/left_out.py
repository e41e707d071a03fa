"""Would anybody notice? A program's flushes and fences, each left out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from pmemsim import _core
from pmemsim.crash import Checker
from pmemsim.persistency import Wanted, show_images
from pmemsim.simulation import Progress
from pmemsim.trace import Trace

Verdict = Literal["found", "same images", "all accepted", "not found"]


@dataclass(frozen=True)
class LeftOut:
    """One instruction, and what became of the program without it."""

    name: str
    """clwb, clflushopt, clflush, sfence, mfence."""
    file: str
    line: int
    function: str
    executed: int
    """How often; of flushes, those of persistent memory."""
    verdict: Verdict
    """The checker rejects an image; or a crash leaves the same images as with it; or others, all of
    which the checker accepts; or the checker accepts those that it has seen, which aren't all."""
    problem: str
    """What the checker says of the image that it rejects; empty: there is none."""
    images: str
    """How many of how many images the checker has seen; empty: none, they are the same."""

    def to_dict(self) -> dict[str, Any]:
        """The instruction as `--json` writes it."""
        return dict(vars(self))


def leave_each_out(
    trace: Trace, wanted: Wanted, checker: Checker, jobs: int, progress: Progress | None = None
) -> Iterator[LeftOut]:
    """Leave out each flush and each fence in turn, and show the checker what a crash leaves then.

    No value depends on a flush or a fence, so that the recording is also that of the program
    without it. Where all images can be made, those that are the same as with it are shown to
    nobody.
    """
    file = _core.TraceFile(str(trace.path))
    instructions = _core.persist_instructions(file)
    whole = _core.fingerprint(file, wanted.of(trace))
    for index, (site, name, source, line, function, executed) in enumerate(instructions):
        where = (name, source, line, function, executed)
        if progress:
            progress(index / len(instructions))
        left = replace(wanted, without=site)
        without = _core.fingerprint(file, left.of(trace))
        if whole is not None and without == whole:
            yield LeftOut(*where, "same images", "", "")
            continue
        run = show_images(trace, left, checker, "", jobs)
        said = run.story.lines[0] if run.story else ""
        unnoticed: Verdict = "all accepted" if run.complete else "not found"
        yield LeftOut(*where, "found" if run.story else unnoticed, said, run.extent)
