"""`pmemsim matrix`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pmemsim.matrices import Cell, Matrix
from pmemsim.presets import preset_names
from support import SMALL, pmemsim

KEYS = [
    "workload", "design", "machine", "threads", "speedup", "pm_write_bytes", "energy_nj",
    "storage_bytes", "points", "violations", "trace_hash", "reason",
]  # fmt: skip


def cells_of(path: Path) -> dict[tuple[str, str], dict[str, object]]:
    return {
        (cell["workload"], cell["design"]): cell for cell in json.loads(path.read_text())["cells"]
    }


def test_a_cell_is_crashed_at_ten_thousand_points(tmp_path: Path) -> None:
    """This is the default, for a run that has more points."""
    out = tmp_path / "out.json"
    done = pmemsim("matrix", "queue", "--designs", "sw-undo", "-m", "asap", "--threads", "4",
                   "--regions", "1300", "--json", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert cells_of(out)["queue", "sw-undo"]["points"] == 10_000


@pytest.mark.long
def test_matrix_compares_all_designs(tmp_path: Path) -> None:
    """All presets run on two workloads, with few points each."""
    out, plot = tmp_path / "out.json", tmp_path / "out.png"
    done = pmemsim(
        "matrix", "--workloads", "queue,hashmap", "--machine", "asap", *SMALL, "--points", "300",
        "--json", out, "--plot", plot,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = cells_of(out)
    designs = preset_names("design")
    assert list(found) == [(w, d) for w in ("queue", "hashmap") for d in designs]
    for (_, design), cell in found.items():
        assert list(cell) == KEYS
        if design.endswith("redo") and design != "hw-redo":  # these designs need other recordings
            assert (cell["threads"], cell["speedup"]) == (None, None)
            assert "redo log" in str(cell["reason"])
            continue
        assert (cell["machine"], cell["threads"]) == ("asap", 2)
        assert isinstance(cell["speedup"], float)
        assert isinstance(cell["pm_write_bytes"], int)
        if design in ("np", "ideal-free"):
            assert (cell["points"], cell["violations"]) == (None, None)
            assert "has no durability guarantees" in str(cell["reason"])
        else:
            assert (cell["points"], cell["violations"], cell["reason"]) == (300, 0, None)
    assert found["queue", "sw-undo"]["speedup"] == 1
    assert found["queue", "asap"]["storage_bytes"] > found["queue", "lad"]["storage_bytes"]  # type: ignore[operator]
    assert plot.stat().st_size > 10_000
    assert "over sw-undo" in done.stdout

    # One run and one crash, by the commands for a single one, must give the same numbers.
    small = ("queue", "--machine", "asap", *SMALL, "--json", "-")
    times = {
        design: json.loads(pmemsim("run", *small, "--design", design).stdout)
        for design in ("sw-undo", "asap")
    }
    asap = found["queue", "asap"]
    assert asap["speedup"] == times["sw-undo"]["time_ns"] / times["asap"]["time_ns"]
    assert asap["pm_write_bytes"] == times["asap"]["pm_write_bytes"]


def test_matrix_combines_designs_with_backends(tmp_path: Path) -> None:
    """Unpublished combinations: other papers' designs on PM that encrypts or deduplicates."""
    out = tmp_path / "out.json"
    done = pmemsim(
        "matrix", "queue", *SMALL, "--machine", "janus", "--designs", "asap,lad",
        "--backends", "none,verified-serialized,verified-janus,deduplicated-parallel",
        "--points", "300", "--json", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {design: cell for (_, design), cell in cells_of(out).items()}
    assert list(found) == [
        "asap", "asap@verified-serialized", "asap@verified-janus", "asap@deduplicated-parallel",
        "lad", "lad@verified-serialized", "lad@verified-janus", "lad@deduplicated-parallel",
    ]  # fmt: skip
    for cell in found.values():
        assert (cell["points"], cell["violations"], cell["reason"]) == (300, 0, None)
    done = pmemsim("run", "queue", *SMALL, "-m", "janus", "--design", "lad@verified-janus",
                   "--json", "-")  # fmt: skip
    assert (
        found["lad@verified-janus"]["energy_nj"]
        == json.loads(done.stdout)["stats"]["energy.total_nj"]
    )
    for design in ("asap", "lad"):
        assert found[design]["energy_nj"] is None  # there are no operations
        alone, early, late = (
            found[f"{design}{backend}"] for backend in ("", "@verified-janus",
                                                        "@verified-serialized")
        )  # fmt: skip
        assert alone["speedup"] > early["speedup"] > late["speedup"]  # type: ignore[operator]
        assert alone["pm_write_bytes"] < late["pm_write_bytes"]  # type: ignore[operator]
        assert alone["storage_bytes"] < late["storage_bytes"]  # type: ignore[operator]
        assert late["storage_bytes"] < early["storage_bytes"]  # type: ignore[operator]


@pytest.mark.long
def test_a_matrix_of_every_kind_of_design_and_backend(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    designs = "sw-undo,hw-undo,asap,redu+lalea+blom,lad,hops,pmem-spec"
    backends = [
        f"{what}-{how}"
        for what in ("verified", "deduplicated")
        for how in ("serialized", "parallel", "janus")
    ]
    done = pmemsim(
        "matrix", "queue", "-m", "janus", "--threads", "2", "--regions", "10", "--designs", designs,
        "--backends", ",".join(backends), "--points", "10", "--json", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {design: cell for (_, design), cell in cells_of(out).items()}
    assert list(found) == [f"{design}@{backend}" for design in designs.split(",")
                           for backend in backends]  # fmt: skip
    for cell in found.values():
        assert (cell["points"], cell["violations"], cell["reason"]) == (10, 0, None)


def test_a_backends_file_is_not_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("name: own\nsummary: mine\nparameters: {backend: encryption}\n")
    done = pmemsim("matrix", "queue", "--designs", "asap", "-m", "janus", "--backends", own,
                   "--json", own)  # fmt: skip
    assert done.returncode == 2
    assert "this command already reads or writes this file" in done.stderr
    assert own.read_text().startswith("name: own")


def test_unknown_backends_are_refused() -> None:
    done = pmemsim("matrix", "queue", "--designs", "asap", "-m", "janus", "--backends", "no,none")
    assert done.returncode == 2
    assert "unknown backend 'no'" in done.stderr
    done = pmemsim("crash", "queue", "--design", "asap", "--backends", ",")
    assert done.returncode == 2
    assert "--backends names no backend" in done.stderr


def test_baseline_need_not_be_among_the_designs(tmp_path: Path) -> None:
    speedups = []
    for arguments in (("--designs", "asap"), ("--designs", "asap", "--baseline", "asap")):
        out = tmp_path / "out.json"
        done = pmemsim("matrix", "queue", *SMALL, "-m", "asap", "--points", "50", *arguments,
                       "--json", out)  # fmt: skip
        assert done.returncode == 0, done.stderr
        (cell,) = cells_of(out).values()
        speedups.append(cell["speedup"])
    assert speedups[0] != 1
    assert speedups[1] == 1


def test_impossible_cell_has_a_reason_and_other_cells_run(tmp_path: Path) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text(
        "name: bare\nsummary: A log without fences\nparameters: {ordering: none, atomicity: "
        "software-undo}\n"
    )
    out = tmp_path / "out.json"
    done = pmemsim("matrix", "queue", *SMALL, "-m", "asap", "--designs", f"sw-undo,{bare}",
                   "--points", "50", "--json", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = cells_of(out)
    assert found["queue", "sw-undo"]["violations"] == 0
    assert "fences that order" in str(found["queue", "bare"]["reason"])
    assert [found["queue", "bare"][key] for key in KEYS[3:9]] == [None] * 6


def test_damaged_recording_fails_only_its_own_cells(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pmt"
    damaged.write_bytes(b"PMT?")
    out = tmp_path / "out.json"
    done = pmemsim("matrix", damaged, "queue", "-m", "asap", "--designs", "sw-undo", "--points",
                   "50", "--json", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = cells_of(out)
    assert "damaged.pmt" in str(found["damaged", "sw-undo"]["reason"])
    assert found["queue", "sw-undo"]["speedup"] == 1


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_targets_of_one_name_have_their_own_rows(tmp_path: Path, order: tuple[str, str]) -> None:
    good, damaged = (tmp_path / folder / "queue.pmt" for folder in "ab")
    for path in (good, damaged):
        path.parent.mkdir()
    done = pmemsim("record", "queue", *SMALL, "-o", good)
    assert done.returncode == 0, done.stderr
    damaged.write_bytes(good.read_bytes()[:100])
    out = tmp_path / "out.json"
    paths = [tmp_path / folder / "queue.pmt" for folder in order]
    done = pmemsim("matrix", *paths, "-m", "asap", "--designs", "sw-undo", "--points", "20",
                   "--json", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = cells_of(out)
    assert [workload for workload, _ in found] == [str(path) for path in paths]
    working = [cell for cell in found.values() if cell["speedup"] == 1]
    (broken,) = [cell for cell in found.values() if cell["speedup"] is None]
    assert len(working) == 1
    assert str(damaged) in str(broken["reason"])


@pytest.mark.long
def test_designs_for_redo_logs_are_compared_with_the_software_one(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = pmemsim("matrix", "memcached", *SMALL, "--log", "redo", "-m", "asap", "--designs",
                   "sw-redo,eadr-redo", "--points", "20", "--json", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = cells_of(out)
    assert found["memcached", "sw-redo"]["speedup"] == 1
    assert found["memcached", "eadr-redo"]["speedup"] > 1  # type: ignore[operator]


@pytest.mark.long
def test_truncated_result_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEMSIM_CACHE", str(tmp_path / "cache"))
    arguments = ("matrix", "queue", *SMALL, "-m", "asap", "--designs", "sw-undo", "--points", "20",
                 "--json", tmp_path / "out.json")  # fmt: skip
    assert pmemsim(*arguments).returncode == 0
    before = cells_of(tmp_path / "out.json")
    results = sorted((tmp_path / "cache" / "results").glob("*.json"))
    assert len(results) == 2
    for content in ("", "{}", '{"points": "x"}', "[1]"):
        for path in results:
            path.write_text(content)
        done = pmemsim(*arguments)
        assert done.returncode == 0, done.stderr
        assert cells_of(tmp_path / "out.json") == before


def test_matrix_fails_for_a_design_with_violations(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = pmemsim("matrix", "queue", *SMALL, "-m", "asap", "--designs", "sw-undo,asap",
                   "--points", "all", "--set", "pmemsim.faults=software_undo.log_flush",
                   "--json", out)  # fmt: skip
    assert done.returncode == 1
    assert "violations in: sw-undo on queue; `pmemsim crash" in done.stderr
    found = cells_of(out)
    assert found["queue", "sw-undo"]["violations"] > 0  # type: ignore[operator]
    assert found["queue", "asap"]["violations"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "asap"], "TARGET is missing; name a workload"),
        (["queue", "-m", "asapp"], "unknown machine 'asapp'; did you mean 'asap'?"),
        (["queue", "-m", "asap", "-d", "np,asapp"], "unknown design 'asapp'; did you mean 'asap'?"),
        (["queue", "-m", "asap", "--baseline", "sw"], "unknown design 'sw'"),
        (["queue", "-m", "asap", "--points", "few"], "--points few: must be `all` or a whole"),
        (["queue", "-m", "asap", "-s", "core.x=1"], "--set: core.x: unknown key"),
        (["queue", "queue", "-m", "asap"], "target 'queue' is given twice"),
        (["queue", "-m", "asap", "-t", "64", "--regions", "64"], "no combination is possible: "),
        (["queue", "-m", "asap", "-j", "2", "--scheduler", "tcp://x:1"], "give one of them"),
    ],
)
def test_matrix_refuses_bad_input(arguments: list[str], sentence: str) -> None:
    done = pmemsim("matrix", *arguments)
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_heat_map_with_an_empty_row_is_drawn(tmp_path: Path) -> None:
    cell = Cell("queue", "asap", "asap", 2, 1.5, 640, None, 12.5, 300, 1, "0", None)
    nothing = replace(cell, workload="other", speedup=None, pm_write_bytes=None, violations=None)
    Matrix((cell, nothing), "sw-undo", {}).save_plot(tmp_path / "out.png")
    assert (tmp_path / "out.png").exists()
