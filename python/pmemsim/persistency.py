"""Is a program crash-safe? Its recording's images by x86's persistency model, and its checker."""

from __future__ import annotations

import contextlib
import math
import re
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.crash import Checker, folder_of_images
from pmemsim.errors import ConfigError, Error
from pmemsim.files import replacing
from pmemsim.simulation import Progress
from pmemsim.trace import Trace

MODELS = {
    "px86": "x86's persistency model: what isn't flushed and fenced may be there or not",
    "eadr": "x86 with caches that survive: only unfenced non-temporal stores may be missing",
}
"""What each model is, by name."""

DEFAULT_BUDGET = "3000"
"""Images that a checker sees, unless the user says otherwise."""

_SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600}
_TIME = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_SECONDS)})")
_MOST_IMAGES = 10**12
# An image that was rejected quickly is reduced to what matters, in so many attempts or a few more.
_QUICK_S = 1.0
_MOST_TRIES = 200


@dataclass(frozen=True)
class Budget:
    """How many images are shown to a checker."""

    text: str
    """As the user writes it."""
    images: int | None = None
    """At most so many."""
    seconds: float | None = None
    """Until so much time is over."""

    @classmethod
    def of(cls, text: str) -> Budget:
        """`10000` images, `30s`, or `all`. Raises an `Error` for anything else."""
        if text == "all":
            return cls(text)
        if match := _TIME.fullmatch(text):
            seconds = float(match[1]) * _SECONDS[match[2]]
            if 0 < seconds < math.inf:
                return cls(text, seconds=seconds)
        elif text.isdecimal() and len(text) < 20 and 1 <= int(text) <= _MOST_IMAGES:
            return cls(text, images=int(text))
        raise Error(
            f"--budget {text}: give a number of images (1 to {_MOST_IMAGES}), a time, as in 30s or "
            "5min, or `all`"
        )

    @property
    def most(self) -> int:
        """For the images' order: how many are wanted at most."""
        if self.images is not None:
            return self.images
        if self.seconds is not None:
            return _core.NO_END_OF_MODEL_IMAGES
        return int(_core.MOST_MODEL_IMAGES)


@dataclass(frozen=True)
class ImageStory:
    """The first image that was rejected."""

    image: int
    """Its number, from 1."""
    lines: tuple[str, ...]
    command: str
    """A command that shows it again."""


@dataclass(frozen=True)
class ModelRun:
    """One recording's images, as far as a checker has seen them."""

    model: str
    workload: str
    threads: int
    seed: int
    """The one that random images were drawn with."""
    budget: str
    images: int
    """Those that the checker has seen."""
    possible: float
    """How many there are; `complete` says whether exactly so many, or at most."""
    complete: bool
    instants: int
    """Instants at which a crash leaves images that no earlier one leaves."""
    wall_s: float
    story: ImageStory | None

    @property
    def images_per_s(self) -> float:
        """Images made and checked a second."""
        return self.images / self.wall_s if self.wall_s else 0.0

    @property
    def extent(self) -> str:
        """How much of what is possible was seen."""
        return extent_of(self.images, self.possible, complete=self.complete)

    def to_dict(self) -> dict[str, Any]:
        """The run as `--json` writes it; docs/crash.md explains every key."""
        values = {name: value for name, value in vars(self).items() if name != "story"}
        if math.isinf(self.possible):
            values["possible"] = None
        story = vars(self.story) if self.story else None
        return {**values, "images_per_s": self.images_per_s, "story": story}


def extent_of(images: int, possible: float, *, complete: bool) -> str:
    """How many images were seen of how many."""
    return f"{images:,} {'of' if complete else 'of at most'} {_count(possible)}"


def _count(number: float) -> str:
    if math.isinf(number):
        return "more than 1e308"
    return f"{number:,.0f}" if number < 10**12 else f"{number:.3g}"


@dataclass(frozen=True)
class Wanted:
    """Which images of a model are shown, and what becomes of one that is rejected."""

    model: str
    budget: Budget
    seed: int = 1
    image: int | None = None
    """Only the one of this number."""
    keep: Path | None = None
    """Where the rejected image goes, or the only one."""
    without: int | None = None
    """A flush or fence that is left out, by the number of its instruction."""


