"""Numbers and verdicts are the committed ones of tests/pins (docs/guides/testing.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pins.configurations import BACKENDS, DESIGNS, FOLDER
from pins.files import MOST_SHOWN, committed, difference, write
from pins.kinds import KINDS
from pmemsim.presets import preset_names
from shared import locked

pytestmark = pytest.mark.quick

MOST_LINES = 20_000
MOST_COLUMNS = 130
STATISTICS = [name for name in committed(FOLDER) if name.startswith(("counts/", "times/"))]
OTHERS = [kind for kind in KINDS if kind != "statistics"]


def measured(kind: str, shared_folder: Path) -> Path:
    """Return the folder of a kind's files, which one worker measures for all."""
    folder = shared_folder / "pins" / kind
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if not committed(folder):
            write(folder, KINDS[kind]())
    return folder


def differences(folder: Path, names: list[str]) -> str:
    """Return a report of what differs in these files."""
    found = [difference(name, text(FOLDER / name), text(folder / name)) for name in names]
    return "\n".join(filter(None, found))


def text(path: Path) -> str:
    """Return what is in a file, or nothing if there is no such file."""
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_unchanged(shared_folder: Path, name: str) -> None:
    found = differences(measured("statistics", shared_folder), [name])
    assert not found, found


@pytest.mark.parametrize("kind", OTHERS)
def test_verdicts_are_unchanged(shared_folder: Path, kind: str) -> None:
    folder = measured(kind, shared_folder)
    found = differences(folder, committed(folder))
    assert not found, found


def test_each_committed_file_is_measured(shared_folder: Path) -> None:
    names = [name for kind in KINDS for name in committed(measured(kind, shared_folder))]
    assert sorted(names) == committed(FOLDER)


def test_pins_stay_within_their_limits_of_lines_and_columns() -> None:
    lines = [line for name in committed(FOLDER) for line in (FOLDER / name).read_text().split("\n")]
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_COLUMNS


def test_every_preset_is_pinned() -> None:
    assert sorted(name for names in DESIGNS.values() for name in names) == preset_names("design")
    assert sorted(name for names in BACKENDS.values() for name in names) == preset_names("backend")


def test_a_difference_names_old_and_new_values() -> None:
    old = "a b 1\na c 2.5\ngone 3\n"
    assert difference("mem.txt", old, old) == ""
    assert difference("mem.txt", old, "a b 1\na c 2.75\nfresh 4\n").splitlines() == [
        "tests/pins/mem.txt: 3 of 3 values differ",
        "  a c: 2.5 committed, 2.75 measured",
        "  gone: 3 committed, nothing measured",
        "  fresh: nothing committed, 4 measured",
        "If the change is meant, run `make update-pins`, and explain the change in the commit.",
    ]


def test_many_differences_are_named_up_to_a_limit() -> None:
    old, new = ("".join(f"{key} {value}\n" for key in range(30)) for value in (1, 2))
    lines = difference("mem.txt", old, new).splitlines()
    assert lines[1:-2] == [f"  {key}: 1 committed, 2 measured" for key in range(MOST_SHOWN)]
    assert lines[-2] == "  and 10 more"


def test_two_lines_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mem\.txt: several lines have the name 'a b'"):
        write(tmp_path, {"mem.txt": ["a b 1", "a b 2"]})
