#!/usr/bin/env python3
"""Runs the examples of pages of the documentation: run_page.py PAGE...

All blocks of a page run in one new folder, with the commands on the PATH. It needs only Python, so
that it also runs where nothing but pmemsim is installed (tools/try_wheel.sh).

A block after `<!-- file: NAME -->` is written to that file. The lines after `$ ` of a console block
after `<!-- run -->` are executed. They must end with status 0 (`<!-- run: N -->`: with N) and print
the block's other lines, in which `...` matches anything. A block after `<!-- run watched -->` is
executed on machines where programs can be watched, one after `<!-- run with libpmem -->` where
libpmem is installed, and one after `<!-- run with clang -->` where clang 19 is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^<!-- (?P<what>file|run|run watched|run with libpmem|run with clang)"
    r"(?:: (?P<argument>\S+))? -->\n```\w+\n(?P<text>.*?)^```$",
    re.M | re.S,
)
CONDITIONS: Mapping[str, Callable[[], bool]] = {
    "run": lambda: True,
    "run with libpmem": Path("/usr/include/libpmem.h").exists,
    "run with clang": lambda: shutil.which("clang-19") is not None,
}
"""When the blocks of a kind are executed."""


@dataclass
class Example:
    """A marked block of a page."""

    what: str
    argument: str
    text: str


def examples(page: Path) -> list[Example]:
    """Return the marked blocks of a page."""
    return [
        Example(match["what"], match["argument"] or "", match["text"])
        for match in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def matches(expected: str, printed: str) -> bool:
    """Return whether a command's output is that of the page, in which `...` matches anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


def commands(text: str) -> list[tuple[str, str]]:
    """Return each command with what it is expected to print."""
    parts = re.split(r"^\$ ", text, flags=re.M)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def run(
    page: Path,
    folder: Path,
    conditions: Mapping[str, Callable[[], bool]] = CONDITIONS,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Run a page's examples in a folder, and return the number of commands.

    Raises `AssertionError` with the output of a command that doesn't do what the page says.
    """
    count = 0
    for example in examples(page):
        if example.what == "file":
            (folder / example.argument).write_text(example.text, encoding="utf-8")
        elif example.what in conditions and conditions[example.what]():
            for command, expected in commands(example.text):
                _run(command, expected, int(example.argument or 0), folder, environment)
                count += 1
    return count


def _run(
    command: str, expected: str, status: int, folder: Path, environment: Mapping[str, str]
) -> None:
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**environment, "COLUMNS": "200"}, text=True,
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
    )  # fmt: skip
    if done.returncode != status or not matches(expected, done.stdout):
        raise AssertionError(f"$ {command}\n{done.stdout}\nended with status {done.returncode}")


def main() -> int:
    """Run pages, and print the number of commands of each."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {run(Path(name), Path(folder))} commands ran as documented", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
