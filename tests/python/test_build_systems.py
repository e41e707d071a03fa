"""Programs that make, autotools, CMake and Meson build with the wrappers can be recorded.

The commands are those of docs/guides/record_program.md, in the blocks after
`<!-- build: NAME -->`. They run in a copy of the project tests/build_systems/NAME.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pmemsim.trace import Trace
from support import ROOT, long_except

PROJECTS = ROOT / "tests" / "build_systems"
SOURCE = PROJECTS / "counter.c"
BLOCK = re.compile(r"^<!-- build: (\w+) -->\n```console\n(.*?)^```$", re.M | re.S)
COMMANDS = {
    name: re.findall(r"^\$ (.*)$", block, re.M)
    for name, block in BLOCK.findall((ROOT / "docs/guides/record_program.md").read_text())
}


def expected() -> dict[tuple[str, str, int], int]:
    """Return operations on PM by kind, source file and line, from comments in the source."""
    text = SOURCE.read_text()
    increments = re.search(r"kIncrements = (\d+)", text)
    assert increments
    return {
        (kind, SOURCE.name, number): int(increments[1])
        for number, line in enumerate(text.splitlines(), 1)
        for kind in re.findall(r"// the (\w+)$", line)
    }


def recorded(trace: Trace) -> Counter[tuple[str, str, int]]:
    """Return stores to PM, flushes of PM, and fences, by kind, source file and line."""
    (region,) = trace.metadata["pm_regions"]
    operations = trace.to_frame(0).join(trace.sites[["file", "line"]], on="site")
    in_pm = operations["address"].between(region["begin"], region["end"] - 1)
    kinds = operations["kind"].astype(str)
    kept = operations[in_pm & kinds.isin(["store", "flush"]) | (kinds == "fence")]
    files = (Path(file).name for file in kept["file"])
    return Counter(zip(kept["kind"], files, kept["line"], strict=True))


@pytest.mark.parametrize("name", long_except(COMMANDS, "make", "cmake"))
def test_program_of_each_build_system_is_recorded_by_source_line(name: str, tmp_path: Path) -> None:
    shutil.copytree(PROJECTS / name, tmp_path, dirs_exist_ok=True)
    shutil.copy(SOURCE, tmp_path)
    scripts = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    for command in COMMANDS[name]:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=variables, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    assert recorded(Trace(tmp_path / "counter.pmt")) == expected()


def test_documentation_builds_every_project() -> None:
    assert sorted(COMMANDS) == sorted(path.name for path in PROJECTS.iterdir() if path.is_dir())


def test_source_marks_a_store_a_flush_and_a_fence() -> None:
    assert sorted(kind for kind, _, _ in expected()) == ["fence", "flush", "store"]
