"""Test whether a program is crash-safe: check the images that a model or design allows."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pmemsim import _core, plugins
from pmemsim.crashing import Checker, folder_of_images, keep_image
from pmemsim.errors import ConfigError, Error
from pmemsim.presets import Setting
from pmemsim.recovery_recording import Extent, Recorder, extents_of, lines_of_reads
from pmemsim.reduction import reduce_losses
from pmemsim.simulation import Configuration, Progress, configure
from pmemsim.trace import Trace
from pmemsim.unrecorded import notes_on_crashes

MODELS = {
    "px86": "x86's persistency model: data that are not flushed and fenced may be lost",
    "eadr": "x86 with caches that survive: only unfenced non-temporal stores may be lost",
    "guarantees": "images that any machine with the guarantees of --design may leave",
}
"""Description of each model, by name."""

DEFAULT_BUDGET = "3000"
"""Default number of images that a checker sees."""

_SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600}
_TIME = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_SECONDS)})")
_MOST_IMAGES = 10**12
# A rejected image is reduced only if its check took at most this time, in seconds.
_QUICK_S = 1.0
# The machine doesn't matter, because guarantees don't depend on it.
_MACHINE = "asap"


@dataclass(frozen=True)
class Budget:
    """The number of images that are shown to a checker, or the time for it."""

    text: str
    """The budget as the user writes it."""
    images: int | None = None
    """Largest number of images."""
    seconds: float | None = None
    """Largest time."""

    @classmethod
    def of(cls, text: str) -> Budget:
        """Parse `10000` images, `30s`, or `all`; raise an `Error` for anything else."""
        if text == "all":
            return cls(text)
        if match := _TIME.fullmatch(text):
            seconds = float(match[1]) * _SECONDS[match[2]]
            if 0 < seconds < math.inf:
                return cls(text, seconds=seconds)
        elif text.isdecimal() and len(text) < 20 and 1 <= int(text) <= _MOST_IMAGES:
            return cls(text, images=int(text))
        raise Error(
            f"--budget {text}: must be a number of images (1 to {_MOST_IMAGES}), a time, as in "
            "30s or 5min, or `all`"
        )

    def part(self, parts: int) -> Budget:
        """Return one of `parts` equal parts; a budget without a limit has no parts."""
        if self.images is not None:
            return Budget.of(str(max(self.images // parts, 1)))
        if self.seconds is not None:
            return Budget.of(f"{self.seconds / parts * 1000:.0f}ms")
        return self

    @property
    def most(self) -> int:
        """Return the largest number of wanted images, which determines their order."""
        if self.images is not None:
            return self.images
        if self.seconds is not None:
            return _core.NO_END_OF_MODEL_IMAGES
        return int(_core.MOST_MODEL_IMAGES)

    def share(self, checked: float, possible: float, begin: float) -> float:
        """Return the used share: images checked of the possible ones, or time since `begin`."""
        if self.seconds is not None:
            return min((time.monotonic() - begin) / self.seconds, 0.999)
        return min(checked / min(self.most, possible), 0.999)


@dataclass(frozen=True)
class ImageExplanation:
    """The first image that was rejected."""

    image: int
    """Number of the image, from 1."""
    lines: tuple[str, ...]
    command: str
    """Command that shows this image again."""
    lost: tuple[_core.LostStore, ...] = ()
    """Stores that the image has lost, the latest first; empty for a design's guarantees."""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as `--json` writes it."""
        return {"image": self.image, "lines": self.lines, "command": self.command}


@dataclass(frozen=True)
class ModelRun:
    """The result of a checker on the images of one recording."""

    model: str
    workload: str
    threads: int
    seed: int
    """Seed of the random images."""
    budget: str
    images: int
    """Images that were made and checked."""
    shown: int
    """Images that the checker has checked; each other image is equal in all data that it reads."""
    possible: float
    """Number of possible images; `exact` says whether it is exact or an upper bound."""
    complete: bool
    """Whether all possible images are checked, directly or by an equal image."""
    exact: bool
    instants: int
    """Points in time at which a crash leaves images that no earlier crash leaves."""
    wall_s: float
    story: ImageExplanation | None
    notes: tuple[str, ...]
    """Notes on data that the recording lacks, so that images may be missing or impossible."""

    @property
    def unread(self) -> bool:
        """Return whether one image shows that the checker reads nothing that a crash can change."""
        return self.complete and self.shown == 1 < self.possible and self.story is None

    @property
    def images_per_s(self) -> float:
        """Return the images made and checked a second."""
        return self.images / self.wall_s if self.wall_s else 0.0

    @property
    def extent(self) -> str:
        """Say how many of the possible images were checked."""
        checked = "all" if self.complete and not self.exact else f"{self.images:,}"
        return extent_of(checked, self.possible, exact=self.exact)

    def to_dict(self) -> dict[str, Any]:
        """Return the run for `--json` (keys: docs/reference/results.md)."""
        values = {name: value for name, value in vars(self).items() if name != "story"}
        if math.isinf(self.possible):
            values["possible"] = None
        story = self.story.to_dict() if self.story else None
        return {**values, "images_per_s": self.images_per_s, "story": story}


