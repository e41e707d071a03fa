"""Defects that random configurations have found and that aren't mended yet.

A case that fulfils the condition of a row is skipped. Remove the row when the defect is corrected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = Mapping[str, str]
"""The value of each parameter of a configuration."""


@dataclass(frozen=True)
class KnownDefect:
    """A condition under which the simulator fails, and what happens then."""

    name: str
    reason: str
    applies: Callable[[Values], bool]


_METADATA = {"encryption", "deduplication", "integrity"}
# The operations that use each of the caches of metadata.
_METADATA_CACHES = {
    "counter_cache": _METADATA,
    "deduplication.cache": {"deduplication"},
    "integrity.cache": {"integrity"},
}
# Groups of parameters, and one parameter, that say how long a write to PM takes.
_WRITES = (
    "pm.", "backend.", "encryption.", "deduplication.", "integrity.", "compression.",
    "error_correction.", "wear_leveling.", "oram.", "pmem_spec.controller_latency",
)  # fmt: skip
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def _operations(values: Values) -> set[str]:
    return set(values["backend"].split(","))


def _bytes(size: str) -> int:
    number = size.rstrip("BKMGTi")
    return int(float(number) * _UNITS[size.removeprefix(number)])


def _nanoseconds(value: str) -> float:
    """Return a time; 0 if the value is not a time."""
    found = re.fullmatch(r"([\d.]+)(ps|ns|us|ms|s)", value)
    return float(found[1]) * _NANOSECONDS[found[2]] if found else 0.0


def _speculates_before_selective_metadata(values: Values) -> bool:
    return (
        values["ordering"] == "pmem-spec"
        and values["backend.metadata_atomicity"] == "selective"
        and not _METADATA.isdisjoint(_operations(values))
    )


def _has_metadata_cache_without_a_set(values: Values) -> bool:
    cores = int(values["core.count"])
    return any(
        _bytes(values[f"{cache}.size_per_core"]) * cores < 64 * int(values[f"{cache}.ways"])
        for cache, users in _METADATA_CACHES.items()
        if not users.isdisjoint(_operations(values))
    )


def _polls_during_slow_accesses(values: Values) -> bool:
    return values["ordering"] == "pmem-spec" and any(
        _nanoseconds(value) >= 1e6
        for key, value in values.items()
        if key.startswith(_WRITES) and key != "pm.trefi"
    )


KNOWN_DEFECTS = (
    KnownDefect(
        "selective metadata",
        "PMEM-Spec before a backend with selective metadata loses data once a region has been "
        "re-executed",
        _speculates_before_selective_metadata,
    ),
    KnownDefect(
        "cache without a set",
        "A metadata cache that is smaller than one set ends the process with signal 11",
        _has_metadata_cache_without_a_set,
    ),
    KnownDefect(
        "polling",
        "PMEM-Spec checks every 20 ns whether a write has ended, so runs with writes of a "
        "millisecond take minutes on the host",
        _polls_during_slow_accesses,
    ),
)


def known_defect(values: Values) -> KnownDefect | None:
    """Return the first known defect that the configuration runs into."""
    return next((each for each in KNOWN_DEFECTS if each.applies(values)), None)
