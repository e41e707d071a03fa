"""`pmemsim record`: record a program of your own, or pmemsim's workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

from pmemsim.cli.console import err, progress_of
from pmemsim.cli.options import Recipe, options_of
from pmemsim.errors import Error, Problems
from pmemsim.files import check_writable
from pmemsim.flushes import flushes_outside_pm
from pmemsim.parallel import Report, run_all
from pmemsim.recording import check_hint, check_pm_path, check_range, record, record_workload
from pmemsim.trace import Trace
from pmemsim.unrecorded import CAUSES, CURE, DOCS, msyncs, unrecorded
from pmemsim.workloads import WorkloadRun, argument_problems, unknown_workload, workloads


@dataclass(frozen=True)
class _Memory:
    """What of the program's memory is persistent, as given."""

    paths: list[Path]
    ranges: list[str]
    hints: list[str]
    heap: bool


@options_of(Recipe)
def record_command(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            help="A workload's name; or your program and its arguments, after `--`.",
            metavar="WORKLOAD | -- PROGRAM [ARGS]...",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The trace to write (.pmt).")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="The name that results give a program of your own, which stands after `--`. "
            "Without a program: the workload to record.",
        ),
    ] = None,
    all_workloads: Annotated[
        bool, typer.Option("--all", help="Record all of pmemsim's workloads (with `--out-dir`).")
    ] = False,
    out_dir: Annotated[
        Path | None, typer.Option("--out-dir", help="Where `--all` puts NAME.pmt.")
    ] = None,
    pm_path: Annotated[
        list[Path] | None,
        typer.Option("--pm-path", help="Files mapped from below this folder are persistent."),
    ] = None,
    pm_range: Annotated[
        list[str] | None,
        typer.Option("--pm-range", help="Addresses that are persistent, as LO:HI, hexadecimal."),
    ] = None,
    pm_hint: Annotated[
        list[str] | None,
        typer.Option(
            "--pm-hint",
            help="Persistent is what the program asks mmap for at this address, hexadecimal, "
            "wherever it gets it.",
        ),
    ] = None,
    pm_heap: Annotated[
        bool, typer.Option("--pm-heap", help="Everything that the program allocates is persistent.")
    ] = False,
    process: Annotated[
        str | None,
        typer.Option(
            "--process",
            help="Of the programs that a script starts, record the first of this name, "
            "not the first of all.",
        ),
    ] = None,
    schedules: Annotated[
        int | None,
        typer.Option(
            "--schedules",
            help="Record so many interleavings of the threads, schedules 0 (the usual one) to N-1, "
            "of --seed: `-o mine.pmt` then stands for mine.0.pmt, mine.1.pmt, ...",
            metavar="N",
        ),
    ] = None,
    *,
    recipe: Recipe,
) -> None:
    """Record a program, once, for all designs.

    A program of your own, built by pmemsim-cc or pmemsim-c++:

        pmemsim record -o mine.pmt -- ./mine --its --own arguments
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine

    Workloads that come with pmemsim:

        pmemsim record queue --threads 4 --data-bytes 256 -o queue.pmt
        pmemsim record vacation --log redo -o vacation-redo.pmt
        pmemsim record --all --out-dir traces

    Other interleavings of threads, so that bugs which need one are reached; the same again:

        pmemsim record --schedules 50 -o mine.pmt -- ./mine
        pmemsim record --schedule 17 -o again.pmt -- ./mine
        pmemsim record queue --schedules 3 -o queue.pmt

    A program that finds a pool which an earlier run has left starts from there: with schedules give
    a script that removes the pool first.
    With `--all`, `--data-bytes` is for the workloads that take it; the others have their own sizes.
    """
    wanted = _schedules(schedules, recipe)
    if program and name is None and _is_workload(program):
        name, program = program[0], None
    if program:
        _refuse(recipe, wanted)
        if all_workloads or out_dir:
            raise Error("--all and --out-dir are for pmemsim's workloads; leave out the program")
        memory = _Memory(pm_path or [], pm_range or [], pm_hint or [], pm_heap)
        _own(program, output, name, memory, process, wanted, recipe.seed)
        return
    if pm_path or pm_range or pm_hint or pm_heap or process:
        raise Error(
            "--pm-path, --pm-range, --pm-hint, --pm-heap and --process are for programs of your "
            "own, after --"
        )
    if out_dir and not all_workloads:
        raise Error("--out-dir goes with --all; say where to write one trace by -o NAME.pmt")
    if all_workloads:
        if out_dir is None:
            raise Error("--all needs --out-dir: the folder for the traces")
        if name or output:
            raise Error("--all records every workload into --out-dir; leave out --name and -o")
        if out_dir.exists() and not out_dir.is_dir():
            raise Error(f"--out-dir {out_dir}: is not a folder")
        _all(recipe, out_dir, wanted)
    elif name:
        _one(name, recipe, output, wanted)
    else:
        raise Error(
            "nothing to record: give a program of your own after --, as in 'pmemsim record -o "
            "mine.pmt -- ./mine', or a workload's name, or --all"
        )


