"""`pmemsim check --answers`: after a crash a program answers as before or after an operation."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support import LONG_TESTS, long_except, pmemsim

FOLDER = Path(__file__).parent
# The mistakes of answered_list.c, by number.
RIGHT, NODE_NOT_FLUSHED, HEAD_NOT_FLUSHED, IN_TWO_STEPS, SET_UP_TORN = range(5)
LIST, REGIONS = "answered_list.c", "answered_regions.c"
# The mistakes of answered_under_lock.c; with COMBINED, it has none.
UNDER_LOCK = "answered_under_lock.c"
NO_FENCE, COMBINED = 1, 2
# The long form has thousands of its images.
SOME = () if LONG_TESTS else ("--budget", "500")
Build = Callable[..., tuple[Path, Path]]


def line_of(comment: str, source: str = LIST) -> int:
    """Return the line of the program that ends with this comment."""
    lines = (FOLDER / source).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"  // {comment}")]
    return number


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build a program with a mistake, and record it."""
    folder = tmp_path_factory.mktemp("answers")

    @cache
    def made(bug: int, threads: int, source: str) -> tuple[Path, Path]:
        name = f"{Path(source).stem}-{bug}-{threads}"
        program, trace, pm = folder / name, folder / f"{name}.pmt", folder / f"pm-{name}"
        compiler = Path(sys.executable).with_name("pmemsim-cc")
        given = ["-O2", "-g", "-pthread", f"-DBUG={bug}", f"-DTHREADS={threads}"]
        subprocess.run([compiler, *given, FOLDER / source, "-o", program], check=True)
        pm.mkdir()
        done = pmemsim("record", "-o", trace, "--pm-path", pm, "--", program, pm / "pool")
        assert done.returncode == 0, done.stderr
        return program, trace

    return lambda bug, threads=1, source=LIST: made(bug, threads, source)


def ask(
    built: tuple[Path, Path], *options: str | Path, operation: str | None = "push"
) -> subprocess.CompletedProcess[str]:
    program, trace = built
    named = ["--operation", operation] if operation else []
    return pmemsim("check", trace, "--answers", f"{program} list", *named, *options)


def answers(
    built: tuple[Path, Path], *options: str, operation: str | None = "push"
) -> dict[str, Any]:
    done = ask(built, "--json", "-", *options, operation=operation)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def wrong(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in found["findings"] if each["kind"] == "wrong-answer"]


@pytest.mark.parametrize("threads", [1, 2])
def test_right_program_has_no_wrong_answers(build: Build, threads: int) -> None:
    found = answers(build(RIGHT, threads))
    assert wrong(found) == []
    asked = found["answers"]
    assert asked["complete"]
    assert asked["images"] == asked["possible"] > 8 * threads
    assert asked["operations"] == 4 * threads
    assert asked["operations_are"] == ["push"]
    assert (asked["wrong"], asked["unjudged"]) == (0, 0)


@pytest.mark.parametrize(
    ("bug", "comment", "threads"),
    long_except(
        [
            (NODE_NOT_FLUSHED, "value", 1),
            (NODE_NOT_FLUSHED, "value", 2),
            (HEAD_NOT_FLUSHED, "head", 1),
            (HEAD_NOT_FLUSHED, "head", 2),
            (IN_TWO_STEPS, "length", 1),
        ],
        (NODE_NOT_FLUSHED, "value", 1),
        (HEAD_NOT_FLUSHED, "head", 2),
        (IN_TWO_STEPS, "length", 1),
    ),
)
def test_a_bug_is_one_finding_at_its_line(
    build: Build, bug: int, comment: str, threads: int
) -> None:
    found = answers(build(bug, threads))
    (finding,) = wrong(found)
    assert (finding["line"], finding["function"]) == (line_of(comment), "push")
    assert finding["loses_data"]
    assert finding["count"] == found["answers"]["wrong"]
    assert finding["wrong_answer"]["lost"] == (bug != IN_TWO_STEPS)


