"""Statistics do not contradict each other, and are known without a run."""

from __future__ import annotations

from itertools import product

import pytest

from pmemsim import _core, run
from pmemsim.declared_statistics import statistic_of, statistics
from pmemsim.errors import ConfigError
from pmemsim.presets import preset_names
from pmemsim.simulation import configure
from pmemsim.targets import find_target
from support import ROOT, pmemsim, preset_pairs

FOUR_THREADS = ROOT / "tests" / "pins" / "recordings" / "four_threads.pmt"
LEAST_RELATIONS = 190
"""Those of two cores on the simplest design, so that no check passes on nothing."""
# Their data and metadata can't become persistent in one step on some machines.
WITH_METADATA = ("serialized", "parallel", "janus", "ideal", "ideal-free")


def test_every_design_on_every_machine_checks_relations_between_its_statistics() -> None:
    undo = find_target("queue", threads=2, regions=8, items=8).trace()
    redo = find_target("memcached", log="redo", threads=2, regions=8, items=8).trace()
    refused = set()
    pairs = preset_pairs()
    for design, machine in pairs:
        try:
            configuration = configure(design, machine)
            trace = redo if configuration.runs_redo_logs else undo
            measured = _core.simulate(trace.file, configuration, None, [], None)
        except ConfigError:
            refused.add((design, machine))
            continue
        assert measured.relations >= LEAST_RELATIONS, (design, machine)
    assert refused == set(product(WITH_METADATA, ("cxl-gpf", "cxl-nv-cmm", "lalea"))) & set(pairs)


def test_times_of_single_cores_add_up_to_those_of_the_run() -> None:
    found = run(FOUR_THREADS, design="asap", machine="asap")
    totals = [sum(core.values()) for core in found.core_stalls]
    assert len(set(totals)) == 4  # each core ends at a time of its own
    for name in found.core_stalls[0]:
        of_cores = sum(core[name] for core in found.core_stalls)
        assert of_cores == pytest.approx(found.stats[name], abs=1e-6), name
    assert sum(totals) == pytest.approx(found.stats["stall.total_ns"])
    shown = pmemsim("run", FOUR_THREADS, "-d", "asap", "-m", "asap", "--per-core").stdout
    lines = shown.partition("time of each core")[2].splitlines()
    times = [line.split("│")[2].strip() for line in lines if line.startswith("│")]
    assert times == [f"{total / 1000:.4g} us" for total in totals]


@pytest.mark.parametrize("of", ["region", "commit"])
def test_histograms_have_each_region_and_the_percentiles(of: str) -> None:
    found = run(FOUR_THREADS, design="asap", machine="asap")
    latencies = {"region": found.region_latencies, "commit": found.commit_latencies}[of]
    each = [shortest for shortest, count in latencies for _ in range(count)]
    assert len(each) == found.regions == 48
    assert each == sorted(each)
    # Percentiles are the shortest latencies of their intervals, too: here of regions 24 and 48.
    assert found.stats[f"core.{of}_latency_p50_ns"] == each[23]
    assert found.stats[f"core.{of}_latency_p99_ns"] == each[47]


def test_statistics_of_runs_are_known_with_the_place_of_their_declaration() -> None:
    every = statistics()
    files = (ROOT / "tests" / "pins" / "counts").glob("*.txt")
    counted = {line.split()[3] for file in files for line in file.read_text().splitlines()}
    known = {name for name in counted if not name[4:5].isdecimal()} - {"result.time_ns"}
    assert len(known) > 150
    assert known <= set(every)
    for each in every.values():
        lines = (ROOT / each.file).read_text().splitlines()[each.line - 1 : each.line + 1]
        declared = each.name.rpartition(".")[2]
        assert any(declared in line or "name" in line for line in lines), each


def test_relations_of_statistics_lead_from_parts_to_wholes_and_back() -> None:
    merged = statistic_of("pm.writes_merged")
    assert merged.relations == ("adds up with others to pm.writes",)
    assert "pm.writes_merged" in statistic_of("pm.writes").parts
    assert (merged.component, merged.module) == ("pm", "machine/memory")
    assert merged.designs == preset_names("design")
    assert merged.machines == preset_names("machine")
    assert set(statistic_of("hops.epochs").designs) == {"hops", "hops-bare", "hops-redo"}
    assert statistic_of("oram.accesses").backends == ["backend=oram"]
    assert statistic_of("core3.loads") is statistic_of("core.loads")


def test_show_statistic_prints_place_relations_and_designs() -> None:
    shown = pmemsim("show", "statistic", "hops.epochs").stdout
    for text in ("Epochs that", "designs/ordering", "hops.cpp:", "hops, hops-bare, hops-redo"):
        assert text in shown
    listed = pmemsim("list", "statistics").stdout
    assert all(f" {name} " in listed for name in statistics())


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("pm.write", "did you mean 'pm.writes'?"),
        ("core.fence", "did you mean 'core.fences'?"),
        ("zzz", "`pmemsim list statistics` shows all"),
    ],
)
def test_an_unknown_statistic_is_refused_with_a_cure(name: str, cure: str) -> None:
    done = pmemsim("show", "statistic", name)
    assert done.returncode == 2
    assert f"unknown statistic '{name}'; {cure}" in done.stderr


def test_a_quantity_that_only_checks_use_is_explained() -> None:
    done = pmemsim("show", "statistic", "run.drained_ns")
    assert done.returncode == 2
    assert "'run.drained_ns' is not a statistic: runs compute it only to check" in done.stderr
