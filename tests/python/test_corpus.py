"""Programs with one bug each, and their corrected twins: which command finds which bug."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus import CASES, FOLDER, NAMES, Recorded, record, recorded
from support import pmemsim

SCHEDULES = 50
# The correction of these bugs is neither a flush nor a fence of the recorded part, or no
# image shows them: an image doesn't contain replies.
NEEDS_NONE = {
    "acknowledged_early", "sent_before_durable",
    "checksum_missing", "recovery_not_idempotent", "recovery_without_flush", "same_line_assumed",
    "truncated_before_rebuild", "wide_exchange_torn", "word_across_lines",
}  # fmt: skip


# Either one of two lines that must persist together may be the lost one.
MOST_OF_A_BUG = 2


def crash(case: Recorded, folder: Path, *options: str) -> dict[str, Any]:
    """Show a case's checker the images that x86 allows, and return what is found."""
    found = folder / "found.json"
    check = f"{case.program} check"
    done = pmemsim(
        "check", case.trace, "--model", "px86", "--verify", check, "--json", found, *options
    )
    document = json.loads(found.read_text())
    run: dict[str, Any] = document["images"][0]
    recovery = run["recovery"] or {"story": None, "reason": ""}
    assert recovery["reason"] == ""
    (verdict,) = [each for each in document["verdicts"] if each["method"] == "images"]
    rejected = bool(run["story"] or recovery["story"])
    assert verdict["result"] == ("found" if rejected else "nothing found")
    assert done.returncode == 1 if rejected else done.returncode in (0, 1), done.stderr
    run["by"] = {"px86"} if run["story"] else {"recovery"} if recovery["story"] else set()
    return run


def wrong_answers(case: Recorded, folder: Path, operation: str) -> list[dict[str, Any]]:
    """Return the wrong answers of a program that only prints its contents."""
    found = folder / "answers.json"
    reader = f"{case.program} answer"
    options = ["--answers", reader, "--operation", operation, "--json", str(found)]
    assert pmemsim("check", case.trace, *options).returncode in (0, 1)
    findings = json.loads(found.read_text())["findings"]
    return [each for each in findings if each["kind"] == "wrong-answer"]


def test_every_program_is_in_the_table() -> None:
    assert sorted(CASES) == sorted(file.stem for file in FOLDER.glob("*.c"))


@pytest.mark.parametrize("name", CASES)
def test_an_entry_of_the_table_has_known_keys_and_a_well_formed_report(name: str) -> None:
    case = CASES[name]
    assert {"bug", "found_by"} <= set(case) <= {"bug", "found_by", "operation", "from"}
    assert set(case["found_by"]) <= {"check", "px86", "recovery", "schedules", "answers"}
    assert ("answers" in case["found_by"]) == ("operation" in case)
    assert re.fullmatch(r"[\w-]+/[\w-]+#\d+", case.get("from", "pmem/pmdk#1"))


def test_a_public_report_has_one_program() -> None:
    reports = [case["from"] for case in CASES.values() if "from" in case]
    assert len(reports) == len(set(reports))


@pytest.mark.parametrize("name", NAMES)
def test_a_bug_is_found_as_the_table_says(tmp_path: Path, shared_folder: Path, name: str) -> None:
    found_by = set(CASES[name]["found_by"])
    case = recorded(name, shared_folder, fixed=False)
    assert pmemsim("check", case.trace).returncode == int("check" in found_by)
    assert crash(case, tmp_path)["by"] == found_by & {"px86", "recovery"}
    if "answers" in found_by:
        wrong = wrong_answers(case, tmp_path, CASES[name]["operation"])
        assert 1 <= len(wrong) <= MOST_OF_A_BUG
        assert {Path(each["file"]).name for each in wrong} == {f"{name}.c"}
    if "schedules" in found_by:
        record(case.program, tmp_path / "bug.pmt", "--schedules", str(SCHEDULES))
        traces = [tmp_path / f"bug.{number}.pmt" for number in range(SCHEDULES)]
        assert any(crash(replace(case, trace=trace), tmp_path)["by"] for trace in traces)


@pytest.mark.parametrize("name", NAMES)
def test_check_finds_nothing_in_corrected_programs(
    tmp_path: Path, shared_folder: Path, name: str
) -> None:
    case = recorded(name, shared_folder, fixed=True)
    done = pmemsim("check", case.trace)
    assert done.returncode == 0, done.stdout + done.stderr
    if operation := CASES[name].get("operation"):
        assert wrong_answers(case, tmp_path, operation) == []
    run = crash(case, tmp_path, "--without-each")
    assert not run["by"]
    assert run["recovery"]["recorded"] > 0
    # A fence or a flush is found missing, or was shown to be needless.
    assert {each["verdict"] for each in run["left_out"]} <= {
        "found", "same images", "all accepted",
    }  # fmt: skip
    assert any(each["verdict"] == "found" for each in run["left_out"]) or name in NEEDS_NONE
