"""`pmemsim crash`: pull the plug everywhere, recover, and judge what is left."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from pmemsim import crash as crashing
from pmemsim import random_programs
from pmemsim.cli.choices import (
    Backends,
    before_backends,
    configurations_of,
    distinct,
    names_of,
)
from pmemsim.cli.console import note_nothing_kept, out, print_notes, progress_of, si, table
from pmemsim.cli.model_crash import ModelOptions, crash_by_model
from pmemsim.cli.options import (
    MOST,
    Jobs,
    Json,
    Recipe,
    check_jobs,
    check_outputs,
    keep_inputs,
    options_of,
    sample_of,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.crash import (
    Case,
    Checker,
    CheckerWanted,
    CrashRun,
    Points,
    Refused,
    checker_of,
    verify_or_refuse,
)
from pmemsim.decode import registers_path
from pmemsim.errors import CheckFailed, ConfigError, Problems
from pmemsim.files import check_writable, write_json
from pmemsim.parallel import Report, host_cores, run_all
from pmemsim.persistency import DEFAULT_BUDGET
from pmemsim.presets import parse_overrides
from pmemsim.stress import stress_sets
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace
from pmemsim.workloads import WorkloadRun, argument_problems

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ps|ns|us|ms|s)")
_PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_MOST_S = 10**6
_MOST_SUBSETS = 10**5  # some seconds of work at each point, which ends before Ctrl-C is heard
_MACHINE = "asap"
_MOST_PROGRAMS = 10**5  # half a day of work; all are listed before the first begins


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
        bool,
        typer.Option(
            "--all-designs",
            help="Every design that promises atomic regions, of those that run the `--log`.",
        ),
    ] = False,
    backends: Backends = None,
    mutants: Annotated[bool, typer.Option("--mutants", hidden=True)] = False,
    more_targets: Annotated[
        str | None, typer.Option("--workloads", help="Targets, by commas.")
    ] = None,
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            help="Instead of targets so many random programs, with --seed and the seeds after it, "
            f"each of {random_programs.REGIONS} regions (or --regions). Designs without atomic "
            "regions (x86-bare) are judged by what the programs have flushed and fenced.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Show --check what a persistency model allows, whatever a machine does: px86, or "
            "eadr, instead of designs; or `promises`: what any machine may leave that keeps what "
            "--design promises.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            help="With --model: how many images, as in 10000, 30s or `all`; likely bugs come "
            "first, then random images (with --seed).",
            show_default=DEFAULT_BUDGET,
        ),
    ] = None,
    image: Annotated[
        int | None, typer.Option("--image", help="With --model: only the image of this number.")
    ] = None,
    recovery_image: Annotated[
        int | None,
        typer.Option(
            "--recovery-image",
            help="With --image: only the image of this number that a second crash, in the "
            "checker's recovery from that one, leaves.",
        ),
    ] = None,
    without_each: Annotated[
        bool,
        typer.Option(
            "--without-each",
            help="With --model: then leave out each flush and each fence of the program in turn, "
            "and say whether the checker notices, or whether a crash leaves the same images.",
        ),
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            help="A machine's name, or the path of a YAML file.",
            show_default=_MACHINE,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="Set a parameter, as in `pm.wpq_entries=4`; repeatable."),
    ] = None,
    stress: Annotated[
        bool,
        typer.Option(
            "--stress",
            help="With each set of settings that makes structures collide (docs/crash.md), instead "
            "of the machine as it is; random programs take the sets in turn.",
        ),
    ] = False,
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
    check_in_process: Annotated[
        Path | None,
        typer.Option(
            "--check-in-process",
            help="Instead of --check, and several times as fast: a shared library whose function "
            "pmemsim_check judges images in memory (pmemsim/check.h).",
            metavar="LIBRARY",
        ),
    ] = None,
    check_images: Annotated[
        str | None,
        typer.Option(
            "--check-images",
            help="So many images of each run are checked, at points that lie evenly; or `all` that "
            "are recovered, torn lines and --subsets, too.",
            metavar="N",
            show_default=f"{crashing.DEFAULT_CHECKS}; --random: 0",
        ),
    ] = None,
    check_timeout: Annotated[
        float | None,
        typer.Option(
            "--check-timeout",
            help="Seconds that a check may take for an image; longer counts as a violation.",
            show_default=f"{crashing.DEFAULT_CHECK_TIMEOUT_S:g}",
        ),
    ] = None,
    save_image: Annotated[
        Path | None,
        typer.Option(
            "--save-image",
            help="With --at: write the device as that point leaves it, for `pmemsim decode`, and "
            "what survives in registers to FILE.registers.json. For designs with a backend.",
            metavar="FILE",
        ),
    ] = None,
    keep_image: Annotated[
        Path | None,
        typer.Option(
            "--keep-image",
            help="Write the first wrong image, as recovered and checked; of several regions of PM, "
            "to FILE.0, FILE.1, ... If none is wrong: that of --image, or the last one of --at.",
            metavar="FILE",
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
        pmemsim crash --all-designs --stress --random 100 --seed 1
        pmemsim crash queue --design asap,lad --backends verified-janus -m janus
        pmemsim crash mine.pmt --model px86 --check './mine --verify'
        pmemsim crash mine.pmt --model px86 --check-in-process ./mine_check.so
        pmemsim crash mine.pmt --model promises -d asap,hops --check './mine --verify'

    At each point the design's own recovery works on exactly what has survived. The image must be
    what some set of whole regions leaves, with all that they depend on and all that was promised.
    A design without atomic regions (x86-bare) must keep what was flushed and fenced; one that
    promises nothing (np) is refused.
    With --model, a program is judged instead: its checker sees images that x86 allows, where a
    store that isn't flushed and fenced may be there or not, until it rejects one. If the checker
    was built with pmemsim-cc, its recovery is then crashed again. With --model promises these are
    the images that a design's promises allow, after its recovery: a region of ASAP, say, is durable
    some time after its end.
    The exit code is 0 if no image is wrong, 1 if one is; then the first one's story is told. It is
    2 where nothing would be judged: no persistent memory, no regions on a design that promises
    nothing else, a check that has seen no image.
    """
    problems = Problems()
    if mutants:
        problems.add(["--mutants: is a command of its own now: pmemsim selftest"])
    with problems.collected():
        check_outputs(json_path)
    with problems.collected():
        check_jobs(jobs)
    if check_timeout is not None and not 0 < check_timeout <= _MOST_S:
        problems.add([f"--check-timeout {check_timeout:g}: must be more than 0, at most {_MOST_S}"])
    checker = CheckerWanted(check, check_in_process, check_timeout)
    if check is not None and check_in_process is not None:
        problems.add(["--check and --check-in-process: give one of them"])
    if model is not None:
        if save_image is not None:
            problems.add(["--save-image: writes a design's device; here choose --keep-image"])
        return crash_by_model(
            [*(targets or []), *(more_targets.split(",") if more_targets else [])],
            lambda target: _find_target(target, recipe),
            recipe,
            ModelOptions(
                model,
                budget,
                image,
                recovery_image,
                keep_image,
                checker,
                json_path,
                jobs,
                without_each,
                designs,
            ),
            {
                "--all-designs": "" if all_designs else None,
                "--machine": machine,
                "--backends": backends,
                "--random": random,
                "--set": ", ".join(overrides or []) or None,
                "--stress": "" if stress else None,
                "--points": points if points != "all" else None,
                "--at": at,
                "--subsets": subsets or None,
                "--check-images": check_images,
            },
            problems,
        )
    problems.add(
        f"{option} {value}".strip() + ": goes with --model"
        for option, value in (
            ("--budget", budget),
            ("--image", image),
            ("--recovery-image", recovery_image),
            ("--without-each", "" if without_each else None),
        )
        if value is not None
    )
    machine = _MACHINE if machine is None else machine
    chosen_points = _points(points, recipe.seed, at, subsets, problems)
    # The oracle sees all images; starting random programs for some would take longer than that.
    default = crashing.DEFAULT_CHECKS if random is None or checker.given else 0
    images = _images(check_images, default, problems)
    if checker.given and images == 0:
        problems.add(
            [f"{checker.options[0]} and --check-images 0: nothing would be checked; leave one out"]
        )
    extra = tuple(parse_overrides(overrides or [], problems.found))
    names = _designs(designs, machine, problems, every=all_designs, log=recipe.log)
    names = before_backends(names, backends, problems)
    configurations_of(names, machine, extra, problems)
    wanted = distinct(
        [*(targets or []), *(more_targets.split(",") if more_targets else [])], "target", problems
    )
    alone = len(names) == len(wanted) == 1 and not stress and random is None
    if save_image is not None and not (alone and at is not None):
        problems.add(
            ["--save-image: give --at, one target and one design, without --stress or --random"]
        )
    if keep_image is not None and not alone:
        problems.add(["--keep-image: give one target and one design, without --stress or --random"])
    saved = [save_image, registers_path(save_image)] if save_image else []
    for path in [*saved, keep_image]:
        if path is not None:
            with problems.collected():
                check_writable(path)
    chosen_points = replace(chosen_points, device=save_image, kept=keep_image)
    keep_inputs(problems, [json_path, *saved, keep_image], (*wanted, *names, machine))
    crashes = _Crashes(
        cases=[
            [Case(name, machine, extra, settings) for name in names]
            for settings in (stress_sets().values() if stress else [None])
        ],
        points=chosen_points,
        recipe=recipe,
        checker=checker,
        check_images=images,
        jobs=jobs,
    )
    if random is None:
        found = crashes.of_targets(wanted, problems)
    else:
        found = crashes.of_random_programs(random, wanted, problems)
    runs = [run for run in found if isinstance(run, CrashRun)]
    refused = _each_once(run for run in found if isinstance(run, Refused))
    if not runs:
        raise ConfigError([refused[0].reason])
    shown = runs if random is None else random_programs.in_sum(runs)
    if json_path:
        results = {
            "runs": [run.to_dict() for run in shown],
            "refused": [vars(case) for case in refused],
        }
        write_json(results, json_path)
    if json_path != "-":
        _print_runs(shown)
        print_notes((run.workload, run.notes) for run in shown)
        _print_refused(refused)
    _fail_if_wrong(runs)
    if keep_image is not None and at is None:
        note_nothing_kept(keep_image)


