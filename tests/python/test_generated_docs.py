"""The generated tables of the documentation say what pmemsim and its presets say."""

from __future__ import annotations

import pytest
from generate_docs import SECTIONS, Section, section_of


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_the_documentation_is_up_to_date(section: Section) -> None:
    assert section_of(section.page, section.name) == section.generate(), (
        f"docs/{section.page} is behind; run: make docs"
    )
