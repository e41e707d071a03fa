"""Measures the pinned verdicts of checks and crashes: kinds, source lines and numbers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args
from unittest.mock import patch

from corpus import CASES
from pins.configurations import (
    DESIGNS,
    configuration,
    corpus_recording,
    largest_recording,
    recording,
    runs_redo_logs,
)
from pins.files import Files, number, rounded
from pmemsim import result_cache
from pmemsim.crashing import Points, verify
from pmemsim.errors import Error
from pmemsim.executor import Failure, Finished
from pmemsim.jobs import Job
from pmemsim.lint_hints import lint
from pmemsim.matrices import Plan
from pmemsim.presets import preset_names
from pmemsim.program_check import Model, check_program
from pmemsim.selftest.injected_faults import InjectedFault
from pmemsim.selftest.injected_faults import injected_faults as all_faults
from pmemsim.trace import Place
from pmemsim.worker import perform

RECORDINGS = ("one_thread", "four_threads", "redo_log")
_MODELS: tuple[Model, ...] = get_args(Model)
_WITHOUT_GUARANTEES = ("np", "ideal-free")


def _where(place: Place | None) -> str:
    """Return a source line without its file's folder."""
    return Path(str(place)).name if place else "-"


# ---- check and lint-hints ------------------------------------------------------------------------


def check() -> Files:
    """Return each finding in the corpus and in the recordings, with its number of occurrences."""
    traces = {name: corpus_recording(name) for name in CASES}
    traces |= {name: recording(name) for name in RECORDINGS}
    lines = []
    for name, trace in traces.items():
        for model in _MODELS:
            for finding in check_program(trace, model).findings:
                where = f"{_where(finding.place)} {_where(finding.other)}"
                what = f"{finding.kind} {finding.reason or '-'} {where}"
                lines.append(f"{name} {model} {what} {finding.count}")
    return {"verdicts/check.txt": lines}


def lint_hints() -> Files:
    """Return each finding in the hints of the recordings, with the time that it has cost."""
    lines = []
    for name in RECORDINGS[:2]:
        report = lint(recording(name), configuration("janus", "janus"))
        for key in ("hints", "hinted_lines", "in_time", "writes", "waited_ns"):
            lines.append(f"{name} {key} {number(getattr(report, key))}")
        for finding in report.findings:
            where = f"{_where(finding.place)} {_where(finding.store)}"
            what = f"{name} {finding.kind} {finding.reason} {where}"
            lines.append(f"{what} count {finding.count}")
            lines.append(f"{what} lost_ns {number(finding.lost_ns)}")
    return {"verdicts/lint_hints.txt": lines}


# ---- crash and matrix ----------------------------------------------------------------------------


def crash() -> Files:
    """Crash every design that has durability guarantees, at every point."""
    lines = []
    for machine, designs in DESIGNS.items():
        for design in designs:
            if design in _WITHOUT_GUARANTEES:
                continue
            trace = largest_recording(design, machine)
            run = verify(trace, configuration(design, machine), Points(subsets=1), None, "")
            for key in ("points", "images", "repaired", "restarts", "violations"):
                lines.append(f"{machine} {design} {key} {getattr(run, key)}")
    return {"verdicts/crash.txt": lines}


def injected_faults() -> Files:
    """Crash every design with an injected fault at some points, and count violations."""
    lines = []
    for fault in all_faults():
        assert fault.setting is not None
        set_beside = [fault.stress.name] if fault.stress else []
        set_beside += [f"{key.rpartition('.')[2]}={value}" for key, value in fault.extra]
        switch = fault.switch if fault.is_fault else "=".join(fault.setting)
        what = " ".join([fault.design, switch, *set_beside])
        lines.append(f"{what} {_violations(fault)}")
    return {"verdicts/injected_faults.txt": lines}


def _violations(fault: InjectedFault) -> str:
    assert fault.setting is not None
    stress = dict(fault.stress.values) if fault.stress else {}
    settings = stress | dict(fault.extra) | dict([fault.setting])
    broken = configuration(fault.design, "asap", settings)
    trace = largest_recording(fault.design, "asap")
    try:
        return str(verify(trace, broken, Points(sample=100, subsets=1), None, "").violations)
    except Error:  # Nothing becomes persistent without flushes.
        return "-"


def matrix() -> Files:
    """Return the cells of all designs on one machine, and those of four before a backend."""
    alone = [name for name in preset_names("design") if not runs_redo_logs(name, "asap")]
    before = [f"{name}@verified-janus" for name in ("sw-undo", "asap", "lad", "hops")]
    return {"verdicts/matrix.txt": [*_cells("asap", alone), *_cells("janus", before)]}


def _cells(machine: str, designs: Sequence[str]) -> Iterator[str]:
    plan = Plan(
        workloads={"program": recording("four_threads")},
        designs={name: configuration(name, machine) for name in designs},
        machine=machine,
        baseline=configuration("sw-undo", machine),
        points=Points(sample=20),
    )
    failures: dict[str, Failure] = {}

    def finished(job: Job, failure: Failure | None) -> None:
        if failure:
            failures[job.key] = failure

    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, PMEMSIM_CACHE=cache):
        result_cache.run(result_cache.missing(plan.jobs), _InProcess(), finished=finished)
        cells = plan.matrix(failures).cells
    for cell in cells:
        for key in ("speedup", "pm_write_bytes", "storage_bytes", "points", "violations"):
            value = getattr(cell, key)
            yield f"{machine} {cell.design} {key} {'-' if value is None else rounded(value)}"


class _InProcess:
    """Does jobs one after the other in this process."""

    def run(
        self,
        jobs: Sequence[Job],
        finished: Finished,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        """Do all jobs."""
        for index, job in enumerate(jobs):
            finished(index, perform(job.trace.path, job.work, lambda _: None))
