"""What a design's structures take on the chip, computed from the configuration.

One row a choice of a layer: which structures it adds, each with its size and how many there are in
the machine. So a design of a user's own has a number, too. What isn't on the chip doesn't count:
log areas in PM, and DRAM that a design uses. Nor do queues that the machine has without the design.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pmemsim import _core
from pmemsim.simulation import Configuration

_BITS = 8
_LINE = 64
_REGISTER = 8
_ADDRESS = 6  # ASAP, 6.2: 48 bits


@dataclass(frozen=True)
class Structure:
    """One hardware structure."""

    name: str
    """With what has one: a core, a channel, ..."""
    formula: str
    bytes: float
    """Of one."""
    count: int
    """In the machine."""
    where: str
    """The section of the design's paper, or why it is there."""
    printed: float | None = None
    """Bytes that the paper prints."""
    printed_if: float | None = None
    """Bytes by the reading of the formula that gives what is printed, where that is another."""


@dataclass(frozen=True)
class Unknown:
    """A choice whose structures can't be counted, and why, in a sentence."""

    reason: str


class Values:
    """The resolved configuration, and what follows from it."""

    def __init__(self, configuration: Configuration) -> None:
        self._values = {p["key"]: p["value"] for p in configuration.resolve()}

    def text(self, key: str) -> str:
        """A value as it is written."""
        return self._values[key]

    def number(self, key: str) -> int:
        """A count."""
        return int(self._values[key])

    def bytes(self, key: str) -> int:
        """A size, such as `1KiB`, in bytes."""
        size = self._values[key]
        for unit, factor in (
            ("TiB", 1 << 40),
            ("GiB", 1 << 30),
            ("MiB", 1 << 20),
            ("KiB", 1 << 10),
            ("B", 1),
        ):
            if size.endswith(unit):
                return int(size.removesuffix(unit)) * factor
        raise ValueError(size)

    @property
    def cores(self) -> int:
        """Cores of the machine; each runs a thread."""
        return self.number("core.count")

    @property
    def channels(self) -> int:
        """Channels with PM; each has a controller's queues."""
        return self.number("pm.controllers") * self.number("pm.channels_per_controller")

    @property
    def banks(self) -> int:
        """Banks of PM."""
        return self.channels * self.number("pm.ranks") * self.number("pm.banks_per_rank")

    @property
    def cache_lines(self) -> int:
        """Lines of all caches."""
        per_core = self.bytes("shared.size_per_core")
        shared = per_core * self.cores if per_core else self.bytes("shared.size")
        private = self.bytes("l1.size") + self.bytes("l2.size")
        return (private * self.cores + shared) // _LINE


Structures = Sequence[Structure] | Unknown


def storage_of(configuration: Configuration) -> Structures:
    """The structures that a design adds to its machine; none if it is software alone.

    What two choices have in common is there once.
    """
    values = Values(configuration)
    found: list[Structure] = []
    for layer in _core.layer_names:
        for choice in values.text(layer).split(","):
            structures = STORAGE[layer, choice](values)
            if isinstance(structures, Unknown):
                return structures
            found += [structure for structure in structures if structure not in found]
    return found


def total_bytes(structures: Sequence[Structure]) -> float:
    """Bytes of all structures in the machine together."""
    return sum(structure.bytes * structure.count for structure in structures)


def _nothing(_: Values) -> Structures:
    return []


