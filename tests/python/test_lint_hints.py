"""`pmemsim lint-hints` finds planted misuses at their lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pmemsim.lint_hints import Finding, lint
from pmemsim.simulation import configure, simulate
from pmemsim.targets import find_target
from pmemsim.trace import Place
from support import ROOT, long_except, pmemsim

PLANTED = Path(__file__).with_name("planted_hints.c")
WITHOUT_HINTS = """
#include "pmemsim/pm.h"

int main(void) {
  uint64_t* root = pm_root(pm_open(0, 8 << 20, 0), 64);
  pm_roi_begin();
  *root = 1;
  pm_flush(root, 64);
  pm_durable();
  return 0;
}
"""


def recorded(folder: Path, source: Path, level: str = "-O2", *options: str) -> Path:
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    program, trace = folder / "program", folder / "planted.pmt"
    subprocess.run([compiler, level, "-g", *options, source, "-o", program], check=True)
    done = pmemsim("record", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    return trace


def line_of(kind: str) -> int:
    (line,) = [
        number
        for number, text in enumerate(PLANTED.read_text().splitlines(), 1)
        if re.search(rf"/\* {kind}\b", text)
    ]
    return line


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("planted"), PLANTED, request.param)


def findings(trace: Path, *options: str, status: int) -> list[dict[str, Any]]:
    output = trace.with_suffix(".json")
    done = pmemsim("lint-hints", trace, "--json", output, *options)
    assert done.returncode == status, done.stderr
    found: list[dict[str, Any]] = json.loads(output.read_text())["findings"]
    return found


def test_five_planted_misuses_are_found_at_their_lines(planted: Path) -> None:
    found = findings(planted, status=1)
    own = [finding for finding in found if Path(finding["file"]).name == PLANTED.name]
    kinds = {finding["line"]: finding["kind"] for finding in own if finding["fault"]}
    misuses = ["useless", "invalidated", "freed", "too_short"]
    assert kinds == {line_of(kind): kind for kind in misuses}
    assert all(finding["count"] == 1 for finding in own if finding["fault"])

    (missing,) = [finding for finding in own if finding["line"] == line_of("missing")]
    assert missing["kind"] == "missing"
    assert missing["count"] == 1
    assert missing["store"]["line"] == line_of("missing") - 1
    assert missing["function"] == "write_back"
    assert missing["lost_ns"] >= 681  # all of Janus's operations, recomputed
    assert missing["fault"] is False
    assert missing["of_library"] is False

    # Findings inside pm_free are reported at the program's line that calls it.
    (line,) = [
        number
        for number, text in enumerate(PLANTED.read_text().splitlines(), 1)
        if "pm_free" in text
    ]
    of_library = [finding for finding in found if finding["of_library"]]
    assert line in {finding["line"] for finding in of_library}
    assert {Path(finding["file"]).name for finding in found} == {PLANTED.name}
    assert not any(finding["fault"] for finding in of_library)


@pytest.mark.parametrize(
    ("kind", "reason", "of_library", "fault"),
    [
        ("too_short", "too_short", False, True),
        ("too_short", "too_short", True, False),
        ("dropped", "result_buffer", False, True),
        ("invalidated", "duplicate", False, True),
        ("invalidated", "tree", False, False),
        ("missing", "flush", False, False),
    ],
)
def test_kind_and_origin_decide_whether_a_finding_is_a_fault(
    kind: str, reason: str, of_library: bool, fault: bool
) -> None:
    place = Place("mine.c", 7, "main")
    finding = Finding(kind, reason, place, None, of_library, 1, 1, 681.0, 116.0, 681.0)
    assert finding.fault is fault
    assert ("pm.h's library" in finding.advice) is of_library


def test_finding_of_a_hint_has_the_documented_keys(planted: Path) -> None:
    (too_short,) = [each for each in findings(planted, status=1) if each["kind"] == "too_short"]
    assert set(too_short) == {
        "kind", "reason", "fault", "file", "line", "function", "store", "of_library", "count",
        "writes", "lost_ns", "distance_ns", "missing_ns", "advice",
    }  # fmt: skip
    assert 15 < too_short["distance_ns"] < 500
    assert too_short["lost_ns"] == too_short["missing_ns"]
    assert f"{too_short['missing_ns']:.0f} ns too early" in too_short["advice"]


def test_findings_are_sorted_by_cost_and_limited_by_top(planted: Path) -> None:
    found = findings(planted, status=1)
    lost = [finding["lost_ns"] for finding in found]
    assert lost == sorted(lost, reverse=True)
    done = pmemsim("lint-hints", planted, "--top", "1")
    rows = re.findall(r"^│ (\w+): (\w+) +│", done.stdout, re.M)
    assert rows == [(found[0]["kind"], found[0]["reason"])]
    assert f"{len(found) - 1} more findings" in done.stdout
    assert "findings of hints to correct" in done.stderr


def test_missing_hints_of_a_recording_without_hints_are_no_fault(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text(WITHOUT_HINTS)
    trace = recorded(tmp_path, source)
    done = pmemsim("lint-hints", trace)
    assert done.returncode == 0, done.stderr
    assert "the recording has no hint" in done.stdout
    assert "missing: flush" in done.stdout
    assert "plain.c:8" in done.stdout
    (missing,) = findings(trace, status=0)
    assert missing["line"] == 8
    assert missing["store"]["line"] == 7


# All lines but the tree's root have time between the store and its flush.
WITH_A_WINDOW = """
#include "pmemsim/pm.h"

