"""`pmemsim check --without-each`: which instructions are one flush or fence, and their verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import long_except, pmemsim

SOURCE = Path(__file__).with_name("counted_items.c")
LINES = SOURCE.read_text().splitlines()


def line_of(comment: str) -> int:
    """Return the number of the line with that end."""
    (number,) = [number for number, line in enumerate(LINES, 1) if line.endswith(f"// {comment}")]
    return number


def left_out(folder: Path, *compiled: str) -> tuple[list[dict[str, Any]], str]:
    """Leave out each one in the program compiled so; return the JSON and the printed text."""
    recorded, checker, pool = folder / "items", folder / "items_check", folder / "pm" / "pool"
    pool.parent.mkdir()
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-g", "-mclwb", *compiled, SOURCE, "-o", recorded], check=True)
    subprocess.run(["clang-19", "-O1", "-mclwb", SOURCE, "-o", checker], check=True)
    trace, found = folder / "items.pmt", folder / "found.json"
    done = pmemsim("record", "-o", trace, "--pm-path", pool.parent, "--", recorded, pool)
    assert done.returncode == 0, done.stderr
    done = pmemsim(
        "check", trace, "--model", "px86", "--verify", f"{checker} check",
        "--without-each", "--json", found,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(found.read_text())["images"][0]["left_out"], done.stdout


@pytest.mark.parametrize(
    "compiled",
    long_except(
        ["-O0", "-O1 -fno-inline", "-O1", "-O2 -fno-unroll-loops"], "-O0", "-O2 -fno-unroll-loops"
    ),
)
def test_each_line_that_calls_a_helper_is_left_out_alone(tmp_path: Path, compiled: str) -> None:
    found, printed = left_out(tmp_path, *compiled.split())
    verdicts = {
        (each["name"], *(call["line"] for call in each["calls"])): each["verdict"] for each in found
    }
    item, count, finished = map(line_of, ("item", "count", "finished"))
    front, back = line_of("front"), line_of("back")
    assert verdicts == {
        ("clwb", item): "found",
        ("clwb", count): "found",
        ("clwb", finished): "all accepted",
        ("sfence", front, item): "same images",
        ("sfence", front, count): "same images",
        ("sfence", front, finished): "same images",
        ("sfence", back, item): "found",
        ("sfence", back, count): "found",
        ("sfence", back, finished): "all accepted",
    }
    assert len(found) == len(verdicts)
    assert {each["executed"] for each in found} == {4}
    (flush,) = [
        each for each in found if each["name"] == "clwb" and each["calls"][0]["line"] == item
    ]
    assert (flush["function"], flush["calls"][0]["function"]) == ("persist", "run")
    # The user's line is first, then the calls that lead to the instruction.
    rows = [row for row in printed.splitlines() if f"counted_items.c:{count}" in row]
    assert len(rows) == 3
    assert sum(f"fence < persist:{back} < run" in row for row in rows) == 1
