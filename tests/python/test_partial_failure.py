"""`pmemsim check --hosts`: one of several hosts fails, and the others see what it leaves."""

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

SOURCE = Path(__file__).with_name("failing_hosts.c")
RIGHT, LOCK_HIDDEN, HALF_PUBLISHED = range(3)
Build = Callable[[int], tuple[Path, Path]]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("hosts")

    @cache
    def made(mistake: int) -> tuple[Path, Path]:
        program, trace, pm = (folder / f"{mistake}{suffix}" for suffix in ("", ".pmt", "-pm"))
        compiler = Path(sys.executable).with_name("pmemsim-cc")
        options = ["-O1", "-g", "-pthread", f"-DMISTAKE={mistake}"]
        subprocess.run([compiler, *options, SOURCE, "-o", program], check=True)
        pm.mkdir()
        done = pmemsim("record", "-o", trace, "--pm-path", pm, "--", program, pm / "pool")
        assert done.returncode == 0, done.stderr
        return program, trace

    return made


def check(built: tuple[Path, Path], *options: str) -> subprocess.CompletedProcess[str]:
    program, trace = built
    return pmemsim("check", trace, "--verify", f"{program} verify", *options)


def images_verdict(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = re.findall(r"images under px86.*", done.stdout)
    return str(line)


def test_stores_of_surviving_hosts_are_not_lost(build: Build) -> None:
    done = check(build(RIGHT), "--hosts", "2", "--fail", "1")
    assert done.returncode == 0, done.stderr
    assert "rules under every machine: 0 findings that can lose data" in done.stdout
    assert "0 rejected" in images_verdict(done)
    assert "px86, host 1 of 2 fails" in images_verdict(done)


@pytest.mark.parametrize("options", [(), ("--hosts", "2", "--fail", "0")])
def test_unflushed_stores_of_a_failed_host_are_lost(build: Build, options: tuple[str]) -> None:
    done = check(build(RIGHT), *options)
    assert done.returncode == 1
    assert "1 rejected" in images_verdict(done)


@pytest.mark.parametrize(
    ("mistake", "status"), [(LOCK_HIDDEN, "status 1"), (HALF_PUBLISHED, "status 2")]
)
def test_mistake_of_a_failed_host_is_found(build: Build, mistake: int, status: str) -> None:
    done = check(build(mistake), "--hosts", "2", "--fail", "1")
    assert done.returncode == 1
    assert status in done.stderr
    assert "host 1 has failed with its caches (thread 1)" in done.stderr
    assert "the other hosts' caches are intact (thread 0)" in done.stderr
    assert "main" not in done.stderr.partition("kept in this image")[2].partition("recovery")[0]
    (command,) = re.findall(r"to reproduce: pmemsim (check .*)", done.stderr)
    assert "--hosts 2 --fail 1" in command
    assert status in pmemsim(*shlex.split(command)).stderr


@pytest.mark.long
def test_json_names_the_failed_host(build: Build, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    check(build(RIGHT), "--hosts", "2", "--fail", "1", "--json", str(output))
    (images,) = json.loads(output.read_text())["images"]
    assert images["model"] == "px86, host 1 of 2 fails"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--hosts", "2"), "--fail"),
        (("--fail", "1"), "--hosts"),
        (("--hosts", "1", "--fail", "0"), "--hosts 1: must be at least 2"),
        (("--hosts", "2", "--fail", "2"), "--fail 2: must be from 0 to 1"),
        (("--hosts", "5", "--fail", "4"), "has 2 threads, and thread t runs on host t % N"),
        (("--hosts", "2", "--fail", "1", "--model", "eadr"), "modelled under px86 alone"),
    ],
)
def test_impossible_hosts_are_refused(build: Build, options: tuple[str], problem: str) -> None:
    done = check(build(RIGHT), *options)
    assert done.returncode == 2
    assert problem in done.stderr
