"""Flushes of lines that aren't persistent memory: a sign that recording lacked an option."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MOST_PLACES = 4  # that are named


def flushes_outside_pm(metadata: Mapping[str, Any]) -> str:
    """How many of a recording's flushes are of other memory, of which, and what would take it in.

    Empty if none is, or if the recording doesn't say (that of another front end).
    """
    places: Counter[str] = Counter()
    for memory in metadata.get("flushes_outside_pm", []):
        places[_describe(memory)] += memory["flushes"]
    if not places:
        return ""
    most = places.most_common(_MOST_PLACES)
    named = [f"{count:,} of {place}" for place, count in most]
    if rest := places.total() - sum(count for _, count in most):
        named.append(f"{rest:,} elsewhere")
    return f"{places.total():,} of {metadata['flushes']:,}: {'; '.join(named)}"


def _describe(memory: Mapping[str, Any]) -> str:
    """What the memory is, and the option of `pmemsim record` that makes it persistent."""
    kind, begin, end = memory["memory"], memory["begin"], memory["end"]
    as_range = f"--pm-range {begin:#x}:{end:#x}"
    if asked := memory.get("asked"):
        return f"memory that the program asks for at {asked:#x} (--pm-hint {asked:#x})"
    if kind == "heap":
        return "the heap (--pm-heap)"
    if kind == "stack":
        return "stacks, which no option makes persistent"
    if kind == "file":
        return f"{memory['path']} (--pm-path {Path(memory['path']).parent})"
    if kind == "data":
        return f"the static data of {memory['path']} ({as_range})"
    return f"memory at {begin:#x} to {end:#x} ({as_range}, or --pm-heap if it was allocated)"
