"""Pages of help and error messages are the committed texts of tests/snapshots."""

from __future__ import annotations

import difflib

import pytest

import snapshots

CURE = "If the new text is meant, run `make update-pins`."


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return snapshots.help_pages()


def committed(name: str) -> str:
    """Return a committed text, or nothing if there is no such file."""
    path = snapshots.FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def difference(name: str, text: str) -> str:
    """Return the lines that differ from the committed text, with the cure; nothing if none does."""
    old, new = committed(name).splitlines(), text.splitlines()
    lines = [
        *difflib.unified_diff(old, new, f"tests/snapshots/{name}", "printed", lineterm="", n=1)
    ]
    return "\n".join([*lines, CURE]) if lines else ""


def test_each_page_of_help_is_the_committed_one(pages: dict[str, str]) -> None:
    found = [difference(f"help/{name}.txt", text) for name, text in pages.items()]
    assert not any(found), "\n".join(filter(None, found))


def test_each_committed_page_belongs_to_a_command(pages: dict[str, str]) -> None:
    assert sorted(pages) == sorted(file.stem for file in (snapshots.FOLDER / "help").iterdir())
    assert {"pmemsim", "pmemsim-crash", "pmemsim-list-designs"} <= pages.keys()


def test_each_message_is_the_committed_one() -> None:
    found = difference("messages.txt", snapshots.messages())
    assert not found, found


def test_a_difference_shows_the_changed_line() -> None:
    text = committed("messages.txt")
    assert difference("messages.txt", text) == ""
    changed = difference("messages.txt", text.replace("did you mean 'run'?", "is it 'run'?"))
    assert "+pmemsim: rum: unknown command; is it 'run'?" in changed
    assert changed.endswith(CURE)
