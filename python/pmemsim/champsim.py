"""Convert ChampSim's traces into recordings, which have times but no values."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from pmemsim import _core
from pmemsim.errors import Error, Problems
from pmemsim.files import check_writable, temporary_folder
from pmemsim.installation import version
from pmemsim.trace import CHAMPSIM, Trace

_CHUNK_BYTES = 1 << 20
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
_ALL = (1 << 64) - 1
_MOST_ADDRESS = 1 << 47


_Readable = IO[bytes] | gzip.GzipFile | lzma.LZMAFile | bz2.BZ2File


def _opened(file: IO[bytes], suffix: str) -> _Readable:
    return _COMPRESSED[suffix](file) if suffix in _COMPRESSED else file


_COMPRESSED: dict[str, Callable[[IO[bytes]], _Readable]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".xz": lzma.LZMAFile,
    ".bz2": bz2.BZ2File,
}


def import_champsim(
    source: Path,
    output: Path,
    pm_ranges: Sequence[tuple[int, int]] = (),
    *,
    cloudsuite: bool = False,
    skip: int = 0,
    instructions: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """Convert a trace of ChampSim, whose suffix (.gz, .xz, .bz2) says how it is compressed.

    Accesses of `pm_ranges` (begin, end) are those of persistent memory. The recording begins after
    `skip` instructions, and has at most `instructions`. The memory needed depends on the number of
    different instructions, not on the trace's length. Raises an `Error` for a damaged file.
    """
    check_writable(output)
    with temporary_folder(output.resolve().parent) as folder:
        partial = folder / "imported.pmt"
        most = _ALL if instructions is None else instructions
        importer = _core.ChampsimImport(partial, cloudsuite, skip, most)
        try:
            _convert(source, importer, progress)
        except Error as error:
            other = not cloudsuite and "CloudSuite" in str(error)
            cure = "; --cloudsuite selects the latter" if other else ""
            raise Error(f"{source}: {error}{cure}") from error
        importer.finish(json.dumps(_metadata(source, importer, pm_ranges)))
        partial.replace(output)
    return Trace(output)


def _convert(
    source: Path, importer: _core.ChampsimImport, progress: Callable[[float], None] | None
) -> None:
    try:
        size = max(1, source.stat().st_size)
        with source.open("rb") as file, _opened(file, source.suffix) as trace:
            while (chunk := trace.read(_CHUNK_BYTES)) and importer.add(chunk):
                if progress:
                    progress(min(1.0, file.tell() / size))
    except _DAMAGED as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Error(f"could not be read: {reason[:1].lower()}{reason[1:]}") from error
    importer.end()


def _metadata(
    source: Path, importer: _core.ChampsimImport, pm_ranges: Sequence[tuple[int, int]]
) -> dict[str, object]:
    regions = [
        {"begin": begin, "end": end, "source": "--pm-range"} for begin, end in sorted(pm_ranges)
    ]
    return {
        "format": 1,
        "pmemsim": version(),
        "program": source.stem if source.suffix in _COMPRESSED else source.name,
        "arguments": [],
        "threads": 1,
        "sync_objects": 0,
        "operations": importer.operations,
        "pm_regions": regions,
        "imported": CHAMPSIM,
    }


def range_of(text: str, problems: Problems) -> tuple[int, int]:
    """Return begin and end of `LO:HI`; what is wrong with it is added to the problems."""
    low, colon, high = text.partition(":")
    try:
        begin, end = int(low, 16), int(high, 16)
    except ValueError:
        colon, begin, end = "", 0, 0
    if not colon or not 0 <= begin < end <= _MOST_ADDRESS:
        problems.add([
            f"--pm-range {text}: must be LO:HI in hexadecimal, as in 0x10000000:0x20000000, and at "
            f"most {_MOST_ADDRESS:#x}"
        ])  # fmt: skip
    return begin, end
