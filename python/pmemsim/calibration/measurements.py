"""Figures of a machine: the times of the micro-benchmarks, as a file of measurements keeps them.

docs/guides/write_machine.md ("A file of measurements") describes the format. A figure is the time
of one operation of a loop of microbenchmarks.c: the median of all repetitions but the first of each
round, which warms up. Between two rounds of a figure, all other figures are measured, so that a
disturbance of seconds affects only one round.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim.calibration.processor import Processor
from pmemsim.errors import Error

KIB, MIB = 1 << 10, 1 << 20
LINE_BYTES = 64
PAGE_BYTES = 4096
# A figure is used by fits if its spread is at most this.
USABLE_SPREAD = 0.15
# Operations of a recording, by loop. A loop that is missing can't be recorded.
_RECORDED = {
    "add_register": 48_000, "rotate_and_xor": 48_000, "instruction": 48_000,
    "multiply": 20_000, "divide": 20_000, "locked": 20_000,
    "random_branch": 1 << 17, "even_branch": 1 << 17,
    "random_target": 1 << 16, "even_target": 1 << 16,
    "store_clwb_sfence": 4096, "store_clwb_mfence": 4096, "store_clflushopt_sfence": 4096,
    "store_clflush_sfence": 4096, "nontemporal_sfence": 4096, "nontemporal_mfence": 4096,
    "instructions_between": 2000, "loads_between": 2000, "stores_between": 2000,
    "load_after_clwb": 4096, "load_behind_locked": 4096, "hand_over": 4000,
}  # fmt: skip
_LOADS = {"load", "persistent_load", "page_load", "independent_load"}
_FEWEST_LOADS, _MOST_LOADS = 20_000, 1 << 17
# Loops whose operations are divided among the threads: operations of each thread.
_OF_EACH_THREAD = {
    "read_bandwidth": 1 << 14, "write_bandwidth": 1 << 14, "flush_bandwidth": 1 << 13,
    "contended_line": 2000, "contended_lock": 2000,
}  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """The measured figure of a micro-benchmark, in nanoseconds an operation."""

    name: str
    """Its name in reports: "load, 16 KiB"."""
    loop: str
    """Its name in microbenchmarks.c."""
    median_ns: float
    least_ns: float
    most_ns: float
    spread: float
    """Spread of the repetitions: from the lower to the upper quartile, over the median."""
    options: tuple[str, ...] = ()
    threads: int = 1

    @property
    def is_usable(self) -> bool:
        """Return whether the middle half of the repetitions has a small spread."""
        return self.spread <= USABLE_SPREAD

    def number(self, option: str) -> int:
        """Return the value of an option, as in `bytes=16384`; 0 if it isn't given."""
        start = f"{option}="
        return next((int(one[len(start) :]) for one in self.options if one.startswith(start)), 0)

    @property
    def is_huge(self) -> bool:
        """Return whether the loop's memory has huge pages."""
        return "huge" in self.options

    @property
    def recorded_operations(self) -> int:
        """Return the operations of the loop's recording; 0 if it can't be recorded."""
        if self.loop in _LOADS:
            return max(_FEWEST_LOADS, min(self.number("bytes") // LINE_BYTES, _MOST_LOADS))
        return _RECORDED.get(self.loop, _OF_EACH_THREAD.get(self.loop, 0) * self.threads)

    def why_unusable(self) -> str:
        """Explain why no parameter is fitted to this figure."""
        return (
            f"'{self.name}' varies by {self.spread:.0%} between repetitions, "
            f"more than {USABLE_SPREAD:.0%}"
        )


@dataclass(frozen=True)
class Measurements:
    """All figures of a machine by name, and the reasons why others are missing."""

    processor: Processor
    taken: str
    """When and how they were measured."""
    found: dict[str, Measurement]
    missing: dict[str, str]

    def of(self, loop: str) -> list[Measurement]:
        """Return all figures of a loop."""
        return [each for each in self.found.values() if each.loop == loop]

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of a file of measurements."""
        return {
            "processor": self.processor.to_dict(),
            "measured": self.taken,
            "measurements": [
                {
                    "name": each.name,
                    "loop": each.loop,
                    "options": list(each.options),
                    "threads": each.threads,
                    "median_ns": each.median_ns,
                    "least_ns": each.least_ns,
                    "most_ns": each.most_ns,
                    "spread": each.spread,
                }
                for each in self.found.values()
            ],
            "not_measured": self.missing,
        }


def read_measurements(file: Path) -> Measurements:
    """Read a file of measurements. Raises `Error` if it isn't one."""
    try:
        given = json.loads(file.read_text())
    except OSError as error:
        raise Error(f"{file}: {error.strerror}; name a file of measurements") from error
    except UnicodeDecodeError as error:
        raise Error(f"{file}: this is not text; {_CURE}") from error
    except ValueError as error:
        raise Error(f"{file}: this is not JSON: {error}; {_CURE}") from error
    try:
        return _measurements(given)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise Error(f"{file}: {why}; {_CURE}") from error


_CURE = "write the file by `pmemsim calibrate --measure-only` or by the tool of --export-tool"


def _measurements(given: Mapping[str, Any]) -> Measurements:
    found = [_measurement(each) for each in given["measurements"]]
    by_name = {each.name: each for each in found}
    if len(by_name) < len(found):
        raise ValueError(f"two measurements are named {_first_repeated(found)!r}")
    return Measurements(
        processor=Processor.of(given["processor"]),
        taken=str(given["measured"]),
        found=by_name,
        missing={str(name): str(why) for name, why in given.get("not_measured", {}).items()},
    )


def _measurement(given: Mapping[str, Any]) -> Measurement:
    numbers = [float(given[key]) for key in ("median_ns", "least_ns", "most_ns", "spread")]
    median, least, most, spread = numbers
    name = str(given["name"])
    if not 0 < least <= median <= most or not spread >= 0:
        raise ValueError(f"the times of {name!r} are no least, median and most time")
    found = Measurement(
        name,
        str(given["loop"]),
        median,
        least,
        most,
        spread,
        tuple(str(option) for option in given["options"]),
        int(given["threads"]),
    )
    found.number("bytes"), found.number("lines")  # both are numbers, if given
    return found


def _first_repeated(found: Iterable[Measurement]) -> str:
    counts = Counter(each.name for each in found)
    return next(name for name, count in counts.items() if count > 1)


def size_name(size: int) -> str:
    """Return a size in words, as in `16 KiB` or `4 MiB`."""
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