_MOST_SCHEDULES = 10_000


@dataclass(frozen=True)
class _Schedules:
    """Which interleavings to record, each into a file of its own if there are several."""

    numbers: tuple[int, ...]
    several: bool

    def output(self, output: Path, number: int) -> Path:
        return output.with_suffix(f".{number}{output.suffix}") if self.several else output


def _schedules(count: int | None, recipe: Recipe) -> _Schedules:
    problems = Problems()
    problems.add(argument_problems(schedule=recipe.schedule))
    if count is not None and not 1 <= count <= _MOST_SCHEDULES:
        problems.add([f"--schedules {count}: must be 1 to {_MOST_SCHEDULES}"])
    if count is not None and recipe.schedule is not None:
        problems.add(["--schedules and --schedule: give one of them"])
    problems.raise_any()
    if count is not None:
        return _Schedules(tuple(range(count)), several=True)
    return _Schedules((recipe.schedule or 0,), several=False)


def _is_workload(program: list[str]) -> bool:
    word = program[0]
    if len(program) > 1 or "/" in word:
        return False
    if word in workloads():
        return True
    if which(word):
        return False
    raise Error(f"{unknown_workload(word)} (a program of your own is given by its path: ./{word})")


def _all(recipe: Recipe, out_dir: Path, schedules: _Schedules) -> None:
    problems = Problems()
    runs = []
    if recipe.log or recipe.whole_run:
        problems.add(["--log and --whole-run: for one workload at a time; leave out --all"])
    for workload in workloads().values():
        taken = {
            key: value
            for key, value in recipe.arguments.items()
            if key in (*workload.arguments, "hints", "schedule")
        }
        with problems.collected():
            runs.append(WorkloadRun.of(workload.name, opt=recipe.opt, **taken))
    problems.raise_any()
    out_dir.mkdir(parents=True, exist_ok=True)
    _workloads(runs, [out_dir / f"{run.workload}.pmt" for run in runs], schedules)


def _one(name: str, recipe: Recipe, output: Path | None, schedules: _Schedules) -> None:
    problems = Problems()
    with problems.collected():
        run = WorkloadRun.of(name, opt=recipe.opt, **recipe.arguments)
    with problems.collected():
        path = _needed(output, schedules)
    problems.raise_any()
    _workloads([run], [path], schedules)


def _needed(output: Path | None, schedules: _Schedules) -> Path:
    if output is None:
        raise Error("say where to write the trace: -o NAME.pmt")
    if output.suffix != ".pmt":
        raise Error(f"{output}: a trace's name must end with .pmt")
    for number in schedules.numbers:
        check_writable(schedules.output(output, number))
    return output


def _refuse(recipe: Recipe, schedules: _Schedules) -> None:
    of_schedules = ["--schedule", "--seed"] if schedules.numbers != (0,) else ["--schedule"]
    given = [option for option in recipe.given if option not in of_schedules]
    if given:
        raise Error(
            f"leave out {', '.join(given)}: for pmemsim's workloads only; your own program "
            "takes its arguments after --"
        )


