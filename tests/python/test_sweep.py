"""`pmemsim sweep`: its file, its results, and its resumption after an interruption."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from pmemsim import _core
from pmemsim.errors import ConfigError, Error
from pmemsim.simulation import Configuration, configure
from pmemsim.sweeping import table
from pmemsim.sweeping.columns import column_of
from pmemsim.sweeping.series import series_of, wanted_of
from pmemsim.sweeping.spec import RECIPE, REQUIRED, Spec, Value, read_spec
from support import cache_with_recordings, interrupt, long_except, pmemsim

SWEEP = """
axes:
  workload: queue
  design: [sw-undo, asap]
  machine: asap
  threads: [1, 2]
  regions: 200
paired:
  - pm.trcd: [100ns, 300ns]
    pm.twr: [50ns, 150ns]
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache folder with no results, but with the recordings that the tests share."""
    return Path(cache_with_recordings(tmp_path / "cache")["PMEMSIM_CACHE"])


def sweep(
    cache: Path, folder: Path, *arguments: str | Path, text: str = SWEEP
) -> subprocess.CompletedProcess[str]:
    """Run the sweep of a file sweep.yaml in a folder."""
    (folder / "sweep.yaml").write_text(text)
    environment = {"PMEMSIM_CACHE": str(cache)}
    return pmemsim("sweep", "sweep.yaml", *arguments, cwd=folder, environment=environment)


# Rows of such a sweep can be made by hand.
THREADS = Spec(
    (
        tuple({"threads": number} for number in range(50)),
        ({"design": "np"},),
    )
)


def row(number: int, status: str = "ok", **results: object) -> table.Row:
    """Return a row of the sweep `THREADS`."""
    return {"threads": number, "design": "np", "status": status, "reason": "", **results}


# ---- the file ------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.yaml"
    path.write_text(text)
    return path


@pytest.mark.quick
def test_axes_are_multiplied_and_paired_axes_vary_together(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, SWEEP))
    assert spec.names == [
        "workload", "design", "machine", "threads", "regions", "pm.trcd",
        "pm.twr",
    ]  # fmt: skip
    points = [tuple(values.values()) for values in spec.combinations()]
    assert points == [
        ("queue", design, "asap", threads, 200, *latencies)
        for design in ("sw-undo", "asap")
        for threads in (1, 2)
        for latencies in (("100ns", "50ns"), ("300ns", "150ns"))
    ]


def test_all_problems_of_a_sweep_are_reported_with_their_line(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """axes:
  workload: [queu, hashmap]
  design: [sw-undoo]
  threads: [0, x, 1, 1]
  duplicate_ratio: 2
  opt: O7
  log: undone
  hints: automatic
  whole_run: maybe
  pm.wpq_entires: 3
  pm.trcd: [100]
  pm.banks_per_rank: []
pared: []
paired:
  - pm.twr: [50ns, 150ns]
  - core.rob_entries: [64, 128]
    seed: [1]
  - threads: [1, 1]
    mix: [insert, insert]
