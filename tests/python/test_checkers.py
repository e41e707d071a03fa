"""Checkers of images: programs and libraries, several at once, with any behaviour."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from support import ROOT, interrupt, long_except, pmemsim

SOURCE = Path(__file__).with_name("two_pools.c")
RANGES = ("--pm-range", "500000000000:500000001000", "--pm-range", "510000000000:510000002000")
Library = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("nothing_left")


def left() -> list[str]:
    """Return processes and files that checkers might leave."""
    found = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if line.startswith(f"sleep {MARK}")]


MARK = str(100_000 + os.getpid())


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No test leaves a process behind."""
    yield
    assert left() == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built files."""
    return tmp_path_factory.mktemp("checkers")


def recorded(folder: Path, name: str, right: int) -> tuple[Path, Path]:
    program, trace = folder / name, folder / f"{name}.pmt"
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    options = ["-O1", "-mclwb", f"-DRIGHT={right}"]
    subprocess.run([compiler, *options, SOURCE, "-o", program], check=True)
    done = pmemsim("record", "-o", trace, *RANGES, "--", program)
    assert done.returncode == 0, done.stderr
    return program, trace


@pytest.fixture(scope="module")
def wrong(folder: Path) -> tuple[Path, Path]:
    """Build the program, and record it."""
    return recorded(folder, "wrong", 0)


@pytest.fixture(scope="module")
def right(folder: Path) -> tuple[Path, Path]:
    """Build the corrected program, and record it."""
    return recorded(folder, "right", 1)


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    """Build its check as a library."""

    @cache
    def built(how: str = "JUDGES", *options: str) -> Path:
        path = folder / f"{how}{len(list(folder.iterdir()))}.so"
        given = ["-shared", "-fPIC", "-mclwb", "-DLIBRARY", f"-DHOW={how}", f'-DMARK="{MARK}"']
        include = f"-I{ROOT / 'include'}"
        subprocess.run(["cc", *given, *options, include, SOURCE, "-o", path], check=True)
        return path

    return built


def crash(trace: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return pmemsim("check", trace, "--model", "px86", *options)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def without_times(text: str) -> str:
    """Return a table without its last column, images a second."""
    return re.sub(r"[│┃] [^│┃]*[│┃]$", "", text, flags=re.MULTILINE)


def test_a_library_and_a_program_find_the_same(
    wrong: tuple[Path, Path], right: tuple[Path, Path], library: Library
) -> None:
    program, trace = wrong
    by_program = crash(trace, "--verify", program)
    by_library = crash(trace, "--verify-library", library())
    assert by_program.returncode == by_library.returncode == 1
    said = "item 13 is counted, but isn't there"
    assert f"{program} ended with status 7: {said}" in by_program.stderr
    assert f"{library()} returned 7: {said}" in by_library.stderr
    stories = [
        done.stderr.split(said)[1].split("to reproduce")[0] for done in (by_program, by_library)
    ]
    # A library can't be recorded.
    assert stories[0].split("  recovery reads")[0] == stories[1].rstrip(" ")
    assert "never flushed" in stories[0]
    again = pmemsim(*shlex.split(by_library.stderr.split("to reproduce: pmemsim")[1]))
    assert again.returncode == 1
    assert again.stderr.split("were checked)")[1] == by_library.stderr.split("were checked)")[1]
    for option, check in (("--verify", right[0]), ("--verify-library", library())):
        done = crash(right[1], option, check)
        assert done.returncode == 0, done.stderr
        assert "41 of 41" in done.stdout


@pytest.mark.parametrize("how", ["program", "library"])
def test_number_of_parallel_checkers_changes_no_result(
    wrong: tuple[Path, Path], library: Library, how: str, tmp_path: Path
) -> None:
    check: list[str | Path] = ["--verify", wrong[0]]
    if how == "library":
        check = ["--verify-library", library()]
    found = []
    for jobs in "1", "4":
        output = tmp_path / jobs
        done = crash(wrong[1], *check, "--jobs", jobs, "--budget", "50", "--json", output)
        (run,) = json.loads(output.read_text())["images"]
        del run["wall_s"], run["images_per_s"]
        found.append((done.returncode, done.stderr, without_times(done.stdout), run))
    assert found[0] == found[1]
    assert found[0][0] == 1


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("CRASHES", "died of signal SIGSEGV"),
        ("HANGS", r"did not end within 1 s \(--verify-timeout\)"),
        ("EXITS", "ended its process with status 0 instead of returning"),
    ],
)
def test_a_library_that_does_not_return_rejects(
    right: tuple[Path, Path], library: Library, how: str, words: str
) -> None:
    done = crash(right[1], "--verify-library", library(how), "--verify-timeout", "1")
    assert done.returncode == 1
    assert re.search(rf"{re.escape(str(library(how)))} {words}", done.stderr), done.stderr


def test_a_library_that_writes_all_over_changes_no_other_image(
    right: tuple[Path, Path], wrong: tuple[Path, Path], library: Library
) -> None:
    assert "41 of 41" in crash(right[1], "--verify-library", library("SCRIBBLES")).stdout
    done = crash(wrong[1], "--verify-library", library("SCRIBBLES"))
    assert "item 13 is counted" in done.stderr


@pytest.mark.parametrize(
    "what",
    [
        'yes | head -c 8192 > "$2"',  # truncates it and writes it again
        'yes | head -c 8192 | dd of="$1" conv=notrunc 2> /dev/null',
        'truncate -s 0 "$1" "$2"',
        pytest.param('truncate -s 1M "$1"', marks=pytest.mark.long),
        'fallocate -p -o 0 -l 4096 "$2"',
    ],
)
@pytest.mark.parametrize("where", long_except(["memory", "folder"], "memory"))
def test_a_program_that_changes_its_files_changes_no_other_image(
    right: tuple[Path, Path], tmp_path: Path, what: str, where: str
) -> None:
    check = script(tmp_path / "check", f'{right[0]} "$@"; said=$?\n{what}\nexit $said')
    environment = {"TMPDIR": str(tmp_path)} if where == "folder" else {}
    done = pmemsim("check", right[1], "--model", "px86", "--verify", check, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "41 of 41" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["check"]


def test_program_started_by_a_checker_finds_the_image(
    right: tuple[Path, Path], tmp_path: Path
) -> None:
    """The environment that the checker inherits doesn't matter."""
    check = tmp_path / "check"
    check.write_text(
        f"#!{sys.executable}\nimport subprocess, sys\n"
        f"sys.exit(subprocess.run([{str(right[0])!r}, *sys.argv[1:]], close_fds=True).returncode)\n"
    )
    check.chmod(0o755)
    assert crash(right[1], "--verify", check, "--budget", "5").returncode == 0


