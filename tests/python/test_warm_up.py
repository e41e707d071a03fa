"""Regions before the measured part (--warm-up) leave the caches as a longer run would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pmemsim import run
from pmemsim.errors import ConfigError, Error
from pmemsim.reproduction.papers import load_paper
from pmemsim.reproduction.plan import Paper
from pmemsim.targets import find_target
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun
from support import ONE_OF_EACH_KIND, ROOT, long_except, pmemsim


@pytest.mark.parametrize(
    "workload", long_except([*ONE_OF_EACH_KIND, "hashmap"], "queue", "hashmap")
)
def test_only_the_measured_regions_are_recorded(workload: str) -> None:
    # The programs check their structures, and how many items they have, after both parts.
    def recorded(warm_up: int) -> Trace:
        target = find_target(workload, threads=2, regions=20, items=200, warm_up=warm_up)
        return target.trace()

    warm, cold = recorded(50), recorded(0)
    assert warm.summary()["total"]["regions"] == cold.summary()["total"]["regions"]
    assert warm.hash != cold.hash


@pytest.mark.long
def test_warm_up_fills_the_caches() -> None:
    # 20,000 subscribers don't fit in caches of 256 KiB, but most regions are of a few of them.
    def reads(warm_up: int) -> float:
        target = find_target("tatp", threads=1, regions=100, items=20_000, warm_up=warm_up)
        small = {"l2.size": "64KiB", "shared.size": "256KiB"}
        return float(
            run(target.trace(), design="np", machine="lalea", overrides=small).stats["pm.reads"]
        )

    assert reads(4000) < 0.9 * reads(0)


def test_record_accepts_the_warm_up_option(tmp_path: Path) -> None:
    size = ("--threads", "1", "--regions", "20", "--items", "50")
    done = pmemsim("record", "queue", *size, "--warm-up", "30", "-o", "q.pmt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Trace(tmp_path / "q.pmt").metadata["arguments"][-1] == "--warm-up=30"
    refused = pmemsim("record", "queue", *size, "--warm-up", "-1", "-o", "r.pmt", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "pmemsim: --warm-up -1: must be 0 to 4294967296\n"


def test_warm_up_of_0_adds_no_argument() -> None:
    assert WorkloadRun.of("queue", warm_up=0).arguments == WorkloadRun.of("queue").arguments
    with pytest.raises(ConfigError, match="warm_up: -1: must be 0 to 4294967296"):
        WorkloadRun.of("queue", warm_up=-1)


def test_experiment_sets_the_length_of_the_warm_up(tmp_path: Path) -> None:
    folder = tmp_path / "lalea"
    shutil.copytree(ROOT / "experiments" / "lalea", folder)
    plan = folder / "experiment.yaml"
    paper = load_paper(str(folder))
    by_name = {benchmark.name: benchmark for benchmark in paper.benchmarks}

    def warm_up(paper: Paper, benchmark: str) -> int:
        study = paper.experiments["fig4"]
        point = study.points[0]
        return paper.case(study, "REDU", point, by_name[benchmark], 1, "quick").run.warm_up

    # A share of the regions is one of the warm-up, too.
    assert warm_up(paper, "TATP") == 20_000
    assert warm_up(paper, "TPCC") == 5_000
    assert warm_up(paper.ablated(paper.ablations["no-warm-up"], "fig4"), "TATP") == 0
    wrong = shutil.copytree(folder, tmp_path / "wrong")
    text = plan.read_text()
    assert "warm_up: {value: " in text
    (wrong / plan.name).write_text(text.replace("warm_up: {value: ", "warm_up: {value: -"))
    with pytest.raises(Error, match=r"experiment.yaml:\d+: value: .-20000. must be a whole number"):
        load_paper(str(wrong))