def _asap(value: Values) -> list[Structure]:
    regions, slots = value.number("asap.cl_entries"), value.number("asap.cl_slots")
    dependences, others = (
        value.number("asap.dependence_entries"), value.number("asap.dependence_slots"),
    )  # fmt: skip
    headers = value.number("asap.lh_wpq_entries")
    pointer, state, rid = 8, 2, 32
    tag = 1 + 1 + rid
    return [
        Structure(
            "CL List, a core",
            f"{regions} x ({slots} x {pointer} bit CLPtr + {state} bit state + {rid} bit RID)",
            regions * (slots * pointer + state + rid) / _BITS,
            value.cores,
            "6.2",
            printed=49,
        ),
        Structure(
            "Dependence List, a channel",
            f"{dependences} x ({others} x {rid} bit Dep + {state} bit state + {rid} bit RID)",
            dependences * (others * rid + state + rid) / _BITS,
            value.channels,
            "6.2",
        ),
        _header_queue("LH-WPQ, a channel", headers, value, "6.2"),
        Structure(
            "Bloom filter, a channel",
            value.text("asap.filter_size"),
            value.bytes("asap.filter_size"),
            value.channels,
            "5.3, Table 2",
        ),
        Structure(
            "thread state registers, a thread",
            f"6 x {_REGISTER} B",
            6 * _REGISTER,
            value.cores,
            "4.4, 6.2",
        ),
        Structure(
            "tag extension, a line of L1, L2 and L3",
            f"1 bit PBit + 1 bit LockBit + {rid} bit OwnerRID",
            tag / _BITS,
            value.cache_lines,
            "4.3, 4.6, 5.6",
        ),
    ]


def _header_queue(name: str, entries: int, value: Values, where: str) -> Structure:
    return Structure(
        name,
        f"{entries} x ({_ADDRESS} B LogHeaderAddr + {_LINE} B LogHeader)",
        entries * (_ADDRESS + _LINE),
        value.channels,
        where,
    )


def _hardware_log(value: Values) -> list[Structure]:
    """What a log that hardware writes takes, by its allocation and metadata."""
    found: list[Structure] = []
    # BLOM's headers stand in the write pending queues that the machine has.
    if value.text("log.metadata") == "collated-header" and value.number("log.header_entries"):
        entries = value.number("log.header_entries")
        found.append(_header_queue("log header queue, a channel", entries, value, "ASAP, 6.3"))
    if value.text("log.allocation") == "load-aware":
        return [*load_aware_log(value), *found]
    # Of a shared log or of each core's.
    logs = 1 if value.text("log.area") == "shared" else value.cores
    found.append(
        Structure(
            "registers of a sequential log",
            f"2 x {_REGISTER} B start and offset",
            2 * _REGISTER,
            logs,
            "ReDU: start and offset registers",
        )
    )
    return found


# III-A: "Assuming a row address and a column address have 16 and 10 bits respectively".
_ROW_AND_COLUMN_BITS = 16 + 10


def load_aware_log(value: Values) -> list[Structure]:
    """LALEA's structures."""
    entries, headers = value.number("log.free_entries"), value.number("log.free_headers")
    entry_bits = _ROW_AND_COLUMN_BITS - (_LINE.bit_length() - 1)
    header_bits = _ROW_AND_COLUMN_BITS - ((2 * _LINE).bit_length() - 1)
    return [
        Structure(
            "free-log-entry FIFO, a bank",
            f"{entries} x {entry_bits} bit",
            entries * entry_bits / _BITS,
            value.banks,
            "III-A",
            printed=2560,
        ),
        Structure(
            "free-header FIFO, a bank",
            f"{headers} x {header_bits} bit",
            headers * header_bits / _BITS,
            value.banks,
            "III-A",
            printed=2432,
            printed_if=entries * header_bits / _BITS,
        ),
        Structure("LR register, a core", "8 B", 8, value.cores, "III-A"),
        Structure("operation counter, a bank", "8 bit", 1, value.banks, "III-A"),
    ]


def _committed_region(value: Values) -> Structure:
    return Structure(
        "register of the last committed region, a core",
        f"{_REGISTER} B",
        _REGISTER,
        value.cores,
        "what survives a crash",
    )


def _hw_undo(value: Values) -> list[Structure]:
    return [_committed_region(value), *_hardware_log(value)]


def _hw_redo(value: Values) -> list[Structure]:
    lines = value.number("hw_redo.log_buffer_entries")
    return [
        Structure(
            "log buffer, a core",
            f"{lines} x ({_ADDRESS} B address + {_LINE} B line)",
            lines * (_ADDRESS + _LINE),
            value.cores,
            "ReDU: log buffer",
        ),
        Structure(
            "registers of the last regions committed and released, a core",
            f"2 x {_REGISTER} B",
            2 * _REGISTER,
            value.cores,
            "what survives a crash",
        ),
        *_hardware_log(value),
    ]


