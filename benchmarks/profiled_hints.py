"""Measure the gain from hints that a profile of the program places.

    .venv/bin/python benchmarks/profiled_hints.py [WORKLOAD...]

Records each workload without hints, and finds with `pmemsim lint-hints` the source lines where
hints save most. It records the workload again with another seed and hints at these lines. It prints
Janus's speedup over the serialized backend, beside the speedups with the compiler's hints and with
those of the workloads' sources.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from command_line import chosen_workloads
from pmemsim.lint_hints import lint
from pmemsim.recording import record_workload
from pmemsim.simulation import configure, simulate
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun, find_workload

WORKLOADS = ("array_swap", "queue", "hashmap", "rbtree", "btree", "tatp", "tpcc")
"""Janus, Table 4."""
MACHINE = "janus"
ONE_CORE = {"core.count": "1"}
REGIONS, WARM_UP = 600, 1000
PROFILED, MEASURED = 1, 2
"""Seeds."""


def recorded(name: str, hints: str, seed: int) -> Trace:
    """Return a recording of one thread, as Janus's programs are."""
    mix = "insert" if "insert" in find_workload(name).mixes else None
    return record_workload(
        WorkloadRun.of(
            name, threads=1, regions=REGIONS, warm_up=WARM_UP, seed=seed, mix=mix, hints=hints
        )
    )


def main() -> None:
    """Profile, hint and measure."""
    print(f"{'workload':12} {'by hand':>8} {'compiler':>9} {'profile':>8}  lines hinted at")
    janus, serialized = (configure(design, MACHINE, ONE_CORE) for design in ("janus", "serialized"))
    for name in chosen_workloads(__doc__, WORKLOADS):
        lines = lint(recorded(name, "none", PROFILED), janus).profile
        with tempfile.TemporaryDirectory() as folder:
            profile = Path(folder) / "profile.txt"
            profile.write_text("".join(f"{line}\n" for line in lines))
            traces = [recorded(name, h, MEASURED) for h in ("manual", "auto", str(profile))]
        baseline = simulate(recorded(name, "none", MEASURED), serialized).time_ns
        hand, compiler, profiled = (baseline / simulate(t, janus).time_ns for t in traces)
        print(f"{name:12} {hand:8.2f} {compiler:9.2f} {profiled:8.2f}  {len(lines)}", flush=True)


if __name__ == "__main__":
    main()
