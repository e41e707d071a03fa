"""`pmemsim advise`: flushes, fences and logging to remove, and repairs of what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim.advice.advise import Advice, Mended, adviser_of
from pmemsim.advice.repair import Repair
from pmemsim.advice.superfluous import NOTHING, SAME, Savings, Superfluous
from pmemsim.arguments import check_jobs, check_whole
from pmemsim.cli.choices import configurations_of, find_targets
from pmemsim.cli.command import EXPLORATION, OUTPUT, declared, option
from pmemsim.cli.console import duration, note_newer_sources, out, percent, progress_of, table
from pmemsim.cli.options import (
    Design,
    Jobs,
    Json,
    Machine,
    Overrides,
    Recipe,
    Target,
    Top,
    check_outputs,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.verifier import Verifier
from pmemsim.errors import CheckFailed, Problems
from pmemsim.persistency import DEFAULT_BUDGET, Budget
from pmemsim.presets import parse_overrides
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


@declared
def advise_command(target: Target, *, design: Design, machine: Machine, options: _Options) -> None:
    """Say which flushes, fences and logging can be removed, or what repairs a program.

    For example:

        pmemsim-cc -O2 -g mine.c -o mine
        pmemsim record -o mine.pmt --pm-path /mnt/pmem -- ./mine
        pmemsim advise mine.pmt --design sw-undo --machine xeon-optane
        pmemsim advise mine.pmt -d sw-undo -m asap --verify './mine --verify' --patch mine.diff

    A correct program gets a table of what can be removed, with the time that each costs on the
    design, and the proof:

    * same crash images: a crash leaves the same images without it.

    * same after recovery: without this call of pm_log, pm.h's recovery leaves the same memory after
    each crash. All with one of these two proofs can be removed together.

    * one word: the region stores one word, so pm_flush and pm_durable do instead of the region.

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
    adviser = adviser_of(
        trace, configurations[0], budget, checker_wanted, options.jobs, progress_of
    )
    _write(options, adviser.advice())


def _check(options: _Options, inputs: tuple[str, ...], problems: Problems) -> None:
    outputs = [options.json_path, options.patch]
    check_outputs(problems, options.json_path, files=[options.patch])
    check_whole(problems, "--top", options.top, 1)
    check_jobs(problems, options.jobs)
    problems.add(argument_problems(seed=options.recipe.seed))
    keep_inputs(problems, outputs, inputs)


def _write(options: _Options, advice: Advice) -> None:
    mended, savings = advice.mended, advice.savings
    if options.json_path:
        advice.to_json(options.json_path)
    if options.patch:
        advice.write_patch(options.patch)
    if options.json_path != "-":
        if mended:
            _print_repair(advice, mended)
        elif savings:
            _print_savings(advice, savings, options.top)
    note_newer_sources(advice.newer_sources)
    if mended:
        raise CheckFailed(_sentence(advice, mended.repair))


def _print_savings(run: Advice, savings: Savings, top: int) -> None:
    shown = savings.each[:top]
    if shown:
        columns = ["what", "at", "function", ">times", ">saves", ">of the run", "proof"]
        rows = [_row(each, savings.time_ns) for each in shown]
        out.print(table(run.title, columns, rows))
    if rest := len(savings.each) - len(shown):
        out.print(f"{rest} more; --top {len(savings.each)} shows all")
    out.print(summary_of(run, savings), markup=False)
    if savings.note:
        out.print(f"{run.trace.name}: {savings.note}", markup=False)


def _row(each: Superfluous, time_ns: float) -> tuple[str, ...]:
    saved = duration(each.saved_ns) if each.saved_ns >= 0 else f"-{duration(-each.saved_ns)}"
    share = percent(each.saved_ns / time_ns) if time_ns else ""
    place, *calls = each.call.places
    places = [str(place), *(f"called at {call}" for call in calls)]
    return (
        each.call.name, "\n".join(places), each.call.caller.function, f"{each.call.executed:,}",
        saved, share, each.proof,
    )  # fmt: skip


def summary_of(run: Advice, savings: Savings) -> str:
    """Say in a line what can be removed together, and how much time that saves."""
    name, proven = run.trace.name, savings.proven
    if not proven and savings.each:
        return f"{name}: each of these can be removed or replaced by itself; its row says why"
    if not proven:
        more = (
            ""
            if run.has_checker
            else "; --verify CMD also finds flushes and fences without which CMD accepts all images"
        )
        return f"{name}: {NOTHING}{more}"
    count = sum(each.call.executed for each in proven)
    saved = savings.time_ns - savings.without_ns
    logs = any(each.proof != SAME for each in proven)
    same = "the same memory after each crash and recovery" if logs else "the same crash images"
    return (
        f"{name}: {count:,} executions can be removed together with {same}; the "
        f"run of {duration(savings.time_ns)} is then {duration(abs(saved))} "
        f"({percent(abs(saved) / savings.time_ns)}) {'shorter' if saved >= 0 else 'longer'}"
    )


def cost_text(cost_ns: float, time_ns: float) -> str:
    """Say what part of the run's time additions cost or, by an earlier flush, save."""
    verb = "cost" if cost_ns >= 0 else "save"
    return f"{verb} {duration(abs(cost_ns))} of {duration(time_ns)}"


def _print_repair(run: Advice, mended: Mended) -> None:
    found = mended.repair
    if not found.steps:
        return
    if mended.patch.diff:
        out.print(mended.patch.diff, end="", markup=False, soft_wrap=True)
    for sentence in mended.patch.rest:
        out.print(f"- {sentence}", markup=False)
    if found.useless:
        out.print(f"then these have no effect any more: {', '.join(found.useless)}", markup=False)
    out.print(
        f"{run.trace.name}, repaired: {found.proof}; {found.flushes:,} flushes and "
        f"{found.fences:,} fences more, which {cost_text(mended.cost_ns, mended.time_ns)} on "
        f"{run.configuration.design.name}",
        markup=False,
    )


def _sentence(run: Advice, found: Repair) -> str:
    what = f"{run.trace.name} is not crash-safe: {found.problem}"
    if found.steps:
        return f"{what}; the repair above is tried on the recording ({found.tried} variants)"
    return f"{what}; no repair was found: {found.reason}"
