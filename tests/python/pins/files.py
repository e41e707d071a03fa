"""Files of pinned values: each line is a name, which may have several words, and a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

Files = Mapping[str, Sequence[str]]
"""The lines of each file, by its name in the folder of pins."""
MOST_SHOWN = 20


def number(value: float) -> str:
    """Return a value to its last bit."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def rounded(value: float) -> str:
    """Return a value without its last digits, which depend on the C library's logarithm."""
    return f"{value:.10g}"


def write(folder: Path, files: Files) -> None:
    """Write the files. Raises a `ValueError` if two lines of one have the same name."""
    for name, lines in files.items():
        count = Counter(line.rpartition(" ")[0] for line in lines)
        if twice := [key for key, times in count.items() if times > 1]:
            raise ValueError(f"{name}: several lines have the name '{twice[0]}'")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def committed(folder: Path) -> list[str]:
    """Return the names of all files in the folder of pins."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.txt"))


def difference(name: str, old_text: str, new_text: str) -> str:
    """Return a report of what differs between a committed and a measured file, or nothing."""
    old, new = _values(old_text), _values(new_text)
    different = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
    if not different:
        return ""
    shown = [
        f"  {key}: {old.get(key, 'nothing')} committed, {new.get(key, 'nothing')} measured"
        for key in islice(different, MOST_SHOWN)
    ]
    if len(different) > MOST_SHOWN:
        shown.append(f"  and {len(different) - MOST_SHOWN} more")
    return "\n".join(
        [
            f"tests/pins/{name}: {len(different)} of {len(old)} values differ",
            *shown,
            "If the change is meant, run `make update-pins`, and explain the change in the commit.",
        ]
    )


def _values(text: str) -> dict[str, str]:
    lines = (line.rpartition(" ") for line in text.splitlines())
    return {key: value for key, _, value in lines}
