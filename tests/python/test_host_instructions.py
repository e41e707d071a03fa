"""A change doesn't make simulations slower unseen. Instructions are counted, times are not."""

from __future__ import annotations

import pytest

from host_instructions import committed, measured
from pmemsim.installation import version

MOST_GROWTH = 1.05


@pytest.fixture(scope="module")
def counts() -> dict[str, dict[str, float]]:
    return measured()


def test_fixed_simulations_take_no_more_host_instructions(
    counts: dict[str, dict[str, float]],
) -> None:
    pinned = committed()[version()]
    assert counts.keys() == pinned.keys()
    more = [
        f"{run}: {ratio} host instructions {each}, {pinned[run][each]} before"
        for run, ratios in counts.items()
        for each, ratio in ratios.items()
        if ratio > MOST_GROWTH * pinned[run][each]
    ]
    assert not more, "\n".join(more)


def test_operations_are_fewer_than_instructions(counts: dict[str, dict[str, float]]) -> None:
    assert all(run["per_operation"] > run["per_instruction"] for run in counts.values())
