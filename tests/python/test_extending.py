"""The worked example of a command in docs/guides/add_command.md; test_docs.py runs the others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pmemsim
from support import ROOT

PAGE = (ROOT / "docs/guides/add_command.md").read_text()


def blocks() -> dict[str, str]:
    """Return the files of the example, by their names."""
    return dict(re.findall(r"^<!-- command: (\S+) -->\n```python\n(.*?)^```$", PAGE, re.M | re.S))


def package_with_the_command(folder: Path) -> Path:
    """Make a copy of the installed package's commands with the example's; other files are links."""
    installed = Path(pmemsim.__file__).parent
    copy = folder / "pmemsim"
    (copy / "cli").mkdir(parents=True)
    for path in installed.iterdir():
        if path.name != "cli":
            (copy / path.name).symlink_to(path)
    for path in (installed / "cli").glob("*.py"):
        (copy / "cli" / path.name).write_text(path.read_text())
    files = blocks()
    (copy / "cli" / "hello.py").write_text(files["hello.py"])
    with (copy / "cli" / "app.py").open("a") as app:
        app.write(files["app.py"])
    return folder


def test_added_command_runs_and_refuses_bad_input(tmp_path: Path) -> None:
    folder = package_with_the_command(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = f"import sys; sys.path.insert(0, {str(folder)!r}); "
        program += "from pmemsim.cli import main; main()"
        command = [sys.executable, "-P", "-c", program, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert re.fullmatch(r"\d+ designs\n", run("hello").stdout)
    refused = run("hello", "--least", "1000")
    assert refused.returncode == 2
    assert "--least 1000: there are" in refused.stderr
    assert "Count the designs" in run("hello", "--help").stdout
