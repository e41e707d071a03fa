"""Fixtures of the tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pmemsim.comparison import Comparison
from shared import shared_folder  # noqa: F401  # a fixture
from support import ROOT, SMALL, made_up_comparison, pmemsim

# Shells start jobs in the background without Ctrl-C, nohup does without SIGHUP, and programs under
# test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Each process would start threads for linear algebra, of which there is none.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# Recordings that the tests make are kept between runs, apart from the user's.
os.environ["PMEMSIM_CACHE"] = str(ROOT / "build" / "test-cache")


@pytest.fixture
def comparison() -> Comparison:
    """Compare two workloads on three designs."""
    return made_up_comparison(["queue", "hashmap"], ["np", "sw-undo", "eadr"])


@pytest.fixture(scope="session")
def queue_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small recording of the workload queue."""
    path = tmp_path_factory.mktemp("traces") / "queue.pmt"
    done = pmemsim("record", "--name", "queue", *SMALL, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache folder without results, which shares the programs built for all tests."""
    shared = Path(os.environ["PMEMSIM_CACHE"])
    (shared / "programs").mkdir(parents=True, exist_ok=True)
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "programs").symlink_to(shared / "programs")
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sentences that tests have recorded under the name `summary`."""
    for report in terminalreporter.getreports(""):
        for name, value in getattr(report, "user_properties", ()):
            if name == "summary" and report.when == "teardown":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
