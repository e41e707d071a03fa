"""Read the parts that experiments and their variations share: benchmarks, designs, settings."""

from __future__ import annotations

from pmemsim.document import Item
from pmemsim.errors import ConfigError, on_one_line
from pmemsim.reproduction.plan import (
    Benchmark,
    Design,
    Settings,
    takes_computation,
    takes_data_bytes,
)
from pmemsim.workload_runs import (
    HINTS,
    MIXES,
    argument_problems,
    find_workload,
    workload_run,
    workloads,
)

_PROGRAM_KEYS = ("log", "whole_run", "opt", "compute_instructions")
_GROUP_KEYS = ("data_bytes", "compute_instructions", "beside")


def sourced(item: Item) -> Item:
    """Return a value that may have a source beside it."""
    return item.fields(("value",), ("source",))["value"]


def read_benchmarks(item: Item, groups: dict[str, Item]) -> tuple[Benchmark, ...]:
    """Return the benchmarks, each with the data's size of every group."""
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
        read_opt(field.get("opt")),
        "whole_run" in field and is_true(field["whole_run"]),
        _computation(workload, field.get("compute_instructions"), group),
        is_beside(group),
    )


def _data_bytes(workload: str, own: Item | None, group: Item) -> int | None:
    """Return a benchmark's own size, or the group's if the workload takes one."""
    of_group = group.fields((), _GROUP_KEYS).get("data_bytes")
    size = own or (of_group if takes_data_bytes(workload) else None)
    if size is None:
        return None
    try:
        return workload_run(workload, data_bytes=size.whole()).data_bytes
    except ConfigError as error:
        raise size.error(on_one_line(error)) from error


def _computation(workload: str, own: Item | None, group: Item) -> int:
    """Return a benchmark's own instructions, or the group's if the workload has regions."""
    if own is not None and not takes_computation(workload):
        raise own.error(f"{workload} has no atomic regions; remove the key")
    of_group = group.fields((), _GROUP_KEYS).get("compute_instructions")
    number = own or (of_group if takes_computation(workload) else None)
    return read_instructions(number) if number else 0


def read_instructions(item: Item) -> int:
    """Return the number of instructions that each region executes in addition."""
    instructions = item.whole(least=0)
    if problems := argument_problems(compute_instructions=instructions):
        raise item.error(problems[0])
    return instructions


def _mixes_of(workload: str) -> tuple[str, ...]:
    return (MIXES[0], *find_workload(workload).mixes)


def is_beside(group: Item) -> bool:
    """Return whether a group is shown and not compared."""
    beside = group.fields((), _GROUP_KEYS).get("beside")
    return beside is not None and is_true(beside)


def is_true(item: Item) -> bool:
    """Return a value that must be true or false."""
    return item.one_of(("true", "false"), "value") == "true"


def read_design(item: Item) -> Design:
    """Return a design: its preset, and what is set with it."""
    field = item.fields(("preset",), ("redo", "hints", "source", "set"))
    return Design(
        item.name,
        field["preset"].preset("design"),
        read_settings(field.get("set")),
        field["redo"].preset("design") if "redo" in field else None,
        read_hints(field.get("hints")),
    )


def read_hints(item: Item | None) -> str | None:
    """Return a source of pre-execution hints; None if it isn't given."""
    return item.one_of(HINTS, "hints") if item else None


def read_opt(item: Item | None) -> str | None:
    """Return an optimisation level; None if it isn't given."""
    if item and (problems := argument_problems(item.text())):
        raise item.error(problems[0])
    return item.text() if item else None


def read_settings(item: Item | None) -> Settings:
    """Return parameters with their values, in the file's order."""
    if item is None:
        return ()
    return tuple((key, value.text()) for key, value in item.entries().items())
