"""`pmemsim check`: test whether a program is crash-safe, by rules, a checker, or its own reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from pmemsim.answers import Answers, AnswersWanted, check_answers
from pmemsim.cli import check_answers as by_answers
from pmemsim.cli import check_images as by_images
from pmemsim.cli import check_rules as by_rules
from pmemsim.cli.check_answers import AnswerOptions
from pmemsim.cli.check_images import ImageOptions, Images, Search, wanted_images
from pmemsim.cli.choices import find_targets
from pmemsim.cli.command import CHECKER, OUTPUT, declared, option
from pmemsim.cli.console import err, note_nothing_kept, run_with_progress
from pmemsim.cli.options import (
    Jobs,
    Json,
    Recipe,
    Target,
    Top,
    check_jobs,
    check_outputs,
    check_whole,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.rules import Given
from pmemsim.cli.verdicts import Verdict, end_with, print_verdicts
from pmemsim.cli.verifier import Verifier
from pmemsim.crashing import Checker, CheckerWanted, checker_of
from pmemsim.errors import Error, Problems, did_you_mean, on_one_line
from pmemsim.files import write_json
from pmemsim.parallel import host_cores
from pmemsim.persistency import DEFAULT_BUDGET, MODELS, Budget, Wanted, repeating_command
from pmemsim.program_check import Model, Report, Suppression, check_program, read_suppressions
from pmemsim.targets import Target as Recorded
from pmemsim.trace import Trace
from pmemsim.unrecorded import no_images
from pmemsim.workload_runs import argument_problems


@dataclass(frozen=True)
class _Options:
    """The images to check, their verifier, and the form of the report."""

    verifier: Verifier
    reader: AnswerOptions
    images: ImageOptions
    recipe: Recipe
    model: Annotated[str, option(
        CHECKER, "--model", value="px86|eadr|guarantees",
        help="The model of what survives a crash. px86: flushed and fenced data. eadr: also the "
            "contents of the caches. guarantees: what the designs of --design guarantee.",
    )] = "px86"  # fmt: skip
    designs: Annotated[str | None, option(
        CHECKER, "--design", "-d", value="DESIGN,...",
        help="The designs of --model guarantees, separated by commas.",
    )] = None  # fmt: skip
    suppress: Annotated[Path | None, option(
        OUTPUT, "--suppress", value="FILE",
        help="A file of intended findings, which are not reported (docs/guides/check_program.md).",
    )] = None  # fmt: skip
    strict: Annotated[bool, option(
        OUTPUT, "--strict",
        help="Counts notes as errors: findings about which rules can't decide.",
    )] = False  # fmt: skip
    top: Top = 20
    json_path: Json = None
    jobs: Jobs = None

    def request(self, target: str, problems: Problems) -> _Request:
        """Return what to check, and add all errors of the options to `problems`."""
        if self.model not in MODELS:
            problems.add([f"--model {self.model}: unknown model{did_you_mean(self.model, MODELS)}"])
        check_whole(problems, "--top", self.top, 1)
        check_outputs(problems, self.json_path, files=[self.images.keep_image])
        outputs = [self.json_path, self.images.keep_image]
        keep_inputs(problems, outputs, (target, str(self.suppress or "")))
        checker, search = self.verifier.wanted(problems), self._search(problems)
        images: list[Wanted] = []
        if checker.given:
            images = wanted_images(self.images, search, self.model, self.designs, problems)
        answers = self.reader.wanted(search, eadr=self.model == "eadr", problems=problems)
        suppressions: tuple[Suppression, ...] = ()
        if self.suppress:
            with problems.collected():
                suppressions = read_suppressions(self.suppress)
        # With a checker or a reader, --seed also determines the random images.
        seed_is_own = checker.given or answers is not None
        found = find_targets([target], self.recipe, problems, seed_is_own=seed_is_own)
        problems.raise_any()
        return _Request(self, target, found, suppressions, checker, images, answers, search.jobs)

    def _search(self, problems: Problems) -> Search:
        seed = self.recipe.seed
        problems.add(argument_problems(seed=seed))
        check_jobs(problems, self.jobs)
        check_whole(problems, "--image", self.images.image, 1)
        budget = Budget.of(DEFAULT_BUDGET)
        if self.images.budget is not None:
            with problems.collected():
                budget = Budget.of(self.images.budget)
        return Search(
            budget,
            1 if seed is None else seed,
            self.images.image,
            self.verifier.verify_timeout,
            self.jobs or host_cores(),
        )


@dataclass(frozen=True)
class _Request:
    """The checks that the user wants, with their options."""

    options: _Options
    target: str
    found: list[Recorded]
    """Return these values."""
    suppressions: tuple[Suppression, ...]
    checker: CheckerWanted
    images: list[Wanted]
    """A selection of images for each model; empty if there is no checker."""
    answers: AnswersWanted | None
    jobs: int


@dataclass
class _Done:
    """The results of all methods."""

    report: Report
    images: list[Images]
    answers: Answers | None
    verdicts: list[Verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `--json` (keys: docs/reference/results.md)."""
        result = self.report.to_dict()
        result["verdicts"] = [verdict.to_dict() for verdict in self.verdicts]
        if self.images:
            result["images"] = [images.to_dict() for images in self.images]
        if self.answers:
            result["answers"] = self.answers.to_dict()
        return result

    def print(self, top: int) -> None:
        """Print the tables, the notes on missing data, and a line for each method."""
        by_rules.print_findings(self.report, top)
        by_images.print_images(self.images)
        notes = [note for images in self.images for note in images.run.notes]
        if self.answers:
            notes += by_answers.notes(self.answers)
        by_rules.print_limits(self.report, notes, rules_alone=len(self.verdicts) == 1)
        print_verdicts(self.report.workload, self.verdicts)


