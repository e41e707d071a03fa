#!/usr/bin/env python3
"""Measures the papers' entries for experiments/PAPER/DEVIATIONS.md, and writes the page's tables.

    .venv/bin/python tools/deviations.py asap janus    # measure: minutes; writes results and tables
    .venv/bin/python tools/deviations.py               # write the tables of all papers

The tables' numbers are those of experiments/PAPER/results.json, which is committed. `make docs`
writes the tables, too, and the tests compare them with it (tests/python/test_deviations.py). A
table is between two comments; the first says which:

    <!-- entries -->                                   all entries, with their causes
    <!-- ablations: A B; of: ENTRY ENTRY -->           what entries become with ablations
    <!-- end of table -->
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pmemsim.installation import version
from pmemsim.progress import watch_of
from pmemsim.reproduction.papers import load_paper
from pmemsim.reproduction.plan import Entry, Paper
from pmemsim.reproduction.run import compared, measure_studies
from pmemsim.reproduction.studies import ablated, both_columns, every_study
from pmemsim.reproduction.verdicts import Compared, Finding
from pmemsim.runner import Runner

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/experiment.yaml"))
DIGITS = 5
MANY = 100
"""Values from this number on are shown without decimals."""
_TABLE = re.compile(
    r"(<!-- (entries|ablations: [^;]*; of: .*?) -->\n).*?(<!-- end of table -->)", re.S
)

Results = Mapping[str, Any]


# ---- measure -------------------------------------------------------------------------------------


def measure(name: str) -> None:
    """Measure a paper's entries and the ablations that its page shows, and keep the results."""
    paper = paper_of(name)
    wanted = ablations_of(paper, page_of(name).read_text(encoding="utf-8"))
    chosen = [both_columns(paper, experiment) for experiment in paper.experiments]
    chosen += [
        each
        for ablation, experiments in wanted.items()
        for each in ablated(paper, paper.ablations[ablation])
        if each.counted.experiment.id in experiments
    ]
    runner = Runner(watch_of(True))
    measured = measure_studies(every_study(chosen), "quick", runner.open_traces, runner.do)
    rows = [row for each in chosen for row in compared(each, measured)]
    text = json.dumps(results_of(rows), indent=1, ensure_ascii=False)
    results_path(name).write_text(f"{text}\n", encoding="utf-8")


def ablations_of(paper: Paper, page: str) -> dict[str, set[str]]:
    """Return the ablations that causes and the page's tables name, with their experiments."""
    wanted: dict[str, set[str]] = {name: set() for name in paper.ablations}
    studies = {e.fact.id: study for study in paper.experiments.values() for e in study.entries}
    for entry in entries_of(paper):
        for name in entry.cause.tries if entry.cause else ():
            wanted[name].add(studies[entry.fact.id].id)
    for table in _TABLE.finditer(page):
        ablations, entries = _words(table[2])
        for name in ablations:
            wanted[name] |= {studies[entry].id for entry in entries}
    return {name: experiments for name, experiments in wanted.items() if experiments}


def results_of(rows: Sequence[Compared]) -> dict[str, Any]:
    """Return what the tables need, as JSON: the values of each entry, rounded."""
    entries: dict[str, dict[str, Any]] = {}
    for row in rows:
        name, ablation = row.entry.fact.id, row.counted.paper.ablation
        if row.described:
            entries[name] = {
                "as_measured": _value(row.counted), "as_described": _value(row.described),
            }  # fmt: skip
        elif ablation:
            entries[name].setdefault("ablations", {})[ablation.id] = _value(row.counted)
    return {"scale": "quick", "version": version(), "entries": entries}


def _value(finding: Finding) -> dict[str, Any]:
    if finding.measured is None or finding.ci95 is None:
        return {"verdict": finding.verdict, "seen": finding.seen}
    measured, ci95 = (float(f"{each:.{DIGITS}g}") for each in (finding.measured, finding.ci95))
    return {"verdict": finding.verdict, "measured": measured, "ci95": ci95}


# ---- tables --------------------------------------------------------------------------------------


def paper_of(name: str) -> Paper:
    """Return a paper of this repository, whatever is installed."""
    return load_paper(str(EXPERIMENTS / name))


def entries_of(paper: Paper) -> list[Entry]:
    """Return a paper's entries in the order of its reported values."""
    entries = {e.fact.id: e for study in paper.experiments.values() for e in study.entries}
    return [entries[name] for name in paper.facts]


def page_of(name: str) -> Path:
    """Return the path of a paper's page."""
    return EXPERIMENTS / name / "DEVIATIONS.md"


def results_path(name: str) -> Path:
    """Return the path of a paper's results."""
    return EXPERIMENTS / name / "results.json"


