"""How many of the lines that the workloads write are duplicates.

    .venv/bin/python benchmarks/duplicates.py [WORKLOAD...]

Runs each workload with several values of --duplicate-ratio, and looks at it in two ways:

- The lines that its own stores went to, not those of the software log: such a line is a duplicate
  if another one ends up with the same contents.
- Every line that one thread writes back, those of the log too: it is a duplicate if its contents
  stand in PM already, as a controller that deduplicates would find.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from command_line import chosen_workloads
from pmemsim.targets import find_target
from pmemsim.workloads import workloads

import pmemsim
from pmemsim.trace import KINDS, PURPOSES, Trace

RATIOS = (0.0, 0.5, 1.0)
REGIONS, REGIONS_OF_ONE_THREAD = 2000, 1000
LINE_BYTES = 64
STORES = [
    number
    for number, kind in enumerate(KINDS)
    if kind in ("store", "non_temporal", "atomic_store", "atomic_update", "copy_store")
]
PROGRAM = PURPOSES.index("program")
FLUSH = KINDS.index("flush")


def written_ranges(trace: Trace, memory: range) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Where in `memory` the program's own stores begin, counted from 0, and their last bytes."""
    first, last = [], []
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            records = chunk.records
            chosen = np.isin(records["kind"], STORES) & (records["purpose"] == PROGRAM)
            chosen &= (records["address"] >= memory.start) & (records["address"] < memory.stop)
            first.append(records["address"][chosen] - memory.start)
            last.append(first[-1] + records["size"][chosen] - 1)
    return np.concatenate(first), np.concatenate(last)


def written_lines(trace: Trace, memory: range) -> npt.NDArray[Any]:
    """Numbers of the different lines in `memory`, from 0, that the program's own stores wrote."""
    return np.unique(np.concatenate(written_ranges(trace, memory)) // LINE_BYTES)


def duplicate_share(trace: Trace, image: Path) -> float:
    """Share of the written lines that end up, in a pool's image, with another one's contents."""
    pool = image.read_bytes()
    base = int.from_bytes(pool[16:24], "little")
    offsets = [
        int(line) * LINE_BYTES for line in written_lines(trace, range(base, base + len(pool)))
    ]
    contents = [pool[offset : offset + LINE_BYTES] for offset in offsets]
    count = Counter(contents)
    return sum(count[content] > 1 for content in contents) / len(contents)


def measure(workload: str, ratio: float, regions: int = REGIONS) -> float:
    """Record and run a workload, and return its share of duplicates."""
    trace = find_target(workload, duplicate_ratio=ratio, regions=regions).trace()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
        return duplicate_share(trace, image)


def duplicate_write_share(trace: Trace, image: Path) -> float:
    """Share of one thread's write-backs whose contents another line, or this one, has in PM.

    `image` holds what there was before.
    """
    written, durable = bytearray(image.read_bytes()), bytearray(image.read_bytes())
    base = int.from_bytes(durable[16:24], "little")
    lines = Counter(
        bytes(durable[at : at + LINE_BYTES]) for at in range(0, len(durable), LINE_BYTES)
    )
    writes = duplicates = 0
    for chunk in trace.operations(0):
        in_pool = (chunk.records["address"] >= base) & (
            chunk.records["address"] < base + len(durable)
        )
        chosen = in_pool & np.isin(chunk.records["kind"], [*STORES, FLUSH])
        for index in np.flatnonzero(chosen):
            record = chunk.records[index]
            at = int(record["address"]) - base
            if record["kind"] != FLUSH:
                value = chunk.value(int(index))
                written[at : at + len(value)] = value
                continue
            line = slice(at - at % LINE_BYTES, at - at % LINE_BYTES + LINE_BYTES)
            contents = bytes(written[line])
            writes += 1
            duplicates += lines[contents] > 0
            lines[bytes(durable[line])] -= 1
            lines[contents] += 1
            durable[line] = contents
    return duplicates / writes


def measure_writes(workload: str, ratio: float, regions: int = REGIONS_OF_ONE_THREAD) -> float:
    """Record a workload on one thread, and return its share of duplicate write-backs."""
    trace = find_target(workload, threads=1, duplicate_ratio=ratio, regions=regions).trace()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        # Without flushes so few regions stay in the caches, so PM keeps the state of the set-up.
        pmemsim.run(trace, design="np", machine="asap", image=image)
        return duplicate_write_share(trace, image)


def main() -> None:
    """Print the table."""
    print(f"{'':20} {'lines of data':20}  all write-backs")
    print(f"{'--duplicate-ratio':20}", *(f"{ratio:6}" for ratio in 2 * RATIOS))
    for workload in chosen_workloads(__doc__, list(workloads())):
        shares = [share(workload, ratio) for share in (measure, measure_writes) for ratio in RATIOS]
        print(f"{workload:20}", *(f"{share:6.1%}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
