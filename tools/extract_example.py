#!/usr/bin/env python3
"""Writes the files of a page's example: extract_example.py PAGE FOLDER.

A block of C++ whose first line is a comment with only a file's name is written to that file in
FOLDER. The block that begins with "// the row" is written to FOLDER/row.inc.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```cpp\n// ([\w/]+\.[ch]pp|the row)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Write the files; the exit code is 1 if the page has none."""
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    blocks = _BLOCK.findall(page.read_text())
    for name, text in blocks:
        file = folder / ("row.inc" if name == "the row" else name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    if not blocks:
        print(f"{page}: no example of files", file=sys.stderr)
    return 0 if blocks else 1


if __name__ == "__main__":
    sys.exit(main())
