"""Read the results that a paper reports: experiments/PAPER/expected.yaml."""

from __future__ import annotations

from dataclasses import dataclass

UNITS = {"ns": 1, "B": 1, "KB": 1024}
"""Units, with the number of a metric's own units in each."""


@dataclass(frozen=True)
class Fact:
    """One number or one shape of a paper."""

    id: str
    where: str
    """Section and figure of the paper."""
    what: str
    value: float | None
    """The value; None if the fact is a shape."""
    shape: str
    """The condition of a shape; empty if the fact is a number."""
    unit: str = ""
    """One of `UNITS`; empty: a ratio, a share or a count."""
