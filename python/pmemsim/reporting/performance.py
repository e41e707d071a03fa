"""Make the sections of `profile`, `timeline`, `bench` and `advise`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pmemsim.advice.superfluous import NOTHING, SAME, is_proven
from pmemsim.comparison import design_label
from pmemsim.reporting import plots
from pmemsim.reporting.blocks import Block, Details, Explanation, Section, Table, Text, Verdict
from pmemsim.reporting.parts import Json, call_of, configurations, number, place_of, recordings

_MOST_LINES = 40
_MOST_PATHS = 400
_MOST_CAUSES = 6
_OTHERS = "other causes"


# ---- Profile -------------------------------------------------------------------------------------


def of_profile(results: Json) -> Section:
    """Return the time by cause, then by line and cause, then by call path."""
    profiles = results["profiles"]
    designs, machines = ({each[key] for each in profiles} for key in ("design", "machine"))
    names = [
        design_label(each["design"], each["machine"], machines)
        if len(designs) > 1 or len(machines) == 1
        else f"machine {each['machine']}"
        for each in profiles
    ]
    first = profiles[0]
    lines = [_by_line(each) for each in profiles]
    keys = sorted({key for each in lines for key in each}, key=lambda key: _longest(key, lines))
    (_, line, cause), *_ = keys
    times = [f">time on {name} (ns)" for name in names] if len(names) > 1 else [">time (ns)"]
    rows = [
        [*(number(each[key]) for each in lines), _share(lines[0][key], first), key[2], key[1]]
        for key in keys
    ]
    parts: list[Block] = [
        plots.shares("Use of the cores' time", _causes(dict(zip(names, profiles, strict=True)))),
        Table("Lines and causes", [*times, ">share", "cause", "at"], rows[:_MOST_LINES]),
        *_rest(rows, _MOST_LINES),
        *(_paths(name, each) for name, each in zip(names, profiles, strict=True)),
        recordings(profiles),
    ]
    title = f"Profile of {first['workload']} on {', '.join(_runs(profiles))}"
    outcome = f"most time on {names[0]}: {cause} at {line}, {_share(lines[0][keys[0]], first)}"
    return Section(title, outcome, None, parts)


_Key = tuple[str, str, str]
"""The function, the location and the cause of a part of the time."""


def _by_line(profile: Json) -> Counter[_Key]:
    found: Counter[_Key] = Counter()
    for row in profile["rows"]:
        found[row["function"], place_of(row), _label(row)] += row["time_ns"]
    return found


def _label(row: Json) -> str:
    return f"lock: {row['cause']}" if row["lock"] else str(row["cause"])


def _longest(key: _Key, lines: Sequence[Mapping[_Key, float]]) -> tuple[float, _Key]:
    return -max(each[key] for each in lines), key


def _share(time_ns: float, profile: Json) -> str:
    return f"{100 * time_ns / profile['core_time_ns']:.1f}%" if profile["core_time_ns"] else "-"


def _causes(profiles: Mapping[str, Json]) -> dict[str, dict[str, float]]:
    """Return each profile's shares of the most frequent causes of all."""
    times = {name: Counter[str]() for name in profiles}
    for name, each in profiles.items():
        for row in each["rows"]:
            times[name][_label(row)] += row["time_ns"] / max(each["core_time_ns"], 1e-9)
    total: Counter[str] = sum(times.values(), Counter())
    main = [cause for cause, _ in total.most_common(_MOST_CAUSES)]
    return {
        name: {
            **{cause: each[cause] for cause in main},
            _OTHERS: sum(share for cause, share in each.items() if cause not in main),
        }
        for name, each in times.items()
    }


def _rest(rows: Sequence[object], most: int) -> list[Block]:
    left = len(rows) - most
    return [Text(f"{left:,} more rows are in the file of results.")] if left > 0 else []


def _paths(name: str, profile: Json) -> Details:
    rows = [
        [
            number(row["time_ns"]), _share(row["time_ns"], profile), _label(row), place_of(row),
            row["function"], ", ".join(map(call_of, row["calls"])),
        ]
        for row in profile["rows"]
    ]  # fmt: skip
    columns = [">time (ns)", ">share", "cause", "at", "function", "calls"]
    title = f"Call paths on {name}"
    return Details(title, [Table(title, columns, rows[:_MOST_PATHS]), *_rest(rows, _MOST_PATHS)])


def _runs(profiles: Sequence[Json]) -> list[str]:
    return [f"{each['design']}, machine {each['machine']}" for each in profiles]


# ---- Timeline ------------------------------------------------------------------------------------


def of_timeline(results: Json) -> Section:
    """Return what was written, and the slowest regions; the events are in the viewer's file."""
    counted = ("events", "regions", "slices", "values", "tracks", "rows", "arrows")
    facts = [("simulated time (ns)", number(results["time_ns"]))]
    facts += [(name, number(results[name])) for name in counted if results[name]]
    slowest = results["slowest"]
    parts: list[Block] = [Table("Timeline", ["", ">value"], facts)]
    if slowest:
        columns = [
            ">rank", ">thread", ">region", ">begin (ns)", ">until durable (ns)", ">executions",
            "durable", "waits of the store queue",
        ]  # fmt: skip
        parts.append(Table("Slowest regions", columns, [_region(each) for each in slowest]))
    parts.append(recordings([results]))
    where = f"{results['design']}, machine {results['machine']}"
    title = f"Timeline of {results['workload']} on {where}"
    outcome = f"{number(results['events'])} events in {number(results['time_ns'])} ns"
    if slowest:
        longest = number(slowest[0]["end_ns"] - slowest[0]["begin_ns"])
        outcome += f"; the slowest region takes {longest} ns"
    return Section(title, outcome, None, parts)


