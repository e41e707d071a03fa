"""`pmemsim check --verify`: run a user's checker on the images that a model or guarantees allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim.checking.images import Images
from pmemsim.cli.command import EXPLORATION, OUTPUT, option
from pmemsim.cli.console import err, out, si, table
from pmemsim.left_out import LeftOut
from pmemsim.persistency import (
    DEFAULT_BUDGET,
    ModelRun,
)
from pmemsim.recovery import RecoveryRun
from pmemsim.recovery_recording import OpenRead, shown

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
