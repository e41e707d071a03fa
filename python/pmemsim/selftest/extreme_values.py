"""Extreme values of parameters: the ends of the ranges that their declarations allow."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmemsim._core import Parameter

# "1 to 64", "at most 1s", "4KiB to 1GiB, a power of two", "1ps to 1ms, or 1cycles to 1000cycles".
_RANGE = re.compile(r"(?:(?P<least>\S+) to |at most )(?P<most>[^\s,]+)")

NEARER_ENDS = {
    "l1.size": ("64B", "1MiB", "cores x caches take the host's memory and time"),
    "l2.size": ("0B", "4MiB", "as l1.size"),
    "shared.size*": ("0B", "8MiB", "as l1.size"),
    "*cache.size_per_core": ("64B", "4MiB", "as l1.size"),
    "*.filter_size": ("1B", "1MiB", "each core or channel has a filter"),
    "pmweaver.*_entries": ("1", "4096", "each core has the tables"),
    "pmweaver.*_ways": ("1", "64", "more ways than entries are refused"),
    "pm.page_size": ("64B", "256KiB", "load-aware logs visit every line up to the last bank"),
    "error_correction.flipped_bits": ("0", "1", "two wrong bits can't be corrected"),
    "log.free_*": ("16", "4096", "each bank has a list of free places"),
}
"""By pattern of a key: the ends that replace the declared ones, and the reason."""

UNSOUND_CHOICES = {
    ("hw_redo.commit_order", "per-core"),
    ("pmem_spec.alarmed_lines", "published"),
    ("pmem_spec.backed_up_windows", "go-on"),
    ("pmem_spec.commit_check", "published"),
    ("pmem_spec.controllers", "published"),
    ("pmem_spec.releases", "published"),
}
"""Choices that can lose data (docs/explanation/ordering.md, docs/reference/parameters.md)."""


def extreme_values(parameter: Parameter) -> list[str]:
    """Return the least and the largest value, or the sound ones of a choice.

    A parameter without declared limits has none.
    """
    if parameter.type == "choice":
        key = parameter.key
        return [name for name in parameter.choices if (key, name) not in UNSOUND_CHOICES]
    if parameter.type == "flag":
        return ["false", "true"]
    for pattern, (least, most, _) in NEARER_ENDS.items():
        if fnmatchcase(parameter.key, pattern):
            return [least, most]
    found = _RANGE.match(parameter.limits)
    if found is None:
        return []
    return [found["least"] or re.sub(r"^[\d.]+", "0", found["most"]), found["most"]]