""",
    )
    with pytest.raises(ConfigError) as error:
        read_spec(path)
    assert [problem.removeprefix(str(path)) for problem in error.value.problems] == [
        ":13: pared: unknown key; did you mean 'paired'?",
        ":2: workload: unknown workload 'queu'; did you mean 'queue'? (a trace's name ends with "
        ".pmt)",
        ":3: design: unknown design 'sw-undoo'; did you mean 'sw-undo'?",
        ":4: threads: '0' must be 1 to 127",
        ":4: threads: 'x' is not a number",
        ":4: threads: the value '1' is given twice; remove one",
        ":5: duplicate_ratio: '2' must be a number from 0 to 1",
        ":6: opt: 'O7' must be one of O0, O1, O2, O3, or one for the program and one for its pm "
        "library (O0 or O2), as in O0+O2",
        ":7: log: 'undone' must be one of undo, redo",
        ":8: hints: 'automatic' must be one of manual, auto, none, or a file that `pmemsim "
        "lint-hints --profile` wrote",
        ":9: whole_run: 'maybe' must be true or false",
        ":10: pm.wpq_entires: unknown axis; did you mean 'pm.wpq_entries'?",
        ":11: pm.trcd: '100': missing unit; write 100ns",
        ":12: pm.banks_per_rank: has no values; give at least one",
        ":15: paired: must contain at least two lists; write a single list under 'axes'",
        ":16: paired: the lists must have equal lengths, but core.rob_entries has 2, seed has 1",
        ":18: threads: is given twice; remove one",
        ":1: machine is missing; add it to 'axes', as in 'machine: asap'",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("axes: [1]", "axes: must be a list of 'key: value' lines"),
        ("- 1", "must be a list of 'key: value' lines"),
        ("axes: {workload: {a: b}}", "workload: must be one value"),
        ("axes: {a: [}", "not YAML"),
        ("paired: 3", "paired: must be a list"),
        ("axes: {design: ./no.yaml}", "./no.yaml: no such file"),
    ],
)
def test_file_that_is_no_sweep_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    done = sweep(tmp_path, tmp_path, text=text)
    assert done.returncode == 2
    assert "pmemsim: sweep.yaml" in done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--share", "3/3"], "--share 3/3: must be K/N"),
        (["--share", "0/2", "--slurm", "x.sh"], "--slurm x.sh and --share 0/2: give one of"),
        (["--tasks", "3"], "--tasks 3: needs --slurm"),
        (["--slurm", "x.sh", "--tasks", "0"], "--tasks 0: must be 1 to 1000"),
        (["--slurm", "x.sh", "--at-once", "0"], "--at-once 0: must be at least 1"),
        (["--at-once", "3"], "--at-once 3: needs --slurm"),
        (
            ["--scheduler", "nonsense"],
            "--scheduler nonsense: must be an address as printed by Dask",
        ),
        (["--slurm", "no/x.sh"], "the folder no does not exist"),
        (["--slurm", "sweep.yaml"], "this command already reads or writes this file"),
        (["--out", "no/x.parquet"], "the folder no does not exist"),
        (["--out", "sweep.yaml"], "this command already reads or writes this file"),
        (["--jobs", "0"], "--jobs 0: must be at least 1"),
        (["--plot", "x=thread"], "--plot x=thread: is no axis of the sweep; did you mean 'thr"),
        (["--plot", "x=threads,y=tim_ns"], "y=tim_ns: is no column of numbers; did you mean 'ti"),
        pytest.param(
            ["--plot", "x=threads,hue=7"],
            "--plot hue=7: is no axis of the sweep",
            marks=pytest.mark.long,
        ),
        (["--plot", "threads"], "'threads' must be one x, y or hue with a name, as in x=pm.wpq"),
        (["--plot", "x=threads,x=design"], "'x=design' must be one x, y or hue"),
        (["--plot", "y=time_ns"], "--plot y=time_ns: x is missing"),
        (["--plot", "x=threads", "--plot-file", "x.gif"], "use .png, .pdf or .svg"),
        (["--plot-file", "x.png"], "--plot-file x.png: needs --plot"),
    ],
)
def test_bad_sweep_options_are_refused(
    cache: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = sweep(cache, tmp_path, *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (tmp_path / "sweep.parquet").exists()


# ---- the results ---------------------------------------------------------------------------------


@pytest.mark.quick
def test_row_has_the_axes_and_the_results_of_its_run(cache: Path, tmp_path: Path) -> None:
    done = sweep(cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 of 8 points have results; all are in sweep.parquet" in done.stdout
    frame = pd.read_parquet(tmp_path / "sweep.parquet")
    assert list(frame.columns[:10]) == [
        "workload", "design", "machine", "threads", "regions", "pm.trcd",
        "pm.twr", "point", "status", "reason",
    ]  # fmt: skip
    assert list(frame["threads"]) == [1, 1, 2, 2] * 2
    assert list(frame["pm.trcd"]) == [100.0, 300.0] * 4
    assert list(frame["speedup"]) == [1.0] * 4 + [
        frame["time_ns"][row] / frame["time_ns"][row + 4] for row in range(4)
    ]
    row = frame.iloc[-1]
    latencies = ("--set", "pm.trcd=300ns", "--set", "pm.twr=150ns")
    run = pmemsim_run("--design", "asap", "--threads", "2", "--regions", "200", *latencies)
    assert row["cores"] == run["threads"]
    assert row["completed_regions"] == run["regions"]
    for key in ("time_ns", "regions_per_s", "instructions", "pm_write_bytes", "trace_hash"):
        assert row[key] == run[key], key
    stats = run["stats"]
    assert isinstance(stats, dict)
    for name, value in stats.items():
        if not re.match(r"core\d", name):
            assert row[name] == value, name
    # A statistic that a design lacks is missing, not 0.
    assert frame["asap.committed"].isna().tolist() == [True] * 4 + [False] * 4


@pytest.mark.long
def test_each_kind_of_log_runs_with_its_design(cache: Path, tmp_path: Path) -> None:
    done = sweep(
        cache,
        tmp_path,
        text="""
