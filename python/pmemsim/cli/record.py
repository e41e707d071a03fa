"""`pmemsim record`: record a program of your own, or pmemsim's workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import which
from typing import Annotated, Any

from pmemsim.arguments import check_whole
from pmemsim.cli.command import EXPLORATION, MEMORY, OUTPUT, TARGET, argument, declared, option
from pmemsim.cli.console import err, progress_of
from pmemsim.cli.options import Json, Recipe, check_outputs
from pmemsim.errors import Error, Problems
from pmemsim.files import check_trace_name, check_writable, write_json
from pmemsim.flushes import flushes_outside_pm
from pmemsim.parallel import Report, run_all
from pmemsim.programs import KeepGoing
from pmemsim.recording import (
    check_hint,
    check_hold,
    check_pm_path,
    check_range,
    record,
    record_workload,
)
from pmemsim.rules import Given
from pmemsim.trace import Trace
from pmemsim.unrecorded import (
    CAUSES,
    CURE,
    DOCS,
    library_note,
    library_of,
    not_recorded,
    unrecorded,
)
from pmemsim.workload_runs import (
    WorkloadRun,
    argument_problems,
    unknown_workload,
    workload_run,
    workloads,
)


@dataclass(frozen=True)
class _Memory:
    """Options that declare which of the program's memory is persistent."""

    pm_paths: Annotated[list[Path] | None, option(
        MEMORY, "--pm-path", value="DIR",
        help="Makes memory-mapped files in this folder and its subfolders persistent; repeatable.",
    )] = None  # fmt: skip
    pm_ranges: Annotated[list[str] | None, option(
        MEMORY, "--pm-range", value="LO:HI",
        help="Makes this range of addresses (hexadecimal) persistent; repeatable.",
    )] = None  # fmt: skip
    pm_hints: Annotated[list[str] | None, option(
        MEMORY, "--pm-hint", value="ADDRESS",
        help="Makes mappings that the program requests at this address (hexadecimal) persistent, "
            "wherever the system places them; repeatable.",
    )] = None  # fmt: skip
    pm_heap: Annotated[
        bool,
        option(
            MEMORY,
            "--pm-heap",
            help="Makes all memory that the program allocates on the heap persistent.",
        ),
    ] = False


@dataclass(frozen=True)
class _Options:
    """Options that select what to record, and the output file."""

    memory: _Memory
    recipe: Recipe
    output: Annotated[
        Path | None,
        option(OUTPUT, "--output", "-o", value="FILE", help="The trace to write (.pmt)."),
    ] = None
    name: Annotated[str | None, option(
        TARGET, "--name", value="NAME",
        help="Name of your own program in results. Without a program, the workload to record.",
    )] = None  # fmt: skip
    all_workloads: Annotated[
        bool, option(TARGET, "--all", help="Records all of pmemsim's workloads into --out-dir.")
    ] = False
    out_dir: Annotated[
        Path | None,
        option(
            OUTPUT, "--out-dir", value="DIR", help="The folder to which --all writes the traces."
        ),
    ] = None
    process: Annotated[str | None, option(
        TARGET, "--process", value="NAME",
        help="Records the first program with this name that a script starts, instead of the first "
            "program.",
    )] = None  # fmt: skip
    schedules: Annotated[int | None, option(
        EXPLORATION, "--schedules", value="N",
        help="Records N thread interleavings: schedules 0 (the default) to N-1 of --seed. `-o "
            "mine.pmt` writes them to mine.0.pmt, mine.1.pmt, ...",
    )] = None  # fmt: skip
    hold: Annotated[str | None, option(
        EXPLORATION, "--hold", value="THREAD:OPERATION",
        help="Holds a thread behind one of its operations until no other thread can run. `check` "
            "prints both numbers, which are those of a recording of the same schedule.",
    )] = None  # fmt: skip
    json_path: Json = None


