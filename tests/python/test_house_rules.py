"""Rules of the project that no other tool checks."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from pmemsim.targets import find_target
from support import ROOT, pmemsim

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


def commands() -> list[str]:
    """The modules of which the command line is put together: one a group of commands."""
    text = (COMMANDS / "app.py").read_text()
    line = re.search(r"^from pmemsim\.cli import (.*)$", text, re.M)
    assert line
    return line[1].split(", ")


@pytest.mark.parametrize("command", commands())
def test_commands_do_not_import_each_other(command: str) -> None:
    text = (COMMANDS / f"{command}.py").read_text()
    imported = re.findall(r"^from pmemsim\.cli(?:\.(\w+) import| import (.*))", text, re.M)
    names = {name for module, several in imported for name in (module, *several.split(", "))}
    assert not names & set(commands()), "what commands share stands in a file of its own"
