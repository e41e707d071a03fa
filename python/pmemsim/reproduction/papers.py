"""Read the papers that can be reproduced: a folder each, with experiment.yaml and expected.yaml."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pmemsim.document import Item, read
from pmemsim.errors import Error, did_you_mean
from pmemsim.installation import installed_dir
from pmemsim.reproduction.changes import (
    Coverage,
    Known,
    coverage,
    read_ablation,
    read_cause,
    read_differences,
)
from pmemsim.reproduction.facts import UNITS, Fact
from pmemsim.reproduction.metrics import METRICS, Metric
from pmemsim.reproduction.parts import (
    is_beside,
    is_true,
    read_benchmarks,
    read_design,
    read_hints,
    read_instructions,
    read_opt,
    read_settings,
    sourced,
)
from pmemsim.reproduction.plan import (
    MEANS,
    SMOKE_SHARE,
    WRITTEN_SCALES,
    Benchmark,
    Design,
    Entry,
    Experiment,
    Paper,
    Point,
)
from pmemsim.reproduction.shapes import SHAPES
from pmemsim.reproduction.storage import STORAGE

_FILES = ("experiment.yaml", "expected.yaml")
_KEYS = (
    "paper", "title", "machine", "threads", "instances", "seeds", "scales", "groups",
    "benchmarks", "designs", "experiments", "ablations",
)  # fmt: skip
# Optional keys: the number of regions of all threads that warm the caches before the measured ones,
# the programs' build options, and what was measured otherwise than described.
_OPTIONAL_KEYS = ("warm_up", "programs", "as_measured")
_BUILD_KEYS = ("opt", "hints", "source")
# Keys of every entry.
_EXPLANATIONS = ("cause", "used")


def experiments_dir() -> Path:
    """Return the folder of the papers' experiments."""
    return installed_dir() / "experiments"


def paper_names() -> list[str]:
    """Return the names of the papers that can be reproduced."""
    return sorted(path.parent.name for path in experiments_dir().glob("*/experiment.yaml"))


def is_paper(text: str) -> bool:
    """Return whether this names a paper (`asap`), or the folder of one (`./mine`)."""
    return "/" in text or text in paper_names()


@cache
def load_paper(name: str) -> Paper:
    """Load a paper by its name, or by the path of a folder with experiment.yaml and expected.yaml.

    Raises an `Error` that says what is wrong, and where.
    """
    if not is_paper(name):
        raise Error(
            f"unknown paper '{name}'{did_you_mean(name, paper_names())} (write your own folder as "
            "a path: ./mine)"
        )
    folder = Path(name) if "/" in name else experiments_dir() / name
    for file in _FILES:
        if not (folder / file).is_file():
            raise Error(
                f"{folder}: {file} is missing; a paper's folder contains {' and '.join(_FILES)}"
            )
    facts = _facts(read(folder / "expected.yaml"))
    return _paper(name, read(folder / "experiment.yaml"), facts)


def _facts(file: Item) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for item in file.items():
        field = item.fields(("id", "where"), ("value", "unit", "what", "shape"))
        name = field["id"].text()
        if name in facts:
            raise field["id"].error(f"'{name}' is given twice; remove one")
        if ("value" in field) == ("shape" in field):
            raise item.error(f"'{name}' requires either a value or a shape")
        facts[name] = Fact(
            name,
            field["where"].text(),
            field["what"].text() if "what" in field else "",
            field["value"].number(or_zero=True) if "value" in field else None,
            field["shape"].text() if "shape" in field else "",
            field["unit"].one_of(UNITS, "unit") if "unit" in field else "",
        )
    return facts


@dataclass(frozen=True)
class _Names:
    """What the experiments of a paper refer to."""

    paper: str
    designs: dict[str, Design]
    facts: dict[str, Fact]
    benchmarks: tuple[Benchmark, ...]
    groups: dict[str, Item]
    ablations: Coverage


