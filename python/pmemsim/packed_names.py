"""Check the names in packed results, and a sweep's speedups, which no simulation returns.

A simulation's numbers do not depend on the names of its design, machine and workload. A design and
a machine are compared with the presets of these names, a workload with the recording's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pmemsim.errors import Error
from pmemsim.simulation import configure
from pmemsim.sweeping.spec import RECIPE
from pmemsim.trace import Trace
from pmemsim.workload_runs import workloads

Wrong = tuple[str, str, str]
"""The key of a wrong name, the packed name, and what the simulation is instead."""
_BY_HAND = ("--", "overrides")
_SHIPPED = ("default", "designs/", "machines/", "backends/")


def wrong_presets(run: Mapping[str, Any], configuration: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield the design and machine of a run if its values are not those of the presets.

    Values by hand may differ. Presets of the user's own are unknown here, and not compared.
    """
    by_preset = {
        key: each for key, each in configuration.items() if not each["place"].startswith(_BY_HAND)
    }
    if not all(each["place"].startswith(_SHIPPED) for each in by_preset.values()):
        return
    design, machine = str(run["design"]), str(run["machine"])
    now = ""
    try:
        values = configure(design, machine).values
    except Error:
        now = "settings of other presets"
    else:
        differ = [key for key, each in by_preset.items() if each["value"] != values.get(key)]
        if differ:
            key = differ[0]
            now = f"other settings: {key} is {by_preset[key]['value']} instead of {values.get(key)}"
    if now:
        yield "design, machine", f"{design}, {machine}", now


def wrong_workloads(runs: Sequence[Mapping[str, Any]], traces: Mapping[str, Trace]) -> list[str]:
    """Return the right name of each run's workload; the packed name if that is right.

    Recordings of one name are named by their files, which a pack does not keep.
    """
    found: dict[str, set[str]] = {}
    for run in runs:
        found.setdefault(str(run["workload"]), set()).add(str(run["trace_hash"]))
    names = {label: [traces[one] for one in sorted(each)] for label, each in found.items()}
    programs = [{_program(trace) for trace in each} for each in names.values()]

    def right(label: str) -> str:
        recorded = names[label]
        if any(trace.name == label for trace in recorded):
            return label
        alike = sum(bool(each & {_program(trace) for trace in recorded}) for each in programs)
        return label if alike > 1 else recorded[0].name

    return [right(str(run["workload"])) for run in runs]


def _program(trace: Trace) -> str:
    return trace.name.partition(" (schedule ")[0]


def wrong_axes(axes: Mapping[str, Any], trace: Trace) -> Iterator[Wrong]:
    """Yield the axes of a sweep's point that name another workload than the recording's."""
    recorded = trace.metadata.get("workload")
    try:
        named = str(axes["workload"]) in workloads()
    except Error:  # an installation without workloads
        named = bool(recorded)
    if not named:
        return
    if axes["workload"] != recorded:
        yield "workload", str(axes["workload"]), trace.name
        return
    given = dict(each.split("=", 1) for each in trace.metadata["arguments"] if "=" in each)
    for key in (each for each in RECIPE if each in axes):
        now = given.get(f"--{key.replace('_', '-')}", str(axes[key]))
        if now != str(axes[key]):
            yield key, str(axes[key]), now


def speedups(points: Sequence[Mapping[str, Any]], times: Sequence[float | None]) -> list[Any]:
    """Return each point's speedup over the first design at equal values of the other axes.

    Results don't say which axes were paired with the design. If the packed speedups match some
    choice of them that the points allow, this is returned, otherwise that of the fewest axes.
    """
    axes = [dict(point["axes"]) for point in points]
    packed = [point["speedup"] for point in points]
    varied = [key for key in axes[0] if key != "design" and len({_of(a, [key]) for a in axes}) > 1]
    first: list[Any] | None = None
    for paired in _subsets(varied):
        group = ["design", *paired]
        others = [key for key in axes[0] if key not in group]
        if len({_of(a, group) for a in axes}) * len({_of(a, others) for a in axes}) != len(axes):
            continue
        base = {
            _of(a, others): time
            for a, time in zip(axes, times, strict=True)
            if _of(a, group) == _of(axes[0], group)
        }
        bases = [base.get(_of(a, others)) for a in axes]
        found = [b / t if b and t else None for b, t in zip(bases, times, strict=True)]
        if found == packed:
            return found
        first = first or found
    return first or packed


def _of(axes: Mapping[str, Any], keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(str(axes[key]) for key in keys)


def _subsets(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(keys) + 1):
        yield from combinations(keys, size)
