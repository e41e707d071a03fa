#!/usr/bin/env python3
"""Checks how the modules (folders) of the C and C++ code include each other.

1. A file includes, directly and through other headers, only files of its own module and of
   those that `MODULES` and `REPOSITORY` grant to it. docs/explanation/architecture.md says why.
2. No units (a header and the source of its name) include each other in a circle.
3. No two headers of the simulator and of what it links have the same name.

Each violation is printed with its place, the rule and the cure; the exit status is then 1. Run
without arguments, the script checks the repository; with a folder, it checks the modules of
src/pmemsim in that folder.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

_RECORDING = ("common", "trace", "analysis")
_BACKEND = ("common", "machine/memory")
# The layers of a design include no other layer, so that their implementations combine. The backend
# is below them, since their writes pass through it.
_INTERFACE = ("common", "trace", *_BACKEND[1:], "designs/backend")
LAYER_MODULES = ("designs/ordering", "designs/atomicity", "designs/precompute")
_LAYER = (*_INTERFACE, "designs/interface")
# A module that includes the design sees the interface of its layers, and no layer.
_MACHINE = (*_RECORDING, "machine/memory", "designs/interface", "designs")

# The modules of src/pmemsim, lowest first. Each has the modules whose files it may include,
# directly or through other headers.
MODULES: dict[str, tuple[str, ...]] = {
    "common": (),
    "trace": ("common",),
    "analysis": ("common", "trace"),
    "machine/memory": ("common",),
    "designs/backend": _BACKEND,
    "designs/interface": _INTERFACE,
    **dict.fromkeys(LAYER_MODULES, _LAYER),
    "designs": (*_LAYER, *LAYER_MODULES),
    "machine/cache": _MACHINE,
    "machine/cpu": (*_MACHINE, "machine/cache"),
    "machine/run": (*_MACHINE, "designs/backend", "machine/cache", "machine/cpu"),
    "crash": (*_MACHINE, "designs/backend", "machine/cache", "machine/cpu", "machine/run"),
    "timeline": (*_MACHINE, "designs/backend", "machine/cache", "machine/cpu", "machine/run"),
    "checks/rules": _RECORDING,
    "checks/checkers": _RECORDING,
    "checks/images": (
        *_MACHINE, "designs/backend", "machine/cache", "machine/cpu", "machine/run", "crash",
        "checks/rules", "checks/checkers",
    ),
    "checks/answers": (
        *_MACHINE, "designs/backend", "machine/cache", "machine/cpu", "machine/run", "crash",
        "checks/rules", "checks/checkers", "checks/images",
    ),
    "checks/hints": (
        *_MACHINE, "designs/backend", "machine/cache", "machine/cpu", "machine/run",
    ),
}  # fmt: skip

# The folders of the repository that have C or C++, each with the other folders and files that it
# may include. (Tests may include everything.)
REPOSITORY: dict[str, tuple[str, ...]] = {
    "include": (),
    # Headers for users' own designs.
    "include/pmemsim/design": ("src/pmemsim",),
    "library": ("include",),
    "workloads": ("include",),
    # The recovery of the undo log is the library's own code; checkers have their interface.
    "src/pmemsim": ("library/recovery.h", "library/persist.h", "include/pmemsim/check.h"),
    "frontend/runtime": ("src/pmemsim/trace",),
    "frontend/pass": ("src/pmemsim/trace", "frontend/runtime/pmemsim_rt.h"),
    "bindings": ("src/pmemsim",),
}
# Where the compiler looks for a file that isn't in the folder of the one that includes it.
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

# Included files of each file, with the line of the include.
Includes = dict[Path, dict[Path, int]]


def includes_of(files: Iterable[Path], folders: Sequence[Path], root: Path) -> Includes:
    """Return the files below `root` that each of the files includes."""
    return {path: dict(_included(path, folders, root)) for path in files}


def files_below(folder: Path) -> list[Path]:
    """Return the C and C++ files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES)


