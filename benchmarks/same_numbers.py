#!/usr/bin/env python3
"""Compare the numbers of two versions of pmemsim, to the bit.

    benchmarks/same_numbers.py measure RECORDINGS BEFORE.json --pmemsim OLD/.venv/bin/pmemsim
    benchmarks/same_numbers.py measure RECORDINGS AFTER.json
    benchmarks/same_numbers.py compare BEFORE.json AFTER.json

Use it for changes that must not change simulated results. The first `measure` records all workloads
into the folder RECORDINGS; later ones use these recordings. `measure` measures

  - every statistic of every workload on every design, on one machine;
  - the statistics of five workloads on all other machines, on very different designs; with --full,
    those of every workload on every design on every machine, which takes hours;
  - crashes of every design with durability guarantees, with explanations, and of all injected
    faults;
  - all values of `pmemsim reproduce asap lalea` (not with --quick).

Values that depend on a clock or a path are omitted. `compare` prints up to 20 values that differ,
and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

MACHINE = "asap"
DIFFERENT_DESIGNS = "np,sw-undo,hw-undo,redu+lalea+blom,asap"
FIVE_WORKLOADS = ("array_swap", "queue", "hashmap", "rbtree", "tpcc")
PAPERS = ("asap", "lalea")
CRASH_REGIONS = "200"
NOT_COMPARED = {
    "wall_s",
    "instructions_per_wall_s",
    "points_per_s",
    "configuration",
    "version",
    "command",
}
"""Keys of values that depend on the host's clock, the version, or the path of a file."""
MOST_SHOWN = 20


class Measured:
    """One version of pmemsim, used by its command line."""

    def __init__(self, pmemsim: Path, recordings: Path, scratch: Path) -> None:
        self.pmemsim = pmemsim
        self.recordings = recordings
        self.scratch = scratch

    def run(self, *arguments: str) -> None:
        """Run a command of pmemsim; exit code 1, for a violation, counts as a result."""
        cache = {"PMEMSIM_CACHE": str(self.scratch / "cache")}
        command = [str(self.pmemsim), *arguments]
        print(" ".join(command[1:4]), "...", file=sys.stderr)
        done = subprocess.run(
            command, env=os.environ | cache, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")

    def json_of(self, *arguments: str) -> object:
        """Run a command with --json, and return what it has written."""
        file = self.scratch / "out.json"
        file.unlink(missing_ok=True)
        self.run(*arguments, "--json", str(file))
        read: object = json.loads(file.read_text())
        return read

    def record(self) -> None:
        """Make the missing recordings."""
        if not (self.recordings / "whole").exists():
            self.run("record", "--all", "--threads", "4", "--out-dir", str(self.recordings))
            (self.recordings / "whole").mkdir()
        short = self.recordings / "short"
        if short.exists():
            return
        unfinished = self.recordings / "short.part"
        unfinished.mkdir(exist_ok=True)
        for file in sorted(self.recordings.glob("*.pmt")):
            output = str(unfinished / file.name)
            self.run("record", file.stem, "--regions", CRASH_REGIONS, "-t", "4", "-o", output)
        unfinished.rename(short)

    def presets(self, kind: str) -> list[str]:
        """Return the names of all designs or machines."""
        out = subprocess.run(
            [str(self.pmemsim), "list", kind], capture_output=True, text=True, check=True
        ).stdout
        cells = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
        return [name for name in cells if name]

    def everything(self, *, quick: bool, full: bool) -> dict[str, object]:
        """Return all results."""
        self.record()
        traces = [str(path) for path in sorted(self.recordings.glob("*.pmt"))]
        five = [str(self.recordings / f"{name}.pmt") for name in FIVE_WORKLOADS]
        elsewhere = traces if full else five
        short = [str(path) for path in sorted((self.recordings / "short").glob("*.pmt"))]
        all_designs = ",".join(self.presets("designs"))
        designs_elsewhere = all_designs if full else DIFFERENT_DESIGNS
        found: dict[str, object] = {
            "compare": self.json_of("compare", *traces, "-d", all_designs, "-m", MACHINE),
            "crash": self.json_of("crash", *short, "--all-designs", "--subsets", "1"),
            "faults": self.json_of("selftest"),
        }
        for machine in self.presets("machines"):
            if machine != MACHINE:
                found[f"compare {machine}"] = self.json_of(
                    "compare", *elsewhere, "-d", designs_elsewhere, "-m", machine
                )
        if not quick:
            for paper in PAPERS:
                found[f"reproduce {paper}"] = self.json_of("reproduce", paper)
        return found


def values(found: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value to compare, with the path of keys that leads to it."""
    if isinstance(found, dict):
        name = found.get("name")
        for key, value in found.items():
            if key not in NOT_COMPARED:
                yield from values(value, f"{place}/{key}" + (f"[{name}]" if name else ""))
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from values(value, f"{place}/{number}")
    else:
        yield place, found


def read(path: Path) -> dict[str, object]:
    """Return the flattened results of a file of `measure`; exit with a message for other files."""
    try:
        return dict(values(json.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}; 'measure' writes such a file") from error
    except ValueError as error:
        raise SystemExit(f"{path}: is no result of 'measure' ({error}); measure again") from error


def compare(before: Path, after: Path) -> int:
    """Print the differences; return the exit code."""
    old, new = read(before), read(after)
    different = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    for key in different[:MOST_SHOWN]:
        print(f"{key}: {old.get(key)!r} before, {new.get(key)!r} after")
    print(f"{len(old)} values before, {len(new)} after, {len(different)} differ")
    return 1 if different or not old else 0


def main() -> int:
    """Run the command of the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("recordings", type=Path)
    measure.add_argument("output", type=Path)
    measure.add_argument("--pmemsim", type=Path, default=Path(".venv/bin/pmemsim"))
    measure.add_argument("--full", action="store_true", help="everything on every machine")
    measure.add_argument("--quick", action="store_true", help="without the papers' experiments")
    both = commands.add_parser("compare")
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "compare":
        return compare(arguments.before, arguments.after)
    if not arguments.pmemsim.is_file():
        parser.error(f"{arguments.pmemsim}: there is no such program; make setup, or --pmemsim")
    arguments.recordings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        measured = Measured(arguments.pmemsim, arguments.recordings, Path(scratch))
        results = measured.everything(quick=arguments.quick, full=arguments.full)
        arguments.output.write_text(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
