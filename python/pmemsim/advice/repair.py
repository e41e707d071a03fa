"""Find the smallest repair of a program that lacks flushes or fences, on its recording.

    1  The recording is checked by the rules of x86's persistent memory and, if there is a checker,
       by the program's crash images. The first error tells which store may be lost, and which later
       store shouldn't be without it.
    2  A flush behind the lost store, or a fence before the later one, is added to the recording,
       and the copy is checked again, until it is accepted.
    3  Then each step is removed again if the rest is accepted without it, and a fence is moved to
       where it executes less often, if that is accepted.
    4  What the repair makes useless is named: flushes and fences of the program without which a
       crash then leaves the same images, and the rules find nothing.

A step applies to all executions of its source line. So the result is a repair of the program's
text, as far as the recording shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pmemsim import _core
from pmemsim.advice.edits import NONE_LEFT_OUT, Edited, Step, after_call, at, edited
from pmemsim.advice.variants import Variants, calls_of
from pmemsim.crashing import Checker
from pmemsim.persistency import ImageExplanation, ModelRun, Wanted, check_orders
from pmemsim.program_check import Finding, check_program
from pmemsim.trace import Place, Trace

MOST_STEPS = 24
"""Steps after which the search gives up: a program that lacks more has another problem."""

_UNFENCED = ("flushed-not-fenced", "locked-fence-only", "nt-not-fenced", "flushed-by-another")
_READ = ("reads-unpersisted", "could-read-unpersisted")
"""Findings about another thread's store, which they don't always name: images do."""
_MENDED = frozenset({
    "never-flushed", "stored-after-flush", "published-unflushed", "replies-unpersisted",
    *_UNFENCED, *_READ,
})  # fmt: skip
"""Findings that flushes and fences can mend."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of rules and images on a recording."""

    finding: Finding | None
    """The first finding of the rules that flushes and fences can mend."""
    run: ModelRun | None
    """The result of the checker; None if there is none, or if the finding is enough."""

    @property
    def story(self) -> ImageExplanation | None:
        """Return the explanation of the image that the checker rejects."""
        return self.run.story if self.run else None

    @property
    def accepted(self) -> bool:
        """Return whether neither has found an error."""
        return self.finding is None and self.story is None

    @property
    def problem(self) -> str:
        """Say what was found; empty: nothing."""
        if self.finding:
            return f"{self.finding.place.file}:{self.finding.place.line}: {self.finding.kind}"
        return self.story.lines[0] if self.story else ""

    @property
    def proof(self) -> str:
        """Say how far the acceptance goes."""
        if self.run is None:
            return "accepted by the rules; no checker was given"
        if self.run.complete:
            return f"accepted: {self.run.extent} crash images"
        return f"not refuted: {self.run.extent} crash images accepted"


@dataclass(frozen=True)
class Repair:
    """Steps that make a program crash-safe, as far as its recording shows."""

    problem: str
    """The first error that was found in the recorded program."""
    steps: tuple[Step, ...]
    """Empty: no repair by flushes and fences was found."""
    reason: str
    """The reason if none was found."""
    flushes: int
    """Executed flushes that the repair adds to the recording."""
    fences: int
    proof: str
    useless: tuple[str, ...] = ()
    """What the repair makes useless, as `clwb of list.c:12`."""
    saved: int = 0
    """Their executions."""
    tried: int = 0
    """Number of edited recordings that were checked."""


class Judge:
    """Checks recordings by the rules and, if there is a checker, by their crash images."""

    def __init__(self, wanted: Wanted, checker: Checker | None, jobs: int) -> None:
        self.wanted = wanted
        self.checker = checker
        self.jobs = jobs

    def __call__(self, trace: Trace) -> Verdict:
        """Return the verdict on a recording."""
        finding = self._first_finding(trace)
        if self.checker is None or (finding and finding.kind not in _READ):
            return Verdict(finding, None)
        return Verdict(finding, check_orders(trace, self.wanted, self.checker, self.jobs))

    def _first_finding(self, trace: Trace) -> Finding | None:
        faults = check_program(trace).faults
        return next((each for each in faults if each.kind in _MENDED), None)


def repair(
    trace: Trace, judge: Judge, folder: Path, progress: Callable[[float], None] | None = None
) -> Repair | None:
    """Return the smallest repair that the search finds; None if nothing is wrong.

    Edited recordings are written to `folder`. Raises an `Error` if one can't be checked.
    """
    first = judge(trace)
    if first.accepted:
        return None
    search = _Search(trace, judge, folder, progress)
    return search.run(first)


