"""`pmemsim analyze predictability`, and recordings of which only the library is optimised."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pmemsim.predictability import SHARES, predictability
from pmemsim.trace import Trace
from support import pmemsim

PROGRAM = """
#include "pmemsim/pm.h"

static void save(uint64_t* place, uint64_t value) {
  *place = value;
  pm_flush(place, 8);
  pm_durable();
}

int main(void) {
  uint64_t* words = pm_root(pm_open(NULL, 8 << 20, 0), 64 * 100);
  pm_roi_begin();
  for (uint64_t i = 0; i < 100; ++i) save(words + 8 * i, 7 * i + 1);
  pm_roi_end();
  return 0;
}
"""


def recorded(folder: Path, *options: str) -> Trace:
    """Record the program above, compiled with these options."""
    source, program, trace = folder / "saves.c", folder / "saves", folder / "saves.pmt"
    source.write_text(PROGRAM)
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-g", *options, source, "-o", program], check=True)
    done = pmemsim("record", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    return Trace(trace)


def analysed(*arguments: str | Path) -> list[dict[str, Any]]:
    done = pmemsim("analyze", "predictability", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["recordings"]
    return found


def test_values_passed_on_the_stack_are_predictable(tmp_path: Path) -> None:
    """At -O0, address and value are stored as arguments before they are used."""
    found = predictability(recorded(tmp_path, "-O0"))
    assert found.total.write_backs == 100
    everything = dict.fromkeys(SHARES, 100)
    assert found.total.in_all_stores.to_dict() == everything
    assert found.total.without_own_stores.to_dict() == everything
    ((line, part),) = found.by_line
    assert (Path(line.file).name, line.line, line.function) == ("saves.c", 5, "save")
    assert part == found.total
    assert found.frequent_share == 1.0
    usual = found.most_frequent_sets[0]
    assert usual.write_backs > 90
    assert "main" in {place.function for place in usual.stores}


def test_address_kept_in_registers_is_not_predictable(tmp_path: Path) -> None:
    found = predictability(recorded(tmp_path, "-O2"))
    assert found.total.write_backs == 100
    assert found.total.in_all_stores.data_4_bytes == 100
    assert found.total.in_all_stores.address == 0
    assert found.total.without_own_stores.data_4_bytes < 10
    assert found.frequent_share == 0.0


def test_several_optimization_levels_are_compared() -> None:
    levels = ("O0", "O0+O2", "O2")
    found = analysed("queue", "--opt", ",".join(levels), "--regions", "100")
    assert [each["optimization"] for each in found] == list(levels)
    shares = [each["total"]["without_own_stores"]["both_4_bytes"] for each in found]
    assert shares[0] > shares[2]
    instructions = [each["instructions"] for each in found]
    assert instructions == sorted(instructions, reverse=True)
    for each in found:
        total = each["total"]
        for name in ("in_all_stores", "without_own_stores"):
            counts = total[name]
            assert counts["both_8_bytes"] <= counts["both_4_bytes"] <= counts["address"]
            assert counts["data_8_bytes"] <= counts["data_4_bytes"] <= total["write_backs"]
            assert sum(line[name]["address"] for line in each["by_line"]) == counts["address"]
        assert sum(bin["write_backs"] for bin in each["distances"]) == total["write_backs"]


def test_analyze_predictability_prints_tables_and_draws_a_plot(tmp_path: Path) -> None:
    plot = tmp_path / "found.svg"
    done = pmemsim("analyze", "predictability", "queue", "--regions", "100", "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert "by source line" in done.stdout
    assert "library/" in done.stdout  # the log's lines
    assert plot.read_text().count("<svg") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("queue", "--opt", "O0,O0"), "level 'O0' is given twice"),
        (
            ("queue", "--opt", "O0+O1"),
            "--opt O0+O1: must be one of O0, O1, O2, O3, or",
        ),
        (("queue", "--opt", "+O2"), "--opt +O2: must be one of"),
        (("queue", "queue"), "target 'queue' is given twice"),
        (("queu",), "did you mean 'queue'"),
        (("no.pmt",), "no.pmt"),
        (("queue", "--top", "-1"), "--top -1: must be at least 0"),
        (("queue", "--jobs", "0"), "--jobs 0"),
        (("queue", "--plot", "a.xyz"), "the suffix selects the plot's format"),
    ],
)
def test_predictability_refuses_bad_input(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = pmemsim("analyze", "predictability", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
