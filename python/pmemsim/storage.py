"""Report the chip storage of a design's structures, as its implementations compute it.

Log areas in PM and DRAM that a design uses are not on the chip and don't count. Queues that the
machine also has without the design don't count either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pmemsim import _core
from pmemsim.simulation import Configuration

Structure = _core.Structure


@dataclass(frozen=True)
class Unknown:
    """A design whose structures can't be counted, with the reason in a sentence."""

    reason: str


Structures = Sequence[Structure] | Unknown


def storage_of(configuration: Configuration, layer: str | None = None) -> Structures:
    """Return the structures that a design, or one of its layers, adds to its machine.

    A design in software alone has none. Structures that two implementations share are listed once.
    """
    found: list[Structure] = []
    for storage in configuration.storage:
        if layer not in (None, storage.layer):
            continue
        if storage.unknown:
            return Unknown(storage.unknown)
        found += [structure for structure in storage.structures if structure not in found]
    return found


def total_bytes(structures: Sequence[Structure]) -> float:
    """Return the bytes of all structures in the machine together."""
    return sum(structure.bytes * structure.count for structure in structures)
