"""Presets of machines that exist, over published points (benchmarks/real_machines.py).

`make machine-pages` commits the simulated points, and writes the pages of docs/reference/machines.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

import real_machines
from generate_docs import MEASURED_MACHINES, PUBLISHED_MACHINES, SECTIONS, Section, written
from machine_tables import PUBLISHED, RESULTS
from pmemsim.calibration import read_measurements
from pmemsim.presets import load_preset, preset_names
from real_machines import CURVES, Curve, Point, build, main, measure
from support import ROOT

PAGES = [section for section in SECTIONS if section.page.startswith("reference/machines/")]


def point(simulated: float, published: float | None) -> Point:
    return Point("c", "m", "ns", "threads", 1, simulated, published, "somebody", False)


def committed_points() -> list[Point]:
    return [Point(**each) for each in json.loads((RESULTS / PUBLISHED).read_text())]


def test_a_point_is_met_within_15_percent() -> None:
    assert point(114, 100).is_within
    assert point(86, 100).is_within
    assert not point(116, 100).is_within
    assert not point(84, 100).is_within
    assert point(5, None).is_within


def test_every_published_point_is_simulated_and_has_a_source() -> None:
    assert {curve.machine for curve in CURVES} == set(PUBLISHED_MACHINES)
    for curve in CURVES:
        assert curve.published
        assert set(curve.published) <= set(curve.xs)
        assert all(value > 0 and source for value, source in curve.published.values())


@pytest.mark.quick
def test_committed_results_have_every_point_of_every_curve() -> None:
    expected = []
    for curve in CURVES:
        where = (curve.name, curve.machine, curve.unit, curve.over)
        for x in curve.xs:
            value, source = curve.published.get(x, (None, ""))
            used = curve.used and value is not None
            expected.append(Point(*where, x, 0, value, source, used))
    found = [dataclasses.replace(each, simulated=0) for each in committed_points()]
    assert found == expected, "run: make machine-pages"
    assert all(each.is_within for each in committed_points())


@pytest.mark.quick
@pytest.mark.parametrize("section", PAGES, ids=lambda section: section.page)
def test_a_machines_page_has_the_committed_results(section: Section) -> None:
    assert written(section), "run: make docs"


@pytest.mark.quick
def test_each_machine_that_exists_has_a_page_with_its_results() -> None:
    for name in preset_names("machine"):
        if load_preset("machine", name).basis == "exists":
            assert f"reference/machines/{name}.md" in {section.page for section in PAGES}
            assert (ROOT / "docs" / "reference" / "machines" / f"{name}.md").is_file()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("curves"))


@pytest.mark.long
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: f"{curve.machine}, {curve.name}")
def test_curves_are_still_simulated_as_committed(curve: Curve, program: Path) -> None:
    """A curve's first point and its published ones show a change of all."""
    some = dataclasses.replace(curve, xs=tuple(sorted({curve.xs[0], *curve.published})))
    committed = {
        each.x: each.simulated
        for each in committed_points()
        if (each.machine, each.curve) == (curve.machine, curve.name) and each.x in some.xs
    }
    found = {each.x: each.simulated for each in measure(program, some)}
    assert found == pytest.approx(committed, rel=1e-3), "run: make machine-pages"


MEASUREMENTS = ROOT / "benchmarks" / "measurements"


def simulated_loops(file: Path) -> dict[str, float]:
    """Return the simulated times that `calibrate --json` wrote."""
    return {
        each["name"]: each["simulated_ns"]
        for each in json.loads(file.read_text())["measurements"]
        if each["simulated_ns"] is not None
    }


# Runs the command line, but simulates only these loops.
COMMAND_FOR_SOME_LOOPS = """
import sys
from pmemsim.calibration import calibrate
from pmemsim.cli import main
module = sys.modules["pmemsim.calibration.calibrate"]
simulate_all = module.simulate_all
module.simulate_all = lambda program, wanted, *more: simulate_all(
    program, [each for each in wanted if each.name in {names}], *more
)
main()
"""


@pytest.mark.long
@pytest.mark.parametrize("machine", MEASURED_MACHINES)
def test_one_loop_of_each_kind_is_still_simulated_as_committed(
    machine: str, tmp_path: Path
) -> None:
    measured, output = MEASUREMENTS / f"{machine}.json", tmp_path / "loops.json"
    committed = simulated_loops(RESULTS / f"{machine}.json")
    found = read_measurements(measured).found
    kinds = {each.loop: name for name, each in found.items() if name in committed}
    assert len(kinds) > 10
    program = COMMAND_FOR_SOME_LOOPS.format(names=set(kinds.values()))
    finished = subprocess.run(
        [sys.executable, "-c", program, "calibrate", "--from", measured, "--json", output],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert "non-temporal line, sfence" in finished.stdout
    expected = {name: committed[name] for name in kinds.values()}
    assert simulated_loops(output) == pytest.approx(expected, rel=1e-3), "run: make machine-pages"


@pytest.mark.long
def test_curves_are_measured_printed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chase = CURVES[0]
    one = dataclasses.replace(chase, xs=(1,), published={1: (305.0, "x")}, fixed={"bytes": 1 << 26})
    writes = next(each for each in CURVES if each.name == "writes in order, one module")
    wrong_writes = dataclasses.replace(writes, xs=(1, 2), published={1: (100.0, "wrong")})
    monkeypatch.setattr(real_machines, "CURVES", (one, wrong_writes))
    monkeypatch.setattr(real_machines, "BUILD", tmp_path)
    report = tmp_path / "report.json"
    assert main(["--json", str(report), "--plots", str(tmp_path / "plots")]) == 1
    random, wrong, _ = json.loads(report.read_text())
    assert random["simulated"] == pytest.approx(305, rel=0.15)
    assert wrong["simulated"] < 10
    printed = capsys.readouterr().out
    assert "100 (wrong)  MISSED" in printed
    assert "1 of 2 points are missed" in printed
    assert (tmp_path / "plots" / "xeon-optane.svg").stat().st_size > 1000
