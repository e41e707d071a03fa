"""Job arrays: a script whose tasks do all simulations of a command, each once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pmemsim.slurm import Share, without
from support import cache_with_recordings, pmemsim

SWEEP = """
axes: {workload: queue, design: [sw-undo, asap], machine: asap, threads: [1, 2], regions: 200}
"""
SMALL = ("--threads", "2", "--regions", "200")
COMMANDS = {
    "sweep": ("sweep", "sweep.yaml", "--out", "out"),
    "matrix": ("matrix", "queue", *SMALL, "--machine", "asap", "--designs", "sw-undo,asap",
               "--points", "50", "--json", "out"),
    "reproduce": ("reproduce", "pmem-spec", "synthetic", "--out", ".", "--json", "out"),
}  # fmt: skip


def test_shares_contain_each_job_once() -> None:
    for count in (1, 3, 7, 10):
        shares = [Share(number, count).take(range(7)) for number in range(count)]
        assert sorted(job for share in shares for job in share) == list(range(7))


def test_slurm_options_are_removed_with_their_values() -> None:
    given = ["sweep", "--slurm", "a.sh", "x", "--tasks=3", "--at-once", "2", "--jobs", "4"]
    assert without(given, ("--slurm", "--tasks", "--at-once")) == ["sweep", "x", "--jobs", "4"]


def refused(*arguments: str, cwd: Path) -> str:
    """Run a command that must be refused; return the sentences."""
    done = pmemsim(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def start(script: Path, task: int) -> subprocess.CompletedProcess[str]:
    """Start one task as Slurm does."""
    environment = {name: value for name, value in os.environ.items() if name != "PMEMSIM_CACHE"}
    return subprocess.run(
        ["sh", script], cwd="/", check=False, capture_output=True, text=True,
        env={**environment, "SLURM_ARRAY_TASK_ID": str(task)},
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_job_array_gives_the_same_results(tmp_path: Path, name: str) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    command = COMMANDS[name]
    here = pmemsim(*command, cwd=tmp_path, environment=cache_with_recordings(tmp_path / "here"))
    assert here.returncode == 0, here.stderr
    expected = (tmp_path / "out").read_bytes()
    (tmp_path / "out").unlink()

    there = cache_with_recordings(tmp_path / "there")
    slurm = ("--slurm", "a array.sh", "--tasks", "3", "--at-once", "2")
    done = pmemsim(*command, *slurm, cwd=tmp_path, environment=there)
    assert done.returncode == 0, done.stderr
    assert (
        " in 3 tasks, at most 2 at a time\nto start them, run: sbatch 'a array.sh'" in done.stdout
    )
    assert not (tmp_path / "there" / "results").exists()
    script = tmp_path / "a array.sh"
    assert "#SBATCH --array=0-2%2\n" in script.read_text()

    kept = tmp_path / "there" / "results"
    counts = [0]
    for task in range(3):
        ended = start(script, task)
        assert ended.returncode == 0, ended.stderr
        counts.append(len(list(kept.iterdir())))
    assert counts == sorted(set(counts))
    assert not (tmp_path / "out").exists()
    last = done.stdout.partition("when all have ended, run: ")[2].strip()
    assert last == " ".join(("pmemsim", *command))
    collected = pmemsim(*command, cwd=tmp_path, environment=there)
    assert collected.returncode == 0, collected.stderr
    assert f"{counts[-1]} of them kept from earlier runs" in collected.stderr
    assert (tmp_path / "out").read_bytes() == expected


def test_a_share_whose_simulations_fail_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.replace("asap, threads", "small.yaml, threads"))
    (tmp_path / "small.yaml").write_text(
        "name: s\nsummary: s\ninherits: asap\nparameters: {core.count: 1}\n"
    )
    text = refused("sweep", "sweep.yaml", "--share", "1/2", cwd=tmp_path)
    assert "2 of 2 simulations failed" in text


def test_bad_slurm_options_are_refused(tmp_path: Path) -> None:
    for name in ("matrix", "reproduce"):
        text = refused(*COMMANDS[name], "--share", "2/2", "--tasks", "0", cwd=tmp_path)
        assert "--share 2/2: must be K/N" in text
        assert "--tasks 0: needs --slurm" in text
        text = refused(*COMMANDS[name], "--slurm", "out", cwd=tmp_path)
        assert "out: this command already reads or writes this file" in text
