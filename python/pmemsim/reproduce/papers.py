"""Read the papers that can be reproduced: a folder each, with experiment.yaml and expected.yaml."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import resources
from pathlib import Path

from pmemsim.document import Item, read
from pmemsim.errors import ConfigError, Error, did_you_mean, on_one_line
from pmemsim.reproduce.facts import UNITS, Fact
from pmemsim.reproduce.metrics import METRICS, Metric
from pmemsim.reproduce.plan import (
    MEANS,
    SCALES,
    Ablation,
    Benchmark,
    Design,
    Entry,
    Experiment,
    Paper,
    Point,
    Settings,
    takes_data_bytes,
)
from pmemsim.reproduce.shapes import SHAPES
from pmemsim.reproduce.storage import STORAGE
from pmemsim.workloads import (
    HINTS,
    MIXES,
    WorkloadRun,
    argument_problems,
    find_workload,
    workloads,
)

_FILES = ("experiment.yaml", "expected.yaml")
_KEYS = (
    "paper", "title", "machine", "threads", "instances", "seeds", "scales", "groups",
    "benchmarks", "designs", "experiments", "ablations",
)  # fmt: skip
# Optional keys: the number of regions of all threads that warm the caches before the measured ones,
# and the programs' build options.
_OPTIONAL_KEYS = ("warm_up", "programs")
_BUILD_KEYS = ("opt", "hints", "source")
_PROGRAM_KEYS = ("log", "whole_run", "opt")
_GROUP_KEYS = ("data_bytes", "beside")
# Keys that an ablation can change.
_DIFFERENCES = (
    "set", "designs", "threads", "regions_factor", "data_bytes", "items", "warm_up", "opt",
    "whole_run", "metric", "without",
)  # fmt: skip


def experiments_dir() -> Path:
    """Return the folder of the papers' experiments."""
    return Path(str(resources.files("pmemsim"))) / "experiments"


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
    return _paper(read(folder / "experiment.yaml"), _facts(read(folder / "expected.yaml")))


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


def _paper(file: Item, facts: dict[str, Fact]) -> Paper:
    plan = file.fields(_KEYS, _OPTIONAL_KEYS)
    machine = plan["machine"].fields(("value",), ("source", "set"))
    groups = plan["groups"].entries()
    if groups and all(_is_beside(group) for group in groups.values()):
        raise plan["groups"].error("no benchmark is compared with the paper; compare at least one")
    benchmarks = _benchmarks(plan["benchmarks"], groups)
    designs = {name: _design(item) for name, item in plan["designs"].entries().items()}
    programs = plan["programs"].fields((), _BUILD_KEYS) if "programs" in plan else {}
    experiments = {
        name: _experiment(item, plan["paper"].text(), designs, facts, benchmarks, groups)
        for name, item in plan["experiments"].entries().items()
    }
    return Paper(
        name=plan["paper"].text(),
        title=plan["title"].text(),
        machine=machine["value"].preset("machine"),
        settings=_settings(machine.get("set")),
        threads=_sourced(plan["threads"]).whole(),
        instances=_sourced(plan["instances"]).whole(),
        seeds=tuple(seed.whole(least=0) for seed in plan["seeds"].items()),
        regions={
            scale: {name: count.whole() for name, count in counts.fields(groups).items()}
            for scale, counts in plan["scales"].fields(SCALES).items()
        },
        warm_up=_sourced(plan["warm_up"]).whole(least=0) if "warm_up" in plan else 0,
        opt=_opt(programs.get("opt")),
        hints=_hints(programs.get("hints")),
        benchmarks=benchmarks,
        designs=designs,
        experiments=experiments,
        ablations={
            name: _ablation(item, experiments, designs, {each.name for each in benchmarks})
            for name, item in plan["ablations"].entries().items()
        },
        facts=facts,
    )


def _sourced(item: Item) -> Item:
    return item.fields(("value",), ("source",))["value"]


def _benchmarks(item: Item, groups: dict[str, Item]) -> tuple[Benchmark, ...]:
    benchmarks = item.entries().values()
    return tuple(
        _benchmark(benchmark, group) for group in groups.values() for benchmark in benchmarks
    )


