"""Measure how many of the lines that the workloads write are duplicates.

    .venv/bin/python benchmarks/duplicates.py [WORKLOAD...]

Runs each workload with several values of --duplicate-ratio, and counts duplicates in two ways:

- Lines that the workload's own stores write, without lines of the software log. Such a line is a
  duplicate if another line has the same contents at the end.
- Lines that one thread writes back, including lines of the log. Such a line is a duplicate if PM
  already has its contents; a controller that deduplicates would find the copy.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import pmemsim
from command_line import chosen_workloads
from pmemsim.targets import find_target
from pmemsim.trace import KINDS, PURPOSES, Trace
from pmemsim.workload_runs import workloads

RATIOS = (0.0, 0.5, 1.0)
REGIONS = 1000
LINE_BYTES = 64
STORES = [
    number
    for number, kind in enumerate(KINDS)
    if kind in ("store", "non_temporal", "atomic_store", "atomic_update", "copy_store")
]
PROGRAM = PURPOSES.index("program")
FLUSH = KINDS.index("flush")


def with_duplicates() -> list[str]:
    """The workloads whose data size can be chosen."""
    return [name for name, work in workloads().items() if "duplicate_ratio" in work.arguments]


def written_ranges(trace: Trace, memory: range) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return offsets in `memory` of the first and last bytes of the program's own stores."""
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
    """Return the numbers, from 0, of the lines of `memory` that the program's own stores wrote."""
    return np.unique(np.concatenate(written_ranges(trace, memory)) // LINE_BYTES)


def pool_lines(image: Path) -> npt.NDArray[np.uint8]:
    """Return the lines of a pool's image, as a private mapping since the file is mostly holes."""
    return np.asarray(np.memmap(image, np.uint8, mode="c")).reshape(-1, LINE_BYTES)


def base_address(pool: npt.NDArray[np.uint8]) -> int:
    """Return the addresses at which the program mapped the pool."""
    return int.from_bytes(pool[0, 16:24].tobytes(), "little")


def duplicate_share(trace: Trace, image: Path) -> float:
    """Return the share of written lines whose final contents equal those of another line."""
    pool = pool_lines(image)
    base = base_address(pool)
    lines = written_lines(trace, range(base, base + pool.size))
    count = Counter(line.tobytes() for line in pool[lines])
    return sum(number for number in count.values() if number > 1) / len(lines)


def measure(workload: str, ratio: float, regions: int = REGIONS) -> float:
    """Record and run a workload, and return its share of duplicates."""
    trace = find_target(workload, duplicate_ratio=ratio, regions=regions).trace()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
        return duplicate_share(trace, image)


def duplicate_write_share(trace: Trace, image: Path) -> float:
    """Return the share of a thread's write-backs whose contents are already in some line of PM.

    `image` holds the contents before the recording.
    """
    written, durable = (pool_lines(image) for _ in range(2))
    base = base_address(durable)
    used = durable[durable.any(axis=1)]
    lines = Counter(line.tobytes() for line in used)
    lines[bytes(LINE_BYTES)] = len(durable) - len(used)
    written_bytes = written.reshape(-1)
    writes = duplicates = 0
    for chunk in trace.operations(0):
        in_pool = (chunk.records["address"] >= base) & (
            chunk.records["address"] < base + durable.size
        )
        chosen = in_pool & np.isin(chunk.records["kind"], [*STORES, FLUSH])
        for index in np.flatnonzero(chosen):
            record = chunk.records[index]
            at = int(record["address"]) - base
            if record["kind"] != FLUSH:
                value = chunk.value(int(index))
                written_bytes[at : at + len(value)] = np.frombuffer(value, np.uint8)
                continue
            line = at // LINE_BYTES
            contents = written[line].tobytes()
            writes += 1
            duplicates += lines[contents] > 0
            lines[durable[line].tobytes()] -= 1
            lines[contents] += 1
            durable[line] = written[line]
    return duplicates / writes


def measure_writes(workload: str, ratio: float) -> float:
    """Record a workload on one thread, and return its share of duplicate write-backs."""
    trace = find_target(workload, threads=1, duplicate_ratio=ratio, regions=REGIONS).trace()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        # Without flushes, the data of few regions stay in the caches: PM keeps the state of the
        # set-up.
        pmemsim.run(trace, design="np", machine="asap", image=image)
        return duplicate_write_share(trace, image)


def main() -> None:
    """Print the table."""
    print(f"{'':20} {'lines of data':20}  all write-backs")
    print(f"{'--duplicate-ratio':20}", *(f"{ratio:6}" for ratio in 2 * RATIOS))
    for workload in chosen_workloads(__doc__, with_duplicates()):
        shares = [share(workload, ratio) for share in (measure, measure_writes) for ratio in RATIOS]
        print(f"{workload:20}", *(f"{share:6.1%}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
