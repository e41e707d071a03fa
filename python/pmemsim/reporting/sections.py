"""Make a section of a report from the JSON of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, geometric_mean

from pmemsim.comparison import design_label
from pmemsim.reporting import performance, plots
from pmemsim.reporting.blocks import (
    Block,
    Details,
    Explanation,
    Heading,
    Section,
    Table,
    Text,
    Verdict,
)
from pmemsim.reporting.parts import Json, call_of, configurations, number, place_of, recordings
from pmemsim.simulation import shares_of


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _of_run(results: Json) -> Section:
    name = f"{results['workload']} on {results['design']}"
    facts = [
        ("machine", results["machine"]),
        ("simulated cores with a thread", number(results["threads"])),
        ("seed, schedule", f"{results['seed']}, {results['schedule']}"),
        ("simulated time", f"{number(results['time_ns'])} ns"),
        ("instructions", number(results["instructions"])),
        ("atomic regions", number(results["regions"])),
        ("regions a second", number(results["regions_per_s"])),
        ("written to PM", f"{number(results['pm_write_bytes'])} bytes"),
        ("1 GiB of PM lasts, years", number(results["pm_years_per_gib"])),
        ("most written line lasts, years", number(results.get("pm_years_of_worst_line"))),
    ]
    parts: list[Block] = [
        Table("Run", ["", ">value"], facts),
        plots.shares("Use of the cores' time", {name: shares_of(results["stats"])}),
        Details("All statistics", [_statistics([results])]),
        configurations({results["design"]: results["configuration"]}),
        recordings([results]),
    ]
    return Section(f"Run: {name}", f"{number(results['time_ns'])} ns simulated", None, parts)


def _statistics(runs: Sequence[Json]) -> Table:
    names = list(dict.fromkeys(name for run in runs for name in run["stats"]))
    columns = ["statistic", *(f">{run['workload']} on {run['design']}" for run in runs)]
    rows = [[name, *(number(run["stats"].get(name)) for run in runs)] for name in names]
    return Table("Statistics", columns, rows)


_MOST_COLUMNS = 12


def _of_compare(results: Json) -> Section:
    runs, ratios = results["runs"], results["ratios"]
    designs = list(results["geomean"])
    workloads = list(dict.fromkeys(each["workload"] for each in ratios))
    found = {(each["workload"], each["design"]): each for each in ratios}
    heights = {
        design: [*(found[w, design]["ratio"] for w in workloads), results["geomean"][design]]
        for design in designs
    }
    halves = {
        design: [*(found[w, design]["ci95"] for w in workloads), results["geomean_ci95"][design]]
        for design in designs
    }
    groups = [*workloads, "geomean"]
    rows = [
        [group, design, _ratio(heights[design][index]), _ratio(halves[design][index] or None)]
        for index, group in enumerate(groups)
        for design in designs
    ]
    columns = ["workload", "design", f">over {designs[0]}", ">± 95%"]
    machines = list(dict.fromkeys(run["machine"] for run in runs))
    names = [design_label(run["design"], run["machine"], machines) for run in runs]
    bars = {
        f"{run['workload']}, {name}": shares_of(run["stats"])
        for run, name in zip(runs, names, strict=True)
    }
    if len(machines) > 1:
        columns.append(f">over {runs[0]['design']} on the same machine")
        for row in rows:
            row.append(_ratio(found.get((row[0], row[1]), {}).get("ratio_on_machine")))
    times = [
        [run["workload"], name, number(run["time_ns"]), number(run["regions_per_s"])]
        for run, name in zip(runs, names, strict=True)
    ]
    over = f"throughput over {designs[0]}"
    parts: list[Block] = [
        plots.grouped_bars(f"Throughput over {designs[0]}", over, groups, heights, halves),
        Table("Ratios", columns, rows),
        Table("Runs", ["workload", "design", ">simulated time (ns)", ">regions a second"], times),
        plots.shares("Use of the cores' time", bars),
        *(Verdict(_cold(each), None) for each in results["cold"]),
    ]
    if len(runs) <= _MOST_COLUMNS:
        parts.append(Details("All statistics", [_statistics(runs)]))
    parts += [
        configurations({name: run["configuration"] for run, name in zip(runs, names, strict=True)}),
        recordings(runs),
    ]
    best = max(designs[1:] or designs, key=lambda design: results["geomean"][design])
    title = f"Comparison on machine {', '.join(machines)}"
    ratio = f"{results['geomean'][best]:.3f} over {designs[0]} (geomean)"
    outcome = f"{best} is the fastest beside the baseline: {ratio}"
    return Section(title, outcome, None, parts)


def _cold(start: Json) -> str:
    return (
        f"{start['workload']} is too short to be warm: on {start['design']}, its first half takes "
        f"{start['first_half_over_second']:.2f} times as long as its second"
    )


def _of_matrix(results: Json) -> Section:
    cells = results["cells"]
    designs = list(dict.fromkeys(cell["design"] for cell in cells))
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    found = {(cell["workload"], cell["design"]): cell for cell in cells}
    values = [[found[w, d]["speedup"] for d in designs] for w in workloads]
    marks = [[_mark(found[w, d]) for d in designs] for w in workloads]
    rows = [
        [
            cell["workload"], cell["design"], _ratio(cell["speedup"]),
            number(cell["pm_write_bytes"]), number(cell["energy_nj"]),
            number(cell["storage_bytes"]), number(cell["points"]), number(cell["violations"]),
            _word(cell), cell["reason"] or "",
        ]
        for cell in cells
    ]  # fmt: skip
    columns = [
        "workload", "design", f">over {results['baseline']}", ">PM writes (bytes)",
        ">energy (nJ)", ">storage (bytes)", ">crash points", ">violations", "verdict", "why not",
    ]  # fmt: skip
    wrong = sum(bool(cell["violations"]) for cell in cells)
    undecided = sum(cell["violations"] is None for cell in cells)
    outcome = f"{wrong} of {len(cells)} cells have a wrong image"
    if undecided:
        outcome += f", {undecided} are not verified"
    title = f"Speedup over {results['baseline']} (!: a wrong image, ?: not verified)"
    good = False if wrong else None if undecided == len(cells) else True
    parts: list[Block] = [
        Verdict(outcome, good),
        plots.heat_map(title, workloads, designs, values, marks),
        Table("Cells", columns, rows),
        configurations(results["configurations"]),
        recordings(cells),
    ]
    return Section(f"Matrix on machine {cells[0]['machine']}", outcome, good, parts)


def _mark(cell: Json) -> str:
    return "?" if cell["violations"] is None else "!" if cell["violations"] else ""


def _word(cell: Json) -> str:
    return {"?": "not verified", "!": "wrong", "": "recovers"}[_mark(cell)]


def _of_crash(results: Json) -> Section:
    runs = results["runs"]
    rows = [
        [
            "wrong" if run["violations"] else "recovers",
            run["design"], run["stress"], run["workload"], number(run["threads"]),
            f"{run['points']:,} of {run['all_points']:,}", number(run["images"]),
            number(run["repaired"]), number(run["restarts"]),
            "no checker" if run["unchecked"] is None else number(run["checked"]),
            number(run["violations"]),
        ]
        for run in runs
    ]  # fmt: skip
    columns = [
        "verdict", "design", "stress", "workload", ">threads", ">points", ">images", ">repaired",
        ">recoveries restarted", ">checked by the program", ">violations",
    ]  # fmt: skip
    wrong = sum(bool(run["violations"]) for run in runs)
    outcome = f"{wrong} of {len(runs)} runs have a wrong image after recovery"
    parts: list[Block] = [Verdict(outcome, not wrong), Table("Crash runs", columns, rows)]
    for run in runs:
        if story := run["story"]:
            title = f"{run['design']} does not recover {run['workload']}"
            parts.append(Explanation(title, story["lines"], story["command"]))
    if results["refused"]:
        refused = [list(each.values()) for each in results["refused"]]
        parts.append(Table("Impossible combinations", ["design", "stress", "why"], refused))
    parts += _notes(runs)
    parts += [configurations(results["configurations"]), recordings(runs)]
    title = f"Crashes of {_few(runs, 'workload')} on {_few(runs, 'design')}"
    return Section(f"{title}, machine {runs[0]['machine']}", outcome, not wrong, parts)


_MOST_NAMES = 3


def _few(runs: Sequence[Json], key: str) -> str:
    """Return the names in a title, or their number if there are many."""
    names = list(dict.fromkeys(str(run[key]) for run in runs))
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} {key}s"


def _notes(runs: Iterable[Json]) -> list[Block]:
    notes = dict.fromkeys(f"{run['workload']}: partial: {n}" for run in runs for n in run["notes"])
    return [Verdict(note, None) for note in notes]


_GOOD = {"nothing found": True, "found": False, "undecided": None, "not judged": None}


def _of_check(results: Json) -> Section:
    verdicts, baseline = results["verdicts"], results.get("baseline")
    known = baseline["known"] if baseline else []
    # A finding stays an error of the program although the baseline has it.
    good_of = dict(_GOOD)
    if any(each["loses_data"] and not each["note"] for each in known):
        good_of["nothing found"] = None
    shown = [
        Verdict(
            f"{each['method']} under {each['model']}: {each['text']}",
            (good_of if each["method"] == "rules" else _GOOD)[each["result"]],
        )
        for each in verdicts
    ]
    parts: list[Block] = [*shown, *_notes([results])]
    findings = results["findings"]
    if findings:
        parts += [_findings("Findings", findings), *map(_finding, findings)]
    if baseline:
        parts.append(Verdict(_known(baseline), None))
    if known:
        parts += [_findings("Findings known from the baseline", known), *map(_finding, known)]
    for images in results.get("images", []):
        parts += _images(images)
    if results["suppressed"]:
        rows = [[e["kind"], place_of(e), e["comment"]] for e in results["suppressed"]]
        parts.append(Table("Suppressed findings", ["finding", "at", "comment"], rows))
    if results["not_looked_for"]:
        rows = [[kind, why] for kind, why in results["not_looked_for"].items()]
        parts.append(Details("Not checked", [Table("Not checked", ["finding", "why"], rows)]))
    parts.append(recordings([results]))
    results_of = [each.good for each in shown]
    good = False if False in results_of else None if None in results_of else True
    outcome = "; ".join(f"{each['method']}: {each['result']}" for each in verdicts)
    outcome += f"; {_known(baseline)}" if baseline else ""
    return Section(f"Check of {results['workload']}", outcome, good, parts)


def _known(baseline: Json) -> str:
    known, gone = len(baseline["known"]), baseline["gone"]
    no_longer = f", no longer found: {number(gone)}" if gone else ""
    return f"known from the baseline: {number(known)}{no_longer}"


def _findings(title: str, findings: Sequence[Json]) -> Table:
    rows = [
        [
            each["kind"], place_of(each), each["function"], number(each["count"]),
            "note" if each["note"] else "loses data" if each["loses_data"] else "costs time",
            each["effect"],
        ]
        for each in findings
    ]  # fmt: skip
    return Table(title, ["finding", "at", "function", ">times", "what", "effect"], rows)


def _finding(finding: Json) -> Block:
    first = finding["first"]
    lines = [
        finding["effect"],
        f"first: thread {first['thread']}, operation {first['operation']}",
        *map(call_of, finding["calls"]),
    ]
    if other := finding["other"]:
        lines.append(f"belongs to {place_of(other)} ({other['function']})")
        lines += map(call_of, finding["other_calls"])
    command = ""
    if order := finding.get("order"):
        lines.append(f"to record the other order, use --hold {order['hold']}")
    if wrong := finding.get("wrong_answer"):
        allowed = (f"allowed: {answer}" for answer in wrong["allowed"])
        lines += [f"printed: {wrong['answer']}", *allowed, *wrong["story"]]
        command = wrong["command"]
    return Explanation(f"{finding['kind']} at {place_of(finding)}", lines, command)


def _images(images: Json) -> list[Block]:
    of = "of" if images["exact"] else "of at most"
    possible = "1e308 or more" if images["possible"] is None else number(images["possible"])
    facts = [
        ("images checked", f"{number(images['images'])} {of} {possible}"),
        ("of these run by the checker", number(images["shown"])),
        ("crash instants", number(images["instants"])),
    ]
    parts: list[Block] = [Table(f"Images under {images['model']}", ["", ">value"], facts)]
    recovery = images["recovery"] or {}
    for title, story in (
        (f"Image {(images['story'] or {}).get('image')} is rejected", images["story"]),
        ("An image of a second crash is rejected", recovery.get("story")),
    ):
        if story:
            parts.append(Explanation(title, story["lines"], story["command"]))
    if left_out := images.get("left_out"):
        rows = [
            [each["name"], place_of(each), each["function"], each["verdict"], each["problem"]]
            for each in left_out
        ]
        columns = ["instruction", "at", "function", "verdict without it", "checker's answer"]
        parts.append(
            Table(f"Each flush and fence left out, under {images['model']}", columns, rows)
        )
    return parts


def _of_sweep(results: Json) -> Section:
    points, units = results["points"], results["units"]
    done = [point for point in points if point["status"] == "ok"]
    varied = [
        name for name in units if len({str(point["axes"][name]) for point in points}) > 1
    ] or list(units)
    numbers = [name for name in varied if all(_is_number(point["axes"][name]) for point in points)]
    x = next(iter(numbers or varied))
    hue = "design" if x != "design" else next((name for name in varied if name != x), "workload")
    has_speedup = "design" in varied and any(point["speedup"] for point in done)
    y = "speedup" if has_speedup else "time_ns"
    mean = geometric_mean if has_speedup else fmean
    places = list(dict.fromkeys(point["axes"][x] for point in points))
    places = sorted(places) if x in numbers else places
    values = {
        str(each): [
            _mean_of([p[y] for p in done if (p["axes"][x], p["axes"][hue]) == (place, each)], mean)
            for place in places
        ]
        for each in dict.fromkeys(point["axes"][hue] for point in points)
    }
    x_title = f"{x} ({units[x]})" if units[x] else x
    rows = [
        [*(str(p["axes"][name]) for name in varied), number(p["time_ns"]), _ratio(p["speedup"]),
         number(p["pm_write_bytes"]), p["reason"]]
        for p in points
    ]  # fmt: skip
    columns = [
        *(f"{name} ({units[name]})" if units[name] else name for name in varied),
        ">simulated time (ns)", ">speedup", ">PM writes (bytes)", "why not",
    ]  # fmt: skip
    same = [[name, str(points[0]["axes"][name])] for name in units if name not in varied]
    outcome = f"{len(done)} of {len(points)} points have results"
    which = "geometric mean" if has_speedup else "mean"
    plotted: list[Block] = [
        plots.lines(f"{y} over {x}", x_title, y, places, values),
        Text(f"A value of the plot is the {which} over the axes that it doesn't show."),
    ]
    parts: list[Block] = [
        Verdict(outcome, True if len(done) == len(points) else None),
        *(plotted if done else []),
        Table("Points", columns, rows),
        Table("Values of all points", ["axis", "value"], same),
        configurations(results["configurations"]),
        recordings(done),
    ]
    return Section(f"Sweep over {', '.join(varied)}", outcome, None, parts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mean_of(values: Sequence[float | None], mean: Callable[[list[float]], float]) -> float | None:
    found = [value for value in values if value is not None]
    return mean(found) if found else None


def _of_reproduce(results: Json) -> Section:
    summary = results["summary"]
    rows = [[paper, *map(number, counts.values())] for paper, counts in summary.items()]
    columns = [
        "paper", ">values", ">within 15%", ">within 10%", ">shapes", ">hold", ">explained",
        ">unexplained", ">used for inference",
    ]  # fmt: skip
    parts: list[Block] = [Table(f"Entries by paper, at scale {results['scale']}", columns, rows)]
    groups: dict[tuple[str, str, str | None], list[Json]] = {}
    for entry in results["entries"]:
        key = entry["paper"], entry["experiment"], entry["ablation"]
        groups.setdefault(key, []).append(entry)
    for (paper, experiment, ablation), entries in groups.items():
        name = f"{paper} {experiment}" + (f", ablation {ablation}" if ablation else "")
        parts += [Heading(name), *_figure(name, entries)]
    for paper in summary:
        parts += _paper_configurations(paper, results)
    values = sum(counts["values"] for counts in summary.values())
    within = sum(counts["within_15"] for counts in summary.values())
    outcome = f"{within} of {values} values are within 15% of the papers'"
    if results["scale"] == "smoke":
        outcome = "at scale smoke, nothing is compared"
    return Section(f"Reproduction of {', '.join(summary)}", outcome, None, parts)


def _paper_configurations(paper: str, results: Json) -> list[Block]:
    """Return the configurations of a paper's simulations, each by its first use."""
    found: dict[int, str] = {}
    for value in results["values"]:
        if value["paper"] == paper and value["configuration"] is not None:
            parts = [value["experiment"], value["ablation"], value["design"], value["point"]]
            if value["column"] != "as measured":
                parts.append(value["column"])
            name = ", ".join(part for part in parts if part)
            found.setdefault(value["configuration"], name)
    every = {f"{paper} {name}": results["configurations"][number] for number, name in found.items()}
    return [configurations(every, f"Resolved configurations of {paper}")] if every else []


