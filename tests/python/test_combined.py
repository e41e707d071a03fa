"""The study of designs of several papers together (tools/combined.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import combined
from support import ROOT

PAGE = ROOT / "docs" / "explanation" / "combined.md"


def test_page_names_the_command_that_was_measured() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").replace("\\\n", " ").split())
    assert " ".join(combined.matrix_command()) in page


def test_kept_results_have_every_combination_and_no_violation() -> None:
    cells = json.loads(combined.RESULTS.read_text(encoding="utf-8"))["cells"]
    wanted = {
        (workload, combined.before(design, backend))
        for workload in combined.WORKLOADS
        for design in combined.DESIGNS
        for backend in combined.BACKENDS
    }
    assert {(cell["workload"], cell["design"]) for cell in cells} == wanted
    for cell in cells:
        assert (cell["points"], cell["violations"], cell["reason"]) == (1000, 0, None)


@pytest.mark.long
def test_study_runs_and_fills_its_tables(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few regions of one program; the numbers mean nothing."""
    monkeypatch.setenv("PMEMSIM_CACHE", str(cache))
    monkeypatch.setattr(combined, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(combined, "WORKLOADS", ("queue",))
    monkeypatch.setattr(
        combined, "RUNS", ("--machine", "janus", "--threads", "2", "--regions", "10")
    )
    monkeypatch.setattr(combined, "POINTS", ("--points", "5"))
    combined.measure()
    for table, rows in (
        (combined.gain_table, len(combined.DESIGNS)),
        (combined.early_table, len(combined.DESIGNS)),
        (combined.log_table, len(combined.UNDO)),
        (combined.account_table, len(combined.DESIGNS) * len(combined.ACCOUNTED)),
        (combined.combination_table, len(combined.DESIGNS) * len(combined.BACKENDS)),
    ):
        assert len(table().splitlines()) == 2 + rows
    gains = combined.gain_table().splitlines()
    assert gains[2] == f"| `{combined.SOFTWARE}` | 1.00 | 1.00 | 1.00 | 1.00 |"
    sums = combined.read_results()
    assert all(sums.total(design, "violations") == 0 for design in sums.designs)
    assert sums.energy(combined.SOFTWARE) is None
    assert sums.energy(f"{combined.SOFTWARE}@verified-parallel") == pytest.approx(1)
