"""tools/check_words.py finds each kind of words that are hard to read, and nothing in good ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from check_words import commit_findings, findings_of

LONG = " ".join(["word"] * 36)
WIDE = "word " * 21
GOOD = {
    "src/a.hpp": "// Returns the seal.\n// The seal is of its newest data.\nint a;  // entries\n",
    "src/c.c": "int f = open(name, 0); pthread_join(thread, 0);  // gives a standing wave\n",
    "src/b.py": '"""Reads a file."""\n\nNAMES = ()  # the names of designs\n',
    "tests/a_test.cpp": "TEST(FlushCheck, OfferedLineIsReported) {}\n",
    "tests/test_a.py": "def test_official_names_are_listed() -> None: ...\n",
    "README.md": f"# A\n\n[page](docs/a.md)\n\n    {WIDE}\n\n```\n{WIDE}\n[no](link.md)\n```\n",
    "docs/a.md": f"# A\n\n| {LONG} |\n\n`{LONG}`\n\n{'word ' * 18}\n",
}
BAD = {
    "comment at a beginning": ("comment", "src/a.hpp", "// Of its newest data.\n"),
    "comment's second sentence": ("comment", "src/a.hpp", "// Returns it. Than before.\n"),
    "comment over two lines": ("comment", "src/a.hpp", "// Returns it.\n// Than the caller.\n"),
    "comment behind code": ("comment", "src/a.hpp", "int a;  // of lines\n"),
    "comment behind a string": ("comment", "src/a.hpp", 'f("//");  // of lines\n'),
    "comment in Python": ("comment", "src/b.py", "A = 1\n# Nor is this.\n"),
    "C++ test name": ("test name", "tests/a_test.cpp", "TEST_F(Check, NorIsItIfNothing) {}\n"),
    "Python test name": ("test name", "tests/test_a.py", "def test_and_so_at_o0(): ...\n"),
    "long sentence": ("sentence", "docs/a.md", f"{LONG[:90]}\n{LONG[90:]}.\n"),
    "long item": ("sentence", "docs/a.md", f"- {LONG[:90]}\n  {LONG[90:]}.\n"),
    "wide line": ("line", "docs/a.md", f"{WIDE}\n"),
    "dead link": ("link", "docs/a.md", "[x](b.md)\n"),
    "link to no heading": ("link", "docs/a.md", "[x](../README.md#b)\n"),
    "phrase in a comment": ("phrase", "src/a.hpp", "// The lock is held by nobody.\n"),
    "phrase in a page": ("phrase", "docs/a.md", "The line is on its way.\n"),
    "page without a link": ("link", "docs/b.md", "# B\n"),
}


def checkout(folder: Path, files: dict[str, str]) -> Path:
    """Make a checkout of these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_good_words_have_no_findings(tmp_path: Path) -> None:
    assert list(findings_of(checkout(tmp_path, GOOD))) == []


@pytest.mark.parametrize("name", BAD)
def test_bad_words_are_found_at_their_place(tmp_path: Path, name: str) -> None:
    rule, path, text = BAD[name]
    found = list(findings_of(checkout(tmp_path, {**GOOD, path: text})))
    assert [(each.rule, each.path) for each in found] == [(rule, path)]
    assert text.splitlines()[found[0].line - 1]


def test_long_subject_of_a_commit_is_found(tmp_path: Path) -> None:
    checkout(tmp_path, GOOD)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for subject in ("Add a page", "Add " + "x" * 69, "Add a page."):
        commit = ["git", *identity, "commit", "-q", "--allow-empty", "-m", subject]
        subprocess.run(commit, cwd=tmp_path, check=True)
    found = [each.text for each in commit_findings(tmp_path, "HEAD~2")]
    assert found == ["Add a page.", "Add " + "x" * 69]