@declared
def record_command(
    program: Annotated[
        list[str] | None,
        argument(
            "WORKLOAD | -- PROGRAM [ARGS]",
            "A workload's name, or your own program and its arguments after `--`.",
        ),
    ] = None,
    *,
    given: Given,
    options: _Options,
) -> None:
    """Record a program once, for simulation on any design.

    Your own program, built with pmemsim-cc or pmemsim-c++:

        pmemsim record -o mine.pmt -- ./mine --its --own arguments
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine

    Workloads that come with pmemsim:

        pmemsim record queue --threads 4 --data-bytes 256 -o queue.pmt
        pmemsim record vacation --log redo -o vacation-redo.pmt
        pmemsim record --all --out-dir traces

    Several thread interleavings, to reach bugs that need a rare one, and the same interleaving
    again:

        pmemsim record --schedules 50 -o mine.pmt -- ./mine
        pmemsim record --schedule 17 -o again.pmt -- ./mine
        pmemsim record queue --schedules 3 -o queue.pmt
        pmemsim record --hold 2:57 -o held.pmt -- ./mine

    A program that finds the pool of an earlier run starts from that pool. With --schedules, record
    a script that removes the pool first. With --all, --data-bytes and --compute-instructions apply
    to the workloads that support them.
    """
    workload = options.name
    if program and workload is None and _is_workload(program):
        workload, program = program[0], None
    kind = ["PROGRAM"] if program else ["WORKLOAD"] if workload else []
    problems = given.problems(*kind)
    check_outputs(problems, options.json_path, files=[options.output])
    wanted = _schedules(options.schedules, options.recipe.schedule, problems)
    made: Sequence[Trace] = ()
    if program:
        made = _own(program, options, wanted, problems)
    elif options.all_workloads:
        made = _all(options, wanted, problems)
    elif workload is not None:
        made = _one(workload, options, wanted, problems)
    problems.raise_any()
    if options.json_path:
        write_json("record", {"recordings": list(map(_to_dict, made))}, options.json_path)


_MOST_SCHEDULES = 10_000


@dataclass(frozen=True)
class _Schedules:
    """Return the schedules to record, with an output file for each."""

    numbers: tuple[int, ...]
    several: bool

    def output(self, output: Path, number: int) -> Path:
        return output.with_suffix(f".{number}{output.suffix}") if self.several else output


def _schedules(count: int | None, schedule: int | None, problems: Problems) -> _Schedules:
    problems.add(argument_problems(schedule=schedule))
    check_whole(problems, "--schedules", count, 1, _MOST_SCHEDULES)
    if count is not None:
        return _Schedules(tuple(range(count)), several=True)
    return _Schedules((schedule or 0,), several=False)


def _is_workload(program: list[str]) -> bool:
    word = program[0]
    if len(program) > 1 or "/" in word:
        return False
    if word in workloads():
        return True
    if which(word):
        return False
    raise Error(
        f"{unknown_workload(word)} (write your own program with its path after --: ./{word})"
    )


def _all(options: _Options, schedules: _Schedules, problems: Problems) -> list[Trace]:
    runs = []
    recipe, out_dir = options.recipe, options.out_dir
    for workload in workloads().values():
        known = {*workload.arguments, "hints", "schedule"}
        if workload.atomic_regions:
            known.add("compute_instructions")
        taken = {key: value for key, value in recipe.arguments.items() if key in known}
        with problems.collected():
            runs.append(workload_run(workload.name, opt=recipe.opt, **taken))
    if out_dir and out_dir.exists() and not out_dir.is_dir():
        problems.add([f"--out-dir {out_dir}: is not a folder"])
    problems.raise_any()
    assert out_dir is not None
    out_dir.mkdir(parents=True, exist_ok=True)
    return _workloads(runs, [out_dir / f"{run.workload}.pmt" for run in runs], schedules)


def _one(name: str, options: _Options, schedules: _Schedules, problems: Problems) -> list[Trace]:
    recipe = options.recipe
    with problems.collected():
        run = workload_run(name, opt=recipe.opt, **recipe.arguments)
    with problems.collected():
        path = _needed(options.output, schedules)
    problems.raise_any()
    return _workloads([run], [path], schedules)


def _needed(output: Path | None, schedules: _Schedules) -> Path:
    if output is None:
        raise Error("--output is missing; name the trace with -o NAME.pmt")
    check_trace_name(output)
    for number in schedules.numbers:
        check_writable(schedules.output(output, number))
    return output


