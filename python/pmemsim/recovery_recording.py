"""Record a checker's run on an image, including its recovery, like any program."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.crashing import Checker
from pmemsim.files import temporary_folder
from pmemsim.processes import Processes
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace

_LINE = 64
_MOST_READS = 10


@dataclass(frozen=True)
class Extent:
    """The range in which a program has the contents of an image's file."""

    begin: int
    end: int


def extents_of(regions: Sequence[dict[str, Any]]) -> list[Extent]:
    """Return the extents of a recording's regions of persistent memory, from its metadata."""
    return [Extent(region["begin"], region["end"]) for region in regions]


@dataclass(frozen=True)
class OpenRead:
    """A line of recovery that loads possibly lost data, and the line that stored the data."""

    load: Place
    store: Place

    def to_dict(self) -> dict[str, object]:
        """Return the lines as `--json` writes them."""
        return {**self.load.to_dict(), "store": self.store.to_dict()}


def shown(place: Place) -> str:
    """Say where something is read or stored."""
    return str(place) if place.line else "an unknown line"


@dataclass(frozen=True)
class Recorded:
    """A recording of a checker on an image."""

    file: _core.TraceFile
    path: Path
    answer: _core.CheckerAnswer | None
    """The checker's answer to the image; None: it has accepted it."""
    extents: list[Extent | None]
    """The checker's range of each file of the image; None: it had none."""

    def places(self, before: Sequence[Extent | None]) -> list[tuple[int, int, int]]:
        """Return its ranges with the contents of `before`: begin, end, and begin in `before`."""
        return [
            (now.begin, min(now.end, now.begin + then.end - then.begin), then.begin)
            for now, then in zip(self.extents, before, strict=True)
            if now and then and now.begin % _LINE == 0 == then.begin % _LINE
        ]

    def reads(
        self, images: _core.ModelImages, before: Sequence[Extent | None]
    ) -> list[tuple[OpenRead, bool]]:
        """Return the run's loads of possibly lost data, and whether the image contains these data.

        `images` are at the recorded image; `before` has the ranges of its files.
        """
        found = _core.open_reads(images, self.file, self.places(before))
        return [(OpenRead(read.load, read.store), read.there) for read in found]


class Recorder:
    """Records a checker on images, one after the other."""

    def __init__(
        self, checker: Checker, images: _core.ModelImages, trace: Trace, folder: Path
    ) -> None:
        """Make a recorder for images of the trace's PM, with recordings in the folder."""
        self.images = images
        self.regions = trace.metadata["pm_regions"]
        self.folder = folder
        self.built = True
        """Whether the last checker was a program that can be recorded."""
        self._number = 0
        self._trace, self._notes, pm = folder / "trace", folder / "notes", folder / "pm"
        self._notes.mkdir()
        pm.mkdir()
        self._files = [pm / f"image0.{number}" for number in range(len(self.regions))]
        variables = {
            "CHECKER": "1",
            "TRACE": self._trace,
            "PM_PATH": pm,
            "PROCESSES": self._notes,
            "PROCESS": "",
            "RECORDER": os.getpid(),
        }
        environment = [f"PMEMSIM_{name}={value}" for name, value in variables.items()]
        self._checker = _core.OneChecker(checker.started_in(pm, environment), images)

    @classmethod
    @contextlib.contextmanager
    def of(cls, checker: Checker, images: _core.ModelImages, trace: Trace) -> Iterator[Recorder]:
        """Create a recorder whose recordings are removed after the block."""
        with temporary_folder() as folder:
            yield cls(checker, images, trace, folder.resolve())

    def record(self, progress: Progress | None) -> Recorded | None:
        """Record the checker on the current image; None if there is no recording of it."""
        for note in self._notes.iterdir():
            note.unlink()
        answer = self._checker.check_image(progress)
        self.built = Processes(self._notes).has_recorded
        if not self._trace.exists():
            return None
        self._number += 1
        path = self.folder / f"{self._number}.pmt"
        self._trace.rename(path)
        recording = _core.TraceFile(str(path))
        found = json.loads(recording.metadata_json)["pm_regions"]
        extents = [
            _extent(file, before, found)
            for file, before in zip(self._files, self.regions, strict=True)
        ]
        return Recorded(recording, path, answer, extents)


def _extent(file: Path, before: dict[str, Any], regions: Sequence[dict[str, Any]]) -> Extent | None:
    """Find the checker's file by its name, or a pool of pm.h by its address."""
    for region in regions:
        is_pool = not region["source"].startswith(("/", "-"))
        if region["source"] == str(file) or (is_pool and region["begin"] == before["begin"]):
            return Extent(region["begin"], region["end"])
    return None


def lines_of_reads(reads: Sequence[tuple[OpenRead, bool]]) -> list[str]:
    """Return the lines of an explanation about these loads."""
    if not reads:
        return []
    lines = ["recovery reads possibly lost data:"]
    pairs = list(
        dict.fromkeys((shown(read.load), shown(read.store), there) for read, there in reads)
    )
    for load, store, there in pairs[:_MOST_READS]:
        lines.append(f"  at {load}, data stored at {store}: {'kept' if there else 'lost'}")
    if len(pairs) > _MOST_READS:
        lines.append(f"  and {len(pairs) - _MOST_READS} more")
    return lines