class _Search:
    def __init__(
        self,
        trace: Trace,
        judge: Judge,
        folder: Path,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.trace = trace
        self.judge = judge
        self.path = folder / "edited.pmt"
        self.progress = progress
        self.tried = 0

    def run(self, first: Verdict) -> Repair:
        """Add steps until the recording is accepted, then remove those that aren't needed."""
        verdict, steps = first, list[Step]()
        while not verdict.accepted:
            new = next((each for each in proposals(verdict) if not set(each) <= set(steps)), None)
            if new is None or len(steps) >= MOST_STEPS:
                why = _why_none(verdict, len(steps))
                return Repair(first.problem, (), why, 0, 0, "", tried=self.tried)
            steps += [step for step in new if step not in steps]
            verdict, _ = self._check(steps)
        steps = self._cheaper(self._fewer(steps))
        verdict, copy = self._check(steps)
        useless, saved = self._useless(steps)
        return Repair(
            first.problem, tuple(steps), "", copy.flushes, copy.fences, verdict.proof, useless,
            saved, self.tried,
        )  # fmt: skip

    def _check(self, steps: Sequence[Step]) -> tuple[Verdict, Edited]:
        copy = edited(self.trace, self.path, steps)
        self.tried += 1
        if self.progress:
            self.progress(1 - 0.9**self.tried)
        return self.judge(copy.trace), copy

    def _fewer(self, steps: list[Step]) -> list[Step]:
        for step in sorted(steps, key=lambda each: each.is_flush):
            fewer = [each for each in steps if each != step]
            if self._check(fewer)[0].accepted:
                steps = fewer
        return steps

    def _cheaper(self, steps: list[Step]) -> list[Step]:
        """Move fences behind the flushes of the repair, where they execute less often."""
        for fence in [each for each in steps if each.what == "fence before"]:
            for flush in [each for each in steps if each.what == "flush"]:
                behind = Step("fence after", flush.file, flush.line, flush.function)
                moved = [each for each in steps if each != fence] + [behind]
                fences = edited(self.trace, self.path, steps).fences
                verdict, copy = self._check(moved)
                if copy.fences < fences and verdict.accepted:
                    return self._cheaper(moved)
        return steps

    def _useless(self, steps: Sequence[Step]) -> tuple[tuple[str, ...], int]:
        """Return the program's instructions that the repair makes useless, and their executions."""
        recorded = Variants(self.trace, self.judge.wanted, self.path)
        repaired = Variants(self.trace, self.judge.wanted, self.path, tuple(steps))
        together, places, executed = NONE_LEFT_OUT, list[str](), 0
        for call in calls_of(self.trace):
            more = together.joined(call.without)
            if repaired.does_without(more) and not recorded.does_without(call.without):
                together = more
                places.append(f"{call.name} of {call.caller}")
                executed += call.executed
        return tuple(places), executed


def _why_none(verdict: Verdict, steps: int) -> str:
    if verdict.story and not verdict.story.lost:
        return (
            "the checker rejects an image that has lost nothing, so the order of the program's own "
            "stores must change"
        )
    if steps >= MOST_STEPS:
        return f"{MOST_STEPS} added flushes and fences are not enough"
    return (
        "no added flush or fence mends it; the order of the stores, or what the program logs, must "
        "change"
    )


def proposals(verdict: Verdict) -> Iterator[list[Step]]:
    """Return what could mend an error, the most likely first."""
    if verdict.story:
        for lost in verdict.story.lost:
            yield from _for_lost(lost)
    if verdict.finding:
        yield from _for_finding(verdict.finding)


def _for_lost(lost: _core.LostStore) -> Iterator[list[Step]]:
    if lost.place.line == 0:
        return
    flush = [at("flush", lost.place)] if lost.why == "not flushed" else []
    if lost.kept:
        yield [*flush, at("fence before", lost.kept)]
    elif lost.why == "not fenced" and lost.flush_calls:
        yield [after_call(lost.flush_calls)]
    if lost.why != "not fenced":
        yield [*flush, at("fence after", lost.place)]
    yield [at("flush", lost.place), at("fence after", lost.place)]


def _for_finding(finding: Finding) -> Iterator[list[Step]]:
    place, other = finding.place, finding.other
    calls = (place, *finding.calls)
    if finding.kind in ("never-flushed", "stored-after-flush"):
        yield [at("flush", place)]
        yield [at("flush", place), at("fence after", place)]
    elif finding.kind == "published-unflushed" and other:
        yield [at("flush", other), at("fence before", place)]
        yield [at("flush", place), at("fence before", other)]
    elif finding.kind in _UNFENCED:
        if other and other.line and finding.kind != "flushed-by-another":
            yield [at("fence before", other)]
        yield [at("fence after", place)]
        for depth in range(1, len(calls) + 1):
            yield [after_call(calls[:depth])]
    elif finding.kind in _READ and other:
        if finding.order:
            store = finding.order.store
            yield [at("flush", store), at("fence after", store)]
        yield [at("flush loaded", place), at("fence before", other)]
    else:
        for store in _stores_of(finding):
            yield [at("flush", store), at("fence after", store)]


def _stores_of(finding: Finding) -> list[Place]:
    return [place for place in (finding.other, finding.place) if place and place.line]
