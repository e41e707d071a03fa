"""Packs: results that are simulated again and compared to the bit."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pmemsim as package
from pmemsim.errors import Error
from pmemsim.installation import examples, installed_dir, version
from pmemsim.packed_names import speedups, wrong_axes
from pmemsim.packing import opened, pack
from pmemsim.presets import preset_names
from pmemsim.reporting.page import page_of
from pmemsim.simulation import configure
from pmemsim.trace import Trace
from support import LONG_TESTS, ROOT, long_except, pmemsim
from tiny_paper import write_paper

RECORDINGS = ROOT / "tests" / "pins" / "recordings"
ONE = RECORDINGS / "one_thread.pmt"
FOUR = RECORDINGS / "four_threads.pmt"
HASH = "ec820aaeb0eefa07"
PINNED = {"core.instructions": 78021, "pm.reads": 189, "pm.writes": 643}
"""Numbers of `asap sw-undo 1` in tests/pins/counts."""


def by_hand(path: Path, stats: Mapping[str, float], **changes: Any) -> Path:  # noqa: ANN401
    """Write a pack without `pmemsim pack`, from the description in packing.py."""
    settings = dict(configure("sw-undo", "asap").values)
    names = {"workload": "program", "design": "sw-undo", "machine": "asap", "trace_hash": HASH}
    results = json.dumps({"command": "run", **names, "threads": 1, "stats": stats}).encode()
    contents = {"results/0-by_hand.json": results, f"recordings/{HASH}.pmt": ONE.read_bytes()}
    manifest = {
        "format": 1,
        "version": version(),
        "sha256": {name: hashlib.sha256(each).hexdigest() for name, each in contents.items()},
        "results": [{"name": "by_hand.json", "runs": [{**names, "settings": settings}]}],
        **changes,
    }
    with zipfile.ZipFile(path, "w") as archive:
        contents["manifest.json"] = json.dumps(manifest).encode()
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


NAMES = ("run.json", "compare.json", "sweep.json", "matrix.json", "reproduce.json")


def results_of(folder: Path, names: Sequence[str] = NAMES) -> list[Path]:
    """Write results of commands that can be packed, by default of each."""
    write_paper(folder / "tiny", regions=20)
    (folder / "sweep.yaml").write_text(
        f"axes: {{workload: {ONE}, design: [sw-undo, asap], machine: asap,\n"
        "       pm.wpq_entries: [16, 64], pm.latency_factor: [1, 2.5]}\n"
    )
    commands = {
        "run.json": ("run", ONE, "-d", "pmem-spec", "-m", "cxl", "-s", "core.rob_entries=64"),
        "compare.json": ("compare", ONE, FOUR, "-d", "sw-undo,asap@enc+veri", "-m", "asap"),
        "sweep.json": ("sweep", "sweep.yaml"),
        "matrix.json": (
            "matrix",
            ONE,
            "-d",
            "asap,np,pmem-spec",
            "-m",
            "asap",
            "--points",
            "5",
            "--jobs",
            "1",
        ),
        "reproduce.json": ("reproduce", "./tiny", "--out", "figures", "--jobs", "1"),
    }
    for name in names:
        done = pmemsim(*commands[name], "--json", name, cwd=folder)
        assert done.returncode == 0, done.stderr
    return [folder / name for name in names]


def test_pack_written_by_hand_replays_the_pinned_numbers(tmp_path: Path) -> None:
    by_hand(tmp_path / "hand.pmpack", PINNED)
    done = pmemsim("replay", "hand.pmpack", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "by_hand.json: run, simulations: 1, equal\n"


def test_replay_names_each_number_that_differs(tmp_path: Path) -> None:
    by_hand(tmp_path / "hand.pmpack", {**PINNED, "pm.writes": 644, "pm.nonsense": 1})
    done = pmemsim("replay", "hand.pmpack", "--json", "found.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "pmemsim: by_hand.json: stats.pm.writes: packed 644, now 643",
        "pmemsim: by_hand.json: stats.pm.nonsense: packed 1, now nothing",
    ]
    (found,) = json.loads((tmp_path / "found.json").read_text())["results"]
    assert found["differences"][0] == {"name": "stats.pm.writes", "packed": "644", "now": "643"}


def test_results_of_each_command_replay_in_another_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    results_of(here)
    done = pmemsim("pack", *NAMES, "-o", there / "f.pmpack", "--recordings", RECORDINGS, cwd=here)
    assert done.returncode == 0, done.stderr
    assert "results: 5, recordings: 6" in done.stdout
    shutil.rmtree(here)
    done = pmemsim("replay", "f.pmpack", "--json", "found.json", "--jobs", "1", cwd=there)
    assert done.returncode == 0, done.stderr
    found = json.loads((there / "found.json").read_text())
    assert [each["simulations"] for each in found["results"]] == [1, 4, 8, 4, 24]
    assert [each["differences"] for each in found["results"]] == [[]] * len(NAMES)


@pytest.mark.parametrize("design", long_except(preset_names("design"), "asap", "lad", "hops"))
def test_configuration_of_each_design_is_complete_in_the_pack(design: str, tmp_path: Path) -> None:
    redo = configure(design, "asap")["atomicity"] == "software-redo"
    recording = RECORDINGS / "redo_log.pmt" if redo else ONE
    done = pmemsim("run", recording, "-d", design, "-m", "asap", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pack([tmp_path / "r.json"], tmp_path / "f.pmpack", [RECORDINGS])
    with opened(tmp_path / "f.pmpack") as found:
        (replayed,) = found.replay(1).results
    assert replayed.differences == ()


def test_same_results_give_the_same_pack(tmp_path: Path) -> None:
    (results,) = results_of(tmp_path, ["run.json"])
    for name in ("a.pmpack", "b.pmpack"):
        pack([results], tmp_path / name, [ONE])
    assert (tmp_path / "a.pmpack").read_bytes() == (tmp_path / "b.pmpack").read_bytes()


def test_recordings_beside_the_results_are_found(tmp_path: Path) -> None:
    shutil.copy(ONE, tmp_path / "renamed.pmt")
    (results,) = results_of(tmp_path, ["run.json"])
    assert pack([results], tmp_path / "f.pmpack") == 1


def test_missing_recording_and_wrong_results_are_named_together(tmp_path: Path) -> None:
    (results,) = results_of(tmp_path, ["run.json"])
    done = pmemsim("pack", results.name, "-o", "f.pmpack", cwd=tmp_path)
    assert done.returncode == 2
    assert f"the recording of program with the hash {HASH} was not found" in done.stderr
    (tmp_path / "check.json").write_text('{"command": "check"}')
    (tmp_path / "text.json").write_text("text")
    (tmp_path / "empty.json").write_text('{"command": "compare", "runs": []}')
    (tmp_path / "wrong.json").write_text('{"command": "run"}')
    names = ("check.json", "text.json", "empty.json", "wrong.json", "none.json")
    done = pmemsim("pack", *names, "-o", "f.pmpack", cwd=tmp_path)
    assert done.returncode == 2
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == list(names)
    assert not (tmp_path / "f.pmpack").exists()


def test_pack_of_another_version_is_replayed_with_a_note(tmp_path: Path) -> None:
    by_hand(tmp_path / "old.pmpack", PINNED, version="0.0.1")
    done = pmemsim("replay", "old.pmpack", cwd=tmp_path)
    assert done.returncode == 0
    assert (
        f"pmemsim: note: old.pmpack was packed by pmemsim 0.0.1, and this is {version()}: numbers "
        "may differ\n" in done.stderr
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 2}, "the format is that of another version of pmemsim"),
        ({"sha256": {}}, "'results/0-by_hand.json' is missing"),
        ({"results": [{"name": "by_hand.json", "runs": []}]}, "don't match their simulations"),
        ({"results": 1}, "not iterable"),
        ({"results": [{"name": "../x", "runs": []}]}, "results/0-../x"),
    ],
)
def test_wrong_manifest_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    by_hand(tmp_path / "bad.pmpack", PINNED, **changes)
    done = pmemsim("replay", "bad.pmpack", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("pmemsim: bad.pmpack: this is no pack, or it is damaged: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_changed_result_or_recording_is_refused(tmp_path: Path) -> None:
    whole = by_hand(tmp_path / "whole.pmpack", PINNED)
    for changed in ("results/0-by_hand.json", f"recordings/{HASH}.pmt"):
        with (
            zipfile.ZipFile(whole) as archive,
            zipfile.ZipFile(tmp_path / "bad.pmpack", "w") as other,
        ):
            for name in archive.namelist():
                content = archive.read(name)
                end = b" \n" if name == changed else b""
                other.writestr(name, content + end)
        with (
            pytest.raises(Error, match=r"bad\.pmpack: .* was changed|were changed"),
            opened(tmp_path / "bad.pmpack"),
        ):
            pass


def test_damaged_pack_is_replayed_or_refused(tmp_path: Path) -> None:
    whole = by_hand(tmp_path / "whole.pmpack", PINNED).read_bytes()
    pick = random.Random(4)
    cut = pick.sample(range(len(whole)), 300 if LONG_TESTS else 20)
    inputs = [whole[:end] for end in cut]
    for _ in range(500 if LONG_TESTS else 40):
        flipped = bytearray(whole)
        near_end = pick.random() < 0.5  # where the folder of the archive is
        at = pick.randrange(max(0, len(whole) - 400) if near_end else 0, len(whole))
        flipped[at] ^= 1 << pick.randrange(8)
        inputs.append(bytes(flipped))
    damaged = tmp_path / "d.pmpack"
    for content in inputs:
        damaged.write_bytes(content)
        try:
            with opened(damaged) as found:
                assert all(not each.differences for each in found.replay(1).results)
        except Error as error:
            assert str(error).startswith(f"{damaged}: ")


def test_text_file_is_refused_as_pack(tmp_path: Path) -> None:
    (tmp_path / "text.pmpack").write_text("text")
    for name in ("text.pmpack", "none.pmpack"):
        done = pmemsim("replay", name, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith(f"pmemsim: {name}: ")


def test_python_packs_results_and_files_and_replays_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = package.run(ONE, design="asap", machine="asap", progress=False)
    run.to_json("run.json")
    assert package.pack([run, "run.json"], "f.pmpack", recordings=[RECORDINGS]) == 1
    replay = package.replay("f.pmpack", jobs=1, progress=False)
    assert replay.equal
    assert replay.to_frame().empty
    assert [each.result.name for each in replay.results] == ["run-0.json", "run.json"]
    by_hand(Path("hand.pmpack"), {**PINNED, "pm.writes": 644})
    other = package.replay("hand.pmpack", progress=False)
    assert not other.equal
    assert other.to_frame().values.tolist() == [["by_hand.json", "stats.pm.writes", 644, 643]]
    assert other.title == "results: 1, values that differ: 1"
    with pytest.raises(Error, match="name its file or folder with recordings"):
        package.pack(run, "g.pmpack")
    with pytest.raises(Error, match=r"results: .* must be results or files of results"):
        package.pack([], "g.pmpack")
    frame: Any = run.to_frame()
    with pytest.raises(Error, match=r"^results: a frame must be results or files of results"):
        package.pack(frame, "g.pmpack")
    with pytest.raises(Error, match=r"^recordings: none: no such file or folder"):
        package.pack(run, "g.pmpack", recordings=["none"])
    checked = package.check(ONE, progress=False)
    with pytest.raises(Error, match=r"^results of check: the file has no results of run, compare"):
        package.pack(checked, "g.pmpack")


def replayed(path: Path, **changes: Any) -> list[str]:  # noqa: ANN401
    """Pack changed results, and return what the replay finds."""
    document = json.loads(path.read_text())
    for place, value in changes.items():
        *keys, last = (int(key) if key.isdigit() else key for key in place.split("__"))
        inside = document
        for key in keys:
            inside = inside[key]
        inside[last] = value
    changed = path.with_name(f"changed-{path.name}")
    changed.write_text(json.dumps(document))
    pack([changed], path.with_suffix(".pmpack"), [RECORDINGS])
    replay = package.replay(path.with_suffix(".pmpack"), jobs=1, progress=False)
    return [str(each) for each in replay.results[0].differences]


def test_comparison_on_two_machines_replays(tmp_path: Path) -> None:
    path = tmp_path / "compare.json"
    machines, designs = ["asap", "cxl"], ["np", "asap"]
    package.compare([ONE], designs=designs, machine=machines, progress=False).to_json(path)
    assert replayed(path) == []


def test_replay_reports_names_that_are_not_those_of_the_simulation(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    overrides = {"core.rob_entries": 64}
    run = package.run(ONE, design="asap", machine="asap", overrides=overrides, progress=False)
    run.to_json(path)
    assert replayed(path) == []
    (design,) = replayed(path, design="np")
    assert design == (
        "design, machine: packed np, asap, now other settings: ordering is x86 instead of none"
    )
    assert len(replayed(path, machine="cxl")) == 1
    assert replayed(path, design="mine")[0].endswith("now settings of other presets")
    assert replayed(path, workload="queue") == ["workload: packed queue, now program"]


def test_replay_computes_the_speedups_and_labels_of_a_sweep(tmp_path: Path) -> None:
    axes = {"workload": str(ONE), "design": ["np", "sw-undo"], "machine": "asap"}
    paired = [{"pm.trcd": ["14ns", "140ns"], "pm.twr": ["15ns", "150ns"]}]
    path = tmp_path / "sweep.json"
    package.sweep({"axes": axes, "paired": paired}, progress=False).to_json(path)
    assert replayed(path) == []
    unit, speedup = replayed(path, units__workload="ns", points__2__speedup=5.0)
    assert unit == "units.workload: packed ns, now nothing"
    assert speedup.startswith("points[2].speedup: packed 5.0, now ")
    with pytest.raises(Error, match="point 1 has the status failed, but a time"):
        replayed(path, points__1__status="failed")


def test_speedup_of_a_design_that_is_paired_with_a_parameter_is_right() -> None:
    axes = [("np", 16, 1), ("np", 16, 2), ("asap", 64, 1), ("asap", 64, 2)]
    points = [
        {"axes": {"design": design, "pm.wpq_entries": entries, "x": x}, "speedup": speedup}
        for (design, entries, x), speedup in zip(axes, [1.0, 1.0, 2.0, 4.0], strict=True)
    ]
    assert speedups(points, [8.0, 8.0, 4.0, 2.0]) == [1.0, 1.0, 2.0, 4.0]
    assert speedups(points, [8.0, 8.0, 2.0, 2.0]) == [1.0, 1.0, 4.0, 4.0]
    assert speedups(points, [None, 8.0, 4.0, 2.0]) == [None, 1.0, None, 4.0]


def test_axes_of_a_workload_are_those_of_its_recording() -> None:
    queue = Trace(examples()["queue"])
    assert list(wrong_axes({"workload": "queue", "threads": 2, "regions": 200}, queue)) == []
    assert list(wrong_axes({"workload": "queue", "threads": 4}, queue)) == [("threads", "4", "2")]
    assert list(wrong_axes({"workload": "mine.pmt", "threads": 4}, queue)) == []
    assert list(wrong_axes({"workload": "btree"}, queue)) == [("workload", "btree", "queue")]


@pytest.mark.long
def test_replay_of_a_matrix_and_of_a_paper_finds_changed_numbers(tmp_path: Path) -> None:
    matrix, paper = results_of(tmp_path, NAMES[-2:])
    found = json.loads(matrix.read_text())
    found["cells"][0]["speedup"] += 1
    matrix.write_text(json.dumps(found))
    found = json.loads(paper.read_text())
    found["values"][0]["value"] = 0
    paper.write_text(json.dumps(found))
    pack([matrix, paper], tmp_path / "f.pmpack", [RECORDINGS])
    with opened(tmp_path / "f.pmpack") as packed:
        replay = packed.replay(1)
    first, second = replay.to_frame()["value"]
    assert first == "cells[0].speedup"
    assert second.startswith("values.tiny speed as measured NP ")


COMMITTED = ROOT / "tests" / "formats" / "results.pmpack"
"""Results of `run`, `compare` and `sweep`, and their recording, by version 0.1.0.

Later versions must open them. Their numbers may differ.
"""


def test_committed_results_and_recording_are_opened(tmp_path: Path) -> None:
    replay = package.replay(COMMITTED, jobs=1, progress=False)
    assert [len(each.result.runs) for each in replay.results] == [1, 2, 4]
    schema = json.loads((installed_dir() / "results.schema.json").read_text())
    paths = []
    with zipfile.ZipFile(COMMITTED) as archive:
        for name in sorted(name for name in archive.namelist() if name.startswith("results/")):
            document = json.loads(archive.read(name))
            jsonschema.validate(document, schema)
            paths.append(tmp_path / Path(name).name)
            paths[-1].write_text(json.dumps(document))
    page = page_of(paths)
    assert page.count("<section>") == len(paths) + 1
    assert package.pack(paths, tmp_path / "again.pmpack", recordings=[RECORDINGS]) == 1