axes:
  workload: vacation
  machine: asap
  regions: 20
  items: 50
  hints: none
  whole_run: [false, true]
paired:
  - design: [sw-undo, sw-redo]
    log: [undo, redo]
""",
    )
    assert done.returncode == 0, done.stderr
    frame = pd.read_parquet(tmp_path / "sweep.parquet")
    assert list(frame["log"]) == ["undo", "redo"] * 2
    assert frame["whole_run"].tolist() == [False, False, True, True]
    assert frame["trace_hash"].nunique() == 4
    assert (frame["instructions"][2:].to_numpy() > 2 * frame["instructions"][:2].to_numpy()).all()


def pmemsim_run(*arguments: str) -> dict[str, object]:
    import json

    done = pmemsim("run", "queue", "--machine", "asap", *arguments, "--json", "-")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_names_of_axes_and_results_are_different(cache: Path, tmp_path: Path) -> None:
    assert sweep(cache, tmp_path).returncode == 0
    columns = list(pd.read_parquet(tmp_path / "sweep.parquet").columns)[7:]
    names = {*REQUIRED, *RECIPE, *(parameter.key for parameter in _core.parameters())}
    assert not names & set(columns)


def test_failed_points_have_rows_beside_results(cache: Path, tmp_path: Path) -> None:
    """These are a refused combination, a recording that can't be made, and a run that fails."""
    text = """
axes:
  workload: [queue, tpcc]
  design: [sw-undo, asap]
  machine: asap
  threads: 2
  regions: 200
  data_bytes: 64
  core.count: [1, 2]
  ordering: [x86, none]
"""
    done = sweep(cache, tmp_path, text=text)
    assert done.returncode == 0, done.stderr
    frame = pd.read_parquet(tmp_path / "sweep.parquet")
    assert len(frame) == 16
    good = frame[frame["status"] == "ok"]
    assert set(zip(good["workload"], good["core.count"], good["ordering"], strict=True)) == {
        ("queue", 2, "x86")
    }
    bad = frame[frame["status"] == "failed"]
    assert bad["time_ns"].isna().all()
    for workload, cores, ordering, part in (
        ("queue", 2, "none", "needs"),
        ("queue", 1, "x86", "core.count"),
        ("tpcc", 2, "x86", "the data of tpcc have fixed sizes"),
    ):
        alike = bad[
            (bad["workload"] == workload)
            & (bad["core.count"] == cores)
            & (bad["ordering"] == ordering)
        ]
        assert len(alike) == 2
        assert alike["reason"].str.contains(part).all(), part
    assert "2 of 16 points have results" in done.stdout
    assert re.search(
        r"pmemsim: \d+ failed: --data-bytes: the data of tpcc have fixed sizes", done.stderr
    )


