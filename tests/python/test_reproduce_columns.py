"""`pmemsim reproduce`: as measured and as described, causes of deviations, counts, smoke runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.container import BarContainer

from pmemsim.errors import Error
from pmemsim.estimates import estimate
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.reproduction.plan import DESCRIBED, MEASURED, Benchmark, Column, Paper, Point
from pmemsim.reproduction.runs import configurations
from pmemsim.reproduction.studies import ablated, both_columns, every_study
from pmemsim.reproduction.verdicts import Compared, Counts, compare, counts
from tiny_paper import drawn, made_up, reproduce, write_columns, write_paper


def test_columns_differ_where_the_paper_says_so(tmp_path: Path) -> None:
    paper = load_paper(str(write_columns(tmp_path / "tiny")))

    def settings(experiment: str, column: Column, design: str) -> set[str | None]:
        varied = paper.in_column(experiment, column)
        study = varied.experiments[experiment]
        cases = varied.cases(study, "quick")
        return {
            dict(case.settings).get("core.rob_entries") for case in cases if case.design == design
        }

    assert settings("speed", MEASURED, "sw-undo") == {"32"}
    assert settings("speed", MEASURED, "np") == {None}
    assert settings("speed", DESCRIBED, "sw-undo") == {None}
    assert settings("latency", MEASURED, "sw-undo") == {None}


def test_ablation_varies_what_was_measured_unless_it_names_the_other_column(
    tmp_path: Path,
) -> None:
    folder = write_columns(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()

    def room(ablation: str) -> set[str | None]:
        (folder / "experiment.yaml").write_text(plan + ablation)
        load_paper.cache_clear()
        paper = load_paper(str(folder))
        varied = paper.ablated(paper.ablations["other"], "speed")
        cases = varied.cases(varied.experiments["speed"], "quick")
        return {dict(c.settings).get("core.rob_entries") for c in cases if c.design != "np"}

    assert room("  other: {of: [speed], why: x, threads: 1}\n") == {"32"}
    assert room("  other: {of: [speed], why: x, column: as described, threads: 1}\n") == {None}
    # The settings of a design are gone with it, those of all designs are not.
    assert room("  other: {of: [speed], why: x, designs: {SW: {preset: hw-undo}}}\n") == {None}
    assert room("  other: {of: [speed], why: x, set: {core.rob_entries: 48}}\n") == {"48"}


def test_what_was_measured_may_have_other_programs_and_another_machine(tmp_path: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    (folder / "experiment.yaml").write_text(
        plan.replace(
            "    on: [SW]\n",
            "    machine: xeon-6140\n    benchmarks: {Q: {workload: hashmap}}\n    on: [SW]\n",
        )
    )
    paper = load_paper(str(folder))

    def runs(column: Column) -> set[tuple[str, str, int | None]]:
        varied = paper.in_column("speed", column)
        cases = varied.cases(varied.experiments["speed"], "quick")
        return {(case.machine, case.run.workload, case.run.data_bytes) for case in cases}

    assert runs(MEASURED) == {("xeon-6140", "hashmap", 64), ("xeon-6140", "hashmap", 128)}
    assert runs(DESCRIBED) == {("asap", "queue", 64), ("asap", "queue", 128)}


POINTS = """
  slower memory:
    why: The artifact's PM is slower at one point
    source: "the artifact"
    of: [latency]
    on: [SW]
    set: {pm.latency_factor: 3, core.rob_entries: 64}
    points: {4x: {pm.latency_factor: 8}}
