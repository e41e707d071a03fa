"""`pmemsim advise`: what is planted can be removed, and what is missing is repaired."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus import CASES, FOLDER, build, record, recorded
from pmemsim import _core
from pmemsim.advice.advise import Advice
from pmemsim.advice.edits import edited
from pmemsim.advice.superfluous import Savings, Superfluous
from pmemsim.advice.variants import calls_of
from pmemsim.cli.advise import cost_text, summary_of
from pmemsim.program_check import check_program
from pmemsim.simulation import configure, simulate
from pmemsim.trace import Trace
from support import ROOT, long_except, pmemsim

DESIGN = ("--design", "sw-undo", "--machine", "xeon-optane")
# Programs whose bug flushes and fences mend.
MENDED = (
    "acknowledged_early", "array_before_name", "backlink_not_flushed", "bitmap_not_flushed",
    "buffer_switched_early", "checksum_before_pages", "data_line_not_flushed",
    "delete_before_copy", "directory_before_entries", "first_in_200", "first_line_only",
    "flushed_by_another", "freed_range_not_flushed", "handed_over_early",
    "link_not_persisted_by_reader", "lock_free_push", "log_ended_early", "log_line_not_flushed",
    "message_half_published", "no_fence_data_valid", "no_fence_log_valid", "no_fence_node_head",
    "node_never_flushed", "nt_tail", "nt_then_store", "nt_without_fence", "old_table_freed_twice",
    "owner_before_taken", "publish_unpersisted", "replica_with_original", "resize_before_copy",
    "root_before_header", "sent_before_durable", "sequence_even_early", "size_of_pointer",
    "store_after_flush", "two_writers_of_a_line", "write_returns_early",
)  # fmt: skip
# The line that these repair is inside a macro, so that the repair is a sentence.
WITHOUT_PATCH = {"old_table_freed_twice"}
# Programs without a line that is `persist(...);`.
WITHOUT_PERSIST = {"flush_without_order", "replica_with_original", "word_across_lines"}


def advise(trace: Path, program: Path, *options: str | Path) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and its JSON."""
    found = trace.parent / "advice.json"
    done = pmemsim(
        "advise", trace, *DESIGN, "--verify", f"{program} check", "--json", found, *options
    )
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(found.read_text())
    return done.returncode, document


def executed(trace: Path) -> int:
    """Return how many flushes and fences a recording executes."""
    counts = check_program(Trace(trace)).counts
    return counts["flushes"] + counts["fences"]


def edited_source(folder: Path, name: str, edit: Callable[[str], str] = str) -> Path:
    """Copy a program of the corpus, edited, to a folder; return its source."""
    folder.mkdir(exist_ok=True)
    shutil.copy(FOLDER / "case.h", folder)
    source = folder / f"{name}.c"
    source.write_text(edit((FOLDER / f"{name}.c").read_text()))
    return source


# ---- What can be removed ------------------------------------------------------------------------


def plant(text: str) -> str:
    """Repeat the first call of persist() on a line of its own."""
    planted = re.sub(
        r"^( *)(?:IF_FIXED\()?(persist\(.*\);)\)?$",
        r"\g<0>\n\1\2 /* planted */",
        text,
        count=1,
        flags=re.MULTILINE,
    )
    assert planted != text
    return planted


