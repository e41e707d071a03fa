"""Traces from Python: metadata, NumPy, pandas, and the trace commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pmemsim as package
from pmemsim.trace import KINDS
from support import SMALL, pmemsim

pytestmark = pytest.mark.quick


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


def test_trace_refuses_bad_arguments_and_files(queue_trace: Path, tmp_path: Path) -> None:
    trace = package.Trace(queue_trace)
    with pytest.raises(package.Error, match="there is no thread 2, only threads 0 to 1"):
        trace.to_frame(2)
    with pytest.raises(package.Error, match="no such trace"):
        package.Trace(tmp_path / "no.pmt")
    cut = tmp_path / "cut.pmt"
    cut.write_bytes(queue_trace.read_bytes()[:-1])
    with pytest.raises(package.TraceError, match=r"cut\.pmt"):
        package.Trace(cut)


@pytest.mark.long
def test_recording_twice_gives_the_same_bytes(tmp_path: Path, queue_trace: Path) -> None:
    again = tmp_path / "queue.pmt"
    done = pmemsim(
        "record", "--name", "queue", *SMALL, "-o", again,
        environment={"PMEMSIM_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert again.read_bytes() == queue_trace.read_bytes()


def recordings(*paths: Path) -> list[dict[str, Any]]:
    """Return what `trace info` writes about each recording."""
    done = pmemsim("trace", "info", "--json", "-", *paths)
    return list(json.loads(done.stdout)["recordings"])


def test_trace_info_describes_one_trace(queue_trace: Path) -> None:
    assert "queue" in pmemsim("trace", "info", queue_trace).stdout
    (facts,) = recordings(queue_trace)
    assert facts["trace_hash"] == package.Trace(queue_trace).hash


def test_trace_info_compares_several_traces(queue_trace: Path) -> None:
    assert "busiest lock share" in pmemsim("trace", "info", queue_trace, queue_trace).stdout
    first, second = recordings(queue_trace, queue_trace)
    assert first == second
    assert first["region"]["fences"] == pytest.approx(3, abs=0.2)


@pytest.mark.long
def test_info_of_a_low_level_program_is_for_each_operation_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "lists.pmt"
    assert pmemsim("record", "--name", "linked_list", *SMALL, "-o", path).returncode == 0
    (facts,) = recordings(path)
    total, region = facts["summary"]["total"], facts["region"]
    assert total["regions"] == 0
    assert region["regions"] == 200
    assert region["lines_written"] == region["flushes"] == total["flushes"] / 200
    assert 2 < region["lines_written"] < 4
    assert 100 < region["instructions"] == region["instructions_with_log"] < 2000
    shown = pmemsim("trace", "info", path).stdout
    assert "a region, on average" in shown
    assert f"{region['lines_written']:.3g}" in shown


def test_info_of_a_program_with_regions(queue_trace: Path) -> None:
    (facts,) = recordings(queue_trace)
    total, region = facts["summary"]["total"], facts["region"]
    assert region["regions"] == total["regions"] == 200
    assert region["lines_written"] == total["lines_per_region"]
    assert region["instructions"] < region["instructions_with_log"]


def test_trace_dump_prints_a_range_of_operations(queue_trace: Path) -> None:
    lines = pmemsim("trace", "dump", queue_trace, "--first", "10", "-n", "5").stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == [10, 11, 12, 13, 14]
    dumped = json.loads(pmemsim("trace", "dump", queue_trace, "-n", "1", "--json", "-").stdout)
    assert [operation["operation"] for operation in dumped["operations"]] == [0]
    beyond = ("--first", str(2**64), "-n", str(2**64))
    done = pmemsim("trace", "dump", queue_trace, *beyond)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    done = pmemsim("trace", "dump", queue_trace, *beyond, "--json", "-")
    assert json.loads(done.stdout)["operations"] == []


def test_trace_verify_refuses_a_damaged_trace(queue_trace: Path, tmp_path: Path) -> None:
    assert "good" in pmemsim("trace", "verify", queue_trace).stdout
    damaged = bytearray(queue_trace.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    bad = tmp_path / "bad.pmt"
    bad.write_bytes(damaged)
    done = pmemsim("trace", "verify", bad)
    assert done.returncode == 2
    assert "bad.pmt" in done.stderr
