"""What a paper reports: experiments/PAPER/expected.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml


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


def load_facts(path: Path) -> dict[str, Fact]:
    """The facts of one paper by their ids, in the file's order."""
    return {
        entry["id"]: Fact(
            entry["id"],
            entry["where"],
            entry.get("what", ""),
            entry.get("value"),
            entry.get("shape", ""),
        )
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    }
