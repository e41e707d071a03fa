"""Reads a Kanata log by the grammar of Konata's documentation, and checks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Row:
    thread: int
    begin: int
    label: str = ""
    detail: str = ""
    stages: list[tuple[int, str, int, int]] = field(default_factory=list)
    """Lane, name, begin and end of each stage."""
    producers: list[int] = field(default_factory=list)
    end: int = -1
    flushed: bool = False
    open: dict[int, tuple[str, int]] = field(default_factory=dict)


def read(path: Path) -> list[Row]:
    """Return the rows of a log."""
    header, *lines = path.read_text().splitlines()
    assert header == "Kanata\t0004"
    rows: list[Row] = []
    now = -1
    for number, line in enumerate(lines):
        command, *values = line.split("\t")
        if command in ("C=", "C"):
            assert (command == "C=") == (number == 0), line
            (cycles,) = map(int, values)
            assert cycles > 0 or command == "C="
            now = cycles if command == "C=" else now + cycles
            continue
        assert now >= 0, "the log doesn't begin with its first cycle"
        if command == "I":
            identity, _, thread = map(int, values)
            assert identity == len(rows), "identities are not consecutive"
            rows.append(Row(thread, now))
            continue
        row = rows[int(values[0])]
        assert row.end == -1, f"{line}: the row has ended"
        _apply(command, values, row, rows, now)
    assert all(row.end >= 0 for row in rows), "a row doesn't end"
    return rows


def _apply(command: str, values: list[str], row: Row, rows: list[Row], now: int) -> None:
    if command == "L":
        _, kind, text = values
        assert text
        if kind == "0":
            row.label += text
        else:
            assert kind == "1"
            row.detail += text
    elif command == "S":
        _, lane, name = values
        assert int(lane) not in row.open, f"two stages of {row.label} in lane {lane}"
        row.open[int(lane)] = (name, now)
    elif command == "E":
        _, lane, name = values
        opened, begin = row.open.pop(int(lane))
        assert opened == name
        assert begin < now
        row.stages.append((int(lane), name, begin, now))
    elif command == "W":
        _, producer, kind = values
        assert kind == "0"
        assert rows[int(producer)].begin <= now
        row.producers.append(int(producer))
    else:
        assert command == "R", command
        assert not row.open, f"{row.label}: stages without an end"
        row.flushed = values[2] == "1"
        row.end = now
