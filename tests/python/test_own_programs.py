"""`check`, `profile`, `advise` and `timeline` on programs of users.

One is in C++ and has a recovery of its own (logged_map.cpp), the other is built by CMake with the
compiler wrapper (tests/build_systems).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import track_events
from support import ROOT, long_except, pmemsim

SOURCE = ROOT / "tests" / "python" / "logged_map.cpp"
CMAKE_PROJECT = ROOT / "tests" / "build_systems"
ON_OPTANE = ("-d", "x86-bare", "-m", "xeon-optane")
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class Recorded:
    """A program and its recording."""

    program: Path
    trace: Path

    @property
    def verify(self) -> tuple[str, ...]:
        return "--verify", f"{self.program} check", "--budget", "300"


def recorded(folder: Path, *options: str) -> Recorded:
    """Build the C++ program from a copy of its source, and record it."""
    folder.mkdir(exist_ok=True)
    source = folder / SOURCE.name
    if not source.exists():
        shutil.copy(SOURCE, source)
    made = Recorded(folder / "logged_map", folder / "logged_map.pmt")
    compiler: list[str | Path] = [SCRIPTS / "pmemsim-c++", "-std=c++20", "-O1", "-g", *options]
    subprocess.run([*compiler, source, "-o", made.program], check=True)
    pool = folder / "pool"
    pool.unlink(missing_ok=True)
    command: list[str | Path] = [made.program, "run", pool]
    done = pmemsim("record", "-o", made.trace, "--pm-path", folder, "--", *command)
    assert done.returncode == 0, done.stderr
    return made


def line_of(text: str) -> int:
    """Return the number of the source line that contains this text."""
    (number,) = [n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    return number


def written_json(tmp_path: Path, status: int, *arguments: str | Path) -> dict[str, Any]:
    """Run a command that ends with this status, and return its JSON."""
    path = tmp_path / "results.json"
    done = pmemsim(*arguments, "--json", path)
    assert done.returncode == status, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.fixture(scope="module")
def correct(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("correct"))


def test_profile_names_the_lines_that_wait_for_the_commit_word(
    correct: Recorded, tmp_path: Path
) -> None:
    found = written_json(tmp_path, 0, "profile", correct.trace, *ON_OPTANE)
    (profile,) = found["profiles"]
    assert sum(row["time_ns"] for row in profile["rows"]) == pytest.approx(profile["core_time_ns"])
    by_line: dict[int, float] = {}
    for row in profile["rows"]:
        if Path(row["file"]).name == SOURCE.name:
            by_line[row["line"]] = by_line.get(row["line"], 0.0) + row["time_ns"]
    slowest = sorted(by_line, key=lambda line: -by_line[line])[:2]
    assert set(slowest) == {
        line_of("pool_.committed = changes.size();"), line_of("pool_.committed = 0;"),
    }  # fmt: skip


def test_timeline_of_a_program_without_regions_has_its_fences(
    correct: Recorded, tmp_path: Path
) -> None:
    path = tmp_path / "t.pftrace"
    done = pmemsim("timeline", correct.trace, *ON_OPTANE, "-o", path)
    assert done.returncode == 0, done.stderr
    events = track_events.read(path)
    checked = pmemsim("check", correct.trace)
    counted = re.search(r"(\d+) fences", checked.stdout)
    assert counted
    assert len(events.on("core 0/fences")) == int(counted[1])


@pytest.mark.long
def test_check_accepts_each_image_of_the_correct_program(correct: Recorded, tmp_path: Path) -> None:
    done = pmemsim("check", correct.trace, *correct.verify)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())  # the path of the checker may need a second line
    assert re.search(r"crashes during recovery: [\d,]+ of .*, 0 rejected", said)


@pytest.mark.long
def test_missing_fence_is_found_and_repaired_at_its_line(tmp_path: Path) -> None:
    wrong = recorded(tmp_path / "wrong", "-DBUG")
    done = pmemsim("check", wrong.trace, *wrong.verify)
    assert done.returncode == 1
    assert "an amount was lost" in done.stderr
    assert f"{SOURCE.name}:{line_of('pool_.log[i] = changes[i];')}" in done.stderr
    advised = pmemsim("advise", wrong.trace, *ON_OPTANE, *wrong.verify)
    assert advised.returncode == 1
    patch = advised.stdout[advised.stdout.index("--- a/") :]
    commit = line_of("pool_.committed = changes.size();")
    hunk = re.search(r"^@@ -(\d+),", patch, re.MULTILINE)
    assert hunk
    assert int(hunk[1]) + 3 == commit
    subprocess.run(
        ["patch", "-p1"], input=patch, text=True, cwd=wrong.trace.parent, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    mended = recorded(wrong.trace.parent, "-DBUG")
    assert pmemsim("check", mended.trace, *mended.verify).returncode == 0


@pytest.mark.long
def test_planted_flush_can_go_with_the_same_images(tmp_path: Path) -> None:
    planted = recorded(tmp_path / "planted", "-DSUPERFLUOUS")
    path = tmp_path / "advice.json"
    done = pmemsim("advise", planted.trace, *ON_OPTANE, *planted.verify, "--json", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(line_of("// superfluous")) in path.read_text()
    assert "same crash images" in done.stdout
    assert f"{SOURCE.name}:{line_of('// superfluous')}" in done.stdout


COMMANDS = ("check", "profile", "advise", "timeline")


@pytest.fixture(scope="module")
def built_by_cmake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of the counter that CMake has built with CC=pmemsim-cc."""
    folder = tmp_path_factory.mktemp("cmake")
    shutil.copytree(CMAKE_PROJECT / "cmake", folder, dirs_exist_ok=True)
    shutil.copy(CMAKE_PROJECT / "counter.c", folder)
    variables = {**os.environ, "CC": str(SCRIPTS / "pmemsim-cc")}
    for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL)
    trace = folder / "counter.pmt"
    program = folder / "build" / "counter"
    done = pmemsim("record", "-o", trace, "--pm-path", folder, "--", program, folder / "pool")
    assert done.returncode == 0, done.stderr
    return trace


@pytest.mark.parametrize("command", long_except(COMMANDS, "profile"))
def test_program_built_by_cmake(command: str, built_by_cmake: Path, tmp_path: Path) -> None:
    options: dict[str, tuple[str | Path, ...]] = {
        "check": (),
        "profile": ON_OPTANE,
        "advise": ON_OPTANE,
        "timeline": (*ON_OPTANE, "-o", tmp_path / "t.pftrace"),
    }
    done = pmemsim(command, built_by_cmake, *options[command])
    assert done.returncode == 0, done.stdout + done.stderr
    shown = {
        "check": "8 flushes, 8 fences",
        "profile": "counter.c:",
        "advise": "8 executions can be removed together with the same crash images",
        "timeline": "slices and",
    }
    assert shown[command] in done.stdout