"""


def test_column_as_measured_may_have_points_of_its_own(tmp_path: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    (folder / "experiment.yaml").write_text(plan.replace("ablations:", f"{POINTS[1:]}ablations:"))
    paper = load_paper(str(folder))

    def settings(column: Column, design: str) -> list[tuple[str | None, str | None]]:
        varied = paper.in_column("latency", column)
        cases = (
            dict(varied.case(study, design, point, study.benchmarks[0], 1, "quick").settings)
            for study in varied.experiments.values()
            for point in study.points
        )
        return [(case.get("pm.latency_factor"), case.get("core.rob_entries")) for case in cases]

    assert settings(MEASURED, "SW") == [("3", "64"), ("8", "64")]
    assert settings(MEASURED, "NP") == settings(DESCRIBED, "SW") == [("1", None), ("4", None)]


def test_unknown_point_of_a_difference_is_an_error(tmp_path: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    plan = (folder / "experiment.yaml").read_text()
    points = POINTS[1:].replace("4x:", "5x:")
    (folder / "experiment.yaml").write_text(plan.replace("ablations:", f"{points}ablations:"))
    with pytest.raises(
        Error, match=r"experiment.yaml:\d+: 5x: latency has no such point; known names: 1x, 4x"
    ):
        load_paper(str(folder))


def test_artifacts_result_buffer_is_scaled_with_the_other_structures() -> None:
    paper = load_paper("pmweaver")

    def lines(column: Column) -> list[str | None]:
        varied = paper.in_column("fig26b", column)
        study = varied.experiments["fig26b"]
        cases = (
            varied.case(study, "Dedup, PMWeaver", point, study.benchmarks[0], 1, "quick")
            for point in study.points
        )
        return [dict(case.settings).get("pmweaver.result_lines") for case in cases]

    assert lines(MEASURED) == ["64", "128", "256", "512", "8192"]
    assert lines(DESCRIBED) == ["4", "8", None, "32", "512"]


def compared(folder: Path, ratio: float, described: float) -> list[Compared]:
    """Return the entries of runs in which SW has this share of NP's speed, in both columns."""
    paper = load_paper(str(folder))
    columns = [
        made_up(
            paper.in_column("speed", column), "speed",
            lambda design, *_, share=share: 1 / share if design == "SW" else 1.0,
        )
        for column, share in ((MEASURED, ratio), (DESCRIBED, described))
    ]  # fmt: skip
    return compare(*columns)


