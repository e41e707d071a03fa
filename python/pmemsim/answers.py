"""Check that after a crash a program answers as before or after an operation, without a checker."""

from __future__ import annotations

import fnmatch
import math
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pmemsim import _core
from pmemsim.crashing import Checker, folder_of_images
from pmemsim.errors import Error, did_you_mean
from pmemsim.persistency import Budget, extent_of, refuse_too_many
from pmemsim.program_check import Finding, WrongAnswer
from pmemsim.reduction import reduce_losses
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace

# Largest number of wrong images for which the losses that matter are determined.
_MOST_FINDINGS = 20
_SHOWN_CANDIDATES = 3
_SHOWN_TEXT = 200


@dataclass(frozen=True)
class AnswersWanted:
    """The reader of a check, the images that it reads, and the calls that count as operations."""

    reader: Checker
    operation: str | None
    """A glob of functions whose calls are operations.

    If None, the recording's regions are the operations.
    """
    eadr: bool
    budget: Budget
    seed: int = 1
    image: int | None = None
    """Number of the only image to check. If None, all images are checked."""
    jobs: int = 1


@dataclass(frozen=True)
class Answers:
    """The answers of a program's reader to the images that a crash may leave."""

    reader: str
    operations_are: tuple[str, ...]
    """The functions whose calls are operations. If empty, regions are the operations."""
    operations: int
    seed: int
    budget: str
    images: int
    possible: float
    complete: bool
    """Whether the reader read all images that a crash may leave; else `possible` is a bound."""
    wrong: int
    """Images whose answers are wrong."""
    unjudged: int
    """Images without a verdict, because there are too many allowed answers."""
    not_looked_into: int
    """Wrong images that were not examined, because there are enough findings."""
    wall_s: float
    findings: tuple[Finding, ...]

    @property
    def extent(self) -> str:
        """Describe in words how many of the possible images were read."""
        return extent_of(f"{self.images:,}", self.possible, exact=self.complete)

    def to_dict(self) -> dict[str, Any]:
        """Return the values that `--json` writes; the findings are listed with the others."""
        values = {name: value for name, value in vars(self).items() if name != "findings"}
        if math.isinf(self.possible):
            values["possible"] = None
        return values


def check_answers(
    trace: Trace, wanted: AnswersWanted, command: str, progress: Progress | None = None
) -> Answers:
    """Run a program's reader on the images that a crash may leave, and compare its answers.

    An answer is right if it equals the reader's answer to the image without losses right before or
    right after the operation that the crash interrupts. `command` is how the user would see a wrong
    image again. Raises an `Error` where nothing can be checked.
    """
    begin = time.monotonic()
    file = _core.TraceFile(str(trace.path))
    functions = _functions(trace, file, wanted.operation)
    with folder_of_images() as folder:
        images = _core.AnswerImages(
            file,
            wanted.eadr,
            wanted.seed,
            wanted.budget.most,
            wanted.reader.started_in(folder),
            wanted.jobs,
            functions,
        )
        refuse_too_many(trace, wanted.budget, images.possible)
        if images.operations == 0:
            raise Error(_no_operations(trace, file))
        checked = _CheckedImages(trace, wanted, images, command, begin, progress)
        checked.go()
    return Answers(
        reader=shlex.join(wanted.reader.command),
        operations_are=tuple(functions or ()),
        operations=images.operations,
        seed=wanted.seed,
        budget=wanted.budget.text,
        images=checked.shown,
        possible=checked.possible,
        complete=checked.complete,
        wrong=checked.wrong,
        unjudged=images.unchecked,
        not_looked_into=checked.unexamined,
        wall_s=time.monotonic() - begin,
        findings=tuple(group.finding() for group in checked.groups),
    )


# ---- Operations ----------------------------------------------------------------------------------


def _functions(trace: Trace, file: _core.TraceFile, pattern: str | None) -> list[str] | None:
    """Return the functions that the user names as operations; None means regions."""
    if pattern is None:
        return None
    uses = _core.uses_of_functions(file)
    matching = [use for use in uses if _matches(use.name, pattern)]
    inlined = [use.name for use in matching if use.inlined]
    if inlined:
        raise Error(
            f"--operation {pattern}: {inlined[0]} was inlined into its callers, so its calls "
            "can't be distinguished; declare it __attribute__((noinline)), or compile with "
            "-fno-inline"
        )
    if not matching:
        names = [use.name.partition("(")[0] for use in uses]
        raise Error(
            f"--operation {pattern}: {trace.name} executed no such "
            f"function{did_you_mean(pattern, names)}"
        )
    if not any(use.stores for use in matching):
        raise Error(
            f"--operation {pattern}: {matching[0].name} stores nothing to persistent memory; name "
            "a function that does"
        )
    return [use.name for use in matching]