def _figure(name: str, entries: Sequence[Json]) -> list[Block]:
    compared = {e["id"]: (e["ratio"], e["ci95"] / e["published"]) for e in entries if e["ratio"]}
    parts: list[Block] = []
    if compared:
        texts = [
            f"paper {number(e['published'])}, measured {number(e['measured'])} {e['unit']}"
            for e in entries
            if e["ratio"]
        ]
        parts.append(
            plots.ratios_to_paper("Measured over published (band: within 15%)", compared, texts)
        )
    columns = [
        "entry", "what", "section", ">paper", ">measured", ">± 95%", ">measured / paper", "verdict",
        ">as described", "cause of the deviation",
    ]  # fmt: skip
    return [*parts, Table(f"Entries of {name}", columns, [_entry(entry) for entry in entries])]


def _entry(entry: Json) -> list[str]:
    described = entry["as_described"]
    cause = entry["cause"]
    tries = f"; try: {', '.join(cause['try'])}" if cause and cause["try"] else ""
    deviates = entry["verdict"] in ("off", "fails")
    return [
        entry["id"],
        entry["what"],
        entry["where"],
        _value(entry["published"], entry["unit"]),
        _value(entry["measured"], entry["unit"]),
        number(entry["ci95"] or None),
        number(entry["ratio"]),
        entry["verdict"],
        _value(described["measured"], entry["unit"]) if described else "-",
        f"{cause['of']}{tries}" if cause else "unexplained" if deviates else entry["used"],
    ]


def _value(value: float | str, unit: str) -> str:
    return value if isinstance(value, str) else f"{number(value)} {unit}".strip()


SECTIONS: dict[str, Callable[[Json], Section]] = {
    "run": _of_run,
    "compare": _of_compare,
    "profile": performance.of_profile,
    "timeline": performance.of_timeline,
    "matrix": _of_matrix,
    "crash": _of_crash,
    "check": _of_check,
    "advise": performance.of_advise,
    "sweep": _of_sweep,
    "reproduce": _of_reproduce,
    "bench": performance.of_bench,
}
"""The section of each command's results."""