def test_explanation_has_the_wrong_answer_and_the_allowed_answers(build: Build) -> None:
    done = ask(build(IN_TWO_STEPS))
    assert done.returncode == 1
    text = done.stderr.split("wrong-answer")[1]
    assert "of a crash in push number 1 (thread 1)" in text
    assert "printed: `version 7`, ..." in text
    assert "allowed, before it: line 2 is `0 items`, not `1 items`" in text
    assert "allowed, after it: line 3 is `101`, not missing" in text
    assert "the crash is immediately before the sfence of thread 1" in text
    again = pmemsim(*shlex.split(text.split("to reproduce: pmemsim")[1]))
    assert again.returncode == 1
    assert again.stderr.split("wrong-answer")[1] == text
    assert "wrong-answer" in done.stdout
    assert re.search(
        r"answers under px86: \d+ of \d+ images answered by .* list, 4 operations "
        r"\(calls of push\), \d+ wrong",
        done.stdout,
    )


@pytest.mark.parametrize("threads", long_except([2, 3], 2))
def test_operations_that_wait_for_a_lock_do_not_hide_a_missing_fence(
    build: Build, threads: int
) -> None:
    found = answers(build(NO_FENCE, threads, UNDER_LOCK), *SOME, operation="append")
    assert {each["function"] for each in wrong(found)} == {"put"}
    assert found["answers"]["unjudged"] == 0


@pytest.mark.parametrize(("program", "threads"), long_except([(COMBINED, 2), (RIGHT, 3)]))
def test_operations_under_a_lock_are_right_also_if_its_holder_executes_them(
    build: Build, program: int, threads: int
) -> None:
    found = answers(build(program, threads, UNDER_LOCK), *SOME, operation="append")
    assert wrong(found) == []
    assert found["answers"]["unjudged"] <= found["answers"]["images"] // 100


def test_explanation_names_a_store_that_is_never_flushed(build: Build) -> None:
    """The head's last store is never flushed, and no operation follows it."""
    (finding,) = wrong(answers(build(HEAD_NOT_FLUSHED)))
    story = "\n".join(finding["wrong_answer"]["story"])
    assert f"{LIST}:{line_of('head')}" in story


def test_incomplete_set_up_is_allowed_but_not_a_torn_one(build: Build) -> None:
    assert wrong(answers(build(RIGHT))) == []
    (finding,) = wrong(answers(build(SET_UP_TORN)))
    assert finding["function"] == "set_up"
    said = finding["wrong_answer"]
    assert said["where"] == "before the first operation"
    assert said["answer"] == "`version 0`"
    assert "of a file of zeros: line 1 is `version -1`, not `version 0`" in said["allowed"]


def test_regions_count_as_operations_without_operation_option(build: Build) -> None:
    assert wrong(answers(build(0, 1, REGIONS), operation=None)) == []
    found = answers(build(1, 1, REGIONS), operation=None)
    (finding,) = wrong(found)
    assert finding["line"] == line_of("second", REGIONS)
    assert found["answers"]["operations"] == 5
    assert found["answers"]["operations_are"] == []


def test_number_of_jobs_changes_no_answer(build: Build) -> None:
    one = answers(build(NODE_NOT_FLUSHED, 2), "--budget", "200", "--jobs", "1")
    three = answers(build(NODE_NOT_FLUSHED, 2), "--budget", "200", "--jobs", "3")
    for each in (one, three):
        each["answers"].pop("wall_s")
    assert one == three
    assert one["answers"]["images"] == 200


def test_eadr_needs_no_flush(build: Build) -> None:
    assert wrong(answers(build(NODE_NOT_FLUSHED), "--model", "eadr")) == []
    (finding,) = wrong(answers(build(IN_TWO_STEPS), "--model", "eadr"))
    assert finding["line"] == line_of("length")


def test_wrong_answers_can_be_suppressed(build: Build, tmp_path: Path) -> None:
    meant = tmp_path / "meant.yaml"
    meant.write_text(
        f'- {{kind: wrong-answer, source: "{LIST}:*", function: push, comment: "counts lag"}}\n'
    )
    done = ask(build(IN_TWO_STEPS), "--suppress", meant)
    assert done.returncode == 0, done.stderr
    assert "suppressed: 1 finding" in done.stdout


