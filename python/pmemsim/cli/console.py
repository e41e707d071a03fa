"""Shared output of the commands: consoles, tables, and progress with the remaining time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from pmemsim.errors import printable
from pmemsim.parallel import Report
from pmemsim.progress import Show, reported, run_one, shows_bar, terminal_bar
from pmemsim.time_left import TimeLeft


class _Console(Console):
    """A console whose callers can clean up when the reader of its output has ended."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


# Places are printed unchanged: `mine.yaml:100: ...` has no emoji in it.
# A pipe has no width: tables are then as wide as necessary instead of folded at 80 columns.
out = _Console(highlight=False, emoji=False)
if not out.is_terminal:
    out.width = max(out.width, 180)
err = _Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def print_notes(runs: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Print the notes on data that the runs' recordings lack, once per recording."""
    for name, notes in dict(runs).items():
        for note in notes:
            out.print(f"{name}: partial: {note}", markup=False)


def note_nothing_kept(path: Path) -> None:
    """Print that no image is wrong, so that no file was written at this path."""
    err.print(f"pmemsim: note: no image is wrong, so {path} is not written", markup=False)


HAND_PLACED_FLUSHES = "run.hand_placed_flushes"
"""An option of the program, not of the machine: figures with it don't equal those without it."""


def machine_line(machine: str, settings: Mapping[str, str]) -> str:
    """Return the machine of some figures, with the settings beside the presets."""
    return ", ".join([f"machine {machine}", *(f"{key}={value}" for key, value in settings.items())])


# From this width on tables have lines between their columns.
_WIDE = 120


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose columns that start with `>` are right-aligned; all text is plain.

    Names in a recording may be from an untrusted program, so control characters in them don't reach
    the terminal. Text that is wider than the terminal is folded, not truncated.
    """
    made = Table(title=_shown(title) or None, title_justify="left", title_style="bold")
    if out.width < _WIDE:
        made.box, made.padding, made.pad_edge = box.SIMPLE, (0, 1, 0, 0), False
    for column in columns:
        justify: JustifyMethod = "right" if column.startswith(">") else "left"
        made.add_column(column.lstrip(">"), justify=justify, overflow="fold")
    for row in rows:
        made.add_row(*map(_shown, row))
    return made


def _shown(text: str) -> str:
    return escape(printable(text))


# Largest number of progress lines where progress is not shown by a bar.
_LINES = 100


def progress_of(
    labels: Sequence[str],
    weights: Sequence[float] | None = None,
    kinds: Sequence[Hashable] | None = None,
) -> AbstractContextManager[Callable[[int, float], None]]:
    """A progress bar for all jobs, with the remaining time and the names of the running jobs.

    `weights` are the jobs' relative durations among those of one kind (default: all equal, and of
    one kind). If standard error is not a terminal, or is a dumb one, a line is printed as each job
    ends, or at each percent of many jobs.
    """

    def bar(left: TimeLeft, total: float) -> AbstractContextManager[Show | None]:
        return terminal_bar(err, left, total) if shows_bar(err) else nullcontext()

    return reported(labels, weights, kinds, bar, _print_line)


def _print_line(label: str, left: TimeLeft) -> None:
    """Print that a job has ended, unless there are many jobs and less than a percent has ended."""
    ended, count = left.ended, left.count
    if count <= _LINES or ended * _LINES // count > (ended - 1) * _LINES // count:
        rest = f"; {left.text} left" if ended < count else ""
        err.print(f"[{ended}/{count}] {printable(label)}{rest}", markup=False)


Result = TypeVar("Result")


def run_with_progress(label: str, task: Callable[[Report], Result]) -> Result:
    """Run one task, which may use all of the host's cores, with progress."""
    return run_one(label, task, progress_of)


def si(value: float, digits: int = 3) -> str:
    """Return a number with an SI prefix: 1234567 is `1.23 M`."""
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= factor:
            return f"{value / factor:.{digits}g}{prefix}"
    return f"{value:.{digits}g}"


def duration(nanoseconds: float) -> str:
    """Return a duration in a suitable unit."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage."""
    return f"{100 * fraction:.1f}%"
