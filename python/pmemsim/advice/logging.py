"""Find calls of pm.h's log that a program doesn't need."""

from __future__ import annotations

from dataclasses import dataclass, field

from pmemsim import _core
from pmemsim.advice.variants import Call
from pmemsim.simulation import Configuration
from pmemsim.trace import Trace

AFTER_RECOVERY = "same after recovery"
"""The begin of the proof that a call of pm_log has no effect: after each crash, recovery leaves the
same memory without it."""
ONE_WORD = "one word: pm_flush and pm_durable do"
"""The proof that a flush and a fence do instead of a region, which stores one aligned word."""

UNDO_POOL, REDO_POOL = "pm_open", "pm_open, redo log"
"""Sources of the memory of pm.h's pools, by their log."""
SOFTWARE_UNDO = "software-undo"
"""The atomicity of designs that execute pm.h's undo log."""


@dataclass(frozen=True)
class Logging:
    """Calls of pm_log that can be removed, or the reason why they aren't examined."""

    calls: tuple[tuple[Call, str], ...] = ()
    """Each with its proof."""
    together: _core.Without = field(default_factory=_core.Without)
    """Leaves out all of them, apart from those with the proof `ONE_WORD`."""
    note: str = ""
    """A sentence; empty if the calls were examined."""


def needless_logging(trace: Trace, configuration: Configuration, without: _core.Without) -> Logging:
    """Return the calls of pm_log that the program doesn't need without some flushes and fences."""
    if note := _why_not(trace, configuration):
        return Logging(note=note)
    found, together = _core.needless_logs(trace.file, without)
    return Logging(tuple((_call(log), _proof(log)) for log in found), together)


def _call(log: _core.NeedlessLog) -> Call:
    name = f"{log.name}, range {log.range}" if log.range else log.name
    return Call(name, (log.place, *log.calls), log.executed, log.without)


def _proof(log: _core.NeedlessLog) -> str:
    return ONE_WORD if log.one_word else f"{AFTER_RECOVERY}: {' or '.join(log.reasons)}"


def _why_not(trace: Trace, configuration: Configuration) -> str:
    """Say why calls of pm_log aren't examined; empty: they are, or there are none."""
    sources = {region["source"] for region in trace.metadata["pm_regions"]}
    if REDO_POOL in sources:
        return "logging was not examined: pm.h's redo log has no calls of pm_log that cost time"
    if UNDO_POOL in sources and configuration["atomicity"] != SOFTWARE_UNDO:
        return (
            f"logging was not examined: {configuration.design.name} does not execute pm.h's undo "
            "log, so calls of pm_log cost it no time; --design sw-undo executes it"
        )
    return ""
