"""`pmemsim lint-hints`: evaluate a program's pre-execution hints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim.arguments import check_whole
from pmemsim.cli.choices import configurations_of, find_targets
from pmemsim.cli.command import OUTPUT, declared, option
from pmemsim.cli.console import (
    duration,
    note_newer_sources,
    out,
    percent,
    run_with_progress,
    table,
)
from pmemsim.cli.options import (
    Design,
    Json,
    Machine,
    Overrides,
    Recipe,
    Target,
    Top,
    check_outputs,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.errors import CheckFailed, Problems
from pmemsim.files import replacing, write_json
from pmemsim.lint_hints import Finding, Report, check_design, lint
from pmemsim.presets import parse_overrides
from pmemsim.sources import Sources


@declared
def lint_hints_command(
    target: Target,
    *,
    design: Design = "janus",
    machine: Machine = "janus",
    overrides: Overrides = None,
    top: Top = 20,
    profile: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--profile",
            value="FILE",
            help="Writes the source lines of stores without a hint to this file, for pmemsim-cc "
            "--janus-profile=FILE.",
        ),
    ] = None,
    json_path: Json = None,
    recipe: Recipe,
) -> None:
    """Report pre-execution hints (pm_pre_...) that cost more than they save, and missing hints.

    For example:

        pmemsim-cc -O2 -g mine.c -o mine
        pmemsim record -o mine.pmt -- ./mine
        pmemsim lint-hints mine.pmt
        pmemsim lint-hints tatp_lowlevel --hints auto --regions 1000 --json findings.json

    To add the missing hints without a change to the source:

        pmemsim lint-hints mine.pmt --profile lines.txt
        pmemsim-cc -O2 -g --janus-profile=lines.txt mine.c -o mine

    The command simulates the recording on Janus. Each finding has the source line of the hint's
    call and the time that it cost. The most expensive findings are first:

    * useless: no write used the line's result, or the hint lacked an address or data.

    * invalidated: the write had other data than hinted, or metadata had changed.

    * freed: the memory was freed before it was written.

    * too_short: the write arrived before the operations had finished.

    * dropped: a queue or the result buffer was full.

    * missing: a write without a hint stalled. The line is that of its flush, and the time is what a
      perfect hint would save.

    The exit code is 1 if the program should correct a finding. These findings don't count: missing
    hints, hints of pm.h's library, and hints that any write invalidates (invalidated, tree).
    docs/guides/check_hints.md explains how each time is computed, and the keys of --json.
    """
    problems = Problems()
    check_outputs(problems, json_path, files=[profile])
    check_whole(problems, "--top", top, 1)
    keep_inputs(problems, [json_path, profile], (target, design, machine))
    extra = tuple(parse_overrides(overrides or [], problems.found))
    configurations = configurations_of([design], machine, extra, problems)
    for configuration in configurations:
        with problems.collected():
            check_design(configuration)
    found = find_targets([target], recipe, problems)
    problems.raise_any()
    (trace,) = open_traces(found, None)
    report = run_with_progress(
        f"{trace.name} on {design}", lambda progress: lint(trace, configurations[0], progress)
    )
    if json_path:
        write_json("lint-hints", report.to_dict(), json_path)
    if profile:
        with replacing(profile) as partial:
            partial.write_text("".join(f"{line}\n" for line in report.profile))
    if json_path != "-":
        _print(report, top)
    note_newer_sources(Sources(trace).note(finding.place for finding in report.findings))
    if report.faults:
        raise CheckFailed(_verdict(report))


def _print(report: Report, top: int) -> None:
    shown = report.findings[:top]
    if shown:
        title = f"{report.workload}: hints on {report.design}, machine {report.machine}"
        columns = ["finding", "at", "function", ">lines", ">time lost", "what to do"]
        out.print(table(title, columns, [_row(finding) for finding in shown]))
    if rest := len(report.findings) - len(shown):
        lost = duration(sum(finding.lost_ns for finding in report.findings[top:]))
        out.print(f"{rest} more findings ({lost}); --top {len(report.findings)} shows all")
    for sentence in _summary(report):
        out.print(sentence, markup=False)


def _row(finding: Finding) -> tuple[str, ...]:
    kind = finding.kind if finding.kind == finding.reason else f"{finding.kind}: {finding.reason}"
    place = str(finding.place)
    if finding.store and finding.store != finding.place:
        place += f"\nlast stored at {finding.store}"
    return (
        kind,
        place,
        finding.place.function,
        f"{finding.count:,}",
        duration(finding.lost_ns),
        finding.advice,
    )


def _summary(report: Report) -> list[str]:
    waited = (
        f"writes: {report.writes:,}, which stalled {duration(report.waited_ns)} in total for the "
        f"backend's operations; the run takes {duration(report.time_ns)}"
    )
    if not report.hints:
        return ["the recording has no hint (pm_pre_...); the listed writes lack one", waited]
    share = percent(report.in_time / report.writes if report.writes else 0.0)
    return [
        f"hints called: {report.hints:,}, lines hinted: {report.hinted_lines:,}, writes whose "
        f"operations had finished, except hashes of the tree: {report.in_time:,} ({share})",
        waited,
    ]


def _verdict(report: Report) -> str:
    faults = report.faults
    lost = duration(sum(finding.lost_ns for finding in faults))
    what = "1 finding" if len(faults) == 1 else f"{len(faults)} findings"
    return (
        f"{report.workload}: {what} of hints to correct, which cost {lost}; the first: "
        f"{faults[0].place}: {faults[0].kind}"
    )
