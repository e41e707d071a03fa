"""The operations of a map's regions (--mix), and the number of its items (--items)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pmemsim.errors import ConfigError, Error
from pmemsim.reproduction.papers import load_paper
from pmemsim.targets import find_target
from pmemsim.trace import DETAILS, KINDS
from pmemsim.workload_runs import MIXES, WorkloadRun, workloads
from support import ROOT, long_except, pmemsim

REGIONS = 200
MARK = KINDS.index("mark")
MAPS = ("hashmap", "rbtree", "btree", "ctree", "binary_tree", "skiplist")


def marks(workload: str, mix: str, warm_up: int = 0) -> dict[str, int]:
    """Return the number of each kind of mark in a recording of 200 regions on 300 items."""
    target = find_target(workload, threads=2, regions=REGIONS, items=300, mix=mix, warm_up=warm_up)
    trace = target.trace()
    counts = dict.fromkeys(DETAILS["mark"], 0)
    for thread in range(trace.threads):
        for chunk in trace.operations(thread):
            details = chunk.records[chunk.records["kind"] == MARK]["detail"]
            for detail, count in zip(*np.unique(details, return_counts=True), strict=True):
                counts[DETAILS["mark"][detail]] += int(count)
    assert counts["region_begin"] == REGIONS
    return counts


@pytest.mark.parametrize("workload", long_except(MAPS, "hashmap"))
def test_each_region_of_insert_adds_an_item(workload: str) -> None:
    found = marks(workload, "insert")
    assert found["allocate"] >= REGIONS  # a B-tree splits nodes, too
    assert found["free"] == 0


def test_insertions_go_on_where_those_of_the_warm_up_ended() -> None:
    assert marks("hashmap", "insert", warm_up=101)["allocate"] == REGIONS


@pytest.mark.parametrize("workload", long_except(MAPS, "hashmap"))
def test_every_other_region_of_read_update_writes(workload: str) -> None:
    found = marks(workload, "read-update")
    assert found["allocate"] == found["free"] == 0
    # An update declares its stamp and its data, a read nothing.
    assert 2 * 70 <= found["log_range"] <= 2 * 130


def test_regions_of_insert_delete_keep_the_number_of_items() -> None:
    found = marks("rbtree", "insert-delete")
    magazines = found["allocate"] + found["free"] - REGIONS  # the allocator's own magazines
    assert 0 <= magazines <= 5
    assert abs(found["allocate"] - found["free"]) <= 60


def test_default_mix_equals_the_same_mix_by_name() -> None:
    default = WorkloadRun.of("hashmap")
    named = WorkloadRun.of("hashmap", mix="insert-update")
    assert default.arguments == named.arguments
    assert default.cached_trace == named.cached_trace
    assert default.cached_trace != WorkloadRun.of("hashmap", mix="insert").cached_trace


def test_each_workload_has_the_mixes_that_it_says() -> None:
    can = {name: workload.mixes for name, workload in workloads().items() if workload.mixes}
    assert can.pop("queue_lowlevel") == ("sections",)
    assert set(can) == {*MAPS, "linked_list", "hashmap_lowlevel", "tatp_lowlevel", "tpcc_lowlevel"}
    for name, mixes in can.items():
        assert ("pmweaver" in mixes) == (name != "linked_list")
        assert ("insert" in mixes) == (name not in ("tatp_lowlevel", "tpcc_lowlevel"))
        assert set(mixes) <= set(MIXES[1:])
    with pytest.raises(ConfigError, match="mix: insert-delete: hashmap has insert-update, ins"):
        WorkloadRun.of("hashmap", mix="insert-delete")
    with pytest.raises(ConfigError, match="mix: insert: queue has only one mix; remove mix"):
        WorkloadRun.of("queue", mix="insert")
    with pytest.raises(ConfigError, match="mix: inserts: must be one of insert-update, insert"):
        WorkloadRun.of("hashmap", mix="inserts")


def test_the_command_line_takes_mix_and_items(tmp_path: Path) -> None:
    size = ("--threads", "1", "--regions", "20", "--items", "50")
    done = pmemsim("record", "rbtree", *size, "--mix", "insert", "-o", "r.pmt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.pmt").is_file()
    refused = pmemsim("record", "queue", *size, "--mix", "insert", "-o", "q.pmt", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "pmemsim: --mix insert: queue has only one mix; remove --mix\n"


def test_experiment_sets_the_mix_of_its_benchmarks(tmp_path: Path) -> None:
    folder = tmp_path / "lalea"
    shutil.copytree(ROOT / "experiments" / "lalea", folder)
    plan = folder / "experiment.yaml"
    text = plan.read_text()
    plan.write_text(text.replace("{workload: hashmap,", "{workload: hashmap, mix: insert,"))
    paper = load_paper(str(folder))
    (table, *_) = [each for each in paper.benchmarks if each.workload == "hashmap"]
    case = paper.case(paper.experiments["fig4"], "REDU", paper.experiments["fig4"].points[0],
                      table, 1, "quick")  # fmt: skip
    assert "--mix=insert" in case.run.arguments
    wrong = shutil.copytree(folder, tmp_path / "wrong")
    (wrong / plan.name).write_text(
        text.replace("{workload: hashmap,", "{workload: hashmap, mix: delete,")
    )
    with pytest.raises(Error, match="unknown mix 'delete'"):
        load_paper(str(wrong))
