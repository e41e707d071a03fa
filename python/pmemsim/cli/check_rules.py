"""`pmemsim check`: print the findings of the rules."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import out, table
from pmemsim.cli.verdicts import Verdict
from pmemsim.program_check import Finding, Report

_SHOWN_CALLS = 3


def print_findings(report: Report, top: int) -> None:
    """Print a table of the findings, including wrong answers."""
    shown = report.findings[:top]
    if shown:
        columns = ["finding", "at", "function", ">times", "first", "what is wrong"]
        title = f"{report.workload}: findings under {report.rules}"
        out.print(table(title, columns, [_row(finding) for finding in shown]))
    if rest := len(report.findings) - len(shown):
        out.print(f"{rest} more findings; --top {len(report.findings)} shows all")
    if report.suppressed:
        out.print(f"suppressed: {_findings(len(report.suppressed))}")


def print_limits(report: Report, more: Sequence[str], *, rules_alone: bool) -> None:
    """Print notes on missing findings and on missing data; `more` has further notes."""
    by_reason: dict[str, list[str]] = {}
    for kind, reason in report.not_looked_for.items():
        by_reason.setdefault(reason, []).append(kind)
    for reason, kinds in by_reason.items():
        out.print(f"not checked, because {reason}: {', '.join(kinds)}", markup=False)
    for note in dict.fromkeys([*report.notes, *more]):
        out.print(f"partial: {note}", markup=False)
    if rules_alone:
        out.print(_ONLY_THE_PROGRAM_KNOWS, markup=False)


_ONLY_THE_PROGRAM_KNOWS = (
    "not checked by rules: the order of data that no pointer connects, and values of several "
    "words; use --verify CMD or --answers CMD for them"
)


def verdict(report: Report) -> Verdict:
    """Return the verdict of the rules, without the reader's wrong answers."""
    faults = report.faults
    costly = len([each for each in report.findings if not each.loses_data])
    counts = report.counts
    text = (
        f"{_findings(len(faults))} that can lose data, {costly} that cost time or space; "
        f"{counts['pm_stores']:,} stores to persistent memory, {counts['flushes']:,} flushes, "
        f"{counts['fences']:,} fences, {counts['regions']:,} regions"
    )
    if not faults:
        return Verdict("rules", report.rules, text)
    first = faults[0]
    found = (
        f"{report.workload}: {_findings(len(faults))} that can lose data; the first: "
        f"{first.place}: {first.kind}: {first.effect}"
    )
    return Verdict("rules", report.rules, text, (found,))


def _row(finding: Finding) -> tuple[str, ...]:
    times = f"{finding.count:,}"
    if finding.executions:
        times += f" of {finding.executions:,}"
    calls = [f"called at {call} in {call.function}" for call in finding.calls[:_SHOWN_CALLS]]
    if len(finding.calls) > _SHOWN_CALLS:
        calls.append("...")
    wrong = [finding.explanation, finding.effect] if finding.explanation else [finding.effect]
    return (
        finding.kind,
        "\n".join([str(finding.place), *calls]),
        finding.place.function,
        times,
        f"thread {finding.thread}, operation {finding.operation}",
        "\n".join(wrong),
    )


def _findings(count: int) -> str:
    return "1 finding" if count == 1 else f"{count} findings"
