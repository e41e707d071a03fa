"""`pmemsim check --verify`: run a user's checker on the images that a model or guarantees allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pmemsim.cli.choices import names_of
from pmemsim.cli.command import EXPLORATION, OUTPUT, option
from pmemsim.cli.console import err, out, run_with_progress, si, table
from pmemsim.cli.options import check_whole
from pmemsim.cli.verdicts import Verdict, undecided
from pmemsim.crashing import Checker
from pmemsim.errors import Error, Problems
from pmemsim.left_out import LeftOut, check_without_each
from pmemsim.persistency import (
    DEFAULT_BUDGET,
    Budget,
    ModelRun,
    Wanted,
    combined,
    keeps_regions,
    show_order,
)
from pmemsim.recovery import RecoveryRun, crash_recovery, only_one
from pmemsim.recovery_recording import OpenRead, shown
from pmemsim.trace import Trace

_MOST_READS = 10


@dataclass(frozen=True)
class ImageOptions:
    """Options that select the images to check, and the files to write."""

    budget: Annotated[str | None, option(
        EXPLORATION, "--budget", value="N|TIME|all", default=DEFAULT_BUDGET,
        help="How many images are checked: a number, a time (30s, 5min), or `all`. The images "
            "most likely to reveal a bug are first, then random ones (see --seed). With several "
            "threads, half as many more are checked with a thread delayed (--delayed).",
    )] = None  # fmt: skip
    without_each: Annotated[bool, option(
        EXPLORATION, "--without-each",
        help="Also removes each flush and each fence in turn, and reports whether the checker "
            "then rejects an image, or whether the crash images stay the same.",
    )] = False  # fmt: skip
    image: Annotated[
        int | None,
        option(EXPLORATION, "--image", value="N", help="Checks only the image with this number."),
    ] = None
    recovery_image: Annotated[int | None, option(
        EXPLORATION, "--recovery-image", value="N", more=True,
        help="With --image: checks only the image with this number among those that a second "
            "crash, during recovery from the first image, leaves.",
    )] = None  # fmt: skip
    delayed: Annotated[int | None, option(
        EXPLORATION, "--delayed", value="N", more=True,
        help="Checks only images in which the flushes and fences of the thread with this number, "
            "from 0, execute as late as the recording allows. Default: the images without a "
            "delayed thread, and half as many more with each thread delayed in turn.",
    )] = None  # fmt: skip
    hosts: Annotated[int | None, option(
        EXPLORATION, "--hosts", value="N", more=True,
        help="Number of hosts that share persistent memory. Thread t runs on host t % N. The "
            "images are those that the surviving hosts see after the host of --fail has failed.",
    )] = None  # fmt: skip
    fail: Annotated[int | None, option(
        EXPLORATION, "--fail", value="N", more=True,
        help="With --hosts: number of the host that fails, from 0.",
    )] = None  # fmt: skip
    keep_image: Annotated[Path | None, option(
        OUTPUT, "--keep-image", value="FILE", more=True,
        help="Writes the rejected image, or the image of --image, to this file. Several regions "
            "of persistent memory are written to FILE.0, FILE.1, ...",
    )] = None  # fmt: skip


@dataclass(frozen=True)
class Search:
    """Options that select the images for a checker or a reader."""

    budget: Budget
    seed: int
    image: int | None
    timeout_s: float | None
    jobs: int


def wanted_images(
    options: ImageOptions, search: Search, model: str, designs: str | None, problems: Problems
) -> list[Wanted]:
    """Return the selection of images for the model, or for each design's guarantees."""
    check_whole(problems, "--recovery-image", options.recovery_image, 1)
    wanted = Wanted(
        model=model,
        budget=search.budget,
        seed=search.seed,
        image=search.image,
        recovery_image=options.recovery_image,
        keep=options.keep_image,
        delayed=options.delayed,
        hosts=options.hosts or 1,
        failed=options.fail or 0,
    )
    check_whole(problems, "--hosts", options.hosts, 2)
    if options.hosts is not None and not 0 <= (options.fail or 0) < options.hosts:
        problems.add([f"--fail {options.fail}: must be from 0 to {options.hosts - 1}"])
    if options.delayed is not None and options.delayed < 0:
        problems.add([f"--delayed {options.delayed}: must be the number of a thread, from 0"])
    if designs is None:
        return [wanted]
    names = names_of(designs, problems)
    if len(names) > 1 and (search.image is not None or options.keep_image is not None):
        problems.add(["--image and --keep-image require a single design; name one with --design"])
    if options.without_each:
        _refuse_with_regions(names, problems)
    return [replace(wanted, design=name) for name in names]


