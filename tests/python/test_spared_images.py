"""Images that a checker needn't see, because they are equal in all data that it reads."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus import FOLDER, NAMES, recorded
from pmemsim.crashing import CheckerWanted, checker_of
from pmemsim.errors import ConfigError
from pmemsim.persistency import Budget, ModelRun, Wanted, show_order
from pmemsim.toolchain import native_compiler
from pmemsim.trace import Trace
from support import long_except, may_watch, pmemsim

TESTS = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("spared_checks.c")
INCLUDE = TESTS.parent / "include"
RANGE = "500000000000:500000280000"
PAGES = 40


def build_library(source: Path, library: Path, *options: str) -> Path:
    command: list[str | Path] = [
        native_compiler(),
        "-O1",
        "-pthread",
        "-shared",
        "-fPIC",
        f"-I{INCLUDE}",
        *options,
    ]
    subprocess.run([*command, source, "-o", library], check=True)
    return library


def build_program(source: Path, program: Path, *options: str) -> Path:
    command: list[str | Path] = [native_compiler(), "-O1", "-pthread", "-DPROGRAM", *options]
    subprocess.run([*command, source, "-o", program], check=True)
    return program


@pytest.fixture(autouse=True)
def _images_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep images in memory, since programs aren't watched if their files are elsewhere."""
    monkeypatch.delenv("TMPDIR", raising=False)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spared")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    command: list[str | Path] = [compiler, "-O1", "-g", "-pthread", SOURCE, "-o", folder / "pages"]
    subprocess.run(command, check=True)
    done = pmemsim(
        "record", "-o", folder / "pages.pmt", "--pm-range", RANGE, "--", folder / "pages"
    )
    assert done.returncode == 0, done.stderr
    return folder / "pages.pmt"


Checks = Callable[[str], CheckerWanted]


needs_watching = pytest.mark.skipif(
    not may_watch(), reason="programs can't be watched here (Linux 5.19, pidfd_getfd)"
)


@pytest.fixture(scope="module", params=["library", pytest.param("program", marks=needs_watching)])
def checks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checks:
    """Build a check of spared_checks.c, as a library and as a program."""
    folder = tmp_path_factory.mktemp("checks")
    if request.param == "library":
        return lambda check: CheckerWanted(
            library=build_library(SOURCE, folder / f"{check}.so", f"-DCHECK={check}")
        )
    return lambda check: CheckerWanted(
        command=str(build_program(SOURCE, folder / check, f"-DCHECK={check}"))
    )


def crash(
    trace: Path, wanted: CheckerWanted, budget: str, jobs: int = 2, *, watch: bool = True
) -> ModelRun:
    images = Wanted("px86", Budget.of(budget), watch=watch)
    checker = checker_of(Trace(trace), wanted, None)
    assert checker is not None
    run = show_order(Trace(trace), images, checker, "", set(), jobs)
    assert run is not None
    return run


