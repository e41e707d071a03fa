"""What the papers' structures take, computed from the configuration that is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pmemsim.errors import Error
from pmemsim.reproduce.plan import Paper
from pmemsim.simulation import Configuration, configure
from pmemsim.storage import (
    Structure,
    Structures,
    Unknown,
    Values,
    janus,
    load_aware_log,
    pmweaver,
    storage_of,
)


def storage(paper: Paper) -> list[Structure]:
    """The structures of a paper's own design."""
    experiment = paper.experiments["storage"]
    design = paper.designs[experiment.designs[0]]
    configuration = configure(design.preset, paper.machine, dict(design.settings))
    return list(STORAGE[paper.name](configuration))


def counted(paper: Paper) -> list[Structure]:
    """Those that the paper's one number is of; a core's alone where it tells others apart."""
    return [each for each in storage(paper) if (paper.name, each.name) not in _APART]


_APART = {("pmweaver", "prediction result buffer, shared, for each core")}


def _known(structures: Structures) -> Sequence[Structure]:
    if isinstance(structures, Unknown):
        raise Error(structures.reason)
    return structures


def _whole_design(configuration: Configuration) -> Sequence[Structure]:
    return _known(storage_of(configuration))


def _lalea(configuration: Configuration) -> Sequence[Structure]:
    """What it adds to the design whose log it allocates."""
    return load_aware_log(Values(configuration))


def _janus(configuration: Configuration) -> Sequence[Structure]:
    """Its queues and its buffer for a core, without the caches of the operations."""
    return _known(janus(Values(configuration)))


def _pmweaver(configuration: Configuration) -> Sequence[Structure]:
    """Its own, without the caches of the operations."""
    return _known(pmweaver(Values(configuration)))


STORAGE: dict[str, Callable[[Configuration], Sequence[Structure]]] = {
    "asap": _whole_design,
    "lalea": _lalea,
    "janus": _janus,
    "pmweaver": _pmweaver,
}
