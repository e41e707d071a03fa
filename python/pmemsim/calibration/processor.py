"""The processor that this process runs on, as the system describes it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from pmemsim.errors import Error

_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Processor:
    """The system's description of the processor; a missing value is omitted or 0."""

    model: str
    flags: frozenset[str]
    """Instructions and features, by the names of /proc/cpuinfo."""
    cpus: tuple[int, ...]
    """Logical processors that this process may use; threads are pinned to them in this order."""
    numa_node: int | None
    """NUMA node of the first of `cpus`."""
    cache_bytes: dict[int, int]
    """Size of each level's data cache, for the first of `cpus`."""
    cache_ways: dict[int, int]

    @property
    def is_virtual(self) -> bool:
        """Return whether this is a virtual machine, whose neighbours share the hardware."""
        return "hypervisor" in self.flags

    def description(self) -> str:
        """Describe the processor in one sentence."""
        node = "" if self.numa_node is None else f", NUMA node {self.numa_node}"
        virtual = ", virtual machine" if self.is_virtual else ""
        pinned = ", ".join(map(str, self.cpus[:8])) + (", ..." if len(self.cpus) > 8 else "")
        return f"{self.model}, processors {pinned}{node}{virtual}"


def this_processor() -> Processor:
    """Describe this machine's processor. Raises an `Error` if it can't be measured."""
    kind = platform.machine()
    if kind not in ("x86_64", "AMD64"):
        raise Error(
            f"calibrate measures only x86-64 processors, and this one is {kind}; run it on the "
            "machine to be measured, or write a preset by hand (docs/guides/write_machine.md)"
        )
    described = _cpuinfo(Path("/proc/cpuinfo").read_text())
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    sizes, ways = _caches(_CPUS / f"cpu{cpus[0]}" / "cache")
    return Processor(
        model=described.get("model name", "unknown processor"),
        flags=frozenset(described.get("flags", "").split()),
        cpus=cpus,
        numa_node=_numa_node(_CPUS / f"cpu{cpus[0]}"),
        cache_bytes=sizes,
        cache_ways=ways,
    )


def _cpuinfo(text: str) -> dict[str, str]:
    """Return the keys of the first processor in the system's description."""
    first = text.split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _caches(folder: Path) -> tuple[dict[int, int], dict[int, int]]:
    sizes: dict[int, int] = {}
    ways: dict[int, int] = {}
    for cache in sorted(folder.glob("index*")):
        if (cache / "type").read_text().strip() == "Instruction":
            continue
        level = int((cache / "level").read_text())
        sizes[level] = _size((cache / "size").read_text().strip())
        ways[level] = int((cache / "ways_of_associativity").read_text())
    return sizes, ways


def _size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def _numa_node(cpu: Path) -> int | None:
    nodes = [int(path.name[4:]) for path in cpu.glob("node[0-9]*")]
    return nodes[0] if nodes else None
