"""Presets and workloads of the user's own, in the folders of PMEMSIM_PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import pmemsim

MACHINE = """name: lab
summary: The machine in our laboratory
inherits: xeon-optane
parameters:
  core.frequency: {value: 2.5GHz, source: lscpu}
"""
WORKLOAD = """/* pmemsim workload
summary: swap two items of an array of pairs
arguments: {threads: 2, regions: 50, data-bytes: 64, seed: 1, duplicate-ratio: 0}
*/
#include "swap_array.hpp"

namespace {

struct Pairs : workload::DataItems, workload::RegionSwap {
  using RegionSwap::RegionSwap;
  static constexpr workload::About kAbout = {"pairs", "Swaps two items.", 100};
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<Pairs>>(argc, argv);
}
"""


def folder_with(tmp_path: Path, **files: str) -> dict[str, str]:
    """Return the environment of a folder with these machines and workloads."""
    for name, text in files.items():
        kind, suffix = ("workloads", "cpp") if "workload" in text else ("machines", "yaml")
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / f"{name}.{suffix}").write_text(text)
    return {"PMEMSIM_PATH": str(tmp_path)}


def test_machine_of_a_folder_is_listed_and_runs(tmp_path: Path) -> None:
    environment = folder_with(tmp_path, lab=MACHINE)
    listed = pmemsim("list", "machines", environment=environment)
    assert "The machine in our laboratory" in listed.stdout
    shown = pmemsim("show", "machine", "lab", environment=environment)
    assert "lscpu" in shown.stdout
    run = pmemsim(
        "run", "queue", "-d", "np", "-m", "lab", "--regions", "20", environment=environment
    )
    assert run.returncode == 0, run.stderr


def test_workload_of_a_folder_is_listed_recorded_and_checked(tmp_path: Path) -> None:
    environment = folder_with(tmp_path, pairs=WORKLOAD)
    listed = pmemsim("list", "workloads", environment=environment)
    assert "swap two items of an array of pairs" in listed.stdout
    crash = pmemsim(
        "crash", "pairs", "-d", "asap", "-m", "asap", "--points", "20", environment=environment
    )
    assert crash.returncode == 0, crash.stderr
    assert "no check" not in crash.stdout


@pytest.mark.long
def test_changed_workload_is_recorded_again(tmp_path: Path) -> None:
    environment = folder_with(tmp_path, pairs=WORKLOAD)
    command = ("run", "pairs", "-d", "np", "-m", "asap", "--json", "-")
    first = pmemsim(*command, environment=environment)
    folder_with(tmp_path, pairs=WORKLOAD.replace("regions: 50", "regions: 60"))
    second = pmemsim(*command, environment=environment)
    assert '"regions": 50' in first.stdout
    assert '"regions": 60' in second.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("/* pmemsim workload\n", "/*\n"), "the description is missing; begin the file"),
        (("summary: swap", "sumary: swap"), "must have the keys arguments, summary"),
        (("seed: 1, ", ""), "its arguments must have the keys regions, seed, threads"),
        (("threads: 2", "threads: none"), "--threads 'none': must be a whole number"),
        (("threads: 2", "threads: 2, thread: 2"), "unknown argument 'thread'"),
        (("arguments: {", "arguments: ["), "its first comment is not YAML"),
        (("summary: swap", "papers: none\nsummary: swap"), "unknown key 'papers'"),
    ],
)  # fmt: skip
def test_workload_with_a_wrong_description_is_refused(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    environment = folder_with(tmp_path, pairs=WORKLOAD.replace(*change))
    done = pmemsim("list", "workloads", environment=environment)
    assert done.returncode == 2
    assert f"{tmp_path}/workloads/pairs.cpp: " in done.stderr
    assert said in done.stderr


def test_names_of_pmemsims_own_files_are_refused(tmp_path: Path) -> None:
    environment = folder_with(tmp_path, queue=WORKLOAD, asap=MACHINE)
    workloads = pmemsim("list", "workloads", environment=environment)
    assert workloads.returncode == 2
    assert "a workload with the name queue already exists; rename the file" in workloads.stderr
    machines = pmemsim("show", "machine", "asap", environment=environment)
    assert machines.returncode == 2
    assert "has the same name; rename one" in machines.stderr


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    environment = {"PMEMSIM_PATH": str(tmp_path / "none")}
    done = pmemsim("list", "machines", environment=environment)
    assert done.returncode == 2
    assert "no such folder; create it, or remove it from PMEMSIM_PATH" in done.stderr
