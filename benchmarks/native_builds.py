"""Workloads as native programs, compiled by the compiler that pmemsim-c++ wraps."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "benchmarks"


def need(tool: str, package: str) -> str:
    """Return the path of a tool, or end with the package that has it."""
    path = shutil.which(tool)
    if path is None:
        sys.exit(f"{tool} was not found; install it (Debian and Ubuntu: apt-get install {package})")
    return path


def build_native(
    workload: str, opt: str, more: Path | None = None, link_options: tuple[str, ...] = ()
) -> Path:
    """Compile a workload without any recording; returns the program's path.

    `more` is another C source of the program.
    """
    clang = need("clang-19", "clang-19")
    folder = BUILD / opt
    if more is not None:
        folder /= more.stem
    folder.mkdir(parents=True, exist_ok=True)
    include = f"-I{ROOT / 'include'}"
    objects: list[Path] = []
    sources = sorted((ROOT / "library").glob("*.c"))
    if more is not None:
        sources.append(more)
    for source in sources:
        target = folder / f"{source.stem}.o"
        command: list[str | Path] = [
            clang,
            f"-{opt}",
            "-std=gnu11",
            include,
            "-c",
            source,
            "-o",
            target,
        ]
        subprocess.run(command, check=True)
        objects.append(target)
    program = folder / workload
    source = ROOT / "workloads" / workload / f"{workload}.cpp"
    link: list[str | Path] = [
        need("clang++-19", "clang-19"), f"-{opt}", "-std=c++20", include,
        f"-I{ROOT / 'workloads' / 'common'}", source, *objects, *link_options,
        "-lpthread", "-o", program,
    ]  # fmt: skip
    subprocess.run(link, check=True)
    return program
