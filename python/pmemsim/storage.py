"""What a design's structures take on the chip, as its implementations compute it.

Log areas in PM and DRAM that a design uses are not on the chip and don't count, nor do queues
that the machine has without the design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pmemsim import _core
from pmemsim.simulation import Configuration

Structure = _core.Structure


@dataclass(frozen=True)
class Unknown:
    """A design whose structures can't be counted, and why, in a sentence."""

    reason: str


Structures = Sequence[Structure] | Unknown


def storage_of(configuration: Configuration, layer: str | None = None) -> Structures:
    """The structures that a design, or one of its layers, adds to its machine.

    There are none if it is software alone. What two implementations have in common is there once.
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
    """Bytes of all structures in the machine together."""
    return sum(structure.bytes * structure.count for structure in structures)
