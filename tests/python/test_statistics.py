"""Every run checks that its statistics do not contradict each other."""

from __future__ import annotations

from itertools import product

from pmemsim import _core
from pmemsim.errors import ConfigError
from pmemsim.presets import preset_names
from pmemsim.simulation import configure
from pmemsim.targets import find_target

LEAST_RELATIONS = 190
"""Those of two cores on the simplest design, so that no check passes on nothing."""
# Their data and metadata can't become persistent in one step on some machines.
WITH_METADATA = ("serialized", "parallel", "janus", "ideal", "ideal-free")


def test_every_design_on_every_machine_checks_relations_between_its_statistics() -> None:
    undo = find_target("queue", threads=2, regions=8, items=8).trace()
    redo = find_target("vacation", log="redo", threads=2, regions=8, items=8).trace()
    refused = set()
    for design in preset_names("design"):
        for machine in preset_names("machine"):
            try:
                settings = configure(design, machine).settings
                trace = redo if _core.runs_redo_logs(settings) else undo
                run = _core.simulate(trace.file, settings, None, [], None)
            except ConfigError:
                refused.add((design, machine))
                continue
            assert run["relations"] >= LEAST_RELATIONS, (design, machine)
    assert refused == set(product(WITH_METADATA, ("cxl-gpf", "lalea")))