def _own(
    program: list[str],
    output: Path | None,
    name: str | None,
    memory: _Memory,
    process: str | None,
    schedules: _Schedules,
    seed: int | None,
) -> None:
    problems = Problems()
    with problems.collected():
        recording = _needed(output, schedules)
    problems.add(argument_problems(seed=seed))
    for path in memory.paths:
        with problems.collected():
            check_pm_path(path)
    ranges, hints = [], []
    for text in memory.ranges:
        with problems.collected():
            ranges.append(check_range(text))
    for text in memory.hints:
        with problems.collected():
            hints.append(check_hint(text))
    problems.raise_any()

    def recorded(schedule: int, report: Report, done: float) -> Trace:
        return record(
            program,
            schedules.output(recording, schedule),
            name=name,
            pm_paths=memory.paths,
            pm_ranges=ranges,
            pm_hints=hints,
            pm_heap=memory.heap,
            process=process,
            schedule=schedule,
            seed=1 if seed is None else seed,
            keep_going=lambda: report(done),
        )

    # One after the other, for the program may have files that it works on.
    def task(report: Report) -> None:
        for index, schedule in enumerate(schedules.numbers):
            trace = recorded(schedule, report, index / len(schedules.numbers))
            kept.append(trace)
            _say(trace)
            if trace.threads == 1 and schedules.numbers != (0,):
                _say_nothing_changes(trace.name, schedules)
                return

    with _kept_if_interrupted(len(schedules.numbers)) as kept:
        run_all([task])


@contextmanager
def _kept_if_interrupted(wanted: int) -> Iterator[list[Trace]]:
    """Takes the recordings that are there; an interruption then says how many."""
    kept: list[Trace] = []
    try:
        yield kept
    except KeyboardInterrupt:
        if not kept:
            raise
        raise KeyboardInterrupt(
            f"interrupted; {len(kept)} of {wanted} recordings are kept"
        ) from None


def _say_nothing_changes(name: str, schedules: _Schedules) -> None:
    only = "; only schedule 0 was recorded" if schedules.several else ""
    err.print(f"pmemsim: note: {name} has one thread, which schedules don't change{only}")


def _workloads(runs: list[WorkloadRun], outputs: list[Path], schedules: _Schedules) -> None:
    named = list(zip(runs, outputs, strict=True))
    runs, outputs = [], []
    for run, output in named:
        numbers = schedules.numbers
        if run.threads == 1 and numbers != (0,):
            _say_nothing_changes(run.workload, schedules)
            numbers = numbers[:1]
        runs += [replace(run, schedule=number) for number in numbers]
        outputs += [schedules.output(output, number) for number in numbers]

    def task(run: WorkloadRun, output: Path) -> Callable[[Report], None]:
        return lambda report: kept.append(
            record_workload(run, output, keep_going=lambda: report(0.5))
        )

    labels = [
        f"recording {run.workload}" + (f" (schedule {run.schedule})" if run.schedule else "")
        for run in runs
    ]
    with _kept_if_interrupted(len(runs)) as kept, progress_of(labels) as progress:
        run_all(
            [task(run, output) for run, output in zip(runs, outputs, strict=True)],
            progress=progress,
        )
    for trace in sorted(kept, key=lambda trace: outputs.index(trace.path)):
        _say(trace)


def _say(trace: Trace) -> None:
    size = trace.path.stat().st_size
    err.print(f"recorded {trace.path} ({size / 1e6:.1f} MB, {trace.threads} threads)", markup=False)
    if not trace.metadata["pm_regions"]:
        err.print(
            "pmemsim: note: none of its memory was persistent; say which is by pm.h, --pm-path, "
            "--pm-range, --pm-hint or --pm-heap",
            markup=False,
        )
    if outside := flushes_outside_pm(trace.metadata):
        err.print(
            f"pmemsim: note: flushes of lines outside persistent memory: {outside}", markup=False
        )
    if calls := msyncs(trace.metadata):
        err.print(f"pmemsim: note: {calls}", markup=False)
    if changed := unrecorded(trace.metadata):
        err.print(
            f"pmemsim: note: persistent memory has changed without a recorded store: {changed}; "
            f"{CAUSES}. What check and crash say of it is partial: {CURE} ({DOCS})",
            markup=False,
        )