def test_sweep_fails_if_all_points_fail(cache: Path, tmp_path: Path) -> None:
    done = sweep(cache, tmp_path, text=SWEEP + "  - {core.count: [1, 1], threads: [2, 2]}\n"
                 .replace("threads", "run.instances"))  # fmt: skip
    assert done.returncode == 2
    assert "all points failed; sweep.parquet contains the reasons" in done.stderr
    assert (pd.read_parquet(tmp_path / "sweep.parquet")["status"] == "failed").all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("axis", "written", "values", "unit"),
    [
        ("pm.wpq_entries", ["16", "32", "8"], [16, 32, 8], ""),
        ("pm.trcd", ["14ns", "1500ps", "2us"], [14.0, 1.5, 2000.0], "ns"),
        ("shared.snoop_latency", ["0cycles", "1cycle", "12cycles"], [0.0, 1.0, 12.0], "cycles"),
        ("shared.snoop_latency", ["4ns", "12cycles"], ["4ns", "12cycles"], ""),
        ("l2.size", ["64KiB", "1MiB", "512B"], [65536, 1048576, 512], "bytes"),
        ("dram.write_high_watermark", ["0.85", "12.3%"], [0.85, 0.123], ""),
        ("pm.link_bandwidth", ["6.6GB/s", "100MB/s"], [6.6e9, 1e8], "bytes/s"),
        ("core.frequency", ["2GHz", "800MHz"], [2e9, 8e8], "Hz"),
        ("energy.dram_read", ["1.075nJ", "722pJ"], [1.075, 0.722], "nJ"),
        ("energy.predictor", ["403mW", "1W"], [0.403, 1.0], "W"),
        ("pm.channel_hashing", ["true", "false"], [True, False], ""),
        ("ordering", ["x86", "dpo"], ["x86", "dpo"], ""),
        ("workload", ["queue", "7"], ["queue", "7"], ""),
        ("threads", [1, 16], [1, 16], ""),
    ],
)
def test_axis_of_numbers_is_a_column_of_numbers(
    axis: str, written: list[Value], values: list[Value], unit: str
) -> None:
    column = column_of(axis, written)
    assert (column.values, column.unit) == (values, unit)
    assert [type(value) for value in column.values] == [type(value) for value in values]


def test_values_of_every_parameter_become_a_column() -> None:
    for parameter in _core.parameters():
        (value,) = column_of(parameter.key, [parameter.value]).values
        assert isinstance(value, str) == (parameter.type in ("choice", "choices")), parameter.key


def test_csv_has_the_columns_of_the_parquet_file(cache: Path, tmp_path: Path) -> None:
    text = SWEEP.replace("pm.trcd: [100ns, 300ns]", "pm.wpq_entries: [64, 8]")
    for suffix in ("parquet", "csv"):
        done = sweep(cache, tmp_path, "--out", f"x.{suffix}", text=text)
        assert done.returncode == 0, done.stderr
    parquet, csv = pd.read_parquet(tmp_path / "x.parquet"), pd.read_csv(tmp_path / "x.csv")
    pd.testing.assert_frame_equal(
        parquet.drop(columns="reason"), csv.drop(columns="reason"), check_dtype=False
    )
    assert csv["pm.wpq_entries"].dtype == "int64"
    assert sorted(csv["pm.wpq_entries"].unique()) == [8, 64]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\n", "x.csv: the file does not contain results of a sweep (it lacks the col"),
        (b"", "does not contain results of a sweep"),
        (b"\xff\xfe\x00", "does not contain results of a sweep"),
        (b"point,status,reason\nabc,ok,\n", "contains 1 results of another sweep"),
    ],
)
def test_foreign_csv_file_is_not_overwritten(
    cache: Path, tmp_path: Path, content: bytes, sentence: str
) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    done = sweep(cache, tmp_path, "--out", "x.csv")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert (tmp_path / "x.csv").read_bytes() == content


# ---- the plot ------------------------------------------------------------------------------------


@pytest.fixture
def entries(tmp_path: Path) -> Spec:
    """Return a sweep over numbers that text would put into another order."""
    path = tmp_path / "entries.yaml"
    path.write_text(
        "axes: {workload: [queue, btree], machine: asap, design: [np, asap], "
        "pm.wpq_entries: [16, 8, 64]}"
    )
    return read_spec(path)


def rows_of(spec: Spec) -> list[table.Row]:
    """Return rows with a time of 640 ns for `np`, and one by the number of entries for `asap`."""
    rows: list[table.Row] = []
    for values in spec.combinations():
        time = 640.0
        if values["design"] == "asap":
            factor = 5 if values["workload"] == "queue" else 1.25
            time = float(values["pm.wpq_entries"]) * factor
        rows.append({**values, "point": "p", "status": "ok", "reason": "", "time_ns": time})
    return rows


