"""The generated tables of the documentation agree with pmemsim and its presets."""

from __future__ import annotations

import pytest

from generate_docs import SECTIONS, Section, machine_parameters, machine_table, written
from pmemsim import _core


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_the_documentation_is_up_to_date(section: Section) -> None:
    assert written(section), f"docs/{section.page} is behind; run: make docs"


def test_parameters_of_a_new_implementation_are_no_machine_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, table = machine_parameters(), machine_table()
    parameter = _core.Parameter("made_up.entries", "count", "4", "", [], "", "default")
    choice = _core.Implementation("precompute", "made-up", "", [], [], ["made_up"])
    parameters, layers = [*_core.parameters(), parameter], [*_core.layers(), choice]
    monkeypatch.setattr(_core, "parameters", lambda: parameters)
    assert machine_parameters() == [*before, "made_up.entries"]  # unless a choice says it is its
    monkeypatch.setattr(_core, "layers", lambda: layers)
    assert machine_parameters() == before
    assert machine_table() == table
