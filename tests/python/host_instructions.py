"""Host instructions: of three fixed simulations, for each release, and of other work on a run.

`make update-pins` writes those of this version into benchmarks/results/host_instructions.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

from pins.configurations import FOLDER
from pmemsim import _core
from pmemsim.host_counters import callgrind_instructions
from pmemsim.installation import version
from pmemsim.simulation import Configuration, configure

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


Work = Literal["run", "profile", "perfetto", "kanata"]
_FUNCTIONS = {"run": "simulate", "profile": "profile"}
"""The simulator's function for each work; the others write timelines."""

# This script loads the simulator alone, since the package would take long under valgrind.
_SCRIPT = """
import importlib.util, json, sys, types
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
settings = [types.SimpleNamespace(**each) for each in json.loads(sys.argv[3])]
configuration = core.Configuration(settings)
trace = core.TraceFile(sys.argv[2])
if sys.argv[4] == "run":
    core.simulate(trace, configuration, None, [], None)
elif sys.argv[4] == "profile":
    core.profile(trace, configuration, None)
else:
    core.write_timeline(
        trace, configuration, core.TimelineBounds(0, 2**63 - 1, 0, 0, 0), sys.argv[4] == "kanata",
        sys.argv[5], None,
    )
"""


def whole_instructions(
    recording: Path, configuration: Configuration, work: Work, output: Path
) -> int:
    """Return the host instructions of a run, from the machine's assembly to its whole output."""
    settings = [vars(setting) for setting in configuration.settings]
    done = subprocess.run(
        [
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
            f"--toggle-collect=pmemsim::{_FUNCTIONS.get(work, 'write_timeline')}(*",
            sys.executable, "-S", "-c", _SCRIPT,
            str(_core.__file__), str(recording), json.dumps(settings), work, str(output),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found
    return int(found[1])


if __name__ == "__main__":
    counts = {name(*run): measured(*run) for run in RUNS}
    FILE.write_text(json.dumps(committed() | {version(): counts}, indent=2) + "\n")
