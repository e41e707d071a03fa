"""Replies of data that a crash may lose, in recorded programs: the rule `replies-unpersisted`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shared import locked
from support import long_except, pmemsim

SOURCE = Path(__file__).with_name("replies.c")
LEVELS = long_except(["-O0", "-O1", "-O2", "-O3"], "-O0", "-O2")
PEERS = ["socket", "pipe", "device"]
FILES = ["file", "terminal", "output"]
CALLS_OF_SOCKETS = ["send", "sendto", "sendmsg", "sendmmsg"]
STREAMS = ["fprintf", "fputs", "fwrite"]
CALLS = ["write", "writev", "syscall", "dprintf", *CALLS_OF_SOCKETS]


def built(folder: Path, level: str = "-O1") -> Path:
    """Return the program, which is compiled once for all tests."""
    program = folder / f"replies{level}"
    with locked(folder):
        if not program.exists():
            compiler = Path(sys.executable).with_name("pmemsim-cc")
            subprocess.run([compiler, level, "-g", "-pthread", SOURCE, "-o", program], check=True)
    return program


def line_of(comment: str) -> int:
    """Return the number of the line with that comment."""
    lines = enumerate(SOURCE.read_text().splitlines(), 1)
    (number,) = [number for number, line in lines if line.endswith(f"/* {comment} */")]
    return number


def record(program: Path, folder: Path, *words: str) -> Path:
    """Record a run in a folder, on a fresh pool."""
    folder.mkdir(exist_ok=True)
    (folder / "pm").mkdir()
    trace = folder / "replies.pmt"
    options = ("-o", trace, "--pm-path", folder / "pm")
    done = pmemsim("record", *options, "--", program, *words, folder / "pm/pool", cwd=folder)
    assert done.returncode == 0, done.stderr
    return trace


def check(trace: Path, *options: str, status: int) -> list[dict[str, Any]]:
    """Return the findings, after a check of the exit status."""
    output = trace.with_suffix(".json")
    done = pmemsim("check", trace, "--json", output, *options)
    assert done.returncode == status, done.stdout + done.stderr
    findings: list[dict[str, Any]] = json.loads(output.read_text())["findings"]
    assert all(each["kind"] == "replies-unpersisted" for each in findings)
    return findings


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("data", ["memory", "value", "text", "own"])
def test_reply_before_its_data_are_persistent_is_a_finding(
    tmp_path: Path, shared_folder: Path, level: str, data: str
) -> None:
    program = built(shared_folder, level)
    trace = record(program, tmp_path / "late", "socket", "write", data, "late")
    (finding,) = check(trace, status=1)
    stored = "other thread's store" if data in {"value", "text"} else "own store"
    assert not finding["note"]
    assert finding["function"] == "reply" or level != "-O0"
    assert finding["other"]["line"] == line_of(stored)
    trace = record(program, tmp_path / "early", "socket", "write", data, "early")
    assert check(trace, status=0) == []


@pytest.mark.parametrize("receiver", PEERS)
@pytest.mark.parametrize("data", ["memory", "own"])
def test_reply_to_another_program_is_a_finding(
    tmp_path: Path, shared_folder: Path, receiver: str, data: str
) -> None:
    trace = record(built(shared_folder), tmp_path, receiver, "write", data, "late")
    (finding,) = check(trace, status=1)
    assert not finding["note"]


@pytest.mark.parametrize("receiver", FILES)
def test_data_written_to_a_file_or_a_terminal_are_a_note(
    tmp_path: Path, shared_folder: Path, receiver: str
) -> None:
    program = built(shared_folder)
    trace = record(program, tmp_path / "memory", receiver, "write", "memory", "late")
    (finding,) = check(trace, status=0)
    assert finding["note"]
    assert finding["reason"] == "file"
    check(trace, "--strict", status=1)
    trace = record(program, tmp_path / "own", receiver, "write", "own", "late")
    assert check(trace, status=0) == []


@pytest.mark.parametrize("call", CALLS)
def test_every_sending_call_is_a_reply(tmp_path: Path, shared_folder: Path, call: str) -> None:
    program = built(shared_folder)
    trace = record(program, tmp_path / "own", "socket", call, "own", "late")
    assert len(check(trace, status=1)) == 1
    if call == "dprintf":
        return
    trace = record(program, tmp_path / "value", "socket", call, "value", "late")
    assert len(check(trace, status=1)) == 1


@pytest.mark.parametrize("call", long_except(STREAMS, "fprintf"))
@pytest.mark.parametrize("receiver", long_except(["socket", "pipe"], "socket"))
def test_stream_on_a_socket_or_a_pipe_replies_when_its_buffer_is_sent(
    tmp_path: Path, shared_folder: Path, receiver: str, call: str
) -> None:
    program = built(shared_folder)
    for data in ("own", "value") if call != "fputs" else ("own",):
        trace = record(program, tmp_path / data, receiver, call, data, "late")
        (finding,) = check(trace, status=1)
        assert not finding["note"]
        trace = record(program, tmp_path / f"{data}_early", receiver, call, data, "early")
        assert check(trace, status=0) == []


@pytest.mark.long
def test_stream_on_a_file_is_no_reply(tmp_path: Path, shared_folder: Path) -> None:
    trace = record(built(shared_folder), tmp_path, "file", "fprintf", "own", "late")
    assert check(trace, status=0) == []


def test_store_that_is_persisted_after_the_last_request_is_a_note(
    tmp_path: Path, shared_folder: Path
) -> None:
    trace = record(built(shared_folder), tmp_path, "socket", "write", "put off", "late")
    (finding,) = check(trace, status=0)
    assert finding["reason"] == "own_store"


def test_write_at_an_offset_of_a_file_is_a_note(tmp_path: Path, shared_folder: Path) -> None:
    trace = record(built(shared_folder), tmp_path, "file", "pwrite", "memory", "late")
    (finding,) = check(trace, status=0)
    assert finding["reason"] == "file"


def test_recording_does_not_depend_on_where_standard_output_leads(
    tmp_path: Path, shared_folder: Path
) -> None:
    program = built(shared_folder)
    tool = Path(sys.executable).with_name("pmemsim")
    pool = tmp_path / "pm" / "pool"
    pool.parent.mkdir()
    recordings = []
    for output in (subprocess.PIPE, subprocess.DEVNULL):
        pool.unlink(missing_ok=True)
        trace = tmp_path / "replies.pmt"
        options = ["-o", str(trace), "--pm-path", str(pool.parent)]
        words = ["output", "write", "memory", "late", str(pool)]
        command = [str(tool), "record", *options, "--", str(program), *words]
        subprocess.run(command, check=True, stdout=output, cwd=tmp_path)
        recordings.append(trace.read_bytes())
    assert recordings[0] == recordings[1]


def test_check_says_that_a_recording_has_no_reply(tmp_path: Path, shared_folder: Path) -> None:
    trace = record(built(shared_folder), tmp_path, "socket", "none", "own", "late")
    done = pmemsim("check", trace)
    assert "the recording has no reply (write, send): replies-unpersisted" in done.stdout
