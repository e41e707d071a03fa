"""`pmemsim check --answers`: run the program's own reader on images, and report wrong answers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pmemsim import plugins
from pmemsim.answers import Answers, AnswersWanted
from pmemsim.cli.check_images import Search
from pmemsim.cli.command import CHECKER, option
from pmemsim.cli.verdicts import Verdict, undecided
from pmemsim.crashing import DEFAULT_CHECK_TIMEOUT_S, Checker
from pmemsim.errors import Problems
from pmemsim.program_check import Report
from pmemsim.programs import words_of


@dataclass(frozen=True)
class AnswerOptions:
    """Options of a program's reader and its operations."""

    answers: Annotated[str | None, option(
        CHECKER, "--answers", value="CMD",
        help="A command that recovers an image, whose file is its last argument, and prints the "
            "contents. They must be those before or after the interrupted operation.",
    )] = None  # fmt: skip
    operation: Annotated[str | None, option(
        CHECKER, "--operation", value="FUNCTION,...", default="the recording's regions",
        help="Each call of a function that matches one of these globs is an operation for "
            "--answers.",
    )] = None  # fmt: skip

    def wanted(self, search: Search, *, eadr: bool, problems: Problems) -> AnswersWanted | None:
        """Return the wanted check; None without --answers, or if the reader can't be run."""
        if self.answers is None:
            return None
        timeout_s = DEFAULT_CHECK_TIMEOUT_S if search.timeout_s is None else search.timeout_s
        with problems.collected():
            words = words_of("--answers", self.answers)
            reader = Checker(words, None, timeout_s, reader=True)
            return AnswersWanted(
                reader, self.operation, eadr, search.budget, search.seed, search.image, search.jobs
            )
        return None


def repeating_command(target: str, model: str, wanted: AnswersWanted, recipe: Sequence[str]) -> str:
    """Return a command that runs the same reader on the same images."""
    words = ["pmemsim", "check", target, "--model", model, *wanted.reader.options]
    if wanted.operation is not None:
        words += ["--operation", wanted.operation]
    words += ["--budget", wanted.budget.text, "--seed", str(wanted.seed)]
    if wanted.reader.timeout_s != DEFAULT_CHECK_TIMEOUT_S:
        words += ["--verify-timeout", f"{wanted.reader.timeout_s:g}"]
    return shlex.join([*words, *recipe, *plugins.options()])


def notes(answers: Answers) -> list[str]:
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


def verdict(answers: Answers, model: str, report: Report) -> Verdict:
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