def _benchmark(item: Item, group: Item) -> Benchmark:
    field = item.fields(
        ("workload",), ("regions", "items", "data_bytes", "mix", *_PROGRAM_KEYS, "source")
    )
    workload = field["workload"].one_of(workloads(), "workload")
    return Benchmark(
        item.name,
        group.name,
        workload,
        _data_bytes(workload, field.get("data_bytes"), group),
        field["regions"].number() if "regions" in field else 1,
        field["items"].whole() if "items" in field else None,
        field["mix"].one_of(_mixes_of(workload), "mix") if "mix" in field else None,
        field["log"].one_of(find_workload(workload).logs, "log") if "log" in field else None,
        _opt(field.get("opt")),
        "whole_run" in field and _is_true(field["whole_run"]),
        _is_beside(group),
    )


def _data_bytes(workload: str, own: Item | None, group: Item) -> int | None:
    """Return a benchmark's own size, or the group's if the workload takes one."""
    of_group = group.fields((), _GROUP_KEYS).get("data_bytes")
    size = own or (of_group if takes_data_bytes(workload) else None)
    if size is None:
        return None
    try:
        return WorkloadRun.of(workload, data_bytes=size.whole()).data_bytes
    except ConfigError as error:
        raise size.error(on_one_line(error)) from error


def _mixes_of(workload: str) -> tuple[str, ...]:
    return (MIXES[0], *find_workload(workload).mixes)


def _is_beside(group: Item) -> bool:
    beside = group.fields((), _GROUP_KEYS).get("beside")
    return beside is not None and _is_true(beside)


def _is_true(item: Item) -> bool:
    return item.one_of(("true", "false"), "value") == "true"


def _design(item: Item) -> Design:
    field = item.fields(("preset",), ("redo", "hints", "source", "set"))
    return Design(
        item.name,
        field["preset"].preset("design"),
        _settings(field.get("set")),
        field["redo"].preset("design") if "redo" in field else None,
        _hints(field.get("hints")),
    )


def _hints(item: Item | None) -> str | None:
    return item.one_of(HINTS, "hints") if item else None


def _opt(item: Item | None) -> str | None:
    if item and (problems := argument_problems(item.text())):
        raise item.error(problems[0])
    return item.text() if item else None


def _experiment(
    item: Item, paper: str, designs: dict[str, Design], facts: dict[str, Fact],
    of_paper: tuple[Benchmark, ...], groups: dict[str, Item],
) -> Experiment:  # fmt: skip
    field = item.fields(
        ("title", "where", "metric", "entries"),
        ("designs", "baseline", "set", "vary", "machine", "benchmarks"),
    )
    metric = _metric(field["metric"], item, paper)
    _check_needs(item, metric)
    measured: tuple[str, ...] = ("",)
    if "designs" in field:
        measured = tuple(name.one_of(designs, "design") for name in field["designs"].items())
    vary = field["vary"].fields(("name", "points"), ("of",)) if "vary" in field else {}
    named = vary["points"].entries() if vary else {}
    points = {name: _point(point) for name, point in named.items()}
    benchmarks = _benchmarks(field["benchmarks"], groups) if "benchmarks" in field else of_paper
    return Experiment(
        id=item.name,
        title=field["title"].text(),
        where=field["where"].text(),
        metric=metric,
        designs=measured,
        baseline=field["baseline"].one_of(measured, "design") if "baseline" in field else "",
        machine=_sourced(field["machine"]).preset("machine") if "machine" in field else None,
        settings=_settings(field.get("set")),
        varies=vary["name"].text() if vary else "",
        varied=tuple(name.one_of(measured, "design") for name in vary["of"].items())
        if "of" in vary
        else measured,
        points=tuple(points.values()) or (Point("", ()),),
        benchmarks=benchmarks,
        entries=tuple(
            _entry(entry, measured, facts, points, benchmarks, metric)
            for entry in field["entries"].entries().values()
        ),
    )


