"""`pmemsim check`: print the findings of the rules."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import out, table
from pmemsim.program_check import Finding, OtherOrder, Report
from pmemsim.trace import Place

_SHOWN_CALLS = 3


def print_findings(report: Report, top: int) -> None:
    """Print a table of the findings, including wrong answers."""
    findings = [each for each in report.findings if not each.note]
    _print_table(f"{report.workload}: findings under {report.rules}", findings, top)
    _print_table(
        f"{report.workload}: notes (a correct program may have these, too)", report.undecided, top
    )
    if report.undecided:
        out.print(_DECIDED_BY_A_CHECKER, markup=False)
    if report.suppressed:
        out.print(f"suppressed: {_findings(len(report.suppressed))}")


def print_baseline(report: Report, gone: int) -> None:
    """Print how many findings the baseline has, too, and how many of its findings are gone."""
    no_longer = f"; {_findings(gone)} of it no longer found" if gone else ""
    out.print(f"known from the baseline: {_findings(len(report.known))}{no_longer}")


_DECIDED_BY_A_CHECKER = (
    "notes change no exit code, unless --strict is given; to decide about them, check the images "
    "that a crash may leave: pmemsim check TARGET --verify CMD, where CMD is the program's checker"
)


def _print_table(title: str, findings: Sequence[Finding], top: int) -> None:
    if not findings:
        return
    columns = ["finding", "at", "function", ">times", "first", "what is wrong"]
    out.print(table(title, columns, [_row(finding) for finding in findings[:top]]))
    if len(findings) > top:
        out.print(f"{len(findings) - top} more; --top {len(findings)} shows all")


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


def _row(finding: Finding) -> tuple[str, ...]:
    times = f"{finding.count:,}"
    if finding.kind == "never-flushed":
        times += " line" if finding.count == 1 else " lines"
    if finding.executions:
        times += f" of {finding.executions:,}"
    wrong = [finding.explanation, *_calls(finding.other_calls)] if finding.explanation else []
    return (
        finding.kind,
        "\n".join([str(finding.place), *_calls(finding.calls)]),
        finding.place.function,
        times,
        f"thread {finding.thread}, operation {finding.operation}",
        "\n".join([*_order(finding.order), *wrong, finding.effect, *_how_to_record(finding.order)]),
    )


def _order(order: OtherOrder | None) -> list[str]:
    """Return the order of the threads that would lose data."""
    if order is None:
        return []
    place = [str(order.store), *_calls(order.store_calls)]
    thread = f"thread {order.thread}'s"
    if order.fence is None:
        lines = [f"another order: this load and the dependent store between {thread} load and"]
        return [*lines, f"its store at {place[0]}", *place[1:]]
    lines = [f"another order: this load between {thread} store at {place[0]}", *place[1:]]
    return [*lines, f"and its fence at {order.fence}", *_calls(order.fence_calls)]


def _how_to_record(order: OtherOrder | None) -> list[str]:
    """Return how to record the order."""
    return [f"to record it, repeat the recording with --hold {order.hold}"] if order else []


def _calls(calls: Sequence[Place]) -> list[str]:
    shown = [f"called at {call} in {call.function}" for call in calls[:_SHOWN_CALLS]]
    return [*shown, "..."] if len(calls) > _SHOWN_CALLS else shown


def _findings(count: int) -> str:
    return _counted(count, "finding")


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
