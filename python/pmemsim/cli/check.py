"""`pmemsim check`: test a program for crash safety by rules, a checker, or what it then reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim.arguments import check_whole
from pmemsim.checking.check import CheckChoice, CheckResults, ImageChoice
from pmemsim.checking.verdicts import notes_on_answers
from pmemsim.cli import check_images as by_images
from pmemsim.cli import check_rules as by_rules
from pmemsim.cli.check_answers import AnswerOptions
from pmemsim.cli.check_images import ImageOptions
from pmemsim.cli.choices import find_targets, names_of
from pmemsim.cli.command import CHECKER, OUTPUT, declared, option
from pmemsim.cli.console import err, note_newer_sources, note_nothing_kept, progress_of
from pmemsim.cli.options import Jobs, Json, Recipe, Target, Top, check_outputs, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.verdicts import end_with, print_verdicts
from pmemsim.cli.verifier import Verifier
from pmemsim.errors import Problems
from pmemsim.rules import Given


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
        help="Counts notes as errors. A note is a finding that a correct program may have, too.",
    )] = False  # fmt: skip
    sarif: Annotated[Path | None, option(
        OUTPUT, "--sarif", value="FILE", more=True,
        help="Writes the findings to this file in the format SARIF 2.1.0, which code hosts and "
            "editors show beside the source (docs/guides/import_export.md).",
    )] = None  # fmt: skip
    baseline: Annotated[Path | None, option(
        OUTPUT, "--baseline", value="FILE", more=True,
        help="A file that --sarif wrote earlier. Findings that it has are known: they are counted, "
            "but neither reported nor errors.",
    )] = None  # fmt: skip
    top: Top = 20
    json_path: Json = None
    jobs: Jobs = None

    def choice(self, target: str, problems: Problems) -> CheckChoice:
        """Return what the user wants, and add errors of outputs and names to `problems`."""
        check_whole(problems, "--top", self.top, 1)
        check_outputs(problems, self.json_path, files=[self.images.keep_image, self.sarif])
        outputs = [self.json_path, self.images.keep_image, self.sarif]
        inputs = (target, str(self.suppress or ""), str(self.baseline or ""))
        keep_inputs(problems, outputs, inputs)
        return CheckChoice(
            model=self.model,
            designs=None if self.designs is None else names_of(self.designs, problems),
            checker=self.verifier.wanted(problems),
            answers=self.reader.answers,
            operation=self.reader.operation,
            images=ImageChoice(**vars(self.images)),
            suppress=self.suppress,
            strict=self.strict,
            recipe=self.recipe.given,
            jobs=self.jobs,
            baseline=self.baseline,
        )


def _print(results: CheckResults, top: int) -> None:
    """Print the tables, the notes on missing data, and a line for each method."""
    by_rules.print_findings(results.report, top)
    if results.gone is not None:
        by_rules.print_baseline(results.report, results.gone)
    by_images.print_images(results.images)
    notes = [note for images in results.images for note in images.run.notes]
    if results.answers:
        notes += notes_on_answers(results.answers)
    by_rules.print_limits(results.report, notes, rules_alone=len(results.verdicts) == 1)
    print_verdicts(results.report.workload, results.verdicts)


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
        pmemsim check mine.pmt --sarif new.sarif --baseline old.sarif

    The command always checks the rules of x86's persistent memory, in the order of the recording.
    The rules need no checker. `docs/guides/check_program.md` explains every kind of finding:

        can lose data   never-flushed, stored-after-flush, flushed-not-fenced, nt-not-fenced,
                        published-unflushed, locked-fence-only, flushed-by-another,
                        not-logged, logged-late, logged-by-two, reads-unpersisted,
                        could-read-unpersisted, could-lose-update, replies-unpersisted,
                        used-after-free, volatile-pointer, torn-publish, wrong-answer
        costs time      logged-twice, useless-flush, useless-fence
        costs memory    leaked

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
        3   a method couldn't decide on more than 1% of its findings or images

    Images that --budget leaves unchecked are reported, and change no exit code. Notes change it
    only with --strict.
    """
    problems = given.problems()
    choice = options.choice(target, problems)
    request = choice.request(problems)
    found = find_targets([target], options.recipe, problems, seed_is_own=choice.seed_is_own)
    problems.raise_any()
    assert request is not None
    (trace,) = open_traces(found, None)
    results = request.check(target, trace, progress_of)
    if options.sarif:
        results.to_sarif(options.sarif, trace)
    if options.json_path:
        results.to_json(options.json_path)
    if options.json_path != "-":
        _print(results, options.top)
    note_newer_sources(results.newer_sources)
    for unused in results.report.unused:
        err.print(
            f"pmemsim: {unused.place}: this line suppresses no finding; remove it", markup=False
        )
    by_images.note_recovery(results.images)
    end_with(trace.name, results.verdicts)
    if options.images.keep_image is not None and options.images.image is None:
        note_nothing_kept(options.images.keep_image)
