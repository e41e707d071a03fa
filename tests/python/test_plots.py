"""Plots are written in the format of their suffix, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmemsim.comparison import Comparison
from pmemsim.errors import Error
from pmemsim.plots import check_plot_path
from support import made_up_comparison, pmemsim

BEGINS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", BEGINS)
def test_the_suffix_chooses_the_format(tmp_path: Path, comparison: Comparison, suffix: str) -> None:
    all_runs, one_run = tmp_path / f"all{suffix}", tmp_path / f"one{suffix}"
    comparison.save_plot(all_runs)
    comparison.results[0].save_plot(one_run)
    for path in (all_runs, one_run):
        assert path.read_bytes().startswith(BEGINS[suffix])
    assert len(list(tmp_path.iterdir())) == 2


def test_an_svg_names_what_it_shows(tmp_path: Path, comparison: Comparison) -> None:
    comparison.save_plot(tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for word in (
        "machine asap; ratios over np",
        "throughput",
        "sw-undo",
        "hashmap",
        "geomean",
        "fence stalls",
    ):
        assert f"<!-- {word} -->" in text


def test_a_name_with_dollars_is_no_formula(tmp_path: Path) -> None:
    made_up_comparison(["$x_{$"], ["np", "$\\frac{$"]).save_plot(tmp_path / "a.svg")
    assert "<!-- $\\frac{$ -->" in (tmp_path / "a.svg").read_text()


def test_unknown_matplotlib_backend_is_an_error(tmp_path: Path, queue_trace: Path) -> None:
    done = pmemsim(
        "run", queue_trace, "-d", "np", "-m", "asap", "--plot", tmp_path / "a.png",
        environment={"MPLBACKEND": "nope"}, installed=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "'nope' is not a valid value for backend" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["a.xyz", "a.gif", "a"])
def test_suffix_that_help_does_not_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Error, match=r"use \.png, \.pdf or \.svg"):
        check_plot_path(tmp_path / name)


def test_suffix_in_capitals_is_accepted(tmp_path: Path) -> None:
    check_plot_path(tmp_path / "a.PNG")
