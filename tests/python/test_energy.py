"""The energy of a run: its parts agree with the counts of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmemsim.simulation import configure
from support import pmemsim

pytestmark = pytest.mark.quick

TWICE = ("total", "unused")  # statistics whose energy other parts include, too


def run(tmp_path: Path, design: str, *settings: str) -> dict[str, float]:
    """Return the statistics of a run on PMWeaver's machine, and its time."""
    output = tmp_path / "run.json"
    options = [option for setting in settings for option in ("--set", setting)]
    done = pmemsim(
        "run", "queue", "--threads", "2", "--regions", "60", "-d", design, "-m", "pmweaver",
        *options, "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(output.read_text())
    return {**found["stats"], "time_ns": found["time_ns"]}


def parts(stats: dict[str, float]) -> dict[str, float]:
    return {
        name.removeprefix("energy.").removesuffix("_nj"): value
        for name, value in stats.items()
        if name.startswith("energy.")
    }


def without(energy: dict[str, float]) -> set[str]:
    return {name for name, value in energy.items() if value == 0}


def test_energy_of_pmweaver_matches_a_hand_computation(tmp_path: Path) -> None:
    """The energy in pJ follows from the documented constants (docs/explanation/model.md)."""
    stats = run(tmp_path, "sw-undo@enc+veri-pmweaver")
    energy = parts(stats)
    assert without(energy) == {"pm_log_writes", "fingerprints", "other_operations"}
    assert energy["total"] == pytest.approx(
        sum(value for name, value in energy.items() if name not in TWICE)
    )
    line = 64
    expected = {
        "cores": stats["time_ns"] * 2 * 13000,  # two threads, 13 W
        "pm_reads": stats["pm.bytes_read"] / line * 1741,
        "pm_data_writes": stats["pm.data_bytes_written"] / line * 9134,
        "pads": (stats["backend.pads"] + stats["encryption.read_pads"]) * 312,
        "macs": stats["backend.macs"] * 1628,
        "tree_hashes": (stats["backend.tree_hashes"] + stats["integrity.nodes_verified"]) * 1628,
        "predictor_power": energy["cores"] * 1000 * 403 / 13000,
        "predictor": stats["core.stores"] * 50
        + stats["pmweaver.write_backs"] * 3297
        + (stats["pmweaver.by_stores"] + stats["pmweaver.by_timeout"]) * 160
        + stats["backend.writes"] * 295,
    }
    assert {name: energy[name] * 1000 for name in expected} == pytest.approx(expected)
    assert 0 < energy["unused"] < energy["pads"] + energy["macs"] + energy["tree_hashes"]
    assert stats["backend.macs"] - stats["backend.macs_unused"] == stats["backend.writes"]


def test_energy_has_a_part_for_each_operation(tmp_path: Path) -> None:
    dedup = parts(run(tmp_path, "sw-undo@dedup"))
    assert without(dedup) == {
        "pm_log_writes", "pads", "macs", "tree_hashes", "other_operations", "predictor_power",
        "predictor", "unused",
    }  # fmt: skip
    others = parts(run(tmp_path, "hw-undo", "backend=compression,error-correction"))
    assert without(others) == {
        "metadata_caches", "pads", "macs", "tree_hashes", "fingerprints", "predictor_power",
        "predictor", "unused", "pm_metadata_writes",
    }  # fmt: skip


def test_energy_parts_scale_with_their_parameters(tmp_path: Path) -> None:
    stats = run(tmp_path, "sw-undo@enc+veri")
    more = run(tmp_path, "sw-undo@enc+veri", "energy.core=26W", "energy.pad=624pJ")
    assert more["energy.cores_nj"] == 2 * stats["energy.cores_nj"]
    assert more["energy.pads_nj"] == 2 * stats["energy.pads_nj"]
    assert more["energy.macs_nj"] == stats["energy.macs_nj"]


def test_run_without_backend_operations_has_no_energy_statistics(tmp_path: Path) -> None:
    assert parts(run(tmp_path, "sw-undo")) == {}


def test_persisted_nodes_are_written_to_pm(tmp_path: Path) -> None:
    written = {}
    for nodes in ("leaves", "all"):
        stats = run(tmp_path, "sw-undo@enc+veri", f"integrity.persist_nodes={nodes}")
        written[nodes] = (
            stats["metadata.entries_written"],
            stats["metadata.lowest_nodes_written"],
            stats["metadata.higher_nodes_written"],
        )
        assert written[nodes][0] == stats["backend.writes"]
    entries = written["all"][0]
    assert written["leaves"] == (entries, 0, 0), "the cache holds them all"
    assert written["all"] == (entries, entries, 11 * entries), "12 of 13 levels are nodes"


def test_configuration_refuses_a_wpq_without_space_for_tree_nodes() -> None:
    with pytest.raises(Exception, match=r"take up to 14 entries .*choose pm.wpq_entries=14"):
        configure(
            "sw-undo@enc+veri",
            "pmweaver",
            {"integrity.persist_nodes": "all", "pm.wpq_entries": 13},
        )
