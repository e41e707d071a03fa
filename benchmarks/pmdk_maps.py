"""Records PMWeaver's five maps as they are in PMDK: data_store, a transaction for each insertion.

    .venv/bin/python benchmarks/pmdk_maps.py SOURCE [FOLDER]

SOURCE is PMDK's source tree, of which a copy is built: the library at -O2, as it builds itself, the
example at -O0. FOLDER (the working directory) gets the recordings. Prints how often address, data
and both of a write-back stand in earlier stores, and both without the line's own; and what becomes
of them on PMWeaver's machine: slowdown by operations and speedup by prediction, how much of the
writes is predicted, how long before, and what that leaves of the operations' latency.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from pmemsim.jobs import Outcome
from pmemsim.predictability import ALL_STORES, SHARES, WITHOUT_OWN_STORES, predictability
from pmemsim.reproduce.metrics import METRICS
from pmemsim.toolchain import compiler

import pmemsim
from pmemsim.trace import Trace

MAPS = ("btree", "ctree", "rbtree", "skiplist", "hashmap_tx")
INSERTIONS = 512
PMEMSIM = str(Path(sys.executable).with_name("pmemsim"))
EXAMPLE = Path("src/examples/libpmemobj/map")
SETTINGS = {
    "NDCTL_ENABLE": "n",
    "PMEMOBJ_IGNORE_DIRTY_SHUTDOWN": "y",
    "PMEMOBJ_IGNORE_BAD_BLOCKS": "y",
    "EXTRA_CFLAGS": "-Wno-error",
    "LD_LIBRARY_PATH": "src/nondebug",
    "PMEM_IS_PMEM_FORCE": "1",
}
CHANGES = (
    (r"\A", "#include <pmemsim/pm.h>\n"),
    (r"#define MAX_INSERTS \d+", f"#define MAX_INSERTS {INSERTIONS}"),
    (r"srand\(\(unsigned\)time\(NULL\)\)", "srand(0)"),
    # A transaction for all insertions becomes one for each; what comes behind them isn't recorded.
    (
        r"TX_BEGIN\(mapc->pop\) \{\s*(map_create\(.*?;)\s*/\*.*?\*/\s*(for \(.*?\))\n",
        r"\1 pm_roi_begin(); \2 TX_BEGIN(mapc->pop) {\n",
    ),
    (r"return aborted;", "pm_roi_end(); exit(aborted);"),
)
"""What is to be replaced in data_store.c, and by what."""


def change(text: str) -> str:
    """Make the example insert only."""
    for pattern, replacement in CHANGES:
        text, count = re.subn(pattern, replacement, text, count=1, flags=re.DOTALL)
        if count == 0:
            raise SystemExit(f"data_store.c is another version's: it has no {pattern}")
    return text


def build(tree: Path, environment: dict[str, str]) -> None:
    """Compile library and example for recording."""
    source = tree / EXAMPLE / "data_store.c"
    source.write_text(change(source.read_text()))
    for folder, *more in (
        ("src/libpmem",),
        ("src/libpmemobj",),
        (str(EXAMPLE), f"LIBDIR={tree / 'src/nondebug'}", "data_store"),
    ):
        subprocess.run(
            ["make", "-C", folder, *more],
            cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip


def record(tree: Path, name: str, recording: Path, environment: dict[str, str]) -> None:
    """Record one map."""
    pools = tree / "pools"
    pools.mkdir(exist_ok=True)
    program = [str(EXAMPLE / "data_store"), name, str(pools / name), str(INSERTIONS)]
    subprocess.run(
        [PMEMSIM, "record", "-o", str(recording), "--pm-path", str(pools), "--", *program],
        cwd=tree, env=environment, check=True,
    )  # fmt: skip


def found_in_stores(recording: Path) -> dict[str, float]:
    """What figure 10 would have of it."""
    found = predictability(Trace(recording)).total
    return {
        "write-backs": found.write_backs,
        **{what: found.share(ALL_STORES, what) for what in SHARES[:3]},
        "both, without own": found.share(WITHOUT_OWN_STORES, SHARES[2]),
    }


def simulated(recording: Path) -> dict[str, float]:
    """What figures 1, 18, 21, 23 and 24 would have of it."""
    original = run(recording, "sw-undo")
    found: dict[str, float] = {}
    for backend in ("enc+veri", "dedup"):
        without = run(recording, f"sw-undo@{backend}")
        predicted = run(recording, f"sw-undo@{backend}-pmweaver")
        found |= {
            f"{backend}: instructions a write": without.instructions / without.stats["pm.writes"],
            f"{backend}: slowdown": without.time_ns / original.time_ns,
            f"{backend}: speedup": without.time_ns / predicted.time_ns,
            f"{backend}: address": measured("address_right", predicted),
            f"{backend}: both": measured("both_right", predicted),
            f"{backend}: lead (ns)": measured("lead", predicted),
            f"{backend}: latency": measured("support_latency", without)
            / measured("support_latency", predicted),
        }
    return found


def run(recording: Path, design: str) -> Outcome:
    """Simulate a recording on PMWeaver's machine, as `pmemsim reproduce pmweaver` does."""
    settings = {"core.count": 1, "backend.miss_latency": "40ns"}
    return Outcome.of(pmemsim.run(recording, design=design, machine="pmweaver", overrides=settings))


def measured(metric: str, of: Outcome) -> float:
    """A metric of the figures; NaN where a run has none."""
    value = METRICS[metric].of(of)
    return math.nan if value is None else value


def main() -> None:
    """Build, record and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, metavar="SOURCE")
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path())
    arguments = parser.parse_args()
    cc = compiler("pmemsim-cc")
    path = os.pathsep.join((str(cc.parent), os.environ["PATH"]))
    environment = {**os.environ, **SETTINGS, "CC": str(cc), "PATH": path}
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "pmdk"
        shutil.copytree(arguments.source, tree, symlinks=True)
        build(tree, environment)
        rows = {}
        for name in MAPS:
            recording = (arguments.folder / f"pmdk_{name}.pmt").resolve()
            record(tree, name, recording, environment)
            rows[name] = found_in_stores(recording) | simulated(recording)
    print(pd.DataFrame(rows).to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
