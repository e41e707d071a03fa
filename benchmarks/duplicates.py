"""How many of the lines that the workloads write are duplicates.

    .venv/bin/python benchmarks/duplicates.py [WORKLOAD...]

Runs each workload with several values of --duplicate-ratio and looks at the lines that its own
stores went to, not those of the software log: such a line is a duplicate if another one ends up
with the same contents.
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
REGIONS = 2000
LINE_BYTES = 64
STORES = [
    number
    for number, kind in enumerate(KINDS)
    if kind in ("store", "non_temporal", "atomic_store", "atomic_update", "copy_store")
]
PROGRAM = PURPOSES.index("program")


def written_lines(trace: Trace, memory: range) -> npt.NDArray[Any]:
    """Numbers of the different lines in `memory`, from 0, that the program's own stores wrote."""
    found = []
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            records = chunk.records
            chosen = np.isin(records["kind"], STORES) & (records["purpose"] == PROGRAM)
            chosen &= (records["address"] >= memory.start) & (records["address"] < memory.stop)
            first = records["address"][chosen] - memory.start
            last = first + records["size"][chosen] - 1
            found += [first // LINE_BYTES, last // LINE_BYTES]
    return np.unique(np.concatenate(found))


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


def main() -> None:
    """Print the table."""
    every = [name for name, known in workloads().items() if "duplicate_ratio" in known.arguments]
    print(f"{'--duplicate-ratio':18}", *(f"{ratio:6}" for ratio in RATIOS))
    for workload in chosen_workloads(__doc__, every):
        shares = [measure(workload, ratio) for ratio in RATIOS]
        print(f"{workload:18}", *(f"{share:6.1%}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