def _paper(given: str, file: Item, facts: dict[str, Fact]) -> Paper:
    plan = file.fields(_KEYS, _OPTIONAL_KEYS)
    machine = plan["machine"].fields(("value",), ("source", "set"))
    groups = plan["groups"].entries()
    if groups and all(is_beside(group) for group in groups.values()):
        raise plan["groups"].error("no benchmark is compared with the paper; compare at least one")
    benchmarks = read_benchmarks(plan["benchmarks"], groups)
    designs = {name: read_design(item) for name, item in plan["designs"].entries().items()}
    programs = plan["programs"].fields((), _BUILD_KEYS) if "programs" in plan else {}
    covered = coverage(plan["ablations"])
    names = _Names(plan["paper"].text(), designs, facts, benchmarks, groups, covered)
    experiments = {
        name: _experiment(item, names) for name, item in plan["experiments"].entries().items()
    }
    known = Known(experiments, designs, {each.name for each in benchmarks}, groups)
    return Paper(
        name=names.paper,
        given=given,
        title=plan["title"].text(),
        machine=machine["value"].preset("machine"),
        settings=read_settings(machine.get("set")),
        threads=sourced(plan["threads"]).whole(),
        instances=sourced(plan["instances"]).whole(),
        seeds=tuple(seed.whole(least=0) for seed in plan["seeds"].items()),
        regions=_regions(plan["scales"], groups),
        warm_up=sourced(plan["warm_up"]).whole(least=0) if "warm_up" in plan else 0,
        opt=read_opt(programs.get("opt")),
        hints=read_hints(programs.get("hints")),
        benchmarks=benchmarks,
        designs=designs,
        experiments=experiments,
        as_measured=read_differences(plan.get("as_measured"), known),
        ablations={
            name: read_ablation(item, known) for name, item in plan["ablations"].entries().items()
        },
        facts=facts,
    )


def _regions(scales: Item, groups: dict[str, Item]) -> dict[str, dict[str, int]]:
    """Return the numbers of regions by scale and group; those of `smoke` follow from quick's."""
    regions = {
        scale: {name: count.whole() for name, count in counts.fields(groups).items()}
        for scale, counts in scales.fields(WRITTEN_SCALES).items()
    }
    smoke = {name: max(1, round(count * SMOKE_SHARE)) for name, count in regions["quick"].items()}
    return {**regions, "smoke": smoke}


def _experiment(item: Item, names: _Names) -> Experiment:
    field = item.fields(
        ("title", "where", "metric", "entries"),
        ("designs", "baseline", "set", "vary", "machine", "benchmarks"),
    )
    metric = _metric(field["metric"], item, names.paper)
    _check_needs(item, metric)
    measured: tuple[str, ...] = ("",)
    if "designs" in field:
        measured = tuple(name.one_of(names.designs, "design") for name in field["designs"].items())
    vary = field["vary"].fields(("name", "points"), ("of",)) if "vary" in field else {}
    named = vary["points"].entries() if vary else {}
    points = {name: _point(point) for name, point in named.items()}
    benchmarks = names.benchmarks
    if "benchmarks" in field:
        benchmarks = read_benchmarks(field["benchmarks"], names.groups)
    scope = _Scope(item.name, measured, points, benchmarks, metric)
    return Experiment(
        id=item.name,
        title=field["title"].text(),
        where=field["where"].text(),
        metric=metric,
        designs=measured,
        baseline=field["baseline"].one_of(measured, "design") if "baseline" in field else "",
        machine=sourced(field["machine"]).preset("machine") if "machine" in field else None,
        settings=read_settings(field.get("set")),
        varies=vary["name"].text() if vary else "",
        varied=tuple(name.one_of(measured, "design") for name in vary["of"].items())
        if "of" in vary
        else measured,
        points=tuple(points.values()) or (Point("", ()),),
        benchmarks=benchmarks,
        entries=tuple(_entry(entry, scope, names) for entry in field["entries"].entries().values()),
    )