def test_checker_messages_hide_paths_of_image_files(
    right: tuple[Path, Path], tmp_path: Path
) -> None:
    check = script(tmp_path / "check", 'echo "$2: bad, unlike $1"; exit 1')
    for environment in {}, {"TMPDIR": str(tmp_path)}:
        done = pmemsim("check", right[1], "--model", "px86", "--verify", check,
                       environment=environment)  # fmt: skip
        assert "ended with status 1: image 1: bad, unlike image 0\n" in done.stderr


def test_processes_of_a_checker_end_with_it(
    right: tuple[Path, Path], library: Library, tmp_path: Path
) -> None:
    text = f'setsid sleep {MARK} &\nsleep {MARK} &\ncat "$1" > /dev/null\n'
    check = script(tmp_path / "check", text)
    assert crash(right[1], "--verify", check, "--budget", "5").returncode == 0
    assert left() == []
    done = crash(right[1], "--verify-library", library("LEAVES"), "--budget", "5")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", ["interrupt", "kill"])
def test_stopped_check_leaves_no_processes_or_files(
    right: tuple[Path, Path], tmp_path: Path, end: str
) -> None:
    begun = tmp_path / "begun"
    check = script(tmp_path / "check", f"touch {begun}\nsleep {MARK}")
    command: list[str | Path] = [
        Path(sys.executable).with_name("pmemsim"), "check", right[1], "--model", "px86",
        "--verify", check, "--jobs", "3",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert begun.exists()
        if end == "interrupt":
            interrupt(process)
        else:
            process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while left() and time.monotonic() < until:
        time.sleep(0.05)
    assert left() == []


def test_a_checker_with_varying_verdicts_is_reported(
    right: tuple[Path, Path], tmp_path: Path
) -> None:
    check = script(tmp_path / "check", f"mkdir {tmp_path / 'seen'} 2> /dev/null && exit 1\nexit 0")
    done = crash(right[1], "--verify", check)
    assert done.returncode == 1
    assert "the checker accepts that image when it runs again" in done.stderr


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "int another;",
            "the library has no function pmemsim_check; define it as pmemsim/check.h describes",
        ),
        (None, "the library could not be loaded: "),
        (
            "#include <stdlib.h>\n__attribute__((constructor)) void f(void) { abort(); }",
            "the library crashed, ended or hung while it was loaded",
        ),
        (
            "#include <unistd.h>\n__attribute__((constructor)) void f(void) { for (;;) pause(); }",
            "the library crashed, ended or hung while it was loaded",
        ),
    ],
)
def test_unusable_checker_libraries_are_refused(
    right: tuple[Path, Path], tmp_path: Path, source: str | None, sentence: str
) -> None:
    path = tmp_path / "check.so"
    if source is None:
        path.write_text("not a library")
    else:
        (tmp_path / "check.c").write_text(source)
        subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "check.c", "-o", path], check=True)
    done = crash(right[1], "--verify-library", path, "--verify-timeout", "1")
    assert done.returncode == 2
    assert f"--verify-library {path}: {sentence}" in done.stderr