def test_image_option_checks_one_image(build: Build) -> None:
    found = answers(build(RIGHT), "--image", "3")
    assert found["answers"]["images"] == 1
    done = ask(build(RIGHT), "--image", "1000")
    assert done.returncode == 2
    assert re.search(r"--image 1000: there are only \d+ images", done.stderr)


def test_a_reader_that_crashes_or_hangs_answers_wrong(build: Build, tmp_path: Path) -> None:
    program, trace = build(NODE_NOT_FLUSHED)
    reader = tmp_path / "reader"
    for instead, words in {
        "kill -SEGV $$": "died of signal SIGSEGV",
        "sleep 100": "did not end within 0.5 s",
        "exit 9": "status 9",
        "yes": "printed more than 16 MiB",
    }.items():
        # A node without its value.
        reader.write_text(
            f"#!/bin/sh\nanswer=$({program} list $1)\n"
            f'case "$answer" in *"\n0"*) {instead};; *) echo "$answer";; esac\n'
        )
        reader.chmod(0o755)
        options = ["--operation", "push", "--verify-timeout", "0.5", "--budget", "5"]
        done = pmemsim("check", trace, "--answers", reader, *options)
        assert done.returncode == 1
        assert words in done.stderr.split("printed: ")[1].splitlines()[0]
        assert "--verify-timeout 0.5" in done.stderr.split("to reproduce")[1]


def test_readers_without_answers_are_refused(build: Build, tmp_path: Path) -> None:
    _, trace = build(RIGHT)
    reader = tmp_path / "reader"
    for script, sentence in {
        "exit 4": "the reader fails on the complete image at the end of the recording: ",
        "echo there": "the output is the same before and after all operations (`there`)",
        "date +%N": "the output differs between runs on the same image",
    }.items():
        reader.write_text(f"#!/bin/sh\n{script}\n")
        reader.chmod(0o755)
        done = pmemsim("check", trace, "--answers", reader, "--operation", "push")
        assert done.returncode == 2, done.stdout
        assert sentence in done.stderr
    done = pmemsim("check", trace, "--answers", "/no/reader", "--operation", "push")
    assert done.returncode == 2
    assert "--answers /no/reader: no such program; name an existing one" in done.stderr


def test_unknown_operation_functions_are_refused(build: Build) -> None:
    done = ask(build(RIGHT), operation=None)
    assert done.returncode == 2
    assert "has no atomic region (pm_begin), so its operations are unknown" in done.stderr
    assert "candidates: push (4 calls)" in done.stderr
    done = ask(build(RIGHT), operation="pusj")
    assert done.returncode == 2
    assert "executed no such function; did you mean 'push'?" in done.stderr
    done = ask(build(RIGHT), operation="persist")
    assert done.returncode == 2
    assert (
        "persist was inlined into its callers, so its calls can't be distinguished" in done.stderr
    )
    assert wrong(answers(build(RIGHT), operation="other,pus[gh]")) == []


def test_options_that_do_not_fit_are_refused(build: Build) -> None:
    _, trace = build(RIGHT)
    for options, sentence in {
        ("--operation", "push"): "--operation push: needs --answers",
        ("--budget", "3"): "--budget 3: needs --verify or --verify-library or --answers",
        ("--image", "3"): "--image 3: needs --verify or --verify-library or --answers",
        ("--answers", ""): "--answers: the command is empty",
        ("--answers", "'x"): "--answers 'x: No closing quotation",
        ("--answers", "true", "--budget", "many"): "--budget many: must be a number of images",
        ("--answers", "true", "--image", "0"): "--image 0: must be at least 1",
        (
            "--answers",
            "true",
            "--verify-timeout",
            "0",
        ): "--verify-timeout 0: must be greater than 0",
    }.items():
        done = pmemsim("check", trace, *options)
        assert done.returncode == 2
        assert sentence in done.stderr
