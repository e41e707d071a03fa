"""Show the progress of jobs: a bar in a terminal or a notebook, or a function of the caller."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.markup import escape

from pmemsim.errors import printable
from pmemsim.parallel import Report, run_all
from pmemsim.time_left import TimeLeft

Show = Callable[[str], None]
"""Shows the names of the running jobs, and how far all jobs are."""
Line = Callable[[str, TimeLeft], None]
"""Prints that the job with this label has ended."""


class Watch(Protocol):
    """Shows the progress of jobs with these labels for the duration of a block.

    `weights` are the jobs' relative durations among those of one kind (default: all equal, and of
    one kind). The block gets the function that the jobs call with their index and the fraction
    that is done.
    """

    def __call__(
        self,
        labels: Sequence[str],
        weights: Sequence[float] | None = None,
        kinds: Sequence[Hashable] | None = None,
    ) -> AbstractContextManager[Callable[[int, float], None]]:
        """Show the progress."""


@contextmanager
def reported(
    labels: Sequence[str],
    weights: Sequence[float] | None,
    kinds: Sequence[Hashable] | None,
    bar: Callable[[TimeLeft, float], AbstractContextManager[Show | None]],
    line: Line | None,
) -> Iterator[Callable[[int, float], None]]:
    """Show the progress by a bar, or by a line for each job that ends if the bar shows nothing."""
    work = list(weights or [1.0] * len(labels))
    left = TimeLeft(work, kinds)
    one_at_a_time = threading.Lock()  # jobs report from their own threads

    with bar(left, sum(work)) as show:

        def report(index: int, fraction: float) -> None:
            with one_at_a_time:
                has_ended = left.report(index, fraction)
                if show:
                    show(", ".join(labels[each] for each in left.running))
                elif has_ended and line:
                    line(labels[index], left)

        yield report


def shows_bar(console: Console) -> bool:
    """Return whether a console can show a bar."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def terminal_bar(console: Console, left: TimeLeft, total: float) -> Iterator[Show]:
    """Show a bar in a terminal, with the remaining time and the names of the running jobs."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left {task.fields[left]}"),
        console=console,
        transient=True,
    ) as bars:
        task = bars.add_task("", total=total, left=left.text)

        def show(running: str) -> None:
            names = escape(printable(running[:60]))
            bars.update(task, completed=left.done, description=names, left=left.text)

        yield show


_REFRESH_S = 0.2
"""Shortest time between two updates of a notebook's bar, each of which is a message."""


@contextmanager
def _notebook_bar(left: TimeLeft, total: float) -> Iterator[Show]:
    """Show a bar below a notebook's cell, and remove it when the block ends.

    rich's own bar needs ipywidgets in the notebook's server.
    """
    from IPython.display import display

    bar = display({"text/plain": ""}, raw=True, display_id=True)
    shown_at = time.monotonic()

    def show(running: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at < _REFRESH_S:
            return
        shown_at = time.monotonic()
        names = html.escape(printable(running[:60]))
        share = left.done / total if total else 0.0
        page = f'<progress value="{share:.3f}"></progress> {share:.0%} {names}, left {left.text}'
        plain = f"{share:.0%} {running[:60]}, left {left.text}"
        bar.update({"text/html": page, "text/plain": plain}, raw=True)

    try:
        yield show
    finally:
        bar.update({"text/plain": ""}, raw=True)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell: Any = interactive.get_ipython() if interactive else None
    return hasattr(shell, "kernel")


def _bar(left: TimeLeft, total: float) -> AbstractContextManager[Show | None]:
    """Show a bar where a person sees it: in a notebook or a terminal."""
    if in_notebook():
        return _notebook_bar(left, total)
    # Each bar has a console of its own, because threads can show several at once.
    console = Console(stderr=True)
    return terminal_bar(console, left, total) if shows_bar(console) else nullcontext()


Progress = bool | Callable[[float], None]
"""True: a bar in terminals and notebooks; False: nothing; or a function of the caller."""


def watch_of(progress: Progress) -> Watch:
    """Return what shows the progress of a Python program's calls.

    A function is called with the finished fraction of the current step, such as making recordings.
    """

    def watch(
        labels: Sequence[str],
        weights: Sequence[float] | None = None,
        kinds: Sequence[Hashable] | None = None,
    ) -> AbstractContextManager[Callable[[int, float], None]]:
        def own(left: TimeLeft, total: float) -> AbstractContextManager[Show | None]:
            if callable(progress):
                return nullcontext(lambda _: progress(left.done / total if total else 1.0))
            return _bar(left, total) if progress else nullcontext()

        return reported(labels, weights, kinds, own, None)

    return watch


Result = TypeVar("Result")


def run_one(label: str, task: Callable[[Report], Result], watch: Watch) -> Result:
    """Run one task, which may use all of the host's cores, with progress."""
    with watch([label]) as report:
        (result,) = run_all([task], 1, report)
    return result