def _lad(value: Values) -> list[Structure]:
    l1_lines = value.bytes("l1.size") // _LINE
    return [
        Structure(
            "mark, a line of an L1",
            "1 bit",
            1 / _BITS,
            l1_lines * value.cores,
            "LAD: transactional lines of a private cache",
        ),
        Structure(
            "array of committed regions, a channel",
            f"{value.cores} cores x {_REGISTER} B",
            value.cores * _REGISTER,
            value.channels,
            "LAD: phase 2",
        ),
        *_hardware_log(value),
    ]


def _persist_buffer(entries: int, order: int, order_name: str, value: Values) -> Structure:
    mask, line = _LINE, _LINE * _BITS
    address = _ADDRESS * _BITS
    return Structure(
        "persist buffer, a core",
        f"{entries} x ({address} bit address + {line} bit data + {mask} bit mask + "
        f"{order} bit {order_name})",
        entries * (address + line + mask + order) / _BITS,
        value.cores,
        "PMEM-Spec, 2.2; entries as the model has them",
    )


def _dpo(value: Values) -> list[Structure]:
    number = 32
    return [
        _persist_buffer(
            value.number("dpo.buffer_entries"),
            value.cores * number,
            "entries of other cores",
            value,
        )
    ]


def _hops(value: Values) -> list[Structure]:
    stamp = 32
    return [
        _persist_buffer(
            value.number("hops.buffer_entries"), value.cores * stamp, "time stamps", value
        ),
        Structure(
            "time stamps, a core",
            f"{value.cores} x {stamp} bit",
            value.cores * stamp / _BITS,
            value.cores,
            "which epochs of others have persisted",
        ),
        Structure(
            "sticky bits",
            f"1 bit a line of the caches ({value.cache_lines})",
            value.cache_lines / _BITS,
            1,
            "PMEM-Spec, 3.1",
        ),
        Structure(
            "Bloom filter, a channel",
            value.text("hops.filter_size"),
            value.bytes("hops.filter_size"),
            value.channels,
            "PMEM-Spec, 5.1.1",
        ),
    ]


def _pmem_spec(value: Values) -> list[Structure]:
    entries = value.number("pmem_spec.buffer_entries")
    address, state, number, inserted = 64, 2, value.number("pmem_spec.id_bits"), 30
    return [
        Structure(
            "speculation buffer, a channel",
            f"{entries} x ({address} bit address + {state} bit state + {number} bit ID + "
            f"{inserted} bit inserted)",
            entries * (address + state + number + inserted) / _BITS,
            value.channels,
            "8.1",
            printed=64,
        ),
        Structure(
            "speculation ID register, a core",
            f"{number} bit",
            number / _BITS,
            value.cores,
            "5.2.2",
        ),
    ]


def _metadata_cache(name: str, key: str, value: Values) -> Structure:
    size = value.bytes(f"{key}.size_per_core")
    return Structure(f"{name}, shared, for each core", f"{size} B", size, value.cores, "Table 3")


def _register(name: str) -> Structure:
    return Structure(f"{name}, a persistent register", f"{_REGISTER} B", _REGISTER, 1, "4.2")


def _entries(value: Values) -> list[Structure]:
    return [_metadata_cache("counter cache", "counter_cache", value), _register("counter")]


def _encryption(value: Values) -> list[Structure]:
    return _entries(value)


def _integrity(value: Values) -> list[Structure]:
    return [
        *_entries(value),
        _metadata_cache("Merkle tree cache", "integrity.cache", value),
        _register("root of the tree"),
    ]


def _deduplication(value: Values) -> list[Structure]:
    return [*_entries(value), _metadata_cache("fingerprint cache", "deduplication.cache", value)]


def _wear_leveling(_: Values) -> Structures:
    return Unknown(
        "Start and Gap are two registers for each region of PM, whose size no machine has"
    )


def _oram(_: Values) -> Structures:
    return Unknown("ORAM's stash and position map aren't modelled, only its time and traffic")


