"""Tables in terminals of any width: names and numbers stay whole, text breaks at spaces."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

import pytest
from rich.console import Console

from pmemsim.cli import console
from pmemsim.cli.widths import Column, below, blocks

pytestmark = pytest.mark.quick

NAMES = ("queue", "redu+lalea+blom", "hashmap_lowlevel", "xeon-optane")
NUMBERS = ("0", "1.2 M", "12,345.6", "100.0%")
TEXT = ("Entries of the reorder buffer (instructions in flight)", "Clock frequency of the cores")


def printed(
    monkeypatch: pytest.MonkeyPatch, width: int, columns: Sequence[str], *rows: Sequence[str]
) -> str:
    screen = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=screen, width=width, highlight=False))
    console.out.print(console.table("title", columns, rows))
    return screen.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_name_or_number_breaks(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    draw = random.Random(width)
    for _ in range(50):
        numbers, texts = draw.randint(1, 9), draw.randint(0, 2)
        columns = [
            "name", "other name", *[">measured value"] * numbers, *["what it means"] * texts,
        ]  # fmt: skip
        rows = [
            [
                *(draw.choice(NAMES) for _ in range(2)),
                *(draw.choice(NUMBERS) for _ in range(numbers)),
                *(draw.choice(TEXT) for _ in range(texts)),
            ]
            for _ in range(3)
        ]
        text = printed(monkeypatch, width, columns, *rows)
        assert max(map(len, text.splitlines())) <= width
        for row in rows:
            for cell in row[: 2 + numbers]:
                assert cell in text
            for word in " ".join(row[2 + numbers :]).split():
                assert word in text


def test_columns_that_do_not_fit_are_printed_below_with_the_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = printed(monkeypatch, 20, ["name", ">first", ">second"], ("queue", "1,234", "5,678.9"))
    lines = [line.split() for line in text.splitlines()]
    assert lines[1] == ["name", "first"]
    assert lines[3] == ["queue", "1,234"]
    assert lines[5] == ["name", "second"]
    assert lines[7] == ["queue", "5,678.9"]


def test_text_is_printed_below_its_row_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = ("core.store_queue_entries", "56", TEXT[0])
    text = printed(monkeypatch, 50, ["parameter", ">value", "meaning"], row)
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[4] == "core.store_queue_entries     56"
    assert lines[5] == "    Entries of the reorder buffer (instructions in"
    assert lines[6] == "    flight)"


def test_zero_columns_are_left_out_if_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ["name", ">kept", "?zero", "?none", "?some"]
    rows = [("a", "0", "0.0%", "-", "0"), ("b", "0", "0.0%", "-", "0.1")]
    title = printed(monkeypatch, 80, columns, *rows).splitlines()[1]
    assert title.split() == ["name", "kept", "some"]


def test_a_name_wider_than_the_terminal_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, 20, ["name", ">value"], ("x" * 50, "1"))
    assert max(map(len, text.splitlines())) <= 20
    assert text.count("x") == 50


def test_text_shares_the_width_that_numbers_leave() -> None:
    number = Column("n", ("1.2 M",), has_numbers=True)
    short = Column("s", ("two words of 20 chars",), has_numbers=False)
    long = Column("t", (TEXT[0],), has_numbers=False)
    assert below([number, short, long], 80, 2) == 0
    # 80 - 3 * 2 - 5 = 69 characters for text, of which the short one needs 21.
    assert blocks([number, short, long], 80, 2) == [{0: 5, 1: 21, 2: 48}]