def _point(item: Item) -> Point:
    """Return the settings of a point, and the differences in its recordings."""
    varied = item.entries()
    threads = varied.pop("threads", None)
    data_bytes = varied.pop("data_bytes", None)
    computation = varied.pop("compute_instructions", None)
    regions_factor = varied.pop("regions_factor", None)
    opt = varied.pop("opt", None)
    return Point(
        item.name,
        tuple((key, value.text()) for key, value in varied.items()),
        threads.whole() if threads else None,
        data_bytes.whole() if data_bytes else None,
        regions_factor.number() if regions_factor else 1,
        read_opt(opt),
        read_instructions(computation) if computation else None,
    )


def _metric(item: Item, experiment: Item, paper: str) -> str:
    computed = paper in STORAGE and experiment.name == "storage"
    return item.one_of([*METRICS, "storage"] if computed else METRICS, "metric")


def _check_needs(experiment: Item, metric: str) -> None:
    """Check that a metric of recordings has no design, and an uncompared one no baseline."""
    known = METRICS.get(metric)
    needed = [] if known and known.of_recording else ["designs"]
    if known is None or known.compared == "always":
        needed.append("baseline")
    useless = [] if needed else ["designs", "baseline"]
    experiment.fields(needed, [key for key in experiment.entries() if key not in useless])


@dataclass(frozen=True)
class _Scope:
    """What the entries of an experiment refer to."""

    experiment: str
    designs: tuple[str, ...]
    points: dict[str, Point]
    benchmarks: tuple[Benchmark, ...]
    metric: str


def _entry(item: Item, scope: _Scope, names: _Names) -> Entry:
    if item.name not in names.facts:
        raise item.error(f"expected.yaml has no such id{did_you_mean(item.name, names.facts)}")
    fact = names.facts[item.name]
    if fact.shape:
        field = item.fields(("shape",), _EXPLANATIONS)
        entry = Entry(fact, "", "", field["shape"].one_of(SHAPES, "shape"))
    elif scope.metric == "storage":
        field = item.fields(("of",), _EXPLANATIONS)
        entry = Entry(fact, field["of"].one_of(scope.designs, "design"), "", "")
    else:
        entry = _measured_entry(item, fact, scope)
    explained = item.entries()
    cause, used = (explained.get(key) for key in _EXPLANATIONS)
    return replace(
        entry,
        cause=read_cause(cause, scope.experiment, names.ablations) if cause else None,
        used=used.text() if used else "",
    )


def _measured_entry(item: Item, fact: Fact, scope: _Scope) -> Entry:
    """Return the entry of a number that runs or recordings have."""
    own = item.entries().get("metric")
    chosen = METRICS[own.one_of(METRICS, "metric") if own else scope.metric]
    if own and chosen.of_recording != METRICS[scope.metric].of_recording:
        raise own.error(f"{scope.metric}, the experiment's, needs designs, or this; not both")
    required, optional = _entry_keys(chosen, is_compared="over" in item.entries())
    field = item.fields(required, [*optional, *_EXPLANATIONS])
    names = {benchmark.name for benchmark in scope.benchmarks}
    points = scope.points
    at = points[field["at"].one_of(points, "point")] if "at" in field else None
    return Entry(
        fact,
        field["of"].one_of(scope.designs, "design") if "of" in field else "",
        field["over"].one_of(scope.designs, "design") if "over" in field else "",
        "",
        at,
        points[field["over_at"].one_of(points, "point")] if "over_at" in field else at,
        field["benchmark"].one_of(names, "benchmark") if "benchmark" in field else None,
        own.text() if own else None,
        field["mean"].one_of(MEANS, "mean") if "mean" in field else MEANS[0],
        "less_one" in field and is_true(field["less_one"]),
    )


def _entry_keys(metric: Metric, *, is_compared: bool) -> tuple[list[str], list[str]]:
    """Return the keys that an entry of this metric must have, and those that it may have."""
    required = [] if metric.of_recording else ["of"]
    optional = ["metric", "benchmark", "at"]
    if metric.compared == "always" or (is_compared and metric.compared == "optional"):
        required.append("over")
        optional += ["over_at", "mean", "less_one"]
    return required, optional
