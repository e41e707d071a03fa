"""Build the program that measures a machine, and run it here.

The program (microbenchmarks.c, measure_all.h) needs no Python: `--export-tool` builds it as a
static executable for other machines.
"""

from __future__ import annotations

import json
import mmap
import os
import platform
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from pmemsim.calibration.measurements import Measurements, read_measurements
from pmemsim.errors import Error
from pmemsim.files import temporary_folder
from pmemsim.installation import installed_dir
from pmemsim.programs import ending_of, run_program
from pmemsim.toolchain import native_compiler

# Flags of a shared mapping that fails unless the file system maps the device's memory directly.
_MAP_SHARED_VALIDATE, _MAP_SYNC = 0x03, 0x80000
# Bytes of the largest persistent memory that a micro-benchmark maps, with 64 threads' parts.
_LARGEST = 64 << 25


def source() -> Path:
    """Return the source of the micro-benchmarks; measured.h is in the same folder."""
    return installed_dir() / "calibration" / "microbenchmarks.c"


def build(compiler: Path, program: Path, *options: str) -> Path:
    """Compile the micro-benchmarks."""
    command = [str(compiler), "-O2", *options, "-pthread", str(source()), "-o", str(program)]
    with tempfile.TemporaryFile() as complaints:
        status = run_program(command, None, stdin=subprocess.DEVNULL, stderr=complaints)
        complaints.seek(0)
        if status != 0:
            why = complaints.read().decode(errors="replace").strip()
            raise Error(f"the micro-benchmarks could not be built ({ending_of(status)}): {why}")
    return program


def export_tool(file: Path) -> None:
    """Write a static executable that measures the machine on which it runs."""
    with temporary_folder() as folder:
        program = build(native_compiler(), folder / "tool", "-DPMEMSIM_NATIVE", "-static")
        file.write_bytes(program.read_bytes())
    file.chmod(0o755)


def measure_here(
    dax: Path | None = None, report: Callable[[float], None] = lambda _: None
) -> Measurements:
    """Measure this machine. Persistent memory is DRAM, or a temporary file in the folder `dax`."""
    kind = platform.machine()
    if kind not in ("x86_64", "AMD64"):
        raise Error(
            f"calibrate measures only x86-64 processors, and this one is {kind}; run it on the "
            "machine to be measured, or write a preset by hand (docs/guides/write_machine.md)"
        )
    with temporary_folder() as folder, _persistent_file(dax) as persistent:
        tool = build(native_compiler(), folder / "tool", "-DPMEMSIM_NATIVE")
        command = [str(tool)]
        if persistent is not None:
            command.append(f"file={persistent}")
        return run_tool(command, folder / "measurements.json", report)


def run_tool(command: list[str], file: Path, report: Callable[[float], None]) -> Measurements:
    """Run the program that measures, and return what it has written to `file`."""
    read, write = os.pipe()
    complaints: list[str] = []
    with file.open("wb") as printed, os.fdopen(read) as lines:
        reader = threading.Thread(target=_follow, args=(lines, complaints, report))
        reader.start()
        with os.fdopen(write, "wb") as progress:
            status = run_program(
                command, None, stdin=subprocess.DEVNULL, stdout=printed, stderr=progress
            )
        reader.join()
    if status != 0:
        why = "; ".join(complaints) or ending_of(status)
        raise Error(f"the machine could not be measured: {why}; run the command again")
    return read_measurements(file)


def _follow(lines: IO[str], complaints: list[str], report: Callable[[float], None]) -> None:
    """Read the lines "NUMBER OF_ALL NAME" of the tool; all others are complaints."""
    for line in lines:
        words = line.split(" ", 2)
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            report(int(words[0]) / int(words[1]))
        else:
            complaints.append(line.strip())


def write_measurements(measured: Measurements, file: Path) -> None:
    """Write a file of measurements."""
    file.write_text(json.dumps(measured.to_dict(), indent=1) + "\n")


@contextmanager
def _persistent_file(folder: Path | None) -> Iterator[Path | None]:
    """Create a file of persistent data in a folder of a DAX mount for the time of the block."""
    if folder is None:
        yield None
        return
    if not folder.is_dir():
        raise Error(f"--dax {folder}: no such folder; name one on a DAX mount")
    with ExitStack() as files:
        try:
            file = files.enter_context(tempfile.NamedTemporaryFile(dir=folder, prefix="pmemsim-"))
            os.posix_fallocate(file.fileno(), 0, _LARGEST)
            flags = _MAP_SHARED_VALIDATE | _MAP_SYNC
            mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=flags).close()
        except OSError as error:
            raise Error(
                f"--dax {folder}: {error.strerror or error}; name a folder with 2 GiB of free "
                "space on a file system mounted with -o dax, or omit --dax to measure DRAM"
            ) from error
        yield Path(file.name)
