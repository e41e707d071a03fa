"""Check a recorded program by all methods that a user wants."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from pmemsim import plugins
from pmemsim.answers import Answers, AnswersWanted, check_answers
from pmemsim.arguments import check_jobs, check_whole
from pmemsim.checking.images import Images, check_images
from pmemsim.checking.verdicts import (
    Verdict,
    verdict_of_answers,
    verdict_of_images,
    verdict_of_rules,
)
from pmemsim.crashing import DEFAULT_CHECK_TIMEOUT_S, Checker, CheckerWanted, checker_of
from pmemsim.errors import Error, Problems, did_you_mean, on_one_line
from pmemsim.parallel import host_cores
from pmemsim.persistency import (
    DEFAULT_BUDGET,
    MODELS,
    Budget,
    Wanted,
    keeps_regions,
    repeating_command,
)
from pmemsim.program_check import Model, Report, Suppression, check_program, read_suppressions
from pmemsim.programs import words_of
from pmemsim.progress import Watch, run_one
from pmemsim.results import Results, typed_frame
from pmemsim.sarif import Baseline, read_baseline, write_sarif
from pmemsim.sources import Sources
from pmemsim.targets import Recipe, words_of_recipe
from pmemsim.trace import Trace
from pmemsim.unrecorded import no_images
from pmemsim.workload_runs import argument_problems

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ImageChoice:
    """The images to check, as the options of `pmemsim check` select them."""

    budget: str | None = None
    without_each: bool = False
    image: int | None = None
    recovery_image: int | None = None
    delayed: int | None = None
    hosts: int | None = None
    fail: int | None = None
    keep_image: Path | None = None


@dataclass(frozen=True)
class CheckChoice:
    """What a user wants to be checked, before the values have been checked themselves."""

    model: str
    designs: Sequence[str] | None
    """The designs of the model `guarantees`."""
    checker: CheckerWanted
    answers: str | None
    """The command of the program's reader."""
    operation: str | None
    images: ImageChoice
    suppress: Path | None
    strict: bool
    recipe: Recipe
    """How a workload is recorded."""
    jobs: int | None
    baseline: Path | None = None
    """An earlier SARIF file, whose findings are known."""

    @property
    def seed_is_own(self) -> bool:
        """Return whether the seed also determines the random images."""
        return self.checker.given or self.answers is not None

    def request(self, problems: Problems) -> CheckRequest | None:
        """Return what to check; None if there are problems, which are added."""
        images, seed = self.images, self.recipe.get("seed")
        if self.model not in MODELS:
            problems.add([f"--model {self.model}: unknown model{did_you_mean(self.model, MODELS)}"])
        problems.add(argument_problems(seed=seed))
        check_jobs(problems, self.jobs)
        check_whole(problems, "--image", images.image, 1)
        budget = Budget.of(DEFAULT_BUDGET)
        if images.budget is not None:
            with problems.collected():
                budget = Budget.of(str(images.budget))
        first = Wanted(
            model=self.model, budget=budget, seed=1 if seed is None else seed, image=images.image
        )
        wanted = self._images(first, problems) if self.checker.given else []
        answers = None
        with problems.collected():
            answers = self._answers(first)
        suppressions: tuple[Suppression, ...] = ()
        if self.suppress:
            with problems.collected():
                suppressions = read_suppressions(self.suppress)
        baseline = None
        if self.baseline:
            with problems.collected():
                baseline = read_baseline(self.baseline)
        if problems.found:
            return None
        return CheckRequest(
            self, suppressions, baseline, wanted, answers, self.jobs or host_cores()
        )

    def _images(self, first: Wanted, problems: Problems) -> list[Wanted]:
        """Return the selection of images for the model, or for each design's guarantees."""
        images = self.images
        check_whole(problems, "--recovery-image", images.recovery_image, 1)
        check_whole(problems, "--hosts", images.hosts, 2)
        if images.hosts is not None and not 0 <= (images.fail or 0) < images.hosts:
            problems.add([f"--fail {images.fail}: must be from 0 to {images.hosts - 1}"])
        if images.delayed is not None and images.delayed < 0:
            problems.add([f"--delayed {images.delayed}: must be the number of a thread, from 0"])
        wanted = replace(
            first,
            recovery_image=images.recovery_image,
            keep=images.keep_image,
            delayed=images.delayed,
            hosts=images.hosts or 1,
            failed=images.fail or 0,
        )
        if self.designs is None:
            return [wanted]
        if len(self.designs) > 1 and (images.image is not None or images.keep_image is not None):
            problems.add(
                ["--image and --keep-image require a single design; name one with --design"]
            )
        if images.without_each:
            _refuse_with_regions(self.designs, problems)
        return [replace(wanted, design=name) for name in self.designs]

    def _answers(self, first: Wanted) -> AnswersWanted | None:
        if self.answers is None:
            return None
        timeout = self.checker.timeout_s
        words = words_of("--answers", self.answers)
        reader = Checker(
            words, None, DEFAULT_CHECK_TIMEOUT_S if timeout is None else timeout, reader=True
        )
        return AnswersWanted(
            reader, self.operation, self.model == "eadr", first.budget, first.seed, first.image,
            self.jobs or host_cores(),
        )  # fmt: skip


