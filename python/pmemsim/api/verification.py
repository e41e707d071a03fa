"""Test designs and programs: `crash`, `check`, `advise`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from pmemsim.advice.advise import Advice, adviser_of
from pmemsim.api.common import (
    AnyTrace,
    Overrides,
    check_outputs,
    configurations_of,
    designs_of,
    given_recipe,
    like_command,
    opened,
    path_of,
    recordings_of,
)
from pmemsim.arguments import check_jobs
from pmemsim.checking.check import CheckChoice, CheckResults, ImageChoice
from pmemsim.chosen import before_backends
from pmemsim.crash_suite import (
    CrashResults,
    CrashSuite,
    cases_of,
    default_checks,
    image_checks,
    points_of,
    random_programs_of,
)
from pmemsim.crashing import promising_designs, wanted_checker
from pmemsim.decode import registers_path
from pmemsim.errors import Error, Problems
from pmemsim.persistency import DEFAULT_BUDGET, Budget
from pmemsim.progress import Progress, watch_of
from pmemsim.runner import Runner
from pmemsim.targets import Recipe
from pmemsim.workload_runs import WorkloadRun


@like_command("crash", traces="TARGET", designs="--design", overrides="--set")
def crash(
    traces: AnyTrace | Sequence[AnyTrace] = (),
    *,
    designs: Sequence[str | Path] | None = None,
    all_designs: bool = False,
    backends: Sequence[str] | None = None,
    machine: str | Path = "asap",
    overrides: Overrides | None = None,
    stress: bool = False,
    points: int | Literal["all"] = "all",
    at: str | None = None,
    subsets: int = 0,
    verify: str | None = None,
    verify_library: str | Path | None = None,
    verify_timeout: float | None = None,
    verify_images: int | Literal["all"] | None = None,
    random: int | None = None,
    keep_image: str | Path | None = None,
    save_image: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> CrashResults:
    """Crash designs at every change of their persistent state, recover, and check the images.

    Args:
        traces: A recording or a workload as in `run`, or a list of them.
        designs: A list of the designs to crash.
        all_designs: Crashes every design that guarantees atomic regions, instead of `designs`.
        backends: Names of backends, each of which is combined with each design; `none` is the
            design without one.
        machine: The machine, as in `run`.
        overrides: Values of parameters, as in `run`.
        stress: Crashes with each set of settings that fills hardware structures.
        points: Number of random crash points (see `seed`), or `all`. The crash points of images
            that a checker sees are in addition.
        at: Simulated time with its unit, as in `12.5us`: crashes only at the last points until
            then.
        subsets: Number of further images at each point, in which the caches have written back
            some of their dirty lines.
        verify: A command that checks an image, whose file is its last argument; `own` is the
            workload's own checker.
        verify_library: A shared library that checks images, instead of a command.
        verify_timeout: Limit of a checker's time for an image, in seconds; default: 60.
        verify_images: Number of images that the checker sees, or `all`; default: 10, or 0 for
            random programs.
        random: Number of random programs to crash, instead of `traces`.
        keep_image: A file for the first wrong image, after recovery.
        save_image: A file for the device's contents at the last point of `at`, before recovery.
        jobs: Number of tasks at the same time; default: all host cores.
        progress: As in `run`.
        **recipe: How workloads are recorded: see `Recipe`. `seed` also selects random points.

    Returns:
        The runs with their violations, which aren't raised.

    Raises:
        ConfigError: An argument is wrong, or a design guarantees nothing; the exception lists all
            errors.
        Error: As for `run`, or if there is nothing to check.

    Example:
        `pmemsim.crash("queue", designs=["asap"], points=1000).violations`
    """
    problems = Problems()
    given = given_recipe(recipe)
    check_jobs(problems, jobs)
    names: list[str] = []
    if designs is not None:
        names = designs_of(designs, problems)
    elif all_designs:
        with problems.collected():
            names = promising_designs(str(machine), given.get("log"))
    names = before_backends(names, backends, problems)
    saved = [save_image, registers_path(Path(save_image))] if save_image else []
    check_outputs([*saved, keep_image], [traces, *names, machine], problems)
    configurations = configurations_of(names, machine, overrides, problems)
    checker = wanted_checker(verify, path_of(verify_library), verify_timeout, problems)
    where = points_of(points, at, subsets, given.get("seed"), problems)
    default = default_checks(random=random is not None, checker=checker)
    checks = image_checks(verify_images, default=default, problems=problems)
    programs: list[WorkloadRun] = []
    with problems.collected():
        programs = random_programs_of(random, given) if random is not None else []
    found = recordings_of(traces, recipe, problems, seed_is_own=True)
    if (save_image or keep_image) and len(names) * len(found) > 1:
        problems.add(["--save-image and --keep-image require a single trace and a single design"])
    problems.raise_any()
    runner = Runner(watch_of(progress), jobs)
    suite = CrashSuite(
        cases_of(names, str(machine), configurations, stress=stress),
        replace(where, device=path_of(save_image), kept=path_of(keep_image)),
        given,
        checker,
        checks,
        runner,
    )
    if random is not None:
        return suite.on_random_programs(programs)
    recordings = opened(found, runner)
    return suite.on_traces(
        [(each.name, trace) for each, trace in zip(found, recordings, strict=True)]
    )


@like_command("check", harmless="jobs", trace="TARGET", designs="--design")
def check(
    trace: AnyTrace,
    *,
    verify: str | None = None,
    verify_library: str | Path | None = None,
    verify_timeout: float | None = None,
    answers: str | None = None,
    operation: str | None = None,
    model: Literal["px86", "eadr", "guarantees"] = "px86",
    designs: Sequence[str | Path] | None = None,
    budget: str | int | None = None,
    without_each: bool = False,
    image: int | None = None,
    recovery_image: int | None = None,
    delayed: int | None = None,
    hosts: int | None = None,
    fail: int | None = None,
    keep_image: str | Path | None = None,
    suppress: str | Path | None = None,
    strict: bool = False,
    baseline: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> CheckResults:
    """Find errors in a recorded program's use of persistent memory.

    Args:
        trace: A recording or a workload, as in `run`.
        verify: A command that checks an image, whose file is its last argument; `own` is the
            workload's own checker.
        verify_library: A shared library that checks images, instead of a command.
        verify_timeout: Limit of a checker's or a reader's time for an image, in seconds; default:
            60.
        answers: A command that recovers an image, whose file is its last argument, and prints the
            contents.
        operation: A glob of functions whose calls are operations for `answers`; default: the
            recording's regions.
        model: What survives a crash: `px86`, `eadr`, or what the designs guarantee.
        designs: A list of designs, for the model `guarantees`.
        budget: Number of images to check, a time with its unit as in `30s`, or `all`; default:
            3000.
        without_each: Also removes each flush and each fence in turn.
        image: Number of the only image to check.
        recovery_image: With `image`: number of the only image of a second crash, during recovery.
        delayed: Number of the thread whose flushes and fences execute as late as possible, from 0.
        hosts: Number of hosts that share persistent memory.
        fail: Number of the host that fails, from 0.
        keep_image: A file for the rejected image, or the image of `image`.
        suppress: A file of intended findings, which are not reported.
        strict: Counts notes as errors: findings that a correct program may have, too.
        baseline: A file that `CheckResults.to_sarif` or `--sarif` wrote. Findings in it are in
            `report.known`, and are no errors.
        jobs: Number of tasks at the same time; default: all host cores.
        progress: As in `run`.
        **recipe: How a workload is recorded: see `Recipe`. `seed` also selects random images.

    Returns:
        The findings and the verdict of each method, which aren't raised. `ok` is false if there
        are any, or if a method left more than 1% of its cases undecided.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: As for `run`, or if a method has checked nothing and no other found an error.

    Example:
        `pmemsim.check("queue", verify="own", budget=100).found`
    """
    problems = Problems()
    check_outputs([keep_image], [trace, suppress, baseline], problems)
    images = ImageChoice(
        None if budget is None else str(budget), without_each, image, recovery_image, delayed,
        hosts, fail, path_of(keep_image),
    )  # fmt: skip
    choice = CheckChoice(
        model=model,
        designs=None if designs is None else designs_of(designs, problems),
        checker=wanted_checker(verify, path_of(verify_library), verify_timeout, problems),
        answers=answers,
        operation=operation,
        images=images,
        suppress=path_of(suppress),
        strict=strict,
        recipe=given_recipe(recipe),
        jobs=jobs,
        baseline=path_of(baseline),
    )
    request = choice.request(problems)
    found = recordings_of(trace, recipe, problems, seed_is_own=choice.seed_is_own)
    problems.raise_any()
    assert request is not None
    watch = watch_of(progress)
    (recording,) = opened(found, Runner(watch, jobs))
    results = request.check(found[0].name, recording, watch)
    if results.failed and not results.found:
        raise Error("; ".join(results.failed))
    return results


@like_command("advise", trace="TARGET", overrides="--set")
def advise(
    trace: AnyTrace,
    *,
    design: str | Path,
    machine: str | Path,
    overrides: Overrides | None = None,
    verify: str | None = None,
    verify_library: str | Path | None = None,
    verify_timeout: float | None = None,
    budget: str | int = DEFAULT_BUDGET,
    jobs: int | None = None,
    progress: Progress = True,
    **recipe: Unpack[Recipe],
) -> Advice:
    """Say which flushes and fences can be removed, and what repairs a program that lacks some.

    Args:
        trace: A recording or a workload, as in `run`.
        design: The design whose time counts, as in `run`.
        machine: The machine, as in `run`.
        overrides: Values of parameters, as in `run`.
        verify: A command that checks an image, whose file is its last argument; `own` is the
            workload's own checker.
        verify_library: A shared library that checks images, instead of a command.
        verify_timeout: Limit of a checker's time for an image, in seconds; default: 60.
        budget: Number of images of each variant to check, a time as in `30s`, or `all`.
        jobs: Number of tasks at the same time; default: all host cores.
        progress: As in `run`.
        **recipe: How a workload is recorded: see `Recipe`.

    Returns:
        What can be removed, or the repair: its `patch` is for `patch -p1`.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: As for `run`, or if no crash image can be made.

    Example:
        `pmemsim.advise("queue", design="x86-bare", machine="xeon-optane").to_frame()`
    """
    problems = Problems()
    check_jobs(problems, jobs)
    configurations = configurations_of([design], machine, overrides, problems)
    checker = wanted_checker(verify, path_of(verify_library), verify_timeout, problems)
    found = recordings_of(trace, recipe, problems)
    wanted = Budget.of(DEFAULT_BUDGET)
    with problems.collected():
        wanted = Budget.of(str(budget))
    problems.raise_any()
    watch = watch_of(progress)
    (recording,) = opened(found, Runner(watch, jobs))
    return adviser_of(recording, configurations[0], wanted, checker, jobs, watch).advice()
