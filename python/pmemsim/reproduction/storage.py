"""Compute the storage of the papers' structures from the simulated configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pmemsim.errors import Error
from pmemsim.reproduction.plan import Paper
from pmemsim.simulation import Configuration, configure
from pmemsim.storage import Structure, Unknown, storage_of


def storage(paper: Paper) -> list[Structure]:
    """Return the structures of a paper's own design."""
    experiment = paper.experiments["storage"]
    design = paper.designs[experiment.designs[0]]
    configuration = configure(design.preset, paper.machine, dict(design.settings))
    return list(STORAGE[paper.name](configuration))


def counted(paper: Paper) -> list[Structure]:
    """Return the structures that the paper's number covers, without those it lists apart."""
    return [each for each in storage(paper) if (paper.name, each.name) not in _APART]


_APART = {("pmweaver", "prediction result buffer, shared, for each core")}


def _known(configuration: Configuration, layer: str | None = None) -> Sequence[Structure]:
    structures = storage_of(configuration, layer)
    if isinstance(structures, Unknown):
        raise Error(structures.reason)
    return structures


def _lalea(configuration: Configuration) -> Sequence[Structure]:
    """Return the structures that LALEA adds to the design whose log it allocates (III-A)."""
    return [each for each in _known(configuration, "atomicity") if each.where == "III-A"]


def _precompute(configuration: Configuration) -> Sequence[Structure]:
    """Return the queues and buffers of the design, without the caches of the operations."""
    return _known(configuration, "precompute")


STORAGE: dict[str, Callable[[Configuration], Sequence[Structure]]] = {
    "asap": _known,
    "lalea": _lalea,
    "janus": _precompute,
    "pmweaver": _precompute,
}
