"""What the papers' structures take, computed from the configuration that is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pmemsim.errors import Error
from pmemsim.reproduce.plan import Paper
from pmemsim.simulation import Configuration, configure
from pmemsim.storage import Structure, Unknown, Values, janus, load_aware_log, storage_of


def storage(paper: Paper) -> list[Structure]:
    """The structures of a paper's own design."""
    experiment = paper.experiments["storage"]
    design = paper.designs[experiment.designs[0]]
    configuration = configure(design.preset, paper.machine, dict(design.settings))
    return list(STORAGE[paper.name](configuration))


def _whole_design(configuration: Configuration) -> Sequence[Structure]:
    structures = storage_of(configuration)
    if isinstance(structures, Unknown):
        raise Error(structures.reason)
    return structures


def _lalea(configuration: Configuration) -> Sequence[Structure]:
    """What it adds to the design whose log it allocates."""
    return load_aware_log(Values(configuration))


def _janus(configuration: Configuration) -> Sequence[Structure]:
    """Its queues and its buffer for a core, without the caches of the operations."""
    structures = janus(Values(configuration))
    if isinstance(structures, Unknown):
        raise Error(structures.reason)
    return structures


STORAGE: dict[str, Callable[[Configuration], Sequence[Structure]]] = {
    "asap": _whole_design,
    "lalea": _lalea,
    "janus": _janus,
}
