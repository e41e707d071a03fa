"""The documentation's site: pages of designs, links into the repository, and a whole build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import design_pages
from pmemsim.presets import preset_names
from support import ROOT


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return design_pages.pages()


def test_each_design_has_a_page_with_its_own_numbers(pages: dict[str, str]) -> None:
    assert list(pages) == list(preset_names("design"))
    asap = pages["asap"]
    assert "| [atomicity](../explanation/atomicity.md) | `asap` |" in asap
    assert "| `asap.cl_entries` | `4` | Table 2 |" in asap
    # Two channels, whose filter has 1 KiB (table 2).
    assert "| Bloom filter, a channel | 1,024 | 2 |" in asap
    assert "| `asap.fig7.asap_vs_sw` | ASAP speedup over SW, geomean | 2.25 |" in asap
    assert "**0 violations**" in asap
    assert "guarantees nothing after a crash" in pages["np"]


def test_figures_show_designs_whose_papers_have_numbers(tmp_path: Path) -> None:
    design_pages.figures(tmp_path, ["asap", "x86-bare"])
    assert [path.name for path in tmp_path.iterdir()] == ["asap.svg"]
    assert "asap.fig7.asap_vs_sw" in (tmp_path / "asap.svg").read_text()


@pytest.mark.long
def test_site_is_built_without_warnings_and_without_broken_links(tmp_path: Path) -> None:
    pytest.importorskip("htmlproofer", reason="make site installs it")
    pytest.importorskip("material", reason="make site installs MkDocs Material")
    site = tmp_path / "site"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}

    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", site],
        cwd=ROOT, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (site / "designs/asap.svg").is_file()
    assert 'href="../repository/experiments/asap/DEVIATIONS.html"' in (
        (site / "designs/asap.html").read_text()
    )
