"""Faster memory, more bandwidth, more entries and more width don't slow a run (monotonicity.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from statistics import geometric_mean

import pytest

from monotonicity import (
    DESIGNS,
    EXEMPTIONS,
    MACHINES,
    MEAN,
    MOST_SLOWER,
    PARAMETERS,
    WORKLOADS,
    Exemption,
)
from pmemsim.presets import Setting, load_preset
from pmemsim.simulation import Configuration, StartingContents, simulate
from pmemsim.trace import Trace
from support import ROOT, long_except

# The long form has all machines with all designs.
USUAL = (("xeon-optane", "sw-undo"),)
OCCUPANCY = "pm.write_occupancy"
OCCUPANCIES = ("90ns", "50ns", "10ns")
"""Of the fixed devices, which are the papers'."""

Settings = Sequence[tuple[str, str]]
Times = Mapping[str, Sequence[float]]
"""Of each workload, the times with growing values of a parameter."""


@cache
def recording(workload: str) -> tuple[Trace, StartingContents]:
    trace = Trace(ROOT / "tests" / "monotonicity" / f"{workload}.pmt")
    return trace, StartingContents(trace, simulations=1 << 62)


def configuration(machine: str, design: str, settings: Settings) -> Configuration:
    given = tuple(Setting(key, value, "test") for key, value in settings)
    return Configuration(load_preset("design", design), load_preset("machine", machine), given)


def measure(
    machine: str, design: str, parameter: str, beside: Settings = ()
) -> dict[str, list[float]]:
    values = OCCUPANCIES if parameter == OCCUPANCY else PARAMETERS[parameter]
    configurations = [
        configuration(machine, design, [*beside, (parameter, value)]) for value in values
    ]
    assert not configurations[0].idle(parameter)
    times = {}
    for workload in WORKLOADS:
        trace, contents = recording(workload)
        times[workload] = [
            simulate(trace, each, contents=contents).time_ns for each in configurations
        ]
    return times


def slowdowns(times: Times) -> dict[str, float]:
    """Return the workloads, and the mean, that become slower than they may, in percent."""
    ratios: dict[str, list[float]] = {name: [] for name in MOST_SLOWER}
    number = len(next(iter(times.values())))
    for smaller, larger in combinations(range(number), 2):
        pair = {name: time[larger] / time[smaller] for name, time in times.items()}
        for name, ratio in {**pair, MEAN: geometric_mean(pair.values())}.items():
            ratios[name].append(ratio)
    slower = {name: 100 * (max(ratios[name]) - 1) for name in MOST_SLOWER}
    return {name: percent for name, percent in slower.items() if percent > MOST_SLOWER[name]}


@pytest.mark.parametrize(("machine", "design"), long_except(product(MACHINES, DESIGNS), *USUAL))
def test_more_resources_do_not_slow_a_run(machine: str, design: str) -> None:
    found = {
        (parameter, workload): percent
        for parameter in PARAMETERS
        for workload, percent in slowdowns(measure(machine, design, parameter)).items()
    }
    listed = {
        (each.parameter, each.workload): each.slower
        for each in EXEMPTIONS
        if (each.machine, each.design) == (machine, design)
    }
    problems = [
        f"{parameter}, {workload}: {found.get((parameter, workload), 0):.1f}% slower, "
        f"{listed.get((parameter, workload), 0):.1f}% in the list of exemptions"
        for parameter, workload in {**found, **listed}
        if abs(found.get((parameter, workload), 0) - listed.get((parameter, workload), 0)) > 0.5
    ]
    assert not problems, "\n".join(problems)


# Janus's backend isn't allowed on lalea, whose log queue isn't persistent.
@pytest.mark.parametrize("design", long_except(DESIGNS[:-1], "sw-undo"))
@pytest.mark.parametrize("machine", ["lalea", "pmem-spec"])
def test_shorter_occupancy_of_banks_does_not_slow_a_run(machine: str, design: str) -> None:
    assert slowdowns(measure(machine, design, OCCUPANCY)) == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "exemption",
    [each for each in EXEMPTIONS if each.without],
    ids=lambda each: f"{each.machine}-{each.design}-{each.parameter}-{each.workload}",
)
def test_experiments_show_the_mechanisms(exemption: Exemption) -> None:
    times = measure(exemption.machine, exemption.design, exemption.parameter, exemption.without)
    assert exemption.workload not in slowdowns(times)


def test_slowdowns_in_made_up_times_are_found() -> None:
    same = [100.0, 100.0, 100.0]
    times = dict.fromkeys(WORKLOADS, same)
    assert slowdowns(times) == {}
    assert slowdowns({**times, "queue": [100, 104, 104]}) == {}
    assert slowdowns({**times, "queue": [100, 90, 104]}) == pytest.approx(
        {MEAN: 100 * ((104 / 90) ** (1 / 5) - 1), "queue": 100 * (104 / 90 - 1)}
    )
    assert set(slowdowns({name: [100.0, 99.0, 100.5] for name in WORKLOADS})) == {MEAN}