def _refuse_with_regions(names: Sequence[str], problems: Problems) -> None:
    for name in names:
        with problems.collected():
            if keeps_regions(name):
                raise Error(
                    f"--without-each: {name} makes regions durable without the program's flushes; "
                    "choose a design without regions, for example hops-bare"
                )


@dataclass(frozen=True)
class CheckResults(Results):
    """The findings about one program, and the verdict of each method.

    Example:
        `[str(verdict) for verdict in pmemsim.check("queue").verdicts]`
    """

    report: Report
    """The findings of the rules, and wrong answers of the reader: `report.findings`.

    `report.known` has those that are in the baseline.
    """
    images: tuple[Images, ...]
    """The checker's result for each model or design."""
    answers: Answers | None
    """The reader's result."""
    verdicts: tuple[Verdict, ...]
    """The verdict of each method, with the errors that it found."""
    gone: int | None = None
    """Number of findings of the baseline that no longer occur; None without a baseline."""
    newer_sources: str = ""
    """A sentence if sources of the findings are newer than the recording; else empty."""
    command: ClassVar = "check"

    @property
    def title(self) -> str:
        """Return each method's verdict, what it lacks, and the number of known findings."""
        parts = [*map(str, self.verdicts), *self.failed, *self.undecided]
        if self.gone is not None:
            parts.append(f"known from the baseline: {len(self.report.known)}")
        parts += [self.newer_sources] if self.newer_sources else []
        return f"{self.report.workload}, " + "; ".join(parts)

    @property
    def found(self) -> list[str]:
        """Return the errors of the program in sentences; empty if no method found any."""
        return [problem for verdict in self.verdicts for problem in verdict.found]

    @property
    def failed(self) -> list[str]:
        """Return why methods have checked nothing; empty if each has checked something."""
        return [f"{each.method}: {each.failed}" for each in self.verdicts if each.failed]

    @property
    def undecided(self) -> list[str]:
        """Return the methods that left more than 1% of their cases undecided, with the reasons."""
        return [f"{each.method}: {each.undecided}" for each in self.verdicts if each.undecided]

    @property
    def ok(self) -> bool:
        """Return whether each method has checked the program and found no error (exit code 0)."""
        return not (self.found or self.failed or self.undecided)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each finding: its kind and place, how often it occurs, its effect.

        `calls` lists the lines that call the line's function, the innermost first. `other` is the
        second location. `thread` and `operation` are the first occurrence. `executions` counts
        those of a useless flush or fence, and is 0 for other kinds.
        """
        columns = {
            "kind": "str", "reason": "str", "file": "str", "line": "int64", "function": "str",
            "calls": "str", "other": "str", "count": "int64", "executions": "int64",
            "thread": "int64", "operation": "int64", "note": "bool", "loses_data": "bool",
            "effect": "str",
        }  # fmt: skip
        rows = [
            (
                each.kind, each.reason, each.place.file, each.place.line, each.place.function,
                ", ".join(map(str, each.calls)), str(each.other or ""), each.count,
                each.executions, each.thread, each.operation, each.note, each.loses_data,
                each.effect,
            )
            for each in self.report.findings
        ]  # fmt: skip
        return typed_frame(rows, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the results for `--json` (keys: docs/reference/results.md)."""
        result = self.report.to_dict()
        result["verdicts"] = [verdict.to_dict() for verdict in self.verdicts]
        if self.gone is not None:
            known = [finding.to_dict() for finding in self.report.known]
            result["baseline"] = {"known": known, "gone": self.gone}
        if self.images:
            result["images"] = [images.to_dict() for images in self.images]
        if self.answers:
            result["answers"] = self.answers.to_dict()
        return result

    def to_sarif(self, path: str | Path, trace: Trace | str | Path) -> None:
        """Write the findings in the format SARIF 2.1.0; `trace` is the checked recording.

        Raises an `Error` if it is another one.
        """
        trace = trace if isinstance(trace, Trace) else Trace(trace)
        if trace.hash != self.report.trace_hash:
            raise Error(
                f"trace: {trace.path} is not the recording that was checked, whose hash is "
                f"{self.report.trace_hash}"
            )
        rejected = [it for each in self.verdicts if each.method == "images" for it in each.found]
        with_baseline = self.gone is not None
        write_sarif(Path(path), self.report, Sources(trace), rejected, with_baseline=with_baseline)


