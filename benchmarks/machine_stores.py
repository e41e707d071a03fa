"""Measure how many of the stores that a program's machine code executes are in its recording.

    .venv/bin/python benchmarks/machine_stores.py [WORKLOAD...]

Builds each workload without pre-execution hints, with a library at -O0 and at -O2, both for
recording and without, records the one and steps through the other's measured part (ptrace). Then it
looks for the address and the data of each write-back in earlier stores (PMWeaver, figure 10), in
those recorded and in those executed: the shares that it prints are of write-backs with address,
data, both, and both without the line's own stores.

Stores are counted in pieces of up to 8 bytes. Copies are apart, since the C library does many of
them in its own way.
"""

from __future__ import annotations

import itertools
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from command_line import chosen_workloads
from disassembly import Instruction, disassemble
from native_builds import build_native, need
from pmemsim.targets import find_target
from pmemsim.trace import KINDS, Trace
from stepping import Stepped

WORKLOADS = ("queue_lowlevel", "array_swap_lowlevel", "hashmap")
LEVELS = ("O0", "O0+O2")
REGIONS = 60
ITEMS = 500
LINE_BYTES = 64
POOL = range(0x200000000000, 0x210000000000)
"""Where pm.h maps the first pool."""
RECORDED = {
    KINDS.index("store"): "store",
    KINDS.index("atomic_store"): "store",
    KINDS.index("copy_store"): "copy",
    KINDS.index("flush"): "flush",
}


@dataclass(frozen=True)
class Event:
    """A store, or the flush of a line."""

    kind: str
    """store, copy, push, call, flush; library: a store of the C library's."""
    address: int
    value: bytes = b""
    place: int = 0
    """Address of the instruction, if it was executed."""


def recorded_events(trace: Trace) -> Iterator[Event]:
    """Yield the events of a recording's only thread."""
    for chunk in trace.operations(0):
        for index, record in enumerate(chunk.records):
            if kind := RECORDED.get(int(record["kind"])):
                yield Event(kind, int(record["address"]), chunk.value(index))


def executed_events(program: Path, arguments: list[str]) -> Iterator[Event]:
    """Yield the events of the machine code, from pm_roi_begin to pm_roi_end."""
    symbols = subprocess.run(
        [need("nm", "binutils"), program], capture_output=True, text=True, check=True
    ).stdout
    places = {line.split()[-1]: line.split()[0] for line in symbols.splitlines()}
    own = disassemble(program)
    with Stepped([str(program), *arguments]) as stepped:
        stepped.go_to(int(places["pm_roi_begin"], 16))
        library = disassemble(*stepped.c_library())
        waiting: tuple[str, int, int, int] | None = None
        for place in stepped.steps_to(int(places["pm_roi_end"], 16)):
            if waiting is not None:
                kind, address, size, store = waiting
                yield Event(kind, address, stepped.read(address, size), store)
            waiting = None
            instruction = own.get(place) or library.get(place)
            if instruction is None:
                continue
            address = instruction.address(stepped.registers)
            if instruction.kind == "flush":
                yield Event("flush", address)
            else:
                waiting = _kind(instruction, place in own), address, instruction.size, place


def _kind(instruction: Instruction, own: bool) -> str:
    if not own:
        return "library"
    return "copy" if instruction.size > 8 else instruction.kind


def pieces(events: Iterable[Event]) -> Counter[str]:
    """Count, by kind of store, the segments of up to 8 bytes."""
    counts: Counter[str] = Counter()
    for event in events:
        if event.kind != "flush":
            counts[event.kind] += -(-len(event.value) // 8)
    return counts


@dataclass
class Found:
    """Numbers of write-backs, and of those whose address, data or both are in earlier stores.

    `without_own` counts write-backs with both in earlier stores other than the line's own since its
    last write-back.
    """

    write_backs: int = 0
    address: int = 0
    data: int = 0
    both: int = 0
    without_own: int = 0

    @property
    def shares(self) -> list[float]:
        """Return the shares of the write-backs."""
        found = (self.address, self.data, self.both, self.without_own)
        return [count / self.write_backs for count in found]


@dataclass
class IdealPredictor:
    """A history of all stores: an independent implementation of src/pmemsim/analysis."""

    found: Found = field(default_factory=Found)
    _chunks: defaultdict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list))
    _lines: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _memory: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    _written: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _own: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def see(self, number: int, event: Event) -> None:
        """Add the next event."""
        if event.kind == "flush":
            self._write_back(event.address // LINE_BYTES)
            return
        value = event.value
        for at in range(0, len(value) - 3, 4):
            self._chunks[value[at : at + 4]].append(number)
        for at in range(0, len(value) - 7, 8):
            word = int.from_bytes(value[at : at + 8], "little")
            if word in POOL:
                self._lines[word // LINE_BYTES].append(number)
        if event.address not in POOL:
            return
        for at, byte in enumerate(value, event.address):
            self._memory[at] = byte
        for chunk in range(event.address & ~3, event.address + len(value), 4):
            self._written[chunk // LINE_BYTES].add(chunk)
            self._own[chunk // LINE_BYTES].add(number)

    def _write_back(self, line: int) -> None:
        chunks, own = self._written.pop(line, set()), self._own.pop(line, set())
        if not chunks:
            return
        stores = [
            self._chunks.get(bytes(self._memory[chunk + byte] for byte in range(4)), [])
            for chunk in chunks
        ]
        places = self._lines.get(line, [])
        self.found.write_backs += 1
        self.found.address += bool(places)
        self.found.data += all(stores)
        self.found.both += bool(places) and all(stores)
        self.found.without_own += all(_others(each, own) for each in (places, *stores))


def _others(stores: list[int], own: set[int]) -> bool:
    """Return whether an earlier store is not among the line's own stores."""
    return any(store not in own for store in stores)


def ideal(events: Iterable[Event]) -> Found:
    """Return the results of the ideal predictor."""
    predictor = IdealPredictor()
    for number, event in enumerate(events):
        predictor.see(number, event)
    return predictor.found


@dataclass(frozen=True)
class Compared:
    """Results of a workload's recording and of its native execution."""

    recorded: list[Event]
    executed: list[Event]

    @property
    def ratio(self) -> float:
        """Return recorded stores over the stores that the program's own code has executed."""
        executed = pieces(self.executed)
        own = executed["store"] + executed["push"] + executed["call"]
        return pieces(self.recorded)["store"] / own


def compare(workload: str, opt: str, regions: int = REGIONS) -> Compared:
    """Record a workload, and step through it."""
    size = {"items": ITEMS, "regions": regions, "threads": 1, "seed": 1}
    trace = find_target(workload, opt=opt, hints="none", **size).trace()
    program = build_native(workload, opt, options=("-no-pie", "-DWORKLOAD_WITHOUT_HINTS"))
    arguments = [f"--{name}={value}" for name, value in size.items()]
    return Compared(list(recorded_events(trace)), list(executed_events(program, arguments)))


def main() -> None:
    """Print a paragraph for each."""
    for workload, opt in itertools.product(chosen_workloads(__doc__, WORKLOADS), LEVELS):
        compared = compare(workload, opt)
        print(f"{workload} {opt}: {compared.ratio:.3f} of the stores are recorded")
        for name, events in (("recorded", compared.recorded), ("executed", compared.executed)):
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(pieces(events).items()))
            found = ideal(events)
            shares = " ".join(f"{share:.1%}" for share in found.shares)
            print(f"  {name}: {counts}; of {found.write_backs} write-backs {shares}")


if __name__ == "__main__":
    main()