@declared
def check_command(target: Target, *, given: Given, options: _Options) -> None:
    """Find errors in a recorded program's use of persistent memory.

    For example:

        pmemsim-cc -O2 -g mine.c -o mine
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine
        pmemsim check mine.pmt
        pmemsim check mine.pmt --verify './mine --verify'
        pmemsim check mine.pmt --verify-library ./mine_check.so --model eadr
        pmemsim check mine.pmt --verify ./mine_check --model guarantees -d asap,hops
        pmemsim check mine.pmt --answers './mine --list' --operation insert
        pmemsim check queue --verify own

    The command always checks the rules of x86's persistent memory, in the order of the recording.
    The rules need no checker. `docs/guides/check_program.md` explains every kind of finding:

        can lose data   never-flushed, stored-after-flush, flushed-not-fenced, nt-not-fenced,
                        published-unflushed, locked-fence-only, flushed-by-another,
                        not-logged, logged-late, logged-by-two, reads-unpersisted,
                        could-read-unpersisted, could-lose-update, replies-unpersisted,
                        used-after-free, volatile-pointer, torn-publish, wrong-answer
        costs time      leaked, logged-twice, useless-flush, useless-fence

    With --verify, the program's checker also checks the crash images that --model allows, until it
    rejects one. If the checker was built with pmemsim-cc, crashes during its recovery are checked,
    too. With --answers, the program's own reader prints the contents of each image. They must be
    the contents before or after the interrupted operation.

    With --model guarantees, the images are those that any machine with the design's durability
    guarantees may leave after its recovery. The rules are then those that hold on every machine:
    used-after-free, volatile-pointer, torn-publish and leaked.

    Each method prints a line with its verdict. The exit codes are:

        0   no method found an error
        1   a method found an error
        2   the input is wrong, or there is nothing to check
        3   a method left more than 1% of its cases undecided

    Images that --budget leaves unchecked are reported, and change no exit code. Neither do notes:
    findings about which the rules can't decide, unless --strict is given.
    """
    request = options.request(target, given.problems())
    (trace,) = open_traces(request.found, None)
    checker = checker_of(trace, request.checker, None) if request.images else None
    done = _check(trace, request, checker)
    if options.json_path:
        write_json("check", done.to_dict(), options.json_path)
    if options.json_path != "-":
        done.print(options.top)
    for unused in done.report.unused:
        err.print(
            f"pmemsim: {unused.place}: this line suppresses no finding; remove it", markup=False
        )
    by_images.note_recovery(done.images)
    end_with(trace.name, done.verdicts)
    if options.images.keep_image is not None and options.images.image is None:
        note_nothing_kept(options.images.keep_image)


def _check(trace: Trace, request: _Request, checker: Checker | None) -> _Done:
    """Run each method on the recording; if one fails, the others still run."""
    verdicts: list[Verdict] = []
    images: list[Images] = []
    impossible = no_images(trace.metadata)
    if impossible:
        verdicts += _without_images(request, impossible)
    for wanted in request.images if not impossible else []:
        assert checker is not None
        with _failure("images", wanted.allowed_by, verdicts):
            found = _check_images(trace, request, wanted, checker)
            images.append(found)
            verdicts.append(by_images.verdict(found, checker))
    answers = None
    if request.answers and not impossible:
        with _failure("answers", request.options.model, verdicts):
            answers = _check_answers(trace, request, request.answers)
    report = _check_rules(trace, request, answers)
    if answers:
        verdicts.append(by_answers.verdict(answers, request.options.model, report))
    rules = by_rules.verdict(report, strict=request.options.strict)
    return _Done(report, images, answers, [rules, *verdicts])


def _without_images(request: _Request, why: str) -> list[Verdict]:
    """Return the verdicts of the methods that need images, if none can be made."""
    methods = [("images", wanted.allowed_by) for wanted in request.images]
    if request.answers:
        methods.append(("answers", request.options.model))
    return [
        Verdict(method, model, "no image was checked", undecided=why) for method, model in methods
    ]


@contextmanager
def _failure(method: str, model: str, verdicts: list[Verdict]) -> Iterator[None]:
    """Turns an `Error` of the block into a verdict: the method has checked nothing."""
    try:
        yield
    except Error as error:
        verdicts.append(Verdict(method, model, "no image was checked", failed=on_one_line(error)))


def _check_images(trace: Trace, request: _Request, wanted: Wanted, checker: Checker) -> Images:
    words = [*request.checker.options, *request.options.recipe.words("--seed")]
    return by_images.check_images(
        trace,
        wanted,
        checker,
        lambda order: repeating_command(request.target, order, words),
        request.jobs,
        without_each=request.options.images.without_each,
    )


def _check_answers(trace: Trace, request: _Request, wanted: AnswersWanted) -> Answers:
    recipe = request.options.recipe.words("--seed")
    command = by_answers.repeating_command(request.target, request.options.model, wanted, recipe)
    return run_with_progress(
        f"{trace.name}, answers", lambda report: check_answers(trace, wanted, command, report)
    )


def _check_rules(trace: Trace, request: _Request, answers: Answers | None) -> Report:
    model = next(each for each in get_args(Model) if each == request.options.model)
    if request.options.images.hosts is not None:
        model = "guarantees"  # x86's rules of flushes are those of a crash of all hosts
    found = answers.findings if answers else ()
    return run_with_progress(
        trace.name,
        lambda report: check_program(trace, model, request.suppressions, report, found),
    )
