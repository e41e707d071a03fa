"""The wheel that `make wheel` makes, in a new environment outside the sources."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import run_page
from support import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the wheel, made now."""
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True)
    return max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)


def test_wheel_is_small_and_has_what_users_need(wheel: Path) -> None:
    assert "-manylinux_2_" in wheel.name
    assert wheel.stat().st_size < 12e6
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in (
        "examples/queue.pmt", "include/pmemsim/design/atomicity_layer.hpp", "lib/libpmemsim.so",
        "lib/cmake/pmemsim/pmemsim-config.cmake", "toolchain/lib/pmemsim-pass.so",
        "toolchain/share/pmemsim/workloads/queue/queue.cpp", "docs/tutorials/tour.md",
        "docs/tutorials/notebook.ipynb",
        "templates/common/CMakeLists.txt", "configs/machines/asap.yaml",
    ):  # fmt: skip
        assert f"pmemsim/{part}" in names
    assert not any("test_" in name and "templates/" not in name for name in names)


def test_tour_runs_from_the_wheel_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home)
    # Compiling the dependencies' modules takes longer than all that follows.
    pip = (sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--no-compile")
    subprocess.run([*pip, "--quiet", wheel], check=True)
    environment = {**os.environ, "PATH": f"{home}/bin:{os.environ['PATH']}", "PYTHONPATH": ""}
    folder = tmp_path / "empty"
    folder.mkdir()
    (page,) = home.glob("lib/python3*/site-packages/pmemsim/docs/tutorials/tour.md")
    assert run_page.run(page, folder, environment=environment) >= 6
