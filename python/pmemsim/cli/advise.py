"""`pmemsim advise`: which flushes and fences can go, and the smallest repair of what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pmemsim.advice.edits import edited
from pmemsim.advice.patch import Patch, patch_of
from pmemsim.advice.repair import Judge, Repair, repair
from pmemsim.advice.superfluous import Savings, Superfluous, find_superfluous
from pmemsim.cli.choices import configurations_of, find_targets
from pmemsim.cli.command import EXPLORATION, OUTPUT, declared, option
from pmemsim.cli.console import duration, out, percent, run_with_progress, table
from pmemsim.cli.options import (
    Design,
    Jobs,
    Json,
    Machine,
    Overrides,
    Recipe,
    Target,
    Top,
    check_jobs,
    check_outputs,
    check_whole,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.verifier import Verifier
from pmemsim.crashing import Checker, checker_of
from pmemsim.errors import CheckFailed, Error, Problems
from pmemsim.files import replacing, temporary_folder, write_json
from pmemsim.parallel import host_cores
from pmemsim.persistency import DEFAULT_BUDGET, Budget, Wanted
from pmemsim.presets import parse_overrides
from pmemsim.simulation import Configuration, simulate
from pmemsim.trace import Trace
from pmemsim.unrecorded import no_images
from pmemsim.workload_runs import argument_problems


@dataclass(frozen=True)
class _Options:
    verifier: Verifier
    recipe: Recipe
    overrides: Overrides = None
    budget: Annotated[str, option(
        EXPLORATION, "--budget", value="N|TIME|all",
        help="How many crash images of each variant of the program are checked, as in `pmemsim "
            "check`.",
    )] = DEFAULT_BUDGET  # fmt: skip
    patch: Annotated[Path | None, option(
        OUTPUT, "--patch", value="FILE", help="Writes the repair to this file, for `patch -p1`.",
    )] = None  # fmt: skip
    top: Top = 20
    json_path: Json = None
    jobs: Jobs = None


@dataclass(frozen=True)
class _Mended:
    """A repair, its text, and its time on the design."""

    repair: Repair
    patch: Patch
    time_ns: float
    cost_ns: float
    """How much longer the repaired program runs."""

    def to_dict(self) -> dict[str, Any]:
        """Return the repair as `--json` writes it."""
        repair = self.repair
        return {
            "problem": repair.problem,
            "steps": [step.to_dict() for step in repair.steps],
            "reason": repair.reason,
            "flushes": repair.flushes,
            "fences": repair.fences,
            "useless": list(repair.useless),
            "useless_executed": repair.saved,
            "proof": repair.proof,
            "tried": repair.tried,
            "cost_ns": self.cost_ns,
            "patch": self.patch.diff,
            "sentences": list(self.patch.rest),
        }


@declared
def advise_command(target: Target, *, design: Design, machine: Machine, options: _Options) -> None:
    """Say which flushes and fences of a program can go, and what repairs it if some are missing.

    For example:

        pmemsim-cc -O2 -g mine.c -o mine
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine
        pmemsim advise mine.pmt --design sw-undo --machine xeon-optane
        pmemsim advise mine.pmt -d sw-undo -m asap --verify './mine --verify' --patch mine.diff

    A correct program gets a table of flushes and fences that can go, with the time that each costs
    on the design, and the proof:

    * same crash images: a crash leaves the same images without it. All of these can go together.

    * accepted: the images differ, and the checker (--verify) accepts all of them.

    * not refuted: the same, but some images were not checked.

    A program with an error gets the smallest repair that the command finds: a flush behind a line,
    or a fence before or behind it. Each repair is tried on the recording until rules and checker
    accept it, and is printed as a patch of the source. Its cost is that on the design.

    The exit code is 1 if the program has an error that the command looked for, repaired or not.
    """
    problems = Problems()
    _check(options, (target, design, machine), problems)
    extra = tuple(parse_overrides(options.overrides or [], problems.found))
    configurations = configurations_of([design], machine, extra, problems)
    checker_wanted = options.verifier.wanted(problems)
    found = find_targets([target], options.recipe, problems)
    budget = Budget.of(DEFAULT_BUDGET)
    with problems.collected():
        budget = Budget.of(options.budget)
    problems.raise_any()
    (trace,) = open_traces(found, None)
    if impossible := no_images(trace.metadata):
        raise Error(f"{trace.name}: {impossible}")
    checker = checker_of(trace, checker_wanted, None) if checker_wanted.given else None
    run = _Run(trace, configurations[0], Wanted("px86", budget), checker, options)
    with temporary_folder() as folder:
        mended = run.repair(folder)
        savings = None if mended else run.savings(folder)
    _write(run, mended, savings)


def _check(options: _Options, inputs: tuple[str, ...], problems: Problems) -> None:
    outputs = [options.json_path, options.patch]
    check_outputs(problems, options.json_path, files=[options.patch])
    check_whole(problems, "--top", options.top, 1)
    check_jobs(problems, options.jobs)
    problems.add(argument_problems(seed=options.recipe.seed))
    keep_inputs(problems, outputs, inputs)


@dataclass(frozen=True)
class _Run:
    """What the command looks at."""

    trace: Trace
    configuration: Configuration
    wanted: Wanted
    checker: Checker | None
    options: _Options

    @property
    def jobs(self) -> int:
        return self.options.jobs or host_cores()

    def repair(self, folder: Path) -> _Mended | None:
        """Return the repair of an incorrect program; None if no error is found."""
        judge = Judge(self.wanted, self.checker, self.jobs)
        found = run_with_progress(
            f"repair of {self.trace.name}",
            lambda report: repair(self.trace, judge, folder, report),
        )
        if found is None:
            return None
        before = edited(self.trace, folder / "before.pmt", found.steps, only_sites=True)
        time = simulate(before.trace, self.configuration).time_ns
        copy = edited(self.trace, folder / "repaired.pmt", found.steps)
        repaired = simulate(copy.trace, self.configuration).time_ns
        return _Mended(found, patch_of(self.trace, found.steps), time, repaired - time)

    def savings(self, folder: Path) -> Savings:
        """Return what can go of a program without an error."""
        return run_with_progress(
            f"{self.trace.name} without each flush and fence",
            lambda report: find_superfluous(
                self.trace, self.configuration, self.wanted, self.checker, folder, self.jobs, report
            ),
        )


def _write(run: _Run, mended: _Mended | None, savings: Savings | None) -> None:
    options = run.options
    if options.json_path:
        write_json("advise", _document(run, mended, savings), options.json_path)
    if mended and options.patch:
        with replacing(options.patch) as partial:
            partial.write_text(mended.patch.diff)
    if options.json_path != "-":
        if mended:
            _print_repair(run, mended)
        elif savings:
            _print_savings(run, savings)
    if mended:
        raise CheckFailed(_sentence(run, mended.repair))


def _document(run: _Run, mended: _Mended | None, savings: Savings | None) -> dict[str, Any]:
    return {
        "workload": run.trace.name,
        "design": run.configuration.design.name,
        "machine": run.configuration.machine.name,
        "trace_hash": run.trace.hash,
        "repair": mended.to_dict() if mended else None,
        "superfluous": [each.to_dict() for each in savings.each] if savings else [],
        "time_ns": savings.time_ns if savings else mended.time_ns if mended else None,
        "without_ns": savings.without_ns if savings else None,
    }


def _print_savings(run: _Run, savings: Savings) -> None:
    design = f"{run.configuration.design.name}, machine {run.configuration.machine.name}"
    shown = savings.each[: run.options.top]
    if shown:
        title = f"{run.trace.name}: flushes and fences that can go ({design})"
        columns = ["what", "at", "function", ">times", ">saves", ">of the run", "proof"]
        rows = [_row(each, savings.time_ns) for each in shown]
        out.print(table(title, columns, rows))
    if rest := len(savings.each) - len(shown):
        out.print(f"{rest} more; --top {len(savings.each)} shows all")
    out.print(_summary(run, savings), markup=False)


def _row(each: Superfluous, time_ns: float) -> tuple[str, ...]:
    saved = duration(each.saved_ns) if each.saved_ns >= 0 else f"-{duration(-each.saved_ns)}"
    share = percent(each.saved_ns / time_ns) if time_ns else ""
    place, *calls = each.call.places
    places = [str(place), *(f"called at {call}" for call in calls)]
    return (
        each.call.name, "\n".join(places), each.call.caller.function, f"{each.call.executed:,}",
        saved, share, each.proof,
    )  # fmt: skip


def _summary(run: _Run, savings: Savings) -> str:
    name, proven = run.trace.name, savings.proven
    if not proven:
        more = "" if run.checker else "; --verify CMD also finds those that its checker accepts"
        return f"{name}: each flush and fence changes what a crash can leave{more}"
    count = sum(each.call.executed for each in proven)
    saved = savings.time_ns - savings.without_ns
    return (
        f"{name}: {count:,} executions can go together with the same crash images; the run of "
        f"{duration(savings.time_ns)} is then {duration(abs(saved))} "
        f"({percent(abs(saved) / savings.time_ns)}) {'shorter' if saved >= 0 else 'longer'}"
    )


def _print_repair(run: _Run, mended: _Mended) -> None:
    found = mended.repair
    if not found.steps:
        return
    if mended.patch.diff:
        out.print(mended.patch.diff, end="", markup=False, soft_wrap=True)
    for sentence in mended.patch.rest:
        out.print(f"- {sentence}", markup=False)
    if found.useless:
        out.print(f"then these have no effect any more: {', '.join(found.useless)}", markup=False)
    sign = "" if mended.cost_ns >= 0 else "-"
    out.print(
        f"{run.trace.name}, repaired: {found.proof}; {found.flushes:,} flushes and "
        f"{found.fences:,} fences more, which cost {sign}{duration(abs(mended.cost_ns))} of "
        f"{duration(mended.time_ns)} on {run.configuration.design.name}",
        markup=False,
    )


def _sentence(run: _Run, found: Repair) -> str:
    what = f"{run.trace.name} is not crash-safe: {found.problem}"
    if found.steps:
        return f"{what}; the repair above is tried on the recording ({found.tried} variants)"
    return f"{what}; no repair was found: {found.reason}"
