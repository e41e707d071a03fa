"""`pmemsim calibrate`: derive a machine preset from measurements of a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim.calibration import (
    Calibration,
    calibrate,
    export_tool,
    measure_with_reports,
    read_measurements,
    write_measurements,
)
from pmemsim.cli.command import MEMORY, OUTPUT, TARGET, declared, option
from pmemsim.cli.console import err, out, percent, progress_of, table
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.files import replacing, write_json
from pmemsim.rules import Given


@declared
def calibrate_command(
    *,
    given: Given,
    from_: Annotated[
        Path | None,
        option(
            TARGET,
            "--from",
            value="FILE",
            help="A file of measurements, of this machine or another one. Nothing is measured.",
        ),
    ] = None,
    measure_only: Annotated[
        bool,
        option(
            TARGET, "--measure-only", help="Measures, and writes only the file of measurements."
        ),
    ] = False,
    export: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--export-tool",
            value="FILE",
            help="Writes a static executable, which measures another machine without pmemsim and "
            "prints the file of measurements.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="FILE",
            help="The YAML file to which the preset is written, or the JSON file of measurements.",
        ),
    ] = None,
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
    """Measure a machine, and write a machine preset that behaves like it.

    For example:

        pmemsim calibrate -o mine.yaml
        pmemsim calibrate --export-tool measure    # then, on a server: ./measure > server.json
        pmemsim calibrate --from server.json -o server.yaml
        pmemsim run queue --design sw-undo --machine server.yaml

    The command runs micro-benchmarks for a few minutes. Run nothing else on the machine meanwhile.
    It computes the preset's parameters from their times, and writes each with its source. It then
    simulates the micro-benchmarks on the preset, and prints measured and simulated times side by
    side. A time whose repetitions differ by more than 15% decides nothing. The limits of the model
    are in `docs/explanation/validation.md`.
    """
    problems = given.problems()
    check_outputs(problems, json_path, files=[output, export])
    inputs = [] if from_ is None else [str(from_)]
    keep_inputs(problems, [output, export, json_path], inputs)
    problems.raise_any()
    if export is not None:
        with replacing(export) as partial:
            export_tool(partial)
        err.print(f"wrote {export}", markup=False)
    elif measure_only and output is not None:
        measured = measure_with_reports(dax, progress_of)
        with replacing(output) as partial:
            write_measurements(measured, partial)
        err.print(f"wrote {output}", markup=False)
    else:
        _fit(from_, output, dax, json_path)


def _fit(
    measurements: Path | None, output: Path | None, dax: Path | None, json_path: str | None
) -> None:
    measured = None if measurements is None else read_measurements(measurements)
    found = calibrate(output, dax, measured, progress_of)
    if json_path:
        write_json("calibrate", found.to_dict(), json_path)
    if json_path != "-":
        _print(found)
    if output is not None:
        err.print(f"wrote {output}", markup=False)


def _print(found: Calibration) -> None:
    rows = []
    for name, each in found.measured.found.items():
        simulated = found.simulated_ns.get(name)
        rows.append(
            (
                name,
                f"{each.median_ns:.2f}",
                percent(each.spread) + ("" if each.is_usable else " not used"),
                "-" if simulated is None else f"{simulated:.2f}",
                "-" if simulated is None else f"{simulated / each.median_ns:.2f}",
            )
        )
    columns = ["of one operation", ">measured (ns)", ">spread", ">simulated (ns)", ">ratio"]
    out.print(table(found.measured.processor.description(), columns, rows))
    parameters = [(each.key, each.value, each.source) for each in found.fitted.parameters]
    out.print(table("fitted", ["parameter", ">value", "source"], parameters))
    for key, why in found.fitted.refused.items():
        out.print(f"not fitted: {key}: {why}", markup=False)
    for name, why in found.measured.missing.items():
        out.print(f"not measured: {name}: {why}", markup=False)
