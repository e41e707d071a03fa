"""Run jobs as a Slurm job array: each task does its share of them.

Task K of N (from 0) has the jobs K, K + N, K + 2 N, ..., so that every task has jobs of every kind.
Results are kept in the cache folder, which all tasks share.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
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
    """A task's share of the jobs."""

    number: int
    """Number of the task, from 0."""
    of: int

    @classmethod
    def parse(cls, text: str) -> Share:
        """Parse `K/N`, as in 0/16."""
        number, slash, of = text.partition("/")
        if slash and number.isdecimal() and of.isdecimal() and int(number) < int(of):
            return cls(int(number), int(of))
        raise Error(f"--share {text}: must be K/N, with K from 0 to N - 1, as in 0/16")

    def take(self, values: Sequence[Value]) -> list[Value]:
        """Return the jobs of this share."""
        return list(values[self.number :: self.of])


def without(arguments: Iterable[str], options: Iterable[str]) -> list[str]:
    """Return a command's arguments without some options, each of which has a value."""
    left = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if name not in options:
            left.append(argument)
        elif not equals:
            next(rest)
    return left


def script(arguments: Sequence[str], name: str, tasks: int, at_once: int) -> str:
    """Return the script for `sbatch`; `arguments` are the whole command's, `name` is the job's."""
    program = Path(sys.executable).with_name("pmemsim")
    command = shlex.join([str(program), *arguments])
    cache = os.environ.get("PMEMSIM_CACHE")
    lines = [
        "#!/bin/sh",
        f"#SBATCH --job-name=pmemsim-{shlex.quote(name)}",
        f"#SBATCH --array=0-{tasks - 1}%{at_once}",
        "#SBATCH --cpus-per-task=1",
        f"# When all tasks have ended: {command}",
        "set -eu",
        f"cd {shlex.quote(str(Path.cwd()))}",
        *([f"export PMEMSIM_CACHE={shlex.quote(str(Path(cache).absolute()))}"] if cache else []),
        f'exec {command} --share "$SLURM_ARRAY_TASK_ID/{tasks}" \\',
        '  --jobs "${SLURM_CPUS_PER_TASK:-1}"',
    ]
    return "\n".join(lines) + "\n"
