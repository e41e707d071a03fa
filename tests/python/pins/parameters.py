"""Measures what each parameter changes: a run with another value of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from pins.configurations import configuration, largest_recording
from pins.files import Files, number
from pmemsim import _core
from pmemsim.errors import ConfigError
from pmemsim.selftest.extreme_values import extreme_values
from pmemsim.simulation import Configuration, simulate

_FACTOR = 8
"""A number is multiplied or divided by this."""


@dataclass(frozen=True)
class Base:
    """A design on a machine, whose parameters are changed one at a time."""

    design: str
    machine: str
    settings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def configuration(self) -> Configuration:
        """Return the configuration without a change."""
        return configuration(self.design, self.machine, self.settings)

    @cached_property
    def unchanged(self) -> tuple[float, float]:
        """Return the numbers of the run without a change."""
        return self.run()

    def run(self, *changes: tuple[str, str]) -> tuple[float, float]:
        """Simulate with other values, and return the time and the sum of all statistics.

        A pin for each statistic would take more lines than all other pins.
        """
        changed = configuration(self.design, self.machine, (*self.settings, *changes))
        result = simulate(largest_recording(self.design, self.machine), changed)
        return result.time_ns, fsum(statistic.value for statistic in result.statistics)


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
_SHORT_HISTORY = (("pmweaver.history_entries", "128"),)
_ONE_ACCESS = (("core.one_access_at_a_time", "true"),)
_TRANSLATED = (("tlb.entries", "4"), ("tlb.second_entries", "16"))
_SMALL_LISTS = (
    ("asap.cl_entries", "2"), ("asap.dependence_entries", "16"), ("asap.lh_wpq_entries", "16"),
    ("log.ring_size", "16KiB"), ("log.free_entries", "64"), ("log.header_entries", "64"),
)  # fmt: skip


def _worn(*memories: str) -> tuple[tuple[str, str], ...]:
    """Return settings with which a short run's writes migrate blocks of a buffered device."""
    values = (("wear_writes", "2"), ("wear_block", "4KiB"), ("wear_latency", "1us"))
    return tuple((f"{memory}.{key}", value) for memory in memories for key, value in values)


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
    Base("eadr", "xeon-optane", (*_SMALL, ("dram.device", "buffered"), *_worn("pm", "dram"))),
    Base("janus", "janus", (*_SMALL_METADATA_CACHES, *_FEW_UNITS)),
    Base("sw-undo@enc+veri-pmweaver", "pmweaver"),
    Base("sw-undo@dedup-pmweaver", "pmweaver"),
    Base("sw-undo@enc+veri-pmweaver", "pmweaver", _ONE_ACCESS),
    Base("sw-undo@enc+veri-pmweaver", "pmweaver", _SHORT_HISTORY),
    Base("parallel", "janus", (("deduplication.fingerprint", "crc32"),)),
    Base("parallel", "janus", (("deduplication.duplicates", "drawn"),)),
    Base("sw-undo", "janus", (("backend", "compression"),)),
    Base("sw-undo", "janus", (("backend", "error-correction"),)),
    Base("sw-undo", "janus", (("backend", "wear-leveling"),)),
    Base("sw-undo", "janus", (("backend", "oram"),)),
)
"""Each parameter is changed on the first of these whose run it changes."""

WITHOUT_CHANGE = {
    "dram.write_high_watermark",
    "dram.log_queue_entries", "hops.poll_interval", "pmem_spec.id_bits",
    "pmem_spec.interrupt_latency", "pmem_spec.retries", "pmem_spec.alarm_entries",
    "pmem_spec.controller_latency", "log.free_entries", "log.free_headers",
    "asap.dependence_entries", "asap.dependence_slots", "asap.filter_size",
    "error_correction.flipped_bits", "error_correction.seed", "janus.request_entries",
    "pmweaver.prediction_latency", "pmweaver.next_pointers",
}  # fmt: skip
"""Parameters that change none of these short runs, so that no pin depends on them."""


def measure() -> Files:
    """Return the lines of a run for each parameter, or for each of its choices.

    Raises a `KeyError` for a parameter that changes no run on any of `BASES` and isn't in
    `WITHOUT_CHANGE`, or the reverse.
    """
    lines: list[str] = []
    for parameter in _core.parameters():
        if parameter.key.startswith("energy."):  # takes no time
            continue
        if parameter.choices:
            for choice in parameter.choices:
                lines += _changed_run(parameter, choice)
        else:
            changed = _changed_run(parameter)
            if bool(changed) == (parameter.key in WITHOUT_CHANGE):
                raise KeyError(f"{parameter.key}: mend BASES or WITHOUT_CHANGE in {__name__}")
            lines += changed
    return {"parameters/runs.txt": lines}


def _changed_run(parameter: _core.Parameter, choice: str = "") -> list[str]:
    """Return the lines of the first run that another value changes: a choice, or any number."""
    key = parameter.key
    for base in BASES:
        now = base.configuration[key]
        if base.configuration.idle(key) or now == choice:
            continue
        for value in [choice] if choice else other_numbers(parameter, now):
            with suppress(ConfigError):  # the value doesn't go with other parameters
                time_ns, everything = base.run((key, value))
                if (time_ns, everything) != base.unchanged:
                    run = f"{base.machine} {base.design} {key}={value}"
                    return [
                        f"{run} time_ns {number(time_ns)}",
                        f"{run} sum_of_statistics {number(everything)}",
                    ]
    return []


def other_numbers(parameter: _core.Parameter, value: str) -> list[str]:
    """Return a smaller and a larger number, then the ends of the parameter's limits."""
    if parameter.type == "flag":
        return ["false" if value == "true" else "true"]
    unit = value.lstrip("0123456789.")
    amount = float(value.removesuffix(unit))
    if amount == 0:
        return [f"{_FACTOR}{unit}", *extreme_values(parameter)]
    less, more = amount / _FACTOR, amount * _FACTOR
    if parameter.type == "count":
        less = max(int(less), 1)
    values = [f"{less:g}{unit}", f"{more:g}{unit}"]
    if parameter.type in ("delay", "time"):
        values.reverse()  # a slower one changes more
    return [other for other in [*values, *extreme_values(parameter)] if other != value]