def test_missing_checkers_are_refused(right: tuple[Path, Path], tmp_path: Path) -> None:
    done = crash(right[1], "--verify-library", tmp_path / "no.so")
    assert done.returncode == 2
    assert "no.so: no such file; name a shared library" in done.stderr
    (tmp_path / "plain").write_text("no program")
    done = crash(right[1], "--verify", tmp_path / "plain")
    assert done.returncode == 2
    assert (
        f"plain: the file is not executable; if it is a program, run: chmod +x {tmp_path}"
        in done.stderr
    )
    done = crash(right[1], "--verify", "true", "--verify-library", tmp_path / "no.so")
    assert done.returncode == 2
    assert f"--verify true and --verify-library {tmp_path / 'no.so'}: give one of" in done.stderr


def test_libraries_may_need_recorded_addresses(right: tuple[Path, Path], library: Library) -> None:
    done = crash(right[1], "--verify-library", library("JUDGES", "-DAT_ITS_PLACE"))
    assert done.returncode == 0, done.stderr


# ---- Of designs ----------------------------------------------------------------------------------


def test_checker_gets_all_images_that_the_oracle_checks(tmp_path: Path) -> None:
    options = (
        "-d",
        "sw-undo",
        "--set",
        "pm.persistence=written",
        "--threads",
        "2",
        "--regions",
        "9",
    )
    output = tmp_path / "out.json"
    checked = []
    for subsets in "0", "1":
        done = pmemsim("crash", "queue", *options, "--subsets", subsets, "--verify-images", "all",
                       "--json", output)  # fmt: skip
        assert done.returncode == 0, done.stderr
        (run,) = json.loads(output.read_text())["runs"]
        assert run["unchecked"] == 0
        checked.append(run["checked"])
    # Losses are torn lines, and lines that caches might have written back.
    assert run["points"] < checked[0] < checked[1]


def test_checker_library_gets_the_images_that_a_design_leaves(
    right: tuple[Path, Path], wrong: tuple[Path, Path], library: Library
) -> None:
    """The item that is never flushed stays in the caches of the wrong program."""
    for (_, trace), code in (right, 0), (wrong, 1):
        done = pmemsim("crash", trace, "-d", "x86-bare", "--verify-library", library(),
                       "--verify-images", "all")  # fmt: skip
        assert done.returncode == code, done.stderr
        assert ("returned 7: item 13 is counted, but isn't there" in done.stderr) == bool(code)


def test_report_of_a_design_is_equal_for_any_number_of_jobs(
    right: tuple[Path, Path], tmp_path: Path
) -> None:
    # Rejects as soon as five are counted.
    check = script(tmp_path / "check", 'test $(od -An -tu8 -N8 "$1") -lt 5')
    found = []
    for jobs in "1", "4":
        done = pmemsim(
            "crash", right[1], "-d", "x86-bare", "--subsets", "1", "--verify-images", "all",
            "--verify", check, "--jobs", jobs, "--json", tmp_path / jobs,
        )  # fmt: skip
        assert done.returncode == 1
        (run,) = json.loads((tmp_path / jobs).read_text())["runs"]
        del run["wall_s"], run["points_per_s"]
        assert 0 < run["violations"] < run["points"]
        found.append((done.stderr, run))
    assert found[0] == found[1]
    again = pmemsim(*shlex.split(found[0][0].split("to reproduce: pmemsim")[1].split("\n")[0]))
    assert again.returncode == 1
    assert found[0][1]["story"]["lines"][1] in again.stderr


def test_invalid_number_of_images_is_refused(right: tuple[Path, Path]) -> None:
    done = pmemsim(
        "crash", right[1], "-d", "x86-bare", "--verify", "true", "--verify-images", "some"
    )
    assert done.returncode == 2
    assert "--verify-images some: must be a whole number, or `all`" in done.stderr