@pytest.mark.quick
def test_entry_counts_by_its_value_as_measured(tmp_path: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    speed, used, other = compared(folder, ratio=0.56, described=0.9)
    assert speed.counted.verdict == "within 15%"
    assert speed.counted.measured == pytest.approx(0.56)
    assert speed.described is not None
    assert speed.described.verdict == "off"
    assert speed.described.measured == pytest.approx(0.9)
    assert used.counted.verdict == "used for inference"
    assert other.counted.verdict == "off"
    # 0.56 is 12% from 0.5; the used entry, which is as near, doesn't count.
    assert counts([speed, used, other]) == Counts(
        values=2, within_15=1, within_10=0, shapes=0, hold=0, explained=1, unexplained=0, used=1
    )
    speed, used, other = compared(folder, ratio=0.9, described=0.5)
    assert counts([speed, used, other]) == Counts(
        values=2, within_15=0, within_10=0, shapes=0, hold=0, explained=1, unexplained=1, used=1
    )


def test_counts_of_shapes() -> None:
    def fences(time_ns: float) -> list[Compared]:
        measured = made_up(
            load_paper("asap"), "fence", lambda design, *_: time_ns if "," in design else 1.0
        )
        return compare(measured, measured)

    holds, fails = fences(1.0), fences(1.1)
    assert counts([*holds, *fails]) == Counts(
        values=0, within_15=0, within_10=0, shapes=2, hold=1, explained=1, unexplained=0, used=0
    )


def test_both_columns_and_causes_are_printed(tmp_path: Path, cache: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    done = reproduce(cache, folder, "speed", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    # NP's 4 runs are those of both columns.
    assert "12 simulations, 0 of them kept" in done.stderr
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    speed, used, other = document["entries"]
    described = speed["as_described"]
    assert speed["measured"] < described["measured"]
    assert described["verdict"] in {"within 15%", "off"}
    assert (speed["column"], speed["used"], speed["cause"]) == ("as measured", "", None)
    assert (used["verdict"], used["used"]) == ("used for inference", "time between regions")
    assert other["cause"] == {"of": "locks", "try": ["one-thread"]}
    assert document["summary"]["tiny"]["used"] == 1
    assert [v["column"] for v in document["values"]].count("as described") == 8
    assert re.search(r"┃ +as measured ┃ measured/paper ┃ verdict +┃ +as described ┃", done.stdout)
    (row,) = [line for line in done.stdout.splitlines() if "│ tiny.speed" in line]
    for value in (speed, described):
        assert f"{value['measured']:.3f} ± {value['ci95']:.3f}" in row
    explained = (
        f"tiny.other 50 → {other['measured']:.3g}; cause: locks; try: reproduce {folder} one-thread"
    )
    assert explained in done.stdout.splitlines()
    if speed["verdict"] == "off":
        assert f"tiny.speed 0.5 → {speed['measured']:.3g}; unexplained" in done.stdout
    # The advised command runs.
    advised = reproduce(cache, folder, "one-thread", "--out", tmp_path / "out")
    assert advised.returncode == 0, advised.stderr
    assert "ablation one-thread (as measured): Less contention" in advised.stdout


def test_summary_prints_counts_alone(tmp_path: Path, cache: Path) -> None:
    folder = write_columns(tmp_path / "tiny")
    out = tmp_path / "out"
    done = reproduce(cache, folder, "speed", "--summary", "--out", out)
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("│ tiny ")]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    document = json.loads((out / "results.json").read_text())
    assert cells == ["tiny", *map(str, document["summary"]["tiny"].values())]
    assert cells[1] == "2"
    assert "tiny.speed" not in done.stdout
    assert [path.name for path in out.rglob("*.*")] == ["results.json"]
    again = reproduce(cache, folder, "speed", "--summary", "--out", out)
    assert "12 simulations, 12 of them kept" in again.stderr
    assert again.stdout == done.stdout


def test_smoke_runs_everything_and_counts_nothing(tmp_path: Path, cache: Path) -> None:
    folder = write_columns(tmp_path / "tiny", regions=800)
    done = reproduce(cache, folder, "--scale", "smoke", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "these numbers mean nothing, and none is counted" in done.stdout
    assert "within 15%" not in done.stdout
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {entry["verdict"] for entry in document["entries"]} == {"not compared"}
    assert {entry["seeds"][0] for entry in document["entries"]} == {1}
    assert document["summary"]["tiny"]["values"] == 0
    runs = load_paper(str(folder)).for_smoke()
    study = runs.experiments["speed"]
    assert {case.run.regions for case in runs.cases(study, "smoke")} == {10}  # a half of 800 / 40
    counted = reproduce(cache, folder, "speed", "--scale", "smoke", "--summary")
    assert "these numbers mean nothing" in counted.stdout
    assert "│" not in counted.stdout


def test_entry_without_a_value_at_smoke_says_why() -> None:
    measured = made_up(load_paper("pmweaver"), "fig23", lambda *_: 1.0, scale="smoke")
    lead, _ = compare(measured, None)
    assert (lead.counted.verdict, lead.counted.measured) == ("not compared", None)
    assert "has no time from prediction to write" in lead.counted.seen


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "PAPER is missing; name a paper, or choose --all"),
        (["asap", "--all"], "PAPER and --all: give one of them"),
    ],
)
def test_reproduce_needs_papers(arguments: list[str], sentence: str, cache: Path) -> None:
    done = reproduce(cache, *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("try: one-thread", "try: two-threads", "try: unknown ablation 'two-threads'; did you"),
        (
            "ablations:\n",
            "ablations:\n  slow: {of: [latency], why: x, threads: 1}\n",
            "try: slow is no ablation of speed; add it to its `of`",
        ),
        ("try: one-thread", "trie: one-thread", "trie: unknown key; known names: of, try"),
        ("{of: locks, try: one-thread}", "locks", "cause: must be a list of 'key: value' lines"),
        ('    source: "the artifact"\n', "", "slower core: the key 'source' is missing"),
        ("on: [SW]", "on: [WS]", "on: unknown design 'WS'"),
        ("on: [SW]", "benchmarks: {R: {workload: queue}}", "R: unknown benchmark 'R'"),
        ("on: [SW]", "machine: asab", "machine: unknown machine 'asab'; did you mean 'asap'?"),
        ("of: [speed]\n    on", "of: [sped]\n    on", "of: unknown experiment 'sped'; did you"),
        ("why: Less contention", "why: x, column: described", "column: unknown column 'described'"),
        ("why: Less contention", "why: x, used: [tiny.used, tiny]", "used: unknown entry 'tiny'"),
    ],
)
def test_broken_columns_and_causes_are_refused_with_their_line(
    old: str, new: str, sentence: str, tmp_path: Path
) -> None:
    plan = write_columns(tmp_path / "tiny") / "experiment.yaml"
    text = plan.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    plan.write_text(text.replace("try: one-thread", "try: slow") if "slow:" in new else text)
    with pytest.raises(Error, match=re.escape(sentence)):
        load_paper(str(plan.parent))


def test_entries_that_an_ablation_was_inferred_from_are_used_in_it_alone(tmp_path: Path) -> None:
    plan = write_columns(tmp_path / "tiny") / "experiment.yaml"
    inferred = "  inferred: {of: [speed], why: less, used: [tiny.speed], threads: 1}\n"
    plan.write_text(plan.read_text() + inferred)
    paper = load_paper(str(plan.parent))
    (chosen,) = ablated(paper, paper.ablations["inferred"])

    def verdicts(of: Paper) -> dict[str, str]:
        measured = made_up(of, "speed", lambda design, *_: 2.0 if design == "SW" else 1.0)
        return {row.entry.fact.id: row.counted.verdict for row in compare(measured, None)}

    within = {"tiny.speed": "within 15%", "tiny.used": "used for inference", "tiny.other": "off"}
    assert verdicts(paper) == within
    assert verdicts(chosen.counted.paper) == within | {"tiny.speed": "used for inference"}


