"""`pmemsim report`: the contents of its page, and the page in a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pmemsim.advice.superfluous import NOTHING
from pmemsim.errors import ConfigError
from pmemsim.reporting.blocks import Block, Details, Explanation, Plot, Section, Table, Verdict
from pmemsim.reporting.page import page_of
from pmemsim.reporting.parts import number
from pmemsim.reporting.plots import grouped_bars, lines
from pmemsim.reporting.sections import SECTIONS
from support import ROOT, long_except, pmemsim
from tiny_paper import write_paper

RECORDINGS = ROOT / "tests" / "pins" / "recordings"
ONE, FOUR = RECORDINGS / "one_thread.pmt", RECORDINGS / "four_threads.pmt"
LOST = RECORDINGS / "corpus" / "publish_unpersisted.pmt"
FEW = ("-m", "asap", "--points", "20", "--jobs", "1")
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "run": (FOUR, "-d", "asap", "-m", "asap"),
    "compare": (ONE, FOUR, "-d", "sw-undo,hw-undo,asap", "-m", "asap"),
    "matrix": (ONE, FOUR, "-d", "np,sw-undo,asap", *FEW),
    "crash": (FOUR, "-d", "asap", *FEW),
    "check": (LOST, "--verify", "false", "--budget", "5", "--jobs", "1"),
    "profile": (FOUR, "-d", "sw-undo", "-m", "asap", "--diff", "asap"),
    "timeline": (FOUR, "-d", "asap", "-m", "asap", "-o", "t.pftrace", "--slowest", "3"),
    "advise": (LOST, "-d", "sw-undo", "-m", "asap", "--jobs", "1"),
    "sweep": ("sweep.yaml",),
    "reproduce": ("./tiny", "--out", "reproduced"),
}
"""Arguments of each command whose results a report shows, without --json."""
BENCH = {
    "command": "bench",
    "runs": [
        {
            "workload": "queue", "design": "np", "machine": "asap", "cores": cores,
            "instructions": 1000, "wall_s": 0.5, "minstructions_per_s": 40.5 / cores,
            "host_instructions_per_instruction": 200.5, "host_instructions_per_operation": None,
            "host_instructions_reason": "", "peak_memory_bytes": 50_000_000,
            "configuration": {"core.width": {"value": "4", "place": "default"}},
            "trace_hash": "0123456789abcdef", "version": "0",
        }
        for cores in (1, 4)
    ],
    "geomean": [
        {"design": "np", "cores": cores, "minstructions_per_s": 40.5 / cores, "over_sw_undo": None}
        for cores in (1, 4)
    ],
    "version": "0",
}  # fmt: skip
"""Results of `bench`, which takes too long here."""
SWEEP = f"""axes:
  workload: {ONE}
  design: [sw-undo, asap]
  machine: asap
  pm.wpq_entries: [16, 8, 64]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a file of results of each command."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "sweep.yaml").write_text(SWEEP)
    write_paper(folder / "tiny")
    for command, arguments in COMMANDS.items():
        done = pmemsim(command, *arguments, "--json", f"{command}.json", cwd=folder)
        assert done.returncode in (0, 1), done.stderr
    (folder / "bench.json").write_text(json.dumps(BENCH))
    return {command: folder / f"{command}.json" for command in (*COMMANDS, "bench")}


def parts_of(section: Section) -> Iterator[Block]:
    for part in section.parts:
        yield part
        if isinstance(part, Details):
            yield from part.parts


def tables_of(section: Section) -> dict[str, Table]:
    return {part.caption: part for part in parts_of(section) if isinstance(part, Table)}


# ---- the page ------------------------------------------------------------------------------------


def test_page_has_every_result_and_needs_no_network(
    results: dict[str, Path], tmp_path: Path
) -> None:
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for page in pages:
        done = pmemsim("report", *results.values(), "-o", page)
        assert done.returncode == 0, done.stderr
        assert f"{page}: " in done.stdout
    text = pages[0].read_text()
    assert text == pages[1].read_text()
    assert len(text) < 5_000_000
    assert text.count("<section>") == len(results) + 1
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    for command in results:
        assert f"<td>{command}</td>" in text or f'<td class="short">{command}</td>' in text
    assert "reads-unpersisted at publish_unpersisted.c:23" in text
    assert "tiny.speed" in text


