"""Programs with one bug each, and their corrected twins: what finds which, with default options."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import pmemsim

FOLDER = Path(__file__).parents[1] / "corpus"
CASES = yaml.safe_load((FOLDER / "corpus.yaml").read_text())
SCHEDULES = 50
# What makes these right is no flush and no fence of the recorded part.
NEEDS_NONE = {
    "checksum_missing", "recovery_not_idempotent", "recovery_without_flush", "same_line_assumed",
    "word_across_lines",
}  # fmt: skip


# Either of two lines that must be there together may be the one that is lost.
MOST_OF_A_BUG = 2


@dataclass(frozen=True)
class Built:
    """A case, compiled for recording: the program, and its own checker."""

    program: Path
    folder: Path

    def record(self, output: str, *options: str) -> Path:
        """Record it on a fresh pool."""
        pool = self.folder / "pm" / "pool"
        pool.parent.mkdir(exist_ok=True)
        script = self.folder / "run.sh"
        script.write_text(f"#!/bin/sh\nrm -f {pool}; exec {self.program} run {pool}\n")
        script.chmod(0o755)
        trace = self.folder / output
        done = pmemsim("record", "-o", trace, "--pm-path", pool.parent, *options, "--", script)
        assert done.returncode == 0, done.stderr
        return trace

    def crash(self, trace: Path, *options: str) -> dict[str, Any]:
        """Show its checker what x86 allows; returns what is found."""
        found = self.folder / "found.json"
        check = f"{self.program} check"
        done = pmemsim(
            "crash", trace, "--model", "px86", "--check", check, "--json", found, *options
        )
        run: dict[str, Any] = json.loads(found.read_text())["runs"][0]
        recovery = run["recovery"] or {"story": None, "reason": ""}
        assert recovery["reason"] == ""
        assert done.returncode == int(bool(run["story"] or recovery["story"])), done.stderr
        run["by"] = {"px86"} if run["story"] else {"recovery"} if recovery["story"] else set()
        return run

    def wrong_answers(self, trace: Path, operation: str) -> list[dict[str, Any]]:
        """What a program that only prints what is there gives away."""
        found = self.folder / "answers.json"
        reader = f"{self.program} answer"
        options = ["--answers", reader, "--operation", operation, "--json", str(found)]
        assert pmemsim("check", trace, *options).returncode in (0, 1)
        findings = json.loads(found.read_text())["findings"]
        return [each for each in findings if each["kind"] == "wrong-answer"]


def build(name: str, folder: Path, *, fixed: bool) -> Built:
    options = ["-O1", "-g", "-pthread", *(["-DFIXED"] if fixed else [])]
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, *options, FOLDER / f"{name}.c", "-o", folder / name], check=True)
    return Built(folder / name, folder)


def test_every_program_stands_in_the_table() -> None:
    assert sorted(CASES) == sorted(file.stem for file in FOLDER.glob("*.c"))


@pytest.mark.parametrize("name", CASES)
def test_a_bug_is_found_as_the_table_says(tmp_path: Path, name: str) -> None:
    found_by = set(CASES[name]["found_by"])
    built = build(name, tmp_path, fixed=False)
    trace = built.record("bug.pmt")
    assert pmemsim("check", trace).returncode == int("check" in found_by)
    assert built.crash(trace)["by"] == found_by & {"px86", "recovery"}
    if "answers" in found_by:
        wrong = built.wrong_answers(trace, CASES[name]["operation"])
        assert 1 <= len(wrong) <= MOST_OF_A_BUG
        assert {Path(each["file"]).name for each in wrong} == {f"{name}.c"}
    if "schedules" in found_by:
        built.record("bug.pmt", "--schedules", str(SCHEDULES))
        assert any(built.crash(tmp_path / f"bug.{number}.pmt")["by"] for number in range(SCHEDULES))


@pytest.mark.parametrize("name", CASES)
def test_no_twin_is_accused(tmp_path: Path, name: str) -> None:
    built = build(name, tmp_path, fixed=True)
    trace = built.record("fixed.pmt")
    done = pmemsim("check", trace)
    assert done.returncode == 0, done.stdout + done.stderr
    if operation := CASES[name].get("operation"):
        assert built.wrong_answers(trace, operation) == []
    run = built.crash(trace, "--without-each")
    assert not run["by"]
    assert run["recovery"]["recorded"] > 0
    # A fence or a flush is found missing, or was shown to be needless.
    assert {each["verdict"] for each in run["left_out"]} <= {
        "found", "same images", "all accepted",
    }  # fmt: skip
    assert any(each["verdict"] == "found" for each in run["left_out"]) or name in NEEDS_NONE
