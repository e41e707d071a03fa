"""`pmemsim check`: what a program does wrong with persistent memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmemsim.answers import Answers, check_answers
from pmemsim.cli.check_answers import AnswerOptions, repeating_command, summary
from pmemsim.cli.console import err, out, progress_of, table
from pmemsim.cli.options import Json, Recipe, check_outputs, keep_inputs, options_of
from pmemsim.cli.recordings import open_traces
from pmemsim.crash import DEFAULT_CHECK_TIMEOUT_S
from pmemsim.errors import CheckFailed, Problems, did_you_mean
from pmemsim.files import write_json
from pmemsim.parallel import Report as Told
from pmemsim.parallel import run_all
from pmemsim.persistency import DEFAULT_BUDGET
from pmemsim.program_check import (
    MODELS,
    Finding,
    Model,
    Report,
    Suppression,
    check_program,
    read_suppressions,
)
from pmemsim.targets import find_target

_DEFAULT_TOP = 20


@options_of(Recipe)
def check_command(
    target: Annotated[str, typer.Argument(help="A trace (.pmt) or a workload's name.")],
    recipe: Recipe,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="What survives a crash: `px86`, what was flushed and fenced; `eadr`, all that the "
            "caches hold.",
        ),
    ] = "px86",
    suppress: Annotated[
        Path | None,
        typer.Option("--suppress", help="A file of findings that are meant (docs/check.md)."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", help="Print so many findings; --json has all of them.")
    ] = _DEFAULT_TOP,
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            help="The program's own reader: it gets the file(s) of an image as last argument(s), "
            "recovers, and prints what is there. After a crash that must be what it was before or "
            "after the operation.",
            metavar="CMD",
        ),
    ] = None,
    operation: Annotated[
        str | None,
        typer.Option(
            "--operation",
            help="With --answers: a call of this function (a glob) is an operation. Default: the "
            "recording's regions.",
            metavar="FUNCTION",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            help="With --answers: how many images it answers, how long (30s), or `all`.",
            show_default=DEFAULT_BUDGET,
        ),
    ] = None,
    image: Annotated[
        int | None, typer.Option("--image", help="With --answers: only the image of this number.")
    ] = None,
    check_timeout: Annotated[
        float | None,
        typer.Option(
            "--check-timeout",
            help="With --answers: seconds that an image may take; longer is a wrong answer.",
            show_default=f"{DEFAULT_CHECK_TIMEOUT_S:g}",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", help="With --answers: readers at a time; default: all host cores."
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    """Find what a recorded program does wrong with persistent memory.

    For example:

        pmemsim-cc -O2 -g mine.c -o mine
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine
        pmemsim check mine.pmt
        pmemsim check mine.pmt --answers './mine --list' --operation insert

    No checker is needed, and no design: the recording's stores, flushes and fences are judged by
    x86's rules, once, in the order of the recording. What can lose data stands first:

    * never-flushed, stored-after-flush, flushed-not-fenced, nt-not-fenced, published-unflushed,
      locked-fence-only, flushed-by-another: stores that aren't sure to persist in time.

    * not-logged, logged-late, logged-by-two: regions (pm_begin) that can't be undone.

    * reads-unpersisted, used-after-free, volatile-pointer, torn-publish.

    * wrong-answer (with --answers): of an image that a crash may leave, the program's own reader
      says neither what it said before the operation nor after it.

    What only costs time or room: leaked, logged-twice, useless-flush, useless-fence.

    Each has its source line, the calls that led there, how often, and where it happened first. What
    is meant stands in a file for --suppress, one entry each:

        - kind: never-flushed
          source: "stats.c:*"
          function: count_hit
          comment: the counters are rebuilt when the program starts

    The exit code is 1 if something is found that can lose data, 2 if there is nothing to judge.
    docs/check.md explains every kind, with an example, and says what isn't looked for.
    """
    problems = Problems()
    suppressions: tuple[Suppression, ...] = ()
    with problems.collected():
        check_outputs(json_path)
    if model not in MODELS:
        problems.add([f"--model {model}: unknown model '{model}'{did_you_mean(model, MODELS)}"])
    if top < 1:
        problems.add([f"--top {top}: must be at least 1"])
    keep_inputs(problems, [json_path], (target, str(suppress or "")))
    options = AnswerOptions(answers, operation, budget, image, check_timeout, jobs)
    wanted = options.wanted(model, recipe.seed, problems)
    if suppress:
        with problems.collected():
            suppressions = read_suppressions(suppress)
    with problems.collected():
        arguments = recipe.arguments
        if wanted is not None and target.endswith(".pmt"):
            del arguments["seed"]  # is that of the images alone
        found = find_target(target, opt=recipe.opt, **arguments)
    problems.raise_any()
    (trace,) = open_traces([found], None)
    chosen: Model = "eadr" if model == "eadr" else "px86"
    answered: Answers | None = None
    if wanted is not None:
        command = repeating_command(target, model, wanted, recipe)
        with progress_of([f"{found.name}, answers"]) as progress:
            (answered,) = run_all(
                [lambda told: check_answers(trace, wanted, command, told)], progress=progress
            )

    def task(told: Told) -> Report:
        more = answered.findings if answered else ()
        return check_program(trace, chosen, suppressions, told, more)

    with progress_of([found.name]) as progress:
        (report,) = run_all([task], progress=progress)
    if json_path:
        result = report.to_dict()
        if answered:
            result["answers"] = answered.to_dict()
        write_json(result, json_path)
    if json_path != "-":
        _print(report, top)
        for sentence in summary(answered) if answered else [_ONLY_THE_PROGRAM_KNOWS]:
            out.print(sentence, markup=False)
    for unused in report.unused:
        err.print(f"pmemsim: {unused.place}: suppresses nothing; remove it", markup=False)
    if report.faults:
        raise CheckFailed(_verdict(report))


def _print(report: Report, top: int) -> None:
    shown = report.findings[:top]
    if shown:
        columns = ["finding", "at", "function", ">times", "first", "what is wrong"]
        title = f"{report.workload}, judged by {report.model}"
        out.print(table(title, columns, [_row(finding) for finding in shown]))
    if rest := len(report.findings) - len(shown):
        out.print(f"{rest} more findings: --top {len(report.findings)} shows them")
    for sentence in _summary(report):
        out.print(sentence, markup=False)


def _row(finding: Finding) -> tuple[str, ...]:
    times = f"{finding.count:,}"
    if finding.executions:
        times += f" of {finding.executions:,}"
    calls = [f"called at {call} in {call.function}" for call in finding.calls[:_SHOWN_CALLS]]
    if len(finding.calls) > _SHOWN_CALLS:
        calls.append("...")
    wrong = [finding.story, finding.effect] if finding.story else [finding.effect]
    return (
        finding.kind,
        "\n".join([str(finding.place), *calls]),
        finding.place.function,
        times,
        f"thread {finding.thread}, operation {finding.operation}",
        "\n".join(wrong),
    )


_SHOWN_CALLS = 3
_ONLY_THE_PROGRAM_KNOWS = (
    "not looked for, since only the program knows: which data must persist first where no pointer "
    "says so, and values of several words; --answers CMD does, or pmemsim crash --model px86 "
    "--check CMD"
)


def _summary(report: Report) -> list[str]:
    counts = report.counts
    faults = len(report.faults)
    sentences = [
        f"{report.workload}: {_findings(faults)} that can lose data, "
        f"{len(report.findings) - faults} that cost time or room; "
        f"{counts['pm_stores']:,} stores to persistent memory, {counts['flushes']:,} flushes, "
        f"{counts['fences']:,} fences, {counts['regions']:,} regions"
    ]
    if report.suppressed:
        sentences.append(f"suppressed: {_findings(len(report.suppressed))}")
    by_reason: dict[str, list[str]] = {}
    for kind, reason in report.not_looked_for.items():
        by_reason.setdefault(reason, []).append(kind)
    sentences += [
        f"not looked for, since {reason}: {', '.join(kinds)}" for reason, kinds in by_reason.items()
    ]
    return [*sentences, *(f"partial: {note}" for note in report.notes)]


def _findings(count: int) -> str:
    return "1 finding" if count == 1 else f"{count} findings"


def _verdict(report: Report) -> str:
    first = report.faults[0]
    verdict = (
        f"{report.workload}: {_findings(len(report.faults))} that can lose data; the first: "
        f"{first.place}: {first.kind}: {first.effect}"
    )
    if first.wrong_answer is None:
        return verdict
    return "\n  ".join([verdict, *first.wrong_answer.lines])
