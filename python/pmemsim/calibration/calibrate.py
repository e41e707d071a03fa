"""Measure a machine, fit a preset to it, and simulate the same measurements on the preset."""

from __future__ import annotations

import datetime
import mmap
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim.calibration.comparison import DESIGN, simulate_all
from pmemsim.calibration.fit import Fitted, fit
from pmemsim.calibration.measurements import (
    Benchmark,
    Measurements,
    benchmarks,
    measure,
    source,
)
from pmemsim.calibration.preset import BASE, preset_text
from pmemsim.calibration.processor import Processor, this_processor
from pmemsim.errors import ConfigError, Error
from pmemsim.files import check_writable, replacing, temporary_folder
from pmemsim.presets import load_preset
from pmemsim.programs import ending_of, run_program
from pmemsim.simulation import configure
from pmemsim.toolchain import compiler, native_compiler

Reports = Callable[[Sequence[str]], AbstractContextManager[Callable[[int, float], None]]]
"""Makes a progress reporter for jobs of these names."""

# Flags of a shared mapping that fails unless the file system maps the device's memory directly.
_MAP_SHARED_VALIDATE, _MAP_SYNC = 0x03, 0x80000
# Bytes of the largest persistent memory that a micro-benchmark maps, with 64 threads' parts.
_LARGEST = 64 << 25


@dataclass(frozen=True)
class Calibration:
    """The measurements, the parameters fitted to them, and how well they agree."""

    processor: Processor
    measured: Measurements
    fitted: list[Fitted]
    simulated_ns: dict[str, float]
    """Results of the same micro-benchmarks on the fitted machine; some can't be simulated."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values that `--json` writes."""
        return {
            "processor": self.processor.description(),
            "measurements": [
                {
                    "name": name,
                    "median_ns": each.median_ns,
                    "least_ns": each.least_ns,
                    "most_ns": each.most_ns,
                    "spread": each.spread,
                    "simulated_ns": self.simulated_ns.get(name),
                }
                for name, each in self.measured.found.items()
            ],
            "not_measured": self.measured.missing,
            "parameters": {
                each.key: {"value": each.value, "source": each.source} for each in self.fitted
            },
        }


def calibrate(
    output: Path, dax: Path | None = None, reports: Reports = lambda _: nullcontext(_silent)
) -> Calibration:
    """Measure this machine and write a preset of it to `output`.

    Persistent memory is DRAM, or a file that is created in the folder `dax` of a DAX mount and
    removed again. Raises `Error` if this machine can't be measured.
    """
    check_writable(output)
    if output.suffix not in (".yaml", ".yml"):
        raise Error(
            f"{output}: the name of a machine's file must end with .yaml; write {output}.yaml"
        )
    processor = this_processor()
    defaults = load_preset("machine", BASE)
    with temporary_folder() as folder, _persistent_file(dax) as file:
        native = _build(native_compiler(), folder / "native", "-DPMEMSIM_NATIVE")
        wanted = benchmarks(processor, file)
        with reports([each.name for each in wanted]) as report:
            measured = measure(native, processor, wanted, report)
        fitted = fit(processor, measured, defaults)
        text = preset_text(
            output.stem, processor, fitted, measured, datetime.date.today().isoformat()
        )
        machine = folder / output.name
        machine.write_text(text)
        try:
            configure(DESIGN, machine)
        except ConfigError as error:
            raise Error(
                f"the measurements describe no possible machine ({'; '.join(error.problems)}); "
                "run the command again while nothing else runs on this computer"
            ) from error
        simulated = _simulated(wanted, measured, machine, folder, reports)
    with replacing(output) as partial:
        partial.write_text(text)
    return Calibration(processor, measured, fitted, simulated)


def _silent(index: int, fraction: float) -> None:
    pass


def _simulated(
    wanted: list[Benchmark], measured: Measurements, machine: Path, folder: Path, reports: Reports
) -> dict[str, float]:
    recorded = _build(compiler("pmemsim-cc"), folder / "recorded")
    found = [each for each in wanted if each.recorded > 0 and each.name in measured.found]
    with reports([f"simulating {each.name}" for each in found]) as report:
        return simulate_all(recorded, found, machine, folder, report)


def _build(compiler: Path, program: Path, *options: str) -> Path:
    """Compile the micro-benchmarks."""
    command = [str(compiler), "-O2", *options, "-pthread", str(source()), "-o", str(program)]
    with tempfile.TemporaryFile() as complaints:
        status = run_program(command, None, stdin=subprocess.DEVNULL, stderr=complaints)
        complaints.seek(0)
        if status != 0:
            why = complaints.read().decode(errors="replace").strip()
            raise Error(f"the micro-benchmarks could not be built ({ending_of(status)}): {why}")
    return program


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
