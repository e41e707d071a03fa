"""The programs of tests/corpus, each compiled and recorded once for all tests."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from shared import locked
from support import long_except, pmemsim

FOLDER = Path(__file__).parents[1] / "corpus"
CASES = yaml.safe_load((FOLDER / "corpus.yaml").read_text())
# One program of each kind: order, flushes, non-temporal stores, recovery, tearing.
NAMES = long_except(
    CASES, "flag_before_data", "node_never_flushed", "nt_without_fence",
    "recovery_not_idempotent", "torn_pair",
)  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """A case: the program, which is its own checker, and its recording on a fresh pool."""

    program: Path
    trace: Path


def recorded(name: str, shared_folder: Path, *, fixed: bool) -> Recorded:
    """Return a case, or its corrected twin."""
    folder = shared_folder / "corpus" / ("fixed" if fixed else "bug") / name
    folder.mkdir(parents=True, exist_ok=True)
    case = Recorded(folder / name, folder / "recorded.pmt")
    with locked(folder):
        if not case.trace.exists():
            build(case.program, FOLDER / f"{name}.c", *(["-DFIXED"] if fixed else []))
            record(case.program, case.trace)
    return case


def record(program: Path, trace: Path, *options: str) -> None:
    """Record a case, each time on a fresh pool."""
    pool = trace.parent / "pm" / "pool"
    pool.parent.mkdir()
    done = pmemsim(
        "record", "-o", trace, "--pm-path", pool.parent, *options, "--", program, "run", pool
    )
    assert done.returncode == 0, done.stderr


def build(program: Path, source: Path, *options: str) -> None:
    """Compile a case."""
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-O1", "-g", "-pthread", *options, source, "-o", program], check=True)
