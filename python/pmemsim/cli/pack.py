"""`pmemsim pack` and `replay`: results in one file, which can be simulated again anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim.arguments import check_jobs
from pmemsim.cli.command import OUTPUT, TARGET, argument, declared, option
from pmemsim.cli.console import err, out, progress_of
from pmemsim.cli.options import Jobs, Json, check_outputs, keep_inputs
from pmemsim.errors import CheckFailed, Problems
from pmemsim.installation import version
from pmemsim.packing import check_recordings, opened, pack

_MOST_SHOWN = 10


@declared
def pack_command(
    results: Annotated[
        list[Path],
        argument("RESULTS", "Files that --json of run, compare, sweep, matrix or reproduce wrote."),
    ],
    *,
    output: Annotated[
        Path, option(OUTPUT, "--output", "-o", value="FILE", help="The pack to write (.pmpack).")
    ],
    recordings: Annotated[
        list[Path] | None,
        option(
            TARGET,
            "--recordings",
            value="PATH",
            help="A recording, or a folder that is searched for recordings; repeatable. The "
            "results' folders and pmemsim's recordings of workloads are searched, too.",
        ),
    ] = None,
) -> None:
    """Pack results, their recordings and configurations in one file.

    For example:

        pmemsim compare queue hashmap -d sw-undo,asap -m asap --json compare.json
        pmemsim pack compare.json -o figure.pmpack
        pmemsim replay figure.pmpack

    `replay` simulates the pack anywhere, without workloads, presets or compilers.
    """
    problems = Problems()
    check_outputs(problems, None, files=[output])
    keep_inputs(problems, [output], map(str, [*results, *(recordings or [])]))
    check_recordings(recordings or [], problems)
    problems.raise_any()
    count = pack(results, output, recordings or [])
    size = output.stat().st_size / 1e6
    out.print(
        f"{output}: {size:.1f} MB, results: {len(results)}, recordings: {count}", markup=False
    )


@declared
def replay_command(
    packed: Annotated[Path, argument("PACK", "A file that `pmemsim pack` wrote.")],
    *,
    jobs: Jobs = None,
    json_path: Json = None,
) -> None:
    """Simulate packed results again, and compare every number.

    Example: `pmemsim replay figure.pmpack`

    The exit codes are:

        0   all numbers are equal to the bit
        1   a number differs; the first differences are printed
        2   the file is no pack, or it is damaged

    Host times are not compared. Results of designs in plug-ins need `--plugin FILE`.
    """
    problems = Problems()
    check_jobs(problems, jobs)
    check_outputs(problems, json_path)
    keep_inputs(problems, [json_path], [str(packed)])
    problems.raise_any()
    with opened(packed) as found:
        if found.version != version():
            err.print(
                f"pmemsim: note: {packed} was packed by pmemsim {found.version}, and this is "
                f"{version()}: numbers may differ",
                markup=False,
            )
        with progress_of([run.label for run in found.runs]) as progress:
            replayed = found.replay(jobs, progress)
    if json_path:
        replayed.to_json(json_path)
    sentences = []
    for each in replayed.results:
        count = len(each.differences)
        differ = "1 value differs" if count == 1 else f"{count:,} values differ"
        what = differ if count else "equal"
        if json_path != "-":
            out.print(
                f"{each.result.name}: {each.result.command}, simulations: {len(each.result.runs)}, "
                f"{what}",
                markup=False,
            )
        sentences += [f"{each.result.name}: {it}" for it in each.differences[:_MOST_SHOWN]]
        if count > _MOST_SHOWN:
            sentences.append(f"{each.result.name}: {count - _MOST_SHOWN:,} more differences")
    if sentences:
        raise CheckFailed(*sentences)
