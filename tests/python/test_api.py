"""Errors of Python programs get pmemsim's own messages, and results can be sent to others."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pmemsim
from pmemsim import ConfigError, Error, RecordError, Trace
from pmemsim.presets import Preset, Setting

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"traces": "queue"}, r'traces: must be a list .* \["queue", "mine\.pmt"\]'),
        ({"traces": Path("q.pmt")}, r"traces: must be a list"),
        ({"traces": []}, r"traces: must be a list with at least one element"),
        ({"designs": "np,sw-undo"}, r'designs: must be a list .* \["np", "sw-undo"\]'),
        ({"designs": None}, r"designs: must be a list with at least one element"),
        ({"jobs": -1}, r"jobs: -1: must be at least 1"),
        ({"overrides": "core.count=4"}, r"overrides: must be a dict"),
        ({"overrides": {3: 4}}, r"overrides: 3: unknown key"),
    ],
)
def test_impossible_comparisons_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    right: dict[str, Any] = {"traces": ["queue"], "designs": ["np"], "machine": "asap"}
    with pytest.raises(Error, match=sentence):
        pmemsim.compare(**{**right, **arguments})


def test_a_recording_under_two_names_counts_once(queue_trace: Path) -> None:
    again = queue_trace.parent / "." / queue_trace.name
    with pytest.raises(Error, match="is given twice; remove one"):
        pmemsim.compare([queue_trace, again], designs=["np"], machine="asap")


def test_record_refuses_an_empty_command(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="the command to record is missing"):
        pmemsim.record([], tmp_path / "x.pmt")


def test_errors_and_traces_can_be_pickled(queue_trace: Path) -> None:
    error = pickle.loads(pickle.dumps(ConfigError(["first", "second"])))
    assert (error.problems, str(error)) == (["first", "second"], "first\nsecond")
    trace = Trace(queue_trace)
    assert pickle.loads(pickle.dumps(trace)).hash == trace.hash


def test_configuration_returns_values_by_key() -> None:
    overrides = {"core.rob_entries": 96, "asap.cl_entries": 4}
    configuration = pmemsim.configure("asap", "asap", overrides)
    assert configuration["core.rob_entries"] == configuration.values["core.rob_entries"] == "96"
    assert configuration["ordering"] == "x86"
    with pytest.raises(Error, match=r"unknown parameter 'core\.rob'; did you mean 'core\.rob_entr"):
        configuration["core.rob"]
    assert configuration.idle("asap.cl_entries") == ""
    assert "has no effect with" in configuration.idle("dpo.turn")
    assert repr(configuration) == "<asap on asap, core.rob_entries=96, asap.cl_entries=4>"
    assert configuration.promises_whole_regions
    assert not configuration.runs_redo_logs


def test_configuration_is_a_table_of_parameters_with_their_places() -> None:
    table = pmemsim.configure("sw-undo", "asap", {"core.rob_entries": 96}).to_frame()
    assert list(table.columns) == ["value", "place", "description"]
    assert table.loc["core.rob_entries", "place"] == "overrides"
    assert str(table.loc["core.count", "place"]).startswith("machines/asap.yaml:")
    assert table.loc["run.instances", "place"] == "default"


def test_configuration_that_is_wrong_names_every_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        pmemsim.configure("sw-undo", "asap", {"core.rob_entries": 0, "no.such": 1})
    first, second = caught.value.problems
    assert first.startswith("overrides: core.rob_entries: ")
    assert second.startswith("overrides: no.such: unknown key")


def test_configurations_and_results_can_be_pickled(queue_trace: Path) -> None:
    configuration = pmemsim.configure("sw-undo", "asap", {"core.rob_entries": 96})
    again = pickle.loads(pickle.dumps(configuration))
    assert again.values == configuration.values
    assert again.design == configuration.design
    result = pmemsim.simulate(Trace(queue_trace), again)
    there = pickle.loads(pickle.dumps(result))
    assert there.to_dict() == result.to_dict()
    assert there.configuration["core.rob_entries"] == "96"


def test_comparison_resolves_each_configuration_once(
    queue_trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    resolve = pmemsim.Configuration.__init__

    def count(
        self: pmemsim.Configuration, design: Preset, machine: Preset, overrides: Sequence[Setting]
    ) -> None:
        made.append(design.name)
        resolve(self, design, machine, overrides)

    monkeypatch.setattr(pmemsim.Configuration, "__init__", count)
    compared = pmemsim.compare([queue_trace], designs=["np", "sw-undo"], machine="asap")
    assert all(result["configuration"] for result in compared.to_dict()["runs"])
    assert made == ["np", "sw-undo"]
