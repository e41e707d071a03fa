#!/usr/bin/env python3
"""Checks the words of comments, tests and documentation, as far as they can be counted.

1. A comment is understood alone: neither its sentences nor a note behind code begin with a word of
   `HANGING`, which needs the line before or after.
2. The name of a test is understood alone: it doesn't begin with a word of `HANGING_NAMES`.
3. A sentence of the documentation has at most 35 words, and a line outside tables and code at most
   100 columns.
4. Each link leads to an existing page, and to one of its headings; each page has a link from
   another one.
5. The subject of a commit has at most 72 characters and doesn't end with a full stop.
6. No text contains a phrase of `PHRASES`, which readers stumble over.

Each violation is printed with its place, the rule and the cure; the exit status is then 1. With
--count, the script prints how many there are of each rule instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MOST_WORDS, MOST_COLUMNS, MOST_SUBJECT = 35, 100, 72
HANGING = (
    "Of|Than|Nor|Whoever|Who|Whom|Whose|What|Which|Whether|And|Or|Else|As|So (?:do|does|is|are)"
)
HANGING_NOTES = "of|than|nor|whoever|who|whom|whose|and|or|as"
HANGING_NAMES = "Of|Than|Nor|And|Or|So|As|Who|Whoever|Whose|Which|That|Those|It|They|Else|Neither"
PHRASES = {
    "whoever": "the caller, the waiting core",
    "nobody": "no thread, no caller",
    "anew": "again; recomputed",
    "hears?": "is notified",
    "(?:is|are|was|were) told": "is notified",
    "stands? (?:in|at|on|beside|between|behind|before|for)": "is in; means",
    "(?:give|gives|gave|giving) (?:it )?back": "release",
    "goes along": "coalesces",
    "on its way": "in flight",
    "looked at": "checked",
    "in its turn": "then",
    "pull(?:s|ed)? the plug": "crash",
    "(?:keep|keeps|kept) (?:its|their) word": "fulfils its guarantee",
}
"""Each phrase, a regular expression of whole words, with what to write instead."""
CURES = {
    "comment": "write a sentence or a noun that is understood without the next line",
    "test name": "write Component_Condition_Outcome in words",
    "sentence": f"split it into sentences of at most {MOST_WORDS} words",
    "line": f"break it after at most {MOST_COLUMNS} columns",
    "link": "correct the path, or link the page from another one",
    "phrase": "write what `PHRASES` has for it",
    "commit": f"use at most {MOST_SUBJECT} characters, without a full stop: git commit --amend",
}
# Commits before this one have longer subjects.
FIRST_COMMIT = "642ef38"


class Finding(NamedTuple):
    """A violation."""

    rule: str
    path: str
    line: int
    text: str


def comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield each comment with its line, its text as one line, and whether it stands behind code."""
    if path.suffix == ".py":
        with path.open("rb") as file:
            tokens = [
                each for each in tokenize.tokenize(file.readline) if each.type == tokenize.COMMENT
            ]
        lines = [
            (each.start[0], each.string[1:].strip(), each.line.strip()[0] != "#") for each in tokens
        ]
    else:
        code = re.compile(r'"(?:\\.|[^"\\])*"|//(.*)')
        lines = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for match in code.finditer(line):
                if match[1] is not None:
                    lines.append((number, match[1].strip(), line[: match.start()].strip() != ""))
    begin, block = 0, ""
    for number, text, behind in [*lines, (0, "", True)]:
        if block and (behind or number != begin + block.count("\n") + 1):
            yield begin, block.replace("\n", " "), False
            block = ""
        if behind:
            if text:
                yield number, text, True
        elif block:
            block += "\n" + text
        else:
            begin, block = number, text


def comment_findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield violations of rule 1."""
    hanging = re.compile(rf"(?:^|(?<=[.!?] )|(?<=\d  ))(?:\.\.\. )?(?:{HANGING})\b")
    notes = re.compile(rf"(?:{HANGING}|{HANGING_NOTES})\b")
    for name in paths:
        if not name.endswith((".cpp", ".hpp", ".c", ".h", ".py")):
            continue
        for line, text, behind in comments(root / name):
            if notes.match(text) if behind else hanging.search(text):
                yield Finding("comment", name, line, text[:60])


def test_name_findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield violations of rule 2."""
    cases = re.compile(rf"^TEST(?:_F|_P)?\(\w+, (?:{HANGING_NAMES})(?=[A-Z]).*", re.M)
    functions = re.compile(rf"^def test_(?:{HANGING_NAMES.lower()})_\w+", re.M)
    for name in paths:
        text = (root / name).read_text() if name.endswith((".cpp", ".py")) else ""
        for match in (cases if name.endswith(".cpp") else functions).finditer(text):
            yield Finding("test name", name, text.count("\n", 0, match.start()) + 1, match[0])


