"""`pmemsim profile` names the lines whose stalls are known, and loses no picosecond."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from host_instructions import whole_instructions
from pins.configurations import FOLDER
from pmemsim import profile
from pmemsim.profiling import Profile
from pmemsim.simulation import configure
from support import CAUSES, long_except, pmemsim

SOURCE = Path(__file__).with_name("slow_lines.c")
SMALL_CACHE: dict[str, object] = {"shared.size": "256KiB", "l2.size": "128KiB"}
ONE_BANK = {**SMALL_CACHE, "pm.controllers": 1, "pm.ranks": 1, "pm.banks_per_rank": 1}
SLOW_FENCE: dict[str, object] = {"pm.front_latency": "300ns"}
# Name of the program and of its line, design, settings of machine `asap`, and cause.
CASES: tuple[tuple[str, str, dict[str, object], str], ...] = (
    ("flush", "x86-bare", {}, "fence"),
    ("held", "x86-bare", SLOW_FENCE, "lock: fence"),
    ("wpq", "x86-bare", {"pm.wpq_entries": 4}, "WPQ"),
    ("chain", "x86-bare", {}, "dependence"),
    ("loads", "x86-bare", SMALL_CACHE, "PM"),
    ("log", "sw-undo", SLOW_FENCE, "log"),
    ("backend", "x86-bare@verified-serialized", {}, "backend"),
    ("stores", "x86-bare", {}, "store queue"),
    ("bank", "x86-bare", ONE_BANK, "bank"),
    ("busy", "x86-bare", {}, "lock"),
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("slow") / "slow_lines"
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-O2", "-g", "-mclwb", SOURCE, "-o", built, "-lpthread"], check=True)
    return built


def recorded(program: Path, name: str) -> Path:
    trace = program.with_name(f"{name}.pmt")
    if not trace.exists():
        done = pmemsim("record", "-o", trace, "--", program, name)
        assert done.returncode == 0, done.stderr
    return trace


def line_of(name: str) -> int:
    marked = f"/* {'flush' if name == 'backend' else name} */"
    (line,) = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if marked in text]
    return line


@pytest.mark.parametrize(("name", "design", "settings", "cause"), CASES)
def test_first_row_names_the_line_and_cause_of_a_known_stall(
    program: Path, name: str, design: str, settings: dict[str, object], cause: str
) -> None:
    found = profile(recorded(program, name), design=design, machine="asap", overrides=settings)
    ((line, *_), first), time = found.by_line().most_common(1)[0]
    assert (line.line, first) == (line_of(name), cause)
    assert time > 0.3 * found.time_ps


def test_time_in_a_flush_function_is_charged_to_its_caller(program: Path) -> None:
    found = profile(recorded(program, "flush"), design="x86-bare", machine="asap")
    functions = {row.calls[0].function for row in found.rows}
    assert "store_and_persist" in functions
    assert "persist" not in functions
    (path, _), _ = found.by_path().most_common(1)[0]
    assert [place.function for place in path][:2] == ["store_and_persist", "flush_in_a_function"]


def sums(found: Profile) -> dict[str, int]:
    times = dict.fromkeys(CAUSES, 0)
    for row in found.rows:
        times[row.account] += row.time_ps
    return times


DESIGNS = (
    "np", "sw-undo", "sw-redo", "hw-undo", "hw-redo", "asap", "lad", "redu+lalea", "dpo", "hops",
    "pmem-spec", "eadr", "janus", "ideal", "x86-bare", "sw-undo@enc+veri-pmweaver",
)  # fmt: skip


@pytest.mark.parametrize(
    ("recording", "design"),
    long_except(
        [(trace, design) for trace in ("one_thread", "four_threads") for design in DESIGNS],
        ("one_thread", "sw-undo"),
        ("four_threads", "sw-undo"),
        ("four_threads", "asap"),
        ("four_threads", "hops"),
        ("one_thread", "janus"),
    ),
)
def test_rows_of_each_account_add_up_to_its_statistic(recording: str, design: str) -> None:
    if design == "sw-redo":
        recording = "redo_log"
    trace = FOLDER / "recordings" / f"{recording}.pmt"
    for machine in ("asap", "xeon-optane"):
        found = profile(trace, design=design, machine=machine)
        stats = found.result.stats
        expected = {cause: round(stats[f"stall.{cause}_ns"] * 1000) for cause in CAUSES}
        assert sums(found) == expected
        # Each statistic is rounded down to a picosecond, and the total is rounded once.
        assert 0 <= round(stats["stall.total_ns"] * 1000) - found.time_ps < len(CAUSES)


def test_profiled_run_has_the_statistics_of_a_plain_run() -> None:
    from pmemsim import run

    for trace, design in (("four_threads", "asap"), ("one_thread", "sw-undo")):
        path = FOLDER / "recordings" / f"{trace}.pmt"
        plain = run(path, design=design, machine="asap")
        found = profile(path, design=design, machine="asap")
        assert found.result.statistics == plain.statistics


@pytest.mark.long
@pytest.mark.parametrize("design", ["sw-undo", "asap"])
@pytest.mark.parametrize("recording", ["one_thread", "four_threads"])
def test_profile_takes_at_most_one_and_a_half_times_the_host_instructions(
    recording: str, design: str, tmp_path: Path
) -> None:
    trace, configuration = FOLDER / "recordings" / f"{recording}.pmt", configure(design, "asap")
    plain = whole_instructions(trace, configuration, "run", tmp_path)
    assert plain < whole_instructions(trace, configuration, "profile", tmp_path) <= 1.5 * plain


def test_json_has_the_rows_of_each_run(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "profile.json"
    done = pmemsim(
        "profile", recorded(program, "flush"), "-d", "x86-bare", "--diff", "np", "-m", "asap",
        "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "slow_lines: design np, machine asap" in done.stderr
    first, second = json.loads(output.read_text())["profiles"]
    assert (first["design"], second["design"]) == ("x86-bare", "np")
    for each in (first, second):
        times = [round(1000 * row["time_ns"]) for row in each["rows"]]
        assert sum(times) == round(1000 * each["core_time_ns"])
    top = first["rows"][0]
    assert (top["line"], top["cause"], top["account"]) == (line_of("flush"), "fence", "fence")
    assert top["calls"][0]["function"] == "flush_in_a_function"


def test_table_shows_source_text_and_fits_the_terminal(program: Path) -> None:
    trace = shutil.copy(recorded(program, "flush"), program.with_name("older.pmt"))
    os.utime(trace, (0, 0))
    for columns in (80, 120):
        done = pmemsim(
            "profile", trace, "-d", "x86-bare", "-m", "asap", "--top", "5", cwd=SOURCE.parent,
            environment={"COLUMNS": str(columns), "FORCE_COLOR": "1", "TERM": "xterm"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "modified after older.pmt was written" in done.stderr
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        assert "slow_lines.c" in text
        assert "persist(line)" in text
        assert "of which fence" in text


def test_several_machines_have_a_column_each(program: Path) -> None:
    done = pmemsim("profile", recorded(program, "flush"), "-d", "x86-bare", "-m", "asap,cxl")
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if "cause" in line and "source" in line)
    assert "asap" in head
    assert "cxl" in head
    assert "asap: " in done.stdout
    assert "cxl: " in done.stdout


def check_speedscope(document: dict[str, Any]) -> None:
    """Check what the file format's schema requires of sampled profiles."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    assert all(isinstance(frame.get("line", 0), int) for frame in frames)
    for each in document["profiles"]:
        assert each["type"] == "sampled"
        assert each["unit"] == "nanoseconds"
        assert {"name", "startValue", "endValue"} <= each.keys()
        assert len(each["samples"]) == len(each["weights"])
        assert all(0 <= frame < len(frames) for stack in each["samples"] for frame in stack)
        assert sum(each["weights"]) == pytest.approx(each["endValue"] - each["startValue"])


