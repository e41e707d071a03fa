"""The calls that lead to a finding of `pmemsim check`, inlined ones among them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pmemsim

pytestmark = pytest.mark.quick

SOURCE = Path(__file__).with_name("called_flushes.cpp")
LINES = SOURCE.read_text().splitlines()


def line_of(comment: str) -> int:
    """Return the number of the line with that end."""
    (number,) = [number for number, line in enumerate(LINES, 1) if line.endswith(f"// {comment}")]
    return number


def place(entry: dict[str, Any]) -> tuple[str, int, str]:
    return Path(entry["file"]).name, entry["line"], entry["function"].split("(")[0]


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_findings_have_the_programs_lines_and_calls(tmp_path: Path, level: str) -> None:
    program, trace, output = (tmp_path / name for name in ("program", "trace.pmt", "found.json"))
    compiler = Path(sys.executable).with_name("pmemsim-c++")
    subprocess.run([compiler, level, SOURCE, "-o", program], check=True)
    done = pmemsim("record", "-o", trace, "--pm-range", "100000000000:100000001000", "--", program)
    assert done.returncode == 0, done.stderr
    done = pmemsim("check", trace, "--json", output)
    assert done.returncode == 1, done.stdout + done.stderr
    found = {
        (each["kind"], place(each), *map(place, each["calls"]))
        for each in json.loads(output.read_text())["findings"]
    }

    def at(comment: str, function: str) -> tuple[str, int, str]:
        return SOURCE.name, line_of(comment), function

    flush = at("flush", "flush")
    assert found == {
        ("useless-flush", flush, at("in vain", "grow"), at("calls grow", "main")),
        ("useless-flush", flush, at("in vain again", "main")),
        ("never-flushed", at("never flushed", "publish"), at("calls publish", "main")),
    }


def test_each_part_of_a_program_has_its_own_inlined_calls(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.c").write_text(f"""long {name}_cell;
static inline __attribute__((always_inline)) void put_{name}(long value) {{
  {name}_cell = value;
}}
__attribute__((noinline)) void {name}(long value) {{ put_{name}(value); }}
""")
    (tmp_path / "main.c").write_text("""void first(long), second(long);
int main(int argc, char **argv) { (void)argv; first(argc); second(argc); return 0; }
""")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    sources = ("main.c", "first.c", "second.c")
    subprocess.run([compiler, "-O2", *sources, "-o", "program"], check=True, cwd=tmp_path)
    done = pmemsim("record", "-o", tmp_path / "trace.pmt", "--", tmp_path / "program")
    assert done.returncode == 0, done.stderr
    dump = pmemsim("trace", "dump", tmp_path / "trace.pmt").stdout
    for name in ("first", "second"):
        assert f"  {name}.c:3 put_{name} < {name}.c:5 {name}\n" in dump
