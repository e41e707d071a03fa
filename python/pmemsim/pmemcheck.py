"""Convert store logs of pmemcheck (`--log-stores=yes`) into recordings for `check`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pmemsim.errors import Error
from pmemsim.files import check_writable, temporary_folder
from pmemsim.installation import version
from pmemsim.trace import PMEMCHECK, Place, Trace
from pmemsim.trace_writing import PAGE_BYTES, OneThread

_LINE_BYTES = 64
_MOST_STORE_BYTES = 64
_MOST_FLUSH_BYTES = 1 << 30
_HIGHEST = 1 << 47
_ELSEWHERE = 0x380000000000
"""Where a file's region is if its own address is taken."""
_APART = 1 << 20
"""Stores to memory without a file belong to one region if they are at most this far apart."""
_NUMBER = re.compile("0x[0-9a-fA-F]{1,128}")
_FRAME = re.compile(
    r"0x[0-9A-Fa-f]+: (?P<function>.+?) \((?:(?P<file>[^()]*):(?P<line>\d{1,9})|[^()]*)\)"
)
_MARK = re.compile(r"(?P<name>[\w.:-]+?)(?:\.(?P<end>BEGIN|END))?")
_KINDS = ("STORE", "FLUSH", "FENCE", "REGISTER_FILE", "DEEP_SYNC", "START", "STOP")
_MESSAGE = re.compile(r"(==|--)\d+\1[^\n]*\n?")
"""A message of valgrind, which may be between two records."""
_CURE = (
    "write the log by `valgrind --tool=pmemcheck --log-stores=yes --log-file=FILE PROGRAM`, and "
    "let the program end"
)
_WITHOUT_CONTENTS = (
    "the log of pmemcheck lacks the contents of {} before the run, so crash images have zeros "
    "there; give the file's earlier contents with --initial FILE"
)


@dataclass(frozen=True)
class _Mapping:
    """A mapped part of a file."""

    path: str
    base: int
    size: int
    offset: int


@dataclass(frozen=True)
class _Access:
    """A store or a flush."""

    address: int
    size: int
    value: bytes = b""
    frames: tuple[Place, ...] = ()


@dataclass(frozen=True)
class _Fence:
    """A fence."""


@dataclass(frozen=True)
class _Mark:
    """The begin or the end of a part of the program that the user has named, or a point in it."""

    name: str
    end: str
    """`BEGIN`, `END`, or empty for a point."""


_Record = _Mapping | _Access | _Fence | _Mark | None


def import_pmemcheck(log: Path, output: Path, initial: Sequence[Path] = ()) -> Trace:
    """Convert a log into a recording of one thread.

    `initial` names files with the contents that mapped files of the same name had before the run;
    without them, persistent memory is zero at the beginning. Raises an `Error` with the record's
    number for a malformed log.
    """
    check_writable(output)
    records = list(_parsed(log))
    regions = _regions(records)
    contents = _contents_of(initial, regions)
    with temporary_folder(output.resolve().parent) as folder:
        partial = folder / "imported.pmt"
        recording = OneThread(partial)
        for path, content in contents.items():
            _write_contents(recording, regions[path], content)
        _write(recording, records, regions, log)
        if recording.operations == 0:
            raise Error(f"{log}: the log has no store, flush or fence; {_CURE}")
        lacking = [each.path for each in regions.values() if each.path not in contents]
        recording.finish({
            "pmemsim": version(),
            "program": log.name,
            "arguments": [],
            "pm_regions": [each.to_dict() for each in regions.values()],
            "partial": [_WITHOUT_CONTENTS.format(path) for path in lacking if path],
            "imported": PMEMCHECK,
        })  # fmt: skip
        partial.replace(output)
    return Trace(output)


# ---- Parsing ------------------------------------------------------------------------------------


