"""Races that `pmemsim check` infers from one recording, and recordings of the inferred order."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus import Recorded, record, recorded
from pmemsim.program_check import check_program
from pmemsim.trace import Trace
from support import long_except, pmemsim

RACES = {
    "link_not_persisted_by_reader": "could-read-unpersisted",
    "lost_update": "could-lose-update",
}


# Recordings in whose order no image shows the bug. The usual one of the first program shows it.
ORDERS = {"link_not_persisted_by_reader": ("--schedule", "11"), "lost_update": ()}


def races(trace: Path, kind: str, folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code of `check`, and the findings of the kind."""
    output = folder / "found.json"
    done = pmemsim("check", trace, "--json", output)
    findings = json.loads(output.read_text())["findings"]
    return done.returncode, [finding for finding in findings if finding["kind"] == kind]


def has_wrong_image(case: Recorded, trace: Path, folder: Path) -> bool:
    output = folder / "images.json"
    pmemsim("check", trace, "--verify", f"{case.program} check", "--json", output)
    (verdict,) = [
        each for each in json.loads(output.read_text())["verdicts"] if each["method"] == "images"
    ]
    assert verdict["result"] in {"found", "nothing found"}
    return bool(verdict["result"] == "found")


@pytest.mark.parametrize("name", RACES)
def test_inferred_order_is_confirmed_by_images_of_its_recording(
    tmp_path: Path, shared_folder: Path, name: str
) -> None:
    case = recorded(name, shared_folder, fixed=False)
    trace, held = tmp_path / "usual" / "usual.pmt", tmp_path / "held.pmt"
    trace.parent.mkdir()
    record(case.program, trace, *ORDERS[name])
    assert not has_wrong_image(case, trace, tmp_path), "the recorded order shows the bug"
    status, (finding,) = races(trace, RACES[name], tmp_path)
    assert (status, finding["note"]) == (1, False)
    text = pmemsim("check", trace).stdout
    assert f"--hold {finding['order']['hold']}" in " ".join(text.split())
    record(case.program, held, *ORDERS[name], "--hold", finding["order"]["hold"])
    assert Trace(held).metadata["hold"]["result"] == "held"
    assert has_wrong_image(case, held, tmp_path)


@pytest.mark.parametrize("name", RACES)
def test_corrected_program_has_no_race_in_any_inferred_order(
    tmp_path: Path, shared_folder: Path, name: str
) -> None:
    case = recorded(name, shared_folder, fixed=True)
    status, notes = races(case.trace, RACES[name], tmp_path)
    assert status == 0
    assert [note["reason"] for note in notes] in ([], ["unseen_path"])
    for number, note in enumerate(notes):
        held = tmp_path / str(number) / "held.pmt"
        held.parent.mkdir()
        record(case.program, held, "--hold", note["order"]["hold"])
        assert Trace(held).metadata["hold"]["result"] == "held"
        assert races(held, RACES[name], tmp_path)[0] == 0
        assert not has_wrong_image(case, held, tmp_path)


def test_finding_names_the_load_the_store_and_its_fence(
    tmp_path: Path, shared_folder: Path
) -> None:
    name = "link_not_persisted_by_reader"
    source = (Path(__file__).parents[1] / "corpus" / f"{name}.c").read_text().splitlines()
    _, (finding,) = races(recorded(name, shared_folder, fixed=False).trace, RACES[name], tmp_path)
    order = finding["order"]
    assert "atomic_load(&shared->newest)" in source[finding["line"] - 1]
    assert "shared->seen =" in source[finding["other"]["line"] - 1]
    assert "atomic_store(&shared->newest" in source[order["store"]["line"] - 1]
    assert order["fence"]["function"] == "fence"
    assert [call["function"] for call in order["fence_calls"]] == ["persist", "settle", "publish"]
    assert order["hold"] == f"{order['thread']}:{order['operation']}"


IDIOMS = (
    "counted", "flush-on-read", "double-checked", "flag", "seqlock", "publication", "lock",
    "halves",
)  # fmt: skip


@pytest.fixture(scope="module")
def correct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("correct") / "correct_races"
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    source = Path(__file__).with_name("correct_races.c")
    subprocess.run([compiler, "-O1", "-g", "-pthread", source, "-o", program], check=True)
    return program


@pytest.mark.parametrize("idiom", long_except(IDIOMS, "counted", "seqlock", "halves"))
def test_no_race_is_inferred_in_correct_idioms(correct: Path, tmp_path: Path, idiom: str) -> None:
    schedules, pm = ["--schedules", "4"], ["--pm-range", "500000000000:500000001000"]
    output = tmp_path / "idiom.pmt"
    done = pmemsim("record", *schedules, *pm, "-o", output, "--", correct, idiom)
    assert done.returncode == 0, done.stderr
    for trace in tmp_path.glob("*.pmt"):
        kinds = {finding.kind for finding in check_program(Trace(trace)).findings}
        assert not kinds & set(RACES.values())


def test_recording_until_the_hold_is_that_of_the_same_schedule(
    tmp_path: Path, shared_folder: Path
) -> None:
    case = recorded("lost_update", shared_folder, fixed=False)
    for schedule in ("0", "1"):
        folder = tmp_path / schedule
        folder.mkdir()
        usual, held = folder / "usual.pmt", folder / "held.pmt"
        record(case.program, usual, "--schedule", schedule)
        shutil.rmtree(folder / "pm")
        record(case.program, held, "--schedule", schedule, "--hold", "1:999999")
        assert Trace(held).metadata["hold"]["result"] == "not reached"
        dumps = [pmemsim("trace", "dump", path, "--thread", "1").stdout for path in (usual, held)]
        assert dumps[0] == dumps[1]
        assert Trace(usual).summary() == Trace(held).summary()


def test_recording_of_the_same_hold_is_the_same_to_the_byte(
    tmp_path: Path, shared_folder: Path
) -> None:
    case = recorded("lost_update", shared_folder, fixed=False)
    held = tmp_path / "held.pmt"
    contents = []
    for _ in range(2):
        record(case.program, held, "--hold", "1:5")
        contents.append(held.read_bytes())
        shutil.rmtree(tmp_path / "pm")
    assert contents[0] == contents[1]


def test_record_says_why_a_hold_has_no_effect(tmp_path: Path, shared_folder: Path) -> None:
    case = recorded("lost_update", shared_folder, fixed=False)
    pool = tmp_path / "pool"
    for hold, why in (
        ("1:999999", "the thread has not executed the operation of --hold"),
        ("0:999", "the thread has not executed the operation of --hold"),
    ):
        done = pmemsim(
            "record", "--hold", hold, "-o", tmp_path / "held.pmt", "--pm-path", tmp_path,
            "--", case.program, "run", pool,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert why in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--hold", "1"], "--hold 1: must be a thread and one of its operations"),
        (["--hold", "1:x"], "--hold 1:x: must be a thread and one of its operations"),
        (["--hold", "1:2", "--schedules", "2"], "an operation's number is that of one schedule"),
    ],
)
def test_record_refuses_impossible_holds(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = pmemsim("record", *arguments, "-o", tmp_path / "x.pmt", "--", "/bin/true")
    assert done.returncode == 2
    assert sentence in done.stderr
