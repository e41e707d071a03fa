"""A processor, as the system that runs on it describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Processor:
    """The system's description of the processor; a missing value is omitted or 0."""

    model: str
    flags: frozenset[str]
    """Instructions and features, by the names of /proc/cpuinfo."""
    cpus: int
    """Number of logical processors that the measurements have used."""
    numa_node: int | None
    """NUMA node of the first of them."""
    cache_bytes: dict[int, int]
    """Size of each level's data cache, for the first of them."""
    cache_ways: dict[int, int]

    @staticmethod
    def of(given: Mapping[str, Any]) -> Processor:
        """Read a description in a file of measurements."""
        node = given.get("numa_node")
        return Processor(
            model=str(given["model"]),
            flags=frozenset(map(str, given["flags"])),
            cpus=int(given["cpus"]),
            numa_node=None if node is None else int(node),
            cache_bytes={int(level): int(size) for level, size in given["cache_bytes"].items()},
            cache_ways={int(level): int(ways) for level, ways in given["cache_ways"].items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the description that a file of measurements has."""
        return {
            "model": self.model,
            "flags": sorted(self.flags),
            "cpus": self.cpus,
            "numa_node": self.numa_node,
            "cache_bytes": {str(level): size for level, size in self.cache_bytes.items()},
            "cache_ways": {str(level): ways for level, ways in self.cache_ways.items()},
        }

    @property
    def is_virtual(self) -> bool:
        """Return whether this is a virtual machine, whose neighbours share the hardware."""
        return "hypervisor" in self.flags

    def description(self) -> str:
        """Describe the processor in one sentence."""
        node = "" if self.numa_node is None else f", NUMA node {self.numa_node}"
        virtual = ", virtual machine" if self.is_virtual and "virtual" not in self.model else ""
        return f"{self.model}, {self.cpus} logical processors{node}{virtual}"