def _refuse_with_regions(names: Sequence[str], problems: Problems) -> None:
    for name in names:
        with problems.collected():
            if keeps_regions(name):
                raise Error(
                    f"--without-each: {name} makes regions durable without the program's flushes; "
                    "choose a design without regions, for example hops-bare"
                )


@dataclass(frozen=True)
class Images:
    """The result of a checker on the images of one model."""

    run: ModelRun
    recovery: RecoveryRun | None = None
    """The result of crashes during recovery; None if these were not wanted."""
    left_out: tuple[LeftOut, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `--json` (keys: docs/reference/results.md)."""
        recovery = self.recovery.to_dict() if self.recovery else None
        left_out = [instruction.to_dict() for instruction in self.left_out]
        return {
            **self.run.to_dict(),
            "recovery": recovery,
            **({"left_out": left_out} if left_out else {}),
        }


def check_images(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: Callable[[Wanted], str],
    jobs: int,
    *,
    without_each: bool,
) -> Images:
    """Run the checker on images, on crashes of its recovery, and on images without instructions.

    Each step runs only if the checker rejected no image before. `command` returns the command that
    shows images to the user again.
    """
    by = f"{trace.name} under {wanted.allowed_by}"
    orders = wanted.orders(trace)
    known: set[int | None] = set()
    runs: list[ModelRun] = []
    for order in orders:
        found = _show_order(trace, order, checker, command(order), jobs, by, known)
        runs += [found] if found else []
        run = combined(runs, wanted.budget)
        if run.story:
            return Images(run)
        if wanted.image is None:
            _refuse_unread(runs[0])
    recovery = None
    if wanted.design is None and not only_one(wanted):
        first = orders[0]
        recovery = run_with_progress(
            f"recovery of {by}",
            lambda report: crash_recovery(
                trace, first, checker, runs[0], command(first), jobs, report
            ),
        )
    if not without_each:
        return Images(run, recovery)
    left_out = run_with_progress(
        f"{by} without each flush and fence",
        lambda report: tuple(check_without_each(trace, wanted, checker, jobs, report)),
    )
    return Images(run, recovery, left_out)


def _show_order(
    trace: Trace,
    wanted: Wanted,
    checker: Checker,
    command: str,
    jobs: int,
    by: str,
    known: set[int | None],
) -> ModelRun | None:
    # A wrong image of recovery is written instead of the image with which recovery began.
    first = wanted if wanted.recovery_image is None else replace(wanted, keep=None)
    late = "" if wanted.delayed is None else f", thread {wanted.delayed} delayed"
    return run_with_progress(
        by + late, lambda report: show_order(trace, first, checker, command, known, jobs, report)
    )


def _refuse_unread(run: ModelRun) -> None:
    if run.unread:
        raise Error(
            f"{run.workload}: the checker read no data that a crash can change, so no image was "
            "checked; the checker must read the image file that its last argument names"
        )


def print_images(every: Sequence[Images]) -> None:
    """Print tables of images, of second crashes, and of omitted instructions."""
    columns = [
        "model", "workload", ">threads", ">instants", ">images checked", ">shown", ">rejected",
        ">images/s",
    ]  # fmt: skip
    rows = [
        (
            run.model,
            run.workload,
            str(run.threads),
            f"{run.instants:,}",
            run.extent,
            f"{run.shown:,}",
            "1" if run.story else "0",
            si(run.images_per_s),
        )
        for run in (images.run for images in every)
    ]
    if rows:
        out.print(table("", columns, rows))
    for images in every:
        if images.recovery and not images.recovery.reason:
            _print_recovery(images.run, images.recovery)
        if images.left_out:
            _print_left_out(images.run, images.left_out)


def note_recovery(every: Sequence[Images]) -> None:
    """Describe why recovery isn't crashed again."""
    for run, recovery in ((images.run, images.recovery) for images in every):
        if recovery and recovery.reason:
            err.print(
                f"pmemsim: note: {run.workload}: crashes during recovery are not checked: "
                f"{recovery.reason}",
                markup=False,
            )


def _print_recovery(run: ModelRun, recovery: RecoveryRun) -> None:
    columns = ["workload", ">recoveries", ">different", ">images checked", ">rejected"]
    row = (
        run.workload,
        f"{recovery.recorded:,}",
        f"{recovery.different:,}",
        recovery.extent,
        "1" if recovery.story else "0",
    )
    out.print(table("crashes during recovery", columns, [row]))
    if recovery.reads:
        _print_reads(run, recovery)


def _print_reads(run: ModelRun, recovery: RecoveryRun) -> None:
    def order(read: OpenRead) -> tuple[bool, int]:
        times = recovery.reads[read]
        return recovery.right_either_way(read), -times.there - times.lost

    reads = sorted(recovery.reads, key=order)  # instructions that may matter are first
    columns = ["recovery reads at", "data stored at", ">kept", ">lost", "verdict"]
    rows = [
        (
            shown(read.load),
            shown(read.store),
            f"{recovery.reads[read].there:,}",
            f"{recovery.reads[read].lost:,}",
            "right either way" if recovery.right_either_way(read) else "right so far",
        )
        for read in reads[:_MOST_READS]
    ]
    if len(reads) > _MOST_READS:
        rows.append((f"{len(reads) - _MOST_READS} more in --json", "", "", "", ""))
    out.print(table(f"{run.workload}: possibly lost data that recovery reads", columns, rows))


def _print_left_out(run: ModelRun, instructions: Sequence[LeftOut]) -> None:
    columns = ["left out", "where", "in", ">executed", "", "verdict of the checker", ">images"]
    rows = [
        (
            each.name,
            each.place,
            each.way,
            f"{each.executed:,}",
            each.verdict,
            each.problem,
            each.images,
        )
        for each in instructions
    ]
    out.print(table(f"{run.workload}, {run.model}, one flush or fence left out", columns, rows))


def verdict(images: Images, checker: Checker) -> Verdict:
    """What the checker has said of the images of one model."""
    run, recovery, left_out = images.run, images.recovery, images.left_out
    text = f"{run.extent} images checked by {checker.name}, {_rejected(run.story)}"
    if recovery and not recovery.reason:
        text += f"; crashes during recovery: {recovery.extent}, {_rejected(recovery.story)}"
    if left_out:
        counts = Counter(each.verdict for each in left_out)
        each_verdict = ", ".join(f"{number} {name}" for name, number in counts.items())
        text += f"; without each of {len(left_out)} flushes and fences: {each_verdict}"
    found = (*_first_crash(run), *_second_crash(run, recovery))
    lacking = [each for each in (_unnoticed(left_out), _unexplored(run, recovery)) if each]
    return Verdict("images", run.model, text, found, "; ".join(lacking))


def _unnoticed(left_out: Sequence[LeftOut]) -> str:
    """Report flushes and fences that may be useless, if there are too many of them."""
    open_ = [each for each in left_out if each.verdict == "not found"]
    first = f"; the first: {open_[0].name} at {open_[0].place}" if open_ else ""
    return undecided(
        len(open_),
        len(left_out),
        "flushes and fences",
        "without them a crash leaves further images; the checker accepts those within the budget; "
        f"a larger --budget checks more{first}",
    )


def _unexplored(run: ModelRun, recovery: RecoveryRun | None) -> str:
    """Report that all images of second crashes were wanted, and only some were checked."""
    if recovery is None or recovery.complete or run.budget != "all":
        return ""
    return f"--budget all: only {recovery.extent} images of crashes during recovery were checked"


def _rejected(story: object) -> str:
    return "1 rejected" if story else "0 rejected"


def _first_crash(run: ModelRun) -> list[str]:
    story = run.story
    if story is None:
        return []
    lines = [
        f"{run.workload} is not crash-safe under {run.model}: {story.lines[0]}",
        f"  the rejected image has number {story.image:,} ({run.extent} were checked)",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to reproduce: {story.command}",
    ]
    return ["\n".join(lines)]


def _second_crash(run: ModelRun, recovery: RecoveryRun | None) -> list[str]:
    if recovery is None or recovery.story is None:
        return []
    story = recovery.story
    lines = [
        f"{run.workload} is not crash-safe under {run.model}: after a second crash, during "
        f"recovery, {story.lines[0]}",
        *(f"  {line}" for line in story.lines[1:]),
        f"  to reproduce: {story.command}",
    ]
    return ["\n".join(lines)]
