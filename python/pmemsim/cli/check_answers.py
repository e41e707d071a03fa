"""`pmemsim check --answers`: the options that go with it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pmemsim.answers import Answers, AnswersWanted
from pmemsim.cli.options import Recipe, check_jobs
from pmemsim.crash import DEFAULT_CHECK_TIMEOUT_S, Checker
from pmemsim.errors import Problems
from pmemsim.parallel import host_cores
from pmemsim.persistency import DEFAULT_BUDGET, Budget
from pmemsim.programs import words_of
from pmemsim.workloads import argument_problems

_MOST_S = 10**6


@dataclass(frozen=True)
class AnswerOptions:
    """What the command line says of a program's reader."""

    command: str | None
    operation: str | None
    budget: str | None
    image: int | None
    timeout_s: float | None
    jobs: int | None

    def wanted(self, model: str, seed: int | None, problems: Problems) -> AnswersWanted | None:
        """What is to be done; None: nothing, or there are problems."""
        if self.command is None:
            self._refuse_lonely(problems)
            return None
        problems.add(argument_problems(seed=seed))
        with problems.collected():
            check_jobs(self.jobs)
        if self.image is not None and self.image < 1:
            problems.add([f"--image {self.image}: must be at least 1"])
        if self.timeout_s is not None and not 0 < self.timeout_s <= _MOST_S:
            problems.add(
                [f"--check-timeout {self.timeout_s:g}: must be more than 0, at most {_MOST_S}"]
            )
        with problems.collected():
            return AnswersWanted(
                reader=Checker(
                    words_of("--answers", self.command),
                    None,
                    DEFAULT_CHECK_TIMEOUT_S if self.timeout_s is None else self.timeout_s,
                    reader=True,
                ),
                operation=self.operation,
                eadr=model == "eadr",
                budget=Budget.of(DEFAULT_BUDGET if self.budget is None else self.budget),
                seed=1 if seed is None else seed,
                image=self.image,
                jobs=self.jobs or host_cores(),
            )
        return None

    def _refuse_lonely(self, problems: Problems) -> None:
        given = {
            "--operation": self.operation,
            "--budget": self.budget,
            "--image": self.image,
            "--check-timeout": self.timeout_s,
            "--jobs": self.jobs,
        }
        problems.add(
            f"{option} {value}: goes with --answers"
            for option, value in given.items()
            if value is not None
        )


def repeating_command(target: str, model: str, wanted: AnswersWanted, recipe: Recipe) -> str:
    """A command that makes the same images, and shows them to the same reader."""
    words = ["pmemsim", "check", target, "--model", model, *wanted.reader.options]
    if wanted.operation is not None:
        words += ["--operation", wanted.operation]
    words += ["--budget", wanted.budget.text, "--seed", str(wanted.seed)]
    if wanted.reader.timeout_s != DEFAULT_CHECK_TIMEOUT_S:
        words += ["--check-timeout", f"{wanted.reader.timeout_s:g}"]
    for name, value in recipe.given.items():
        if name != "--seed":
            words += [name] if value is True else [name, str(value)]
    return shlex.join(words)


def summary(answers: Answers) -> list[str]:
    """What was done, in sentences."""
    of = f"calls of {', '.join(answers.operations_are)}" if answers.operations_are else "regions"
    sentences = [
        f"{answers.reader}: {answers.extent} images, {answers.operations:,} operations ({of}), "
        f"{answers.wrong:,} wrong answers"
    ]
    if answers.unjudged:
        sentences.append(
            f"partial: {answers.unjudged:,} images are of crashes in operations of several "
            "threads, or in code outside of operations, with too many states to compare with"
        )
    if answers.not_looked_into:
        sentences.append(
            f"not looked into: {answers.not_looked_into:,} more images with wrong answers"
        )
    return sentences
