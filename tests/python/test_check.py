"""`pmemsim check`: planted bugs are found at their lines, and correct twins have none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pmemsim.checking.verdicts import Verdict, undecided
from pmemsim.cli.verdicts import end_with
from pmemsim.errors import CheckFailed, ConfigError, Error, Undecided
from pmemsim.program_check import KINDS, check_program, read_suppressions
from pmemsim.trace import Trace
from support import ROOT, SMALL, long_except, pmemsim

HERE = Path(__file__).parent
BARE, REGIONS = "planted_bugs.c", "planted_region_bugs.c"
RANGE = ("--pm-range", "100000000000:100000010000")


def planted(source: str) -> dict[str, int]:
    """Return the kinds of a file's bugs, and their lines."""
    lines = (HERE / source).read_text().splitlines()
    marked = [(re.search(r"/\* ([a-z]+-?[a-z-]*) \*/", text), n) for n, text in enumerate(lines, 1)]
    return {match[1]: number for match, number in marked if match and match[1] in KINDS}


PLANTED = [(source, kind) for source in (BARE, REGIONS) for kind in planted(source)]


def compiled(folder: Path, source: Path, level: str = "-O2") -> Path:
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    program = folder / source.stem
    subprocess.run([compiler, level, "-g", source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module", params=long_except(["-O0", "-O2"], "-O2"))
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("planted")
    return {source: compiled(folder, HERE / source, request.param) for source in (BARE, REGIONS)}


def recorded(program: Path, *arguments: str) -> Path:
    trace = program.parent / f"{'-'.join([program.name, *arguments])}.pmt"
    pm = RANGE if program.name == Path(BARE).stem else ()
    done = pmemsim("record", "-o", trace, *pm, "--", program, *arguments)
    assert done.returncode == 0, done.stderr
    return trace


def checked(trace: Path, *options: str | Path, status: int) -> dict[str, Any]:
    output = trace.with_suffix(".json")
    done = pmemsim("check", trace, "--json", output, *options)
    assert done.returncode == status, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(output.read_text())
    return report


def test_every_kind_of_finding_has_a_faulty_program() -> None:
    assert {kind for _, kind in PLANTED} == set(KINDS) - {"wrong-answer"}  # test_answers.py


@pytest.mark.parametrize(("source", "kind"), PLANTED)
def test_a_planted_bug_is_reported_at_its_line(
    programs: dict[str, Path], source: str, kind: str
) -> None:
    report = checked(
        recorded(programs[source], kind, "bug"), status=1 if KINDS[kind].loses_data else 0
    )
    places = {(Path(found["file"]).name, found["line"]) for found in _of(report, kind)}
    assert places == {(source, planted(source)[kind])}


@pytest.mark.parametrize(("source", "kind"), PLANTED)
def test_corrected_program_has_no_findings(
    programs: dict[str, Path], source: str, kind: str
) -> None:
    assert checked(recorded(programs[source], kind, "twin"), status=0)["findings"] == []


def _of(report: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["kind"] == kind]


@pytest.fixture(scope="module")
def never_flushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = compiled(tmp_path_factory.mktemp("never"), HERE / BARE)
    return recorded(program, "never-flushed", "bug")


def test_finding_in_json_has_all_its_fields(never_flushed: Path) -> None:
    (finding,) = checked(never_flushed, status=1)["findings"]
    first = finding.pop("first")
    assert finding.pop("calls")[-1]["function"] == "main"
    assert finding.pop("file").endswith(BARE)
    assert finding == {
        "kind": "never-flushed",
        "reason": "",
        "loses_data": True,
        "note": False,
        "line": planted(BARE)["never-flushed"],
        "function": "never_flushed",
        "other": None,
        "other_calls": [],
        "count": 1,
        "executions": None,
        "effect": KINDS["never-flushed"].effect,
    }
    dump = pmemsim(
        "trace", "dump", never_flushed, "--thread", str(first["thread"]),
        "--first", str(first["operation"]), "--count", "1",
    )  # fmt: skip
    assert f"{BARE}:{planted(BARE)['never-flushed']}" in dump.stdout


def test_the_command_prints_the_findings_and_fails(never_flushed: Path) -> None:
    done = pmemsim("check", never_flushed)
    assert done.returncode == 1
    assert "never-flushed" in done.stdout
    assert f"{BARE}:{planted(BARE)['never-flushed']}" in done.stdout
    assert "not checked, because the recording has no atomic region" in done.stdout
    assert "1 finding that can lose data; the first:" in done.stderr


def test_eadr_model_reports_no_missing_flushes(never_flushed: Path) -> None:
    report = checked(never_flushed, "--model", "eadr", status=0)
    assert report["findings"] == []
    assert report["not_looked_for"]["never-flushed"] == "with eADR, the caches survive"


def suppressions(folder: Path, **fields: str) -> Path:
    entry = {"kind": "never-flushed", "source": "*", "comment": "meant", **fields}
    path = folder / "meant.yaml"
    lines = [f'{key}: "{value}"' for key, value in entry.items()]
    path.write_text("- " + "\n  ".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "fields",
    [
        {"source": f"{BARE}:*"},
        {"source": f"*/{BARE}", "function": "never_*"},
        {"source": f"{BARE}:{planted(BARE)['never-flushed']}"},
        {"function": "main"},  # from where it was called
    ],
)
def test_intended_findings_can_be_suppressed(
    never_flushed: Path, tmp_path: Path, fields: dict[str, str]
) -> None:
    path = suppressions(tmp_path, **fields)
    report = checked(never_flushed, "--suppress", path, status=0)
    assert report["findings"] == []
    (suppressed,) = report["suppressed"]
    assert suppressed["comment"] == "meant"
    assert suppressed["suppression"] == f"{path}:1"
    assert report["unused_suppressions"] == []


@pytest.mark.parametrize(
    "fields", [{"kind": "leaked"}, {"source": "other.c"}, {"function": "persist"}]
)
def test_unused_suppression_is_reported(
    never_flushed: Path, tmp_path: Path, fields: dict[str, str]
) -> None:
    path = suppressions(tmp_path, **fields)
    done = pmemsim("check", never_flushed, "--suppress", path)
    assert done.returncode == 1
    assert f"{path}:1: this line suppresses no finding; remove it" in done.stderr


MANY_PLACES = r"""
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
struct item { uint64_t free[7], cas; };
static void set(uint64_t* word, uint64_t value) { *word = value; }
__attribute__((noinline)) static void meant(struct item* it) {
  set(&it->free[0], 1); set(&it->free[1], 1);
  it->free[2] = 1;
  it->free[3] = 1;
  it->free[4] = 1;
}
__attribute__((noinline)) static void forgotten(struct item* it) { set(&it->cas, 7); }
int main(void) {
  struct item* it = mmap((void*)0x100000000000, 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  for (int i = 0; i < 5; ++i) { meant(it + i); forgotten(it + i); }
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_suppressions_leave_findings_at_other_places_of_the_line(
    tmp_path: Path, level: str
) -> None:
    source = tmp_path / "many.c"
    source.write_text(MANY_PLACES)
    trace = tmp_path / "many.pmt"
    program = compiled(tmp_path, source, level)
    done = pmemsim("record", "-o", trace, *RANGE, "--", program)
    assert done.returncode == 0, done.stderr
    path = suppressions(tmp_path, function="meant")
    report = checked(trace, "--suppress", path, status=1)
    (finding,) = report["findings"]
    assert "forgotten" in [finding["function"], *(call["function"] for call in finding["calls"])]
    assert finding["count"] == 5


def test_all_problems_of_a_suppression_file_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "meant.yaml"
    path.write_text("- kind: never-flush\n  source: a.c\n  comment: x\n- kind: leaked\n")
    with pytest.raises(ConfigError) as error:
        read_suppressions(path)
    assert f"{path}:1: kind: unknown kind of finding 'never-flush'" in error.value.problems[0]
    assert "did you mean 'never-flushed'?" in error.value.problems[0]
    assert any("the key 'comment' is missing" in problem for problem in error.value.problems)


def test_check_reports_all_bad_arguments_at_once(never_flushed: Path, tmp_path: Path) -> None:
    done = pmemsim(
        "check", never_flushed, "--model", "x86", "--top", "0", "--suppress", tmp_path / "none"
    )
    assert done.returncode == 2
    assert "--model x86: unknown model; did you mean 'px86'?" in done.stderr
    assert "--top 0: must be at least 1" in done.stderr
    assert f"{tmp_path / 'none'}: the file could not be read" in done.stderr


NOTE = r"""
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>
int main(void) {
  volatile uint64_t* pm = mmap((void*)0x100000000000, 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  *pm = 0x100000000041; _mm_clflush((void*)pm); _mm_sfence();
  *pm = 0x100000000040;
}
"""


def test_notes_change_the_exit_code_only_if_strict(tmp_path: Path) -> None:
    source = tmp_path / "note.c"
    source.write_text(NOTE)
    trace = tmp_path / "note.pmt"
    done = pmemsim("record", "-o", trace, *RANGE, "--", compiled(tmp_path, source))
    assert done.returncode == 0, done.stderr
    lenient = pmemsim("check", trace)
    assert lenient.returncode == 0
    assert "notes (a correct program may have these, too)" in lenient.stdout
    assert "--verify CMD" in lenient.stdout
    assert "0 findings that can lose data, 0 that cost time or space, 1 note;" in lenient.stdout
    strict = pmemsim("check", trace, "--strict")
    assert strict.returncode == 1
    assert "note: 1 note (--strict); the first:" in strict.stderr


WITHOUT_PM = "int main(void) { volatile int x = 1; return x - 1; }\n"


@pytest.mark.parametrize(
    ("pm", "reason"),
    [((), "has no persistent memory"), (("--pm-heap",), "stores nothing to persistent memory")],
)
def test_check_refuses_recordings_without_stores_to_pm(
    tmp_path: Path, pm: tuple[str, ...], reason: str
) -> None:
    source = tmp_path / "plain.c"
    source.write_text(WITHOUT_PM)
    trace = tmp_path / "plain.pmt"
    made = pmemsim("record", "-o", trace, *pm, "--", compiled(tmp_path, source))
    assert made.returncode == 0, made.stderr
    done = pmemsim("check", trace)
    assert done.returncode == 2
    assert "there is nothing to check" in done.stderr
    assert reason in done.stderr


# Findings that are intended. The queue leaves the last node's link to be written back by chance,
# because its recovery uses the nodes' positions. The other two break rules on purpose: one releases
# locks inside regions, the other executes random operations.
KNOWN = {
    "queue_lowlevel": {"never-flushed", "published-unflushed"},
    "store_misspeculation": {"logged-by-two"},
    "random": {
        "never-flushed", "locked-fence-only", "flushed-by-another", "stored-after-flush",
        "nt-not-fenced", "flushed-not-fenced",
    },
}  # fmt: skip


@pytest.mark.parametrize("opt", long_except(["O0", "O2"], "O2"))
@pytest.mark.parametrize(
    "workload",
    long_except(
        [
            "queue",
            "queue_lowlevel",
            "hashmap_lowlevel",
            "memcached",
            "store_misspeculation",
            "echo",
            "random",
        ],
        "queue",
        "hashmap_lowlevel",
    ),
)
def test_workloads_have_no_findings_but_known_ones(workload: str, opt: str) -> None:
    done = pmemsim("check", workload, "--opt", opt, *SMALL, "--json", "-")
    kinds = {
        finding["kind"] for finding in json.loads(done.stdout)["findings"] if finding["loses_data"]
    }
    assert kinds <= KNOWN.get(workload, set())
    assert done.returncode == (1 if kinds else 0)


def test_program_is_checked_from_python(queue_trace: Path) -> None:
    report = check_program(Trace(queue_trace))
    assert report.faults == []
    assert report.counts["regions"] == 200
    assert report.notes[0].startswith("the recording begins at pm_roi_begin")


def test_every_kind_is_documented() -> None:
    page = (ROOT / "docs/guides/check_program.md").read_text()
    for kind in KINDS.values():
        assert f"\n| `{kind.name}` | {'data' if kind.loses_data else 'cost'} |" in page


# ---- Verdicts ------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("verdicts", "ends"),
    [
        ({}, None),
        ({"undecided": "x"}, Undecided),
        ({"failed": "x"}, ConfigError),
        ({"found": ("x",)}, CheckFailed),
        ({"failed": "x", "undecided": "y"}, ConfigError),
        ({"found": ("x",), "failed": "y", "undecided": "z"}, CheckFailed),
    ],
)
def test_the_exit_code_is_that_of_the_gravest_verdict(
    verdicts: dict[str, Any], ends: type[Error] | None
) -> None:
    each = [Verdict(f"m{n}", "px86", "", **{key: verdicts[key]}) for n, key in enumerate(verdicts)]
    with pytest.raises(ends) if ends else nullcontext():
        end_with("program", [Verdict("rules", "px86", ""), *each])


def test_one_percent_without_a_verdict_counts_as_decided() -> None:
    assert undecided(3, 300, "images", "too many") == ""
    assert undecided(4, 300, "images", "too many") == "4 of 300 images have no verdict: too many"
    assert undecided(0, 0, "images", "too many") == ""


@pytest.mark.long
def test_publication_in_a_section_with_an_undo_log_is_a_note() -> None:
    done = pmemsim(
        "check", "queue_lowlevel", "--mix", "sections", "--regions", "200", "--json", "-"
    )
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout[done.stdout.index("{") :])["findings"]
    assert {(each["kind"], each["reason"], each["note"]) for each in findings} == {
        ("flushed-not-fenced", "undo_log", True),
        ("published-unflushed", "undo_log", True),
    }