@dataclass(frozen=True)
class _Crashes:
    """What the user wants to be crashed, and how."""

    cases: Sequence[Sequence[Case]]
    """Of each set of settings, the designs."""
    points: Points
    recipe: Recipe
    checker: CheckerWanted
    check_images: int | None
    """None: all."""
    jobs: int | None

    def of_targets(self, wanted: Sequence[str], problems: Problems) -> list[CrashRun | Refused]:
        """Crash every case on every target."""
        if not wanted:
            problems.add(["name at least one target: a workload or a trace (.pmt)"])
        targets = []
        for target in wanted:
            with problems.collected():
                targets.append(_find_target(target, self.recipe))
        problems.raise_any()
        traces = open_traces(targets, self.jobs)
        checkers = [checker_of(trace, self.checker, self.check_images) for trace in traces]
        recordings = list(zip(wanted, traces, checkers, strict=True))
        pairs = [
            (case, *recording)
            for design in zip(*self.cases, strict=True)
            for case in design
            for recording in recordings
        ]

        def task(
            case: Case, target: str, trace: Trace, checker: Checker | None
        ) -> Callable[[Report], CrashRun | Refused]:
            command = self._command(target, case, self.recipe)
            jobs = max(1, (self.jobs or host_cores()) // len(pairs))
            return lambda report: verify_or_refuse(
                trace, case, self.points, checker, command, report, jobs
            )

        labels = [f"{trace.name} on {case.label}" for case, _, trace, _ in pairs]
        with progress_of(labels) as progress:
            return run_all([task(*pair) for pair in pairs], self.jobs, progress)

    def of_random_programs(
        self, count: int, wanted: Sequence[str], problems: Problems
    ) -> list[CrashRun | Refused]:
        """Crash every design on so many programs, each with the next set of settings."""
        if wanted:
            problems.add([f"{' '.join(wanted)}: --random makes its own programs; leave one out"])
        _check_whole("--random", count, 1, problems, _MOST_PROGRAMS)
        recipe = self.recipe
        if recipe.regions is None:
            recipe = replace(recipe, regions=random_programs.REGIONS)
        with problems.collected():
            first = WorkloadRun.of(random_programs.WORKLOAD, opt=recipe.opt, **recipe.arguments)
            problems.add(argument_problems(seed=first.seed + max(count, 1) - 1))
        problems.raise_any()
        programs = [replace(first, seed=first.seed + number) for number in range(count)]

        def command_of(program: WorkloadRun, case: Case) -> str:
            return self._command(program.workload, case, replace(recipe, seed=program.seed))

        with progress_of([f"program {program.seed}" for program in programs]) as progress:
            return random_programs.crash_programs(
                programs,
                self.cases,
                self.points,
                lambda trace: checker_of(trace, self.checker, self.check_images),
                command_of,
                self.jobs,
                progress,
            )

    def _command(self, target: str, case: Case, recipe: Recipe) -> str:
        """What crashes the same simulation again."""
        words = ["pmemsim", "crash", target, *case.options]
        for option, value in recipe.given.items():
            words += [option] if value is True else [option, str(value)]
        if self.points.subsets:
            words += ["--subsets", str(self.points.subsets)]
        if self.check_images is None:
            words += ["--check-images", "all"]
        return shlex.join([*words, *self.checker.options])


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
    sample = sample_of(text, problems)
    _check_whole("--subsets", subsets, 0, problems, _MOST_SUBSETS)
    problems.add(argument_problems(seed=seed))
    return Points(sample, 1 if seed is None else seed, at_ps, subsets)


def _picoseconds(text: str, problems: Problems) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        problems.add([f"--at {text}: not a time; give a number with its unit, as in 12.5us"])
        return None
    time = round(Decimal(match[1]) * _PICOSECONDS[match[2]])
    if time > MOST:
        problems.add([f"--at {text}: is later than any simulation ends; leave it out"])
    return time


def _images(text: str | None, default: int, problems: Problems) -> int | None:
    """How many a checker sees; None: all."""
    if text is None:
        return default
    if text == "all":
        return None
    if text.lstrip("-").isdecimal():
        _check_whole("--check-images", int(text), 0, problems)
        return int(text)
    problems.add([f"--check-images {text}: give a number, or `all`"])
    return default


def _check_whole(option: str, value: int, least: int, problems: Problems, most: int = MOST) -> None:
    if not least <= value <= most:
        problems.add([f"{option} {value}: must be {least} to {most}"])


def _designs(
    text: str | None, machine: str, problems: Problems, *, every: bool, log: str | None
) -> list[str]:
    if every and text is not None:
        problems.add(["--all-designs and --design: give one of them"])
        return []
    if text is not None:
        return names_of(text, problems)
    if not every:
        problems.add(["name a design with --design, or choose --all-designs"])
        return []
    with problems.collected():
        return crashing.promising_designs(machine, log)
    return []


def _each_once(refused: Iterable[Refused]) -> list[Refused]:
    """One of each design and its settings, whatever recordings it was refused with."""
    first: dict[tuple[str, str], Refused] = {}
    for case in refused:
        first.setdefault((case.design, case.stress), case)
    return list(first.values())


def _print_runs(runs: Sequence[CrashRun]) -> None:
    columns: dict[str, Callable[[CrashRun], str]] = {
        "design": lambda run: run.design,
        "stress": lambda run: run.stress,
        "workload": lambda run: run.workload,
        ">programs": lambda run: f"{run.programs:,}",
        ">threads": lambda run: str(run.threads),
        ">points": lambda run: _part(run.points, run.all_points),
        ">images": lambda run: f"{run.images:,}",
        ">recoveries restarted": lambda run: f"{run.restarts:,}",
        ">images checked by the program": _checked,
        ">violations": lambda run: f"{run.violations:,}",
        ">points/s": lambda run: si(run.points_per_s),
    }
    if not any(run.stress for run in runs):
        del columns["stress"]
    if all(run.programs == 1 for run in runs):
        del columns[">programs"]
    rows = [[cell(run) for cell in columns.values()] for run in runs]
    out.print(table(f"machine {runs[0].machine}", list(columns), rows))


def _part(some: int, of_all: int) -> str:
    return f"{some:,}" if some == of_all else f"{some:,} of {of_all:,}"


def _checked(run: CrashRun) -> str:
    if run.unchecked is None:
        return "no check"
    return _part(run.checked, run.checked + run.unchecked)


def _print_refused(refused: Sequence[Refused]) -> None:
    if refused:
        rows = [(case.design, case.stress, case.reason) for case in refused]
        out.print(table("what doesn't go together", ["design", "stress", "why"], rows))


# Wrong runs that a failure names after the first one.
_NAMED = 20


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
        others = ", ".join(map(_named, wrong[1 : 1 + _NAMED]))
        more = f" and {len(wrong) - 1 - _NAMED} more" if len(wrong) - 1 > _NAMED else ""
        lines.append(f"  violations also in: {others}{more}")
    raise CheckFailed("\n".join(lines))


def _named(run: CrashRun) -> str:
    stress = f" with {run.stress}" if run.stress else ""
    seed = f" of seed {run.seed}" if run.workload.startswith(random_programs.WORKLOAD) else ""
    return f"{run.design} on {run.workload}{seed}{stress}"
