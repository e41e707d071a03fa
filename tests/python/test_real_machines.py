"""Presets of machines that exist, over published points (benchmarks/real_machines.py)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import real_machines
from pmemsim.presets import preset_names
from real_machines import CURVES, Point, main


def point(simulated: float, published: float | None) -> Point:
    return Point("c", "m", "ns", "threads", 1, simulated, published, "somebody")


def test_a_point_is_met_within_15_percent() -> None:
    assert point(114, 100).is_within
    assert point(86, 100).is_within
    assert not point(116, 100).is_within
    assert not point(84, 100).is_within
    assert point(5, None).is_within


def test_every_published_point_is_simulated_and_has_a_source() -> None:
    assert {curve.machine for curve in CURVES} <= set(preset_names("machine"))
    for curve in CURVES:
        assert curve.published
        assert set(curve.published) <= set(curve.xs)
        assert all(value > 0 and source for value, source in curve.published.values())


@pytest.mark.long
def test_curves_are_measured_printed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chase = CURVES[0]
    one = dataclasses.replace(chase, xs=(1,), published={1: (305.0, "x")}, fixed={"bytes": 1 << 26})
    writes = dataclasses.replace(CURVES[4], xs=(1,), published={1: (100.0, "wrong")})
    monkeypatch.setattr(real_machines, "CURVES", (one, writes))
    monkeypatch.setattr(real_machines, "BUILD", tmp_path)
    report = tmp_path / "report.json"
    assert main(["--json", str(report), "--plots", str(tmp_path / "plots")]) == 1
    random, wrong = json.loads(report.read_text())
    assert random["simulated"] == pytest.approx(305, rel=0.15)
    assert wrong["simulated"] < 10
    printed = capsys.readouterr().out
    assert "100 (wrong)  MISSED" in printed
    assert "1 of 2 points are missed" in printed
    assert (tmp_path / "plots" / "xeon-optane.svg").stat().st_size > 1000
