"""Rules of the project that no other tool checks."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from pmemsim.targets import find_target
from support import ROOT, pmemsim

pytestmark = pytest.mark.quick

COMMANDS = ROOT / "python" / "pmemsim" / "cli"


def version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def test_the_command_has_the_version_of_pyproject() -> None:
    assert pmemsim("--version").stdout == f"pmemsim {version()}\n"


def test_recordings_name_the_version_of_pyproject() -> None:
    trace = find_target("queue", threads=2, regions=200).trace()
    assert trace.metadata["pmemsim"] == version()


def test_the_citation_has_the_version_of_pyproject() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version()


def test_the_changelog_begins_with_the_version_of_pyproject() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first
    assert first[1] == version()


def imported(file: Path) -> set[str]:
    """Return all imports of a file in full: `a.b` and `a.b.c` for `from a.b import c`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports by its full name, please"
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def commands() -> set[str]:
    """Return the modules of the command line: one a group of commands."""
    tree = ast.parse((COMMANDS / "app.py").read_text())
    (table,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_COMMANDS"
    ]
    places = [place for each in ast.literal_eval(table).values() for place, _ in each.values()]
    return {f"pmemsim.cli.{place.partition('.')[0]}" for place in places}


@pytest.mark.parametrize("file", sorted(COMMANDS.glob("*.py")), ids=lambda file: file.stem)
def test_commands_are_imported_by_app_alone(file: Path) -> None:
    if file.stem != "app":
        assert not imported(file) & commands(), (
            "code that commands share must be in a file of its own"
        )


MOST_LINES = 60
"""Of a command's function, without its options and its help."""


def lines_of(function: ast.FunctionDef) -> int:
    """Return the length of a function's body, without its documentation."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return int(body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("file", sorted(COMMANDS.glob("*.py")), ids=lambda file: file.stem)
def test_functions_of_commands_are_short(file: Path) -> None:
    functions = [
        node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)
    ]
    assert {each.name for each in functions if lines_of(each) > MOST_LINES} == set()


def test_messages_in_cpp_code_name_no_command_line_options() -> None:
    """Users of Python read them, too; but a recording's sources of PM are words of the format."""
    option = re.compile(r'"[^"\n]*(?<![\w-])--[a-z][^"\n]*"')
    sources = {"kHeap"}
    wrong = [
        (path.name, line.strip())
        for folder in ("src", "bindings")
        for path in sorted((ROOT / folder).rglob("*.?pp"))
        for line in path.read_text().splitlines()
        if option.search(line.partition("//")[0]) and not any(name in line for name in sources)
    ]
    assert wrong == []


def test_nothing_but_commands_imports_the_command_line() -> None:
    for file in (ROOT / "python" / "pmemsim").rglob("*.py"):
        if COMMANDS not in file.parents:
            assert not [name for name in imported(file) if name.startswith("pmemsim.cli")], file


def test_every_form_of_import_is_found(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "def f():\n    import pmemsim.cli.crash\n    from pmemsim.cli import (\n run\n )\n"
        "from pmemsim.cli.trace import info as x\n"
    )
    assert {"pmemsim.cli.crash", "pmemsim.cli.run", "pmemsim.cli.trace"} <= imported(file)


@pytest.mark.parametrize("target", ["test", "lint"])
def test_make_test_and_lint_print_how_long_they_took(target: str) -> None:
    command = ["make", "--no-print-directory", "--dry-run", target]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True)
    assert f"make %s took %d min %02d s\\n' {target} " in done.stdout.splitlines()[-1]


def test_fast_checks_of_lint_are_commit_hooks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = " ".join(hook["entry"] for hook in hooks)
    for tool in ("ruff check", "ruff format --check", "mypy", "clang-format", "check_modules"):
        assert tool in entries
