"""Shared output of the commands: consoles, tables, and progress with the remaining time."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pmemsim.cli.widths import Column, below, blocks
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


def note_newer_sources(note: str) -> None:
    """Print that sources are newer than the recording, unless the sentence is empty."""
    if note:
        err.print(f"pmemsim: note: {note}", markup=False)


HAND_PLACED_FLUSHES = "run.hand_placed_flushes"
"""An option of the program, not of the machine: figures with it don't equal those without it."""


def machine_line(machine: str, settings: Mapping[str, str]) -> str:
    """Return the machine of some figures, with the settings beside the presets."""
    return ", ".join([f"machine {machine}", *(f"{key}={value}" for key, value in settings.items())])


# From this width on tables have lines between their columns.
_WIDE = 120


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """A table whose columns that start with `>` are right-aligned; all text is plain.

    A column that starts with `?` is right-aligned, and left out if none of its cells has a digit
    other than zero. Names in a recording may be from an untrusted program, so control characters in
    them don't reach the terminal. Names and numbers don't break: text is wrapped at spaces, and
    columns that don't fit beside the others are printed below them.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    made = [
        Column(name.lstrip(">?"), tuple(row[index] for row in cells), name.startswith((">", "?")))
        for index, name in enumerate(columns)
        if not name.startswith("?") or any(_NOT_ZERO.search(row[index]) for row in cells)
    ]
    is_wide = out.width >= _WIDE
    gap, edges = (3, 1) if is_wide else (2, -2)
    width = out.width - edges
    head = [Text(printable(title), style="bold")] if title else []
    end = [] if is_wide else [Text()]
    if count := below(made, width, gap):
        return Group(*head, *_with_text_below(made[:-count], made[-count:]), *end)
    parts: list[RenderableType] = []
    for block in blocks(made, width, gap):
        parts += [_block(made, block, is_wide), *end]
    return Group(*head, *parts)


def _with_text_below(beside: Sequence[Column], text: Sequence[Column]) -> Iterator[RenderableType]:
    """Return a row's columns beside each other, and its sentences below them."""
    widths = [column.most for column in beside]

    def line(cells: Iterable[str]) -> Text:
        shown = (
            f"{' ' * (width - cell_len(cell))}{cell}"
            if column.has_numbers
            else set_cell_size(cell, width)
            for column, width, cell in zip(beside, widths, cells, strict=True)
        )
        return Text("  ".join(shown), style="bold")

    yield line(column.title for column in beside)
    yield Padding(Text("; ".join(column.title for column in text)), _INDENTED)
    yield Rule(style="none", characters="─")
    for index in range(len(beside[0].cells)):
        yield line(column.cells[index] for column in beside)
        for column in text:
            if column.cells[index]:
                yield Padding(Text(column.cells[index]), _INDENTED)


_INDENTED = (0, 0, 0, 4)
_NOT_ZERO = re.compile("[1-9]")


def _block(columns: Sequence[Column], widths: Mapping[int, int], is_wide: bool) -> Table:
    """Return a table of some columns with their widths."""
    made = Table()
    if not is_wide:
        made.box, made.show_edge = box.SIMPLE, False
        made.padding, made.pad_edge = (0, 1, 0, 0), False
    for index, width in widths.items():
        justify: JustifyMethod = "right" if columns[index].has_numbers else "left"
        title = Text(columns[index].title)
        made.add_column(title, justify=justify, width=width, overflow="fold")
    for row in zip(*(columns[index].cells for index in widths), strict=True):
        made.add_row(*map(Text, row))
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
