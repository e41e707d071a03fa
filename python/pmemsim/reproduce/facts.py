"""What a paper reports: experiments/PAPER/expected.yaml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """One number or one shape of a paper."""

    id: str
    where: str
    """Section and figure."""
    what: str
    value: float | None
    """A ratio; None if the fact is a shape."""
    shape: str
    """What must hold; empty if the fact is a number."""