@pytest.mark.parametrize("name", paper_names())
def test_every_experiment_and_every_ablation_is_legal_alone(name: str) -> None:
    paper = load_paper(name)
    alone = [[both_columns(paper, experiment)] for experiment in paper.experiments]
    alone += [ablated(paper, ablation) for ablation in paper.ablations.values()]
    for chosen in alone:
        configurations([case for each in every_study(chosen) for case in each.cases("quick")])


# ---- figures: intervals, the paper's values, missing bars ----------------------------------------


def test_bars_have_intervals_and_the_papers_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = load_paper(str(write_columns(tmp_path / "tiny")))
    # SW takes 2 and 4 times as long as NP: 1/2 and 1/4.
    measured = made_up(
        paper, "speed", lambda design, _, __, seed: 2.0 * seed if design == "SW" else 1.0
    )
    small, large = drawn(measured, monkeypatch)
    for axes in (small, large):
        (of_np, of_sw) = [each for each in axes.collections if isinstance(each, LineCollection)]
        assert all(begin[1] == end[1] == 1 for begin, end in of_np.get_segments())
        expected = estimate([0.5, 0.25])
        for begin, end in of_sw.get_segments():
            assert (begin[1], end[1]) == pytest.approx(
                (expected.mean - expected.ci95, expected.mean + expected.ci95)
            )
        (marks,) = [each for each in axes.collections if isinstance(each, PathCollection)]
        assert marks.get_label() == "the paper's value"
        ((place, value),) = np.asarray(marks.get_offsets())
        bars = axes.containers[1]
        assert isinstance(bars, BarContainer)
        assert bars[-1].get_x() < place < bars[-1].get_x() + bars[-1].get_width()
        assert value == 0.5


def test_papers_value_over_another_design_is_relative_to_its_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # LAD is at 2 of REDU; the paper has LALEA-LAD at 1.6745 of LAD, and LALEA at 1.5404 of REDU.
    measured = made_up(
        load_paper("lalea"), "fig4", lambda design, *_: 0.5 if design == "LAD" else 1.0
    )
    (axes,) = drawn(measured, monkeypatch)
    (marks,) = [each for each in axes.collections if isinstance(each, PathCollection)]
    values = [float(value) for _, value in np.asarray(marks.get_offsets())]
    assert values == pytest.approx([1.5404, 1.1716, 1.5662, 2 * 1.6745])


def test_group_beside_others_has_no_values_of_the_paper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = write_paper(tmp_path / "tiny") / "experiment.yaml"
    plan.write_text(
        plan.read_text().replace("{data_bytes: 128}", "{data_bytes: 128, beside: true}")
    )
    measured = made_up(load_paper(str(plan.parent)), "speed", lambda *_: 1.0)
    marks = [
        [each for each in axes.collections if isinstance(each, PathCollection)]
        for axes in drawn(measured, monkeypatch)
    ]
    assert [len(each) for each in marks] == [1, 0]


def test_papers_value_at_a_point_is_relative_to_the_baseline_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Serialized is 3 times as fast with eight cores, where Janus is at 1.87 of it in the paper.
    measured = made_up(
        load_paper("janus"), "fig9", lambda _, point, *__: 1 / 3 if point.name == "8" else 1.0
    )
    (axes,) = drawn(measured, monkeypatch)
    (marks,) = [each for each in axes.collections if isinstance(each, PathCollection)]
    assert np.asarray(marks.get_offsets()).ravel() == pytest.approx([0, 2.35, 3, 3 * 1.87])


def test_missing_bar_names_the_design_and_what_its_run_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stats(design: str, _: Point, benchmark: Benchmark, __: int) -> dict[str, float]:
        entries = 0.0 if (design, benchmark.name) == ("LAD", "TATP") else 4.0
        return {"log.entry_latency_ns": 8.0, "log.persistent_entries": entries}

    measured = made_up(load_paper("lalea"), "fig5", lambda *_: 1.0, stats)
    for axes in drawn(measured, monkeypatch):
        texts = [text.get_text().strip() for text in axes.texts]
        assert texts.count("nothing logged (LAD)") == 1