def _parsed(log: Path) -> Iterator[_Record]:
    """Yield the records between START and STOP; records have numbers from 1, behind START."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Error(f"{log}: {error.strerror or error}; name a log of pmemcheck") from error
    words = [word.strip() for word in _MESSAGE.sub("", text).split("|")]
    begin = next((at for at, word in enumerate(words) if word.endswith("START")), None)
    if begin is None:
        raise Error(f"{log}: the file has no START, so it is no store log; {_CURE}")
    for number, word in enumerate(words[begin + 1 :], start=1):
        if word.startswith("STOP"):
            return
        try:
            yield _record(word)
        except ValueError as error:
            shown = word if len(word) <= 60 else f"{word[:57]}..."
            raise Error(f"{log}: record {number} (`{shown}`): {error}; {_CURE}") from None
    raise Error(f"{log}: the log ends without STOP after {len(words) - begin - 1} records; {_CURE}")


def _record(word: str) -> _Record:
    """Return what a record says; a `ValueError` says what is wrong with it."""
    name, *fields = word.split(";")
    if name == "STORE":
        return _store(fields)
    if name == "FLUSH":
        address, size = _numbers(fields, ("address", "size"))
        if not 0 < size <= _MOST_FLUSH_BYTES:
            raise ValueError(f"a flush of {size} bytes is impossible")
        return _Access(address, size)
    if name == "FENCE":
        _numbers(fields, ())
        return _Fence()
    if name == "REGISTER_FILE":
        if not fields or not fields[0]:
            raise ValueError("the file's path is missing")
        base, size, offset = _numbers(fields[1:], ("address", "size", "offset"))
        if size == 0 or base + size > _HIGHEST or offset + size > _HIGHEST:
            raise ValueError("the mapping is empty, or ends outside the address space")
        if base % PAGE_BYTES or offset % PAGE_BYTES:
            raise ValueError(f"the address and the offset must be multiples of {PAGE_BYTES:#x}")
        return _Mapping(fields[0], base, size, offset)
    if name == "DEEP_SYNC":  # a crash of the power supply's reserve isn't modelled
        _numbers(fields, ("address", "size"))
        return None
    # A word that is nearly a kind of record is damaged, not a mark.
    near = difflib.get_close_matches(name, _KINDS, n=1, cutoff=0.75)
    if not fields and not near and (mark := _MARK.fullmatch(name)):
        return _Mark(mark["name"], mark["end"] or "")
    raise ValueError("the kind of record is unknown")


def _store(fields: Sequence[str]) -> _Access:
    address, value, size = _numbers(fields[:3], ("address", "value", "size"))
    if not 0 < size <= _MOST_STORE_BYTES:
        raise ValueError(f"a store of {size} bytes is impossible; at most {_MOST_STORE_BYTES} are")
    if value >> 8 * size:
        raise ValueError(f"the value has more than {size} bytes")
    frames = tuple(place for field in fields[3:] for place in _places(field))
    return _Access(address, size, value.to_bytes(size, "little"), frames)


def _numbers(fields: Sequence[str], names: Sequence[str]) -> list[int]:
    if len(fields) != len(names):
        raise ValueError(f"it has {len(fields)} numbers instead of {len(names)}")
    for field, name in zip(fields, names, strict=True):
        if not _NUMBER.fullmatch(field):
            raise ValueError(f"the {name} `{field}` must be a hexadecimal number such as 0x1f40")
    found = [int(field, 16) for field in fields]
    if "address" in names and found[names.index("address")] >= _HIGHEST:
        raise ValueError(f"the address {fields[names.index('address')]} is above {_HIGHEST:#x}")
    return found


@lru_cache(maxsize=100_000)
def _places(frame: str) -> tuple[Place, ...]:
    """Return the locations of a stack frame, with those of inlined functions first."""
    return tuple(
        Place(found["file"] or "", int(found["line"] or 0), found["function"])
        for found in _FRAME.finditer(frame)
    )


# ---- Persistent memory ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Region:
    """The addresses of a file, or of memory without a file (`path` is then empty)."""

    path: str
    begin: int
    end: int

    def to_dict(self) -> dict[str, object]:
        return {"begin": self.begin, "end": self.end, "source": self.path or "pmemcheck"}


def _regions(records: Iterable[_Record]) -> dict[str, _Region]:
    """Return the regions of persistent memory, by the file's path.

    A region has the first mapping's addresses, if no other region has them. Stores outside all
    mappings are to memory that the program has registered without a file.
    """
    mapped: dict[str, list[_Mapping]] = {}
    outside: set[int] = set()
    current: list[_Mapping] = []
    for record in records:
        if isinstance(record, _Mapping):
            mapped.setdefault(record.path, []).append(record)
            current.insert(0, record)
        elif isinstance(record, _Access) and record.value and not _mapping_of(record, current):
            outside.update((record.address // PAGE_BYTES, (record.address + 7) // PAGE_BYTES))
    found: dict[str, _Region] = {}
    for path, mappings in mapped.items():
        begin = mappings[0].base - mappings[0].offset
        length = max(each.offset + each.size for each in mappings)
        if begin < PAGE_BYTES or _is_taken(begin, begin + length, found.values()):
            begin = max([_ELSEWHERE, *(_whole_pages(each.end) for each in found.values())])
        if begin + length > _HIGHEST:
            raise Error(f"{path}: the file's mappings don't fit into the address space")
        found[path] = _Region(path, begin, begin + length)
    for begin, end in _intervals(outside):
        if not _is_taken(begin, end, found.values()):
            found[f"{begin:#x}"] = _Region("", begin, end)
    return found


def _is_taken(begin: int, end: int, regions: Iterable[_Region]) -> bool:
    return any(begin < each.end and each.begin < end for each in regions)


def _whole_pages(address: int) -> int:
    return -(-address // PAGE_BYTES) * PAGE_BYTES


def _intervals(pages: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin in (page * PAGE_BYTES for page in sorted(pages)):
        if found and begin - found[-1][1] <= _APART:
            found[-1] = (found[-1][0], begin + PAGE_BYTES)
        else:
            found.append((begin, begin + PAGE_BYTES))
    return found


def _mapping_of(access: _Access, mappings: Iterable[_Mapping]) -> _Mapping | None:
    """Return the newest mapping of the address."""
    inside = (each for each in mappings if 0 <= access.address - each.base < each.size)
    return next(inside, None)


def _contents_of(initial: Sequence[Path], regions: dict[str, _Region]) -> dict[str, bytes]:
    """Return the files' contents before the run, by the paths in the log."""
    found: dict[str, bytes] = {}
    for path in initial:
        named = [each.path for each in regions.values() if Path(each.path).name == path.name]
        if len(named) != 1:
            known = ", ".join(each.path for each in regions.values() if each.path) or "none"
            raise Error(
                f"--initial {path}: the log maps {len(named)} files of this name; it maps: {known}"
            )
        try:
            found[named[0]] = path.read_bytes()
        except OSError as error:
            raise Error(f"--initial {path}: {error.strerror or error}") from error
    return found


