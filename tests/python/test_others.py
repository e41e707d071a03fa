"""The script that builds and records programs of others, on a tree of a few lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import others
import pytest
from others import called_at, caller_of, main, measure, missing_packages, without_times
from recipes import SOURCES, Program, Source, recipe_of
from support import ROOT

# Prints something else natively, and calls the C library a thousand times.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) {
  long *p = malloc(4096);
  for (int i = 0; i < 8; ++i) {
    p[8 * i] = i;
    __asm__ volatile("clflush %0" : "+m"(p[8 * i]));
  }
  __asm__ volatile("mfence" ::: "memory");
  for (int i = 0; i < 1000; ++i) p[1] += rand();
  printf("%ld took %ld ns\\n", p[1], (long)clock());
  free(p);
  return 0;
}
"""

GOOD = Program(
    name="good",
    build=("$CC -O1 -g good.c -o good", "echo changed >> known"),
    command="./good",
    binary="good",
    times=r"took \d+",
)
BAD = Program(name="bad", build=("$CC bad.c -o bad",), command="./bad", binary="bad", times="$^")
FAILING = Program("failing", (), command="./good --option && false", binary="good", times="$^")
TINY = Source("TINY", known_by=("known",), programs=(GOOD, BAD, FAILING))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(others, "BUILD", tmp_path / "build")
    monkeypatch.setattr(others, "SOURCES", (TINY,))
    monkeypatch.setattr("recipes.SOURCES", (TINY,))
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "known").write_text("as it was\n")
    (folder / "good.c").write_text(PROGRAM)
    return folder


def test_programs_are_built_in_copies_run_recorded_and_simulated(
    tree: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main([str(tree), "--json", str(report)]) == 1  # since one doesn't build
    good, bad, failing = json.loads(report.read_text())
    assert (good["program"], good["builds"], good["same_output"]) == ("good", True, True)
    assert good["counts"] == {"pm_stores": 1008, "pm_lines": 8, "flushes": 8, "fences": 1}
    assert 0.5 < good["not_instrumented"] < 1
    assert next(iter(good["functions"])) == "rand"
    assert good["functions"]["rand"] > 0.9 * good["not_instrumented"]
    assert good["time_ms"]["x86-bare"] > good["time_ms"]["eadr"] > 0
    assert (bad["program"], bad["builds"], bad["time_ms"]) == ("bad", False, {})

    assert (failing["builds"], failing["same_output"], failing["counts"]) == (True, False, {})

    table, complaints = capfd.readouterr()
    assert re.search(r"^good +yes +same +[\d.]+x +1,008 +8 +8 +1 ", table, re.M)
    assert re.search(r"^bad +no$", table, re.M)
    assert re.search(r"^failing +yes$", table, re.M)
    assert "bad: doesn't build by clang-19; see " in complaints
    assert "failing: Command " in complaints
    assert "no such file" in (tmp_path / "build/others/TINY/bad.native.log").read_text()
    assert sorted(path.name for path in tree.iterdir()) == ["good.c", "known"]
    assert (tree / "known").read_text() == "as it was\n"


def test_a_program_that_prints_something_else_is_told(tree: Path) -> None:
    differing = Program("good", GOOD.build, GOOD.command, GOOD.binary, times="$^")
    (found,) = measure(tree, Source("TINY", ("known",), (differing,)))
    assert found.builds
    assert not found.same_output


def test_an_unknown_tree_is_answered_by_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path)])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"{tmp_path}: is no source tree of PMDK, RECIPE, FAST_FAIR, CCEH; "
        "give the folder of a clone\n"
    )


def test_libraries_that_are_missing_are_named_by_their_packages(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source("TINY", ("known",), (GOOD,), libraries={"m": "libm-dev", "absent": "libabsent"})
    assert missing_packages(source) == ["libabsent"]
    monkeypatch.setattr("recipes.SOURCES", (source,))
    with pytest.raises(SystemExit) as ended:
        main([str(tree)])
    assert ended.value.code == 2
    assert "TINY needs libraries that are missing; install them " in capsys.readouterr().err


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_tree_is_known_by_its_files(tmp_path: Path, source: Source) -> None:
    for file in source.known_by:
        assert recipe_of(tmp_path) is None
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert recipe_of(tmp_path) is source


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_documentation_says_what_the_script_does(source: Source) -> None:
    page = (ROOT / "docs" / "others.md").read_text()
    sections = page.partition(f"\n## {source.name}\n")[2].partition("\n## ")[0]
    lines = [line for block in re.findall(r"```console\n(.*?)```", sections, re.S)
             for line in block.splitlines()]  # fmt: skip
    assert set(source.prepare) <= set(lines)
    for program in source.programs:
        assert set(program.build) <= set(lines), program.name
        run = f"pmemsim record -o {program.name}.pmt {program.persistent} -- {program.command}"
        assert run in lines
    for package in source.libraries.values():
        assert package in sections


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("  posix_memalign(&p, 64, sizeof(page));", "posix_memalign"),
        ("  return std::_Hash_bytes(key, len, seed);", "_Hash_bytes"),
        ("  if (own(memcpy(to, from, 8))) return;", "memcpy"),
        ("  if (own(x)) return;", None),
        ("  if (own(x)) p = new Page();", "new"),
        ("", None),
    ],
)
def test_what_is_called_is_read_from_the_source(line: str, called: str | None) -> None:
    symbols = {"posix_memalign", "_ZSt13diff_own_", "_ZSt11_Hash_bytesPKvmm", "memcpy"}
    assert called_at(line, symbols) == called


def test_a_caller_is_named_in_short() -> None:
    assert caller_of("a::Tree<int, b<c>>::insert(Key<int>*)") == "in a::Tree::insert"
    assert caller_of("") == "elsewhere"


def test_times_are_no_difference() -> None:
    assert without_times("a 12 usec b", r"\d+ usec") == without_times("a 9 usec b", r"\d+ usec")
    assert without_times("a 12 usec b", "$^") != without_times("a 9 usec b", "$^")
