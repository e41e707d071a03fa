"""Commands load only the modules that they use, so that they start fast."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

import pmemsim
from support import ROOT

HEAVY = {
    "dask", "distributed", "email", "importlib.metadata", "matplotlib", "multiprocessing", "numpy",
    "pandas", "pmemsim.crashing", "pmemsim.jobs", "pmemsim.reproduction", "pyarrow", "pydantic",
    "rich.progress",
}  # fmt: skip
"""Modules that take long to load, and that no command of this test needs."""
OF_RUNS = {"pmemsim._core", "pmemsim.simulation", "rich.table", "yaml"}
PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from pmemsim_command import main
main()
"""
RECORDING = str(ROOT / "tests/pins/recordings/one_thread.pmt")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--version"], {*HEAVY, *OF_RUNS, "rich"}),
        (["--help"], {*HEAVY, *OF_RUNS} - {"rich.table"}),
        (["run", RECORDING, "--design", "np", "--machine", "asap"], HEAVY),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_command_loads_no_module_that_it_does_not_use(words: list[str], unused: set[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stderr.splitlines()[-1].split())
    assert "typer" in loaded
    assert loaded & unused == set()


def test_package_loads_its_names_and_modules_when_they_are_used() -> None:
    for name in pmemsim.__all__:
        assert getattr(pmemsim, name) is not None
        assert name in dir(pmemsim)
    program = "import pmemsim; print(pmemsim.trace.Trace is pmemsim.Trace)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout == b"True\n"
    with pytest.raises(AttributeError, match="module 'pmemsim' has no attribute 'rum'"):
        _ = pmemsim.rum


def test_import_of_the_package_loads_nothing_else() -> None:
    program = "import sys; before = {*sys.modules}; import pmemsim; print(*{*sys.modules} - before)"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.split())
    assert {name for name in loaded if name.startswith("pmemsim")} == {"pmemsim"}
    assert loaded & {*HEAVY, *OF_RUNS, "rich", "typer"} == set()


def test_import_of_the_package_takes_at_most_0_15_s_of_processor_time() -> None:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", "import pmemsim"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) <= 0.15