def _write_contents(recording: OneThread, region: _Region, content: bytes) -> None:
    for offset in range(0, min(len(content), region.end - region.begin), PAGE_BYTES):
        page = content[offset : offset + PAGE_BYTES]
        if any(page):
            recording.page(region.begin + offset, page)


# ---- Writing -------------------------------------------------------------------------------------


def _write(
    recording: OneThread, records: Sequence[_Record], regions: dict[str, _Region], log: Path
) -> None:
    current: list[_Mapping] = []
    marks: list[str] = []
    for number, record in enumerate(records, start=1):
        if recording.is_full:
            raise Error(f"{log}: record {number}: the log has too many records; log a shorter run")
        here = (Place(log.name, number, marks[-1] if marks else ""),)
        if isinstance(record, _Mapping):
            current.insert(0, record)
        elif isinstance(record, _Mark):
            _note(record, marks)
        elif isinstance(record, _Fence):
            recording.fence(here, "sfence")
        elif isinstance(record, _Access):
            mapping = _mapping_of(record, current)
            moved = _moved(record.address, mapping, regions)
            if record.value:
                recording.store(record.frames or here, moved, record.value)
                continue
            end = moved + record.size
            for line in range(moved - moved % _LINE_BYTES, end, _LINE_BYTES):
                recording.flush(here, line, "clwb")


def _note(mark: _Mark, marks: list[str]) -> None:
    if mark.end == "BEGIN":
        marks.append(mark.name)
    elif mark.end and mark.name in marks:
        del marks[len(marks) - 1 - marks[::-1].index(mark.name) :]


def _moved(address: int, mapping: _Mapping | None, regions: dict[str, _Region]) -> int:
    """Return the address in the recording, where each byte of a file has one address."""
    if mapping is None:
        return address
    return regions[mapping.path].begin + mapping.offset + address - mapping.base
