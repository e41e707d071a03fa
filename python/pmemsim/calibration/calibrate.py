"""Fit a preset to measurements of a machine, and simulate the same measurements on the preset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim.calibration.comparison import DESIGN, simulate_all
from pmemsim.calibration.fit import Fit, fit
from pmemsim.calibration.measurements import Measurements
from pmemsim.calibration.measuring import build, measure_here
from pmemsim.calibration.preset import BASE, preset_text
from pmemsim.errors import ConfigError, Error
from pmemsim.files import check_writable, replacing, temporary_folder
from pmemsim.presets import load_preset
from pmemsim.simulation import configure
from pmemsim.toolchain import compiler

Reports = Callable[[Sequence[str]], AbstractContextManager[Callable[[int, float], None]]]
"""Makes a progress reporter for jobs of these names."""


@dataclass(frozen=True)
class Calibration:
    """The measurements, the parameters fitted to them, and how well they agree."""

    measured: Measurements
    fitted: Fit
    simulated_ns: dict[str, float]
    """Results of the same micro-benchmarks on the fitted machine; some can't be simulated."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values that `--json` writes: the measurements, and what was made of them."""
        values = self.measured.to_dict()
        for each in values["measurements"]:
            each["simulated_ns"] = self.simulated_ns.get(each["name"])
        return values | {
            "parameters": {
                each.key: {"value": each.value, "source": each.source}
                for each in self.fitted.parameters
            },
            "not_fitted": self.fitted.refused,
        }


def calibrate(
    output: Path | None,
    dax: Path | None = None,
    measured: Measurements | None = None,
    reports: Reports = lambda _: nullcontext(_silent),
) -> Calibration:
    """Fit a preset to `measured`, or to this machine, and write it to `output`, if given.

    Persistent memory of this machine is DRAM, or a file that is created in the folder `dax` of a
    DAX mount and removed again. Raises `Error` if the machine can't be measured or fitted.
    """
    if output is not None:
        check_preset_file(output)
    if measured is None:
        measured = measure_with_reports(dax, reports)
    fitted = fit(measured, load_preset("machine", BASE))
    text = preset_text(output.stem if output else "calibrated", fitted, measured)
    with temporary_folder() as folder:
        machine = folder / "calibrated.yaml"
        machine.write_text(text)
        try:
            configure(DESIGN, machine)
        except ConfigError as error:
            raise Error(
                f"the measurements describe no possible machine ({'; '.join(error.problems)}); "
                "measure again while nothing else runs on that computer"
            ) from error
        simulated = _simulated(measured, machine, folder, reports)
    if output is not None:
        with replacing(output) as partial:
            partial.write_text(text)
    return Calibration(measured, fitted, simulated)


def measure_with_reports(dax: Path | None, reports: Reports) -> Measurements:
    """Measure this machine."""
    with reports(["measuring"]) as report:
        return measure_here(dax, lambda part: report(0, part))


def check_preset_file(output: Path) -> None:
    """Raise an error unless a preset can be written to this file."""
    check_writable(output)
    if output.suffix not in (".yaml", ".yml"):
        raise Error(
            f"{output}: the name of a machine's file must end with .yaml; write {output}.yaml"
        )


def _silent(index: int, fraction: float) -> None:
    pass


def _simulated(
    measured: Measurements, machine: Path, folder: Path, reports: Reports
) -> dict[str, float]:
    recorded = build(compiler("pmemsim-cc"), folder / "recorded")
    found = [each for each in measured.found.values() if each.recorded_operations > 0]
    with reports([f"simulating {each.name}" for each in found]) as report:
        return simulate_all(recorded, found, machine, folder, report)
