"""Evaluate a program's pre-execution hints: their cost, and the savings of missing ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pmemsim import _core
from pmemsim.errors import Error
from pmemsim.installation import version
from pmemsim.simulation import Configuration, Progress
from pmemsim.trace import Place, Trace

MISSING = "missing"

# Advice for a finding, by its kind and reason. It may contain the numbers `early` (average time
# from the hint to the write-back) and `wait` (average time that the write then waited).
_ADVICE = {
    ("useless", "never_written"): "no write used its result: remove the hint, or flush the data "
    "that it names",
    ("useless", "too_old"): (
        "its result expired (janus.most_age): move the hint closer to the write"
    ),
    ("useless", "not_started"): (
        "its operations did not start: call pm_pre_start_buf, or call the hint before the write"
    ),
    ("useless", "data_only"): (
        "its data have no address: call pm_pre_addr with the same pm_pre, or remove the hint"
    ),
    ("useless", "address_only"): (
        "the write stalled for operations that need its data: call pm_pre_data with the same pm_pre"
    ),
    ("invalidated", "data"): (
        "the write had other data than the hint: move the hint after the line's last change"
    ),
    ("invalidated", "counter"): (
        "an earlier write of the same line used the result: move the hint after that write's fence"
    ),
    ("invalidated", "duplicate"): (
        "other writes changed the location of its data in PM: move the hint closer to the write"
    ),
    ("invalidated", "tree"): (
        "other writes changed the integrity tree, as any write does: nothing to correct"
    ),
    (
        "freed",
        "freed",
    ): "the memory was freed before it was written: hint only data that will be written",
    ("too_short", "too_short"): (
        "the write arrived {early} after the hint, {wait} too early: call the hint at least that "
        "much earlier"
    ),
    (
        "dropped",
        "request_queue",
    ): "the request queue was full: hint less data at a time, or start earlier",
    ("dropped", "operation_queue"): (
        "the operation queue was full: hint fewer lines at a time, or spread the hints"
    ),
    ("dropped", "result_buffer"): (
        "the result buffer was full: move hints closer to the writes, and remove useless hints"
    ),
    ("missing", "flush"): "no hint: call pm_pre_both as soon as address and data are known",
    ("missing", "store"): (
        "no hint, and written back without a flush: a hint helps if the design's fences wait for "
        "the write"
    ),
}
# Reasons that are no fault of the program, in addition to missing hints.
_UNAVOIDABLE = {("invalidated", "tree")}
_LIBRARY_HINT = "the hint is in pm.h's library: nothing to correct in the program"
_LIBRARY_STORE = "pm.h's library stored the data (log or allocator): the program can't hint them"


@dataclass(frozen=True)
class Finding:
    """A finding at one line."""

    kind: str
    reason: str
    place: Place
    """Source line of the hint's call; for a missing hint, of the flush, or else of the store."""
    store: Place | None
    """The last store to the line, for a missing hint."""
    of_library: bool
    """Whether the hint, or for a missing hint the store, is in pm.h's library."""
    count: int
    """Hinted lines, or writes that lacked a hint."""
    writes: int
    """Number of hinted lines whose write has arrived."""
    lost_ns: float
    distance_ns: float | None
    """Time from a hint's call to its line's write, on average; None: no write arrived."""
    missing_ns: float | None
    """Average time that such a write has waited."""

    @property
    def fault(self) -> bool:
        """Return whether the program should be corrected."""
        return not (
            self.kind == MISSING or self.of_library or (self.kind, self.reason) in _UNAVOIDABLE
        )

    @property
    def advice(self) -> str:
        """Return a sentence that proposes a correction."""
        if self.of_library:
            return _LIBRARY_STORE if self.kind == MISSING else _LIBRARY_HINT
        numbers = {"early": _rounded(self.distance_ns), "wait": _rounded(self.missing_ns)}
        return _ADVICE[self.kind, self.reason].format(**numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for `--json` (keys: docs/guides/check_hints.md)."""
        return {
            "kind": self.kind,
            "reason": self.reason,
            "fault": self.fault,
            **self.place.to_dict(),
            "store": self.store.to_dict() if self.store else None,
            "of_library": self.of_library,
            "count": self.count,
            "writes": self.writes,
            "lost_ns": self.lost_ns,
            "distance_ns": self.distance_ns,
            "missing_ns": self.missing_ns,
            "advice": self.advice,
        }


def _rounded(nanoseconds: float | None) -> str:
    return f"{nanoseconds or 0:.0f} ns"


@dataclass(frozen=True)
class Report:
    """The results of a run about the hints of a recording."""

    workload: str
    design: str
    machine: str
    hints: int
    """Number of calls."""
    hinted_lines: int
    in_time: int
    """Writes whose operations a hint has completed, except perhaps hashes of the integrity tree."""
    writes: int
    """Writes of the program's data."""
    waited_ns: float
    """Total time that these writes have waited for the backend's operations."""
    time_ns: float
    findings: tuple[Finding, ...]
    """Findings, the most costly first."""
    trace_hash: str

    @property
    def faults(self) -> list[Finding]:
        """Return the findings for which the program should be corrected."""
        return [finding for finding in self.findings if finding.fault]

    @property
    def profile(self) -> list[str]:
        """Return the source lines that need a hint, as `pmemsim-cc --janus-profile` reads them.

        These lines have the last stores to cache lines that were written without a hint and had to
        wait. The most costly one is first; none is in pm.h's library.
        """
        missing = (f for f in self.findings if f.kind == MISSING and not f.of_library)
        return list(dict.fromkeys(str(f.store) for f in missing if f.store and f.store.line))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as `--json` writes it."""
        return {
            "workload": self.workload,
            "design": self.design,
            "machine": self.machine,
            "hints": self.hints,
            "hinted_lines": self.hinted_lines,
            "in_time": self.in_time,
            "writes": self.writes,
            "waited_ns": self.waited_ns,
            "time_ns": self.time_ns,
            "findings": [finding.to_dict() for finding in self.findings],
            "trace_hash": self.trace_hash,
            "version": version(),
        }


def check_design(configuration: Configuration) -> None:
    """Raise an `Error` for a design that doesn't see hints."""
    precompute = configuration["precompute"]
    if precompute != "janus":
        raise Error(
            f"{configuration.design.name}: precompute={precompute} ignores the program's hints; "
            "choose a design with precompute=janus, such as janus"
        )


def lint(trace: Trace, configuration: Configuration, progress: Progress | None = None) -> Report:
    """Simulate a recording on a design with Janus, and evaluate its hints."""
    trace.require_values()
    check_design(configuration)
    run = _core.lint_hints(trace.file, configuration, progress)
    return Report(
        workload=trace.name,
        design=configuration.design.name,
        machine=configuration.machine.name,
        hints=run.hints,
        hinted_lines=run.hinted_lines,
        in_time=run.in_time,
        writes=run.writes,
        waited_ns=run.waited_ps / 1000,
        time_ns=run.time_ps / 1000,
        findings=tuple(_finding(found) for found in run.findings),
        trace_hash=trace.hash,
    )


def _finding(found: _core.HintFinding) -> Finding:
    missing = found.kind == MISSING
    writes = found.writes
    return Finding(
        kind=found.kind,
        reason=found.reason,
        place=found.place,
        store=found.store if missing else None,
        of_library=found.of_library,
        count=found.count,
        writes=writes,
        lost_ns=found.lost_ps / 1000,
        distance_ns=found.distance_ps / writes / 1000 if writes and not missing else None,
        missing_ns=found.waited_ps / writes / 1000 if writes else None,
    )
