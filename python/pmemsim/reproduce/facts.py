"""Read the results that a paper reports: experiments/PAPER/expected.yaml."""

from __future__ import annotations

from dataclasses import dataclass

UNITS = {"ns": 1, "B": 1, "KB": 1024}
"""Each with how much of a metric's own unit it is."""


@dataclass(frozen=True)
class Fact:
    """One number or one shape of a paper."""

    id: str
    where: str
    """Section and figure."""
    what: str
    value: float | None
    """None if the fact is a shape."""
    shape: str
    """What must hold; empty if the fact is a number."""
    unit: str = ""
    """One of `UNITS`; empty: a ratio, a share or how many."""
