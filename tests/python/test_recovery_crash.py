"""`pmemsim check --verify`: a checker's recovery is crashed again."""

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

from pmemsim.recovery import MOST_RECORDED, _chosen
from support import LONG_TESTS, pmemsim

SOURCE = Path(__file__).with_name("two_files.c")
CORPUS = Path(__file__).parents[1] / "corpus"
RIGHT, RECOVERY, PROGRAM, HANGS = 0, 1, 2, 3
Built = tuple[Path, Path]


def line_of(comment: str) -> str:
    """Return the place of a line of the program."""
    lines = SOURCE.read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"// {comment}")]
    return f"two_files.c:{number}"


def compiled(compiler: str | Path, source: Path, program: Path, *options: str) -> Path:
    given = ["-O1", "-g", "-pthread", *options, str(source), "-o", str(program)]
    subprocess.run([compiler, *given], check=True)
    return program


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Built]:
    """Build the program with a bug, and record it."""
    folder = tmp_path_factory.mktemp("files")
    pmemsim_cc = Path(sys.executable).with_name("pmemsim-cc")

    @cache
    def built(bug: int) -> Built:
        program = compiled(pmemsim_cc, SOURCE, folder / f"files{bug}", f"-DBUG={bug}")
        trace, pool = folder / f"files{bug}.pmt", folder / f"pm{bug}"
        pool.mkdir()
        done = pmemsim("record", "-o", trace, "--pm-path", pool, "--", program, "run",
                       pool / "log", pool / "data")  # fmt: skip
        assert done.returncode == 0, done.stderr
        return program, trace

    return built


def crash(built: Built, *options: str | Path) -> subprocess.CompletedProcess[str]:
    program, trace = built
    return pmemsim("check", trace, "--model", "px86", "--verify", f"{program} check", *options)


def recovery_of(built: Built, output: Path, *options: str | Path) -> dict[str, Any]:
    crash(built, "--json", output, *options)
    found: dict[str, Any] = json.loads(output.read_text())["images"][0]["recovery"]
    return found


def test_a_violation_after_a_second_crash_is_reported(build: Callable[[int], Built]) -> None:
    done = crash(build(RECOVERY))
    assert done.returncode == 1, done.stdout
    assert re.search(
        r"is not crash-safe under px86: after a second crash, during recovery, .* "
        r"check ended with status 1: the halves differ",
        done.stderr,
    )
    first, second = done.stderr.split("a second crash, during its recovery")
    assert re.search(r"the first crash left image \d+, which recovers correctly:", first)
    assert f"{line_of('first half')}, thread 0: 8 bytes from 0x500000800000" in first
    lost = second.split("lost in this image, although visible at the crash:")[1]
    assert f"{line_of('puts back')}, thread 0: 8 bytes" in lost
    assert "never flushed" in lost
    again = pmemsim(*shlex.split(done.stderr.split("to reproduce: pmemsim")[1]))
    assert again.returncode == 1
    assert (
        again.stderr.split("to reproduce")[0].split("is not")[1]
        == (done.stderr.split("to reproduce")[0].split("is not")[1])
    )


