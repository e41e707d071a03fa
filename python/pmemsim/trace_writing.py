"""Write a recording of one thread from Python, for importers.

`src/pmemsim/trace/format.hpp` defines the layout.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.trace import DETAILS, KINDS, Place

_METADATA, _SITES, _IMAGE, _OPERATIONS = 0, 1, 2, 4
_FRAME_BYTES = 1 << 20
_MOST_RECORD_BYTES = 84
_MOST_SITES = 1 << 24
_BUILTIN_SITES, _FIRST_MARK, _FIRST_SYNC = 64, 1, 17
_CREATED_ON_USE = ("reply", "request")
_CALL = 8 | 16
"""Flags of a site that is a whole call: its callers are known, not inferred from other sites."""
PAGE_BYTES = 4096


class OneThread:
    """A recording of one thread that is written to a file."""

    def __init__(self, path: Path) -> None:
        self.operations = 0
        self._writer = _core.TraceWriter(path)
        self._sites = _builtin_sites()
        self._site_count = _BUILTIN_SITES
        self._innermost = [0] * _BUILTIN_SITES
        self._numbers: dict[tuple[object, ...], int] = {}
        self._calls: dict[tuple[Place, int], int] = {}
        self._strings = {"": 0}
        self._text = bytearray(b"\0")
        self._frame = bytearray()
        self._frame_operations = 0
        self._image = bytearray()

    @property
    def is_full(self) -> bool:
        """Return whether the recording can't have another site."""
        return self._site_count == _MOST_SITES

    def store(self, places: Sequence[Place], address: int, value: bytes) -> None:
        """Add a store; `places` are its location and those of the calls, innermost first."""
        site = self._site("store", 0, len(value), places)
        self._add(struct.pack("<IQ", site << 1, address) + value)

    def flush(self, places: Sequence[Place], address: int, kind: str) -> None:
        """Add a flush of the address's line."""
        site = self._site("flush", DETAILS["flush"].index(kind), 0, places)
        self._add(struct.pack("<IQ", site << 1, address))

    def fence(self, places: Sequence[Place], kind: str) -> None:
        """Add a fence."""
        site = self._site("fence", DETAILS["fence"].index(kind), 0, places)
        self._add(struct.pack("<I", site << 1))

    def page(self, address: int, content: bytes) -> None:
        """Add a page of persistent memory that the recording begins with."""
        if len(self._image) + 8 + PAGE_BYTES > _FRAME_BYTES:
            self._end_image()
        self._image += struct.pack("<Q", address) + content.ljust(PAGE_BYTES, b"\0")

    def finish(self, metadata: Mapping[str, Any]) -> None:
        """Write the metadata and the table of sites, and complete the file."""
        self._end_frame()
        self._end_image()
        fixed = {"format": 1, "threads": 1, "sync_objects": 0, "operations": self.operations}
        self._writer.frame(_METADATA, json.dumps({**fixed, **metadata}).encode())
        table = self._table()
        for begin in range(0, len(table), _FRAME_BYTES):
            self._writer.frame(_SITES, table[begin : begin + _FRAME_BYTES])
        self._writer.finish()

    def _add(self, record: bytes) -> None:
        if len(self._frame) + _MOST_RECORD_BYTES > _FRAME_BYTES:
            self._end_frame()
        self._frame += record
        self._frame_operations += 1
        self.operations += 1

    def _end_frame(self) -> None:
        if self._frame:
            self._writer.frame(_OPERATIONS, bytes(self._frame), self._frame_operations)
        self._frame.clear()
        self._frame_operations = 0

    def _end_image(self) -> None:
        if self._image:
            self._writer.frame(_IMAGE, bytes(self._image))
        self._image.clear()

    def _site(self, kind: str, detail: int, size: int, places: Sequence[Place]) -> int:
        key = (kind, detail, size, *places)
        if key not in self._numbers:
            here, *callers = places
            self._numbers[key] = self._site_count
            self._site_count += 1
            self._innermost.append(self._call(callers))
            self._sites += struct.pack(
                "<BBBBIIIIIHH", KINDS.index(kind), detail, size, _CALL, 1,
                self._string(here.file), self._string(here.function), here.line, 0, 0, 0,
            )  # fmt: skip
        return self._numbers[key]

    def _call(self, callers: Sequence[Place]) -> int:
        """Return the number of the innermost call; inlined calls are listed outermost first."""
        number = 0
        for place in reversed(callers):
            number = self._calls.setdefault((place, number), len(self._calls) + 1)
        return number

    def _string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._text)
            self._text += text.encode(errors="replace").replace(b"\0", b"?") + b"\0"
        return self._strings[text]

    def _table(self) -> bytes:
        calls = b"".join(
            struct.pack(
                "<IIII", self._string(place.file), self._string(place.function), place.line, outer
            )
            for place, outer in self._calls
        )
        innermost = struct.pack(f"<{self._site_count}I", *self._innermost) if calls else b""
        header = struct.pack("<IIII", self._site_count, 0, len(self._text), len(self._calls))
        return header + bytes(self._sites) + innermost + calls + bytes(self._text)


def _builtin_sites() -> bytearray:
    execute = KINDS.index("execute")
    kinds = [(execute, 0)] * _BUILTIN_SITES
    kinds[0] = (KINDS.index("external"), 0)
    for kind, first in (("mark", _FIRST_MARK), ("sync", _FIRST_SYNC)):
        for detail, name in enumerate(DETAILS[kind]):
            if name not in _CREATED_ON_USE:
                kinds[first + detail] = (KINDS.index(kind), detail)
    return bytearray(b"".join(struct.pack("<BB26x", *each) for each in kinds))
