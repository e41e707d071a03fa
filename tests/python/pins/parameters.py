"""Measures what each parameter changes: a run with another value of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import fsum

from pmemsim.errors import Error
from pmemsim.simulation import simulate

from pins.configurations import configuration, largest_recording
from pins.files import Files, number
from pmemsim import _core

_FACTOR = 8
"""A number is multiplied or divided by this."""


@dataclass(frozen=True)
class Base:
    """A design on a machine, whose parameters are changed one at a time."""

    design: str
    machine: str
    settings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def values(self) -> dict[str, str]:
        """The values of all parameters."""
        parameters = configuration(self.design, self.machine, self.settings).resolve()
        return {each["key"]: each["value"] for each in parameters}

    @cached_property
    def idle(self) -> set[str]:
        """The parameters that have no effect."""
        everything = configuration(self.design, self.machine, self.values)
        return set(_core.idle_settings(everything.settings))

    def lines(self, key: str, value: str) -> list[str]:
        """Simulate with another value."""
        changed = configuration(self.design, self.machine, (*self.settings, (key, value)))
        result = simulate(largest_recording(self.design, self.machine), changed)
        # A line for each statistic would take more lines than all other pins.
        everything = fsum(statistic.value for statistic in result.statistics)
        run = f"{self.machine} {self.design} {key}={value}"
        return [
            f"{run} time_ns {number(result.time_ns)}",
            f"{run} sum_of_statistics {number(everything)}",
        ]


# Caches, queues and lists that even a short run fills.
_SMALL = (
    ("l1.size", "512B"), ("l1.ways", "2"), ("l2.size", "1KiB"), ("l2.ways", "2"),
    ("shared.size", "4KiB"), ("shared.size_per_core", "0B"), ("shared.ways", "4"),
    ("dram.wpq_entries", "16"), ("pm.wpq_entries", "16"),
)  # fmt: skip
_SMALL_METADATA_CACHES = tuple(
    (f"{cache}.{key}", value)
    for cache in ("counter_cache", "deduplication.cache", "integrity.cache")
    for key, value in (("size_per_core", "2KiB"), ("ways", "2"))
)
_FEW_UNITS = (("core.count", "4"), ("backend.units_per_core", "1"))
_TRANSLATED = (("tlb.entries", "4"), ("tlb.second_entries", "16"))
_SMALL_LISTS = (
    ("asap.cl_entries", "2"), ("asap.dependence_entries", "16"), ("asap.lh_wpq_entries", "16"),
    ("log.ring_size", "16KiB"), ("log.free_entries", "64"), ("log.header_entries", "64"),
)  # fmt: skip

BASES = (
    Base("asap", "asap", (*_SMALL, *_SMALL_LISTS)),
    Base("sw-undo", "asap", (*_SMALL, *_TRANSLATED, ("prefetch.streams", "4"))),
    Base("redu+lalea+blom", "lalea"),
    Base("lad", "lalea"),
    Base("hw-undo", "asap"),
    Base("hw-redo", "asap"),
    Base("dpo", "pmem-spec"),
    Base("hops", "pmem-spec"),
    Base("pmem-spec", "pmem-spec", _SMALL),
    Base("sw-redo", "pmem-spec"),
    Base("eadr", "xeon-optane", (*_SMALL, ("dram.device", "fixed"))),
    Base("eadr", "xeon-optane", (*_SMALL, ("dram.device", "buffered"))),
    Base("janus", "janus", (*_SMALL_METADATA_CACHES, *_FEW_UNITS)),
    Base("sw-undo@enc+veri-pmweaver", "pmweaver"),
    Base("sw-undo@dedup-pmweaver", "pmweaver"),
    Base("sw-undo", "janus", (("backend", "compression"),)),
    Base("sw-undo", "janus", (("backend", "error-correction"),)),
    Base("sw-undo", "janus", (("backend", "wear-leveling"),)),
    Base("sw-undo", "janus", (("backend", "oram"),)),
)
"""Each parameter is changed on the first of these on which it has an effect."""


def measure() -> Files:
    """Return the lines of a run for each parameter, or for each of its choices.

    Raises a `KeyError` for a parameter that has no effect on any of `BASES`.
    """
    lines: list[str] = []
    for parameter in _core.parameters():
        # Energy takes no time, and an injected fault (`defect`) is no parameter of a machine.
        if parameter["defect"] or parameter["key"].startswith("energy."):
            continue
        for of_run in islice(_runs(parameter), None if parameter["choices"] else 1):
            lines += of_run
    return {"parameters/runs.txt": lines}


def _runs(parameter: _core.Parameter) -> Iterator[list[str]]:
    """Yield the lines of a run for each other value that is legal beside other parameters."""
    key = parameter["key"]
    base = next((base for base in BASES if key not in base.idle), None)
    if base is None:
        raise KeyError(f"{key} has no effect on any of BASES in {__name__}; add one")
    for value in _other_values(parameter, base.values[key]):
        with suppress(Error):
            yield base.lines(key, value)


def _other_values(parameter: _core.Parameter, value: str) -> list[str]:
    """Return all other choices, or a much smaller and a much larger number."""
    if parameter["choices"]:
        return [choice for choice in parameter["choices"] if choice != value]
    if parameter["type"] == "flag":
        return ["false" if value == "true" else "true"]
    unit = value.lstrip("0123456789.")
    amount = float(value.removesuffix(unit))
    if amount == 0:
        return [f"{_FACTOR}{unit}"]
    less, more = amount / _FACTOR, amount * _FACTOR
    if parameter["type"] == "count":
        less = max(int(less), 1)
    values = [f"{less:g}{unit}", f"{more:g}{unit}"]
    slower = reversed(values) if parameter["type"] in ("delay", "time") else values
    return [other for other in slower if other != value]
