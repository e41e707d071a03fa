"""`pmemsim profile`: a run's time by source line, call path and cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pmemsim.arguments import check_whole
from pmemsim.chosen import distinct
from pmemsim.cli.choices import configurations_of, find_targets
from pmemsim.cli.command import DESIGN, MACHINE, OUTPUT, declared, option
from pmemsim.cli.console import (
    duration,
    note_newer_sources,
    out,
    percent,
    progress_of,
    table,
)
from pmemsim.cli.options import Design, Json, Overrides, Recipe, Target, check_outputs, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.files import replacing, write_json
from pmemsim.parallel import Report, run_all
from pmemsim.presets import parse_overrides
from pmemsim.profiling import Profile, callgrind_text, profile, write_speedscope
from pmemsim.rules import Given
from pmemsim.simulation import Configuration
from pmemsim.sources import Sources
from pmemsim.trace import Place, Trace

_FORMATS = ("speedscope", "callgrind")
_MOST_SOURCE = 60
_LEAST_SOURCE = 24
_OTHERS = 28
"""Width of the causes, and of what separates columns."""


_Task = Callable[[Report], Profile]
_Key = tuple[tuple[Place, ...], str]


@declared
def profile_command(
    given: Given,
    target: Target,
    *,
    design: Design,
    other: Annotated[
        str | None,
        option(
            DESIGN,
            "--diff",
            value="DESIGN",
            help="Profiles this design, too, and prints the differences, the largest first.",
        ),
    ] = None,
    machines: Annotated[
        str,
        option(
            MACHINE,
            "--machine",
            "-m",
            value="MACHINE,...",
            help="A machine's name or YAML file. Machines separated by commas are compared line by "
            "line.",
        ),
    ],
    overrides: Overrides = None,
    calls: Annotated[
        bool,
        option(
            OUTPUT,
            "--calls",
            help="Prints each call path by itself, with its calls below the line.",
        ),
    ] = False,
    top: Annotated[
        int,
        option(OUTPUT, "--top", value="N", help="Prints at most N rows; files have all of them."),
    ] = 20,
    kind: Annotated[
        str,
        option(
            OUTPUT,
            "--format",
            value="speedscope|callgrind",
            help="The format of --output: for speedscope.app, or for KCachegrind.",
        ),
    ] = "speedscope",
    output: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="FILE",
            help="Writes the profile with all call paths to this file.",
        ),
    ] = None,
    json_path: Json = None,
    recipe: Recipe,
) -> None:
    """Print where a run's time goes: by source line and cause, with the calls on request.

    For example:

        pmemsim profile btree --design sw-undo --machine asap
        pmemsim profile mine.pmt -d sw-undo -m xeon-optane --calls --top 10
        pmemsim profile mine.pmt -d sw-undo --diff asap -m asap
        pmemsim profile mine.pmt -d x86-bare -m xeon-optane,cxl
        pmemsim profile mine.pmt -d sw-undo -m asap -o mine.speedscope.json
        pmemsim profile mine.pmt -d sw-undo -m asap --format callgrind -o callgrind.out.mine

    The time is that of all cores together. Each part belongs to one line and one cause:

    * instructions, dependence, branch, locked: execution, at full width or slower.

    * private cache, shared cache, other core, DRAM, PM: loads, by what serves the line.

    * bank: loads from memory, while the bank serves other requests.

    * fence, commit: stalls until data are persistent or a region is committed.

    * store queue: stalls until the store queue has a free entry, or is empty.

    * WPQ: the part of these stalls in which writes wait for a write pending queue.

    * backend, log: the parts in which the backend works on writes, and which a log causes.

    * lock, condition, barrier, join, order: waits for other threads.

    * lock: CAUSE: waits of other threads while the lock's holder stalls in this line.

    * speculation: pauses and restarts by the design.

    Time in a function that only flushes or fences is charged to its caller, and so is time in
    pm.h's library. docs/guides/find_what_is_slow.md has all rules, and the keys of --json.
    """
    problems = given.problems()
    names = distinct([each for each in machines.split(",") if each], "machine", problems)
    designs = distinct([design, other] if other else [design], "design", problems)
    check_outputs(problems, json_path, files=[output])
    check_whole(problems, "--top", top, 1)
    if not names:
        problems.add(["--machine names no machine; `pmemsim list machines` shows the names"])
    if kind not in _FORMATS:
        problems.add([f"--format {kind}: must be {' or '.join(_FORMATS)}"])
    if output and kind == "callgrind" and len(names) * len(designs) > 1:
        problems.add(["--format callgrind has one run only; use speedscope, or profile each run"])
    keep_inputs(problems, [json_path, output], (target, *designs, *names))
    extra = tuple(parse_overrides(overrides or [], problems.found))
    configurations = [
        each for machine in names for each in configurations_of(designs, machine, extra, problems)
    ]
    found = find_targets([target], recipe, problems)
    problems.raise_any()
    (trace,) = open_traces(found, None)
    profiles = _profiles(trace, configurations)
    if json_path:
        write_json("profile", {"profiles": [each.to_dict() for each in profiles]}, json_path)
    if output:
        _write(profiles, kind, output)
    sources = Sources(trace)
    if json_path != "-":
        _print(profiles, sources, calls, top, bool(other))
    places = (place for each in profiles for row in each.rows for place in row.calls)
    note_newer_sources(sources.note(places))


def _profiles(trace: Trace, configurations: Sequence[Configuration]) -> list[Profile]:
    labels = [
        f"{trace.name}: design {each.design.name}, machine {each.machine.name}"
        for each in configurations
    ]

    def task(configuration: Configuration) -> _Task:
        return lambda report: profile(trace, configuration, report)

    with progress_of(labels) as progress:
        return run_all([task(each) for each in configurations], None, progress)


def _write(profiles: Sequence[Profile], kind: str, path: Path) -> None:
    if kind == "speedscope":
        write_speedscope(profiles, path)
        return
    with replacing(path) as partial:
        partial.write_text(callgrind_text(profiles[0]), encoding="utf-8")


def _print(
    profiles: Sequence[Profile], sources: Sources, calls: bool, top: int, differences: bool
) -> None:
    times: list[Counter[_Key]] = [each.by_path() if calls else each.by_line() for each in profiles]
    keys = list(dict.fromkeys(key for each in times for key in each))
    keys.sort(key=lambda key: _weight([each[key] for each in times], differences), reverse=True)
    heads = _heads(profiles)
    columns = [*(f">{head}" for head in heads), ">share" if len(profiles) == 1 else ">change"]
    names = _short_names({place.file for calls, _ in keys for place in calls})
    width = _source_width([_shown(line, names) for (line, *_), _ in keys[:top]], len(times))
    rows = []
    for key in keys[:top]:
        (line, *callers), cause = key
        calling = [f"  from {_shown(caller, names)}" for caller in callers]
        place = "\n".join([_shown(line, names), *calling])
        spent = [each[key] for each in times]
        last = percent(spent[0] / profiles[0].time_ps) if len(spent) == 1 else _change(spent)
        text = sources.text(line)
        shown = text if len(text) <= width else f"{text[: width - 3]}..."
        durations = [duration(each / 1000) if each else "-" for each in spent]
        rows.append((*durations, last, cause, place, shown))
    first = profiles[0].result
    title = f"{first.workload}: time of all cores by line and cause"
    out.print(table(title, [*columns, "cause", "line", "source"], rows))
    if rest := keys[top:]:
        left = duration(sum(times[0][key] for key in rest) / 1000)
        out.print(f"{len(rest)} more rows ({left}); --top {len(keys)} shows all", markup=False)
    for head, each in zip(heads, profiles, strict=True):
        out.print(_summary(head if len(profiles) > 1 else "all cores", each), markup=False)


def _weight(spent: Sequence[int], differences: bool) -> int:
    return abs(spent[-1] - spent[0]) if differences else max(spent)


def _change(spent: Sequence[int]) -> str:
    change = (spent[-1] - spent[0]) / 1000
    return f"{'-' if change < 0 else '+'}{duration(abs(change))}"


def _heads(profiles: Sequence[Profile]) -> list[str]:
    """Return the names of the runs' columns, by what differs among them."""
    designs = {each.result.design for each in profiles}
    machines = {each.result.machine for each in profiles}
    if len(profiles) == 1:
        return ["time"]
    return [
        each.result.machine
        if len(designs) == 1
        else each.result.design
        if len(machines) == 1
        else f"{each.result.design} on {each.result.machine}"
        for each in profiles
    ]


def _short_names(files: Iterable[str]) -> dict[str, str]:
    """Return the shortest end of each path that no other path has."""
    ends: dict[str, list[str]] = {}
    for file in files:
        parts = file.split("/")
        ends[file] = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    number = Counter(end for each in ends.values() for end in each)
    return {
        file: next((end for end in each if number[end] == 1), file) for file, each in ends.items()
    }


def _shown(place: Place, names: Mapping[str, str]) -> str:
    return f"{names[place.file]}:{place.line}" if place.line else str(place)


def _source_width(places: Sequence[str], runs: int) -> int:
    """Return how much of a source line fits beside the other columns, or else below them."""
    left = out.width - (max(map(len, places), default=0) + 10 * (runs + 1) + _OTHERS)
    return min(_MOST_SOURCE, left if left >= _LEAST_SOURCE else out.width - 4)


def _summary(name: str, each: Profile) -> str:
    shares = ", ".join(
        f"{cause} {percent(time / each.time_ps)}" for cause, time in each.by_cause().most_common(6)
    )
    return f"{name}: {duration(each.time_ps / 1000)}, of which {shares}"
