"""The tables of the papers' DEVIATIONS.md agree with the results beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deviations import (
    PAPERS,
    ablations_of,
    entry_table,
    is_written,
    page_of,
    paper_of,
    results_of,
    results_path,
    tables_written,
)
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.papers import load_paper
from pmemsim.reproduction.plan import DESCRIBED, MEASURED, Paper
from pmemsim.reproduction.verdicts import compare
from tiny_paper import made_up, write_columns


@pytest.mark.parametrize("name", PAPERS)
def test_page_of_a_paper_agrees_with_its_results(name: str) -> None:
    assert is_written(name), f"experiments/{name}/DEVIATIONS.md is behind; run: make docs"


@pytest.mark.parametrize("name", PAPERS)
def test_page_of_a_paper_has_a_table_of_all_entries(name: str) -> None:
    page = page_of(name).read_text(encoding="utf-8")
    assert page.count("<!-- entries -->") == 1
    if results_path(name).is_file():
        for fact in paper_of(name).facts:
            assert f"| `{fact}` |" in page


def tiny_results(folder: Path) -> tuple[Paper, dict[str, Any]]:
    """Return the tiny paper, and results of its entries and its ablation."""
    paper = load_paper(str(write_columns(folder)))
    speeds = {"as measured": 0.56, "as described": 0.625, "one-thread": 0.8}

    def measured(varied: Paper, column: str) -> Measurements:
        time_ns = 1 / speeds[column]
        return made_up(varied, "speed", lambda design, *_: time_ns if design == "SW" else 1.0)

    columns = [
        measured(paper.in_column("speed", column), column) for column in (MEASURED, DESCRIBED)
    ]
    ablation = measured(paper.ablated(paper.ablations["one-thread"], "speed"), "one-thread")
    return paper, results_of([*compare(*columns), *compare(ablation, None)])


def test_table_of_entries_has_both_columns_and_causes(tmp_path: Path) -> None:
    paper, results = tiny_results(tmp_path / "tiny")
    assert entry_table(paper, results).strip().splitlines()[2:] == [
        "| `tiny.speed` | 0.5 | 0.560 ± 0.000 | 0.625 ± 0.000 | within 15% |  |",
        "| `tiny.used` | 0.5 | 0.560 ± 0.000 | 0.625 ± 0.000 | used for inference |  |",
        "| `tiny.other` | 50 | 0.560 ± 0.000 | 0.625 ± 0.000 | off | locks; `one-thread`: 0.800 ± "
        "0.000 (still off) |",
    ]


def test_results_are_rounded_to_five_digits(tmp_path: Path) -> None:
    paper = load_paper(str(write_columns(tmp_path / "tiny")))
    measured = made_up(paper, "speed", lambda design, *_: 3.0 if design == "SW" else 1.0)
    entry = results_of(compare(measured, measured))["entries"]["tiny.speed"]
    assert entry["as_measured"] == {"verdict": "off", "measured": 0.33333, "ci95": 0.0}


def test_tables_of_a_page_are_written_between_their_comments(tmp_path: Path) -> None:
    paper, results = tiny_results(tmp_path / "tiny")
    marker = "<!-- ablations: one-thread; of: tiny.speed tiny.used -->"
    page = f"Before.\n\n{marker}\nold\n<!-- end of table -->\n\nBehind.\n"
    assert ablations_of(paper, page) == {"one-thread": {"speed"}}
    assert ablations_of(paper, "") == {"one-thread": {"speed"}}  # it is the cause of an entry
    once = tables_written(paper, results, page)
    assert once.splitlines() == [
        "Before.", "", marker, "",
        "|  | within 15% | `tiny.speed` (0.5) | `tiny.used` (0.5) |", "|---|---:|---:|---:|",
        "| as measured | 1 of 3 | 0.560 ± 0.000 | 0.560 ± 0.000 |",
        "| as described | 0 of 3 | 0.625 ± 0.000 | 0.625 ± 0.000 |",
        "| Less contention (`one-thread`) | 0 of 3 | 0.800 ± 0.000 | 0.800 ± 0.000 |",
        "", "<!-- end of table -->", "", "Behind.",
    ]  # fmt: skip
    assert tables_written(paper, results, once) == once
