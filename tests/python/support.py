"""Helpers that the tests share."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import warm_command
from pmemsim.comparison import Comparison
from pmemsim.presets import preset_names
from pmemsim.simulation import Configuration, Result, Statistic, configure
from pmemsim.targets import find_target
from pmemsim.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
# True in the long form of the tests, which `make test-long` runs. Each test that is shorter
# otherwise says what the long form adds.
LONG_TESTS = bool(os.environ.get("PMEMSIM_LONG_TESTS"))
# The workloads' recordings that tests share are small, so that all tests take minutes: those that
# command lines ask for, and those of shared_recording().
SMALL = ("--threads", "2", "--regions", "200")
SHARED_REGIONS = 200
SMALL_ITEMS = 1000
# Workloads of each kind: nodes, strings, a tree, logs by hand, benchmarks.
ONE_OF_EACH_KIND = (
    "queue",
    "string_swap",
    "btree",
    "array_swap_lowlevel",
    "tatp_lowlevel",
    "tpcc",
    "vacation",
)


def long_except(values: Iterable[object], *usual: object) -> list[Any]:
    """Parameters of a test: `make test` runs the usual ones, `make test-long` runs all."""
    every = list(values)
    assert set(usual) <= set(every)
    rows = [(value if isinstance(value, tuple) else (value,), value in usual) for value in every]
    return [
        pytest.param(*row, marks=() if is_usual else pytest.mark.long) for row, is_usual in rows
    ]


def preset_pairs() -> list[tuple[str, str]]:
    """Return every design on every machine; usually one of both with each of the other."""
    designs, machines = preset_names("design"), preset_names("machine")
    if LONG_TESTS:
        return list(itertools.product(designs, machines))
    return [(design, "asap") for design in designs] + [("parallel", each) for each in machines]


def may_watch() -> bool:
    """Return whether programs can be watched here: on Linux 5.19, for one's own processes.

    Kept apart from what the tests are of.
    """
    version = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if version < (5, 19):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            process = os.pidfd_open(child.pid)
            pidfd_getfd = 438
            file = int(libc.syscall(pidfd_getfd, process, 0, 0))
        except OSError:
            return False
        finally:
            child.kill()
    for opened in (process, file):
        if opened >= 0:
            os.close(opened)
    return file >= 0


CAUSES = (
    "base", "execution", "branch", "private_cache", "shared_cache", "other_core", "dram", "pm",
    "store_queue", "fence", "lock", "condition", "barrier", "join", "order", "commit", "locked",
    "speculation",
)  # fmt: skip


def pmemsim(
    *arguments: str | Path,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    installed: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does.

    `installed` starts the program that a user starts; else a process does that has the package
    loaded (warm_command.py).
    """
    texts = [str(argument) for argument in arguments]
    variables = {**os.environ, "COLUMNS": "200", **(environment or {})}
    if not installed:
        return warm_command.run(texts, cwd, variables)
    return subprocess.run(
        [str(Path(sys.executable).with_name("pmemsim")), *texts],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=warm_command.TIMEOUT_S,
    )


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a file of hexadecimal digits, in which `#` begins a comment."""
    lines = path.read_text().splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def shared_recording(workload: str, opt: str | None = None) -> Trace:
    """Return a recording of four threads of a workload, with defaults for other arguments.

    At O0 its data are small, since most of such a recording is their set-up.
    """
    items = SMALL_ITEMS if opt == "O0" else None
    return find_target(workload, opt=opt, threads=4, regions=SHARED_REGIONS, items=items).trace()


def interrupt(process: subprocess.Popen[str]) -> None:
    """Send Ctrl-C, which the command must answer with one sentence."""
    process.send_signal(signal.SIGINT)
    try:
        output, text = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, text
    assert "pmemsim: interrupted" in text
    assert "Traceback" not in text
    assert output == ""


@cache
def _configuration() -> Configuration:
    return configure("np", "asap")


def made_up_result(
    workload: str,
    design: str,
    time_ns: float,
    stalls: dict[str, float] | None = None,
    *,
    first_half: float = 0.5,
    seed: int = 1,
) -> Result:
    """Return a result without a simulation; causes that aren't named took no time.

    `first_half` is the share of the cores' time that the first half of their operations took.
    """
    times = {cause: (stalls or {}).get(cause, 0.0) for cause in CAUSES}
    statistics = [
        Statistic(f"stall.{cause}_ns", value, "ns", cause) for cause, value in times.items()
    ]
    total = sum(times.values())
    statistics.append(Statistic("stall.total_ns", total, "ns", "all"))
    statistics.append(Statistic("core.first_half_ns", first_half * total, "ns", "half"))
    statistics.append(Statistic("core.external_instructions", 0.0, "instructions", "estimated"))
    return Result(
        workload=workload,
        design=design,
        machine="asap",
        threads=1,
        seed=seed,
        instructions=1000,
        time_ns=time_ns,
        regions=10,
        pm_write_bytes=640,
        wall_s=0.5,
        statistics=tuple(statistics),
        configuration=_configuration(),
        trace_hash="0123456789abcdef",
        version="0",
    )


def made_up_comparison(workloads: Sequence[str], designs: Sequence[str]) -> Comparison:
    """Return a comparison whose designs get slower one after the other."""
    stalls = {"base": 50.0, "fence": 20.0, "pm": 20.0, "lock": 10.0}
    return Comparison(
        tuple(
            made_up_result(workload, design, 100.0 * (index + 1), stalls)
            for workload in workloads
            for index, design in enumerate(designs)
        ),
        tuple(designs),
    )


def cache_with_recordings(folder: Path) -> dict[str, str]:
    """Return the environment of a cache folder without results, but with the tests' recordings."""
    folder.mkdir()
    shared = ROOT / "build" / "test-cache"
    for name in ("traces", "programs"):
        (shared / name).mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(shared / name)
    return {"PMEMSIM_CACHE": str(folder)}