@pytest.mark.quick
def test_every_command_of_a_report_is_tested() -> None:
    assert {*COMMANDS, "bench"} == SECTIONS.keys()


def test_values_of_the_page_are_those_of_the_results(results: dict[str, Path]) -> None:
    found = {command: json.loads(path.read_text()) for command, path in results.items()}
    sections = {command: SECTIONS[command](document) for command, document in found.items()}
    ratios = tables_of(sections["compare"])["Ratios"].rows
    expected = [f"{each['ratio']:.3f}" for each in found["compare"]["ratios"]]
    expected += [f"{each:.3f}" for each in found["compare"]["geomean"].values()]
    assert [row[2] for row in ratios] == expected
    statistics = {row[0]: row[1] for row in tables_of(sections["run"])["Statistics"].rows}
    assert statistics["pm.writes"] == number(found["run"]["stats"]["pm.writes"])
    (plot,) = (part for part in sections["sweep"].parts if isinstance(part, Plot))
    assert [trace["x"] for trace in plot.traces] == [[8, 16, 64]] * 2
    speedups = {
        point["axes"]["pm.wpq_entries"]: point["speedup"]
        for point in found["sweep"]["points"]
        if point["axes"]["design"] == "asap"
    }
    assert plot.traces[1]["y"] == pytest.approx([speedups[x] for x in (8, 16, 64)])
    (entry,) = found["reproduce"]["entries"]
    (row,) = tables_of(sections["reproduce"])["Entries of tiny speed"].rows
    assert row[:4] == ["tiny.speed", entry["what"], entry["where"], "0.5"]
    assert row[4] == number(entry["measured"])
    assert row[7] == entry["verdict"]


def test_summary_of_a_comparison_names_the_fastest_design_beside_the_baseline(
    results: dict[str, Path],
) -> None:
    found = json.loads(results["compare"].read_text())
    found["geomean"] = {"sw-undo": 1.0, "hw-undo": 0.9, "asap": 0.95}
    outcome = SECTIONS["compare"](found).outcome
    assert outcome == "asap is the fastest beside the baseline: 0.950 over sw-undo (geomean)"


def test_twenty_designs_are_told_apart_in_plots() -> None:
    names = [f"design {number}" for number in range(20)]
    ones, zeros = {name: [1.0] for name in names}, {name: [0.0] for name in names}
    bars = grouped_bars("t", "y", ["a"], ones, zeros)
    drawn = {(each["marker"]["color"], each["marker"]["pattern"]["shape"]) for each in bars.traces}
    assert len(drawn) == 20
    plot = lines("t", "x", "y", [1, 2], {name: [1.0, 2.0] for name in names})
    drawn = {(each["marker"]["color"], each["line"]["dash"]) for each in plot.traces}
    assert len(drawn) == 20


def test_times_of_the_page_are_those_of_the_results(results: dict[str, Path]) -> None:
    names = ("profile", "timeline", "bench", "advise")
    found = {name: json.loads(results[name].read_text()) for name in names}
    sections = {name: SECTIONS[name](found[name]) for name in names}
    tables = {name: tables_of(section) for name, section in sections.items()}
    undo, asap = found["profile"]["profiles"]
    assert tables["profile"].keys() == {
        "Lines and causes", "Call paths on sw-undo", "Call paths on asap", "Recordings"
    }  # fmt: skip
    longest = undo["rows"][0]
    (row, *_) = tables["profile"]["Call paths on sw-undo"].rows
    assert row[0] == number(longest["time_ns"])
    assert row[3] == f"{longest['file']}:{longest['line']}"
    (plot,) = (part for part in sections["profile"].parts if isinstance(part, Plot))
    for index, each in enumerate((undo, asap)):
        assert sum(trace["x"][index] for trace in plot.traces) == pytest.approx(100)
        causes = {trace["name"]: trace["x"][index] for trace in plot.traces}
        fence = sum(row["time_ns"] for row in each["rows"] if row["cause"] == "instructions")
        assert causes["instructions"] == pytest.approx(100 * fence / each["core_time_ns"])
    slowest = found["timeline"]["slowest"]
    rows = tables["timeline"]["Slowest regions"].rows
    times = [number(each["end_ns"] - each["begin_ns"]) for each in slowest]
    assert [row[4] for row in rows] == times
    assert sections["timeline"].outcome.endswith(f"the slowest region takes {times[0]} ns")
    assert [row[5] for row in tables["bench"]["Measurements"].rows] == ["40.5", "10.12"]
    assert sections["advise"].good is False
    (explained,) = (part for part in sections["advise"].parts if isinstance(part, Explanation))
    repair = found["advise"]["repair"]
    assert list(explained.lines) == [*repair["patch"].splitlines(), *repair["sentences"]]


