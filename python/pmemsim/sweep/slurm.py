"""A sweep as a Slurm job array: each task simulates its share of the points into a file of its own.

The K-th of N tasks (from 0) has the points K, K + N, K + 2 N, ..., so that all have some of each
kind. `--collect` makes one file of theirs.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pmemsim.errors import Error

Value = TypeVar("Value")
MOST_TASKS = 1000  # Slurm's MaxArraySize is 1001, unless a site has changed it
DEFAULT_TASKS = 100
DEFAULT_AT_ONCE = 10


@dataclass(frozen=True)
class Share:
    """A task's part of the points."""

    number: int
    """From 0."""
    of: int

    @classmethod
    def parse(cls, text: str) -> Share:
        """`K/N`, as in 0/16."""
        number, slash, of = text.partition("/")
        if slash and number.isdecimal() and of.isdecimal() and int(number) < int(of):
            return cls(int(number), int(of))
        raise Error(f"--share {text}: write it as K/N, with K from 0 to N - 1, as in 0/16")

    def take(self, values: Sequence[Value]) -> list[Value]:
        """The share's own."""
        return list(values[self.number :: self.of])

    def part(self, out: Path) -> Path:
        """The file of its results, beside that of all."""
        return out.with_name(f"{out.stem}.{self.number}-of-{self.of}{out.suffix}")


def parts_of(out: Path) -> list[Path]:
    """The tasks' files that there are."""
    name = re.compile(rf"{re.escape(out.stem)}\.\d+-of-\d+{re.escape(out.suffix)}")
    return sorted(path for path in out.parent.iterdir() if name.fullmatch(path.name))


def script(spec: Path, out: Path, tasks: int, at_once: int) -> str:
    """What `sbatch` runs."""
    program = Path(sys.executable).with_name("pmemsim")
    command = shlex.join(
        [str(program), "sweep", str(spec.absolute()), "--out", str(out.absolute())]
    )
    cache = os.environ.get("PMEMSIM_CACHE")
    lines = [
        "#!/bin/sh",
        f"#SBATCH --job-name=pmemsim-{shlex.quote(out.stem)}",
        f"#SBATCH --array=0-{tasks - 1}%{at_once}",
        "#SBATCH --cpus-per-task=1",
        f"# When all tasks have ended: {command} --collect",
        "set -eu",
        f"cd {shlex.quote(str(Path.cwd()))}",
        *([f"export PMEMSIM_CACHE={shlex.quote(str(Path(cache).absolute()))}"] if cache else []),
        f'exec {command} --share "$SLURM_ARRAY_TASK_ID/{tasks}" \\',
        '  --jobs "${SLURM_CPUS_PER_TASK:-1}"',
    ]
    return "\n".join(lines) + "\n"