def extent_of(images: str, possible: float, *, exact: bool) -> str:
    """Say how many images were checked of how many."""
    return f"{images} {'of' if exact else 'of at most'} {count(possible)}"


def count(number: float) -> str:
    """Return a number of images in words."""
    if math.isinf(number):
        return "1e308 or more"
    return f"{number:,.0f}" if number < 10**12 else f"{number:.3g}"


@dataclass(frozen=True)
class Wanted:
    """The images of a model to check, and the treatment of a rejected image."""

    model: str
    budget: Budget
    seed: int = 1
    image: int | None = None
    """Number of the only image to check; None: all."""
    recovery_image: int | None = None
    """Number of the only image to check among those of crashes during its recovery."""
    keep: Path | None = None
    """Path for the rejected image, or for the only one."""
    without: _core.Without = field(default_factory=_core.Without)
    """Flushes and fences that are left out."""
    watch: bool = True
    """Whether the checker's reads are observed, if possible, to skip images that are equal in them.
    """
    design: str | None = None
    """The design whose guarantees allow the images, if no persistency model does."""
    delayed: int | None = None
    """Number of the thread whose flushes and fences execute as late as possible; None: none."""
    hosts: int = 1
    """Number of hosts that share PM; thread t runs on host t % hosts."""
    failed: int = 0
    """Number of the host that fails; the others continue. With one host, everything fails."""

    @property
    def allowed_by(self) -> str:
        """Describe the model in words."""
        if self.design is not None:
            return f"guarantees of {self.design}"
        partial = f", host {self.failed} of {self.hosts} fails" if self.hosts > 1 else ""
        return self.model + partial

    def of(self, trace: Trace) -> _core.WantedImages:
        """Return the wanted images of a recording, as the simulator takes them."""
        return _core.WantedImages(
            self.model == "eadr",
            None if self.design is None else _configuration(self.design, trace.threads),
            self.seed,
            self.budget.most,
            self.without,
            self.delayed,
            self.hosts,
            self.failed,
            self.watch,
        )

    def orders(self, trace: Trace) -> list[Wanted]:
        """Return the orders of the threads' operations to explore, with their budgets.

        The first one is the order of visible_order.hpp. In each other order, the flushes and fences
        of one thread are delayed, so that others meet its possibly lost data. These have half of
        the budget together.
        """
        chosen = self.image is not None or self.delayed is not None
        if chosen or self.model != "px86" or trace.threads == 1:
            return [self]
        late = self.budget.part(2 * trace.threads)
        delayed = [replace(self, budget=late, delayed=each) for each in range(trace.threads)]
        return [self, *delayed]


@cache
def _configuration(design: str, threads: int) -> Configuration:
    """Return a configuration of the design with a core for each thread; guarantees are the same."""
    wide_enough = Setting("core.count", str(max(threads, 1)), "the recording's threads")
    return configure(design, _MACHINE, extra=(wide_enough,))


def keeps_regions(design: str) -> bool:
    """Return whether the design guarantees that regions are atomic."""
    return configure(design, _MACHINE).promises_whole_regions


