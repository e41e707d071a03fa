"""Changes of persistent memory without a recorded store are reported, and nothing else is."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import HERE, built_toolchain, run
from pmemsim import _core, recording
from pmemsim.errors import Error
from pmemsim.trace import Trace
from pmemsim.unrecorded import notes_on_crashes
from shared import locked
from support import long_except, pmemsim

SOURCE = HERE / "recorded" / "unrecorded.c"
LIBRARY = HERE / "recorded" / "unrecorded_library.c"
POOL_BYTES = 1 << 20
PLACE = 0x10040
PAGE_GIVEN = 2  # PagesAre::kGiven of src/pmemsim/trace/contents.hpp

UNRECORDED = (
    "encoded_assembly", "register_bit", "handler", "child", "library", "library_unmapped", "library_replaced",
    "library_shrunk", "library_exit", "library_threads", "covered", "same_again", "vector_read",
)  # fmt: skip
RECORDED = (
    "store", "assembly", "non_temporal", "copies", "updates", "races", "thread_left",
    "mapped_again", "mapped_twice", "grown", "plain_read", "recorded_exit", "childs_own",
    "synced",
)  # fmt: skip
WITH_LIBRARY = tuple(way for way in UNRECORDED if way.startswith(("library", "covered")))

NOTE = "persistent memory changed without a recorded store"

Build = Callable[..., Path]
Recorded = tuple[Trace, str]


@pytest.fixture(scope="session")
def build(shared_folder: Path) -> Build:
    """Compile the program and its library, once."""
    parent = shared_folder / "unrecorded"
    parent.mkdir(exist_ok=True)
    cc = built_toolchain() / "bin" / "pmemsim-cc"

    def compiled(*options: str, library_by: str | Path = "clang-19") -> Path:
        folder = parent / "-".join([Path(library_by).name, *options]).replace("=", "-")
        program = folder / "program"
        with locked(parent):
            if program.exists():
                return program
            folder.mkdir(exist_ok=True)
            library = folder / "libput.so"
            run(library_by, "-O1", "-shared", "-fPIC", LIBRARY, "-o", library)
            run(
                cc, "-O1", "-g", "-pthread", *options, SOURCE, library,
                f"-Wl,-rpath,{folder}", "-o", program,
            )  # fmt: skip
        return program

    return compiled


def record(program: Path, folder: Path, way: str) -> Recorded:
    """Record the program; return the trace and the messages."""
    (folder / "pm").mkdir()
    pool = folder / "pm" / "pool"
    pool.write_bytes(bytes(POOL_BYTES))
    output = folder / "x.pmt"
    done = pmemsim("record", "-o", output, "--pm-path", folder / "pm", "--", program, way, pool)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == {"pm", "x.pmt"}, "nothing is left"
    trace = Trace(output)
    trace.verify()
    return trace, done.stderr


@pytest.mark.parametrize(
    "way",
    long_except(
        UNRECORDED, "encoded_assembly", "handler", "child", "library", "library_threads", "covered",
        "same_again",
    ),
)  # fmt: skip
def test_pm_change_without_a_recorded_store_is_reported(
    build: Build, tmp_path: Path, way: str
) -> None:
    trace, said = record(build(), tmp_path, way)
    (region,) = trace.metadata["pm_regions"]
    place = region["begin"] + PLACE
    assert trace.metadata["unrecorded"] == {
        "bytes": 8,
        "places": 1,
        "lowest": [{"begin": place, "end": place + 8}],
    }
    assert f"{NOTE}: 8 bytes in 1 location, at {tmp_path}/pm/pool+0x10040 ({place:#x});" in said


@pytest.mark.parametrize(
    "way", long_except(RECORDED, "store", "assembly", "copies", "races", "mapped_twice", "synced")
)
def test_recorded_pm_changes_are_not_reported(build: Build, tmp_path: Path, way: str) -> None:
    trace, said = record(build(), tmp_path, way)
    assert "unrecorded" not in trace.metadata
    assert NOTE not in said


@pytest.mark.parametrize("way", WITH_LIBRARY)
def test_pm_changes_by_a_recorded_library_are_not_reported(
    build: Build, tmp_path: Path, way: str
) -> None:
    by = built_toolchain() / "bin" / "pmemsim-cc"
    trace, said = record(build(library_by=by), tmp_path, way)
    assert "unrecorded" not in trace.metadata
    assert NOTE not in said


@pytest.mark.parametrize("way", long_except(UNRECORDED, "handler", "child", "library"))
def test_pm_changes_after_the_region_of_interest_are_not_reported(
    build: Build, tmp_path: Path, way: str
) -> None:
    trace, said = record(build("-DAFTER_REGION"), tmp_path, way)
    assert "unrecorded" not in trace.metadata
    assert NOTE not in said


def test_memory_that_msync_makes_durable_is_recorded(build: Build, tmp_path: Path) -> None:
    trace, _ = record(build(), tmp_path, "synced")
    assert notes_on_crashes(trace.metadata) == []


def run_alone(program: Path, folder: Path, way: str, contents: Path | None) -> tuple[Trace, str]:
    """Record the program without `pmemsim record`; return the trace and the messages."""
    pool = folder / "pool"
    pool.write_bytes(bytes(POOL_BYTES))
    environment = {"PMEMSIM_TRACE": str(folder / "x.pmt"), "PMEMSIM_PM_PATH": str(folder)}
    if contents:
        environment["PMEMSIM_CONTENTS"] = str(contents)
    done = subprocess.run(
        [program, way, pool],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    trace = Trace(folder / "x.pmt")
    trace.verify()
    return trace, done.stderr


def test_recording_is_complete_when_the_pm_contents_cannot_be_written(
    build: Build, tmp_path: Path
) -> None:
    contents = tmp_path / "nowhere" / "contents"
    _, said = run_alone(build(), tmp_path, "library_unmapped", contents)
    assert (
        said.count("the final contents of persistent memory could not be written (No such file")
        == 1
    )


def test_writing_the_pm_contents_adds_no_program_instructions(build: Build, tmp_path: Path) -> None:
    """The runtime's work in a call of munmap isn't executed by the program."""
    external = [
        run_alone(build(), tmp_path, "library_unmapped", contents)[0].metadata["instructions"][
            "external"
        ]
        for contents in (None, tmp_path / "contents")
    ]
    assert external[1] == external[0]


def test_pm_contents_pages_are_written_once_unless_changed(build: Build, tmp_path: Path) -> None:
    """The first time is when one of two mappings is removed; one is written again at the end."""
    run_alone(build(), tmp_path, "mapped_twice", tmp_path / "contents")
    held, given = (tmp_path / "contents").read_bytes(), []
    while held:
        begin, _, are = struct.unpack_from("<QII", held)
        held = held[16 + (4096 if are == PAGE_GIVEN else 0) :]
        given += [begin] if are == PAGE_GIVEN else []
    assert len(given) == 3
    assert len(set(given)) == 2


@pytest.fixture
def partial(build: Build, tmp_path: Path) -> Path:
    """Make a recording in which a store is missing."""
    record(build(), tmp_path, "library")
    return tmp_path / "x.pmt"


def notes_of(*command: str | Path) -> list[list[str]]:
    """Return the notes in the JSON of each run."""
    result = json.loads(pmemsim(*command, "--json", "-").stdout)
    return [run["notes"] for run in result.get("runs", [result])]


CRASHES = (
    ("check",),
    ("crash", "--design", "x86-bare"),
    ("check", "--model", "px86", "--verify", "cksum"),
)


@pytest.mark.parametrize("command", CRASHES, ids=" ".join)
def test_crash_commands_report_a_partial_recording(partial: Path, command: tuple[str, ...]) -> None:
    words = (command[0], partial, *command[1:])
    done = pmemsim(*words)
    assert done.returncode == 0, "notes change no verdict"
    shown = done.stdout.replace("\n", " ")
    assert "partial: persistent memory changed without a recorded store (8 bytes in " in shown
    (notes,) = notes_of(*words)
    assert any(note.startswith(NOTE) and f"pool+{PLACE:#x}" in note for note in notes)


@pytest.mark.parametrize("command", CRASHES, ids=" ".join)
def test_crash_commands_report_nothing_for_a_complete_recording(
    build: Build, tmp_path: Path, command: tuple[str, ...]
) -> None:
    record(build(), tmp_path, "store")
    words = (command[0], tmp_path / "x.pmt", *command[1:])
    assert NOTE not in pmemsim(*words).stdout
    (notes,) = notes_of(*words)
    assert not any(NOTE in note for note in notes)


def test_trace_info_shows_unrecorded_pm_changes(partial: Path) -> None:
    (row,) = [
        line
        for line in pmemsim("trace", "info", partial).stdout.splitlines()
        if "changed without a recorded store" in line
    ]
    assert "8 bytes in 1 location, at" in row
    done = pmemsim("trace", "info", "--json", "-", partial)
    (facts,) = json.loads(done.stdout)["recordings"]
    assert facts["metadata"]["unrecorded"]["bytes"] == 8


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Error("x.pmt: no space left on device"), "no space left on device"),
        (
            MemoryError(),
            "there is not enough memory to compare persistent memory with the recording",
        ),
    ],
)
def test_recording_is_kept_when_the_pm_contents_cannot_be_compared(
    build: Build,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    said: str,
) -> None:
    def fail(path: Path, contents: Path) -> None:
        raise error

    monkeypatch.setattr(_core, "store_unrecorded", fail)
    pool = tmp_path / "pool"
    pool.write_bytes(bytes(POOL_BYTES))
    command = [str(build()), "library", str(pool)]
    trace = recording.record(command, tmp_path / "x.pmt", pm_paths=[tmp_path])
    trace.verify()
    assert f"{said}; the recording is complete" in capfd.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"pool", "x.pmt"}