@pytest.mark.parametrize(
    "name",
    long_except(
        [name for name in CASES if name not in WITHOUT_PERSIST][::2],
        "acknowledged_early",
    ),
)  # fmt: skip
def test_planted_flushes_and_fences_can_go_and_needed_ones_stay(tmp_path: Path, name: str) -> None:
    source = edited_source(tmp_path, name, plant)
    build(source.with_suffix(""), source, "-DFIXED")
    trace = tmp_path / "planted.pmt"
    record(source.with_suffix(""), trace)
    status, advice = advise(trace, source.with_suffix(""))
    assert status == 0
    assert advice["repair"] is None
    line = next(
        number for number, text in enumerate(source.read_text().splitlines(), 1)
        if "planted" in text
    )  # fmt: skip
    proven = [each for each in advice["superfluous"] if each["proof"] == "same crash images"]
    planted = {
        each["name"] for each in proven if each["calls"] and each["calls"][-1]["line"] == line
    }
    assert planted == {"clwb", "sfence"}
    # Nothing that the checker or the rules need is proposed: without all of it, both find nothing.
    original = Trace(trace)
    without = _without(original, proven)
    left = edited(original, tmp_path / "without.pmt", (), without).trace
    assert not check_program(left).faults
    checked = pmemsim("check", left.path, "--verify", f"{source.with_suffix('')} check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # The times are those of simulations.
    configuration = configure(DESIGN[1], DESIGN[3])
    before = edited(original, tmp_path / "before.pmt", (), without, only_sites=True).trace
    saved = simulate(before, configuration).time_ns - simulate(left, configuration).time_ns
    assert advice["time_ns"] - advice["without_ns"] == pytest.approx(saved, abs=0.001)


def _without(trace: Trace, proven: list[dict[str, Any]]) -> _core.Without:
    wanted = {
        (each["name"], each["line"], *(call["line"] for call in each["calls"])) for each in proven
    }
    together = _core.Without()
    for call in _core.persist_calls(trace.file):
        if (call.name, call.place.line, *(each.line for each in call.calls)) in wanted:
            together = together.joined(call.without)
    return together


# ---- What is missing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    long_except(MENDED, "node_never_flushed", "publish_unpersisted"),
)
def test_a_repair_is_documented_and_accepted_after_its_patch_is_applied(
    tmp_path: Path, shared_folder: Path, name: str
) -> None:
    bug = recorded(name, shared_folder, fixed=False)
    patch = tmp_path / "repair.diff"
    status, advice = advise(bug.trace, bug.program, "--patch", patch)
    repair = advice["repair"]
    assert status == 1
    assert repair["steps"]
    assert repair["patch"] == patch.read_text()
    more = repair["flushes"] + repair["fences"] - repair["useless_executed"]
    twin = executed(recorded(name, shared_folder, fixed=True).trace) - executed(bug.trace)
    assert repairs_in_documentation()[name] == (_described(repair["steps"]), more, twin)
    if name in WITHOUT_PATCH:
        assert repair["sentences"]
        return
    assert repair["sentences"] == []
    folder = tmp_path / "repaired"
    source = edited_source(folder, name)
    subprocess.run(["patch", "-p1", "-i", patch], cwd=folder, check=True, stdout=subprocess.PIPE)
    build(source.with_suffix(""), source)
    trace = folder / "repaired.pmt"
    record(source.with_suffix(""), trace)
    checked = pmemsim("check", trace, "--verify", f"{source.with_suffix('')} check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _described(steps: list[dict[str, Any]]) -> str:
    words = {
        "flush": "flush what line {} stores", "flush loaded": "flush what line {} loads",
        "fence before": "fence before line {}", "fence after": "fence after line {}",
        "fence after call": "fence after line {}",
    }  # fmt: skip
    return ", ".join(sorted(words[step["what"]].format(step["line"]) for step in steps))


def repairs_in_documentation() -> dict[str, tuple[str, int, int]]:
    """Return the table of docs/guides/advise.md: by program the repair, its cost, the twin's."""
    text = (ROOT / "docs" / "guides" / "advise.md").read_text().partition("<!-- repairs -->")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (-?\d+) \| (-?\d+) \|$", text, re.MULTILINE)
    return {name: (repair, int(more), int(twin)) for name, repair, more, twin in rows}


def test_nine_of_ten_repairs_cost_no_more_than_the_twins() -> None:
    repairs = repairs_in_documentation()
    assert sorted(repairs) == sorted(MENDED)
    costlier = [name for name, (_, more, twin) in repairs.items() if more > twin]
    assert len(costlier) <= len(repairs) / 10


def test_a_program_whose_stores_are_in_the_wrong_order_has_no_repair(shared_folder: Path) -> None:
    case = recorded("flag_before_data", shared_folder, fixed=False)
    status, advice = advise(case.trace, case.program)
    assert status == 1
    assert advice["repair"]["steps"] == []
    assert "order" in advice["repair"]["reason"]


def test_without_a_checker_the_rules_alone_decide(shared_folder: Path) -> None:
    case = recorded("node_never_flushed", shared_folder, fixed=False)
    done = pmemsim("advise", case.trace, *DESIGN)
    assert done.returncode == 1
    assert "no checker was given" in done.stdout
    assert "never-flushed" in done.stderr
    needs_checker = recorded("no_fence_node_head", shared_folder, fixed=False)
    assert pmemsim("advise", needs_checker.trace, *DESIGN).returncode == 0


def test_summary_does_not_contradict_a_table_of_what_a_checker_accepts() -> None:
    trace = Trace(ROOT / "tests" / "pins" / "recordings" / "one_thread.pmt")
    accepted = Superfluous(calls_of(trace)[0], "accepted: 5 of 5 crash images", 3.0)
    savings = Savings((accepted,), 100.0, 100.0)
    advice = Advice(trace, configure("sw-undo", "xeon-optane"), True, None, savings)
    assert summary_of(advice, savings) == (
        f"{trace.name}: each of these can be removed or replaced by itself; its row says why"
    )


# ---- The command -------------------------------------------------------------------------------


@pytest.mark.long
def test_a_workload_with_its_own_checker() -> None:
    done = pmemsim(
        "advise", "tatp", "--threads", "1", "--regions", "5", "--verify", "own", "--budget", "20",
        "--json", "-", *DESIGN,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)
    assert advice["workload"] == "tatp"
    # A transaction stores one word; pm.h's own flushes and fences are not proposed.
    (log,) = advice["superfluous"]
    assert (log["name"], log["proof"]) == ("pm_log", "one word: pm_flush and pm_durable do")
    assert log["file"].endswith("tatp.cpp")
    assert advice["time_ns"] > log["saved_ns"] > 0


def test_bad_input_is_refused_in_one_sentence_each(tmp_path: Path) -> None:
    done = pmemsim(
        "advise", tmp_path / "none.pmt", "--design", "unknown", "--machine", "asap",
        "--budget", "few", "--patch", tmp_path / "no" / "x.diff", "--top", "0",
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    for part in ("unknown", "few", "x.diff", "--top 0", "none.pmt"):
        assert sum(part in line for line in done.stderr.splitlines()) == 1, done.stderr


def test_repair_that_makes_the_run_shorter_saves_time() -> None:
    assert cost_text(894.8, 13_670) == "cost 894.8 ns of 13.67 us"
    assert cost_text(-894.8, 13_670) == "save 894.8 ns of 13.67 us"
