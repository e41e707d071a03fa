"""`pmemsim crash --model`: the images that a model or promises allow, shown to a checker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pmemsim.cli.choices import names_of
from pmemsim.cli.console import note_nothing_kept, out, print_notes, progress_of, si, table
from pmemsim.cli.options import Recipe, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.recovery_crash import fail_if_rejected_again, print_recoveries
from pmemsim.crash import Checker, CheckerWanted, checker_of
from pmemsim.errors import CheckFailed, Error, Problems, did_you_mean
from pmemsim.files import check_writable, write_json
from pmemsim.left_out import LeftOut, leave_each_out
from pmemsim.parallel import Report, host_cores, run_all
from pmemsim.persistency import (
    DEFAULT_BUDGET,
    MODELS,
    Budget,
    ModelRun,
    Wanted,
    keeps_regions,
    repeating_command,
    show_images,
)
from pmemsim.recovery import RecoveryRun, crash_recovery, only_one, refuse_lonely
from pmemsim.targets import Target
from pmemsim.trace import Trace
from pmemsim.workloads import argument_problems


@dataclass(frozen=True)
class ModelOptions:
    """What the command line says of images that a model allows."""

    model: str
    budget: str | None
    image: int | None
    recovery_image: int | None
    keep_image: Path | None
    checker: CheckerWanted
    json_path: str | None
    jobs: int | None
    without_each: bool
    designs: str | None = None
    """Whose promises are the model."""


def crash_by_model(
    targets: Sequence[str],
    find: Callable[[str], Target],
    recipe: Recipe,
    options: ModelOptions,
    others: Mapping[str, object],
    problems: Problems,
) -> None:
    """Show a checker what the model allows. `others` are options that have no meaning here."""
    problems.add(
        f"{option} {value}".strip() + f": --model {options.model} has no {_lacking(options)}; "
        "leave it out"
        for option, value in others.items()
        if value is not None
    )
    all_wanted = _of_designs(_wanted(targets, recipe, options, problems), options, problems)
    found = []
    for target in targets:
        with problems.collected():
            found.append(find(target))
    problems.raise_any()
    traces = open_traces(found, options.jobs)
    checkers = [_checker(trace, options, problems) for trace in traces]
    problems.raise_any()
    words = options.checker.options
    given = {name: value for name, value in recipe.given.items() if name != "--seed"}
    for name, value in given.items():
        words += [name] if value is True else [name, str(value)]

    jobs = options.jobs or host_cores()
    cases = [
        _Case(trace, checker, wanted, repeating_command(target, wanted, words))
        for target, trace, checker in zip(targets, traces, checkers, strict=True)
        if checker is not None
        for wanted in all_wanted
    ]

    def task(case: _Case) -> Callable[[Report], ModelRun]:
        first = case.wanted
        if first.recovery_image is not None:
            first = replace(first, keep=None)
        return lambda report: show_images(
            case.trace, first, case.checker, case.command, jobs, report
        )

    labels = [f"{case.trace.name} by {case.wanted.allowed_by}" for case in cases]
    with progress_of(labels) as progress:
        tasks = [task(case) for case in cases]
        runs = run_all(tasks, 1, progress)  # each has all checkers
    if options.image is None:
        _refuse_unread(runs)
    right = [
        (run, case)
        for run, case in zip(runs, cases, strict=True)
        if run.story is None and not only_one(case.wanted) and case.wanted.design is None
    ]
    crashed = _crash_recoveries(right, jobs)
    left_out: list[list[LeftOut]] = []
    if options.without_each and not any(run.story for run in runs):
        left_out = _leave_out(cases, jobs)
    if options.json_path:
        found_again = {id(run): recovery.to_dict() for run, recovery in crashed}
        results = [{**run.to_dict(), "recovery": found_again.get(id(run))} for run in runs]
        for result, instructions in zip(results, left_out, strict=False):
            result["left_out"] = [instruction.to_dict() for instruction in instructions]
        write_json({"runs": results}, options.json_path)
    if options.json_path != "-":
        _print(runs)
        print_notes((run.workload, run.notes) for run in runs)
        print_recoveries(crashed)
        for run, instructions in zip(runs, left_out, strict=False):
            _print_left_out(run, instructions)
    _fail_if_rejected(runs)
    fail_if_rejected_again(crashed)
    if options.keep_image is not None and options.image is None:
        note_nothing_kept(options.keep_image)
    _fail_if_unnoticed([instruction for instructions in left_out for instruction in instructions])


@dataclass(frozen=True)
class _Case:
    """A recording, who judges it, and by what."""

    trace: Trace
    checker: Checker
    wanted: Wanted
    command: str


def _crash_recoveries(
    right: Sequence[tuple[ModelRun, _Case]], jobs: int
) -> list[tuple[ModelRun, RecoveryRun]]:
    """Crash recovery again where all images were accepted."""

    def task(run: ModelRun, case: _Case) -> Callable[[Report], RecoveryRun]:
        return lambda report: crash_recovery(
            case.trace, case.wanted, case.checker, run, case.command, jobs, report
        )

    labels = [f"{case.trace.name}'s recovery by {case.wanted.allowed_by}" for _, case in right]
    with progress_of(labels) as progress:
        found = run_all([task(*each) for each in right], 1, progress)
    return list(zip([run for run, *_ in right], found, strict=True))


def _lacking(options: ModelOptions) -> str:
    return "machine" if options.model == "promises" else "design and no machine"


def _leave_out(cases: Sequence[_Case], jobs: int) -> list[list[LeftOut]]:
    def task(case: _Case) -> Callable[[Report], list[LeftOut]]:
        return lambda report: list(
            leave_each_out(case.trace, case.wanted, case.checker, jobs, report)
        )

    labels = [f"{case.trace.name} without each flush and fence" for case in cases]
    with progress_of(labels) as progress:
        return run_all([task(case) for case in cases], 1, progress)


def _of_designs(wanted: Wanted | None, options: ModelOptions, problems: Problems) -> list[Wanted]:
    """One for each design whose promises are meant; the same without one."""
    if options.model != "promises":
        if options.designs is not None:
            problems.add(
                [
                    f"--design {options.designs}: --model {options.model} has no design and no "
                    "machine; leave it out, or choose --model promises"
                ]
            )
        return [wanted] if wanted else []
    if options.designs is None:
        problems.add(["--model promises: whose? Name designs with --design"])
        return []
    names = names_of(options.designs, problems)
    if options.recovery_image is not None:
        problems.add(
            ["--recovery-image: recovery is crashed again by px86 and eadr only; choose one"]
        )
    if options.image is not None or options.keep_image is not None:
        _refuse_several(names, problems)
    if options.without_each:
        _refuse_with_regions(names, problems)
    return [replace(wanted, design=name) for name in names] if wanted else []


def _refuse_several(names: Sequence[str], problems: Problems) -> None:
    if len(names) > 1:
        problems.add(["--image and --keep-image: give one design"])


def _refuse_with_regions(names: Sequence[str], problems: Problems) -> None:
    for name in names:
        with problems.collected():
            if keeps_regions(name):
                raise Error(
                    f"--without-each: {name} keeps regions by means of its own, whatever the "
                    "program flushes; choose a design without regions, for example hops-bare"
                )


def _wanted(
    targets: Sequence[str], recipe: Recipe, options: ModelOptions, problems: Problems
) -> Wanted | None:
    if options.model not in MODELS:
        problems.add(
            [f"--model {options.model}: there is none{did_you_mean(options.model, MODELS)}"]
        )
    if not targets:
        problems.add(["name at least one target: a workload or a trace (.pmt)"])
    problems.add(argument_problems(seed=recipe.seed))
    if options.image is not None and options.image < 1:
        problems.add([f"--image {options.image}: must be at least 1"])
    with problems.collected():
        refuse_lonely(options.image, options.recovery_image)
    if len(targets) > 1 and (options.image is not None or options.keep_image is not None):
        problems.add(["--image and --keep-image: give one target"])
    if options.keep_image is not None:
        with problems.collected():
            check_writable(options.keep_image)
    keep_inputs(problems, [options.json_path, options.keep_image], targets)
    with problems.collected():
        return Wanted(
            model=options.model,
            budget=Budget.of(DEFAULT_BUDGET if options.budget is None else options.budget),
            seed=1 if recipe.seed is None else recipe.seed,
            image=options.image,
            recovery_image=options.recovery_image,
            keep=options.keep_image,
        )
    return None


def _checker(trace: Trace, options: ModelOptions, problems: Problems) -> Checker | None:
    with problems.collected():
        checker = checker_of(trace, options.checker, None)
        if checker is None:
            raise Error(
                f"{trace.name}: nothing judges its images; give a program with --check that "
                "recovers what is in the file that its last argument names, and exits with 0 if "
                "that is consistent, or a library with --check-in-process (pmemsim's workloads "
                "have a check of their own)"
            )
        return checker
    return None


def _print(runs: Sequence[ModelRun]) -> None:
    columns = [
        "model", "workload", ">threads", ">instants", ">images judged", ">shown", ">rejected",
        ">images/s",
    ]  # fmt: skip
    rows = [
        (
            run.model,
            run.workload,
            str(run.threads),
            f"{run.instants:,}",
            run.extent,
            f"{run.shown:,}",
            "1" if run.story else "0",
            si(run.images_per_s),
        )
        for run in runs
    ]
    out.print(table("", columns, rows))


def _print_left_out(run: ModelRun, instructions: Sequence[LeftOut]) -> None:
    columns = ["left out", "where", "in", ">executed", "", "the checker says", ">images"]
    rows = [
        (
            each.name,
            each.place,
            each.way,
            f"{each.executed:,}",
            each.verdict,
            each.problem,
            each.images,
        )
        for each in instructions
    ]
    out.print(table(f"{run.workload}, {run.model}, one flush or fence left out", columns, rows))


def _fail_if_unnoticed(instructions: Sequence[LeftOut]) -> None:
    unnoticed = [each for each in instructions if each.verdict == "not found"]
    if not unnoticed:
        return
    first = unnoticed[0]
    raise CheckFailed(
        f"without {len(unnoticed)} of {len(instructions)} flushes and fences a crash leaves more "
        f"images than the checker has seen, which it accepts; the first: {first.name} at "
        f"{first.place}; a larger --budget sees more"
    )


def _refuse_unread(runs: Sequence[ModelRun]) -> None:
    for run in runs:
        if run.unread:
            raise Error(
                f"{run.workload}: the checker has read nothing that a crash can change, so that "
                "nothing was judged; does it look at the image that it is given?"
            )


def _fail_if_rejected(runs: Sequence[ModelRun]) -> None:
    rejected = [run for run in runs if run.story is not None]
    if not rejected:
        return
    first = rejected[0]
    story = first.story
    assert story is not None
    lines = [
        f"{first.workload} isn't crash-safe by {first.model}: {story.lines[0]}",
        f"  that was image {story.image:,} ({first.extent} were checked)",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to see it again: {story.command}",
    ]
    if len(rejected) > 1:
        others = dict.fromkeys(run.workload for run in rejected[1:])
        lines.append(f"  rejected, too: images of {', '.join(others)}")
    raise CheckFailed("\n".join(lines))
