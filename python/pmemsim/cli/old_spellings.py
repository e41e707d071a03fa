"""Old spellings of commands: the error message contains the new spelling."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pmemsim.errors import Error

_RENAMED = {
    "--check": "--verify",
    "--check-in-process": "--verify-library",
    "--check-timeout": "--verify-timeout",
    "--check-images": "--verify-images",
}
_VALUES = {"promises": "guarantees"}
# Options for programs, which moved from `crash` to `check`.
_MOVED = ("--model", "--budget", "--image", "--recovery-image", "--without-each")

EXAMPLES = (
    "crash --mutants",
    "crash TARGET --design DESIGN --check CMD",
    "crash TARGET --design DESIGN --check-in-process LIBRARY",
    "crash TARGET --design DESIGN --check-images N",
    "crash TARGET --design DESIGN --check-timeout SECONDS",
    "crash TARGET --model px86",
    "crash TARGET --model px86 --check CMD",
    "crash TARGET --model eadr --check-in-process LIBRARY",
    "crash TARGET --model promises --design DESIGN --check CMD",
    "crash TARGET --model px86 --check CMD --budget N",
    "crash TARGET --model px86 --check CMD --image N --recovery-image N",
    "crash TARGET --model px86 --check CMD --without-each",
    "crash TARGET --model px86 --check CMD --keep-image FILE",
    "check TARGET --check CMD",
    "check TARGET --check-in-process LIBRARY",
    "check TARGET --answers CMD --check-timeout SECONDS",
)
"""Return a line for every option that now has another name or is in another command."""


def current_spelling(command: str, words: Sequence[str]) -> str | None:
    """Return the command line in the new spelling; None if it is new already."""
    names = [word.partition("=")[0] for word in words]
    if command not in ("check", "crash"):
        return None
    if command == "crash" and "--mutants" in names:
        return "selftest"
    moved = command == "crash" and any(name in _MOVED for name in names)
    if not moved and not any(name in _RENAMED for name in names):
        return None
    parts = [[_VALUES.get(part, part) for part in word.partition("=")] for word in words]
    new = [_RENAMED.get(name, name) + equals + value for name, equals, value in parts]
    checkers = {"--verify", "--verify-library"} & {word.partition("=")[0] for word in new}
    if moved and not checkers:
        new += ["--verify", "own"]  # the old default of `crash`
    return shlex.join(["check" if moved else command, *new])


def refuse_old_spelling(command: str, words: Sequence[str]) -> None:
    """Raise an `Error` with the new spelling if a command line has an old spelling."""
    if new := current_spelling(command, words):
        raise Error(
            f"{shlex.join([command, *words])} is spelled differently now; run: pmemsim {new}"
        )