def module_of(path: Path, tree: Path) -> str:
    """Return the module whose folder, or a folder below it, contains a file; empty if none does."""
    for folder in PurePosixPath(path.relative_to(tree)).parents:
        if str(folder) in MODULES:
            return str(folder)
    return ""


def module_includes(tree: Path = TREE) -> dict[str, list[str]]:
    """Return, for each module from the lowest, the other modules whose files it includes."""
    found: dict[str, set[str]] = {module: set() for module in MODULES}
    for path, targets in includes_of(files_below(tree), (tree.parent,), tree).items():
        found[module_of(path, tree)] |= {module_of(target, tree) for target in targets}
    return {
        module: [other for other in MODULES if other in others and other != module]
        for module, others in found.items()
    }


def problems_of(tree: Path) -> list[str]:
    """Return a sentence for each violation in a tree of modules, sorted by location."""
    files = files_below(tree)
    includes = includes_of(files, (tree.parent,), tree)
    found = []
    for path in files:
        module = module_of(path, tree)
        if not module:
            found.append(f"{_shown(path, tree)}:1: {_no_module(path, tree)}")
            continue
        found += _direct_problems(path, module, includes, tree)
    found += _indirect_problems(files, includes, tree)
    return found + circles(includes, tree) + same_names(files, tree)


def _direct_problems(path: Path, module: str, includes: Includes, tree: Path) -> Iterator[str]:
    for target, line in includes[path].items():
        reason = _reason(module, target, tree)
        if reason:
            yield f"{_shown(path, tree)}:{line}: {reason}"


def _indirect_problems(files: Sequence[Path], includes: Includes, tree: Path) -> list[str]:
    """Return the shortest chain of forbidden includes for each pair of modules."""
    shortest: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        module = module_of(path, tree)
        for target, chain in chains_from(path, includes).items():
            other = module_of(target, tree)
            granted = not module or not other or other == module or other in MODULES[module]
            if granted or len(chain) < 3:
                continue
            known = shortest.get((module, other))
            if known is None or len(chain) < len(known):
                shortest[module, other] = chain
    return [
        f"{_shown(chain[0], tree)}:{includes[chain[0]][chain[1]]}: {module}/ includes "
        f"{chain[-1].relative_to(tree)} through "
        f"{', '.join(str(path.relative_to(tree)) for path in chain[1:-1])}; {module}/ may include "
        f"{', '.join(MODULES[module]) or 'no other module'}; declare instead of including"
        for (module, other), chain in sorted(shortest.items())
    ]


def chains_from(path: Path, includes: Includes) -> dict[Path, list[Path]]:
    """Return all files that a file includes directly or indirectly, with the shortest chains."""
    chains: dict[Path, list[Path]] = {path: [path]}
    left = deque([path])
    while left:
        one = left.popleft()
        for target in includes.get(one, {}):
            if target not in chains:
                chains[target] = [*chains[one], target]
                left.append(target)
    del chains[path]
    return chains


def problems_of_repository(root: Path) -> list[str]:
    """Return a sentence for every include between the repository's folders that isn't granted."""
    folders = tuple(root / folder for folder in _FOLDERS)
    found = []
    for folder, granted in REPOSITORY.items():
        inner = [root / other for other in REPOSITORY if other.startswith(f"{folder}/")]
        files = [
            path
            for path in files_below(root / folder)
            if not any(path.is_relative_to(other) for other in inner)
        ]
        for path, targets in includes_of(files, folders, root).items():
            for target, line in targets.items():
                if not any(target.is_relative_to(root / may) for may in (folder, *granted)):
                    place = f"{path.relative_to(root)}:{line}"
                    allowed = ", ".join(granted) or "nothing of other folders"
                    found.append(
                        f"{place}: {folder}/ includes {target.relative_to(root)}, but it may "
                        f"include {allowed}; do without, or grant it in REPOSITORY "
                        "(tools/check_modules.py) and say in docs/explanation/architecture.md why"
                    )
    found += circles(includes_of(files_below(root / "library"), folders, root), root)
    linked = [
        path
        for folder in ("src", "library", "include", "bindings")
        for path in files_below(root / folder)
    ]
    return found + same_names(linked, root)


