"""A change doesn't make simulations slower unseen. Instructions are counted, times are not."""

from __future__ import annotations

import pytest

from host_instructions import RUNS, committed, measured, name
from pmemsim.installation import version
from support import long_except

MOST_GROWTH = 1.05


@pytest.mark.parametrize(("recording", "design"), long_except(RUNS, RUNS[0]))
def test_fixed_simulation_takes_no_more_host_instructions(recording: str, design: str) -> None:
    before, now = committed()[version()][name(recording, design)], measured(recording, design)
    for each, ratio in now.items():
        assert ratio <= MOST_GROWTH * before[each], f"{each}: {ratio}, {before[each]} before"
    assert now["per_operation"] > now["per_instruction"]
