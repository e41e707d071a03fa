"""Read the variations of experiments: what was measured otherwise than described, and ablations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pmemsim.document import Item
from pmemsim.errors import did_you_mean
from pmemsim.reproduction.metrics import METRICS
from pmemsim.reproduction.parts import (
    is_true,
    read_benchmarks,
    read_design,
    read_instructions,
    read_opt,
    read_settings,
)
from pmemsim.reproduction.plan import (
    MEASURED,
    OTHERS,
    Ablation,
    Benchmark,
    Cause,
    Column,
    Computation,
    Difference,
    Experiment,
    Settings,
)

# Keys that a variation can change.
_CHANGES = (
    "set", "points", "on", "designs", "benchmarks", "machine", "threads", "regions_factor",
    "data_bytes", "items", "compute_instructions", "warm_up", "opt", "whole_run", "metric",
    "without",
)  # fmt: skip


@dataclass(frozen=True)
class Known:
    """The names of a paper that its variations refer to."""

    experiments: Mapping[str, Experiment]
    designs: Collection[str]
    benchmarks: Collection[str]
    groups: dict[str, Item]


def read_differences(item: Item | None, known: Known) -> tuple[Difference, ...]:
    """Return the differences between what was measured and what is described."""
    return tuple(_difference(each, known) for each in item.entries().values()) if item else ()


def _difference(item: Item, known: Known) -> Difference:
    field = item.fields(("why", "source"), ("of", *_CHANGES))
    of = _of(field["of"], known) if "of" in field else tuple(known.experiments)
    return Difference(**_change(item, of, field, known), source=field["source"].text())


def read_ablation(item: Item, known: Known) -> Ablation:
    """Return an ablation."""
    field = item.fields(("why", "of"), ("always", "column", "used", *_CHANGES))
    column: Column = MEASURED
    if "column" in field:
        name = field["column"].one_of(get_args(Column), "column")
        column = next(each for each in get_args(Column) if each == name)
    always = "always" in field and is_true(field["always"])
    of = _of(field["of"], known)
    changed = _change(item, of, field, known)
    used = _used(field["used"], of, known) if "used" in field else ()
    return Ablation(**changed, always=always, column=column, used=used)


def _used(item: Item, of: Sequence[str], known: Known) -> tuple[str, ...]:
    """Return the entries of an ablation's experiments that its property was inferred from."""
    entries = [entry.fact.id for name in of for entry in known.experiments[name].entries]
    return tuple(name.one_of(entries, "entry") for name in item.items())


def _of(item: Item, known: Known) -> tuple[str, ...]:
    return tuple(name.one_of(known.experiments, "experiment") for name in item.items())


def _change(
    item: Item, of: Sequence[str], field: Mapping[str, Item], known: Known
) -> dict[str, Any]:
    """Return the values of the fields of a `Change`."""
    return {
        "id": item.name,
        "why": field["why"].text(),
        "of": tuple(of),
        "settings": read_settings(field.get("set")),
        "points": _points(field.get("points"), of, known),
        "on": _names(field.get("on"), known.designs, "design"),
        "designs": {
            name: read_design(other)
            for name, other in _replaced(field.get("designs"), known.designs, "design").items()
        },
        "benchmarks": _benchmarks(field.get("benchmarks"), known),
        "machine": field["machine"].preset("machine") if "machine" in field else None,
        "threads": field["threads"].whole() if "threads" in field else None,
        "regions_factor": field["regions_factor"].number() if "regions_factor" in field else 1,
        "data_bytes": field["data_bytes"].whole() if "data_bytes" in field else None,
        "items": field["items"].whole() if "items" in field else None,
        "compute_instructions": _computation(field.get("compute_instructions"), known),
        "warm_up": field["warm_up"].whole(least=0) if "warm_up" in field else None,
        "opt": read_opt(field.get("opt")),
        "whole_run": is_true(field["whole_run"]) if "whole_run" in field else None,
        "metric": field["metric"].one_of(METRICS, "metric") if "metric" in field else None,
        "without": _without(field.get("without"), of, known),
    }


def _points(item: Item | None, of: Sequence[str], known: Known) -> dict[str, Settings]:
    """Return the settings of points that each of the experiments has."""
    points = item.entries() if item else {}
    for name in of:
        there = [point.name for point in known.experiments[name].points]
        for point in points.values():
            if point.name not in there:
                raise point.error(f"{name} has no such point{did_you_mean(point.name, there)}")
    return {name: read_settings(point) for name, point in points.items()}


def _names(item: Item | None, known: Collection[str], what: str) -> tuple[str, ...]:
    return tuple(name.one_of(known, what) for name in item.items()) if item else ()


def _replaced(item: Item | None, known: Collection[str], what: str) -> dict[str, Item]:
    """Return what is run in the place of the paper's, by the paper's names."""
    others = item.entries() if item else {}
    for name, other in others.items():
        if name not in known:
            raise other.error(f"unknown {what} '{name}'{did_you_mean(name, known)}")
    return others


def _benchmarks(item: Item | None, known: Known) -> tuple[Benchmark, ...]:
    _replaced(item, known.benchmarks, "benchmark")
    return read_benchmarks(item, known.groups) if item else ()


def _computation(item: Item | None, known: Known) -> Computation:
    """Return the instructions of each region: one number, or one by group and benchmark."""
    if item is None:
        return {}
    if not item.is_mapping:
        return {OTHERS: read_instructions(item)}
    return {
        (group, benchmark): read_instructions(number)
        for group, of_group in _replaced(item, known.groups, "group").items()
        for benchmark, number in _replaced(of_group, known.benchmarks, "benchmark").items()
    }


def _without(item: Item | None, of: Sequence[str], known: Known) -> tuple[str, ...]:
    """Return the excluded benchmarks; none may be the only one of an entry."""
    needed = {e.benchmark: e.fact.id for name in of for e in known.experiments[name].entries}
    for name in item.items() if item else ():
        if name.text() in needed:
            raise name.error(f"{needed[name.text()]} is of this benchmark alone; keep it")
    return _names(item, known.benchmarks, "benchmark")


Coverage = Mapping[str, Collection[str]]
"""The experiments that each ablation varies."""


def coverage(ablations: Item) -> Coverage:
    """Return the experiments of each ablation as the file has them, known or not."""
    return {
        name: [each.text() for each in fields["of"].items()]
        for name, ablation in ablations.entries().items()
        if "of" in (fields := ablation.entries())
    }


def read_cause(item: Item, experiment: str, covered: Coverage) -> Cause:
    """Return the cause of an entry that is off; each of its ablations must be of its experiment."""
    field = item.fields(("of", "try"))
    tries = field["try"].values()
    for name in tries:
        if experiment not in covered[name.one_of(covered, "ablation")]:
            raise name.error(f"{name.text()} is no ablation of {experiment}; add it to its `of`")
    return Cause(field["of"].text(), tuple(name.text() for name in tries))
