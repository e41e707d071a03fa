"""Measures the pinned values of `reproduce`: every entry of every paper.

The recordings of the pins replace those of the papers' workloads, which depend on the compiler and
take minutes. The values say nothing about the papers, but they depend on every configuration of the
experiments and on everything that computes entries from statistics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from pins.configurations import configuration, recording
from pins.files import Files, rounded
from pmemsim.errors import Error
from pmemsim.jobs import Analyze, Outcome
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.reproduction.plan import Case, Settings
from pmemsim.reproduction.studies import Study, both_columns
from pmemsim.reproduction.verdicts import findings
from pmemsim.simulation import StartingContents, simulate
from pmemsim.workload_runs import WorkloadRun

_SMALL_DATA = 64


def measure() -> Files:
    """Return the value and the verdict of each entry, in both columns where they differ."""
    lines: list[str] = []
    for name in paper_names():
        paper = replace(load_paper(name), seeds=(1,))
        for experiment in paper.experiments:
            chosen = both_columns(paper, experiment)
            assert chosen.described
            lines += _entries(chosen.described, "")
            if chosen.described.cases("quick") != chosen.counted.cases("quick"):
                lines += _entries(chosen.counted, " as_measured")
    return {"verdicts/reproduce.txt": lines}


def _entries(study: Study, column: str) -> Iterator[str]:
    outcomes = {case: _outcome(case) for case in study.cases("quick")}
    for entry in study.experiment.entries:
        alone = replace(study.experiment, entries=(entry,))
        try:
            (finding,) = findings(Measurements(study.paper, alone, "quick", outcomes))
        except Error:  # The recordings have nothing of the metric.
            yield f"{entry.fact.id}{column} verdict -"
            continue
        if finding.measured is not None:
            yield f"{entry.fact.id}{column} value {rounded(finding.measured)}"
        yield f"{entry.fact.id}{column} verdict {finding.verdict.replace(' ', '_')}"


def _outcome(case: Case) -> Outcome:
    name = _recording_for(case.run)
    if case.design is None:
        trace = recording(name)
        return Analyze().run(trace, StartingContents(trace, 1), lambda _: None)
    return _simulated(name, case.design, case.machine, case.settings)


@cache
def _simulated(name: str, design: str, machine: str, settings: Settings) -> Outcome:
    return Outcome.of(simulate(recording(name), configuration(design, machine, settings)))


def _recording_for(run: WorkloadRun) -> str:
    """Return a name, so that groups with small and with large data differ where they can."""
    if run.log == "redo":
        return "redo_log"
    large = (run.data_bytes or 0) > _SMALL_DATA
    return "one_thread" if run.threads == 1 or large else "four_threads"
