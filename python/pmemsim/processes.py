"""Find which processes of a command are recorded, since a command may start several.

The runtime in each of them (`frontend/runtime/processes.cpp`) leaves a note in a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pmemsim.files import temporary_folder

_POLL_S = 0.1
_SILENCE_S = 1.0
_MOST_NAMED = 4
_FLOCK = "hhqqi"  # the C library's struct flock
_CHILD = "a child of "


class Processes:
    """The notes of one recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @contextlib.contextmanager
    def create(cls) -> Iterator[Processes]:
        """Create a folder for notes; after the block, end a process that still records."""
        with temporary_folder() as folder:
            processes = cls(folder)
            try:
                yield processes
            finally:
                processes._end_recorded()

    @property
    def has_recorded(self) -> bool:
        """Return whether a program that can be recorded was started."""
        return self._recorded() is not None

    def await_recorded(self, keep_going: Callable[[], None] | None) -> None:
        """Wait for a process that runs in the background; print a message if this takes long."""
        silent_until = time.monotonic() + _SILENCE_S
        while self._running() is not None:
            if time.monotonic() > silent_until:
                print(f"pmemsim: waiting for {self._recorded()} to end", file=sys.stderr)
                silent_until = float("inf")
            time.sleep(_POLL_S)
            if keep_going:
                keep_going()

    def why_no_trace(self, wanted: str | None) -> str:
        """Say in a sentence why there is no trace."""
        recorded, others = self._recorded(), self._others()
        if recorded:
            also = f" (not recorded: {_few(others)})" if others else ""
            return (
                f"no trace was kept, because {recorded} failed, was killed or became another "
                f"process{also}; let it return from main(), or record another program with "
                "--process NAME"
            )
        if wanted and others:
            return (
                f"recorded nothing, because no program has the name {wanted}; programs that "
                f"ran: {_few(others)}"
            )
        return "ran, but recorded nothing; build it with pmemsim-cc or pmemsim-c++"

    def not_recorded(self) -> str | None:
        """Say in a sentence which processes are not in the trace; nothing if all are."""
        others = self._others()
        if not others:
            return None
        sentence = (
            f"{_few(others)} {'were' if len(others) > 1 else 'was'} not recorded, because a trace "
            f"contains only one process, here {self._recorded()}"
        )
        if all(other.startswith(_CHILD) for other in others):
            return sentence
        return (
            f"{sentence}; to record another program, name it with --process NAME, or write "
            "'pmemsim record' before its command"
        )

    def _recorded(self) -> str | None:
        for _, process, name in self._notes("recorded"):
            return f"{name} (process {process})"
        return None

    def _others(self) -> list[str]:
        found: dict[str, str] = {}
        for event, process, name in self._notes("others"):
            if (
                event == "replaced"
            ):  # the child runs another program, which has its own note if it has a runtime
                found.pop(process, None)
            else:
                what = _CHILD if event == "forked" else ""
                found[process] = f"{what}{name} (process {process})"
        return list(found.values())

    def _notes(self, file: str) -> list[list[str]]:
        try:
            text = (self.folder / file).read_text(errors="replace")
        except FileNotFoundError:
            return []
        return [line.split(" ", 2) for line in text.split("\n")[:-1]]

    def _running(self) -> int | None:
        """Return the number of the recorded process, as long as it holds its lock."""
        try:
            file = (self.folder / "recorded").open("rb")
        except FileNotFoundError:
            return None
        with file:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
        kind, _, _, _, holder = struct.unpack(_FLOCK, answer)
        return None if kind == fcntl.F_UNLCK else holder

    def _end_recorded(self) -> None:
        if process := self._running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)


def _few(processes: list[str]) -> str:
    more = len(processes) - _MOST_NAMED
    return ", ".join(processes[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
