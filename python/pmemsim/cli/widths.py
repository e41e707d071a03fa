"""Choose the widths of a table's columns, so that no name or number breaks in a narrow terminal.

Text breaks at spaces only. Where the columns don't fit beside each other, sentences are printed
below their row. If the other columns still don't fit, they are printed in blocks below each other,
and each block begins with the columns that name the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len

# Text with spaces is at least as wide as this, unless all of it is shorter.
_LEAST_TEXT = 24
# Words of a text that are longer than this, such as addresses of pages, may break.
_MOST_WORD = 40
# The largest number of columns that name the rows.
_MOST_NAMES = 3


@dataclass(frozen=True)
class Column:
    """A column's title and cells. Numbers are right-aligned, and never break."""

    title: str
    cells: tuple[str, ...]
    has_numbers: bool

    @cached_property
    def most(self) -> int:
        """Return the width at which nothing breaks."""
        return max(_longest(self.title.split("\n")), _longest(self.cells))

    @property
    def has_sentences(self) -> bool:
        """Return whether the cells are long text, which may be printed below a row."""
        return not self.has_numbers and self.most > _LEAST_TEXT and self.least < self.most

    @cached_property
    def least(self) -> int:
        """Return the width at which text breaks at spaces only."""
        is_text = not self.has_numbers and any(" " in cell for cell in self.cells)
        return max(self.word, min(_LEAST_TEXT, _longest(self.cells)) if is_text else 0)

    @cached_property
    def word(self) -> int:
        """Return the width of the longest part that doesn't break."""
        title = _longest(self.title.split())
        if self.has_numbers:
            return max(title, _longest(self.cells))
        words = _longest([word for cell in self.cells for word in cell.split()])
        is_text = any(" " in cell for cell in self.cells)
        return max(title, min(words, _MOST_WORD) if is_text else words)


def _longest(texts: Sequence[str]) -> int:
    return max(map(cell_len, texts), default=0)


def below(columns: Sequence[Column], width: int, gap: int) -> int:
    """Return the number of last columns that are printed below each row."""
    if sum(column.least + gap for column in columns) <= width:
        return 0
    count = 0
    while count + 1 < len(columns) and columns[-count - 1].has_sentences:
        count += 1
    beside = columns[: len(columns) - count]
    return count if sum(column.most + gap for column in beside) <= width else 0


def blocks(columns: Sequence[Column], width: int, gap: int) -> list[dict[int, int]]:
    """Return the blocks of a table from top to bottom: the width of each column by its index.

    Each column takes `gap` characters in addition.
    """
    if sum(column.least + gap for column in columns) <= width:
        return [_spread(columns, range(len(columns)), width, gap)]
    names = _names(columns)
    first = sum(columns[index].least + gap for index in names)
    found: list[list[int]] = []
    left = 0
    for index in range(len(names), len(columns)):
        needed = columns[index].least + gap
        if not found or needed > left:
            found.append(list(names))
            left = width - first
        found[-1].append(index)
        left -= needed
    return [_spread(columns, block, width, gap) for block in found or [list(names)]]


def _names(columns: Sequence[Column]) -> range:
    """Return the columns that name the rows: those before the first number, or the first one."""
    numbers = [index for index, column in enumerate(columns) if column.has_numbers]
    return range(min(max(1, numbers[0] if numbers else 1), _MOST_NAMES))


def _spread(
    columns: Sequence[Column], chosen: Sequence[int], width: int, gap: int
) -> dict[int, int]:
    """Return the widths of columns beside each other, which share the width that is left."""
    widths = {index: columns[index].least for index in chosen}
    left = width - sum(widths.values()) - gap * len(widths)
    wanted = {index: columns[index].most - columns[index].least for index in chosen}
    for number, index in enumerate(sorted(wanted, key=lambda index: wanted[index])):
        share = max(0, min(wanted[index], left // (len(wanted) - number)))
        widths[index] += share
        left -= share
    for index in widths:  # a name and a text share a narrow terminal
        share = max(0, min(-left, widths[index] - columns[index].word))
        widths[index] -= share
        left += share
    while left < 0 and max(widths.values()) > 1:  # a single name is wider than the terminal
        widths[max(widths, key=lambda index: widths[index])] -= 1
        left += 1
    return widths
