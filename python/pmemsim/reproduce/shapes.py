"""The papers' orderings, checked: what must hold, and what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.storage import storage


@dataclass(frozen=True)
class Seen:
    """Whether a shape holds, and the numbers that say so."""

    holds: bool
    text: str


def pm_latency(measured: Measurements) -> Seen:
    """ASAP, 7.3: ASAP above both everywhere; HWRedo overtakes HWUndo; ASAP's slope near NP's."""
    points = measured.experiment.points
    fastest, slowest = points[0], points[-1]
    lead = min(
        measured.ratio("ASAP", other, point, point).mean
        for other in ("HWRedo", "HWUndo")
        for point in points
    )
    redo_first, redo_last = (
        measured.ratio("HWRedo", "HWUndo", point, point).mean for point in (fastest, slowest)
    )
    kept = {
        design: measured.ratio(design, design, slowest, fastest).mean
        for design in ("NP", "ASAP", "HWRedo", "HWUndo")
    }
    distance = {design: abs(share - kept["NP"]) for design, share in kept.items()}
    holds = (
        lead > 1
        and redo_first < 1 < redo_last
        and distance["ASAP"] < min(distance["HWRedo"], distance["HWUndo"])
    )
    slopes = ", ".join(f"{design} {share:.2f}" for design, share in kept.items())
    return Seen(
        holds,
        f"ASAP over the better of HWRedo and HWUndo at least {lead:.2f}; HWRedo over HWUndo "
        f"{redo_first:.2f} at {fastest.name}, {redo_last:.2f} at {slowest.name}; throughput kept "
        f"at {slowest.name}: {slopes}",
    )


_FEW_PERCENT = 0.05


def fences(measured: Measurements) -> Seen:
    """ASAP, 6.4: with a fence after every region it degenerates to HWUndo."""
    ratio = measured.ratio("ASAP, fences", "HWUndo")
    return Seen(
        abs(ratio.mean - 1) <= _FEW_PERCENT,
        f"ASAP with fences over HWUndo {ratio.mean:.3f} ± {ratio.ci95:.3f}",
    )


def lad_below_redu(measured: Measurements) -> Seen:
    """LALEA, IV-B: LAD's throughput is below REDU's."""
    ratio = measured.ratio("LAD", "REDU")
    sizes = measured.group_ratios("LAD", "REDU").items()
    by_size = ", ".join(f"{group}: {of_group.mean:.3f}" for group, of_group in sizes)
    return Seen(ratio.mean < 1, f"LAD over REDU {ratio.mean:.3f} ± {ratio.ci95:.3f} ({by_size})")


def fifo_storage(measured: Measurements) -> Seen:
    """LALEA, III-A: the entry FIFO as printed; the header FIFO as printed and as computed."""
    entries, headers = storage(measured.paper)[:2]
    whole = headers.printed_if
    return Seen(
        entries.bytes == entries.printed and headers.printed == whole,
        "; ".join(f"{s.name} {s.formula} = {s.bytes:g} B (printed: {s.printed:g} B)"
                  for s in (entries, headers)),
    )  # fmt: skip


SHAPES: dict[str, Callable[[Measurements], Seen]] = {
    shape.__name__: shape for shape in (pm_latency, fences, lad_below_redu, fifo_storage)
}