def test_speedscope_file_has_a_stack_for_each_path_and_cause(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "flush.speedscope.json"
    trace = recorded(program, "flush")
    done = pmemsim("profile", trace, "-d", "x86-bare", "-m", "asap,cxl", "-o", output)
    assert done.returncode == 0, done.stderr
    document = json.loads(output.read_text())
    check_speedscope(document)
    assert len(document["profiles"]) == 2
    frames, first = document["shared"]["frames"], document["profiles"][0]
    longest = first["samples"][first["weights"].index(max(first["weights"]))]
    *_, caller, line, cause = (frames[each]["name"] for each in longest)
    assert caller.startswith("flush_in_a_function (")
    assert line.startswith("store_and_persist (")
    assert cause == "fence"


def test_callgrind_file_has_own_and_inclusive_times(program: Path, tmp_path: Path) -> None:
    output = tmp_path / "callgrind.out"
    trace = recorded(program, "flush")
    done = pmemsim(
        "profile", trace, "-d", "x86-bare", "-m", "asap", "--format", "callgrind", "-o", output
    )
    assert done.returncode == 0, done.stderr
    text = output.read_text()
    (summary,) = re.findall(r"^summary: (\d+)", text, re.MULTILINE)
    own, in_call = 0, False
    for line in text.splitlines():
        if line.startswith("calls="):
            in_call = True
        elif line[:1].isdigit():
            own += 0 if in_call else int(line.split()[1])
            in_call = False
    assert own == int(summary)
    if annotate := shutil.which("callgrind_annotate"):
        shown = subprocess.run(
            [annotate, "--inclusive=yes", output], capture_output=True, text=True, check=True
        )
        assert f"{int(summary):,}" in shown.stdout
        assert "store_and_persist" in shown.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-m", "asap", "--format", "callgrind"], "needs --output"),
        (["-m", "asap", "--format", "svg", "-o", "x"], "--format svg: must be speedscope or"),
        (["-m", "asap,cxl", "--format", "callgrind", "-o", "x"], "has one run only"),
        (["-m", "asap,asap"], "machine 'asap' is given twice"),
        (["-m", "asap", "--diff", "sw-undo"], "design 'sw-undo' is given twice"),
        (["-m", ","], "--machine names no machine"),
        (["-m", "asap", "--top", "0"], "--top 0: must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options: list[str], problem: str, tmp_path: Path) -> None:
    trace = FOLDER / "recordings" / "one_thread.pmt"
    done = pmemsim("profile", trace, "-d", "sw-undo", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