@pytest.mark.quick
def test_plot_has_numbers_by_size_and_means_over_other_axes(entries: Spec) -> None:
    found = table.table_of(rows_of(entries), entries)
    wanted = wanted_of("x=pm.wpq_entries,y=speedup,hue=design", entries)
    series = series_of(wanted, found, entries)
    assert series.x == [8, 16, 64]
    # With 8 entries, asap takes 40 ns in queue and 10 ns in btree: the speedups are 16 and 64.
    assert series.lines == {"np": [1, 1, 1], "asap": pytest.approx([32, 16, 4])}
    assert series.y_label == "speedup over np"
    assert series.title == "machine asap; geometric mean over workload"
    times = series_of(wanted_of("x=design,y=time_ns", entries), found, entries)
    assert times.x == ["np", "asap"]
    assert times.lines == {"time_ns": [640, pytest.approx((40 + 80 + 320 + 10 + 20 + 80) / 6)]}
    assert times.title == "machine asap; mean over workload, pm.wpq_entries"


def test_plot_leaves_out_failed_points(entries: Spec) -> None:
    rows = rows_of(entries)
    for row in rows:
        if row["design"] == "asap" and row["pm.wpq_entries"] == "8":
            del row["time_ns"]
    found = table.table_of(rows, entries)
    series = series_of(wanted_of("x=pm.wpq_entries,hue=design", entries), found, entries)
    assert series.lines["asap"][0] is None
    with pytest.raises(Error, match=r"--plot y=asap\.committed: no point of the sweep has a value"):
        series_of(wanted_of("x=design,y=asap.committed", entries), found, entries)


def test_plot_of_a_speedup_needs_several_designs(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, SWEEP.replace("[sw-undo, asap]", "asap")))
    with pytest.raises(ConfigError, match="a speedup needs several designs"):
        wanted_of("x=threads", spec)
    assert wanted_of("x=threads,y=time_ns", spec).y == "time_ns"


def test_sweep_writes_a_plot_beside_its_results(cache: Path, tmp_path: Path) -> None:
    done = sweep(cache, tmp_path, "--plot", "x=pm.trcd,y=speedup,hue=design")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    done = sweep(cache, tmp_path, "--plot", "x=design,y=pm.writes", "--plot-file", "x.svg")
    assert done.returncode == 0, done.stderr
    assert b"pm.writes" in (tmp_path / "x.svg").read_bytes()


# ---- going on ------------------------------------------------------------------------------------


def test_sweep_does_not_repeat_finished_points(cache: Path, tmp_path: Path) -> None:
    """The cache folder or the file alone is enough; further points are added."""
    assert "8 simulations, 0 of them kept" in sweep(cache, tmp_path).stderr
    path = tmp_path / "sweep.parquet"
    first = path.read_bytes()
    path.unlink()
    assert "8 simulations, 8 of them kept" in sweep(cache, tmp_path).stderr
    assert path.read_bytes() == first
    shutil.rmtree(cache / "results")
    again = sweep(cache, tmp_path)
    assert "8 results are already in sweep.parquet" in again.stderr
    assert "simulations" not in again.stderr
    assert path.read_bytes() == first
    more = sweep(cache, tmp_path, text=SWEEP.replace("[1, 2]", "[1, 2, 3]"))
    assert "4 simulations, 0 of them kept" in more.stderr
    frame = pd.read_parquet(path)
    assert (len(frame), set(frame["status"])) == (12, {"ok"})
    # A parameter of the simulator's own, not its name or file, makes another point.
    fewer = sweep(cache, tmp_path)
    assert fewer.returncode == 2
    assert "sweep.parquet: the file contains 4 results of another sweep" in fewer.stderr
    assert len(pd.read_parquet(path)) == 12