def test_unread_lines_do_not_multiply_images(trace: Path, checks: Checks, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    options = ["--model", "px86", "--budget", "all", *checks("two_words").options]
    done = pmemsim("check", trace, *options, "--json", output)
    assert ", 0 rejected" in done.stdout, done.stderr
    assert "all of at most 1.1e+12" in done.stdout
    (run,) = json.loads(output.read_text())["images"]
    assert (run["images"], run["shown"], run["possible"]) == (4, 4, 2**PAGES)
    assert run["complete"]
    assert not run["exact"]


def test_images_that_differ_in_unread_lines_use_the_budget_without_a_check(
    trace: Path, checks: Checks
) -> None:
    run = crash(trace, checks("two_words"), "3000")
    assert run.story is None
    assert run.complete
    assert run.images == 3000
    assert run.shown < 40


def test_time_budget_ends_when_all_images_are_checked(trace: Path, checks: Checks) -> None:
    run = crash(trace, checks("two_words"), "10min")
    assert run.complete
    assert run.shown < 40


def test_a_bug_is_found_and_shown_again(trace: Path, checks: Checks) -> None:
    for budget in ("all", "3000", "9s"):
        options = ["--model", "px86", "--budget", budget, *checks("in_order").options]
        done = pmemsim("check", trace, *options)
        assert done.returncode == 1
        story = done.stderr.split("were checked)")[1]
        assert "page 30 isn't there" in done.stderr
        # Nothing else is lost.
        lost = story.split("lost in this image, although visible at the crash:")[1].splitlines()[1]
        assert "thread 0: 8 bytes from 0x5000001e0000: never flushed" in lost
        again = pmemsim(*shlex.split(story.split("to reproduce: pmemsim")[1]))
        assert again.returncode == 1
        assert again.stderr.split("were checked)")[1] == story


@pytest.mark.parametrize(
    ("check", "shown"),
    [("two_words", 4), ("by_system_calls", 4), ("written", 2), ("in_order", None)],
)
def test_images_that_differ_in_read_data_are_all_checked(
    trace: Path, checks: Checks, check: str, shown: int | None
) -> None:
    runs = [crash(trace, checks(check), "all", jobs) for jobs in (1, 3)]
    if shown is None:
        assert all(run.story is not None for run in runs)
    else:
        assert [run.shown for run in runs] == [shown, shown]
        assert all(run.complete for run in runs)
    assert runs[0].images == runs[1].images


@pytest.mark.parametrize("check", ["by_a_child", "unmapped"])
def test_checkers_with_unobserved_reads_check_every_image(
    trace: Path, checks: Checks, check: str
) -> None:
    wanted = checks(check)
    if wanted.library is None:
        assert crash(trace, wanted, "all").shown == 4
    else:
        sees_all(trace, wanted)


def sees_all(trace: Path, wanted: CheckerWanted) -> None:
    run = crash(trace, wanted, "50")
    assert (run.images, run.shown, run.complete) == (50, 50, False)
    with pytest.raises(ConfigError, match="of which 1, all accepted, don't tell all others"):
        crash(trace, wanted, "all")


def test_program_that_reads_an_inherited_file_checks_every_image(
    trace: Path, tmp_path: Path
) -> None:
    script = tmp_path / "check"
    script.write_text('#!/bin/sh\nhead -c 8 < "$1" | cmp -s -n 1 - /dev/null\nexit 0\n')
    script.chmod(0o755)
    sees_all(trace, CheckerWanted(command=str(script)))


@needs_watching
@pytest.mark.parametrize(
    "reads",
    [
        "mmap.mmap(image.fileno(), 0, access=mmap.ACCESS_READ)[at]",
        "os.pread(image.fileno(), 1, at)[0]",
        "image.seek(at) and image.read(1)[0]",
    ],
)
def test_reads_of_scripts_are_observed(trace: Path, tmp_path: Path, reads: str) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "import mmap, os, sys\n"
        'with open(sys.argv[1], "rb") as image:\n'
        f"    sys.exit(any({reads} > 1 for at in (3 << 16, 30 << 16)))\n"
    )
    run = crash(trace, CheckerWanted(command=shlex.join([sys.executable, str(script)])), "all")
    assert (run.shown, run.complete, run.story) == (4, True, None)


@needs_watching
def test_reads_of_a_sanitized_program_are_observed(trace: Path, tmp_path: Path) -> None:
    sanitizer = "-fsanitize=address"
    try:
        program = build_program(SOURCE, tmp_path / "check", "-DCHECK=two_words", sanitizer)
    except subprocess.CalledProcessError:
        pytest.skip(f"there is no {sanitizer}")
    run = crash(trace, CheckerWanted(command=str(program)), "all")
    assert (run.shown, run.complete, run.story) == (4, True, None)


def library_of(case: str, folder: Path, *options: str) -> Path:
    """Build a case's check as a library."""
    source = folder / "library.c"
    source.write_text(
        f'#define main case_main\n#include "{FOLDER / case}.c"\n#undef main\n'
        "#include <pmemsim/check.h>\n"
        "int pmemsim_check(const struct pmemsim_region* regions, size_t count) {\n"
        "  return count == 1 ? check(regions[0].bytes) : 1;\n}\n"
    )
    return build_library(source, folder / "library.so", "-w", *options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fixed", long_except([False, True], False), ids=["bug", "fixed"])
def test_sparing_images_changes_no_verdict(
    tmp_path: Path, shared_folder: Path, name: str, fixed: bool
) -> None:
    case = recorded(name, shared_folder, fixed=fixed)
    options = ["-DFIXED"] if fixed else []
    library = CheckerWanted(library=library_of(name, tmp_path, *options))
    checked_alike(case.trace, library, "300")
    if fixed:  # each image of a correct program is checked, which takes long
        return
    checked_alike(case.trace, library, "20000")
    checked_alike(case.trace, CheckerWanted(command=f"{case.program} check"), "300")


def checked_alike(trace: Path, wanted: CheckerWanted, budget: str) -> None:
    watched, other = (crash(trace, wanted, budget, watch=watch) for watch in (True, False))
    assert (watched.story is None) == (other.story is None), budget
    if watched.story and other.story:
        assert watched.story.image == other.story.image
        assert watched.story.lines == other.story.lines
    elif not watched.complete:
        assert watched.images == other.images
    assert watched.shown <= watched.images
    assert other.shown == other.images