def test_what_can_go_is_in_the_page(results: dict[str, Path]) -> None:
    document = json.loads(results["advise"].read_text())
    one = {
        "name": "clwb", "file": "a.c", "line": 3, "function": "f", "calls": [], "executed": 5,
        "proof": "same crash images", "saved_ns": 12.5,
    }  # fmt: skip
    changed = {**document, "repair": None, "superfluous": [one], "time_ns": 100, "without_ns": 88}
    section = SECTIONS["advise"](changed)
    assert section.good is True
    saved = "can be removed together with the same crash images, which saves 12 of 100 ns"
    assert section.outcome == f"1 of 1 {saved}"
    accepted = {**one, "proof": "accepted: 5 of 5 crash images"}
    one_by_one = SECTIONS["advise"]({**changed, "superfluous": [accepted]})
    assert one_by_one.outcome == "1 can be removed or replaced one by one"
    row = ["clwb", "a.c:3", "f", "5", "12.5", "same crash images", ""]
    assert tables_of(section)["What can be removed"].rows == [row]
    nothing = SECTIONS["advise"]({**changed, "superfluous": []})
    assert nothing.outcome == NOTHING
    failed = {**document["repair"], "steps": [], "reason": "a log is needed"}
    texts = list(SECTIONS["advise"]({**document, "repair": failed}).parts)
    assert "a log is needed" in str(texts)


@pytest.mark.parametrize("command", ["sweep", "reproduce"])
def test_configurations_of_many_simulations_are_in_the_page(
    results: dict[str, Path], command: str
) -> None:
    tables = tables_of(SECTIONS[command](json.loads(results[command].read_text())))
    shared = {row[0]: row[1] for row in tables["Parameters of all designs"].rows}
    assert shared["core.width"]
    if command == "sweep":
        assert "pm.wpq_entries" not in shared
        asap = {row[0]: row[1] for row in tables["Parameters of asap"].rows}
        assert asap["atomicity"] == "asap"
    else:
        slower = tables["Parameters of tiny latency, SW, 4x"].rows
        assert ["pm.latency_factor", "4"] in [row[:2] for row in slower]


def test_verdicts_of_the_page_are_those_of_the_results(results: dict[str, Path]) -> None:
    def section(command: str, **changed: Any) -> Section:  # noqa: ANN401 -- any JSON
        return SECTIONS[command]({**json.loads(results[command].read_text()), **changed})

    assert section("crash").good is True
    assert section("check").good is False
    assert section("matrix").good is True
    cells = json.loads(results["matrix"].read_text())["cells"]
    assert section("matrix", cells=[{**cells[0], "violations": 3}, *cells[1:]]).good is False
    assert section("matrix", cells=[{**cell, "violations": None} for cell in cells]).good is None
    (run,) = json.loads(results["crash"].read_text())["runs"]
    story = {"point": 1, "time_ns": 2.0, "lines": ["the word is wrong"], "command": "pmemsim crash"}
    wrong = section("crash", runs=[{**run, "violations": 1, "story": story}])
    assert wrong.good is False
    (explained,) = (part for part in wrong.parts if isinstance(part, Explanation))
    assert (list(explained.lines), explained.command) == (["the word is wrong"], "pmemsim crash")
    undecided = [{"method": "images", "model": "px86", "result": "undecided", "text": "half"}]
    shown = section("check", verdicts=undecided)
    assert shown.good is None
    assert Verdict("images under px86: half", None) in shown.parts