def _region(region: Json) -> list[str]:
    waits = sorted(region["waits"], key=lambda wait: -wait["time_ns"])
    return [
        number(region["rank"]), number(region["thread"]), number(region["number"]),
        number(region["begin_ns"]), number(region["end_ns"] - region["begin_ns"]),
        number(region["executions"]), "yes" if region["durable"] else "not until the run's end",
        ", ".join(f"{wait['cause']} {number(wait['time_ns'])} ns" for wait in waits),
    ]  # fmt: skip


# ---- Bench ---------------------------------------------------------------------------------------


def of_bench(results: Json) -> Section:
    """Return the simulator's speed by design and number of cores, and each measurement."""
    means, runs = results["geomean"], results["runs"]
    designs = list(dict.fromkeys(each["design"] for each in means))
    cores = sorted({each["cores"] for each in means})
    found = {(each["design"], each["cores"]): each["minstructions_per_s"] for each in means}
    speed = "million simulated instructions a second"
    rows = [
        [
            run["workload"], run["design"], number(run["cores"]), number(run["instructions"]),
            number(run["wall_s"]), number(run["minstructions_per_s"]),
            number(run["host_instructions_per_instruction"]),
            number(run["host_instructions_per_operation"]), number(run["peak_memory_bytes"]),
        ]
        for run in runs
    ]  # fmt: skip
    columns = [
        "workload", "design", ">cores", ">instructions", ">time (s)", f">{speed}",
        ">host instructions per simulated one", ">per operation", ">memory (bytes)",
    ]  # fmt: skip
    values = {design: [found.get((design, count)) for count in cores] for design in designs}
    parts: list[Block] = [
        plots.lines("Speed of the simulator", "simulated cores", speed, cores, values),
        Text("A value of the plot is the geometric mean of the workloads, on one host core."),
        Table("Measurements", columns, rows),
        configurations(
            {f"{run['design']}, cores: {run['cores']}": run["configuration"] for run in runs}
        ),
        recordings(runs),
    ]
    fastest = max(means, key=lambda each: each["minstructions_per_s"])
    outcome = f"{fastest['design']}: {number(fastest['minstructions_per_s'])} {speed}"
    machines = ", ".join(dict.fromkeys(run["machine"] for run in runs))
    return Section(f"Speed of simulations of machine {machines}", outcome, None, parts)


# ---- Advise --------------------------------------------------------------------------------------


def of_advise(results: Json) -> Section:
    """Return the repair of a program with an error, or what can be removed from a correct one."""
    where = f"{results['design']}, machine {results['machine']}"
    title = f"Advice on {results['workload']} ({where})"
    repair = results["repair"]
    if repair:
        parts = _repair(repair, results["time_ns"])
        outcome = f"not crash-safe: {repair['problem']}"
    else:
        parts = _savings(results)
        outcome = _saved(results)
    parts = [Verdict(outcome, not repair), *parts, recordings([results])]
    return Section(title, outcome, not repair, parts)


def _repair(repair: Json, time_ns: float) -> list[Block]:
    if not repair["steps"]:
        return [Text(f"No repair by flushes and fences was found: {repair['reason']}.")]
    lines = [*repair["patch"].splitlines(), *repair["sentences"]]
    facts = [
        ("proof", repair["proof"]),
        ("flushes more", number(repair["flushes"])),
        ("fences more", number(repair["fences"])),
        ("cost (ns); negative: faster", number(repair["cost_ns"])),
        ("time before (ns)", number(time_ns)),
        ("variants tried on the recording", number(repair["tried"])),
    ]
    facts += [("has no effect any more", name) for name in repair["useless"]]
    return [
        Explanation("The repair", lines, ""),
        Table("The repair's proof and cost", ["", "value"], facts),
    ]


def _savings(results: Json) -> list[Block]:
    rows = [
        [
            each["name"], place_of(each), each["function"], number(each["executed"]),
            number(each["saved_ns"]), each["proof"], ", ".join(map(call_of, each["calls"])),
        ]
        for each in results["superfluous"]
    ]  # fmt: skip
    columns = ["what", "at", "function", ">times", ">saves (ns)", "proof", "calls"]
    return [Table("What can be removed", columns, rows)] if rows else []


def _saved(results: Json) -> str:
    every = results["superfluous"]
    proven = [each["proof"] for each in every if is_proven(each["proof"])]
    if not every:
        return NOTHING
    if not proven:
        return f"{len(every)} can be removed or replaced one by one"
    saved = results["time_ns"] - results["without_ns"]
    only_images = all(proof == SAME for proof in proven)
    same = "crash images" if only_images else "memory after each crash and recovery"
    return (
        f"{len(proven)} of {len(every)} can be removed together with the same {same}, which saves "
        f"{number(saved)} of {number(results['time_ns'])} ns"
    )
