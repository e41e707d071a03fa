"""Find the source text of a recording's lines on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pmemsim.installation import installed_dir
from pmemsim.trace import Place, Trace


class Sources:
    """The source files of a recorded program.

    A recording has the names of source files relative to the folder of the compilation, or to one
    above it. They are searched in the current folder, in the recording's, in those above them, and
    among pmemsim's own workloads.
    """

    def __init__(self, trace: Trace) -> None:
        here, there = Path.cwd(), trace.path.resolve().parent
        shipped = installed_dir() / "toolchain" / "share" / "pmemsim"
        self._folders = (here, *here.parents, there, *there.parents, shipped)
        self._files: dict[str, Sequence[str]] = {}

    def find(self, name: str) -> Path | None:
        """Return the path of a source file, if it is on this computer."""
        found = (folder / name for folder in self._folders if name and (folder / name).is_file())
        return next(found, None)

    def text(self, place: Place) -> str:
        """Return the line without its indentation; empty if the file isn't found."""
        if place.file not in self._files:
            path = self.find(place.file)
            text = path.read_text(encoding="utf-8", errors="replace") if path else ""
            self._files[place.file] = text.splitlines()
        lines = self._files[place.file]
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
