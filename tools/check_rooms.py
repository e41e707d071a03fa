#!/usr/bin/env python3
"""Checks that the rooms (folders) of src/pmemsim include each other only downwards.

A room may include itself and those that `ROOMS` grants it; docs/architecture.md says why. The rooms
of the repository may include each other as `REPOSITORY` grants it. Every include that is against
that is named with its line, the rule and the cure; the exit status is then 1. Run without arguments
it checks the repository and src/pmemsim, with a folder the rooms of src/pmemsim in that one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

_BASE = ("core", "trace", "mem", "backend")
# What the layers may include: no other layer, so that their choices combine. The backend is below
# them, since what they write goes through it.
_LAYERS = ("ordering", "atomicity", "precompute")
# What knows the design, but no layer by name.
_ABOVE = ("core", "trace", "mem", "layers", "design")

# The rooms, lowest first, each with those that it may include.
ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "trace": ("core",),
    "mem": ("core",),
    # What a recording shows by itself, without a machine.
    "analysis": ("core", "trace", "mem"),
    # What a program does with persistent memory, without a machine.
    "check": ("core", "trace", "mem"),
    "model": ("core", "trace", "mem", "check"),
    # Programs and libraries that judge images, and the process that starts them.
    "checker": ("core", "trace", "mem"),
    # A model's images and those who judge them.
    "judging": ("core", "trace", "mem", "model", "checker"),
    # What a program's reader must say after a crash: what it says before or after an operation.
    "answers": ("core", "trace", "mem", "model", "checker"),
    "backend": ("core", "mem"),
    "layers": _BASE,
    **dict.fromkeys(_LAYERS, (*_BASE, "layers")),
    "recovery": (*_BASE, "layers", *_LAYERS),
    "design": (*_BASE, "layers", *_LAYERS, "recovery"),
    "cache": _ABOVE,
    "cpu": (*_ABOVE, "cache"),
    "sim": (*_ABOVE, "cache", "cpu"),
    "crash": (*_ABOVE, "backend", "recovery", "cache", "cpu", "sim"),
    # What a design's promises allow; its images are gone through as a model's are.
    "promised": (*_ABOVE, "model", "sim", "crash"),
    "lint": (*_ABOVE, "backend", "cache", "cpu", "sim"),
}

# The rooms of the repository that have C or C++, each with the folders and files of others that it
# may include. (Tests may include everything.)
REPOSITORY: dict[str, tuple[str, ...]] = {
    "include": (),
    "library": ("include",),
    "workloads": ("include",),
    # The recovery of the undo log is the library's own code; checkers have their interface.
    "src/pmemsim": ("library/recovery.h", "library/persist.h", "include/pmemsim/check.h"),
    "frontend/runtime": ("src/pmemsim/trace",),
    "frontend/pass": ("src/pmemsim/trace", "frontend/runtime/pmemsim_rt.h"),
    "bindings": ("src/pmemsim",),
}
# Where the compiler looks for a file that doesn't stand beside the one that includes it.
_FOLDERS = (
    "src",
    "include",
    "library",
    "frontend/runtime",
    "frontend/pass",
    "bindings",
    "workloads/common",
)

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "src" / "pmemsim"
_SUFFIXES = (".cpp", ".hpp", ".c", ".h")
_INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


def problems_of(tree: Path) -> list[str]:
    """A sentence for everything in a tree of rooms that is against the order, sorted by place."""
    found = []
    for path in sorted(path for path in tree.rglob("*") if path.suffix in _SUFFIXES):
        room = _room(path, tree)
        if room not in ROOMS:
            found.append(f"{_shown(path, tree)}:1: {_no_room(path, tree)}")
            continue
        for line, target in _includes(path, (tree.parent,), tree):
            reason = _reason(room, target, tree)
            if reason:
                found.append(f"{_shown(path, tree)}:{line}: {reason}")
    return found


def problems_of_repository(root: Path) -> list[str]:
    """A sentence for every include between the repository's rooms that isn't granted."""
    folders = tuple(root / folder for folder in _FOLDERS)
    found = []
    for room, granted in REPOSITORY.items():
        files = (path for path in (root / room).rglob("*") if path.suffix in _SUFFIXES)
        for path in sorted(files):
            for line, target in _includes(path, folders, root):
                if not any(target.is_relative_to(root / may) for may in (room, *granted)):
                    place = f"{path.relative_to(root)}:{line}"
                    allowed = ", ".join(granted) or "nothing of other rooms"
                    found.append(
                        f"{place}: {room}/ includes {target.relative_to(root)}, but it may include "
                        f"{allowed}; do without, or grant it in REPOSITORY (tools/check_rooms.py) "
                        "and say in docs/architecture.md why"
                    )
    return found


def _reason(room: str, target: Path, tree: Path) -> str:
    """Why a file of a room must not include a file of the tree; empty if it may."""
    other = _room(target, tree)
    if other == room or other in ROOMS[room]:
        return ""
    what = f"{room}/ includes {target.relative_to(tree)}"
    if other not in ROOMS:
        return f"{what}, which {_no_room(target, tree)}"
    if room in _LAYERS and other in _LAYERS:
        return (
            f"{what}, but layers don't know each other; what they share belongs into layers/, "
            "behind an interface"
        )
    allowed = ", ".join(ROOMS[room]) or "no other room"
    return (
        f"{what}, but {room}/ may include {allowed}; move what is needed down into a room that "
        f"both may include, or hand it in through an interface that {room}/ declares"
    )


def _no_room(path: Path, tree: Path) -> str:
    return (
        f"stands in no room ({_room(path, tree) or 'the folder of all rooms'}); move it into one "
        "of those in ROOMS (tools/check_rooms.py), or add its folder there and in "
        "docs/architecture.md"
    )


def _includes(path: Path, folders: Sequence[Path], tree: Path) -> Iterator[tuple[int, Path]]:
    """The files of the tree that a file includes, each with the line of the include.

    They are looked for by their way from the file's own folder, as the compiler does, and then from
    the others.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _INCLUDE.match(line)
        if not match:
            continue
        name = PurePosixPath(match[1])
        for folder in (path.parent, *folders):
            target = (folder / name).resolve()
            if target.is_file() and target.is_relative_to(tree.resolve()):
                yield number, tree / target.relative_to(tree.resolve())
                break


def _room(path: Path, tree: Path) -> str:
    """The name of the room in which a file stands; empty beside the rooms."""
    parts = path.relative_to(tree).parts
    return parts[0] if len(parts) > 1 else ""


def _shown(path: Path, tree: Path) -> str:
    """A file's path, from the repository's root if the tree is that of the repository."""
    return str(path.relative_to(ROOT) if tree == TREE else path)


def main() -> int:
    """Check the tree that the command line names, or the repository."""
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else TREE
    if not tree.is_dir():
        print(f"{tree}: is not a folder; give one that has the rooms in it", file=sys.stderr)
        return 2
    found = problems_of(tree)
    if tree == TREE:
        found += problems_of_repository(ROOT)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
