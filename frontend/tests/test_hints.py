"""Pre-execution hints in recordings, and their cost on other designs, which is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import built_toolchain, run
from pmemsim.trace import DETAILS, KINDS, Trace

pytestmark = pytest.mark.quick

PROGRAM = """
#include "pmemsim/pm.h"

uint64_t value[3] = {21, 22, 23};

int main(void) {
  pm_pool* pool = pm_open(0, 8 << 20, 0);
  uint64_t* root = pm_root(pool, 64);
  pm_roi_begin();
  HINTS
  pm_begin(pool);
  pm_log(root, sizeof value);
  for (int i = 0; i < 3; ++i) root[i] = value[i];
  pm_end();
  pm_roi_end();
  return 0;
}
"""
HINTS = "pm_pre hint; pm_pre_init(&hint); pm_pre_both(&hint, root, value, sizeof value);"


def recorded(tmp_path: Path, level: str, hints: str) -> Trace:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM.replace("HINTS", hints))
    run(built_toolchain() / "bin" / "pmemsim-cc", level, source, "-o", program)
    output = tmp_path / f"{len(hints)}.pmt"
    run(program, env={**os.environ, "PMEMSIM_TRACE": str(output)})
    return Trace(output)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hints_record_their_data_and_add_no_instructions(tmp_path: Path, level: str) -> None:
    with_hints = recorded(tmp_path, level, HINTS)
    without = recorded(tmp_path, level, "")
    instructions = [trace.summary()["total"]["instructions"] for trace in (with_hints, without)]
    # At -O0 the compiler keeps the hint's own variable and arguments in memory.
    assert abs(instructions[0] - instructions[1]) <= (8 if level == "-O0" else 0)

    # The library hints at its own commit in either recording.
    hinted, plain = (hints(trace) for trace in (with_hints, without))
    assert hinted == [(24, [21, 22, 23, 0]), *plain]
    assert plain == [(8, [2, 0])]


def hints(trace: Trace) -> list[tuple[int, list[int]]]:
    """Return bytes and data of each hint, in order."""
    found = []
    data: list[int] = []
    for chunk in trace.operations(0):
        for record in chunk.records[chunk.records["kind"] == KINDS.index("mark")]:
            mark = DETAILS["mark"][record["detail"]]
            if mark == "hint_data":
                data += [int(record["address"]), int(record["second"])]
            elif mark == "hint":
                found.append((int(record["second"]) & 0xFFFFFFFF, data))
                data = []
    return found
