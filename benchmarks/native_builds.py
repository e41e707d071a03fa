"""Workloads as native programs, compiled by the compiler that pmemsim-c++ wraps."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

from pmemsim.recording import precompiled

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "benchmarks"
INCLUDE = f"-I{ROOT / 'include'}"


def need(tool: str, package: str) -> str:
    """Return the path of a tool, or end with the package that has it."""
    path = shutil.which(tool)
    if path is None:
        sys.exit(f"{tool} was not found; install it (Debian and Ubuntu: apt-get install {package})")
    return path


@functools.cache
def library_objects(opt: str, more: Path | None) -> list[Path]:
    """Compile the library and perhaps another C source, once for all workloads."""
    clang = need("clang-19", "clang-19")
    folder = folder_of(opt, more)
    folder.mkdir(parents=True, exist_ok=True)
    objects: list[Path] = []
    for source in [*sorted((ROOT / "library").glob("*.c")), *([more] if more else [])]:
        target = folder / f"{source.stem}.o"
        command: list[str | Path] = [clang, f"-{opt}", "-std=gnu11", INCLUDE]
        subprocess.run([*command, "-c", source, "-o", target], check=True)
        objects.append(target)
    return objects


def folder_of(opt: str, more: Path | None) -> Path:
    """The folder and options for native builds of one kind."""
    return BUILD / opt / more.stem if more else BUILD / opt


def build_native(
    workload: str, opt: str, more: Path | None = None, options: tuple[str, ...] = ()
) -> Path:
    """Compile a workload without any recording; returns the program's path.

    `opt` is the level, or the program's and the library's, as in O0+O2; `more` is another C source
    of the program.
    """
    level, _, library_level = opt.partition("+")
    library = library_objects(library_level or level, more)
    program = folder_of(opt, more) / workload
    program.parent.mkdir(parents=True, exist_ok=True)
    source = ROOT / "workloads" / workload / f"{workload}.cpp"
    common = ROOT / "workloads" / "common"
    compiler = [need("clang++-19", "clang-19"), f"-{level}", "-std=c++20", INCLUDE, f"-I{common}"]
    headers = precompiled(common / "standard.hpp", compiler, BUILD / level)
    link: list[str | Path] = [
        *compiler, "-include-pch", headers, source, *library, *options, "-lpthread", "-o", program,
    ]  # fmt: skip
    subprocess.run(link, check=True)
    return program
