"""Measure the effect of granting locks in simulated order instead of recorded order.

    .venv/bin/python benchmarks/lock_order.py [WORKLOAD...]

Runs each workload in the recorded and in the simulated order of its locks, on machine asap, and
compares the throughput and the share of the cores' time that is spent waiting for locks.
"""

from __future__ import annotations

import pmemsim
from command_line import chosen_workloads
from pmemsim.targets import find_target

THREADS = (4, 8)
DESIGNS = ("np", "sw-undo")


def lock_share(result: pmemsim.Result) -> float:
    """Return the share of the cores' time that is spent waiting for locks."""
    return result.stats["stall.lock_ns"] / result.stats["stall.total_ns"]


def main() -> None:
    """Print the table."""
    workloads = chosen_workloads(__doc__)
    print(f"{'workload':11} {'threads':>7} {'design':8} {'throughput':>10}  waiting for locks")
    for workload in workloads:
        for threads in THREADS:
            trace = find_target(workload, threads=threads).trace()
            for design in DESIGNS:
                recorded, simulated = (
                    pmemsim.run(
                        trace, design=design, machine="asap", overrides={"run.lock_order": order}
                    )
                    for order in ("recorded", "simulated")
                )
                change = simulated.regions_per_s / recorded.regions_per_s - 1
                print(
                    f"{workload:11} {threads:7} {design:8} {change:+10.1%}  "
                    f"{lock_share(recorded):.1%} -> {lock_share(simulated):.1%}"
                )


if __name__ == "__main__":
    main()