def test_right_recovery_passes_second_crashes(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    done = crash(build(RIGHT), "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads((tmp_path / "out.json").read_text())["images"]
    recovery = run["recovery"]
    assert recovery["recorded"] == run["images"]
    assert 0 < recovery["different"] < recovery["recorded"]
    # Images of a recovery that has a log: the first line rolled back, both lines, the end.
    assert recovery["complete"]
    assert recovery["images"] == recovery["possible"] > recovery["different"]
    assert (recovery["reason"], recovery["story"]) == ("", None)


def test_rejected_first_image_prevents_second_crashes(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    """An image that is rejected needs no second crash; recovery's reads of it are named."""
    done = crash(build(PROGRAM), "--json", tmp_path / "out.json")
    assert done.returncode == 1
    assert "second crash" not in done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["images"][0]["recovery"] is None
    reads = done.stderr.split("recovery reads possibly lost data:")[1]
    looked = f"at .*{line_of('looks')}, data stored at .*{line_of('the end')}: kept"
    assert re.search(looked, reads), reads


def test_the_image_of_a_second_crash_is_kept(build: Callable[[int], Built], tmp_path: Path) -> None:
    program, trace = build(RECOVERY)
    assert crash((program, trace), "--keep-image", tmp_path / "kept").returncode == 1
    files = [tmp_path / "kept.0", tmp_path / "kept.1"]
    assert [file.stat().st_size for file in files] == [3 * 4096, 3 * 4096]
    done = subprocess.run([program, "check", *files], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (1, b"the halves differ\n")


@pytest.mark.long
def test_a_second_recovery_that_hangs_is_found(build: Callable[[int], Built]) -> None:
    done = crash(build(HANGS), "--verify-timeout", "2")
    assert done.returncode == 1
    assert "after a second crash, during recovery, " in done.stderr
    assert "did not end within 2 s" in done.stderr


def test_number_of_jobs_changes_no_result_of_second_crashes(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    found = [
        recovery_of(build(bug), tmp_path / "out.json", "--jobs", jobs)
        for bug in (RIGHT, RECOVERY)
        for jobs in ("1", "3")
    ]
    for result in found:
        del result["wall_s"]
    assert found[0] == found[1]
    assert found[2]["story"] == found[3]["story"] is not None


@pytest.mark.parametrize("budget", ["all", "20s"])
def test_faulty_recovery_is_found_with_any_budget(
    build: Callable[[int], Built], budget: str
) -> None:
    assert crash(build(RECOVERY), "--budget", budget).returncode == 1
    assert crash(build(RIGHT), "--budget", budget).returncode == 0


def test_a_budget_holds_for_second_crashes_too(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    recovery = recovery_of(build(RIGHT), tmp_path / "out.json", "--budget", "9")
    assert recovery["recorded"] == 9
    assert recovery["images"] <= 9
    assert not recovery["complete"]


def test_recoverys_reads_of_possibly_lost_data_are_listed(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    recovery = recovery_of(build(RIGHT), tmp_path / "out.json")
    by_line = {
        (f"two_files.c:{read['line']}", f"two_files.c:{read['store']['line']}"): read
        for read in recovery["reads"]
    }
    read = by_line[line_of("looks"), line_of("the end")]
    assert read["there"] >= 1
    assert (read["function"], read["store"]["function"]) == ("check", "run")
    assert read["right_either_way"]
    # Recovery reads the data back only after its own stores, unless there is no log.
    assert (line_of("restores"), line_of("first half")) not in by_line
    # With few images, some reads are not known to be right either way.
    few = recovery_of(build(RIGHT), tmp_path / "out.json", "--budget", "6")
    assert any(not read["right_either_way"] for read in few["reads"])
    assert all(read["there"] + read["lost"] > 0 for read in few["reads"])


def test_recovery_of_a_checker_without_recording_is_reported_as_skipped(
    build: Callable[[int], Built], tmp_path: Path
) -> None:
    program, trace = build(RECOVERY)
    plain = compiled("clang-19", SOURCE, tmp_path / "plain", "-DBUG=1")
    output = tmp_path / "out.json"
    done = crash((plain, trace), "--json", output)
    assert done.returncode == 0
    reason = f"{plain} was not built with pmemsim-cc"
    assert f"note: files1: crashes during recovery are not checked: {reason}\n" in done.stderr
    assert json.loads(output.read_text())["images"][0]["recovery"]["reason"] == reason
    done = crash((plain, trace), "--image", "3", "--recovery-image", "1")
    assert done.returncode == 2
    assert f"--recovery-image 1: {reason}" in done.stderr
    # A script that starts one that was.
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    assert crash((script, trace)).returncode == 1
    # One that works on a copy.
    copy = tmp_path / "copy"
    copy.write_text(
        f"#!/bin/sh\ncp $2 {tmp_path}/a$$ && cp $3 {tmp_path}/b$$ && "
        f"{program} check {tmp_path}/a$$ {tmp_path}/b$$\n"
    )
    copy.chmod(0o755)
    done = crash((copy, trace))
    assert done.returncode == 0
    assert (
        f"crashes during recovery are not checked: {copy} does not map the image's file with "
        "MAP_SHARED" in done.stderr
    )


def test_impossible_options_of_second_crashes_are_refused(build: Callable[[int], Built]) -> None:
    nothing = "recovery from image 1 stores nothing"
    for options, sentence in {
        "--recovery-image 1": "--recovery-image 1: needs --image; name the image from which "
        "recovery starts",
        "--image 1 --recovery-image 0": "--recovery-image 0: must be at least 1",
        "--image 1 --recovery-image 1": f"--recovery-image 1: {nothing}",
        # A half is there, or put back, or the log has ended.
        "--image 3 --recovery-image 9": "--recovery-image 9: there are only 3 images",
    }.items():
        done = crash(build(RIGHT), *options.split())
        assert done.returncode == 2, options
        assert sentence in done.stderr
    done = pmemsim("check", build(RIGHT)[1], "--recovery-image", "1")
    assert (
        "--recovery-image 1: needs --verify; only the recovery of a program can be recorded"
        in done.stderr
    )


def test_image_option_runs_no_second_crashes(build: Callable[[int], Built], tmp_path: Path) -> None:
    assert recovery_of(build(RECOVERY), tmp_path / "out.json", "--image", "3") is None


def test_workloads_recover_from_second_crashes(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    budget = 60 if LONG_TESTS else 20
    done = pmemsim("check", "queue", "--verify", "own", "--threads", "2", "--regions", "20",
                   "--budget", str(budget), "--json", output)  # fmt: skip
    assert done.returncode == 0, done.stderr
    recovery = json.loads(output.read_text())["images"][0]["recovery"]
    assert recovery["recorded"] >= budget
    assert recovery["images"] > recovery["different"] > 5


def test_half_of_the_recorded_recoveries_are_the_first_and_half_are_spread() -> None:
    assert _chosen(3) == [1, 2, 3]
    numbers = _chosen(10_000)
    half = MOST_RECORDED // 2
    assert len(set(numbers)) == len(numbers) == MOST_RECORDED
    assert numbers[:half] == list(range(1, half + 1))
    assert numbers[-1] == 10_000
    gaps = {
        later - sooner for sooner, later in zip(numbers[half:], numbers[half + 1 :], strict=False)
    }
    assert gaps == {199}