def test_findings_known_from_a_baseline_are_shown_and_not_called_good(
    results: dict[str, Path],
) -> None:
    document = json.loads(results["check"].read_text())
    known = document["findings"]
    rules = [{"method": "rules", "model": "px86", "result": "nothing found", "text": "0 findings"}]
    changed = {**document, "findings": [], "verdicts": rules}
    section = SECTIONS["check"]({**changed, "baseline": {"known": known, "gone": 2}})
    assert section.good is None
    assert section.outcome.endswith("; known from the baseline: 1, no longer found: 2")
    (row,) = tables_of(section)["Findings known from the baseline"].rows
    assert row[:2] == ["reads-unpersisted", "publish_unpersisted.c:23"]
    assert SECTIONS["check"]({**changed, "baseline": {"known": [], "gone": 2}}).good is True


def test_comparison_on_two_machines_has_the_ratios_on_each_machine(
    results: dict[str, Path],
) -> None:
    document = json.loads(results["compare"].read_text())
    assert tables_of(SECTIONS["compare"](document))["Ratios"].columns[-1] == ">± 95%"
    for run in document["runs"][1::3]:
        run["machine"] = "cxl"
    tables = tables_of(SECTIONS["compare"](document))
    assert tables["Ratios"].columns[-1] == ">over sw-undo on the same machine"
    assert tables["Ratios"].rows[1][-1] == f"{document['ratios'][1]['ratio_on_machine']:.3f}"
    assert tables["Ratios"].rows[-1][-1] == "-"
    assert len(tables["Runs"].rows) == len(document["runs"])


def test_profile_is_named_by_its_design_and_a_failed_sweep_has_no_plot(
    results: dict[str, Path],
) -> None:
    document = json.loads(results["profile"].read_text())
    document["profiles"] = document["profiles"][:1]
    assert SECTIONS["profile"](document).outcome.startswith("most time on sw-undo: ")
    sweep = json.loads(results["sweep"].read_text())
    plots = [part for part in SECTIONS["sweep"](sweep).parts if isinstance(part, Plot)]
    for point in sweep["points"]:
        point.update(status="failed", speedup=None, time_ns=None, pm_write_bytes=None)
    assert len(plots) == 1
    assert not [part for part in SECTIONS["sweep"](sweep).parts if isinstance(part, Plot)]


def test_instructions_left_out_are_shown(results: dict[str, Path]) -> None:
    document = json.loads(results["check"].read_text())
    place = {"file": "list.c", "line": 7, "function": "push"}
    left_out = {**place, "name": "clwb", "verdict": "found", "problem": "exited with 1"}
    document["images"][0]["left_out"] = [left_out]
    tables = tables_of(SECTIONS["check"](document))
    assert tables["Each flush and fence left out, under px86"].rows == [
        ["clwb", "list.c:7", "push", "found", "exited with 1"]
    ]


def test_configurations_show_in_what_designs_differ(results: dict[str, Path]) -> None:
    document = json.loads(results["matrix"].read_text())
    tables = tables_of(SECTIONS["matrix"](document))
    of_asap = {row[0]: row[1] for row in tables["Parameters of asap"].rows}
    shared = {row[0]: row[1] for row in tables["Parameters of all designs"].rows}
    every = {key: each["value"] for key, each in document["configurations"]["asap"].items()}
    assert {**of_asap, **shared} == every
    assert of_asap["atomicity"] == "asap"
    assert "core.rob_entries" in shared


def test_names_from_a_recording_are_text(results: dict[str, Path], tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><b>x"
    document = json.loads(results["compare"].read_text())
    for each in (*document["runs"], *document["ratios"], *document["cold"]):
        each["workload"] = name if each["workload"] == "one_thread" else each["workload"]
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(document))
    page = page_of([path])
    assert "<script>alert" not in page
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page


