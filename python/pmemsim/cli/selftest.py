"""`pmemsim selftest`: test the simulator by injected faults and random configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pmemsim.arguments import check_jobs, check_whole
from pmemsim.cli.choices import names_of
from pmemsim.cli.command import DESIGN, EXPLORATION, declared, option
from pmemsim.cli.console import out, progress_of, table
from pmemsim.cli.options import Jobs, Json, Machine, check_outputs
from pmemsim.cli.recordings import open_traces
from pmemsim.crashing import CrashRun
from pmemsim.errors import CheckFailed, Problems
from pmemsim.files import write_json
from pmemsim.rules import Given
from pmemsim.selftest.injected_faults import (
    FaultVerdict,
    InjectedFault,
    check_faults,
    injected_faults,
    labels,
)
from pmemsim.selftest.known_results import (
    KnownResult,
    KnownVerdict,
    check_results,
    known_results,
)
from pmemsim.selftest.trials import run_trials
from pmemsim.targets import Target

_MOST_TRIALS = 10**6


@declared
def selftest_command(
    *,
    given: Given,
    designs: Annotated[
        str | None,
        option(
            DESIGN,
            "--design",
            "--designs",
            "-d",
            value="DESIGN,...",
            default="all",
            help="The designs whose faults are injected, separated by commas.",
        ),
    ] = None,
    machine: Machine = "asap",
    random: Annotated[
        int | None,
        option(
            EXPLORATION,
            "--random",
            value="N",
            help="Instead simulates and crashes N random configurations: random layers, machines "
            "and extreme values, each with a random program.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        option(
            EXPLORATION, "--seed", value="N", default="1", help="With --random: the first seed."
        ),
    ] = None,
    json_path: Json = None,
    jobs: Jobs = None,
) -> None:
    """Inject faults into designs, and check that each is detected.

    For example:

        pmemsim selftest --design asap
        pmemsim selftest --random 20 --seed 1000

    A fault that disables a protective mechanism must cause a wrong image after a crash; without the
    fault, no image may be wrong. A fault in a time, a count or a cache must change a result that
    follows from the machine's parameters; without the fault, the result must be right.
    `pmemsim list faults` shows all faults. With --random, each random configuration is simulated
    twice and crashed. Both results must be equal, and no image may be wrong. Exit code 1 means that
    a fault was not detected, or that a result or a random configuration was wrong.
    """
    problems = given.problems()
    check_outputs(problems, json_path)
    check_jobs(problems, jobs)
    check_whole(problems, "--random", random, 1, _MOST_TRIALS)
    chosen = _chosen(designs, problems) if random is None else []
    problems.raise_any()
    if random is None:
        faults = [fault for fault in injected_faults() if fault.design in chosen]
        known = [each for each in known_results() if each.design in chosen]
        inject(faults, known, machine, json_path, jobs)
    else:
        _run_random(random, 1 if seed is None else seed, json_path, jobs)


def _chosen(designs: str | None, problems: Problems) -> list[str]:
    designs_with_faults = [fault.design for fault in injected_faults()]
    known = list(dict.fromkeys([*designs_with_faults, *(each.design for each in known_results())]))
    if designs is None:
        return known
    names = names_of(designs, problems)
    problems.add(
        f"--design {name}: pmemsim has no faults for this design; designs with faults: "
        f"{', '.join(known)}"
        for name in names
        if name not in known
    )
    return names


def inject(
    faults: Sequence[InjectedFault],
    known: Sequence[KnownResult],
    machine: str,
    json_path: str | None,
    jobs: int | None,
) -> None:
    """Inject faults; raise `CheckFailed` if one isn't detected, or something fails without it."""
    verdicts, sound = _crash(faults, machine, jobs)
    with progress_of([f"{each.design} with {each.fault}" for each in known]) as progress:
        results = check_results(known, jobs, progress)
    if json_path:
        found = {
            "faults": [verdict.to_dict() for verdict in verdicts],
            "runs": [run.to_dict() for run in sound],
            "known_results": [result.to_dict() for result in results],
            "random": None,
        }
        write_json("selftest", found, json_path)
    if json_path != "-":
        _print_faults(verdicts)
        _print_results(results)
    problems = [
        f"{verdict.fault.design} with {verdict.fault.switch}: the fault was not detected"
        for verdict in verdicts
        if not verdict.caught
    ]
    problems += [
        f"{run.design} without a fault does not recover {run.workload}"
        for run in sound
        if run.violations > 0
    ]
    problems += [problem for result in results for problem in result.problems]
    if problems:
        raise CheckFailed("; ".join(problems))


def _crash(
    faults: Sequence[InjectedFault], machine: str, jobs: int | None
) -> tuple[list[FaultVerdict], list[CrashRun]]:
    recordings = list(dict.fromkeys(fault.workload for fault in faults))
    opened = open_traces([Target(run.workload, run) for run in recordings], jobs)
    traces = dict(zip(recordings, opened, strict=True))
    with progress_of(labels(faults)) as progress:
        return check_faults(faults, machine, traces, jobs, progress)


def _print_faults(verdicts: Sequence[FaultVerdict]) -> None:
    rows = [
        (
            verdict.fault.design,
            verdict.fault.switch,
            verdict.fault.what,
            verdict.run.stress,
            verdict.run.workload,
            f"{verdict.run.points:,}",
            f"{verdict.run.violations:,}",
            _noticed(verdict.caught),
        )
        for verdict in verdicts
    ]
    columns = [
        "design", "fault", "what is missing", "stress", "workload", ">points", ">violations",
        "result",
    ]  # fmt: skip
    if rows:
        out.print(table("injected faults", columns, rows))


def _print_results(results: Sequence[KnownVerdict]) -> None:
    rows = [
        (
            result.known.design,
            result.known.fault,
            result.known.what,
            result.known.statistic,
            result.known.limits,
            f"{result.sound:.5g}",
            "a contradiction" if result.faulty is None else f"{result.faulty:.5g}",
            _noticed(result.caught),
        )
        for result in results
    ]
    columns = [
        "design", "fault", "what is wrong", "statistic an operation", ">known", ">measured",
        ">with the fault", "result",
    ]  # fmt: skip
    if rows:
        out.print(table("injected faults in times, counts and caches", columns, rows))


def _noticed(caught: bool) -> str:
    return "noticed" if caught else "NOT DETECTED"


def _run_random(wanted: int, seed: int, json_path: str | None, jobs: int | None) -> None:
    with progress_of(["random configuration"] * wanted) as progress:
        trials = run_trials(seed, wanted, jobs, progress)
    if json_path:
        nothing: dict[str, object] = {"faults": [], "runs": [], "known_results": []}
        write_json("selftest", {**nothing, "random": vars(trials)}, json_path)
    if json_path != "-":
        out.print(str(trials))
    if trials.failures:
        raise CheckFailed("\n".join(trials.failures))
