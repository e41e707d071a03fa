"""`pmemsim record` of a command that starts several processes records one and tells the user."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import HERE, built_toolchain, run
from pmemsim.trace import Trace
from support import pmemsim

WAYS = ("system", "popen", "posix_spawn", "posix_spawnp", "execve", "execlp", "vfork")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one program under two names."""
    folder = tmp_path_factory.mktemp("processes")
    run(
        built_toolchain() / "bin" / "pmemsim-cc", "-O2",
        HERE / "recorded" / "processes.c", "-o", folder / "first",
    )  # fmt: skip
    shutil.copy(folder / "first", folder / "second")
    return folder


PMEMSIM = Path(sys.executable).with_name("pmemsim")


def record(
    output: Path, programs: Path, *command: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return pmemsim("record", "-o", output, *options, "--", *command, cwd=programs)


def recorded_program(output: Path) -> str:
    trace = Trace(output)
    trace.verify()
    return str(trace.metadata["program"])


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return the messages, except that there is a trace, and none of persistent memory."""
    return "".join(
        line
        for line in done.stderr.splitlines(True)
        if not line.startswith("recorded ")
        and "no memory of the program was persistent" not in line
    )


@pytest.mark.parametrize("other", ["second", "first"])
def test_first_process_of_a_script_is_recorded(tmp_path: Path, programs: Path, other: str) -> None:
    output = tmp_path / "x.pmt"
    done = record(output, programs, "sh", "-c", f"./first; ./{other} fork")
    assert done.returncode == 0, done.stderr
    assert said(done).startswith(f"pmemsim: {other} (process ")
    assert (
        "was not recorded, because a trace contains only one process, here first (process "
        in said(done)
    )
    assert "--process NAME" in said(done)
    assert recorded_program(output) == "first"


@pytest.mark.parametrize("name", ["second", "./second"])
def test_process_with_the_wanted_name_is_recorded(
    tmp_path: Path, programs: Path, name: str
) -> None:
    """This holds for one below a process that isn't recorded, too."""
    for script in ("./first; ./second", "./first system ./second; true"):
        output = tmp_path / "x.pmt"
        done = record(output, programs, "sh", "-c", script, options=("--process", name))
        assert done.returncode == 0, done.stderr
        assert said(done).startswith("pmemsim: first (process ")
        assert recorded_program(output) == "second"


def test_record_fails_if_no_program_has_the_wanted_name(tmp_path: Path, programs: Path) -> None:
    done = record(tmp_path / "x.pmt", programs, "./first", options=("--process", "third"))
    assert done.returncode == 2
    assert (
        "recorded nothing, because no program has the name third; programs that ran: first "
        "(process "
    ) in said(done)
    assert list(tmp_path.iterdir()) == []


def test_one_of_several_concurrent_processes_is_recorded(tmp_path: Path, programs: Path) -> None:
    output = tmp_path / "x.pmt"
    script = " & ".join(["./first", "./second"] * 4) + " & wait"
    for _ in range(5):
        done = record(output, programs, "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        assert said(done).count("(process ") == 5
        assert " and 3 more were not recorded" in said(done)
        assert f"here {recorded_program(output)} (process " in said(done)
        assert Trace(output).operation_count(0) > 6000


@pytest.mark.parametrize("way", ["exit", "kill", "daemon", "become ./second"])
def test_a_failed_recording_fails_the_command(tmp_path: Path, programs: Path, way: str) -> None:
    """This holds even if the script ends with 0."""
    done = record(tmp_path / "x.pmt", programs, "sh", "-c", f"./first {way}; ./second; true")
    assert done.returncode == 2
    assert "no trace was kept, because first (process " in said(done)
    assert "second (process " in said(done)
    assert list(tmp_path.iterdir()) == []


IN_BACKGROUND = "./first until {0}/begun {0}/end & while [ ! -e {0}/begun ]; do sleep 0.1; done; "


def test_record_waits_for_a_recorded_background_process(tmp_path: Path, programs: Path) -> None:
    output = tmp_path / "x.pmt"
    process = subprocess.Popen(
        [PMEMSIM, "record", "-o", output, "--", "sh", "-c", IN_BACKGROUND.format(tmp_path)],
        cwd=programs, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    (tmp_path / "end").touch()
    process.communicate(timeout=60)
    assert line.startswith("pmemsim: waiting for first (process ")
    assert process.returncode == 0
    assert recorded_program(output) == "first"


def test_background_program_of_a_failed_recording_is_ended(tmp_path: Path, programs: Path) -> None:
    pid = tmp_path / "pid"
    script = IN_BACKGROUND.format(tmp_path) + f"echo $! > {pid}; exit 3"
    done = record(tmp_path / "x.pmt", programs, "sh", "-c", script)
    assert done.returncode == 2
    assert "ended with status 3" in done.stderr
    command = Path("/proc") / pid.read_text().strip() / "cmdline"
    deadline = time.monotonic() + 60
    try:
        while command.exists() and command.read_bytes():  # a zombie has none
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        (tmp_path / "end").touch()


@pytest.mark.parametrize("way", WAYS)
def test_programs_started_by_the_recorded_program_are_noted(
    tmp_path: Path, programs: Path, way: str
) -> None:
    """It isn't recorded, and only recordable programs are named. The program doesn't notice."""
    traces = [tmp_path / "1.pmt", tmp_path / "2.pmt"]
    for output in traces:
        done = record(output, programs, "./first", way, "./second")
        assert done.returncode == 0, done.stderr
        assert said(done).startswith("pmemsim: second (process ")
        assert said(done).count("(process ") == 2
        assert recorded_program(output) == "first"
    assert traces[0].read_bytes() == traces[1].read_bytes()
    done = record(traces[0], programs, "./first", way, "/bin/true")
    assert (done.returncode, said(done)) == (0, "")


def test_forked_child_is_noted_and_not_recorded(tmp_path: Path, programs: Path) -> None:
    output = tmp_path / "x.pmt"
    done = record(output, programs, "./first", "fork")
    assert done.returncode == 0, done.stderr
    assert said(done).startswith("pmemsim: a child of first (process ")
    assert "--process" not in said(done)
    assert recorded_program(output) == "first"


def test_nested_record_commands_record_one_program_each(tmp_path: Path, programs: Path) -> None:
    outer, inner = tmp_path / "outer.pmt", tmp_path / "inner.pmt"
    script = f"{PMEMSIM} record -o {inner} -- ./second; ./first"
    done = record(outer, programs, "sh", "-c", script, options=("--process", "first"))
    assert (done.returncode, said(done)) == (0, ""), done.stderr
    assert (recorded_program(outer), recorded_program(inner)) == ("first", "second")
