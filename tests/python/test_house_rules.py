"""Rules of the project that no other tool checks."""

from __future__ import annotations

import re

import pytest
from support import ROOT

COMMANDS = ROOT / "python" / "pmemsim" / "cli"


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