@pytest.mark.quick
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "x.json: No such file or directory; name a file that --json has written"),
        ("{", "x.json: the file is not JSON"),
        ("\udcff", "x.json: the file is not text; name a file that --json has written"),
        ("[]", "the file contains no results of this version of pmemsim"),
        ('{"command": "list designs"}', "results of `list designs`; a report shows those of run,"),
        ('{"command": []}', "the file contains results of `[]`"),
        ('{"command": "run", "version": "0"}', "json of this version ('workload' is missing)"),
        ('{"command": "matrix", "cells": 3, "baseline": ""}', "do not match results.schema.json"),
    ],
)
def test_files_that_are_no_results_are_refused(
    tmp_path: Path, content: str | None, sentence: str
) -> None:
    paths = [tmp_path / "x.json", tmp_path / "y.json"]
    for path in paths:
        if content is not None:
            path.write_text(content, errors="surrogateescape")
    with pytest.raises(ConfigError) as error:
        page_of(paths)
    first, second = error.value.problems
    assert sentence in first
    assert "y.json" in second


def test_report_is_written_to_an_html_file_only(tmp_path: Path) -> None:
    done = pmemsim("report", "x.json", "-o", "x.pdf", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("pmemsim: --out x.pdf: must end in .html; to make a PDF, print")


def test_report_does_not_overwrite_its_results(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    done = pmemsim("report", path, "-o", path)
    assert done.returncode == 2
    assert "this command already reads or writes this file" in done.stderr
    assert path.read_text() == "{}"


# ---- in a browser --------------------------------------------------------------------------------


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no browser; install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, results: dict[str, Path], tmp_path: Path) -> Any:  # noqa: ANN401
    """Return a function that opens the report of all results at a width, and checks its errors."""
    path = tmp_path / "report.html"
    path.write_text(page_of(list(results.values())))

    def open_page(width: int, **options: Any) -> Any:  # noqa: ANN401
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
        assert [text for text in wrong if text != path.as_uri() and text[:5] != "data:"] == []
        return page

    return open_page


@in_browser
@pytest.mark.parametrize("width", long_except([1280, 390], 390))
def test_page_in_a_browser_has_all_plots(opened: Any, width: int) -> None:  # noqa: ANN401
    page = opened(width)
    plots = page.locator(".plot")
    assert plots.count() == 8
    for index in range(plots.count()):
        box = plots.nth(index).locator(".main-svg").first.bounding_box()
        assert box["width"] > 0.8 * min(width, 1216) - 40
        assert box["height"] > 80
    # Only tables scroll sideways, not the page, whatever files are named.
    page.evaluate("document.querySelectorAll('p, h2').forEach(p => p.append('/path'.repeat(40)))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.long
@in_browser
def test_page_is_used_by_keyboard(opened: Any) -> None:  # noqa: ANN401
    page = opened(1280)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    wanted = page.locator("a, summary, input, .table").count()
    reached = set()
    for _ in range(wanted + 5):
        reached.add(
            page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        )
        page.keyboard.press("Tab")
    assert len(reached) > 40
    box = page.locator("fieldset input").first
    box.focus()
    page.keyboard.press("Space")
    plot = box.evaluate("each => each.closest('fieldset').dataset.plot")
    page.wait_for_function(
        "id => document.getElementById(id).data[0].visible === 'legendonly'", arg=plot
    )
    summary = page.locator("summary", has_text="Resolved configurations").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open] caption", has_text="Parameters of all designs").count() == 1
    page.close()


@pytest.mark.long
@in_browser
def test_page_is_accessible(opened: Any) -> None:  # noqa: ANN401
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page = opened(1280)
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found] == []
    page.close()


@pytest.mark.long
@in_browser
def test_page_prints_and_works_without_scripts(opened: Any) -> None:  # noqa: ANN401
    page = opened(1280)
    widths = "[...document.querySelectorAll('.plot .main-svg')].map(each => each.clientWidth)"
    before = page.evaluate(widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert max(page.evaluate(widths)) == 660
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(widths) == before
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
    plain = opened(1280, java_script_enabled=False)
    assert plain.locator("noscript").count() == 1
    assert plain.locator("td", has_text="tiny.speed").first.is_visible()
    plain.close()
