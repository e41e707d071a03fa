"""`pmemsim advise`: calls of pm_log that a program doesn't need, and those that it does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pmemsim.advice.edits import NONE_LEFT_OUT
from pmemsim.advice.logging import needless_logging
from pmemsim.simulation import configure
from pmemsim.trace import Trace
from support import ROOT, pmemsim

SOURCE = ROOT / "tests" / "python" / "needless_logs.c"
RECORDINGS = ROOT / "tests" / "pins" / "recordings"


def recorded(folder: Path, name: str, *options: str, source: Path = SOURCE) -> Path:
    """Build a variant of the program, and record it on a fresh pool; return the recording."""
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    program = folder / name
    subprocess.run([compiler, "-O1", "-g", *options, source, "-o", program], check=True)
    done = pmemsim("record", "-o", folder / f"{name}.pmt", "--", program, folder / f"{name}.pool")
    assert done.returncode == 0, done.stderr
    return folder / f"{name}.pmt"


def states(trace: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return what recovery leaves after crashes of the program."""
    found = trace.with_suffix(".states")
    monkeypatch.setenv("STATES", str(found))
    done = pmemsim(
        "check", trace, "--verify", f"{trace.with_suffix('')} check", "--budget", "2000",
        "--jobs", "1",
    )  # fmt: skip
    assert "rejected" in done.stdout, done.stdout + done.stderr
    return set(found.read_text().splitlines())


def advice(trace: Path) -> dict[str, Any]:
    done = pmemsim("advise", trace, "-d", "sw-undo", "-m", "xeon-optane", "--json", "-")
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def planted() -> set[tuple[int, str]]:
    """Return the line of each needless call, and the reason in its comment."""
    return {
        (number, found[1])
        for number, text in enumerate(SOURCE.read_text().splitlines(), 1)
        if (found := re.search(r"/\* (?:range 3: )?([a-z ]+) \*/$", text))
        and (found[1] == "one word" or "PLANTED" in text or "range 3" in text)
    }


@pytest.mark.long
def test_planted_calls_can_go_and_needed_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = recorded(tmp_path, "all")
    found = advice(trace)["superfluous"]
    reasons = {
        (each["line"], each["proof"].split(": ")[-1 if "recovery" in each["proof"] else 0])
        for each in found
    }
    assert reasons == planted()
    assert len(planted()) == 7
    assert [each["calls"] for each in found if each["function"] == "read_logged"] != [[]]
    without = recorded(tmp_path, "without", "-DWITHOUT")
    assert advice(without)["superfluous"] == []
    both = states(trace, monkeypatch)
    assert states(without, monkeypatch) == both
    assert not any(broken(state) for state in both)
    lacks = recorded(tmp_path, "lacks", "-DWITHOUT", "-DLEFT_OUT")
    found_broken = {name for state in states(lacks, monkeypatch) for name in broken(state)}
    assert found_broken == {"first", "second", "flushed"}


def broken(state: str) -> list[str]:
    """Return the lines of a state that no region leaves."""
    words = [int(number) for number in re.findall(r"(\d+):1", state)]
    orders = {"first": (0, 1), "second": (8, 9), "flushed": (32, 17)}
    torn = {name: sum(word in words for word in pair) == 1 for name, pair in orders.items()}
    # The flushed word is persistent first.
    torn["flushed"] = 17 in words and 32 not in words
    return [name for name, is_torn in torn.items() if is_torn]


def test_logging_is_examined_only_where_a_design_executes_it() -> None:
    def note(recording: str, design: str) -> str:
        configuration = configure(design, "asap")
        return needless_logging(
            Trace(RECORDINGS / f"{recording}.pmt"), configuration, NONE_LEFT_OUT
        ).note

    assert note("one_thread", "sw-undo") == ""
    assert note("one_thread", "asap").startswith(
        "logging was not examined: asap does not execute pm.h's undo log"
    )
    assert "redo log" in note("redo_log", "sw-redo")
    assert note("corpus/torn_pair", "asap") == ""