def _matches(name: str, pattern: str) -> bool:
    """Return whether a function matches one of the globs between the commas of a pattern.

    A glob needn't have a C++ name's parameters; commas between parentheses belong to it.
    """
    names = (name, name.partition("(")[0])
    globs = re.split(r",(?![^(]*\))", pattern)
    return any(fnmatch.fnmatchcase(each, glob.strip()) for each in names for glob in globs)


def _no_operations(trace: Trace, file: _core.TraceFile) -> str:
    uses = [
        (use.calls == 1, use.depth, use.name, use.calls)
        for use in _core.uses_of_functions(file)
        if use.calls and use.stores and not use.inlined and use.depth > 1
    ]
    candidates = [
        f"{name} ({calls:,} call{'s' if calls > 1 else ''})"
        for _, _, name, calls in sorted(uses)[:_SHOWN_CANDIDATES]
    ]
    hint = f"; candidates: {', '.join(candidates)}" if candidates else ""
    return (
        f"--answers: {trace.name} has no atomic region (pm_begin), so its operations are unknown; "
        f"name the function of an operation with --operation{hint}"
    )


# ---- Images --------------------------------------------------------------------------------------


@dataclass
class _Group:
    """Wrong images that have lost the same stores."""

    place: Place
    thread: int
    operation: int
    wrong_answer: WrongAnswer
    lost: list[set[Place]]
    """Lost stores by line of memory; empty if nothing was lost."""
    count: int = field(default=1)

    def takes(self, lost: list[set[Place]]) -> bool:
        """Return whether an image with these losses belongs to the group, and add it if so.

        An image belongs to the group if it has lost at least the stores that the group has lost.
        The image's other losses in the same lines of memory are then added to the group.
        """
        same = [next((each for each in lost if own & each), None) for own in self.lost]
        if not same or None in same:
            return False
        for own, each in zip(self.lost, same, strict=True):
            own |= each or set()
        self.count += 1
        return True

    def finding(self) -> Finding:
        return Finding(
            kind="wrong-answer",
            reason="",
            place=self.place,
            calls=(),
            other=None,
            other_calls=(),
            count=self.count,
            executions=0,
            thread=self.thread,
            operation=self.operation,
            wrong_answer=self.wrong_answer,
        )


