"""`pmemsim crash`: pull the plug everywhere, recover, and judge what is left."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated

import typer

from pmemsim import crash as crashing
from pmemsim import mutants as broken
from pmemsim.cli.choices import configurations_of, distinct, names_of
from pmemsim.cli.console import out, progress_of, si, table
from pmemsim.cli.options import (
    Jobs,
    Json,
    Machine,
    Recipe,
    check_jobs,
    check_outputs,
    keep_inputs,
    options_of,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.crash import Checker, CrashRun, Points, checker_of, verify
from pmemsim.errors import CheckFailed, Problems
from pmemsim.files import write_json
from pmemsim.parallel import Report, run_all
from pmemsim.presets import parse_overrides
from pmemsim.simulation import Configuration
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace
from pmemsim.workloads import argument_problems

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ps|ns|us|ms|s)")
_PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_MOST = 2**63 - 1  # that the simulator can count
_MOST_S = 10**6


@options_of(Recipe)
def crash_command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Workloads' names or traces (.pmt).", metavar="TARGET"),
    ] = None,
    designs: Annotated[
        str | None, typer.Option("--design", "--designs", "-d", help="Designs, by commas.")
    ] = None,
    *,
    all_designs: Annotated[
        bool, typer.Option("--all-designs", help="Every design that promises atomic regions.")
    ] = False,
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants",
            help="Crash designs that are broken on purpose instead: all, or those of --design.",
        ),
    ] = False,
    more_targets: Annotated[
        str | None, typer.Option("--workloads", help="Targets, by commas.")
    ] = None,
    machine: Machine = "asap",
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="Set a parameter, as in `pm.wpq_entries=4`; repeatable."),
    ] = None,
    points: Annotated[
        str,
        typer.Option(
            "--points", help="`all` crash points, or so many, chosen at random (with --seed)."
        ),
    ] = "all",
    at: Annotated[
        str | None,
        typer.Option("--at", help="Only the last crash points up to this time, as in `12.5us`."),
    ] = None,
    subsets: Annotated[
        int,
        typer.Option(
            "--subsets",
            help="At each point also so many images in which the caches have written some of their "
            "dirty lines back.",
        ),
    ] = 0,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            help="A program that judges recovered images: the file is its last argument, exit "
            "code 0 means consistent. Default: the workload's own check.",
        ),
    ] = None,
    check_images: Annotated[
        int | None,
        typer.Option(
            "--check-images",
            help="Images of each run that this program sees, at points that lie evenly.",
            show_default=str(crashing.DEFAULT_CHECKS),
        ),
    ] = None,
    check_timeout: Annotated[
        float | None,
        typer.Option(
            "--check-timeout",
            help="Seconds that this program may take for an image; longer counts as a violation.",
            show_default=f"{crashing.DEFAULT_CHECK_TIMEOUT_S:g}",
        ),
    ] = None,
    recipe: Recipe,
    json_path: Json = None,
    jobs: Jobs = None,
) -> None:
    """Crash a design at every change of what would survive, recover, and judge the image.

    For example:

        pmemsim crash queue --design asap --threads 4
        pmemsim crash mine.pmt -d sw-undo --check './mine --verify'
        pmemsim crash --all-designs --workloads queue,btree --threads 4 --points 10000
        pmemsim crash --mutants

    At each point the design's own recovery works on exactly what has survived. The image must be
    what some set of whole regions leaves, with all that they depend on and all that was promised.
    The exit code is 0 if no image is wrong, 1 if one is; then the first one's story is told.
    """
    problems = Problems()
    with problems.collected():
        check_outputs(json_path)
    with problems.collected():
        check_jobs(jobs)
    if mutants:
        given: dict[str, object] = {
            "": " ".join(targets or []) or None,
            "--workloads": more_targets,
            "--all-designs": "" if all_designs else None,
            "--set": ", ".join(overrides or []) or None,
            "--points": points if points != "all" else None,
            "--at": at,
            "--subsets": subsets or None,
            "--check": check,
            "--check-images": check_images,
            "--check-timeout": check_timeout,
            **recipe.given,
        }
        problems.add(
            f"{option} {value}".strip() + ": each mutant has its own; leave it out beside --mutants"
            for option, value in given.items()
            if value is not None
        )
        return _crash_mutants(designs, machine, json_path, jobs, problems)
    chosen_points = _points(points, recipe.seed, at, subsets, problems)
    if check_images is not None:
        _check_whole("--check-images", check_images, 0, problems)
    if check_timeout is not None and not 0 < check_timeout <= _MOST_S:
        problems.add([f"--check-timeout {check_timeout:g}: must be more than 0, at most {_MOST_S}"])
    extra = tuple(parse_overrides(overrides or [], problems.found))
    names = _designs(designs, machine, problems, every=all_designs)
    configurations = configurations_of(names, machine, extra, problems)
    wanted = distinct(
        [*(targets or []), *(more_targets.split(",") if more_targets else [])], "target", problems
    )
    keep_inputs(problems, [json_path], (*wanted, *names, machine))
    if not wanted:
        problems.add(["name at least one target: a workload or a trace (.pmt)"])
    found = []
    for target in wanted:
        with problems.collected():
            found.append(_find_target(target, recipe))
    problems.raise_any()
    traces = open_traces(found, jobs)
    recordings = [
        (target, trace, checker_of(trace, check, check_images, check_timeout))
        for target, trace in zip(wanted, traces, strict=True)
    ]
    again = _again(machine, overrides, subsets, check, check_timeout, recipe)
    chosen = list(zip(names, configurations, strict=True))
    runs = _crash_all(chosen, recordings, chosen_points, again, jobs)
    if json_path:
        write_json({"runs": [run.to_dict() for run in runs], "mutants": []}, json_path)
    if json_path != "-":
        _print_runs(runs)
    _fail_if_wrong(runs)


def _crash_all(
    designs: Sequence[tuple[str, Configuration]],
    recordings: Sequence[tuple[str, Trace, Checker | None]],
    points: Points,
    again: Sequence[str],
    jobs: int | None,
) -> list[CrashRun]:
    pairs = [(*design, *recording) for design in designs for recording in recordings]

    def task(
        name: str, configuration: Configuration, target: str, trace: Trace, checker: Checker | None
    ) -> Callable[[Report], CrashRun]:
        command = shlex.join(["pmemsim", "crash", target, "--design", name, *again])
        return lambda report: verify(trace, configuration, points, checker, command, report)

    labels = [f"{trace.name} on {c.design.name}" for _, c, _, trace, _ in pairs]
    with progress_of(labels) as progress:
        return run_all([task(*pair) for pair in pairs], jobs, progress)


def _crash_mutants(
    designs: str | None, machine: str, json_path: str | None, jobs: int | None, problems: Problems
) -> None:
    chosen = list(broken.mutants())
    if designs is not None:
        names = names_of(designs, problems)
        chosen = [mutant for mutant in chosen if mutant.design in names]
        if not chosen:
            known = ", ".join(dict.fromkeys(mutant.design for mutant in broken.mutants()))
            problems.add([f"--design {designs}: there are mutants of {known} only"])
    problems.raise_any()
    recordings = list(dict.fromkeys(mutant.workload for mutant in chosen))
    opened = open_traces([Target(run.workload, run) for run in recordings], jobs)
    traces = dict(zip(recordings, opened, strict=True))
    with progress_of(broken.labels(chosen)) as progress:
        verdicts, sound = broken.judge(chosen, machine, traces, jobs, progress)
    if json_path:
        results = {
            "runs": [run.to_dict() for run in sound],
            "mutants": [verdict.to_dict() for verdict in verdicts],
        }
        write_json(results, json_path)
    if json_path != "-":
        _print_mutants(verdicts)
    missed = [v.mutant for v in verdicts if not v.caught]
    if missed:
        text = ", ".join(f"{mutant.design} with {mutant.switch}" for mutant in missed)
        raise CheckFailed(f"not caught: {text}")
    _fail_if_wrong(sound)


def _print_mutants(verdicts: Sequence[broken.Verdict]) -> None:
    rows = [
        (
            verdict.mutant.design,
            verdict.mutant.switch,
            verdict.mutant.what,
            verdict.run.workload,
            f"{verdict.run.points:,}",
            f"{verdict.run.violations:,}",
            "caught" if verdict.caught else "NOT CAUGHT",
        )
        for verdict in verdicts
    ]
    columns = ["design", "mutant", "what is missing", "workload", ">points", ">violations", ""]
    out.print(table("designs broken on purpose", columns, rows))


def _find_target(target: str, recipe: Recipe) -> Target:
    arguments = recipe.arguments
    if target.endswith(".pmt"):
        del arguments["seed"]  # is that of the points alone
    return find_target(target, opt=recipe.opt, **arguments)


def _points(
    text: str, seed: int | None, at: str | None, subsets: int, problems: Problems
) -> Points:
    at_ps = None
    if at is not None:
        at_ps = _picoseconds(at, problems)
        if text != "all":
            problems.add(["--at and --points: give one of them"])
    sample = None
    if text.isdecimal() and len(text) <= len(str(_MOST)):
        sample = int(text)
        _check_whole("--points", sample, 1, problems)
    elif text.isdecimal():
        problems.add([f"--points {text}: must be `all` or 1 to {_MOST}"])
    elif text != "all":
        problems.add([f"--points {text}: must be `all` or a whole number, as in 10000"])
    _check_whole("--subsets", subsets, 0, problems)
    problems.add(argument_problems(seed=seed))
    return Points(sample, 1 if seed is None else seed, at_ps, subsets)


def _picoseconds(text: str, problems: Problems) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        problems.add([f"--at {text}: not a time; give a number with its unit, as in 12.5us"])
        return None
    time = round(Decimal(match[1]) * _PICOSECONDS[match[2]])
    if time > _MOST:
        problems.add([f"--at {text}: is later than any simulation ends; leave it out"])
    return time


def _check_whole(option: str, value: int, least: int, problems: Problems) -> None:
    if not least <= value <= _MOST:
        problems.add([f"{option} {value}: must be {least} to {_MOST}"])


def _designs(text: str | None, machine: str, problems: Problems, *, every: bool) -> list[str]:
    if every and text is not None:
        problems.add(["--all-designs and --design: give one of them"])
        return []
    if text is not None:
        return names_of(text, problems)
    if not every:
        problems.add(["name a design with --design, or choose --all-designs"])
        return []
    with problems.collected():
        return crashing.promising_designs(machine)
    return []


def _again(
    machine: str,
    overrides: Sequence[str] | None,
    subsets: int,
    check: str | None,
    check_timeout: float | None,
    recipe: Recipe,
) -> list[str]:
    """The options that a command needs to crash the same simulation."""
    words = ["--machine", machine]
    for override in overrides or []:
        words += ["--set", override]
    for option, value in recipe.given.items():
        words += [option, str(value)]
    if subsets:
        words += ["--subsets", str(subsets)]
    if check is not None:
        words += ["--check", check]
    if check_timeout is not None:
        words += ["--check-timeout", f"{check_timeout:g}"]
    return words


def _print_runs(runs: Sequence[CrashRun]) -> None:
    rows = [
        (
            run.design,
            run.workload,
            str(run.threads),
            f"{run.points:,}",
            f"{run.images:,}",
            f"{run.restarts:,}",
            f"{run.checked:,}",
            f"{run.violations:,}",
            si(run.points_per_s),
        )
        for run in runs
    ]
    columns = [
        "design", "workload", ">threads", ">points", ">images", ">recoveries restarted",
        ">images checked by the program", ">violations", ">points/s",
    ]  # fmt: skip
    out.print(table(f"machine {runs[0].machine}", columns, rows))


def _fail_if_wrong(runs: Sequence[CrashRun]) -> None:
    wrong = [run for run in runs if run.story is not None]
    if not wrong:
        return
    first = wrong[0]
    story = first.story
    assert story is not None
    lines = [
        f"{first.design} doesn't recover {first.workload}: {story.lines[0]}",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to see it again: {story.command}",
    ]
    if len(wrong) > 1:
        others = ", ".join(f"{run.design} on {run.workload}" for run in wrong[1:])
        lines.append(f"  violations also in: {others}")
    raise CheckFailed("\n".join(lines))
