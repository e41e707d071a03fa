"""`pmemsim check --verify` of programs whose threads communicate by plain accesses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from pmemsim import _core, recording
from pmemsim.crashing import CheckerWanted, checker_of
from pmemsim.errors import Error
from pmemsim.persistency import Budget, ModelRun, Wanted, show_order
from pmemsim.trace import Trace
from support import long_except, pmemsim

SOURCE = Path(__file__).with_name("plain_unlock.c")
RANGE = "500000000000:500000001000"
SCHEDULES = 8
ITEMS = 24
Build = Callable[[str], tuple[Path, list[Path]]]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build the program with an option, and record it under several schedules."""
    folder = tmp_path_factory.mktemp("plain_unlock")

    @cache
    def built(option: str) -> tuple[Path, list[Path]]:
        program, trace = folder / f"program{option}", folder / f"trace{option}.pmt"
        compiler = Path(sys.executable).with_name("pmemsim-cc")
        options = ["-O1", "-mclwb", "-pthread", option]
        subprocess.run([compiler, *options, SOURCE, "-o", program], check=True)
        schedules = ["--schedules", str(SCHEDULES)]
        done = pmemsim("record", "-o", trace, "--pm-range", RANGE, *schedules, "--", program)
        assert done.returncode == 0, done.stderr
        traces = sorted(folder.glob(f"trace{option}*.pmt"))
        assert len(traces) == SCHEDULES
        return program, traces

    return built


def shown(program: Path, trace: Trace) -> ModelRun:
    checker = checker_of(trace, CheckerWanted(command=str(program)), None)
    assert checker is not None
    run = show_order(trace, Wanted("px86", Budget.of("500")), checker, "", set())
    assert run is not None
    return run


def test_lock_released_by_a_plain_store_is_recognised(build: Build) -> None:
    program, traces = build("-DRIGHT")
    for path in traces:
        run = shown(program, Trace(path))
        assert run.story is None, run.story
        # Images of each item: not stored, stored, counted.
        assert (run.images, run.complete) == (2 * ITEMS + 1, True)


def crash(program: Path, trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = "check" if "--model" in options else "crash"
    return pmemsim(command, trace, *options, "--verify", program)


@pytest.mark.parametrize(
    "options",
    long_except(
        [
            "--design x86-bare",
            "--design hops-bare,dpo-bare,pmem-spec-bare",
            "--model guarantees --design hops-bare",
        ],
        "--model guarantees --design hops-bare",
    ),
)
def test_crash_reports_no_violation_in_a_right_racing_program(build: Build, options: str) -> None:
    program, traces = build("-DRIGHT")
    for path in traces:
        done = crash(program, path, *options.split())
        assert done.returncode == 0, done.stderr
    program, traces = build("-DBUG")
    done = crash(program, traces[1], "--model", "guarantees", "--design", "x86-bare")
    assert done.returncode == 1
    assert "is lost" in done.stderr


def test_regions_under_a_lock_released_by_a_plain_store_recover(tmp_path: Path) -> None:
    """These are designs that don't observe the lock."""
    program = tmp_path / "regions"
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    source = Path(__file__).with_name("plain_unlock_regions.c")
    subprocess.run([compiler, "-O2", "-pthread", source, "-o", program], check=True)
    trace = tmp_path / "regions.pmt"
    done = pmemsim("record", "--schedules", "3", "-o", trace, "--", program, tmp_path / "pool")
    assert done.returncode == 0, done.stderr
    designs = "asap,dpo,hops,hw-redo,hw-undo,lad,pmem-spec,redu+blom,sw-undo"
    for number in range(3):
        done = pmemsim("crash", tmp_path / f"regions.{number}.pmt", "--design", designs)
        assert done.returncode == 0, done.stderr


def test_recordings_list_their_races(build: Build) -> None:
    _, traces = build("-DRIGHT")
    for path in traces:
        verified = pmemsim("trace", "verify", path)
        assert verified.returncode == 0, verified.stderr
        (said,) = json.loads(pmemsim("trace", "info", path, "--json", "-").stdout)["recordings"]
        # A thread that takes the lock reads the previous owner's release, unless it was the owner
        # itself.
        assert 0 < said["summary"]["races"] <= 4 * ITEMS
        assert f"{said['summary']['races']:,}" in row_of(path, "races, replayed in order")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Error("kept.pmt: no space left on device"), "no space left on device"),
        (MemoryError(), "there is not enough memory to find races"),
    ],
)
def test_recording_without_a_list_of_races_is_kept(
    build: Build,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    said: str,
) -> None:
    program, traces = build("-DRIGHT")

    def fail(path: Path) -> None:
        raise error

    monkeypatch.setattr(_core, "store_races", fail)
    kept = recording.record([str(program)], tmp_path / "kept.pmt", pm_ranges=[RANGE])
    assert f"{said}; the recording is complete" in capsys.readouterr().err
    assert kept.summary() == Trace(traces[0]).summary()


def row_of(path: Path, name: str) -> str:
    (row,) = [line for line in pmemsim("trace", "info", path).stdout.splitlines() if name in line]
    return row


def test_crash_finds_a_bug_in_a_racing_program(build: Build) -> None:
    program, traces = build("-DBUG")
    for path in traces:
        story = shown(program, Trace(path)).story
        assert story is not None
        assert "is lost" in story.lines[0]
        assert not any("a guess" in line for line in story.lines)


def test_explanation_without_recorded_turns_is_marked_as_a_guess(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trace, "has_turns", False)
    program, traces = build("-DBUG")
    story = shown(program, Trace(traces[0])).story
    assert story is not None
    (said,) = [line for line in story.lines if "a guess" in line]
    assert said.startswith("the recording lacks the order in which its threads ran")
