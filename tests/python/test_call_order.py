"""The allowed call order in the library and the recording runtime, from their own pages."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import ROOT

BUILD = ROOT / "build" / "wheel"  # where `make setup` compiles what it installs
_ENTRY = re.compile(r"(?: {4}| \*   )(\w+(?:, \w+)*,?)(?:  .*)?")


def stated_order(page: str) -> list[list[str]]:
    """Return a page's list of files after `Who may call whom`, lowest first, an entry a list."""
    text = (ROOT / page).read_text()
    lines = iter(text[text.index("Who may call whom") :].splitlines()[1:])
    entries: list[list[str]] = []
    unfinished = False
    for line in lines:
        match = _ENTRY.fullmatch(line.removesuffix(" */"))
        if match:
            names = [name for name in match[1].split(", ") if name]
            entries[-1:] = [entries[-1] + names] if unfinished else [*entries[-1:], names]
            unfinished = match[1].endswith(",")
    return [[name.rstrip(",") for name in entry] for entry in entries]


def calls(objects: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Return the calls between object files: caller's file, callee's file, and function."""
    defined: dict[str, str] = {}
    used: list[tuple[str, str]] = []
    for path in objects:
        name = path.name.partition(".")[0]
        done = subprocess.run(
            ["nm", "--format=posix", path], text=True, capture_output=True, check=True
        )
        for symbol, kind, *_ in (line.split() for line in done.stdout.splitlines()):
            if kind == "U":
                used.append((name, symbol))
            if kind in "TW":
                defined[symbol] = name
    for name, symbol in used:
        if defined.get(symbol, name) != name:
            yield name, defined[symbol], symbol


def objects_of(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (BUILD / folder).glob("*.o")]
    assert found, f"{BUILD} has no object files; make setup builds them"
    # Objects of renamed sources stay in a folder that is built again.
    sources = {stem for folder in ("library", "frontend/runtime") for stem in sources_of(folder)}
    return [path for path in found if path.name.partition(".")[0] in sources]


def sources_of(folder: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / folder).iterdir() if path.suffix in (".c", ".cpp"))


@pytest.mark.quick
def test_files_of_the_library_call_only_those_below_them_in_its_header() -> None:
    order = [name for entry in stated_order("library/internal.h") for name in entry]
    assert sorted(order) == sources_of("library")
    objects = objects_of("library/CMakeFiles/pm.dir", "library/CMakeFiles/pm_without_persist.dir")
    wrong = [call for call in calls(objects) if order.index(call[0]) < order.index(call[1])]
    assert not wrong


def test_files_of_the_runtime_call_only_those_below_them_in_its_page() -> None:
    order = stated_order("frontend/runtime/README.md")
    assert sorted(name for entry in order for name in entry) == sources_of("frontend/runtime")
    level = {name: number for number, entry in enumerate(order) for name in entry}
    objects = objects_of("frontend/runtime/CMakeFiles/pmemsim_rt_objects.dir")
    wrong = [
        call
        for call in calls(objects)
        if level[call[0]] < level[call[1]] and "pmemsim" in call[2]  # the program has no such names
    ]
    assert not wrong


@pytest.mark.parametrize("caller", ["bottom", "top"])
def test_call_against_the_order_of_files_is_found(caller: str, tmp_path: Path) -> None:
    callee = "top" if caller == "bottom" else "bottom"
    (tmp_path / f"{caller}.c").write_text(
        f"void {callee}(void); void {caller}(void) {{ {callee}(); }}"
    )
    (tmp_path / f"{callee}.c").write_text(f"int data; void {callee}(void) {{ data = 1; }}")
    for source in tmp_path.glob("*.c"):
        subprocess.run(["clang-19", "-c", source, "-o", source.with_suffix(".c.o")], check=True)
    assert list(calls(sorted(tmp_path.glob("*.o")))) == [(caller, callee, callee)]
