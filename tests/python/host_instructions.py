"""Host instructions of three fixed simulations, for each release.

`make update-pins` writes those of this version into benchmarks/results/host_instructions.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from pins.configurations import FOLDER
from pmemsim.host_counters import callgrind_instructions
from pmemsim.installation import version
from pmemsim.simulation import configure

FILE = Path(__file__).parents[2] / "benchmarks" / "results" / "host_instructions.json"
RUNS = (("one_thread", "sw-undo"), ("one_thread", "np"), ("four_threads", "asap"))
"""Committed recordings, and designs on machine `asap`."""

Counts = dict[str, float]


def name(recording: str, design: str) -> str:
    """Return the name of a run in the file."""
    return f"{recording} on {design}"


def measured(recording: str, design: str) -> Counts:
    """Return the host instructions of a run, per simulated instruction and operation."""
    settings = [vars(setting) for setting in configure(design, "asap").settings]
    found = callgrind_instructions(FOLDER / "recordings" / f"{recording}.pmt", settings)
    assert found.per_instruction is not None, found.reason
    assert found.per_operation is not None
    return {
        "per_instruction": round(found.per_instruction, 1),
        "per_operation": round(found.per_operation, 1),
    }


def committed() -> dict[str, dict[str, Counts]]:
    """Return the counts of all runs, for each release."""
    releases: dict[str, dict[str, Counts]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return releases


if __name__ == "__main__":
    counts = {name(*run): measured(*run) for run in RUNS}
    FILE.write_text(json.dumps(committed() | {version(): counts}, indent=2) + "\n")