def show_images(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: str,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ModelRun:
    """Show images that the model allows to a checker, until it rejects one.

    So many checkers work at once (`jobs`), which changes nothing but the time. `command` is how the
    user would see the rejected one again. Raises an `Error` where there is nothing to judge.
    """
    _refuse_without_pm(trace)
    begin = time.monotonic()
    with folder_of_images() as folder:
        images = _core.ModelImages(
            _core.TraceFile(str(trace.path)),
            wanted.model == "eadr",
            wanted.seed,
            wanted.budget.most,
            checker.started_in(folder),
            jobs,
            wanted.without,
        )
        refuse_too_many(trace, wanted.budget, images.possible)
        shown = _Shown(trace, wanted, checker, images, begin, progress)
        story = shown.first_rejected(command)
    if story is None and images.complete and images.possible == 1:
        raise Error(
            f"{trace.name}: stores nothing to its persistent memory in the recorded part, so that "
            "no crash can be told from another; record the part that does (docs/recording.md)"
        )
    return ModelRun(
        model=wanted.model,
        workload=trace.name,
        threads=trace.threads,
        seed=wanted.seed,
        budget=wanted.budget.text,
        images=1 if wanted.image is not None else images.number,
        possible=images.possible,
        complete=images.complete,
        instants=images.instants,
        wall_s=time.monotonic() - begin,
        story=story,
    )


def _refuse_without_pm(trace: Trace) -> None:
    if not trace.metadata["pm_regions"]:
        raise Error(
            f"{trace.name}: has no persistent memory, so that there is nothing to crash; "
            "docs/recording.md says how to tell the recorder what is persistent"
        )


def refuse_too_many(trace: Trace, budget: Budget, possible: float) -> None:
    """Raise a `ConfigError` if all images are wanted and there are too many."""
    if budget.text == "all" and possible > _core.MOST_MODEL_IMAGES:
        raise ConfigError(
            [
                f"--budget all: {trace.name} may leave up to {_count(possible)} images, more than "
                f"{_count(_core.MOST_MODEL_IMAGES)}; give a number or a time"
            ]
        )


class _Shown:
    """Images on their way to a checker."""

    def __init__(
        self,
        trace: Trace,
        wanted: Wanted,
        checker: Checker,
        images: _core.ModelImages,
        begin: float,
        progress: Progress | None,
    ) -> None:
        self.wanted = wanted
        self.checker = checker
        self.images = images
        self.begin = begin
        self.progress = progress
        self.regions = len(trace.metadata["pm_regions"])

    def first_rejected(self, command: str) -> ImageStory | None:
        """The story of the first image that is rejected, if one is; the images have come to it."""
        told = self._show()
        if told is None and self.wanted.image is None:
            return None
        problem = self.checker.problem_of(told)
        notes = []
        # How long it takes is seen while no other checker works.
        if told is not None and told[0] != "too long":
            again = self.images.judge(self._report)
            if again is None:
                notes.append(
                    "asked again, the checker accepts that image: what it says depends on more"
                )
            elif again[0] != "too long" and again[-1] < _QUICK_S:
                problem = self._with_less_lost(self.checker.problem_of(again))
        self._keep()
        if not problem:
            return None
        lines = (problem, *notes, *self.images.story())
        return ImageStory(self.images.number, lines, f"{command} --image {self.images.number}")

    def _show(self) -> _core.Told:
        """What a checker says of the first image that it rejects, or of the only one wanted."""
        number = self.wanted.image
        if number is None:
            found = self.images.show_all(self.wanted.budget.seconds, self._report)
            return self.images.said() if found else None
        if not self.images.go_to(number):
            raise Error(f"--image {number}: there are {self.images.number:,} images only")
        return self.images.judge(self._report)

    def _with_less_lost(self, problem: str) -> str:
        """Bring lines back that the image has lost, as many as leave it rejected.

        What is left is what matters. Returns what the checker says of that image.
        """
        lost = self.images.lost_lines()
        size, tries = len(lost), 0
        while size > 1 and tries < _MOST_TRIES:
            size = (size + 1) // 2
            for first in range(0, len(lost), size):
                back = lost[first : first + size]
                self.images.bring_back(back)
                tries += 1
                if said := self.checker.problem_of(self.images.judge(self._report)):
                    problem = said
                else:
                    self.images.lose_again(back)
            lost = self.images.lost_lines()
            size = min(size, len(lost))
        return problem

    def _keep(self) -> None:
        if self.wanted.keep is None:
            return
        paths = kept_files(self.wanted.keep, self.regions)
        with contextlib.ExitStack() as stack:
            self.images.write([str(stack.enter_context(replacing(path))) for path in paths])

    def _report(self, judged: float) -> None:
        if self.progress is None:
            return
        limit = self.wanted.budget.seconds
        if limit is not None:
            self.progress(min((time.monotonic() - self.begin) / limit, 0.999))
        else:
            self.progress(min(judged / min(self.wanted.budget.most, self.images.possible), 0.999))


def kept_files(path: Path, regions: int) -> list[Path]:
    """Where an image is kept: of several regions, a file of each."""
    if regions == 1:
        return [path]
    return [path.with_name(f"{path.name}.{number}") for number in range(regions)]


def repeating_command(target: str, wanted: Wanted, words: list[str]) -> str:
    """The words of a command that makes the same images."""
    given = ["--model", wanted.model, "--budget", wanted.budget.text, "--seed", str(wanted.seed)]
    return shlex.join(["pmemsim", "crash", target, *given, *words])