def _own(
    program: list[str], options: _Options, schedules: _Schedules, problems: Problems
) -> list[Trace]:
    memory, seed = options.memory, options.recipe.seed
    with problems.collected():
        output = _needed(options.output, schedules)
    problems.add(argument_problems(seed=seed))
    for path in memory.pm_paths or []:
        with problems.collected():
            check_pm_path(path)
    ranges = _each(check_range, memory.pm_ranges, problems)
    hints = _each(check_hint, memory.pm_hints, problems)
    if options.hold is not None:
        with problems.collected():
            check_hold(options.hold)
    problems.raise_any()

    def recorded(schedule: int, keep_going: KeepGoing) -> Trace:
        return record(
            program,
            schedules.output(output, schedule),
            name=options.name,
            pm_paths=memory.pm_paths or [],
            pm_ranges=ranges,
            pm_hints=hints,
            pm_heap=memory.pm_heap,
            process=options.process,
            schedule=schedule,
            seed=1 if seed is None else seed,
            hold=options.hold,
            keep_going=keep_going,
        )

    return _one_after_the_other(recorded, schedules)


def _one_after_the_other(
    recorded: Callable[[int, KeepGoing], Trace], schedules: _Schedules
) -> list[Trace]:
    """Record the schedules one after the other, since runs of the program may share files."""

    def task(report: Report) -> None:
        for index, schedule in enumerate(schedules.numbers):
            trace = recorded(schedule, partial(report, index / len(schedules.numbers)))
            kept.append(trace)
            _say(trace)
            if trace.threads == 1 and schedules.numbers != (0,):
                _say_nothing_changes(trace.name, schedules)
                return

    with _kept_if_interrupted(len(schedules.numbers)) as kept:
        run_all([task])
    return kept


def _each(check: Callable[[str], str], texts: list[str] | None, problems: Problems) -> list[str]:
    """Return the converted texts; invalid texts are added to the problems."""
    found = []
    for text in texts or []:
        with problems.collected():
            found.append(check(text))
    return found


@contextmanager
def _kept_if_interrupted(wanted: int) -> Iterator[list[Trace]]:
    """Collects finished recordings, so that the message of an interruption has their number."""
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
    err.print(f"pmemsim: note: {name} has one thread, so schedules have no effect{only}")


def _workloads(runs: list[WorkloadRun], outputs: list[Path], schedules: _Schedules) -> list[Trace]:
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
    made = sorted(kept, key=lambda trace: outputs.index(trace.path))
    for trace in made:
        _say(trace)
    return made


# By the result of the recorder: why --hold has had no effect.
_NOT_HELD = {
    "not reached": "the thread has not executed the operation of --hold",
    "alone": "no other thread could run when the thread of --hold was held",
}


def _say(trace: Trace) -> None:
    size = trace.path.stat().st_size
    err.print(f"recorded {trace.path} ({size / 1e6:.1f} MB, {trace.threads} threads)", markup=False)
    for note in _notes(trace):
        err.print(f"pmemsim: note: {note}", markup=False)


def _notes(trace: Trace) -> list[str]:
    """Return what the recording lacks, or what the user may not expect of it."""
    notes = []
    if not trace.metadata["pm_regions"]:
        notes.append(
            "no memory of the program was persistent; declare it with pm.h, --pm-path, --pm-range, "
            "--pm-hint or --pm-heap"
        )
    if why := _NOT_HELD.get(trace.metadata.get("hold", {}).get("result")):
        notes.append(f"the threads ran in no other order: {why}")
    if outside := flushes_outside_pm(trace.metadata):
        notes.append(f"flushes of lines outside persistent memory: {outside}")
    notes += [f"partial: {missing}" for missing in not_recorded(trace.metadata)]
    if library_of(trace.metadata):
        notes.append(library_note(trace.metadata))
    elif changed := unrecorded(trace.metadata):
        notes.append(
            f"persistent memory changed without a recorded store: {changed}; {CAUSES}. Results of "
            f"check and crash are therefore partial: {CURE} ({DOCS})"
        )
    return notes


def _to_dict(trace: Trace) -> dict[str, Any]:
    """Return a finished recording for `--json` (keys: docs/reference/results.md)."""
    return {
        "file": str(trace.path),
        "workload": trace.name,
        "trace_hash": trace.hash,
        "threads": trace.threads,
        "seed": trace.seed,
        "schedule": trace.schedule,
        "bytes": trace.path.stat().st_size,
        "pm_regions": trace.metadata["pm_regions"],
        "notes": _notes(trace),
    }
