"""Describe the statistics of runs: meaning, component, and the sum to which each belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from pmemsim import _core
from pmemsim.errors import ConfigError, Error, did_you_mean
from pmemsim.presets import BEFORE, preset_names
from pmemsim.simulation import configure

# The design and the machine with which the statistics of other layers are determined.
_DESIGN, _MACHINE = "sw-undo", "asap"
_OF_ONE_CORE = re.compile(r"core\d+\.")
_PHRASES = {
    "part": "part of {}",
    "share": "adds up with others to {}",
    "origin": "adds up with others to at most {}",
    "limit": "at most {}",
}


@dataclass
class DeclaredStatistic:
    """A statistic as its component declares it."""

    name: str
    unit: str
    meaning: str
    file: str
    """File of the declaration, relative to the root of the repository."""
    line: int
    relations: tuple[str, ...]
    """Relations to other statistics, a phrase each."""
    wholes: tuple[str, ...]
    """Statistics of which this one is a part."""
    parts: list[str] = field(default_factory=list)
    """Statistics that are parts of this one."""
    designs: list[str] = field(default_factory=list)
    """Designs that have this statistic on machine `asap`."""
    machines: list[str] = field(default_factory=list)
    """Machines that have this statistic with design `sw-undo`."""
    backends: list[str] = field(default_factory=list)
    """Backends that add this statistic to `sw-undo`: presets, or an operation `backend=NAME`."""

    @property
    def component(self) -> str:
        """Return the component that counts the statistic: the name's first part."""
        return self.name.partition(".")[0]

    @property
    def module(self) -> str:
        """Return the folder of its module below src/pmemsim, or of its plug-in."""
        return str(PurePosixPath(self.file).parent).removeprefix("src/pmemsim/")


def statistic_of(name: str) -> DeclaredStatistic:
    """Return a statistic by its name, also of one core; raises an `Error` if there is none."""
    every = statistics()
    wanted = _OF_ONE_CORE.sub("core.", name)
    if wanted not in every:
        whole = re.compile(rf"(?<![\w.]){re.escape(wanted)}(?![\w.])")
        if any(whole.search(relation) for each in every.values() for relation in each.relations):
            raise Error(
                f"'{name}' is not a statistic: runs compute it only to check the relations of "
                "statistics; docs/reference/statistics.md explains it"
            )
        near = did_you_mean(name, every)
        cure = near if "did you mean" in near else "; `pmemsim list statistics` shows all"
        raise Error(f"unknown statistic '{name}'{cure}")
    return every[wanted]


@cache
def statistics() -> dict[str, DeclaredStatistic]:
    """Return all statistics by name, in the order of a run's, without those of single cores."""
    found: dict[str, DeclaredStatistic] = {}
    for kind, owner, entries in _declarations():
        for entry in entries:
            if not _OF_ONE_CORE.match(entry.name):
                each = found.setdefault(entry.name, _statistic(entry))
                getattr(each, kind).append(owner)
    for each in found.values():
        for whole in each.wholes:
            if whole in found:
                found[whole].parts.append(each.name)
    return found


def _declarations() -> Iterator[tuple[str, str, list[_core.StatisticDeclaration]]]:
    """Return the statistics of each design, machine and backend; invalid ones have none."""
    for design in preset_names("design"):
        yield "designs", design, _of_machine(design, _MACHINE)
    for machine in preset_names("machine"):
        yield "machines", machine, _of_machine(_DESIGN, machine)
    for backend in preset_names("backend"):
        yield "backends", backend, _of_machine(f"{_DESIGN}{BEFORE}{backend}", _MACHINE)
    for choice in _core.layers():
        if choice.layer == "backend":
            found = _of_machine(_DESIGN, _MACHINE, {"backend": choice.name})
            yield "backends", f"backend={choice.name}", found


def _of_machine(
    design: str, machine: str, overrides: dict[str, str] | None = None
) -> list[_core.StatisticDeclaration]:
    try:
        return _core.declared_statistics(configure(design, machine, overrides))
    except ConfigError:
        return []


def _statistic(entry: _core.StatisticDeclaration) -> DeclaredStatistic:
    wholes = (each.wholes for each in entry.relations if each.kind != "limit")
    return DeclaredStatistic(
        entry.name,
        entry.unit,
        entry.description,
        entry.file,
        entry.line,
        tuple(dict.fromkeys(map(_phrase, entry.relations))),
        tuple(dict.fromkeys(whole for each in wholes for whole in each)),
    )


def _phrase(relation: _core.StatisticRelation) -> str:
    wholes = " + ".join(relation.wholes)
    times = relation.factor if relation.kind == "limit" else 1
    if times == 0:  # it follows from the run
        wholes = f"a multiple of {wholes}"
    elif times != 1:
        wholes = f"{times:g} times {wholes}"
    return _PHRASES[relation.kind].format(wholes)
