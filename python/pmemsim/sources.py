"""Find the source text of a recording's lines on this computer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        self._recording = trace.path
        # A recording of pmemsim's own workload is kept for as long as the workload's program is.
        self._may_change = "workload" not in trace.metadata
        self._folders = (here, *here.parents, there, *there.parents, shipped)
        self._files: dict[str, Sequence[str]] = {}

    def find(self, name: str) -> Path | None:
        """Return the path of a source file, if it is on this computer."""
        found = (folder / name for folder in self._folders if name and (folder / name).is_file())
        return next(found, None)

    def is_newer(self, name: str) -> bool:
        """Return whether a source file has been modified after the recording's file."""
        path = self.find(name) if self._may_change else None
        try:
            return path is not None and (
                path.stat().st_mtime_ns > self._recording.stat().st_mtime_ns
            )
        except OSError:  # deleted meanwhile
            return False

    def note(self, places: Iterable[Place]) -> str:
        """Return a sentence if files of these lines are newer than the recording; else nothing."""
        newer = sorted({file for file in {it.file for it in places} if self.is_newer(file)})
        if not newer:
            return ""
        more = f" and {len(newer) - 1} more" if len(newer) > 1 else ""
        return (
            f"{newer[0]}{more}: modified after {self._recording.name} was written, so its lines "
            "may not be the recorded ones; if the source has changed, record the program again"
        )

    def text(self, place: Place) -> str:
        """Return the line without its indentation; empty if the file isn't found."""
        if place.file not in self._files:
            path = self.find(place.file)
            text = path.read_text(encoding="utf-8", errors="replace") if path else ""
            self._files[place.file] = text.splitlines()
        lines = self._files[place.file]
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
