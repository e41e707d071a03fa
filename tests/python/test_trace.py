"""Traces from Python: metadata, NumPy, pandas, and the trace commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import SMALL, pmemsim

import pmemsim as package
from pmemsim.trace import KINDS


def test_operations_as_arrays(queue_trace: Path) -> None:
    trace = package.Trace(queue_trace)
    assert trace.threads == 2
    assert trace.name == "queue"
    for thread in range(trace.threads):
        total = 0
        for chunk in trace.operations(thread):
            total += len(chunk.records)
            stores = np.flatnonzero(chunk.records["kind"] == KINDS.index("store"))
            for index in stores[:10]:
                assert len(chunk.value(int(index))) == chunk.records[index]["size"]
        assert total == trace.operation_count(thread)


def test_operations_as_a_frame(queue_trace: Path) -> None:
    trace = package.Trace(queue_trace)
    frame = trace.to_frame(0)
    assert len(frame) == trace.operation_count(0)
    assert {"load", "store", "branch", "flush", "fence"} <= set(frame["kind"])
    assert {"program", "log", "data_flush", "commit"} <= set(frame["purpose"])
    assert (frame.loc[frame["kind"] == "store", "size"] > 0).all()


def test_sites_name_source_lines(queue_trace: Path) -> None:
    sites = package.Trace(queue_trace).sites
    assert sites["file"].str.contains("queue.cpp").any()
    assert (sites.loc[sites["kind"] == "store", "size"] > 0).all()


def test_bad_arguments(queue_trace: Path, tmp_path: Path) -> None:
    trace = package.Trace(queue_trace)
    with pytest.raises(package.Error, match="has threads 0 to 1, not 2"):
        trace.to_frame(2)
    with pytest.raises(package.Error, match="there is no such trace file"):
        package.Trace(tmp_path / "no.pmt")
    cut = tmp_path / "cut.pmt"
    cut.write_bytes(queue_trace.read_bytes()[:-1])
    with pytest.raises(package.TraceError, match=r"cut\.pmt"):
        package.Trace(cut)


def test_recording_twice_gives_the_same_bytes(tmp_path: Path, queue_trace: Path) -> None:
    again = tmp_path / "queue.pmt"
    done = pmemsim(
        "record", "--name", "queue", *SMALL, "-o", again,
        environment={"PMEMSIM_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert again.read_bytes() == queue_trace.read_bytes()


def test_info(queue_trace: Path) -> None:
    assert "queue" in pmemsim("trace", "info", queue_trace).stdout
    facts = json.loads(pmemsim("trace", "info", "--json", queue_trace).stdout)
    assert facts["hash"] == package.Trace(queue_trace).hash


def test_info_of_several(queue_trace: Path) -> None:
    assert "busiest lock share" in pmemsim("trace", "info", queue_trace, queue_trace).stdout
    done = pmemsim("trace", "info", "--json", queue_trace, queue_trace)
    first, second = json.loads(done.stdout)["traces"]
    assert first == second
    assert first["fences"] == pytest.approx(3, abs=0.2)


def test_dump(queue_trace: Path) -> None:
    lines = pmemsim("trace", "dump", queue_trace, "--first", "10", "-n", "5").stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == [10, 11, 12, 13, 14]
    first = json.loads(pmemsim("trace", "dump", queue_trace, "-n", "1", "--json").stdout)
    assert first["operation"] == 0


def test_verify(queue_trace: Path, tmp_path: Path) -> None:
    assert "good" in pmemsim("trace", "verify", queue_trace).stdout
    damaged = bytearray(queue_trace.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    bad = tmp_path / "bad.pmt"
    bad.write_bytes(damaged)
    done = pmemsim("trace", "verify", bad)
    assert done.returncode == 2
    assert "bad.pmt" in done.stderr