def janus(value: Values) -> Structures:
    """The queues and the buffer of Janus."""
    scale = value.number("janus.scale")
    if scale == 0:
        return Unknown("janus.scale=0 has as many entries as are wanted")
    request, operation, result = 119 / _BITS, 103 / _BITS, 148

    def queue(
        name: str, key: str, size: float, formula: str, printed: float | None = None
    ) -> Structure:
        count = value.number(key) * scale
        return Structure(
            f"{name}, shared, for each core",
            f"{count} x {formula}",
            count * size,
            value.cores,
            "4.3, 5.2.7",
            printed,
        )

    return [
        queue("request queue", "janus.request_entries", request, "119 bit"),
        queue("operation queue", "janus.operation_entries", operation, "103 bit"),
        queue("intermediate result buffer", "janus.result_entries", result, "148 B", 9472),
    ]


def pmweaver(value: Values) -> Structures:
    """Table I; the paper prints sizes of structures, from which those of entries follow."""

    def structure(
        name: str, key: str, bits: float, formula: str, printed: float, where: str = "Table I"
    ) -> Structure:
        entries = value.number(key)
        return Structure(
            f"{name}, each core",
            f"{entries} x {formula}",
            entries * bits / _BITS,
            value.cores,
            where,
            printed,
        )

    results = value.number("pmweaver.result_lines") * value.number("pmweaver.results_a_line")
    entries = value.number("pmweaver.table_entries")
    alternatives = {
        "pmweaver.next_pointers": Structure(
            "next pointers of patterns, each core",
            f"{entries} x 4 bit",
            entries * 4 / _BITS,
            value.cores,
            "VII; a word of a line, or none",
        ),
        "pmweaver.value_deltas": Structure(
            "last writes of patterns and differences, each core",
            f"{entries} x (2 x (64 bit address + 64 B line) + 17 bit)",
            entries * (2 * (64 + 64 * _BITS) + 17) / _BITS,
            value.cores,
            "VII; as the model has them",
        ),
    }
    return [
        structure("PC path", "pmweaver.path_length", 64, "64 bit", 256, "V-A1, VI-B9"),
        structure("store history buffer", "pmweaver.history_entries", 140, "140 bit", 8960),
        structure("prediction table", "pmweaver.table_entries", 18 * 64, "18 x 64 bit", 4608),
        structure("timeout predictor table", "pmweaver.timeout_entries", 68, "68 bit", 34),
        structure("index generator", "pmweaver.index_entries", 70, "70 bit", 1126),
        structure("pending predictions", "pmweaver.pending_entries", 73 * _BITS, "73 B", 584),
        Structure(
            "prediction result buffer, shared, for each core",
            f"{results} x 152 B",
            results * 152,
            value.cores,
            "Table I",
            38912,
        ),
        *(structure for key, structure in alternatives.items() if value.text(key) == "true"),
    ]


STORAGE: dict[tuple[str, str], Callable[[Values], Structures]] = {
    ("ordering", "none"): _nothing,
    ("ordering", "x86"): _nothing,
    ("ordering", "free"): _nothing,
    # What it adds is energy: a battery that empties the caches.
    ("ordering", "eadr"): _nothing,
    ("ordering", "dpo"): _dpo,
    ("ordering", "hops"): _hops,
    ("ordering", "pmem-spec"): _pmem_spec,
    ("atomicity", "none"): _nothing,
    ("atomicity", "software-undo"): _nothing,
    ("atomicity", "software-redo"): _nothing,
    ("atomicity", "hw-undo"): _hw_undo,
    ("atomicity", "hw-redo"): _hw_redo,
    ("atomicity", "asap"): _asap,
    ("atomicity", "lad"): _lad,
    ("backend", "none"): _nothing,
    ("backend", "encryption"): _encryption,
    ("backend", "integrity"): _integrity,
    ("backend", "deduplication"): _deduplication,
    # They compute; what they keep is beside the lines, in PM.
    ("backend", "compression"): _nothing,
    ("backend", "error-correction"): _nothing,
    ("backend", "wear-leveling"): _wear_leveling,
    ("backend", "oram"): _oram,
    ("precompute", "none"): _nothing,
    ("precompute", "janus"): janus,
    ("precompute", "pmweaver"): pmweaver,
}
"""What each choice of a layer adds; every choice has a row."""
