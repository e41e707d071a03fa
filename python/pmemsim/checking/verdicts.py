"""The verdicts of the methods of a check: rules, images and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pmemsim.answers import Answers
from pmemsim.checking.images import Images
from pmemsim.crashing import Checker
from pmemsim.left_out import LeftOut
from pmemsim.persistency import ModelRun
from pmemsim.program_check import Finding, Report
from pmemsim.recovery import RecoveryRun

_TOLERATED = 0.01
"""Largest share of cases without a verdict that leaves the exit code unchanged."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of one method."""

    method: str
    """The method: rules, images or answers."""
    model: str
    text: str
    found: tuple[str, ...] = ()
    """The errors, in sentences; if there are any, the exit code is 1."""
    undecided: str = ""
    """Description of cases without a verdict; if not empty, the exit code is 3."""
    failed: str = ""
    """Reason why the method has checked nothing; if not empty, the exit code is 2."""

    def __str__(self) -> str:
        """Return the verdict as one line."""
        return f"{self.method} under {self.model}: {self.text}"

    def to_dict(self) -> dict[str, str]:
        """Return the verdict for `--json` (keys: docs/reference/results.md)."""
        results = {
            "found": self.found, "not judged": self.failed, "undecided": self.undecided,
        }  # fmt: skip
        result = next((name for name, applies in results.items() if applies), "nothing found")
        return {"method": self.method, "model": self.model, "result": result, "text": self.text}


def undecided(number: int, of: int, what: str, why: str) -> str:
    """Describe the number of cases without a verdict; empty if they are few."""
    if number <= _TOLERATED * of:
        return ""
    return f"{number:,} of {of:,} {what} have no verdict: {why}"


def verdict_of_rules(report: Report, *, strict: bool) -> Verdict:
    """Return the verdict of the rules, without the reader's wrong answers.

    If `strict`, notes are errors.
    """
    faults = report.faults
    costly = len([each for each in report.findings if not each.loses_data])
    counts = report.counts
    notes = f", {_counted(len(report.undecided), 'note')}" if report.undecided else ""
    text = (
        f"{_findings(len(faults))} that can lose data, {costly} that cost time or space{notes}; "
        f"{counts['pm_stores']:,} stores to persistent memory, {counts['flushes']:,} flushes, "
        f"{counts['fences']:,} fences, {counts['regions']:,} regions"
    )
    found = []
    if faults:
        found.append(f"{_findings(len(faults))} that can lose data; the first: {_first(faults)}")
    if strict and report.undecided:
        number = _counted(len(report.undecided), "note")
        found.append(f"{number} (--strict); the first: {_first(report.undecided)}")
    return Verdict("rules", report.rules, text, tuple(f"{report.workload}: {it}" for it in found))


def _first(findings: Sequence[Finding]) -> str:
    first = findings[0]
    return f"{first.place}: {first.kind}: {first.effect}"


def _findings(count: int) -> str:
    return _counted(count, "finding")


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def notes_on_answers(answers: Answers) -> list[str]:
    """Return notes on images that were not checked or not examined."""
    found = []
    if answers.unjudged:
        found.append(f"{answers.unjudged:,} images have no verdict: they are {_TOO_MANY}")
    if answers.not_looked_into:
        found.append(f"{answers.not_looked_into:,} more images with wrong answers are not examined")
    return found


_TOO_MANY = (
    "of crashes during operations of several threads, or outside operations, with too many states "
    "to compare"
)


def verdict_of_answers(answers: Answers, model: str, report: Report) -> Verdict:
    """Return the verdict of the reader's answers, without suppressed findings."""
    of = f"calls of {', '.join(answers.operations_are)}" if answers.operations_are else "regions"
    text = (
        f"{answers.extent} images answered by {answers.reader}, {answers.operations:,} operations "
        f"({of}), {answers.wrong:,} wrong answers"
    )
    found = []
    if report.wrong_answers:
        first = report.wrong_answers[0]
        assert first.wrong_answer is not None
        lines = [
            f"{report.workload}: {answers.wrong:,} wrong answers; the first: {first.place}: "
            f"{first.kind}: {first.effect}",
            *first.wrong_answer.lines,
        ]
        found.append("\n  ".join(lines))
    lacking = undecided(answers.unjudged, answers.images, "images", f"they are {_TOO_MANY}")
    return Verdict("answers", model, text, tuple(found), lacking)


def verdict_of_images(images: Images, checker: Checker) -> Verdict:
    """Return the verdict of the checker on the images of one model."""
    run, recovery, left_out = images.run, images.recovery, images.left_out
    text = f"{run.extent} images checked by {checker.name}, {_rejected(run.story)}"
    if recovery and not recovery.reason:
        text += f"; crashes during recovery: {recovery.extent}, {_rejected(recovery.story)}"
    if left_out:
        counts = Counter(each.verdict for each in left_out)
        each_verdict = ", ".join(f"{number} {name}" for name, number in counts.items())
        text += f"; without each of {len(left_out)} flushes and fences: {each_verdict}"
    found = (*_first_crash(run), *_second_crash(run, recovery))
    lacking = [each for each in (_unnoticed(left_out), _unexplored(run, recovery)) if each]
    return Verdict("images", run.model, text, found, "; ".join(lacking))


def _unnoticed(left_out: Sequence[LeftOut]) -> str:
    """Report flushes and fences that may be useless, if there are too many of them."""
    open_ = [each for each in left_out if each.verdict == "not found"]
    first = f"; the first: {open_[0].name} at {open_[0].place}" if open_ else ""
    return undecided(
        len(open_),
        len(left_out),
        "flushes and fences",
        "without them a crash leaves further images; the checker accepts those within the budget; "
        f"a larger --budget checks more{first}",
    )


def _unexplored(run: ModelRun, recovery: RecoveryRun | None) -> str:
    """Report that all images of second crashes were wanted, and only some were checked."""
    if recovery is None or recovery.complete or run.budget != "all":
        return ""
    return f"--budget all: only {recovery.extent} images of crashes during recovery were checked"


def _rejected(story: object) -> str:
    return "1 rejected" if story else "0 rejected"


def _first_crash(run: ModelRun) -> list[str]:
    story = run.story
    if story is None:
        return []
    lines = [
        f"{run.workload} is not crash-safe under {run.model}: {story.lines[0]}",
        f"  the rejected image has number {story.image:,} ({run.extent} were checked)",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to reproduce: {story.command}",
    ]
    return ["\n".join(lines)]


def _second_crash(run: ModelRun, recovery: RecoveryRun | None) -> list[str]:
    if recovery is None or recovery.story is None:
        return []
    story = recovery.story
    lines = [
        f"{run.workload} is not crash-safe under {run.model}: after a second crash, during "
        f"recovery, {story.lines[0]}",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to reproduce: {story.command}",
    ]
    return ["\n".join(lines)]
