"""`pmemsim crash --model`: what has become of recovery, crashed again."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import err, out, table
from pmemsim.errors import CheckFailed
from pmemsim.persistency import ModelRun
from pmemsim.recovery import RecoveryRun
from pmemsim.recovery_recording import OpenRead

_MOST_READS = 10

Crashed = Sequence[tuple[ModelRun, RecoveryRun]]


def print_recoveries(crashed: Crashed) -> None:
    """Tables of second crashes, and of what recovery has read that wasn't sure to persist."""
    reasons: dict[str, list[str]] = {}
    for run, recovery in crashed:
        if recovery.reason:
            reasons.setdefault(recovery.reason, []).append(run.workload)
    for reason, [first, *others] in reasons.items():
        whose = f"{first} and {len(others)} more" if others else first
        err.print(f"pmemsim: note: {whose}: recovery isn't crashed again: {reason}", markup=False)
    done = [(run, recovery) for run, recovery in crashed if not recovery.reason]
    if not done:
        return
    columns = ["workload", ">recoveries", ">different", ">images checked", ">rejected"]
    rows = [
        (
            run.workload,
            f"{recovery.recorded:,}",
            f"{recovery.different:,}",
            recovery.extent,
            "1" if recovery.story else "0",
        )
        for run, recovery in done
    ]
    out.print(table("recovery, crashed again", columns, rows))
    for run, recovery in done:
        if recovery.reads:
            _print_reads(run, recovery)


def _print_reads(run: ModelRun, recovery: RecoveryRun) -> None:
    def order(read: OpenRead) -> tuple[bool, int]:
        times = recovery.reads[read]
        return recovery.right_either_way(read), -times.there - times.lost

    reads = sorted(recovery.reads, key=order)  # those first that may matter
    columns = ["recovery reads at", "what was stored at", ">there", ">lost", ""]
    rows = [
        (
            read.load,
            read.store,
            f"{recovery.reads[read].there:,}",
            f"{recovery.reads[read].lost:,}",
            "right either way" if recovery.right_either_way(read) else "right so far",
        )
        for read in reads[:_MOST_READS]
    ]
    if len(reads) > _MOST_READS:
        rows.append((f"{len(reads) - _MOST_READS} more in --json", "", "", "", ""))
    out.print(table(f"{run.workload}: read by recovery, not sure to persist", columns, rows))


def fail_if_rejected_again(crashed: Crashed) -> None:
    """Raise `CheckFailed` with the story of the first recovery that a second crash breaks."""
    for run, recovery in crashed:
        story = recovery.story
        if story is None:
            continue
        lines = [
            f"{run.workload} isn't crash-safe by {run.model}: after a second crash, in recovery, "
            f"{story.lines[0]}",
            *(f"  {line}" for line in story.lines[1:]),
            f"  to see it again: {story.command}",
        ]
        raise CheckFailed("\n".join(lines))
