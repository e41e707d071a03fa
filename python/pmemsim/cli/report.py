"""`pmemsim report`: one page of any results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim.cli.command import OUTPUT, argument, declared, option
from pmemsim.cli.console import out
from pmemsim.cli.options import check_outputs, keep_inputs
from pmemsim.errors import Problems
from pmemsim.files import replacing

_SUFFIXES = (".html", ".htm")


@declared
def report_command(
    results: Annotated[
        list[Path],
        argument(
            "RESULTS",
            "Files that --json of these commands wrote: run, compare, profile, timeline, matrix, "
            "crash, check, advise, sweep, reproduce, bench.",
        ),
    ],
    *,
    out_path: Annotated[
        Path, option(OUTPUT, "--out", "-o", value="FILE", help="The page's file (.html).")
    ],
) -> None:
    """Make one HTML page of results: verdicts, plots, tables, configurations and their origin.

    For example:

        pmemsim compare queue hashmap -d sw-undo,asap -m asap --json compare.json
        pmemsim crash queue -d asap -m asap --json crash.json
        pmemsim report compare.json crash.json -o report.html

    The page needs no network and no pmemsim: send it to anyone. Its plots are interactive, and its
    tables have all values of the plots.
    """
    problems = Problems()
    check_outputs(problems, None, files=[out_path])
    if out_path.suffix.lower() not in _SUFFIXES:
        problems.add(
            [
                f"--out {out_path}: must end in .html; to make a PDF, print the page from a "
                "browser (docs/guides/report.md)"
            ]
        )
    keep_inputs(problems, [out_path], map(str, results))
    problems.raise_any()
    from pmemsim.reporting.page import page_of  # takes longer to load than many commands to run

    page = page_of(results)
    with replacing(out_path) as partial:
        partial.write_text(page, encoding="utf-8")
    count = "1 result" if len(results) == 1 else f"{len(results)} results"
    out.print(f"{out_path}: {len(page) / 1e6:.1f} MB, {count}", markup=False)
