"""Repairs as patches of the source: what a statement stores, and where a flush or fence goes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pmemsim.advice.edits import Step
from pmemsim.advice.patch import data_of, loaded_by, patch_of
from pmemsim.trace import Trace

ONE = Path(__file__).parents[1] / "pins" / "recordings" / "one_thread.pmt"
pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("statement", "expression"),
    [
        ("node->value = 100 + i;", "node->value"),
        ("pool->nodes[i].next = head;", "pool->nodes[i].next"),
        ("*word = value;", "*word"),
        ("count++;", "count"),
        ("++pool->count;", "pool->count"),
        ("pool->bits |= 1u << i;", "pool->bits"),
        ("atomic_store(&pool->size, 8);", "pool->size"),
        ("pool->size.store(8, std::memory_order_release);", "pool->size"),
        ("if (pool->size == 8);", None),
        ("commit(pool);", None),
        ("return pool->size;", None),
    ],
)
def test_a_statement_names_what_it_stores(statement: str, expression: str | None) -> None:
    found = data_of(statement)
    assert (found.expression if found else None) == expression


def test_a_copy_names_its_destination_and_length() -> None:
    found = data_of("memcpy(pool->text, from, sizeof(text) - 1);")
    assert found is not None
    assert (found.address, found.bytes) == ("pool->text", "sizeof(text) - 1")


def test_a_statement_names_what_it_loads() -> None:
    found = loaded_by("const uintptr_t link = atomic_load(&shared->newest);")
    assert found is not None
    assert found.expression == "shared->newest"
    assert loaded_by("commit(pool);") is None


def patched(folder: Path, text: str, *steps: Step) -> list[str]:
    """Return the lines that a patch adds and removes; the program has no functions of its own."""
    (folder / "mine.c").write_text(text)
    shutil.copy(Path(__file__).parents[1] / "monotonicity" / "queue.pmt", folder / "mine.pmt")
    patch = patch_of(Trace(folder / "mine.pmt"), steps)
    assert not patch.rest
    lines = patch.diff.splitlines()[3:]
    return [line for line in lines if line.startswith(("+", "-"))]


def test_a_source_newer_than_the_recording_is_not_patched(tmp_path: Path) -> None:
    source = tmp_path / "mine.c"
    trace = Trace(shutil.copy(ONE, tmp_path / "mine.pmt"))
    source.write_text("  x = 1;\n")
    os.utime(source, ns=(0, trace.path.stat().st_mtime_ns + 1))
    patch = patch_of(trace, [Step("fence after", "mine.c", 1, "")])
    assert (patch.diff, patch.rest) == ("", ("fence after mine.c:1",))
    os.utime(source, ns=(0, trace.path.stat().st_mtime_ns))
    assert patch_of(trace, [Step("fence after", "mine.c", 1, "")]).diff


def test_a_fence_follows_the_flush_of_its_line(tmp_path: Path) -> None:
    steps = [Step("fence after", "mine.c", 1, ""), Step("flush", "mine.c", 1, "")]
    assert patched(tmp_path, "  x = 1;\n", *steps) == [
        '+  __asm__ volatile("clwb %0" : "+m"(x));',
        '+  __asm__ volatile("sfence" ::: "memory");',
    ]


def test_a_statement_of_a_branch_without_braces_gets_braces(tmp_path: Path) -> None:
    text = "#include <libpmem.h>\n  if (ready)\n    x = 1;\n"
    steps = [Step("flush", "mine.c", 3, ""), Step("fence before", "mine.c", 3, "")]
    assert patched(tmp_path, text, *steps) == [
        "-    x = 1;",
        "+    { pmem_drain(); x = 1; pmem_flush(&x, sizeof(x)); }",
    ]


def test_the_body_of_a_loop_is_flushed_inside_the_loop(tmp_path: Path) -> None:
    text = '#include "pmemsim/pm.h"\n  for (int i = 0; i < f(8); ++i) x[i] = 1;\n'
    assert patched(tmp_path, text, Step("flush", "mine.c", 2, "")) == [
        "-  for (int i = 0; i < f(8); ++i) x[i] = 1;",
        "+  for (int i = 0; i < f(8); ++i) { x[i] = 1; pm_flush(&x[i], sizeof(x[i])); }",
    ]