@dataclass(frozen=True)
class CheckRequest:
    """The checks of a program."""

    choice: CheckChoice
    suppressions: tuple[Suppression, ...]
    baseline: Baseline | None
    images: list[Wanted]
    """A selection of images for each model; empty if there is no checker."""
    answers: AnswersWanted | None
    jobs: int

    def check(self, target: str, trace: Trace, watch: Watch) -> CheckResults:
        """Run each method on the recording; if one fails, the others still run.

        `target` is the user's name of the recording. Raises an `Error` if there is no checker of
        that name.
        """
        trace.require_values()
        checker = checker_of(trace, self.choice.checker, None) if self.images else None
        verdicts: list[Verdict] = []
        images: list[Images] = []
        impossible = no_images(trace.metadata)
        if impossible:
            verdicts += self._without_images(impossible)
        for wanted in self.images if not impossible else []:
            assert checker is not None
            with _failure("images", wanted.allowed_by, verdicts):
                found = self._check_images(target, trace, wanted, checker, watch)
                images.append(found)
                verdicts.append(verdict_of_images(found, checker))
        answers = None
        if self.answers and not impossible:
            with _failure("answers", self.choice.model, verdicts):
                answers = self._check_answers(target, trace, self.answers, watch)
        report, gone = self._check_rules(trace, answers, watch), None
        sources = Sources(trace)
        newer = sources.note(report.places)
        if self.baseline:
            report, gone = self.baseline.apply(report, sources)
        if answers:
            verdicts.append(verdict_of_answers(answers, self.choice.model, report))
        rules = verdict_of_rules(report, strict=self.choice.strict)
        return CheckResults(report, tuple(images), answers, (rules, *verdicts), gone, newer)

    def _without_images(self, why: str) -> list[Verdict]:
        """Return the verdicts of the methods that need images, if none can be made."""
        methods = [("images", wanted.allowed_by) for wanted in self.images]
        if self.answers:
            methods.append(("answers", self.choice.model))
        return [
            Verdict(method, model, "no image was checked", undecided=why)
            for method, model in methods
        ]

    def _check_images(
        self, target: str, trace: Trace, wanted: Wanted, checker: Checker, watch: Watch
    ) -> Images:
        recipe = words_of_recipe(self.choice.recipe, "--seed")
        words = [*self.choice.checker.options, *recipe]
        return check_images(
            trace,
            wanted,
            checker,
            lambda order: repeating_command(target, order, words),
            self.jobs,
            watch,
            without_each=self.choice.images.without_each,
        )

    def _check_answers(
        self, target: str, trace: Trace, wanted: AnswersWanted, watch: Watch
    ) -> Answers:
        command = self._answers_command(target, wanted)
        return run_one(
            f"{trace.name}, answers",
            lambda report: check_answers(trace, wanted, command, report),
            watch,
        )

    def _answers_command(self, target: str, wanted: AnswersWanted) -> str:
        """Return a command that runs the same reader on the same images."""
        words = ["pmemsim", "check", target, "--model", self.choice.model, *wanted.reader.options]
        if wanted.operation is not None:
            words += ["--operation", wanted.operation]
        words += ["--budget", wanted.budget.text, "--seed", str(wanted.seed)]
        if wanted.reader.timeout_s != DEFAULT_CHECK_TIMEOUT_S:
            words += ["--verify-timeout", f"{wanted.reader.timeout_s:g}"]
        words += words_of_recipe(self.choice.recipe, "--seed")
        return shlex.join([*words, *plugins.options()])

    def _check_rules(self, trace: Trace, answers: Answers | None, watch: Watch) -> Report:
        model = next(each for each in get_args(Model) if each == self.choice.model)
        if self.choice.images.hosts is not None:
            model = "guarantees"  # x86's rules of flushes are those of a crash of all hosts
        found = answers.findings if answers else ()
        return run_one(
            trace.name,
            lambda report: check_program(trace, model, self.suppressions, report, found),
            watch,
        )


@contextmanager
def _failure(method: str, model: str, verdicts: list[Verdict]) -> Iterator[None]:
    """Turns an `Error` of the block into a verdict: the method has checked nothing."""
    try:
        yield
    except Error as error:
        verdicts.append(Verdict(method, model, "no image was checked", failed=on_one_line(error)))
