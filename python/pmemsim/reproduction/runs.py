"""Make the simulations of a paper's experiments, as jobs whose results are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pmemsim.errors import ConfigError
from pmemsim.jobs import Analyze, Job, Simulate, Work
from pmemsim.reproduction.plan import Case
from pmemsim.simulation import Configuration, configure, settings_without_effect
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun


def configurations(cases: Iterable[Case]) -> dict[tuple[str, str, object], Configuration]:
    """Return the cases' checked configurations, each once; raises `ConfigError` for a bad one."""
    wanted = dict.fromkeys(
        (case.design, case.machine, case.settings) for case in cases if case.design
    )
    found: dict[tuple[str, str, object], Configuration] = {
        (design, machine, settings): configure(design, machine, dict(settings))
        for design, machine, settings in wanted
    }
    if problems := settings_without_effect(list(found.values())):
        raise ConfigError(problems)
    return found


def prepare(cases: Sequence[Case], traces: dict[WorkloadRun, Trace]) -> dict[Case, Job]:
    """Return the jobs of the cases, simulations or analyses, with the given recordings."""
    known = configurations(cases)

    def work(case: Case) -> Work:
        if case.design is None:
            return Analyze()
        return Simulate(known[case.design, case.machine, case.settings])

    return {case: Job(traces[case.run], work(case)) for case in cases}
