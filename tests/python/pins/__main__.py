"""Measures all pins again and writes them: `make update-pins`."""

from __future__ import annotations

import os

from pins.configurations import FOLDER
from pins.files import committed, write
from pins.kinds import KINDS


def _processor_seconds() -> float:
    """Return the processor time of this process and its children."""
    return sum(os.times()[:4])


def main() -> None:
    """Write the files of every kind, and remove files that no kind writes."""
    written: set[str] = set()
    for kind, measure in KINDS.items():
        begin = _processor_seconds()
        files = measure()
        write(FOLDER, files)
        written |= files.keys()
        lines = sum(map(len, files.values()))
        print(f"{kind}: {lines:,} lines in {_processor_seconds() - begin:.1f} processor seconds")
    for name in set(committed(FOLDER)) - written:
        (FOLDER / name).unlink()


if __name__ == "__main__":
    main()