def written(name: str) -> str:
    """Return a paper's page with its tables generated again, if there are results."""
    paper, page = paper_of(name), page_of(name).read_text(encoding="utf-8")
    if not results_path(name).is_file():
        return page
    results = json.loads(results_path(name).read_text(encoding="utf-8"))
    return tables_written(paper, results, page)


def tables_written(paper: Paper, results: Results, page: str) -> str:
    """Return a page with its tables generated again."""
    return _TABLE.sub(partial(_replaced, paper, results), page)


def _replaced(paper: Paper, results: Results, table: re.Match[str]) -> str:
    if table[2] == "entries":
        return f"{table[1]}{entry_table(paper, results)}{table[3]}"
    ablations, entries = _words(table[2])
    return f"{table[1]}{ablation_table(paper, results, ablations, entries)}{table[3]}"


def _words(marker: str) -> tuple[list[str], list[str]]:
    """Return the ablations and the entries that a marker names."""
    if marker == "entries":
        return [], []
    ablations, _, entries = marker.removeprefix("ablations: ").partition("; of: ")
    return ablations.split(), entries.split()


def entry_table(paper: Paper, results: Results) -> str:
    """Return a table of all entries, and what shapes that fail have been measured as."""
    rows, failing = [], []
    for entry in entries_of(paper):
        found = results["entries"][entry.fact.id]
        measured = found["as_measured"]
        reported = "" if entry.fact.value is None else f"{entry.fact.value:g} {entry.fact.unit}"
        deviates = measured["verdict"] in ("off", "fails")
        columns = [_shown(found[column]) for column in ("as_measured", "as_described")]
        cells = (
            f"`{entry.fact.id}`", reported.strip(), *columns, measured["verdict"],
            _cause(entry, found.get("ablations", {})) if deviates else "",
        )  # fmt: skip
        rows.append(cells)
        if "seen" in measured and deviates:
            failing.append((f"`{entry.fact.id}`", measured["seen"]))
    columns = [
        "id", ">paper", ">as measured", ">as described", "verdict", "cause; with its ablation",
    ]  # fmt: skip
    seen = f"\n{markdown(['shape that fails', 'as measured'], failing)}" if failing else ""
    return f"\n{markdown(columns, rows)}{seen}\n"


def _cause(entry: Entry, ablations: Mapping[str, Any]) -> str:
    if entry.cause is None:
        return "unexplained"
    tried = [
        f"`{name}`: {_shown(ablations[name])}{_still(ablations[name])}"
        for name in entry.cause.tries
    ]
    return "; ".join([entry.cause.of, *tried])


def _still(value: Mapping[str, Any]) -> str:
    return {"off": " (still off)", "within 15%": ""}.get(value["verdict"], "")


def _shown(value: Mapping[str, Any]) -> str:
    if "seen" in value:
        return str(value["verdict"])
    digits = 3 if value["measured"] < MANY else 0
    return f"{value['measured']:.{digits}f} ± {value['ci95']:.{digits}f}"


def ablation_table(
    paper: Paper, results: Results, ablations: Sequence[str], entries: Sequence[str]
) -> str:
    """Return a table with a row for each ablation, and a column for each entry."""
    facts = [paper.facts[name] for name in entries]
    found = [results["entries"][name] for name in entries]
    rows = [
        (column.replace("_", " "), _within(results, column), *(_shown(e[column]) for e in found))
        for column in ("as_measured", "as_described")
        if column == "as_measured" or any(e[column] != e["as_measured"] for e in found)
    ]
    for name in ablations:
        values = [each.get("ablations", {}).get(name) for each in found]
        what = f"{paper.ablations[name].why} (`{name}`)"
        shown = ("" if value is None else _shown(value) for value in values)
        rows.append((what, _within(results, name), *shown))
    reported = ["" if fact.value is None else f" ({fact.value:g})" for fact in facts]
    heads = [f">`{fact.id}`{value}" for fact, value in zip(facts, reported, strict=True)]
    return f"\n{markdown(['', '>within 15%', *heads], rows)}\n"


def _within(results: Results, measured: str) -> str:
    """Return how many of the values that a column or an ablation has are within 15%."""
    entries = results["entries"].values()
    found = [each.get(measured) or each.get("ablations", {}).get(measured) for each in entries]
    values = [each["verdict"] for each in found if each and "measured" in each]
    return f"{values.count('within 15%')} of {len(values)}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, whose columns that start with `>` are right-aligned."""
    lines = ["| " + " | ".join(column.lstrip(">") for column in columns) + " |"]
    lines.append("|" + "|".join("---:" if each[:1] == ">" else "---" for each in columns) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def is_written(name: str) -> bool:
    """Return whether a paper's page has the tables of its results, if it has results."""
    return page_of(name).read_text(encoding="utf-8") == written(name)


def main(measured: Sequence[str]) -> int:
    """Measure the named papers; write all tables."""
    for name in measured:
        measure(name)
    for name in PAPERS:
        page_of(name).write_text(written(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
