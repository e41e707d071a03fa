"""`pmemsim calibrate`: derive a machine preset from measurements of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim.calibration import Calibration, calibrate
from pmemsim.cli.command import MEMORY, OUTPUT, declared, option
from pmemsim.cli.console import err, out, percent, progress_of, table
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.errors import Problems
from pmemsim.files import write_json


@declared
def calibrate_command(
    *,
    output: Annotated[
        Path,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="FILE",
            help="The YAML file to which the preset is written.",
        ),
    ],
    dax: Annotated[
        Path | None,
        option(
            MEMORY,
            "--dax",
            value="DIR",
            help="A folder on a DAX mount, whose persistent memory is measured through a "
            "temporary file. Without this option, DRAM is measured in its place.",
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    """Measure this machine, and write a machine preset that behaves like it.

    For example:

        pmemsim calibrate -o mine.yaml
        pmemsim calibrate -o mine.yaml --dax /mnt/pmem
        pmemsim run queue --design sw-undo --machine mine.yaml

    The command runs micro-benchmarks for half a minute. Run nothing else on the machine meanwhile.
    It computes the preset's parameters from their times and writes each with its source. It then
    simulates the micro-benchmarks on the preset, and prints measured and simulated times side by
    side. It also lists what it could not measure, and how far repetitions differ. The limits of the
    model are in `docs/explanation/validation.md`.
    """
    problems = Problems()
    check_outputs(problems, json_path, files=[output])
    keep_inputs(problems, [output, json_path], [])
    problems.raise_any()
    found = calibrate(output, dax, progress_of)
    if json_path:
        write_json(found.to_dict(), json_path)
    if json_path != "-":
        _print(found)
        err.print(f"wrote {output}", markup=False)


def _print(found: Calibration) -> None:
    rows = []
    for name, each in found.measured.found.items():
        simulated = found.simulated_ns.get(name)
        rows.append(
            (
                name,
                f"{each.median_ns:.2f}",
                percent(each.spread) + ("" if each.is_sure else " unsure"),
                "-" if simulated is None else f"{simulated:.2f}",
                "-" if simulated is None else f"{simulated / each.median_ns:.2f}",
            )
        )
    columns = ["of one operation", ">measured (ns)", ">spread", ">simulated (ns)", ">ratio"]
    out.print(table(found.processor.description(), columns, rows))
    parameters = [(each.key, each.value, each.source) for each in found.fitted]
    out.print(table("fitted", ["parameter", ">value", "source"], parameters))
    for name, why in found.measured.missing.items():
        out.print(f"not measured: {name}: {why}", markup=False)
