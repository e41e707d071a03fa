"""The reference of the Python package has every public name, and its examples run."""

from __future__ import annotations

import contextlib
import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

import pmemsim
from pmemsim.targets import Recipe, Target
from pmemsim.targets import find_target as usual_target
from python_reference import described, members, public
from support import ROOT

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
NAMES = [name for name in pmemsim.__all__ if name != "__version__"]
WITH_OTHERS = (
    "Replay", "Reproduction", "import_champsim", "import_pmemcheck", "record", "replay",
    "reproduce",
)  # fmt: skip
"""Names whose examples need a file of the user's own, or take minutes."""
SLOW = ("check", "experiments")


@pytest.mark.quick
def test_every_public_name_has_one_entry() -> None:
    headings = [line[4:] for line in PAGE.splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted(NAMES)


@pytest.mark.parametrize("name", public("function"))
def test_every_argument_is_described(name: str) -> None:
    function = getattr(pmemsim, name)
    parts = described(function.__doc__)
    parameters = inspect.signature(function).parameters
    shown = {
        f"**{key}" if each.kind is each.VAR_KEYWORD else key for key, each in parameters.items()
    }
    assert parts.arguments.keys() == shown
    assert all(parts.arguments.values())
    assert parts.text
    assert parts.example
    if parameters:
        assert parts.returns
        assert parts.raises


@pytest.mark.parametrize("name", public("class"))
def test_every_member_is_described(name: str) -> None:
    found = dict(members(getattr(pmemsim, name)))
    assert found
    assert all(found.values()), [member for member, text in found.items() if not text]
    assert described(getattr(pmemsim, name).__doc__).example


def test_recipe_has_what_a_workload_run_has() -> None:
    run = {*inspect.signature(pmemsim.WorkloadRun).parameters} - {"workload"}
    assert {*Recipe.__annotations__} == run


def carried(name: str, **recipe: Any) -> Target:  # noqa: ANN401 -- values of several types
    """Find a target; a workload with its defaults is the short recording in the package."""
    if name in pmemsim.examples() and not recipe:
        return Target(name, pmemsim.examples()[name])
    return usual_target(name, **recipe)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in SLOW else ())
        for name in NAMES
        if name not in WITH_OTHERS
    ],
)
def test_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(pmemsim.examples()["queue"], tmp_path / "queue.pmt")
    (tmp_path / "damaged.pmt").write_bytes(b"damaged")
    monkeypatch.chdir(tmp_path)
    for module in ("api.common", "sweeping.points", "sweeping.spec"):
        monkeypatch.setattr(f"pmemsim.{module}.find_target", carried)
    example = described(getattr(pmemsim, name).__doc__).example
    names = {"pmemsim": pmemsim, "contextlib": contextlib}
    assert f"pmemsim.{name}" in example or name[0].isupper()
    exec(example, names)


@pytest.mark.parametrize("name", WITH_OTHERS)
def test_longer_example_is_an_expression(name: str) -> None:
    compile(described(getattr(pmemsim, name).__doc__).example, name, "eval")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is one.\n\nMore.\n\nArgs:\n    a: First\n        line.\n    **b: Second.\n",
         {"text": "Is one.\n\nMore.", "arguments": {"a": "First line.", "**b": "Second."}}),
        ("One.\n\nReturns:\n    A\n    value.\n\nRaises:\n    Error: It is: wrong.\n",
         {"returns": "A value.", "raises": {"Error": "It is: wrong."}}),
        ("One.\n\nExample:\n    `f(1,\n    2)`\n", {"example": "f(1, 2)", "arguments": {}}),
    ],
)  # fmt: skip
def test_parts_of_a_docstring(text: str, expected: dict[str, object]) -> None:
    parts = vars(described(text))
    assert {key: parts[key] for key in expected} == expected
