"""Python's functions accept NumPy's and pandas' values, and refuse wrong ones in sentences.

Frames have the columns, with their types, that the documentation names, even without rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch

import pmemsim
from pmemsim import plots
from pmemsim.errors import did_you_mean, near
from pmemsim.jobs import Job, Simulate
from pmemsim.sweeping.points import points_of, reason_of
from pmemsim.sweeping.series import Wanted, check_wanted
from pmemsim.sweeping.spec import spec_of
from pmemsim.targets import Target
from support import ROOT

PINS = ROOT / "tests" / "pins" / "recordings"
ONE, FOUR = PINS / "one_thread.pmt", PINS / "four_threads.pmt"
LOST = PINS / "corpus" / "publish_unpersisted.pmt"
ON_ASAP: dict[str, Any] = {"machine": "asap", "progress": False}
AXES = {"workload": str(ONE), "design": ["np", "asap"], "machine": "asap"}
untyped: Any = pmemsim
"""The functions for calls that type checkers refuse."""
LETTERS = [chr(ord("a") + number) for number in range(20)]


def test_plot_of_more_designs_than_colours_gives_each_its_own_look() -> None:
    axes = Figure().subplots()
    plots.grouped_bars(axes, ["a", "geomean"], {name: [1.0, 1.0] for name in LETTERS})
    containers: list[Any] = list(axes.containers)
    bars = [each[0] for each in containers if isinstance(each[0], Rectangle)]
    assert len(bars) == len(LETTERS)
    assert len({(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in bars}) == len(LETTERS)
    axes = Figure().subplots()
    plots.curves(axes, [1, 2], {name: [1.0, 2.0] for name in LETTERS})
    lines = {(str(each.get_color()), str(each.get_linestyle())) for each in axes.lines}
    assert len(lines) == len(LETTERS)


def test_histogram_shows_every_design_from_the_decade_of_the_shortest_latency() -> None:
    axes = Figure().subplots()
    plots.histograms(axes, {name: [(35.0, 3), (200.0, 1)] for name in LETTERS})
    drawn = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    assert [patch.get_label() for patch in drawn] == LETTERS
    edges = drawn[0].get_data()[1]
    assert (edges[0], round(edges[-1])) == (10.0, 1000)
    assert len({(str(p.get_edgecolor()), str(p.get_linestyle())) for p in drawn}) == len(LETTERS)


def test_arrays_indexes_generators_and_numbers_of_numpy_are_arguments() -> None:
    names = pmemsim.designs().loc[["np", "asap"]].index
    values: list[Any] = [names, names.to_numpy(), pd.Series(names), (name for name in names)]
    one: Any = np.int64(1)
    for designs in values:
        compared = pmemsim.compare([ONE], designs=designs, jobs=one, **ON_ASAP)
        assert compared.designs == ("np", "asap")
    machines: Any = pmemsim.machines().loc[["asap", "cxl"]].index
    both = pmemsim.compare([ONE], designs=["np"], machine=machines, progress=False)
    assert both.machines == ("asap", "cxl")
    run = untyped.WorkloadRun.of("queue", threads=np.int64(2))
    assert type(run.threads) is int
    assert len(untyped.Trace(ONE).to_frame(thread=np.int64(0))) > 1


def test_frame_of_two_machines_has_machine_design_and_both_ratios() -> None:
    compared = pmemsim.compare(
        [ONE], designs=["np", "sw-undo"], machine=["asap", "cxl"], progress=False
    )
    frame = compared.to_frame()
    assert frame.index.names == ["workload", "design", "machine"]
    times, ratios = (
        frame.xs("cxl", level="machine")[name] for name in ("time_ns", "ratio_on_machine")
    )
    ratio = ratios.xs("sw-undo", level="design").iloc[0]
    base, own = (times.xs(name, level="design").iloc[0] for name in ("np", "sw-undo"))
    assert ratio == pytest.approx(base / own)
    assert compared.geomean(on_machine=True)["sw-undo on cxl"] == ratio
    single = pmemsim.compare([ONE], designs=["np"], **ON_ASAP).to_frame()
    assert single.index.names == ["workload", "design"]
    assert single["machine"].tolist() == ["asap"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: untyped.run("queue", design="np", threads="2", **ON_ASAP),
            "^threads: '2': must be a whole number$",
        ),
        (
            lambda: untyped.run("queue", design="np", threads=True, **ON_ASAP),
            "^threads: True: must be a whole number$",
        ),
        (lambda: untyped.WorkloadRun.of("queue", threads=2.5), "^threads: 2.5: must be a whole"),
        (
            lambda: untyped.WorkloadRun.of("queue", thread=2),
            "^unknown argument 'thread'; did you mean 'threads'\\?$",
        ),
        (
            lambda: untyped.compare([ONE], designs=["np", "np"], **ON_ASAP),
            "^design 'np' is given twice; remove one$",
        ),
        (
            lambda: untyped.compare([ONE], designs=["np"], machine=["asap", "asap"]),
            "^machine 'asap' is given twice; remove one$",
        ),
        (
            lambda: untyped.run(ONE, machine="asap"),
            "^run: the argument 'design' is missing$",
        ),
        (
            lambda: untyped.run(ONE, "asap", machine="asap"),
            "^run: only trace may be given without a name; write design=",
        ),
        (lambda: untyped.sweep({}, thread=1), "^sweep: unknown argument 'thread'"),
        (
            lambda: untyped.crash(ONE, designs=["asap"], at=5, **ON_ASAP),
            "^at: 5: must be a number with a unit of time, as in 12.5us$",
        ),
        (
            lambda: untyped.check(ONE, strict="no", progress=False),
            "^strict 'no': must be True or False$",
        ),
        (
            lambda: untyped.run(ONE, design="np", machine="asap", progress="no"),
            "^progress 'no': must be True or False$",
        ),
        (lambda: untyped.check(ONE, baseline=3), "3: must be the path of a file$"),
        (lambda: untyped.sweep({"axes": AXES}, out=4), "4: must be the path of a file$"),
        (lambda: untyped.replay(3), "^packed 3: must be the path of a file$"),
        (
            lambda: untyped.matrix(ONE, baseline="foo", **ON_ASAP),
            "^baseline: foo: unknown design 'foo'",
        ),
        (
            lambda: untyped.sweep({"axes": AXES}, out="x.xlsx"),
            "^x.xlsx: the suffix selects the file's format; use .parquet or .csv$",
        ),
        (lambda: untyped.sweep({"axis": AXES}), "^spec: axis: unknown key.*\n.*'axes' is missing$"),
        (lambda: untyped.sweep({"axes": [1]}), "^spec: axes: must be a dict$"),
        (lambda: untyped.sweep(ONE), "not YAML: the file is no text in UTF-8$"),
        (
            lambda: untyped.record("./mine", "n.pmt", pm_paths="pm"),
            r"^command: must be a list, as in \['./mine'\]\npm_paths: must be a list",
        ),
        (lambda: untyped.record_workload("queue"), "^run: 'queue' must be a WorkloadRun"),
        (lambda: untyped.simulate("x.pmt", "asap"), "must be a Trace.*\n.*must be a Conf"),
        (
            lambda: untyped.Trace(ONE).to_frame(thread="0"),
            "there is no thread '0', only threads 0 to 0$",
        ),
        (
            lambda: untyped.timeline(ONE, "x.kanata", design="np", **ON_ASAP),
            "^x.kanata: the suffix is that of kanata; choose format kanata, or another suffix$",
        ),
    ],
)
def test_wrong_values_give_sentences_that_name_value_and_argument(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(pmemsim.Error, match=message):
        call()


def test_check_that_checked_nothing_is_an_error_and_never_ok() -> None:
    queue = pmemsim.examples()["queue"]
    assert pmemsim.check(queue, jobs=1, progress=False).ok
    with pytest.raises(pmemsim.Error, match=r"^images: queue: the checker read no data"):
        pmemsim.check(queue, verify="true", progress=False)
    # A finding of the rules isn't lost because the checker has failed.
    found = pmemsim.check(LOST, verify="true", progress=False)
    assert found.found
    assert not found.ok
    assert found.failed[0].startswith("images: ")
    assert found.failed[0] in found.title


def test_empty_frames_have_columns_with_types(tmp_path: Path) -> None:
    empty = pmemsim.check(pmemsim.examples()["queue"], progress=False).to_frame()
    full = pmemsim.check(LOST, progress=False).to_frame()
    assert empty.dtypes.to_dict() == full.dtypes.to_dict()
    assert empty[empty.loses_data]["kind"].tolist() == []
    assert (full.thread[0], full.other[0]) == (1, "publish_unpersisted.c:24")
    path = tmp_path / "x.pftrace"
    frames = [
        pmemsim.timeline(ONE, path, design="np", slowest=n, **ON_ASAP).to_frame() for n in (None, 1)
    ]
    assert frames[0].index.name == frames[1].index.name == "rank"
    assert frames[0].dtypes.to_dict() == frames[1].dtypes.to_dict()
    crashed = pmemsim.crash(ONE, designs=["asap"], points=1, verify_images=0, **ON_ASAP)
    assert str(crashed.to_frame().unchecked.dtype) == "Int64"


def test_timeline_after_the_end_of_the_run_is_an_error(tmp_path: Path) -> None:
    for name, format in (("a.pftrace", "perfetto"), ("a.kanata", "kanata")):
        late = {"design": "np", "start": "5s", "format": format, **ON_ASAP}
        with pytest.raises(pmemsim.Error, match="nothing is within the bounds; the run ends at"):
            untyped.timeline(ONE, tmp_path / name, **late)
        assert not (tmp_path / name).exists()


def test_failed_points_have_every_documented_column() -> None:
    axes = {**AXES, "threads": 2}
    frame = pmemsim.sweep({"axes": axes}, progress=False).to_frame()
    assert "this is a recording" in frame.reason[0]
    assert frame.time_ns.isna().all()
    assert str(frame.cores.dtype) == "Int64"


def test_reason_of_a_failed_point_has_no_path_of_this_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pmt").write_bytes(ONE.read_bytes())
    for name in ("./a.pmt", "a.pmt", str(tmp_path / "a.pmt")):
        job = Job(pmemsim.Trace(name), Simulate(pmemsim.configure("np", "asap")))
        for path in (name, tmp_path / "a.pmt"):
            reason = reason_of(job, {"workload": name}, "spec", f"spec: {path}: too many")
            assert reason == f"{name}: too many"
    job = Job(pmemsim.Trace("a.pmt"), Simulate(pmemsim.configure("np", "asap")))
    reason = reason_of(job, {"workload": "queue"}, "s.yaml", f"s.yaml: {tmp_path}/a.pmt: no")
    assert reason == "queue: no"


def test_progress_of_a_sweep_names_the_varied_values() -> None:
    combinations = [
        {"workload": str(ONE), "design": "np", "machine": "asap", "pm.wpq_entries": entries}
        for entries in ("8", "16")
    ]

    def opened(targets: list[Target]) -> list[pmemsim.Trace | pmemsim.Error]:
        return [target.trace() for target in targets]

    jobs = [point.job for point in points_of(combinations, opened, "spec")]
    assert [job.label for job in jobs if isinstance(job, Job)] == [
        "one_thread.pmt on np (pm.wpq_entries 8)",
        "one_thread.pmt on np (pm.wpq_entries 16)",
    ]


def test_suggestions_prefer_names_that_begin_as_given() -> None:
    assert near("pm.wpq", ["pm.twr", "pm.wpq_entries"]) == "pm.wpq_entries"
    assert near("np", ["np-long"]) is None
    assert did_you_mean("foo", ["b", "a"]) == "; known names: a, b"
    spec = spec_of({"axes": AXES}, "spec")
    with pytest.raises(pmemsim.Error, match=r"y=foo: .* choose one of speedup, cores.*\)$"):
        check_wanted(Wanted("design", "foo", None), spec)
    with pytest.raises(pmemsim.Error, match=r"hue=design: must be another axis than x$"):
        check_wanted(Wanted("design", "time_ns", "design"), spec)