def test_sweep_repeats_failed_points(cache: Path, tmp_path: Path) -> None:
    text = SWEEP.replace("[sw-undo, asap]", "[sw-undo, mine.yaml]")
    mine = tmp_path / "mine.yaml"
    preset = "name: mine\nsummary: x\ninherits: asap\nparameters: {ordering: ORDERING}\n"
    mine.write_text(preset.replace("ORDERING", "none"))
    assert "4 of 8 points have results" in sweep(cache, tmp_path, text=text).stdout
    mine.write_text(preset.replace("ORDERING", "x86"))
    assert "8 of 8 points have results" in sweep(cache, tmp_path, text=text).stdout


def test_row_of_a_failed_point_is_not_read_as_a_result(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows: list[table.Row] = [
        row(1, point="a", time_ns=1.5),
        row(2, "failed", point="b"),
    ]
    table.write(table.table_of(rows, THREADS), path)
    assert table.read_results(path, THREADS.names) == {"a": {"time_ns": 1.5}}


@pytest.mark.parametrize("content", [b"", b"PAR1 but not really", None])
def test_foreign_output_file_is_not_overwritten(
    cache: Path, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "sweep.parquet"
    if content is None:
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    done = sweep(cache, tmp_path)
    assert done.returncode == 2
    assert "sweep.parquet: the file does not contain results of a sweep" in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == before


def test_damaged_results_are_refused_or_unchanged(tmp_path: Path) -> None:
    """After a change of any bit the file is refused, or its results are unchanged."""
    path = tmp_path / "x.parquet"
    rows: list[table.Row] = [row(n, point=f"{n}", time_ns=n * 1.25) for n in range(50)]
    table.write(table.table_of(rows, THREADS), path)
    whole = path.read_bytes()
    right = table.read_results(path, THREADS.names)
    refused = 0
    for bit in range(0, 8 * len(whole), 61):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert table.read_results(path, THREADS.names) == right, bit
        except Error as error:
            assert "the file does not contain results of a sweep" in str(error)
            refused += 1
    assert refused > 50


def test_results_written_by_another_program_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows: list[table.Row] = [row(1, point="a", time_ns=1.5)]
    table.write(table.table_of(rows, THREADS), path)
    assert table.read_results(path, THREADS.names) == {"a": {"time_ns": 1.5}}
    pd.read_parquet(path).assign(time_ns=["1.5"]).to_parquet(path)
    with pytest.raises(Error, match="another program wrote it"):
        table.read_results(path, THREADS.names)


@pytest.mark.parametrize("how", long_except([signal.SIGINT, signal.SIGKILL], signal.SIGKILL))
def test_an_interrupted_sweep_loses_nothing(
    cache: Path, tmp_path: Path, how: signal.Signals
) -> None:
    text = SWEEP.replace("200", "3000")
    (tmp_path / "sweep.yaml").write_text(text)
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("pmemsim")), "sweep", "sweep.yaml", "--jobs", "1"],
        env={**os.environ, "PMEMSIM_CACHE": str(cache)}, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(list((cache / "results").glob("[!.]*.json"))) < 2:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    if how == signal.SIGINT:
        interrupt(process)
    else:
        process.kill()
        process.communicate()
    assert not (tmp_path / "sweep.parquet").exists()
    kept = {path: path.stat().st_mtime_ns for path in (cache / "results").glob("[!.]*.json")}
    assert 2 <= len(kept) < 8
    done = sweep(cache, tmp_path, text=text)
    assert f"8 simulations, {len(kept)} of them kept from earlier runs" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(pd.read_parquet(tmp_path / "sweep.parquet")) == 8


def test_identity_of_a_point_ignores_where_its_values_are_set() -> None:
    """The identity of a point has values, not their places."""
    from pmemsim.jobs import Job, Simulate
    from pmemsim.presets import Setting
    from pmemsim.targets import find_target

    trace = find_target("queue", threads=2, regions=200).trace()

    def key(configuration: Configuration) -> str:
        return Job(trace, Simulate(configuration)).key

    here = configure("np", "asap", extra=(Setting("core.rob_entries", "64", "here"),))
    there = configure("np", "asap", {"core.rob_entries": 64})
    assert key(here) == key(there) != key(configure("np", "asap"))