def show_order(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: str,
    known: set[int | None],
    jobs: int = 1,
    progress: Progress | None = None,
) -> ModelRun | None:
    """Run a checker on images that the model allows, until it rejects one.

    `jobs` checkers work at once, which changes nothing but the time. `command` is how the user
    would see the rejected image again. `known` has the digests of earlier orders of the threads,
    and gets this one's. Returns None if it has it: the images are the same. Raises an `Error` if
    nothing can be checked.
    """
    trace.require_values()
    _refuse_without_pm(trace)
    if wanted.hosts > 1 and trace.threads <= max(wanted.failed, 1):
        raise Error(
            f"--hosts {wanted.hosts} --fail {wanted.failed}: {trace.name} has {trace.threads} "
            "threads, and thread t runs on host t % N; choose a host with a thread, and a program "
            "with threads on other hosts"
        )
    if wanted.delayed is not None and wanted.delayed >= trace.threads:
        raise Error(
            f"--delayed {wanted.delayed}: {trace.name} has {trace.threads} threads, with numbers "
            "from 0"
        )
    begin = time.monotonic()
    with folder_of_images() as folder:
        images = _core.ModelImages(
            _core.TraceFile(str(trace.path)), wanted.of(trace), checker.started_in(folder), jobs
        )
        if images.digest in known:
            return None
        known.add(images.digest)
        if not images.watches:
            refuse_too_many(trace, wanted.budget, images.possible)
        shown = Shown(trace, wanted, checker, images, begin, progress)
        story = shown.first_rejected(command)
        if story is None and wanted.image is None and not images.complete:
            refuse_too_many(trace, wanted.budget, images.possible, images.shown)
    if story is None and images.exact and images.possible == 1:
        raise Error(
            f"{trace.name}: the recorded part stores nothing to persistent memory, so all crashes "
            "leave the same image; "
            + "; ".join(
                [
                    "record the part that does (docs/guides/record_program.md)",
                    *notes_on_crashes(trace.metadata),
                ]
            )
        )
    return ModelRun(
        model=wanted.allowed_by,
        workload=trace.name,
        threads=trace.threads,
        seed=wanted.seed,
        budget=wanted.budget.text,
        images=1 if wanted.image is not None else images.number,
        shown=1 if wanted.image is not None else images.shown,
        possible=images.possible,
        complete=images.complete,
        exact=images.exact,
        instants=images.instants,
        wall_s=time.monotonic() - begin,
        story=story,
        notes=tuple(notes_on_crashes(trace.metadata)),
    )


def check_orders(
    trace: Trace, wanted: Wanted, checker: Checker, jobs: int, progress: Progress | None = None
) -> ModelRun:
    """Run a checker on the images of each order of the threads, until it rejects one."""
    known: set[int | None] = set()
    runs: list[ModelRun] = []
    for order in wanted.orders(trace):
        run = show_order(trace, order, checker, "", known, jobs, progress)
        runs += [run] if run else []
        if run and run.story:
            break
    return combined(runs, wanted.budget)


