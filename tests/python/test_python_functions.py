"""Python's functions do what the commands of their names do, and say what is wrong in Python."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle, StepPatch

import pmemsim
from pmemsim.advice.superfluous import NOTHING
from pmemsim.results import Results
from support import ROOT
from support import pmemsim as command
from tiny_paper import write_paper

PINS = ROOT / "tests" / "pins" / "recordings"
ONE = PINS / "one_thread.pmt"
LOST = PINS / "corpus" / "publish_unpersisted.pmt"
BROKEN = {"pmemsim.faults": "asap.lpo_dropping"}
ON_ASAP: dict[str, Any] = {"machine": "asap", "progress": False}
AXES = {"workload": str(ONE), "design": ["sw-undo", "asap"], "machine": "asap",
        "pm.wpq_entries": [8, 64]}  # fmt: skip

CALLS: dict[str, tuple[Callable[[], Results], list[str]]] = {
    "run": (
        lambda: pmemsim.run(ONE, design="asap", overrides={"core.rob_entries": 64}, **ON_ASAP),
        [str(ONE), "-d", "asap", "-m", "asap", "--set", "core.rob_entries=64"],
    ),
    "compare": (
        lambda: pmemsim.compare([ONE, LOST], designs=["np", "sw-undo"], **ON_ASAP),
        [str(ONE), str(LOST), "-d", "np,sw-undo", "-m", "asap"],
    ),
    "profile": (
        lambda: pmemsim.profile(ONE, design="sw-undo", **ON_ASAP),
        [str(ONE), "-d", "sw-undo", "-m", "asap"],
    ),
    "timeline": (
        lambda: pmemsim.timeline(ONE, "own.pftrace", design="asap", slowest=3, **ON_ASAP),
        [str(ONE), "-d", "asap", "-m", "asap", "-o", "theirs.pftrace", "--slowest", "3"],
    ),
    "crash": (
        lambda: pmemsim.crash(
            [ONE], designs=["asap"], points=40, seed=3, overrides=BROKEN, **ON_ASAP
        ),
        [str(ONE), "-d", "asap", "--points", "40", "--seed", "3", "-s",
         "pmemsim.faults=asap.lpo_dropping"],
    ),
    "check": (
        lambda: pmemsim.check(LOST, verify="false", budget=20, jobs=1, progress=False),
        [str(LOST), "--verify", "false", "--budget", "20", "--jobs", "1"],
    ),
    "advise": (
        lambda: pmemsim.advise(LOST, design="sw-undo", jobs=1, **ON_ASAP),
        [str(LOST), "-d", "sw-undo", "-m", "asap", "--jobs", "1"],
    ),
    "matrix": (
        lambda: pmemsim.matrix(ONE, designs=["np", "asap"], points=20, **ON_ASAP),
        [str(ONE), "-d", "np,asap", "-m", "asap", "--points", "20"],
    ),
    "sweep": (
        lambda: pmemsim.sweep({"axes": AXES}, progress=False),
        ["sweep.yaml"],
    ),
    "reproduce": (
        lambda: pmemsim.reproduce("./tiny", scale="smoke", progress=False),
        ["./tiny", "--scale", "smoke"],
    ),
}  # fmt: skip
"""A call of each function, and the arguments of the command that does the same."""
HOST = ("wall_s", "points_per_s", "images_per_s", "instructions_per_wall_s", "command")
"""Values that differ between two runs, and the command that repeats one."""


def of_simulation(value: object) -> object:
    """Return the values without those of the host and of the place that set a parameter."""
    if isinstance(value, dict):
        return {
            key: of_simulation(each)
            for key, each in value.items()
            if key not in (*HOST, "place", "point")
        }
    return [of_simulation(each) for each in value] if isinstance(value, list) else value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change into a folder with a sweep's file and a paper, and an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "sweep.yaml").write_text(json.dumps({"axes": AXES}))
    return tmp_path


@pytest.mark.parametrize("name", [name for name in CALLS if name != "reproduce"])
def test_function_gives_the_json_of_its_command_a_frame_and_a_page(name: str, folder: Path) -> None:
    call, arguments = CALLS[name]
    result = call()
    result.to_json(folder / "own.json")
    done = command(name, *arguments, "--json", "theirs.json", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    own, theirs = (json.loads((folder / f"{each}.json").read_text()) for each in ("own", "theirs"))
    assert own["command"] == name
    assert of_simulation(own) == of_simulation(theirs)
    frame, page = result.to_frame(), result._repr_html_()
    assert isinstance(frame, pd.DataFrame)
    assert page.startswith("<p>")
    assert page.count("<tr") <= 25
    assert "<table" in page or frame.empty


def test_reproduce_gives_the_entries_of_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEMSIM_CACHE", str(ROOT / "build" / "test-cache"))
    write_paper(folder / "tiny")
    call, arguments = CALLS["reproduce"]
    result = call()
    assert isinstance(result, pmemsim.Reproduction)
    done = command("reproduce", *arguments, "--json", "theirs.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    theirs = json.loads((folder / "theirs.json").read_text())
    assert of_simulation(result.to_dict()["entries"]) == of_simulation(theirs["entries"])
    assert list(result.to_frame().index) == [entry["id"] for entry in theirs["entries"]]
    drawn = [each.name for each in result.tables if each.has_figure]
    assert all(axes.get_ylabel() for name in drawn for axes in result.plot(name))
    pyplot.close("all")
    with pytest.raises(pmemsim.Error, match="experiment: 'fig99' has no figure here"):
        result.plot("fig99")


def test_frames_of_what_there_is_have_the_names_of_list(folder: Path) -> None:
    for name in ("designs", "backends", "machines", "workloads", "statistics", "experiments"):
        done = command("list", name, "--json", "-")
        entries = json.loads(done.stdout)[name]
        frame = getattr(pmemsim, name)()
        names = frame.index.get_level_values("name")
        assert list(names) == [entry["name"] for entry in entries], name
        assert {*entries[0]} - {*frame.columns} <= {"name", "paper"}
    assert pmemsim.designs().loc["asap", "atomicity"] == "asap"
    assert str(pmemsim.parameters().loc["pm.wpq_entries", "default"]).isdecimal()
    assert "none" in pmemsim.parameters()["choices"].to_dict()["atomicity"]
    assert pmemsim.workloads().loc["queue", "logs"] == ["undo"]


def test_findings_are_returned() -> None:
    crashed = pmemsim.crash(ONE, designs=["asap"], points=40, overrides=BROKEN, **ON_ASAP)
    assert crashed.violations > 0
    assert "to reproduce" not in crashed.to_frame()["explanation"].iloc[0]
    assert "pmemsim crash" in crashed.to_frame()["explanation"].iloc[0]
    checked = pmemsim.check(LOST, progress=False)
    assert len(checked.found) == 1
    assert "never" in checked.to_frame()["kind"].iloc[0] or checked.to_frame().loc[0, "loses_data"]
    repaired = pmemsim.advise(LOST, design="sw-undo", **ON_ASAP)
    assert repaired.title.startswith("publish_unpersisted is not crash-safe: ")
    assert repaired.to_frame().shape[0] == len(repaired.to_dict()["repair"]["steps"]) > 0


def test_crash_without_a_compiler_names_how_to_leave_out_the_checker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Path:
        raise pmemsim.RecordError(f"{name}: could not be built")

    monkeypatch.setattr("pmemsim.crashing.build_workload", fail)
    queue = pmemsim.examples()["queue"]
    with pytest.raises(pmemsim.RecordError, match=r"own checker, choose verify_images 0$"):
        pmemsim.crash(queue, designs=["asap"], points=10, progress=False)
    assert pmemsim.crash(queue, designs=["asap"], points=10, verify_images=0).violations == 0
    with pytest.raises(pmemsim.RecordError, match=r"could not be built$"):
        pmemsim.check(queue, verify="own", progress=False)


def test_results_without_findings_have_frames_with_columns() -> None:
    queue = pmemsim.examples()["queue"]
    checked = pmemsim.check(queue, progress=False)
    assert checked.found == []
    assert checked.to_frame().empty
    assert "kind" in checked.to_frame()
    advice = pmemsim.advise(queue, design="x86-bare", **ON_ASAP)
    assert advice.title == f"queue: {NOTHING}"
    assert advice.to_frame().empty
    assert {"proof", "saved_ns"} <= {*advice.to_frame().columns}
    written = pmemsim.timeline(ONE, os.devnull, design="np", **ON_ASAP)
    assert written.to_frame().empty
    assert "waits" in written.to_frame()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pmemsim.run(ONE, design="asapp", machine="asap"), "did you mean 'asap'"),
        (
            lambda: pmemsim.run("queue", design="asap", machine="asap", threds=3),  # type: ignore[call-arg]
            "^run: unknown argument 'threds'; did you mean 'threads'\\?$",
        ),
        (
            lambda: pmemsim.run(ONE, design="asap", machine="asap", threads=4),
            "this is a recording; remove threads, which only workloads accept",
        ),
        (lambda: pmemsim.run(None, design="asap", machine="asap"), "^trace: None must be"),  # type: ignore[arg-type]
        (lambda: pmemsim.run(ONE, design="asap", machine=3), "^machine: 3 must be a name"),  # type: ignore[arg-type]
        (lambda: pmemsim.crash(ONE), "^name a design with designs, or choose all_designs$"),
        (lambda: pmemsim.crash(ONE, designs="asap"), "^designs: must be a list"),
        (lambda: pmemsim.crash(designs=["asap"]), "^traces is missing; name a workload"),
        (lambda: pmemsim.crash(ONE, designs=["np"]), "has no durability guarantees"),
        (
            lambda: pmemsim.crash(ONE, designs=["asap"], at="5us", points=4),
            "^at 5us and points 4: give one of them$",
        ),
        (
            lambda: pmemsim.crash(ONE, designs=["asap"], points=1.5),  # type: ignore[arg-type]
            "^points: 1.5: must be `all` or a whole number",
        ),
        (
            lambda: pmemsim.crash(ONE, designs=["asap"], jobs=0, subsets=-1, verify_timeout=-3),
            "^jobs: 0: must be at least 1\nverify_timeout: -3: must be .*\nsubsets: -1: must be",
        ),
        (lambda: pmemsim.check(ONE, budget=10), "^budget: 10: needs verify or verify_library"),
        (lambda: pmemsim.check(ONE, model="px87"), "^model: px87: unknown model"),  # type: ignore[arg-type]
        (
            lambda: pmemsim.timeline(ONE, "x", design="asap", machine="asap", start="12"),
            "^start: 12: must be a number with a unit of time",
        ),
        (
            lambda: pmemsim.compare([ONE], designs=["np"], machine="asap", seeds=2),
            "this is a recording; seeds need the name of a workload",
        ),
        (lambda: pmemsim.matrix([], machine="asap"), "^traces: must be a list"),
        (lambda: pmemsim.sweep(5), "^spec: 5 must be the path"),  # type: ignore[arg-type]
        (
            lambda: pmemsim.sweep({"axes": {**AXES, "pm.wpq": 4}}),
            "^spec: pm.wpq: unknown axis; did you mean",
        ),
        (
            lambda: pmemsim.sweep({"axes": {"workload": object()}}),
            "^spec: axes: workload: must be texts and numbers, but one value is <object",
        ),
        (lambda: pmemsim.reproduce("no"), "^unknown paper 'no'"),
        (lambda: pmemsim.reproduce("asap", scale="big"), "^scale big: must be"),  # type: ignore[arg-type]
        (
            lambda: pmemsim.run(ONE, design="asap", machine="asap", image="/no/image"),
            "^/no/image: the folder /no does not exist",
        ),
    ],
)
def test_bad_arguments_give_sentences_that_name_parameters(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(pmemsim.Error, match=message) as caught:
        call()
    assert "--" not in str(caught.value)


def test_numbers_of_other_libraries_are_values_of_a_sweep(folder: Path) -> None:
    axes = {**AXES, "workload": ONE, "pm.wpq_entries": pd.Series([8, 64]).to_numpy()}
    swept = pmemsim.sweep({"axes": axes}, out="out.csv", progress=False)
    assert swept.to_frame()["pm.wpq_entries"].tolist() == [8, 64, 8, 64]
    assert pd.read_csv("out.csv")["pm.wpq_entries"].dtype.kind == "i"
    with pytest.raises(pmemsim.Error, match=r"^plot: x=pm\.wpq: is no axis"):
        swept.plot("pm.wpq")


def test_a_sweep_whose_points_all_fail_returns_the_reasons(folder: Path) -> None:
    axes = {**AXES, "design": "sw-redo", "pm.wpq_entries": 8}
    swept = pmemsim.sweep({"axes": axes}, progress=False)
    assert swept.title == "0 of 1 points have results"
    assert "redo" in str(swept.to_frame().loc[0, "reason"])


def test_plot_names_recordings_by_their_files_if_these_differ(folder: Path) -> None:
    paths = [folder / name / "mine.pmt" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(ONE.read_bytes())
    axes = {"workload": [ONE, *paths], "design": "asap", "machine": "asap"}
    swept = pmemsim.sweep({"axes": axes}, progress=False)
    lines = swept.series("design", y="time_ns", hue="workload").lines
    assert list(lines) == [str(ONE), *map(str, paths)]
    two = pmemsim.sweep({"axes": {**axes, "workload": [ONE, paths[0]]}}, progress=False)
    assert list(two.series("design", y="time_ns", hue="workload").lines) == ["one_thread", "mine"]


def test_plots_return_axes(folder: Path) -> None:
    run, compared = CALLS["run"][0](), CALLS["compare"][0]()
    swept = CALLS["sweep"][0]()
    assert isinstance(run, pmemsim.Result)
    assert isinstance(compared, pmemsim.Comparison)
    assert isinstance(swept, pmemsim.SweepResults)
    top, bottom, latencies = compared.plot()
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("throughput", "time of all cores (%)")
    assert top.figure.get_suptitle() == "machine asap; ratios over np"
    assert latencies.get_xlabel() == "latency of a region (ns), all workloads together"
    regions = sum(count for _, count in compared.result("program", "np").region_latencies)
    assert regions == compared.result("program", "np").regions
    drawn = [patch for patch in latencies.patches if isinstance(patch, StepPatch)]
    assert [patch.get_label() for patch in drawn] == ["np", "sw-undo"]
    assert [sum(patch.get_data()[0]) for patch in drawn] == pytest.approx([100, 100])
    axes = swept.plot("pm.wpq_entries", hue="design")
    assert [line.get_label() for line in axes.lines] == ["sw-undo", "asap"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["8", "64"]
    assert isinstance(run.plot(), Axes)
    profile = CALLS["profile"][0]()
    assert isinstance(profile, pmemsim.Profile)
    bars = [bar for bar in profile.plot().patches if isinstance(bar, Rectangle)]
    widths = sum(bar.get_width() for bar in bars)
    lines = profile.to_frame().groupby(["file", "line"])["share"].sum().nlargest(10)
    assert widths == pytest.approx(100 * lines.sum())
    pyplot.close("all")


@pytest.mark.parametrize("backend", ["", "TkAgg"])
def test_a_plot_needs_no_display(backend: str, tmp_path: Path) -> None:
    program = (
        f"import pmemsim\nrun = pmemsim.run({str(ONE)!r}, design='np', machine='asap')\n"
        "try:\n    run.plot()\nexcept pmemsim.Error as error:\n    print(error)\n"
        "run.save_plot('a.png')\n"
    )
    environment = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True,
        env={**environment, "MPLBACKEND": backend},
    )  # fmt: skip
    # Older versions of matplotlib refuse a backend of windows.
    assert ended.stdout == "" or "set MPLBACKEND=agg" in ended.stdout
    assert ended.stderr == ""
    assert (tmp_path / "a.png").is_file()


def test_a_backend_that_cannot_be_loaded_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ImportError("no windows here")

    monkeypatch.setattr(pyplot, "figure", fail)
    result = pmemsim.run(ONE, design="np", **ON_ASAP)
    with pytest.raises(pmemsim.Error, match="no windows here; set MPLBACKEND=agg, or write"):
        result.plot()


def test_progress_of_a_caller_gets_fractions_and_can_stop_the_run() -> None:
    seen: list[float] = []
    pmemsim.compare([ONE, LOST], designs=["np", "asap"], machine="asap", progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)

    def stop(_: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        pmemsim.run(ONE, design="asap", machine="asap", progress=stop)


def test_progress_in_a_terminal_is_a_bar_for_each_thread() -> None:
    program = (
        "import pmemsim, threading\n"
        f"def run(): pmemsim.compare([{str(ONE)!r}], designs=['np', 'asap'], machine='asap')\n"
        "thread = threading.Thread(target=run)\nthread.start()\nrun()\nthread.join()\n"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", program], stderr=theirs, stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:  # fmt: skip
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while part := os.read(ours, 4096):
                printed += part
    os.close(ours)
    assert process.returncode == 0
    assert "━".encode() in printed
    assert b"Traceback" not in printed


def test_comparison_has_a_recording_for_each_seed() -> None:
    compared = pmemsim.compare(
        ["queue"], designs=["np", "asap"], seeds=2, threads=2, regions=50, **ON_ASAP
    )
    assert compared.samples == 2
    assert sorted(set(compared.to_frame()["seed"])) == [1, 2]


def test_calls_in_threads_give_the_same_results() -> None:
    found: list[float] = []

    def run() -> None:
        compared = pmemsim.compare([ONE], designs=["np", "asap"], **ON_ASAP)
        found.append(compared.geomean()["asap"])

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1


def _time_of(_: int) -> float:
    return pmemsim.run(ONE, design="asap", **ON_ASAP).time_ns


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_calls_after_a_fork_give_the_same_results() -> None:
    own = _time_of(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_time_of, range(2)) == [own, own]


def test_html_escapes_names_and_shows_the_first_rows(folder: Path) -> None:
    path = folder / "<b>.pmt"
    path.write_bytes(ONE.read_bytes())
    page = pmemsim.run(path, design="np", **ON_ASAP)._repr_html_()
    assert "<b>" not in page
    assert "more rows</p>" in page


def test_examples_are_recordings_that_commands_and_functions_accept() -> None:
    recordings = pmemsim.examples()
    assert list(recordings) == ["hashmap", "queue"]
    for name, path in recordings.items():
        assert repr(pmemsim.Trace(path)) == f"<{name}, threads: 2, {path}>"
        assert path.stat().st_size < 200_000
