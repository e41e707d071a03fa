"""Read settings that make a machine's structures collide, for crashing designs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import yaml

from pmemsim.files import OWN_YAML
from pmemsim.installation import installed_dir
from pmemsim.presets import Setting


@dataclass(frozen=True)
class StressSet:
    """Settings of some parameters, and the events that occur only with these settings."""

    name: str
    why: str
    values: tuple[tuple[str, str], ...]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return the parameters as a configuration takes them."""
        place = f"--stress {self.name}"
        return tuple(Setting(key, value, place, ships=True) for key, value in self.values)


@cache
def stress_sets() -> dict[str, StressSet]:
    """Return all sets by name, in the order of configs/stress.yaml."""
    text = (installed_dir() / "configs" / "stress.yaml").read_text(encoding="utf-8")
    entries = yaml.load(text, OWN_YAML)["sets"]
    return {
        entry["name"]: StressSet(
            entry["name"],
            entry["why"],
            tuple((key, str(value)) for key, value in entry["set"].items()),
        )
        for entry in entries
    }