def combined(runs: Sequence[ModelRun], budget: Budget) -> ModelRun:
    """Return the result of several orders, the last of which may have a rejected image."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[-1],
        budget=budget.text,
        images=sum(run.images for run in runs),
        shown=sum(run.shown for run in runs),
        possible=sum(run.possible for run in runs),
        complete=all(run.complete for run in runs),
        exact=False,  # orders share images
        instants=sum(run.instants for run in runs),
        wall_s=sum(run.wall_s for run in runs),
    )


def _refuse_without_pm(trace: Trace) -> None:
    if not trace.metadata["pm_regions"]:
        raise Error(
            f"{trace.name}: the recording has no persistent memory, so there is nothing to crash; "
            "docs/guides/record_program.md explains how to declare persistent memory"
        )


def refuse_too_many(
    trace: Trace, budget: Budget, possible: float, shown: int | None = None
) -> None:
    """Raise a `ConfigError` if all images are wanted and there are too many.

    `shown`: number of images that were checked before this was known.
    """
    if budget.text != "all" or possible <= _core.MOST_MODEL_IMAGES:
        return
    why = f"more than {count(_core.MOST_MODEL_IMAGES)}"
    if shown is not None:
        why = f"of which {shown:,}, all accepted, don't tell all others: what is read is too much, "
        why += "or can't be traced (docs/guides/check_images.md)"
    raise ConfigError(
        [
            f"--budget all: {trace.name} may leave up to {count(possible)} images, {why}; give a "
            "number or a time"
        ]
    )


def _threads(numbers: list[str]) -> str:
    return f"thread{'s' if len(numbers) != 1 else ''} {', '.join(numbers)}"


def _hosts(wanted: Wanted, trace: Trace) -> str:
    """Name the threads of the failed host and the surviving ones."""
    every = range(trace.threads)
    ended = [str(thread) for thread in every if thread % wanted.hosts == wanted.failed]
    going = [str(thread) for thread in every if thread % wanted.hosts != wanted.failed]
    return (
        f"host {wanted.failed} has failed with its caches ({_threads(ended)}); the device "
        f"and the other hosts' caches are intact ({_threads(going)})"
    )


_GUESSED = (
    "the recording lacks the order in which its threads ran, so the order of unsynchronised "
    "accesses is a guess; record it again"
)


class Shown:
    """The images of a run, and the checker that checks them."""

    def __init__(
        self,
        trace: Trace,
        wanted: Wanted,
        checker: Checker,
        images: _core.ModelImages,
        begin: float,
        progress: Progress | None,
        extents: Sequence[Extent | None] | None = None,
    ) -> None:
        """`extents`: locations of the program's regions in the images, if these differ."""
        self.trace = trace
        self.wanted = wanted
        self.checker = checker
        self.images = images
        self.begin = begin
        self.progress = progress
        self.regions = trace.metadata["pm_regions"]
        self.extents = extents_of(self.regions) if extents is None else extents

    def first_rejected(self, command: str) -> ImageExplanation | None:
        """Return the explanation of the first rejected image, if any, at which the images stop."""
        answer = self._show()
        if answer is None and self.wanted.image is None:
            return None
        problem = self.checker.problem_of(answer)
        notes = []
        # The duration is measured while no other checker works.
        if answer is not None and answer.ending != "too long":
            again = self.images.check_image(self._report)
            if again is None:
                notes.append(
                    "the checker accepts that image when it runs again: its verdict does not "
                    "depend on the image alone"
                )
            elif again.ending != "too long" and again.seconds < _QUICK_S:
                problem = self._with_less_lost(self.checker.problem_of(again))
        self._keep()
        if not problem:
            return None
        if not self.images.losses():
            notes.append(
                "no visible data are lost in this image: either the program can't recover from "
                "its own stores, or the checker is wrong"
            )
        if self.wanted.design is None and self.trace.threads > 1 and not self.trace.has_turns:
            notes.append(_GUESSED)
        if self.wanted.hosts > 1:
            notes.append(_hosts(self.wanted, self.trace))
        if self.wanted.delayed is not None:
            notes.append(
                f"thread {self.wanted.delayed} is delayed at its flushes and fences, so that the "
                "others continue before these take effect"
            )
        lines = (problem, *notes, *self.images.explanation(), *self._reads())
        return ImageExplanation(
            self.images.number,
            lines,
            f"{command} --image {self.images.number}",
            tuple(self.images.lost_stores()),
        )

    def _show(self) -> _core.CheckerAnswer | None:
        """Return the checker's answer to the first rejected image, or to the only one wanted."""
        number = self.wanted.image
        if number is None:
            found = self.images.show_all(self.wanted.budget.seconds, self._report)
            return self.images.said() if found else None
        if not self.images.go_to(number, self._report):
            of_recovery = isinstance(self.images, _core.RecoveryImages)
            option = "--recovery-image" if of_recovery else "--image"
            raise Error(f"{option} {number}: there are only {self.images.number:,} images")
        return self.images.check_image(self._report)

    def _with_less_lost(self, problem: str) -> str:
        """Return the checker's answer to the image with only the losses that matter."""
        return reduce_losses(
            self.images,
            lambda: self.checker.problem_of(self.images.check_image(self._report)) or None,
            problem,
        )

    def _reads(self) -> list[str]:
        """Name the image's possibly lost data that recovery has read, if these can be found."""
        if self.checker.library or self.wanted.design is not None:
            return []
        with Recorder.of(self.checker, self.images, self.trace) as recorder:
            recorded = recorder.record(self._report)
            return lines_of_reads(recorded.reads(self.images, self.extents)) if recorded else []

    def _keep(self) -> None:
        if self.wanted.keep is not None:
            keep_image(self.images, self.wanted.keep, len(self.regions))

    def _report(self, checked: float) -> None:
        if self.progress is not None:
            budget = self.wanted.budget
            self.progress(budget.share(checked, self.images.possible, self.begin))


def repeating_command(target: str, wanted: Wanted, words: list[str]) -> str:
    """Return the words of a command that makes the same images."""
    model = ["--model", wanted.model, *(["--design", wanted.design] if wanted.design else [])]
    given = [*model, "--budget", wanted.budget.text, "--seed", str(wanted.seed)]
    if wanted.delayed is not None:
        given += ["--delayed", str(wanted.delayed)]
    if wanted.hosts > 1:
        given += ["--hosts", str(wanted.hosts), "--fail", str(wanted.failed)]
    return shlex.join(["pmemsim", "check", target, *given, *words, *plugins.options()])
