"""pmemsim-cc --janus-profile=FILE: hints after the stores at the source lines in the file."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from test_hints import hints as announced

from conftest import Toolchain, built_toolchain, run
from pmemsim.trace import Trace

BOTH_LEVELS = pytest.mark.parametrize("level", ["-O0", "-O2"])

CODE = """
#include <string.h>
#include "pmemsim/pm.h"
void other(long*);
void f(volatile long* p, long n) {
  volatile long local[8];
  for (long i = 0; i < n; ++i) {
    p[i] = i;
    local[i & 7] = i;
  }
  memcpy((long*)p, (long*)local, 64);
  memset((long*)p, 0, (unsigned)n);
  other((long*)local);
}
"""
LOOP, VARIABLE, COPY, FILL = 8, 9, 11, 12


def compiled(toolchain: Toolchain, level: str, *lines: int) -> str:
    """Return the intermediate code, with hints at these lines."""
    source = toolchain.write(CODE, ".c")
    profile = toolchain.scratch / "hints.txt"
    profile.write_text("".join(f"{source}:{line}\n" for line in lines))
    text = toolchain.scratch / "program.ll"
    run(
        toolchain.compiler(source), level, f"--janus-profile={profile}",
        "-fverify-intermediate-code", "-S", "-emit-llvm", source, "-o", text,
    )  # fmt: skip
    return text.read_text()


def hints(text: str) -> list[str]:
    return re.findall(r"call void @pm_pre_(\w+)\(", text)


def bytes_of(text: str) -> list[str]:
    return re.findall(r"call void @pm_pre_both\(.*, i64 (?:noundef )?([%\w.]+)\)", text)


@BOTH_LEVELS
def test_profile_hint_follows_a_store_in_a_loop(toolchain: Toolchain, level: str) -> None:
    text = compiled(toolchain, level, LOOP)
    times = 1 if level == "-O0" else len(hints(text)) // 2  # copies of the unrolled loop
    assert hints(text) == ["init", "both"] * times
    assert bytes_of(text) == ["8"] * times
    order = re.findall(r"(store volatile i64|@pm_pre_both\()", text.split("declare ")[0])
    assert "store volatile i64" in order[: order.index("@pm_pre_both(")], "behind its store"


@BOTH_LEVELS
def test_hints_from_profile_follow_copies_and_fills(toolchain: Toolchain, level: str) -> None:
    text = compiled(toolchain, level, COPY, FILL)
    assert hints(text) == ["init", "both"] * 2
    assert bytes_of(text)[0] == "64"
    assert bytes_of(text)[1].startswith("%"), "as long as the fill is"


@BOTH_LEVELS
def test_local_variables_get_no_hints_from_profile(toolchain: Toolchain, level: str) -> None:
    assert hints(compiled(toolchain, level, VARIABLE)) == []


def test_lines_outside_the_profile_get_no_hints(toolchain: Toolchain) -> None:
    assert hints(compiled(toolchain, "-O2", 1, 2, 3)) == []
    source = toolchain.write(CODE, ".c")
    profile = toolchain.scratch / "hints.txt"
    profile.write_text(f"other.c:{LOOP}\n")
    text = toolchain.scratch / "program.ll"
    run(toolchain.compiler(source), f"--janus-profile={profile}", "-S", "-emit-llvm", source,
        "-o", text)  # fmt: skip
    assert hints(text.read_text()) == []


@pytest.mark.parametrize(
    ("name", "there"),
    [("program.c", True), ("./program.c", False), ("rogram.c", False), ("x/program.c", False)],
)
def test_a_file_may_be_named_by_the_end_of_its_path(
    toolchain: Toolchain, name: str, there: bool
) -> None:
    source = toolchain.write(CODE, ".c")
    profile = toolchain.scratch / "hints.txt"
    profile.write_text(f"{name}:{LOOP}\n")
    text = toolchain.scratch / "program.ll"
    run(toolchain.compiler(source), f"--janus-profile={profile}", "-S", "-emit-llvm", source,
        "-o", text)  # fmt: skip
    assert bool(hints(text.read_text())) == there


def test_invalid_profile_stops_the_compiler(toolchain: Toolchain, tmp_path: Path) -> None:
    source = toolchain.write("int main(void) { return 0; }\n", ".c")
    cc = toolchain.compiler(source)
    bad = tmp_path / "bad.txt"
    bad.write_text("mine.c:12\nmine.c\n")
    for argument, status, sentence in (
        (f"--janus-profile={bad}", 1, "'mine.c' is not PATH:LINE"),
        (f"--janus-profile={tmp_path / 'none'}", 2, "could not be read"),
        ("--janus-profile", 2, "give its file behind a ="),
    ):
        command = [str(cc), argument, "-c", str(source), "-o", str(tmp_path / "a.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == status, argument
        assert sentence in done.stderr
        assert not (tmp_path / "a.o").exists()


RECORDED = """#include "pmemsim/pm.h"
int main(void) {
  pm_pool* pool = pm_open(0, 8 << 20, 0);
  uint64_t* root = pm_root(pool, 64);
  pm_roi_begin();
  pm_begin(pool);
  pm_log(root, 24);
  for (uint64_t i = 0; i < 3; ++i)
    root[i] = i + 21;
  pm_end();
  pm_roi_end();
  return 0;
}
"""
STORE = 9


@BOTH_LEVELS
def test_hints_from_profile_announce_the_stored_data(tmp_path: Path, level: str) -> None:
    source, program, output = tmp_path / "a.c", tmp_path / "a", tmp_path / "a.pmt"
    source.write_text(RECORDED)
    profile = tmp_path / "hints.txt"
    profile.write_text(f"{source}:{STORE}\n")
    run(built_toolchain() / "bin" / "pmemsim-cc", level, f"--janus-profile={profile}", source,
        "-o", program)  # fmt: skip
    run(program, env={**os.environ, "PMEMSIM_TRACE": str(output)})
    # The library gives a hint before its own commit.
    assert announced(Trace(output)) == [(8, [2, 0]), (8, [21, 0]), (8, [22, 0]), (8, [23, 0])]