def _point(item: Item) -> Point:
    """Return the settings of a point, and the differences in its recordings."""
    varied = item.entries()
    threads = varied.pop("threads", None)
    data_bytes = varied.pop("data_bytes", None)
    regions_factor = varied.pop("regions_factor", None)
    opt = varied.pop("opt", None)
    return Point(
        item.name,
        tuple((key, value.text()) for key, value in varied.items()),
        threads.whole() if threads else None,
        data_bytes.whole() if data_bytes else None,
        regions_factor.number() if regions_factor else 1,
        _opt(opt),
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


def _entry(
    item: Item, designs: tuple[str, ...], facts: dict[str, Fact], points: dict[str, Point],
    benchmarks: tuple[Benchmark, ...], metric: str,
) -> Entry:  # fmt: skip
    if item.name not in facts:
        raise item.error(f"expected.yaml has no such id{did_you_mean(item.name, facts)}")
    fact = facts[item.name]
    if fact.shape:
        shape = item.fields(("shape",))["shape"].one_of(SHAPES, "shape")
        return Entry(fact, "", "", shape)
    if metric == "storage":
        return Entry(fact, item.fields(("of",))["of"].one_of(designs, "design"), "", "")
    own = item.entries().get("metric")
    chosen = METRICS[own.one_of(METRICS, "metric") if own else metric]
    if own and chosen.of_recording != METRICS[metric].of_recording:
        raise own.error(f"{metric}, the experiment's, needs designs, or this; not both")
    field = item.fields(*_entry_keys(chosen, is_compared="over" in item.entries()))
    names = {benchmark.name for benchmark in benchmarks}
    at = points[field["at"].one_of(points, "point")] if "at" in field else None
    return Entry(
        fact,
        field["of"].one_of(designs, "design") if "of" in field else "",
        field["over"].one_of(designs, "design") if "over" in field else "",
        "",
        at,
        points[field["over_at"].one_of(points, "point")] if "over_at" in field else at,
        field["benchmark"].one_of(names, "benchmark") if "benchmark" in field else None,
        own.text() if own else None,
        field["mean"].one_of(MEANS, "mean") if "mean" in field else MEANS[0],
        "less_one" in field and _is_true(field["less_one"]),
    )


def _entry_keys(metric: Metric, *, is_compared: bool) -> tuple[list[str], list[str]]:
    """Return the keys that an entry of this metric must have, and those that it may have."""
    required = [] if metric.of_recording else ["of"]
    optional = ["metric", "benchmark", "at"]
    if metric.compared == "always" or (is_compared and metric.compared == "optional"):
        required.append("over")
        optional += ["over_at", "mean", "less_one"]
    return required, optional


def _ablation(
    item: Item, experiments: dict[str, Experiment], designs: dict[str, Design],
    benchmarks: Collection[str],
) -> Ablation:  # fmt: skip
    field = item.fields(("why", "of"), ("always", *_DIFFERENCES))
    left_out = field["without"].items() if "without" in field else ()
    of = tuple(name.one_of(experiments, "experiment") for name in field["of"].items())
    needed = {entry.benchmark: entry.fact.id for name in of for entry in experiments[name].entries}
    for name in left_out:
        if name.text() in needed:
            raise name.error(f"{needed[name.text()]} is of this benchmark alone; keep it")
    others = field["designs"].entries() if "designs" in field else {}
    for design, other in others.items():
        if design not in designs:
            raise other.error(f"unknown design '{design}'{did_you_mean(design, designs)}")
    return Ablation(
        item.name,
        field["why"].text(),
        of,
        _settings(field.get("set")),
        {design: _design(other) for design, other in others.items()},
        field["threads"].whole() if "threads" in field else None,
        field["regions_factor"].number() if "regions_factor" in field else 1,
        field["data_bytes"].whole() if "data_bytes" in field else None,
        field["items"].whole() if "items" in field else None,
        field["warm_up"].whole(least=0) if "warm_up" in field else None,
        _opt(field.get("opt")),
        _is_true(field["whole_run"]) if "whole_run" in field else None,
        field["metric"].one_of(METRICS, "metric") if "metric" in field else None,
        tuple(name.one_of(benchmarks, "benchmark") for name in left_out),
        "always" in field and _is_true(field["always"]),
    )


def _settings(item: Item | None) -> Settings:
    if item is None:
        return ()
    return tuple((key, value.text()) for key, value in item.entries().items())
