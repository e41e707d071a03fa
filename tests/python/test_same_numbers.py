"""The script that compares two versions: its differences, and its report of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from same_numbers import FIVE_WORKLOADS, Measured
from support import ROOT


def compare(*paths: Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "benchmarks" / "same_numbers.py"), "compare", *map(str, paths)]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def test_differences_are_named_except_measured_times(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    run = {"name": "queue", "wall_s": 1.5, "statistics": [{"name": "cycles", "value": 10}]}
    before.write_text(json.dumps({"runs": [run]}))
    after.write_text(json.dumps({"runs": [{**run, "wall_s": 2.5}]}))
    done = compare(before, after)
    assert (done.returncode, done.stdout) == (0, "3 values before, 3 after, 0 differ\n"), done

    after.write_text(json.dumps({"runs": [{**run, "statistics": [{"name": "cycles"}]}]}))
    done = compare(before, after)
    assert done.returncode == 1
    assert "/statistics[queue]/0/value[cycles]: 10 before, None after" in done.stdout
    assert "3 values before, 2 after, 1 differ" in done.stdout


def test_compare_refuses_files_that_measure_did_not_write(tmp_path: Path) -> None:
    missing, text = tmp_path / "missing.json", tmp_path / "text.json"
    text.write_text("text")
    for path, said in ((missing, "No such file"), (text, "is no result of 'measure'")):
        done = compare(path, path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"{path}: {said}")
        assert len(done.stderr.splitlines()) == 1


class Planned(Measured):
    """Runs nothing, and notes the commands that would be run."""

    def __init__(self, recordings: Path) -> None:
        super().__init__(recordings / "pmemsim", recordings, recordings)
        self.commands: list[tuple[str, ...]] = []

    def record(self) -> None:
        """Do nothing, as if everything were recorded."""

    def presets(self, kind: str) -> list[str]:
        return {"machines": ["asap", "cxl"], "designs": ["np", "lad"]}[kind]

    def json_of(self, *arguments: str) -> object:
        self.commands.append(arguments)
        return {}


def test_full_means_every_workload_on_every_design_on_every_machine(tmp_path: Path) -> None:
    traces = [str(tmp_path / f"{name}.pmt") for name in sorted([*FIVE_WORKLOADS, "tatp"])]
    for trace in traces:
        Path(trace).touch()
    for full in (False, True):
        plan = Planned(tmp_path)
        plan.everything(quick=True, full=full)
        assert ("compare", *traces, "-d", "np,lad", "-m", "asap") in plan.commands
        assert (("compare", *traces, "-d", "np,lad", "-m", "cxl") in plan.commands) == full
        assert [command[-1] for command in plan.commands if command[0] == "compare"][-1] == "cxl"
