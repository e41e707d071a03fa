"""Records PMWeaver's five maps as they are in PMDK: data_store, a transaction for each insertion.

    .venv/bin/python benchmarks/pmdk_maps.py SOURCE [FOLDER]

SOURCE is PMDK's source tree, of which a copy is built: the library at -O2, as it builds itself, the
example at -O0. FOLDER (the working directory) gets the recordings. Prints how often address, data
and both of a write-back stand in earlier stores, and both without the line's own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pmemsim.predictability import ALL_STORES, SHARES, WITHOUT_OWN_STORES, predictability
from pmemsim.toolchain import compiler

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
        for name in MAPS:
            recording = (arguments.folder / f"pmdk_{name}.pmt").resolve()
            record(tree, name, recording, environment)
            found = predictability(Trace(recording)).total
            shares = [found.share(ALL_STORES, what) for what in SHARES[:3]]
            shares.append(found.share(WITHOUT_OWN_STORES, SHARES[2]))
            print(f"{name}: {found.write_backs} write-backs", *(f"{x:.1%}" for x in shares))


if __name__ == "__main__":
    main()
