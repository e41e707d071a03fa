"""`pmemsim check --model guarantees`: the images of any machine that keeps guarantees."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from support import pmemsim

HERE = Path(__file__).parent
Build = Callable[[str, str], tuple[Path, Path]]


def line_of(source: str, comment: str) -> str:
    """Return the place of a line of a program."""
    lines = (HERE / f"{source}.c").read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"/* {comment} */")]
    return f"{source}.c:{number}"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build a program with an option, and record it."""
    folder = tmp_path_factory.mktemp("guarantees")

    @cache
    def built(name: str, option: str) -> tuple[Path, Path]:
        program, trace = folder / f"{name}{option}", folder / f"{name}{option}.pmt"
        compiler = Path(sys.executable).with_name("pmemsim-cc")
        words = ["-O1", "-g", *([option] if option else [])]
        subprocess.run([compiler, *words, HERE / f"{name}.c", "-o", program], check=True)
        pm = ["--pm-range", "500000000000:500000001000"] if name == "epochs" else []
        done = pmemsim("record", "-o", trace, *pm, "--", program)
        assert done.returncode == 0, done.stderr
        return program, trace

    return built


def crash(
    built: tuple[Path, Path], designs: str, *options: str | Path
) -> subprocess.CompletedProcess[str]:
    program, trace = built
    given = ("--model", "guarantees", "-d", designs)
    return pmemsim("check", trace, *given, "--verify", program, *options)


def lost(text: str) -> str:
    """Return the losses in an explanation."""
    found = text.split("lost in this image, although executed before the crash:")[1]
    return re.split(r"\n  kept in this image, although|\n  to reproduce", found)[0]


def test_receipts_after_a_durable_region_end_are_not_reported(build: Build) -> None:
    done = crash(build("receipts", ""), "sw-undo,hw-undo,redu,lad,hops,pmem-spec")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("21 of 21 images checked") == 6


@pytest.mark.quick
def test_check_under_asap_reports_receipts_of_lost_tickets(build: Build) -> None:
    done = crash(build("receipts", ""), "asap")
    assert done.returncode == 1
    assert re.search(
        r"is not crash-safe under guarantees of asap: .* receipts of \d tickets", done.stderr
    )
    (only,) = lost(done.stderr).strip().splitlines()
    assert line_of("receipts", "ticket") in only
    assert "no pm_fence_regions() of its thread had completed" in only
    again = pmemsim(*shlex.split(done.stderr.split("to reproduce: pmemsim")[1]))
    assert again.returncode == 1
    assert again.stderr.split("were checked)")[1] == done.stderr.split("were checked)")[1]


def test_guarantees_show_images_that_one_machine_never_leaves(build: Build) -> None:
    program, trace = build("receipts", "-DSLOW")
    done = pmemsim("crash", trace, "-d", "asap", "--verify", program, "--verify-images", "all")
    assert done.returncode == 0, done.stderr
    assert crash((program, trace), "asap").returncode == 1


def test_receipts_after_a_region_fence_are_not_reported(build: Build) -> None:
    done = crash(build("receipts", "-DWAITS"), "asap,lad")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("21 of 21 images checked") == 2


def test_a_missing_ofence_is_found(build: Build) -> None:
    done = crash(build("epochs", ""), "hops-bare")
    assert done.returncode == 1
    (only,) = lost(done.stderr).strip().splitlines()
    assert line_of("epochs", "value") in only
    assert (
        "no durability fence of its thread had completed; ordering fences don't make stores durable"
    ) in only
    there = done.stderr.split("kept in this image, although a crash may lose it:")[1]
    assert line_of("epochs", "count") in there
    # Where all stores persist in order, none is missing.
    assert crash(build("epochs", ""), "dpo-bare,pmem-spec-bare,eadr").returncode == 0
    assert crash(build("epochs", "-DORDERED"), "hops-bare,x86-bare").returncode == 0


def test_without_each_leaves_out_each_fence(build: Build, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    done = crash(
        build("epochs", "-DORDERED"), "hops-bare,dpo-bare", "--without-each", "--json", output
    )
    assert done.returncode == 0, done.stderr
    runs = json.loads(output.read_text())["images"]
    assert [run["model"] for run in runs] == ["guarantees of hops-bare", "guarantees of dpo-bare"]
    verdicts = [{each["name"]: each["verdict"] for each in run["left_out"]} for run in runs]
    assert verdicts == [
        {"clwb": "same images", "sfence": "found"},
        {"clwb": "same images", "sfence": "same images"},
    ]


def test_regions_are_kept_without_the_programs_flushes(build: Build) -> None:
    done = crash(build("receipts", ""), "hops-bare,asap", "--without-each")
    assert done.returncode == 2
    assert "--without-each: asap makes regions durable without the program's flushes" in done.stderr
    assert "--without-each: hops-bare" not in done.stderr


def test_guarantees_need_designs(build: Build) -> None:
    program, trace = build("epochs", "")
    done = pmemsim("check", trace, "--model", "guarantees", "--answers", program)
    assert done.returncode == 2
    assert (
        "--model guarantees: needs --design; name the designs whose guarantees hold" in done.stderr
    )
    assert "--model guarantees: needs --verify or --verify-library" in done.stderr
    assert f"--model guarantees: leave out --answers {program}; choose px86 or eadr" in done.stderr
    done = crash((program, trace), "np")
    assert done.returncode == 2
    assert "ordering=none with atomicity=none has no durability guarantees" in done.stderr
    done = crash((program, trace), "asap,hops", "--image", "1")
    assert done.returncode == 2
    assert "--image and --keep-image require a single design; name one with --design" in done.stderr
    done = crash((program, trace), "assap")
    assert done.returncode == 2
    assert "did you mean 'asap'?" in done.stderr


def test_keep_image_writes_an_image_allowed_by_the_guarantees(build: Build, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = crash(build("epochs", ""), "hops-bare", "--keep-image", kept)
    assert done.returncode == 1
    program, _ = build("epochs", "")
    judged = subprocess.run([program, kept], capture_output=True, text=True, check=False)
    assert judged.returncode == 1
    assert judged.stdout.strip().endswith("counts, but isn't there")


def test_more_threads_than_the_usual_machine_has_cores() -> None:
    done = pmemsim(
        "check", "queue", "--verify", "own", "--model", "guarantees", "-d", "asap",
        "--threads", "20", "--regions", "20", "--budget", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
