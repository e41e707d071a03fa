"""Crash during recovery: a checker is a program, too, and a crash may interrupt its recovery."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.crashing import Checker, folder_of_images
from pmemsim.errors import Error
from pmemsim.persistency import (
    DEFAULT_BUDGET,
    Budget,
    ModelRun,
    Shown,
    Wanted,
    count,
)
from pmemsim.recovery_recording import OpenRead, Recorded, Recorder, extents_of
from pmemsim.simulation import Progress
from pmemsim.trace import Trace

MOST_RECORDED = 100
"""Largest number of images whose recovery is recorded."""


@dataclass(frozen=True)
class RecoveryExplanation:
    """The first rejected image of a second crash."""

    image: int
    """Number of the first crash's image."""
    recovery_image: int
    """Number of the second crash's image."""
    lines: tuple[str, ...]
    command: str
    """Command that shows this image again."""


@dataclass
class Reads:
    """Number of images in which recovery has read certain data that a crash may lose."""

    there: int = 0
    """Number of images that contained the data."""
    lost: int = 0
    """Number of images that had lost it."""


@dataclass
class RecoveryRun:
    """The results of crashing recovery again."""

    recorded: int = 0
    """Images whose recovery was recorded."""
    different: int = 0
    """Number of these recoveries that differ in their effects on persistent memory."""
    images: int = 0
    """Images of second crashes that the checker has checked."""
    possible: float = 0
    """Number of possible images; `complete` says whether it is exact or an upper bound."""
    complete: bool = True
    all_accepted: bool = False
    """Whether the checker has accepted all images that a first crash can leave."""
    reason: str = ""
    """Reason why recovery wasn't crashed; empty: it was."""
    reads: dict[OpenRead, Reads] = field(default_factory=dict)
    story: RecoveryExplanation | None = None
    wall_s: float = 0

    @property
    def extent(self) -> str:
        """Describe how many of the possible images were checked."""
        if not self.different:
            return "none, because recovery stores nothing"
        of = "of" if self.complete else "of at most"
        return f"{self.images:,} {of} {count(self.possible)}"

    def right_either_way(self, read: OpenRead) -> bool:
        """Return whether recovery is right both with and without the stored data."""
        times = self.reads[read]
        return self.all_accepted or (times.there > 0 and times.lost > 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the run for `--json` (keys: docs/reference/results.md)."""
        reads = [
            {**read.to_dict(), **vars(times), "right_either_way": self.right_either_way(read)}
            for read, times in self.reads.items()
        ]
        story = vars(self.story) if self.story else None
        return {**vars(self), "reads": reads, "story": story}


def crash_recovery(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    run: ModelRun,
    command: str,
    jobs: int = 1,
    progress: Progress | None = None,
) -> RecoveryRun:
    """Crash the recovery of the images of `run` that the checker has accepted.

    Recovery is recorded, and the images that the model allows of the recording are shown to the
    same checker, as many as it has seen of the program's.
    """
    if checker.library:
        return RecoveryRun(reason="a library can't be recorded; name a program with --verify")
    with folder_of_images() as folder:
        second = _SecondCrashes(trace, wanted, checker, folder, jobs, progress, command)
        second.run.all_accepted = run.complete and run.story is None
        with Recorder.of(checker, second.crashed, trace) as recorder:
            second.record(recorder, _chosen(run.images) if wanted.image is None else [wanted.image])
            second.crash()
    second.run.wall_s = time.monotonic() - second.begin
    return second.run


def _chosen(images: int) -> list[int]:
    """Choose the first images, which show most bugs, as one half; space the others evenly."""
    if images <= MOST_RECORDED:
        return list(range(1, images + 1))
    first = MOST_RECORDED // 2
    rest = MOST_RECORDED - first
    spread = [first + (images - first) * (number + 1) // rest for number in range(rest)]
    return [*range(1, first + 1), *spread]


@dataclass(frozen=True)
class _Recovery:
    """A recovery that differs from all others."""

    image: int
    recorded: Recorded


class _SecondCrashes:
    """Recoveries that are to be crashed."""

    def __init__(
        self,
        trace: Trace,
        wanted: Wanted,
        checker: Checker,
        folder: Path | None,
        jobs: int,
        progress: Progress | None,
        command: str,
    ) -> None:
        self.trace = trace
        self.wanted = wanted
        self.checker = checker
        self.jobs = jobs
        self.progress = progress
        self.command = command
        self.run = RecoveryRun()
        # The order does not depend on the number of wanted images, so that an image keeps its
        # number.
        self.recoveries_wanted = _core.WantedImages(
            wanted.model == "eadr",
            None,
            wanted.seed,
            _core.NO_END_OF_MODEL_IMAGES,
            _core.Without(),
            None,
            1,
            0,
            False,
        )
        self.starter = checker.started_in(folder)
        self.extents = extents_of(trace.metadata["pm_regions"])
        self.recoveries: list[_Recovery] = []
        self.begin = time.monotonic()
        self.crashed = _core.ModelImages(
            _core.TraceFile(str(trace.path)),
            replace(wanted, watch=False).of(trace),
            self.starter,
            1,
        )

    def record(self, recorder: Recorder, numbers: Sequence[int]) -> None:
        """Record the checker on the images of these numbers."""
        known = set()
        mapped = False
        for done, number in enumerate(numbers):
            if self._too_late(0.5):
                break
            self._report(0.5 * done / len(numbers))
            self.crashed.go_to(number, None)
            recorded = recorder.record(None)
            if not recorder.built:
                break
            if recorded is None or recorded.answer is not None:
                continue
            self.run.recorded += 1
            mapped = mapped or any(recorded.extents)
            self._note_reads(recorded)
            steps = _core.persist_steps(recorded.file)
            if steps.stores and steps.hash not in known and any(recorded.extents):
                known.add(steps.hash)
                self.recoveries.append(_Recovery(number, recorded))
            else:
                recorded.path.unlink()
        self.run.different = len(self.recoveries)
        self.run.reason = self._why_not(recorder.built, mapped)
        if self.wanted.recovery_image is not None and not self.recoveries:
            why = self.run.reason or f"recovery from image {self.wanted.image} stores nothing"
            raise Error(f"--recovery-image {self.wanted.recovery_image}: {why}")

    def _why_not(self, built: bool, mapped: bool) -> str:
        program = self.checker.command[0]
        if not built:
            return f"{program} was not built with pmemsim-cc"
        if self.run.recorded == 0:
            return f"no run of {program} could be recorded"
        return "" if mapped else f"{program} does not map the image's file with MAP_SHARED"

    def _note_reads(self, recorded: Recorded) -> None:
        for read, there in recorded.reads(self.crashed, self.extents):
            times = self.run.reads.setdefault(read, Reads())
            if there:
                times.there += 1
            else:
                times.lost += 1

    def crash(self) -> None:
        """Run the checker on the images of second crashes, until it rejects one."""
        for index, recovery in enumerate(self.recoveries):
            if self._too_late(1):
                self.run.complete = False
                break
            left = len(self.recoveries) - index
            self.crashed.go_to(recovery.image, None)
            images = _core.RecoveryImages(
                recovery.recorded.file,
                self.crashed,
                recovery.recorded.places(self.extents),
                self.recoveries_wanted,
                self.starter,
                self.jobs,
            )
            images.set_limit(self._share(images.possible, left))
            self._show(recovery, images, left)
            if self.run.story:
                break

    def _share(self, possible: float, left: int) -> int:
        """Return how many of the `possible` images of the next of `left` recoveries to check."""
        budget = self.wanted.budget
        if budget.text == "all" and possible > _core.MOST_MODEL_IMAGES:
            return Budget.of(DEFAULT_BUDGET).most
        if budget.images is None:
            return int(_core.NO_END_OF_MODEL_IMAGES)
        return max((budget.images - self.run.images) // left, 1)

    def _show(self, recovery: _Recovery, images: _core.RecoveryImages, left: int) -> None:
        budget = self.wanted.budget
        if budget.seconds is not None:
            seconds = self.begin + budget.seconds - time.monotonic()
            budget = replace(budget, seconds=max(seconds, 0) / left)
        shown = Shown(
            self.trace,
            replace(self.wanted, image=self.wanted.recovery_image, budget=budget),
            self.checker,
            images,
            time.monotonic(),
            None if self.progress is None else lambda _: self._report(0.5),
            recovery.recorded.extents,
        )
        story = shown.first_rejected("")
        self.run.images += 1 if self.wanted.recovery_image is not None else images.number
        self.run.possible += images.possible
        self.run.complete = self.run.complete and images.complete
        if story is None:
            return
        again = f"{self.command} --image {recovery.image} --recovery-image {story.image}"
        problem, *lost = story.lines
        lines = (
            problem,
            f"the first crash left image {recovery.image:,}, which recovers correctly:",
            *(f"  {line}" for line in self.crashed.explanation()),
            f"a second crash, during its recovery, left image {story.image:,}:",
            *(f"  {line}" for line in lost),
        )
        self.run.story = RecoveryExplanation(recovery.image, story.image, lines, again)

    def _too_late(self, share: float) -> bool:
        """Return whether that share of the time is over."""
        seconds = self.wanted.budget.seconds
        return seconds is not None and time.monotonic() > self.begin + share * seconds

    def _report(self, share: float) -> None:
        if self.progress is not None:
            self.progress(share)


def only_one(wanted: Wanted) -> bool:
    """Return whether only an image of the program is wanted, and none of recovery."""
    return wanted.image is not None and wanted.recovery_image is None
