"""Describe flushes of lines outside persistent memory, which show that an option is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

_MOST_PLACES = 4  # places that are named


def flushes_outside_pm(metadata: Mapping[str, Any]) -> str:
    """Describe how many flushes are of other memory, which memory, and the option to include it.

    Empty if no flush is, or if the recording has no such counts, as with another front end.
    """
    places: Counter[str] = Counter()
    flushed = metadata.get("flushes_outside_pm", [])
    asked = {memory["asked"] for memory in flushed if "asked" in memory}
    for memory in flushed:
        places[_describe(memory, asked)] += memory["flushes"]
    if not places:
        return ""
    most = places.most_common(_MOST_PLACES)
    named = [f"{count:,} of {place}" for place, count in most]
    if rest := places.total() - sum(count for _, count in most):
        named.append(f"{rest:,} elsewhere")
    return f"{places.total():,} of {metadata['flushes']:,}: {'; '.join(named)}"


def _describe(memory: Mapping[str, Any], asked: Collection[int]) -> str:
    """Describe the memory, with the option of `pmemsim record` that makes it persistent.

    `asked` are addresses that the program requested for the memory but that were in use.
    """
    kind, begin, end = memory["memory"], memory["begin"], memory["end"]
    as_range = f"--pm-range {begin:#x}:{end:#x}"
    there = (address for address in asked if kind == "anonymous" and begin <= address < end)
    if (hint := memory.get("asked", next(there, None))) is not None:
        return f"memory that the program requests at {hint:#x} (--pm-hint {hint:#x})"
    if kind == "heap":
        return "the heap (--pm-heap)"
    if kind == "stack":
        return "stacks, which no option makes persistent"
    if kind == "file":
        return f"{memory['path']} (--pm-path {Path(memory['path']).parent})"
    if kind == "private":
        return f"a private mapping of {memory['path']}, which never reaches it (map it MAP_SHARED)"
    if kind == "shared":
        return f"memory at {begin:#x} to {end:#x} that is shared without a file ({as_range})"
    if kind == "data":
        return f"the static data of {memory['path']} ({as_range})"
    return f"memory at {begin:#x} to {end:#x} ({as_range}, or --pm-heap if it was allocated)"
