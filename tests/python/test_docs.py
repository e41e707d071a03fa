"""The documentation's examples work unchanged (tools/run_page.py says how they are marked).

Blocks after `<!-- build: NAME -->` belong to test_build_systems.py.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from pmemsim.targets import find_target
from pmemsim.workload_runs import workloads
from run_page import CONDITIONS, examples, matches, run
from support import ROOT, long_except, may_watch, pmemsim

PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if examples(page)
]


USUAL = [page for page in PAGES if page.name == "commands.md"]


@pytest.mark.parametrize("page", long_except(PAGES, *USUAL), ids=lambda page: page.name)
def test_examples_of_each_page_run_as_documented(page: Path, tmp_path: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    run(page, tmp_path, {**CONDITIONS, "run watched": may_watch}, environment)


def test_tour_and_commands_pages_have_examples() -> None:
    assert {"tour.md", "commands.md"} <= {page.name for page in PAGES}


def test_dots_in_documented_output_match_any_text() -> None:
    assert matches("a ...\nz\n", "a b\nc\nz\n")
    assert not matches("a ...\n", "b\n")
    assert matches("...\n", "anything\nat all\n")


def test_every_workload_is_described_and_measured() -> None:
    page, duplicates = (ROOT / "docs/reference/workloads.md").read_text().split("\n## Duplicates\n")
    page, hints = page.split("\n### Hints\n")
    hints, regions = hints.split("\n## ", 1)
    assert "\n| `array_swap` |" in hints
    for name, workload in workloads().items():
        row = f"\n| `{name}` |"
        assert (page + regions).count(row) == 2, name
        assert duplicates.count(row) == ("duplicate_ratio" in workload.arguments), name


@pytest.mark.parametrize("workload", long_except(workloads(), "queue"))
def test_the_table_of_workloads_is_what_trace_info_prints(workload: str, queue_trace: Path) -> None:
    page = (ROOT / "docs/reference/workloads.md").read_text()
    _, section = page.split("\n## What a region does\n")
    (row,) = re.findall(rf"^\| `{workload}` \|(.*)\|$", section.split("\n## ")[0], re.M)
    trace = find_target(workload, threads=4).trace()
    table = pmemsim("trace", "info", trace.path, queue_trace).stdout  # one trace prints no table
    printed, *_ = re.findall(rf"^│ {workload} +│(.*)│$", table, re.M)
    # Another distribution's clang 19 and C++ library make slightly different code of a program.
    _, *measured = numbers(printed.split("│"))
    del measured[6]  # The page leaves out the numbers of regions and of different locks.
    assert measured == pytest.approx(numbers(row.split("|")), rel=0.02)


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.strip().replace(",", "").removesuffix("%")) for cell in cells]


def test_the_index_lists_every_page() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    for page in docs.glob("*/*.md"):
        assert f"({page.relative_to(docs)})" in index, page.name