class _CheckedImages:
    """The images that a reader reads, and the errors found in its answers."""

    def __init__(
        self,
        trace: Trace,
        wanted: AnswersWanted,
        images: _core.AnswerImages,
        command: str,
        begin: float,
        progress: Progress | None,
    ) -> None:
        self.trace = trace
        self.wanted = wanted
        self.images = images
        self.command = command
        self.begin = begin
        self.progress = progress
        self.groups: list[_Group] = []
        self.wrong = self.unexamined = 0
        self.shown = 1
        self.possible = images.possible
        self.complete = False

    def go(self) -> None:
        """Run the reader on the wanted images, and reduce the losses of each wrong image."""
        number = self.wanted.image
        if number is None:
            self.images.show_all(self.wanted.budget.seconds, self._report)
            self.shown = self.images.number
            self.possible, self.complete = self.images.possible, self.images.complete
            wrong = self.images.find_wrong(self._report)
            self._refuse_useless_reader()
        else:
            self._refuse_failing_reader()
            if not self.images.go_to(number):
                raise Error(f"--image {number}: there are only {self.images.number:,} images")
            wrong = [number]
        for each in wrong:
            self._look_into(each)
        self.wrong = len(wrong) if number is None else len(self.groups)

    def _refuse_useless_reader(self) -> None:
        last = self._refuse_failing_reader()
        if not self.images.answers_differ:
            raise Error(
                f"{self._name}: the output is the same before and after all operations "
                f"({_first_line(last.printed)}), so a lost operation can't be detected; print the "
                "contents"
            )

    def _refuse_failing_reader(self) -> _core.Said:
        """Return the reader's answer to the final image without losses; an `Error` if it fails."""
        last = self._whole(self.images.segments)
        if not _succeeds(last):
            raise Error(
                f"{self._name}: the reader fails on the complete image at the end of the "
                f"recording: {self._words(last)}; it must recover the file that its last argument "
                "names, print the contents, and exit with 0"
            )
        if self._whole(self.images.segments).printed != last.printed:
            raise Error(
                f"{self._name}: the output differs between runs on the same image; it must depend "
                "only on the image, not on the file's name, addresses or time"
            )
        return last

    @property
    def _name(self) -> str:
        return f"--answers {shlex.join(self.wanted.reader.command)}"

    def _whole(self, order: int) -> _core.Said:
        return self.images.whole(order, self._report)

    def _look_into(self, number: int) -> None:
        if not self.images.go_to(number):
            return
        if self._is_known(0):
            return
        if len(self.groups) == _MOST_FINDINGS:
            self.unexamined += 1
            return
        wrong = self.images.check_image(self._report)
        if wrong is None:
            if self.wanted.image is None:
                raise Error(
                    f"{self._name}: the output differs between runs on the same image (image "
                    f"{number:,}); it must depend only on the image"
                )
            return
        self._add(
            number, reduce_losses(self.images, lambda: self.images.check_image(self._report), wrong)
        )

    def _is_known(self, crash_time: int) -> bool:
        """Return whether an existing group contains the image's losses up to this time."""
        lost = [{self._place(order)[0] for order in line} for line in self.images.lost(crash_time)]
        return any(group.takes(lost) for group in self.groups)

    def _place(self, order: int) -> tuple[Place, int, int]:
        segment = self.images.segment(order)
        return segment.place, segment.thread, segment.operation

    def _add(self, number: int, wrong: _core.Wrong) -> None:
        if self._is_known(wrong.crash_time):
            return
        lost = self.images.lost(wrong.crash_time)
        order = lost[0][0] if lost else self.images.newest()
        place, thread, operation = self._place(order) if order else (Place("", 0, ""), 0, 0)
        for group in self.groups:
            if group.place == place:
                group.count += 1
                return
        self.groups.append(
            _Group(
                place=place,
                thread=thread,
                operation=operation,
                wrong_answer=self._explanation(number, wrong, lost=bool(lost)),
                lost=[{self._place(each)[0] for each in line} for line in lost],
            )
        )

    def _explanation(self, number: int, wrong: _core.Wrong, *, lost: bool) -> WrongAnswer:
        got = wrong.got
        titles = _titles(wrong)
        allowed = [
            (title, self._whole(order)) for title, order in zip(titles, wrong.allowed, strict=False)
        ]
        return WrongAnswer(
            image=number,
            lost=lost,
            where=_where(wrong),
            answer=self._words(got),
            allowed=tuple(self._difference(title, expected, got) for title, expected in allowed),
            story=(*self.images.explanation(), *self._lost_later(wrong.crash_time)),
            command=f"{self.command} --image {number}",
        )

    def _lost_later(self, crash_time: int) -> list[str]:
        """Name stores that become visible before a later crash that may leave the same image."""
        places = dict.fromkeys(
            self._place(order)[0]
            for line in self.images.lost(crash_time)
            for order in line
            if not self.images.segment(order).seen
        )
        if not places:
            return []
        title = "lost (a later crash may leave the same image) among the data stored until then:"
        return [title, *(f"  {place}" for place in places)]

    def _difference(self, title: str, right: _core.Said, got: _core.Said) -> str:
        if not _succeeds(right) or not _succeeds(got):
            return f"{title}: {self._words(right)}"
        wanted, said = _lines(right), _lines(got)
        index = next(
            (i for i, (a, b) in enumerate(zip(wanted, said, strict=False)) if a != b),
            min(len(wanted), len(said)),
        )
        return f"{title}: line {index + 1} is {_line(wanted, index)}, not {_line(said, index)}"

    def _words(self, said: _core.Said) -> str:
        """Return an answer of the reader, shortened for a report."""
        if said.answer.ending == "too much":
            return f"{self.wanted.reader.command[0]} printed more than 16 MiB"
        if not _succeeds(said):
            return self.wanted.reader.problem_of(said.answer)
        return _first_line(said.printed)

    def _report(self, answered: float) -> None:
        if self.progress is not None:
            budget = self.wanted.budget
            self.progress(budget.share(answered, self.images.possible, self.begin))


def _succeeds(said: _core.Said) -> bool:
    return said.answer.ending == "exited" and said.answer.status == 0


def _lines(said: _core.Said) -> list[str]:
    return said.printed.decode(errors="replace").splitlines()


def _line(lines: Sequence[str], index: int) -> str:
    return f"`{lines[index][:_SHOWN_TEXT]}`" if index < len(lines) else "missing"


def _first_line(printed: bytes) -> str:
    lines = printed[: 10 * _SHOWN_TEXT].decode(errors="replace").splitlines()
    if not lines:
        return "nothing"
    return f"`{lines[0][:_SHOWN_TEXT]}`" + (", ..." if len(lines) > 1 else "")


def _titles(wrong: _core.Wrong) -> list[str]:
    """Return the titles of the allowed answers."""
    if wrong.executing:
        them = "it" if len(wrong.executing) == 1 else "all of them"
        return [f"before {them}", f"after {them}"]
    if wrong.set_up:
        return ["of a file of zeros", "before the first operation"]
    return ["of what has ended"]


def _where(wrong: _core.Wrong) -> str:
    """Describe the operations that the crash interrupts."""
    if wrong.set_up and not wrong.executing:
        return "before the first operation"
    if not wrong.executing:
        return f"between operations, when {wrong.ended:,} had ended"
    named = [
        f"{each.name or 'region'} number {each.number:,} (thread {each.thread})"
        for each in wrong.executing
    ]
    return f"in {' and '.join(named)}"
