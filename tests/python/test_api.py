"""What Python programs can do wrong is answered by pmemsim's own errors; what they get travels."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import pmemsim
from pmemsim import ConfigError, Error, RecordError, Trace

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"traces": "queue"}, r'traces: must be a list .* \["queue", "mine\.pmt"\]'),
        ({"traces": Path("q.pmt")}, r"traces: must be a list"),
        ({"traces": []}, r"traces: must be a list of at least one"),
        ({"designs": "np,sw-undo"}, r'designs: must be a list .* \["np", "sw-undo"\]'),
        ({"designs": None}, r"designs: must be a list of at least one"),
        ({"jobs": -1}, r"jobs: -1: must be at least 1"),
        ({"overrides": "core.count=4"}, r"overrides: must be a dict"),
        ({"overrides": {3: 4}}, r"overrides: 3: unknown key"),
    ],
)
def test_comparisons_that_cannot_be(arguments: dict[str, Any], sentence: str) -> None:
    right: dict[str, Any] = {"traces": ["queue"], "designs": ["np"], "machine": "asap"}
    with pytest.raises(Error, match=sentence):
        pmemsim.compare(**{**right, **arguments})


def test_a_recording_under_two_names_counts_once(queue_trace: Path) -> None:
    again = queue_trace.parent / "." / queue_trace.name
    with pytest.raises(Error, match="stands 2 times"):
        pmemsim.compare([queue_trace, again], designs=["np"], machine="asap")


def test_recording_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="there is no command to record"):
        pmemsim.record([], tmp_path / "x.pmt")


def test_errors_and_traces_reach_other_processes(queue_trace: Path) -> None:
    error = pickle.loads(pickle.dumps(ConfigError(["first", "second"])))
    assert (error.problems, str(error)) == (["first", "second"], "first\nsecond")
    trace = Trace(queue_trace)
    assert pickle.loads(pickle.dumps(trace)).hash == trace.hash
