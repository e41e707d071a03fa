"""Measure how many images a second checkers check (make bench).

python benchmarks/checks.py

The script records a list in a pool of 8 MiB (checked_list.c), and runs its checker on images that
x86 allows. The checker walks the list, as a program that is started for each image, and as a
library. A third checker, a library that reads only the list's head, measures pmemsim's own time:
the time to follow 65,535 pointers varies several-fold on a shared host. The script prints how many
images a second were made and checked, from the beginning of the recording to the last verdict. One
checker runs for each host core, or as many as --jobs says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from native_builds import ROOT
from pmemsim.crashing import CheckerWanted, checker_of
from pmemsim.parallel import host_cores
from pmemsim.persistency import Budget, Wanted, show_order
from pmemsim.toolchain import compiler, native_compiler
from pmemsim.trace import Trace

SOURCE = ROOT / "benchmarks" / "checked_list.c"
POOL = "500000000000:500000800000"
IMAGES = {"program": 2000, "library": 10000, "looks": 10000}


@dataclass(frozen=True)
class Row:
    """A checker's speed."""

    checker: str
    images: int
    wall_s: float
    images_per_s: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How many images a second checkers judge.")
    parser.add_argument("--jobs", type=int, default=host_cores())
    parser.add_argument("--images", type=int, help="of each checker")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.jobs, given.images)
    print(f"images of a pool of 8 MiB, {given.jobs} checkers at once")
    for row in rows:
        print(f"  {row.checker:8} {row.images_per_s:7,.0f} images/s ({row.images:,})")
    if given.json:
        given.json.write_text(json.dumps([vars(row) for row in rows], indent=2) + "\n")


def measure(folder: Path, jobs: int, images: int | None = None) -> list[Row]:
    """Build, record and crash."""
    program, trace = folder / "list", folder / "list.pmt"
    library, looks = folder / "list.so", folder / "looks.so"
    options: list[str | Path] = ["-O2", "-mclwb", SOURCE]
    subprocess.run([compiler("pmemsim-cc"), *options, "-o", program], check=True)
    as_library = ["-DLIBRARY", "-shared", "-fPIC", f"-I{ROOT / 'include'}"]
    subprocess.run([native_compiler(), *options, *as_library, "-o", library], check=True)
    subprocess.run([native_compiler(), *options, *as_library, "-DLOOKS", "-o", looks], check=True)
    record(program, trace)
    checkers = {
        "program": CheckerWanted(command=str(program)),
        "library": CheckerWanted(library=library),
        "looks": CheckerWanted(library=looks),
    }
    return [
        measure_one(name, trace, wanted, images or IMAGES[name], jobs)
        for name, wanted in checkers.items()
    ]


def record(program: Path, trace: Path) -> None:
    """Do the same as the command line."""
    command = ["pmemsim", "record", "-o", str(trace), "--pm-range", POOL, "--", str(program)]
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True)


def measure_one(name: str, path: Path, wanted: CheckerWanted, images: int, jobs: int) -> Row:
    """Check this many images, including those that are equal in all data that it reads."""
    trace = Trace(path)
    checker = checker_of(trace, wanted, None)
    assert checker is not None
    shown = Wanted("px86", Budget.of(str(images)), watch=name != "looks")
    run = show_order(trace, shown, checker, "", set(), jobs)
    assert run is not None
    assert run.story is None, run.story
    return Row(name, run.images, run.wall_s, run.images_per_s)


if __name__ == "__main__":
    main()
