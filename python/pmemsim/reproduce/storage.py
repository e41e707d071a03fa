"""What the papers' structures take, computed from the configuration that is simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pmemsim.reproduce.plan import Paper
from pmemsim.simulation import configure

_BITS = 8
_LINE = 64
_REGISTER = 8


@dataclass(frozen=True)
class Structure:
    """One hardware structure."""

    name: str
    formula: str
    bytes: float
    where: str
    printed: float | None = None
    """Bytes that the paper prints."""
    printed_if: float | None = None
    """Bytes by the reading of the formula that gives what is printed, where that is another."""


def storage(paper: Paper) -> list[Structure]:
    """The structures of a paper's own design."""
    experiment = paper.experiments["storage"]
    design = paper.designs[experiment.designs[0]]
    resolved = configure(design.preset, paper.machine, dict(design.settings)).resolve()
    return STORAGE[paper.name]({p["key"]: p["value"] for p in resolved})


def _bytes(size: str) -> int:
    """A resolved size, such as `1KiB`, in bytes."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)):
        if size.endswith(unit):
            return int(size.removesuffix(unit)) * factor
    raise ValueError(size)


def _asap(value: dict[str, str]) -> list[Structure]:
    regions, slots = int(value["asap.cl_entries"]), int(value["asap.cl_slots"])
    dependences, others = (
        int(value["asap.dependence_entries"]), int(value["asap.dependence_slots"]),
    )  # fmt: skip
    headers = int(value["asap.lh_wpq_entries"])
    pointer, state, rid = 8, 2, 32
    tag = 1 + 1 + rid
    return [
        Structure(
            "CL List, a core",
            f"{regions} x ({slots} x {pointer} bit CLPtr + {state} bit state + {rid} bit RID)",
            regions * (slots * pointer + state + rid) / _BITS,
            "6.2",
            printed=49,
        ),
        Structure(
            "Dependence List, a channel",
            f"{dependences} x ({others} x {rid} bit Dep + {state} bit state + {rid} bit RID)",
            dependences * (others * rid + state + rid) / _BITS,
            "6.2",
        ),
        Structure(
            "LH-WPQ, a channel",
            f"{headers} x (6 B LogHeaderAddr + {_LINE} B LogHeader)",
            headers * (6 + _LINE),
            "6.2",
        ),
        Structure(
            "Bloom filter, a channel",
            value["asap.filter_size"],
            _bytes(value["asap.filter_size"]),
            "5.3, Table 2",
        ),
        Structure(
            "thread state registers, a thread",
            f"6 x {_REGISTER} B",
            6 * _REGISTER,
            "4.4, 6.2",
        ),
        Structure(
            "tag extension, a line of L1, L2 and L3",
            f"1 bit PBit + 1 bit LockBit + {rid} bit OwnerRID",
            tag / _BITS,
            "4.3, 4.6, 5.6",
        ),
    ]


# III-A: "Assuming a row address and a column address have 16 and 10 bits respectively".
_ROW_AND_COLUMN_BITS = 16 + 10


def _lalea(value: dict[str, str]) -> list[Structure]:
    entries, headers = int(value["log.free_entries"]), int(value["log.free_headers"])
    entry_bits = _ROW_AND_COLUMN_BITS - (_LINE.bit_length() - 1)
    header_bits = _ROW_AND_COLUMN_BITS - ((2 * _LINE).bit_length() - 1)
    return [
        Structure(
            "free-log-entry FIFO, a bank",
            f"{entries} x {entry_bits} bit",
            entries * entry_bits / _BITS,
            "III-A",
            printed=2560,
        ),
        Structure(
            "free-header FIFO, a bank",
            f"{headers} x {header_bits} bit",
            headers * header_bits / _BITS,
            "III-A",
            printed=2432,
            printed_if=entries * header_bits / _BITS,
        ),
        Structure("LR register, a core", "8 B", 8, "III-A"),
        Structure("operation counter, a bank", "8 bit", 1, "III-A"),
    ]


STORAGE: dict[str, Callable[[dict[str, str]], list[Structure]]] = {
    "asap": _asap,
    "lalea": _lalea,
}
