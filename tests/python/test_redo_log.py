"""The redo log of pm.h's library: its recordings, the design that runs them, and whole runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pmemsim import run
from pmemsim.targets import find_target
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun, find_workload, workloads
from support import long_except, pmemsim

REDO = ("vacation", "memcached")
SMALL = {"threads": 4, "regions": 100, "items": 100}
SMALL_OPTIONS = ("--threads", "4", "--regions", "100", "--items", "100")
STEPS = ["log", "commit", "data_flush", "release"]


def compile_c(source: Path, *options: str, output: Path | None = None) -> Path:
    program = output or source.with_suffix("")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    command: list[str | Path] = [compiler, *options, source, "-o", program]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def recorded(workload: str, opt: str = "O2", **more: int | str | bool) -> Trace:
    arguments: dict[str, int | str | bool] = {**SMALL, "log": "redo", **more}
    return find_target(workload, opt=opt, **arguments).trace()


def test_catalogue_lists_the_workloads_with_a_redo_log() -> None:
    assert tuple(name for name, workload in workloads().items() if "redo" in workload.logs) == REDO
    assert find_workload("queue").logs == ("undo",)


@pytest.mark.parametrize("opt", long_except(["O0", "O2"], "O2"))
@pytest.mark.parametrize("workload", long_except(REDO, "memcached"))
def test_redo_log_region_logs_commits_stores_and_releases(workload: str, opt: str) -> None:
    trace = recorded(workload, opt)
    assert {region["source"] for region in trace.metadata["pm_regions"]} == {"pm_open, redo log"}
    pm = trace.metadata["pm_regions"][0]
    frame = trace.to_frame(0)
    in_pm = frame["address"].between(pm["begin"], pm["end"] - 1)
    regions = (frame["kind"] == "mark") & (frame["detail"] == 2) & (frame["address"] == 1)
    number = regions.cumsum()
    fences = frame[frame["kind"] == "fence"]
    for _, of_region in fences.groupby(number[fences.index]):
        purposes = list(of_region["purpose"])
        # A region without stores has none; between two, the allocator may have one of its own.
        assert purposes == STEPS * (len(purposes) // len(STEPS))
    # The program's stores to its own data are between the commit word and the release.
    stores = frame[frame["kind"].isin(["store", "copy_store"]) & in_pm]
    stored = stores[(stores["purpose"] == "program") & (number[stores.index] > 0)]
    assert len(stored) > 100
    last = fences["purpose"].reindex(frame.index).ffill()
    assert set(last[stored.index]) == {"commit"}


@pytest.mark.parametrize(
    ("design", "opt"),
    long_except(
        [("sw-redo", "O0"), ("sw-redo", "O2"), ("dpo-redo", "O2"), ("hops-redo", "O2"),
         ("pmem-spec-redo", "O2")],
        ("sw-redo", "O2"), ("hops-redo", "O2"),
    ),
)  # fmt: skip
@pytest.mark.parametrize("workload", long_except(REDO, "memcached"))
def test_redo_log_recovers_from_every_crash(
    workload: str, design: str, opt: str, tmp_path: Path
) -> None:
    output = tmp_path / "crash.json"
    done = pmemsim(
        "crash", workload, "--design", design, "--log", "redo", *SMALL_OPTIONS, "--opt", opt,
        "--subsets", "1", "--verify-images", "4", "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (crashed,) = json.loads(output.read_text())["runs"]
    assert crashed["points"] == crashed["all_points"] > 500
    assert crashed["restarts"] > 100
    assert crashed["repaired"] > 50
    assert crashed["checked"] == 4
    assert crashed["violations"] == 0


def test_redo_log_is_recorded_with_up_to_64_threads() -> None:
    for threads in (8, 64):
        trace = recorded("vacation", threads=threads, regions=2 * threads)
        result = run(trace, design="sw-redo", machine="asap", overrides={"core.count": "64"})
        assert result.threads == threads
        assert result.regions == 2 * threads


def test_run_rejects_a_design_for_the_other_kind_of_log() -> None:
    redo = pmemsim("run", "memcached", *SMALL_OPTIONS, "--log", "redo", "-d", "asap", "-m", "asap")
    assert redo.returncode == 2
    assert redo.stderr.splitlines()[-1] == (
        "pmemsim: designs/asap.yaml:6: atomicity=asap can't run a recording with a redo log, in "
        "which a region's stores are at its end; choose atomicity=software-redo, or record it "
        "with an undo log (a program of your own: without -DPM_REDO_LOG)"
    )
    undo = pmemsim("run", "queue", *SMALL_OPTIONS, "-d", "sw-redo", "-m", "asap")
    assert undo.returncode == 2
    assert undo.stderr.splitlines()[-1] == (
        "pmemsim: designs/sw-redo.yaml:6: atomicity=software-redo needs a recording with a redo "
        "log: record it with one (a program of your own: compiled with -DPM_REDO_LOG), or "
        "choose another atomicity: none, software-undo, hw-undo, hw-redo, asap, lad"
    )


def test_record_rejects_a_workload_without_a_redo_log(tmp_path: Path) -> None:
    done = pmemsim("record", "queue", "--log", "redo", "-o", tmp_path / "queue.pmt")
    assert done.returncode == 2
    assert done.stderr == (
        "pmemsim: --log redo: queue stores to its data directly, which requires an undo log; "
        "workloads with a redo log: vacation, memcached\n"
    )
    done = pmemsim("record", "queue", "--log", "both", "-o", tmp_path / "queue.pmt")
    assert done.returncode == 2
    assert done.stderr == "pmemsim: --log both: must be one of undo, redo\n"
    done = pmemsim("record", "--all", "--log", "undo", "--out-dir", tmp_path / "all")
    assert done.returncode == 2
    assert "--all: leave out --log undo; it records every workload" in done.stderr


def test_undo_and_redo_log_recordings_are_cached_separately() -> None:
    undo, redo = (WorkloadRun.of("vacation", log=log) for log in ("undo", "redo"))
    assert undo.arguments == redo.arguments
    assert undo.cached_trace != redo.cached_trace
    assert undo == WorkloadRun.of("vacation")


COUNTER = """
#include <stdio.h>
#include "pmemsim/pm.h"
struct counters { uint64_t hits; uint32_t misses, lost; double mean; };
int main(void) {
  pm_pool* pool = pm_open(NULL, 8 << 20, 0);
  struct counters* c = pm_root(pool, sizeof *c);
  const struct counters* read_only = c;
  pm_roi_begin();
  for (int i = 0; i < 20; ++i) {
    pm_begin(pool);
    pm_log(c, sizeof *c);
    pm_set(c->hits, pm_get(read_only->hits) + 1);
    pm_set(c->misses, pm_get(read_only->misses) + 2);
    pm_set(c->lost, pm_get(c->misses) + 1);
    pm_set(c->mean, pm_get(read_only->mean) + 0.5);
    if (pm_get(c->lost) != 2u * (unsigned)i + 3) return 3;
    pm_end();
    if (c->lost != 2u * (unsigned)i + 3 || c->mean != 0.5 * (i + 1)) return 4;
  }
  pm_roi_end();
  return pm_close(pool);
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_user_program_works_with_undo_and_redo_log(tmp_path: Path, level: str) -> None:
    source = tmp_path / "counter.c"
    source.write_text(COUNTER)
    for options, design in (([], "sw-undo"), (["-DPM_REDO_LOG"], "sw-redo")):
        program = compile_c(source, level, *options)
        trace = tmp_path / f"{design}.pmt"
        done = pmemsim("record", "-o", trace, "--", program)
        assert done.returncode == 0, done.stderr
        crashed = pmemsim("crash", trace, "--design", design, "--subsets", "3")
        assert crashed.returncode == 0, crashed.stderr


def test_program_and_library_with_different_logs_do_not_link(tmp_path: Path) -> None:
    source = tmp_path / "counter.c"
    source.write_text(COUNTER)
    compiled = tmp_path / "counter.o"
    compile_c(source, "-O2", "-DPM_REDO_LOG", "-c", output=compiled)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        compile_c(compiled, "-O2", output=tmp_path / "counter")
    assert "pm_open_with_redo_log" in failed.value.stderr
    compile_c(compiled, "-O2", "-D", "PM_REDO_LOG", output=tmp_path / "counter")


@pytest.mark.parametrize("log", long_except(["undo", "redo"], "redo"))
def test_whole_run_includes_the_set_up(log: str) -> None:
    part = recorded("vacation", log=log, items=50)
    whole = recorded("vacation", log=log, items=50, whole_run=True)
    assert whole.metadata["arguments"][-1] == "--whole-run"
    # Each of the four tables gets a row a region; making the root takes one, too.
    set_up = 4 * 50
    regions = [trace.summary()["total"]["regions"] for trace in (part, whole)]
    assert regions[0] == 100
    assert regions[1] >= regions[0] + set_up + 1
    design = f"sw-{log}"
    times = [run(trace, design=design, machine="pmem-spec").time_ns for trace in (part, whole)]
    assert times[1] > 1.5 * times[0]


@pytest.mark.parametrize("log", long_except(["undo", "redo"], "redo"))
def test_whole_run_recovers_from_every_crash(log: str) -> None:
    """This includes crashes while the pool is made, and before the structure exists."""
    done = pmemsim(
        "crash", "vacation", "--design", f"sw-{log}", "--log", log, "--whole-run", "--threads", "2",
        "--regions", "20", "--items", "10", "--subsets", "2", "--verify-images", "50",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