def prose(page: str, *, tables: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page; those of code, and of tables, headings and figures, are empty."""
    in_code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        other = not tables and re.match(r"\||<!--|#|!\[|    ", line)
        yield number, "" if in_code or other or line.startswith("```") else line


def page_findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield violations of rule 3."""
    for name in paths:
        paragraph: list[str] = []
        begin = 0
        for number, line in [*prose((root / name).read_text()), (0, "")]:
            if len(re.sub(r"`[^`]*`", "", line)) > MOST_COLUMNS:
                yield Finding("line", name, number, f"{len(line)} columns")
            item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
            if item or not line.strip():
                yield from _long_sentences(name, begin, paragraph)
                paragraph, begin = [], number
            paragraph.append(line[item.end() :] if item else line)


def _long_sentences(name: str, begin: int, paragraph: list[str]) -> Iterator[Finding]:
    text = re.sub(r"`[^`]*`", "code", " ".join(paragraph))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for sentence in re.split(r"(?<=[.!?:])\s+", text):
        if (words := len(sentence.split())) > MOST_WORDS:
            yield Finding("sentence", name, begin, f"{words} words: {sentence.strip()[:50]}")


def anchors(page: str) -> set[str]:
    """Return what links may name of a page: its headings in lower case, without punctuation."""
    headings = re.findall(r"^#+ +(.*)$", page, re.M)
    return {"#" + re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def link_findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield violations of rule 4."""
    linked: set[Path] = set()
    pages = list(paths)
    for name in pages:
        for number, line in prose((root / name).read_text(), tables=True):
            for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", line):
                if "://" in target:
                    continue
                path = (root / name).parent / target if target else root / name
                if path.resolve() != (root / name).resolve():
                    linked.add(path.resolve())
                if not path.exists():
                    yield Finding("link", name, number, f"{target} doesn't exist")
                elif anchor and anchor not in anchors(path.read_text()):
                    yield Finding("link", name, number, f"{target}{anchor} is no heading")
    for name in pages:
        if "/" in name and (root / name).resolve() not in linked:
            yield Finding("link", name, 1, "no other page links this one")


def phrase_findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Yield violations of rule 6."""
    phrases = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.I)
    for name in paths:
        if not name.endswith((".cpp", ".hpp", ".c", ".h", ".py", ".md", ".yaml")):
            continue
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            if match := phrases.search(line):
                yield Finding("phrase", name, number, match[0])


def commit_findings(root: Path, first: str = FIRST_COMMIT) -> Iterator[Finding]:
    """Yield violations of rule 5 behind the first commit; nothing where there is no history."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{first}.."],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > MOST_SUBJECT or subject.endswith("."):
            yield Finding("commit", commit, 0, subject)


def own_list(name: str) -> bool:
    """Return whether a file has the phrases because it lists or tests them."""
    return name.endswith("check_words.py")


def findings_of(root: Path) -> Iterator[Finding]:
    """Yield all violations of a checkout."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    )
    paths = [name for name in listed.stdout.splitlines() if (root / name).is_file()]
    pages = [name for name in paths if name.endswith(".md") and not name.startswith("tests/")]
    yield from comment_findings(root, paths)
    yield from test_name_findings(root, [name for name in paths if "tests/" in name])
    yield from page_findings(root, pages)
    yield from link_findings(root, pages)
    yield from phrase_findings(root, [name for name in paths if not own_list(name)])
    yield from commit_findings(root)


def main() -> int:
    """Check the repository; the exit status."""
    found = list(findings_of(Path(__file__).parents[1]))
    if sys.argv[1:] == ["--count"]:
        for rule, count in Counter(each.rule for each in found).items():
            print(f"{rule}: {count}")
        return 0
    for each in found:
        print(f"{each.path}:{each.line}: {each.rule}: {each.text!r}; {CURES[each.rule]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
