"""`pmemsim import`: convert files of other tools into recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pmemsim.arguments import check_whole
from pmemsim.champsim import import_champsim, range_of
from pmemsim.cli.command import MEMORY, OUTPUT, TARGET, Command, Group, argument, declared, option
from pmemsim.cli.console import out, run_with_progress
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.errors import Problems
from pmemsim.files import check_trace_name, write_json
from pmemsim.pmemcheck import import_pmemcheck
from pmemsim.trace import Trace

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Convert files of other tools into recordings."
)

Output = Annotated[
    Path, option(OUTPUT, "--output", "-o", value="FILE", help="The trace to write (.pmt).")
]


@app.command("champsim", cls=Command)
@declared
def champsim(
    source: Annotated[
        Path, argument("TRACE", "ChampSim's trace: raw, .gz, .xz or .bz2, by its suffix.")
    ],
    *,
    output: Output,
    cloudsuite: Annotated[
        bool, option(TARGET, "--cloudsuite", help="The trace has CloudSuite's longer records.")
    ] = False,
    skip: Annotated[
        int, option(TARGET, "--skip", value="N", help="Number of instructions to leave out first.")
    ] = 0,
    instructions: Annotated[
        int | None,
        option(
            TARGET,
            "--instructions",
            value="N",
            default="all",
            help="Number of instructions to convert.",
        ),
    ] = None,
    pm_ranges: Annotated[
        list[str] | None,
        option(
            MEMORY,
            "--pm-range",
            value="LO:HI",
            default="all memory is DRAM",
            help="Makes this range of addresses (hexadecimal) persistent; repeatable.",
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    """Convert a trace of ChampSim into a recording for the simulation of times.

    For example:

        pmemsim import champsim 605.mcf.champsimtrace.xz -o mcf.pmt --instructions 10000000
        pmemsim run mcf.pmt -d np -m asap
        pmemsim import champsim mine.gz -o mine.pmt --pm-range 0x7f0000000000:0x7f0040000000

    The recording has the trace's instructions, branches, loads, stores and register dependences.
    ChampSim's traces have no stored values, flushes or threads: `check` and `crash` refuse the
    recording. `docs/guides/import_export.md` says how each record is converted.
    """
    problems = Problems()
    _check_files(problems, source, output, json_path)
    check_whole(problems, "--skip", skip, 0)
    check_whole(problems, "--instructions", instructions, 1)
    ranges = [range_of(text, problems) for text in pm_ranges or []]
    problems.raise_any()
    trace = run_with_progress(
        source.name,
        lambda report: import_champsim(
            source,
            output,
            ranges,
            cloudsuite=cloudsuite,
            skip=skip,
            instructions=instructions,
            progress=report,
        ),
    )
    _report("import champsim", source, trace, json_path)


@app.command("pmemcheck", cls=Command)
@declared
def pmemcheck(
    log: Annotated[Path, argument("LOG", "The file that pmemcheck wrote with --log-stores=yes.")],
    *,
    output: Output,
    initial: Annotated[
        list[Path] | None,
        option(
            MEMORY,
            "--initial",
            value="FILE",
            default="zeros",
            help="The contents before the run of the mapped file of the same name; repeatable.",
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    r"""Convert a store log of pmemcheck into a recording for `check`.

    For example:

        valgrind --tool=pmemcheck --log-stores=yes --log-stores-stacktraces=yes \
            --log-file=mine.log ./mine
        pmemsim import pmemcheck mine.log -o mine.pmt
        pmemsim check mine.pmt
        pmemsim check mine.pmt --verify './mine --verify'

    Stores without a stack trace, flushes and fences have the location LOG:N, the number of their
    record behind START. The log has no loads, threads or instructions, so times that `run` and
    `compare` simulate have no meaning. `docs/guides/import_export.md` lists all records.
    """
    problems = Problems()
    _check_files(problems, log, output, json_path)
    problems.raise_any()
    trace = import_pmemcheck(log, output, initial or [])
    _report("import pmemcheck", log, trace, json_path)


def _check_files(problems: Problems, source: Path, output: Path, json_path: str | None) -> None:
    check_outputs(problems, json_path, files=[output])
    keep_inputs(problems, [output, json_path], [str(source)])
    with problems.collected():
        check_trace_name(output)


def _report(command: str, source: Path, trace: Trace, json_path: str | None) -> None:
    operations = trace.operation_count(0)
    regions = trace.metadata["pm_regions"]
    if json_path:
        found = {
            "source": str(source), "file": str(trace.path), "trace_hash": trace.hash,
            "operations": operations, "pm_regions": regions,
        }  # fmt: skip
        write_json(command, found, json_path)
    if json_path != "-":
        out.print(
            f"{trace.path}: {operations:,} operations, {_counted(regions)} of persistent memory",
            markup=False,
        )


def _counted(regions: Sequence[object]) -> str:
    return f"{len(regions)} region{'' if len(regions) == 1 else 's'}"