int main(void) {
  uint64_t* root = pm_root(pm_open(0, 8 << 20, 0), 64 * 64);
  pm_roi_begin();
  for (uint64_t i = 0; i < 64; ++i) {
    root[8 * i] = i;
    for (volatile uint64_t work = 0; work < 2000; ++work);
    pm_flush(&root[8 * i], 8);
    pm_durable();
  }
  return 0;
}
"""


def test_profile_adds_the_missing_hints(tmp_path: Path) -> None:
    source, profile = tmp_path / "window.c", tmp_path / "lines.txt"
    source.write_text(WITH_A_WINDOW)
    trace = recorded(tmp_path, source)
    before = tmp_path / "before.json"
    done = pmemsim("lint-hints", trace, "--profile", profile, "--json", before)
    assert done.returncode == 0, done.stderr
    (line,) = profile.read_text().splitlines()
    assert line.endswith("window.c:8")
    hinted = recorded(tmp_path, source, "-O2", f"--janus-profile={profile}")
    after = tmp_path / "after.json"
    assert pmemsim("lint-hints", hinted, "--json", after).returncode == 0
    plain, better = (json.loads(path.read_text()) for path in (before, after))
    assert (plain["hints"], better["hints"]) == (0, 64)
    assert better["in_time"] == 64
    assert better["waited_ns"] < plain["waited_ns"] / 2
    assert better["time_ns"] < plain["time_ns"]


def test_unwritable_profile_is_refused(queue_trace: Path) -> None:
    done = pmemsim("lint-hints", queue_trace, "--profile", queue_trace)
    assert done.returncode == 2
    assert "this command already reads or writes this file" in done.stderr
    done = pmemsim("lint-hints", queue_trace, "--profile", "/no/such/folder/lines.txt")
    assert done.returncode == 2
    assert "/no/such/folder" in done.stderr


@pytest.mark.long
def test_a_workload_takes_a_profile(tmp_path: Path) -> None:
    profile, small = tmp_path / "lines.txt", ("--regions", "50", "--threads", "1")
    done = pmemsim("lint-hints", "queue", "--hints", "none", *small, "--profile", profile)
    assert done.returncode == 0, done.stderr
    lines = profile.read_text().splitlines()
    assert lines
    assert all(":" in line and not line.startswith("library/") for line in lines)
    hints = []
    for which in ("none", str(profile)):
        done = pmemsim("lint-hints", "queue", "--hints", which, *small, "--json", "-")
        hints.append(json.loads(done.stdout)["hints"])
    assert hints[1] >= hints[0] + 50, "the library's own, and those at the lines"
    done = pmemsim("record", "queue", "--hints", "no.txt", "-o", tmp_path / "a.pmt")
    assert done.returncode == 2
    assert "or a file that `pmemsim lint-hints --profile` wrote" in done.stderr


def test_options_change_the_machine(planted: Path) -> None:
    found = findings(planted, "--set", "janus.most_age=1ns", status=1)
    assert "too_old" in {finding["reason"] for finding in found}


@pytest.mark.parametrize("workload", long_except(["tatp_lowlevel", "queue"], "queue"))
def test_findings_add_up_to_the_waiting_of_the_unchanged_run(workload: str) -> None:
    trace = find_target(workload, threads=2, regions=200).trace()
    configuration = configure("janus", "janus")
    report, result = lint(trace, configuration), simulate(trace, configuration)
    assert report.time_ns == result.time_ns
    assert report.waited_ns == pytest.approx(result.stats["backend.time_ns"])
    waited = sum((finding.missing_ns or 0) * finding.writes for finding in report.findings)
    assert waited == pytest.approx(report.waited_ns)
    merged = result.stats["janus.requests_merged"]  # each request is for one line
    assert report.hinted_lines == result.stats["janus.operations"] + merged


def test_designs_that_see_no_hints_are_refused(queue_trace: Path) -> None:
    done = pmemsim("lint-hints", queue_trace, "--design", "parallel")
    assert done.returncode == 2
    assert done.stderr == (
        "pmemsim: parallel: precompute=none ignores the program's hints; choose a design with "
        "precompute=janus, such as janus\n"
    )


def test_lint_hints_reports_all_problems_at_once(tmp_path: Path) -> None:
    done = pmemsim("lint-hints", tmp_path / "no.pmt", "--top", "0", "--set", "janus.scale=x")
    assert done.returncode == 2
    assert "no.pmt: no such trace" in done.stderr
    assert "--top 0: must be at least 1" in done.stderr
    assert "janus.scale" in done.stderr


def test_the_documentation_has_every_kind_and_reason() -> None:
    page = (ROOT / "docs/guides/check_hints.md").read_text()
    source = (ROOT / "src" / "pmemsim" / "checks" / "hints" / "hint_findings.cpp").read_text()
    names = re.findall(r'\{"(\w+)", "(\w+)"\}', source)
    assert len(names) == 16
    for kind, reason in names:
        assert re.search(rf"^\| `{kind}` \| `{reason}` \|", page, re.M), (kind, reason)
