"""The table of docs/guides/testing.md lists every test file, and tests of each module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from check_modules import MODULES
from support import ROOT

pytestmark = pytest.mark.quick

PAGE = ROOT / "docs/guides/testing.md"
# Folders of tests, and the meaning of a name in the table there.
CXX = {path.relative_to(ROOT / "tests").with_suffix("").as_posix(): path
       for folder in ("unit", "contract", "validation", "parsers", "library")
       for path in (ROOT / "tests" / folder).glob("*_test.cpp")}  # fmt: skip
PYTHON = {path.name: path
          for folder in ("tests/python", "frontend/tests")
          for path in (ROOT / folder).glob("test_*.py")}  # fmt: skip


def cells() -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Return rows of the table: modules, tests that `make quick` runs too, and the other tests."""
    table = PAGE.read_text().split("<!-- modules -->\n")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        modules, _, quick, others = line.strip("|").split(" | ")
        yield names_in(modules), names_in(quick), names_in(others)


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(.+?)`", cell)


def rows() -> dict[str, list[str]]:
    """Return each module of the table with the names of its tests."""
    return {module: quick + others for modules, quick, others in cells() for module in modules}


def cxx_name(test: str) -> str:
    return test if "/" in test else f"unit/{test}"


def test_every_module_has_a_row() -> None:
    simulator = {ROOT / "src" / "pmemsim" / module for module in MODULES}
    package = {path.parent for path in (ROOT / "python" / "pmemsim").glob("*/__init__.py")}
    frontend = {ROOT / "frontend" / name for name in ("driver", "pass", "runtime")}
    modules = {path.relative_to(ROOT).as_posix() for path in simulator | package | frontend}
    assert modules - set(rows()) == set()
    assert [module for module in rows() if not (ROOT / module).is_dir()] == []


def test_every_test_file_is_in_a_row_and_is_there() -> None:
    named = {test for tests in rows().values() for test in tests} - {"fuzz/trace_fuzz"}
    assert {test for test in named if test.endswith(".py")} == set(PYTHON)
    assert {cxx_name(test) for test in named if not test.endswith(".py")} == set(CXX)


def marks_of_tests(text: str) -> Iterator[set[str]]:
    """Return the marks of each test of a file, with those of the file itself."""
    body = ast.parse(text).body
    of_file = {
        ast.unparse(node.value)
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    }
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield of_file | set(map(ast.unparse, node.decorator_list))


def has_usual_tests(text: str) -> bool:
    """Return whether a file has a test that isn't marked as long."""
    return any("pytest.mark.long" not in marks for marks in marks_of_tests(text))


def test_every_module_is_tested_by_make_test() -> None:
    for module, tests in rows().items():
        usual = [
            test for test in tests if test in PYTHON and has_usual_tests(PYTHON[test].read_text())
        ]
        assert usual or any(cxx_name(test) in CXX for test in tests), module


def is_quick(test: str) -> bool:
    """Return whether `make quick` runs a case of a test file."""
    if test in PYTHON:
        return any(
            "pytest.mark.quick" in marks and "pytest.mark.long" not in marks
            for marks in marks_of_tests(PYTHON[test].read_text())
        )
    if not cxx_name(test).startswith(("unit/", "validation/")):
        return False
    (excluded,) = re.findall(r"^QUICK := -(.*)$", (ROOT / "Makefile").read_text(), re.M)
    cases = re.findall(r"^TEST\w*\((\w+), (\w+)\)", CXX[cxx_name(test)].read_text(), re.M)
    return any(
        not any(fnmatchcase(f"{suite}.{case}", pattern) for pattern in excluded.split(":"))
        for suite, case in cases
    )


def test_table_separates_tests_of_make_quick() -> None:
    for modules, quick, others in cells():
        assert quick, f"no test of {modules} runs in make quick"
        assert [test for test in quick if not is_quick(test)] == []
        assert [test for test in others if test != "fuzz/trace_fuzz" and is_quick(test)] == []


def test_a_file_with_long_tests_only_has_no_usual_ones() -> None:
    long = "@pytest.mark.long\ndef test_a() -> None: ...\n"
    assert not has_usual_tests(long)
    assert has_usual_tests(long + "def test_b() -> None: ...\n")
    assert not has_usual_tests("pytestmark = pytest.mark.long\ndef test_b() -> None: ...\n")
