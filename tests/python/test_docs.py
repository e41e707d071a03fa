"""The documentation's examples work unchanged.

A block after `<!-- file: NAME -->` is written to that file. The lines after `$ ` of a console block
after `<!-- run -->` are executed. They must end with status 0 (`<!-- run: N -->`: with N) and print
the block's other lines, in which `...` matches anything. A block after `<!-- run watched -->` is
executed on machines where programs can be watched, and one after `<!-- run with libpmem -->` where
libpmem is installed. All blocks of a page share one folder. Blocks
after `<!-- build: NAME -->` belong to test_build_systems.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pmemsim.targets import find_target
from pmemsim.workload_runs import workloads
from support import ROOT, long_except, may_watch, pmemsim

BLOCK = re.compile(
    r"^<!-- (?P<what>file|run|run watched|run with libpmem)(?:: (?P<argument>\S+))? -->\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.M | re.S,
)


@dataclass
class Example:
    """A marked block of a page."""

    what: str
    argument: str
    text: str


def examples(page: Path) -> list[Example]:
    return [
        Example(match["what"], match["argument"] or "", match["text"])
        for match in BLOCK.finditer(page.read_text())
    ]


PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if examples(page)
]


def matches(expected: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


def commands(text: str) -> list[tuple[str, str]]:
    """Return each command with what it is expected to print."""
    parts = re.split(r"^\$ ", text, flags=re.M)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


USUAL = [page for page in PAGES if page.name == "commands.md"]


@pytest.mark.parametrize("page", long_except(PAGES, *USUAL), ids=lambda page: page.name)
def test_examples_of_each_page_run_as_documented(page: Path, tmp_path: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {
        **os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "COLUMNS": "200",
    }  # fmt: skip
    for example in examples(page):
        if example.what == "file":
            (tmp_path / example.argument).write_text(example.text)
            continue
        if example.what == "run watched" and not may_watch():
            continue
        if example.what == "run with libpmem" and not Path("/usr/include/libpmem.h").exists():
            continue
        for command, expected in commands(example.text):
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            )  # fmt: skip
            assert done.returncode == int(example.argument or 0), f"$ {command}\n{done.stdout}"
            assert matches(expected, done.stdout), f"$ {command}\n{done.stdout}"


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
