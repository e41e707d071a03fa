"""`pmemsim selftest`: test crash verification by injected faults and random configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pmemsim.cli.choices import names_of
from pmemsim.cli.command import DESIGN, EXPLORATION, declared, option
from pmemsim.cli.console import out, progress_of, table
from pmemsim.cli.options import Jobs, Json, Machine, check_jobs, check_outputs, check_whole
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.rules import Given
from pmemsim.errors import CheckFailed, Problems
from pmemsim.files import write_json
from pmemsim.selftest.injected_faults import (
    FaultVerdict,
    InjectedFault,
    check_faults,
    injected_faults,
    labels,
)
from pmemsim.selftest.trials import Trials, run_trials
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
    """Inject faults into designs, and check that crash verification detects each of them.

    For example:

        pmemsim selftest --design asap
        pmemsim selftest --random 20 --seed 1000

    Each fault disables one protective mechanism of a design. A crash must then leave a wrong image;
    without the fault, no image may be wrong. `pmemsim list faults` shows all faults. With --random,
    each random configuration is simulated twice and crashed. Both results must be equal, and no
    image may be wrong. Exit code 1 means that a fault was not detected, or that a random
    configuration failed.
    """
    problems = given.problems()
    check_outputs(problems, json_path)
    check_jobs(problems, jobs)
    check_whole(problems, "--random", random, 1, _MOST_TRIALS)
    chosen = _chosen(designs, problems) if random is None else []
    problems.raise_any()
    if random is None:
        inject(chosen, machine, json_path, jobs)
    else:
        _run_random(random, 1 if seed is None else seed, json_path)


def _chosen(designs: str | None, problems: Problems) -> list[InjectedFault]:
    every = list(injected_faults())
    if designs is None:
        return every
    names = names_of(designs, problems)
    known = list(dict.fromkeys(fault.design for fault in every))
    problems.add(
        f"--design {name}: pmemsim has no faults for this design; designs with faults: "
        f"{', '.join(known)}"
        for name in names
        if name not in known
    )
    return [fault for fault in every if fault.design in names]


def inject(
    chosen: Sequence[InjectedFault], machine: str, json_path: str | None, jobs: int | None
) -> None:
    """Inject faults; raise `CheckFailed` if one isn't detected, or a correct design fails."""
    recordings = list(dict.fromkeys(fault.workload for fault in chosen))
    opened = open_traces([Target(run.workload, run) for run in recordings], jobs)
    traces = dict(zip(recordings, opened, strict=True))
    with progress_of(labels(chosen)) as progress:
        verdicts, sound = check_faults(chosen, machine, traces, jobs, progress)
    if json_path:
        results = {
            "faults": [verdict.to_dict() for verdict in verdicts],
            "runs": [run.to_dict() for run in sound],
        }
        write_json(results, json_path)
    if json_path != "-":
        _print(verdicts)
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
    if problems:
        raise CheckFailed("; ".join(problems))


def _print(verdicts: Sequence[FaultVerdict]) -> None:
    rows = [
        (
            verdict.fault.design,
            verdict.fault.switch,
            verdict.fault.what,
            verdict.run.stress,
            verdict.run.workload,
            f"{verdict.run.points:,}",
            f"{verdict.run.violations:,}",
            "noticed" if verdict.caught else "NOT DETECTED",
        )
        for verdict in verdicts
    ]
    columns = [
        "design", "fault", "what is missing", "stress", "workload", ">points", ">violations",
        "result",
    ]  # fmt: skip
    out.print(table("injected faults", columns, rows))


def _run_random(wanted: int, seed: int, json_path: str | None) -> None:
    with progress_of(["random configurations"]) as progress:
        trials = run_trials(seed, wanted, lambda share: progress(0, share))
        progress(0, 1.0)
    if json_path:
        write_json(_to_dict(trials), json_path)
    if json_path != "-":
        out.print(str(trials))
    if trials.failures:
        raise CheckFailed("\n".join(trials.failures))


def _to_dict(trials: Trials) -> dict[str, object]:
    return {
        "ran": trials.ran,
        "crashed": trials.crashed,
        "refusals": trials.refusals,
        "failures": trials.failures,
    }