def circles(includes: Includes, root: Path) -> list[str]:
    """Return a sentence for each set of units that include each other in a circle."""
    units: dict[Path, set[Path]] = {}
    for path, targets in includes.items():
        unit = path.with_suffix("")
        units.setdefault(unit, set()).update(target.with_suffix("") for target in targets)
        units[unit].discard(unit)
    found = []
    reached = {unit: _reached(unit, units) for unit in units}
    reported: set[Path] = set()
    for unit in sorted(units):
        circle = {other for other in reached[unit] if unit in reached.get(other, ())}
        if not circle or unit in reported:
            continue
        reported |= circle
        names = ", ".join(str(other.relative_to(root)) for other in sorted(circle))
        found.append(
            f"{names}: these units include each other in a circle; move what they share into a "
            "header of its own"
        )
    return found


def _reached(unit: Path, units: Mapping[Path, set[Path]]) -> set[Path]:
    reached: set[Path] = set()
    left = [unit]
    while left:
        for other in units.get(left.pop(), ()):
            if other not in reached:
                reached.add(other)
                left.append(other)
    return reached


def same_names(files: Iterable[Path], root: Path) -> list[str]:
    """Return a sentence for each name that several headers have."""
    by_name: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix in (".hpp", ".h"):
            by_name.setdefault(path.stem, []).append(path)
    return [
        f"{', '.join(str(path.relative_to(root)) for path in paths)}: headers of one name; give "
        "each the name of what it declares"
        for _, paths in sorted(by_name.items())
        if len(paths) > 1
    ]


def _reason(module: str, target: Path, tree: Path) -> str:
    """Return why a file of a module must not include a file of the tree; empty if it may."""
    other = module_of(target, tree)
    if other == module or other in MODULES[module]:
        return ""
    what = f"{module}/ includes {target.relative_to(tree)}"
    if not other:
        return f"{what}, which {_no_module(target, tree)}"
    if module in LAYER_MODULES and other in LAYER_MODULES:
        return (
            f"{what}, but layers don't know each other; what they share belongs into "
            "designs/interface/"
        )
    allowed = ", ".join(MODULES[module]) or "no other module"
    return (
        f"{what}, but {module}/ may include {allowed}; move what is needed down into a module that "
        f"both may include, or hand it in through an interface that {module}/ declares"
    )


def _no_module(path: Path, tree: Path) -> str:
    folder = str(PurePosixPath(path.relative_to(tree)).parent)
    return (
        f"is in no module ({'the folder of all modules' if folder == '.' else folder}); move it "
        "into one of those in MODULES (tools/check_modules.py), or add its folder there and in "
        "docs/explanation/architecture.md"
    )


def _included(path: Path, folders: Sequence[Path], root: Path) -> Iterator[tuple[Path, int]]:
    """The files below the root that a file includes, each with the line of the include.

    They are looked for by their path from the file's own folder, as the compiler does, and then
    from the others.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _INCLUDE.match(line)
        if not match:
            continue
        name = PurePosixPath(match[1])
        for folder in (path.parent, *folders):
            target = (folder / name).resolve()
            if target.is_file() and target.is_relative_to(root.resolve()):
                yield root / target.relative_to(root.resolve()), number
                break


def _shown(path: Path, tree: Path) -> str:
    """Return a file's path, relative to the repository's root for the repository's own tree."""
    return str(path.relative_to(ROOT) if tree == TREE else path)


def main() -> int:
    """Check the tree that the command line names, or the repository."""
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else TREE
    if not tree.is_dir():
        print(f"{tree}: is not a folder; give one that has the modules in it", file=sys.stderr)
        return 2
    found = problems_of(tree)
    if tree == TREE:
        found += problems_of_repository(ROOT)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
