"""pmemsim-cc --janus-auto: the write-backs with pre-execution hints, their place and contents."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest
from test_hints import hints as announced

from conftest import Kind, Toolchain, built_toolchain, run
from pmemsim.trace import Trace
from support import long_except

BOTH_LEVELS = pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O0"))

# Updates of PM are volatile here: such stores tell themselves from those to local variables.
HEAD = """
#include <immintrin.h>
#include <stdatomic.h>
#include <string.h>
#include "pmemsim/pm.h"
typedef volatile long word;
struct __attribute__((aligned(64))) line { word a, b, c; };
struct __attribute__((aligned(64))) two_lines { long words[16]; };
void other(void);
long number(void);
struct line* find(long key);
void see(long* words);
"""


FLUSHES_OF = ("-mclwb", "-mclflushopt")  # instructions that the processor has


def compiled(toolchain: Toolchain, code: str, level: str, suffix: str = ".c", *options: str) -> str:
    """Return the intermediate code that becomes the program."""
    source = toolchain.write(code, suffix)
    text = toolchain.scratch / "program.s.ll"
    run(
        toolchain.compiler(source), level, *options, *FLUSHES_OF, "-fverify-intermediate-code",
        "-S", "-emit-llvm", source, "-o", text,
    )  # fmt: skip
    return text.read_text()


def precompiled_head(toolchain: Toolchain, level: str, suffix: str) -> Path:
    """HEAD, which takes longer than all that follows: compiled once for each level and language."""
    header = toolchain.root / f"head{level}{suffix}.h"
    result = header.with_suffix(".pch")
    if not result.exists():
        header.write_text(HEAD)
        compiler = toolchain.compiler(Path(f"program{suffix}"))
        run(compiler, level, *FLUSHES_OF, header, "-o", result)
    return result


def events(text: str, function: str = "f") -> list[str]:
    """Return a function's calls, assembly, and volatile stores, in order."""
    body = re.search(rf"^define [^\n]*@{function}\([^\n]*\n(.*?)^}}", text, re.M | re.S)
    assert body is not None, text
    found = []
    for line in body[1].splitlines():
        called = re.search(r"(?:call|invoke) [^@]*@([\w.]+)\((.*)\)", line)
        if re.search(r"\bcall [^@]*asm ", line):
            found.append("asm")
        elif called is not None:
            name = called[1].removeprefix("llvm.x86.").removeprefix("sse.").removeprefix("sse2.")
            if name.startswith("pm_pre_"):
                found.append(name.removeprefix("pm_pre_").upper())
            elif not name.startswith(("pmemsim_rt_", "llvm.")):
                found.append(name)
        elif re.search(r"\bstore volatile ", line):
            found.append("store")
        elif re.search(r"\bfence seq_cst", line):
            found.append("fence")
        elif re.match(r"\s+br i1 ", line):
            found.append("?")
    return found


def hints(text: str, name: str, function: str = "f") -> list[list[str]]:
    """Return the arguments of a function's hints of one kind, without object and attributes."""
    body = re.search(rf"^define [^\n]*@{function}\([^\n]*\n(.*?)^}}", text, re.M | re.S)
    assert body is not None
    calls = re.findall(rf"@pm_pre_{name}\((.*)\)", body[1])
    return [[argument.split()[-1] for argument in call.split(", ")][1:] for call in calls]


def auto(toolchain: Toolchain, code: str, level: str, suffix: str = ".c") -> str:
    head = precompiled_head(toolchain, level, suffix)
    return compiled(toolchain, code, level, suffix, "--janus-auto", "-include-pch", str(head))


# ---- The paper's example ------------------------------------------------------------------------

FIGURE_8A = """
struct node { struct two_lines val; long key; };
struct node* find_node(int key);
void undo_log(struct node* location);
void f(int key, struct two_lines val) {
  struct node* location = find_node(key);
  undo_log(location);
  location->val = val;
  pm_flush(&location->val, sizeof val);
  pm_order();
}
"""


@BOTH_LEVELS
@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_program_of_janus_figure_8a_gets_the_papers_hints(
    toolchain: Toolchain, suffix: str, level: str
) -> None:
    code = FIGURE_8A if suffix == ".c" else f'extern "C" {{{FIGURE_8A}}}'
    head = HEAD if suffix == ".c" else '#include "pmemsim/pm.h"\n' + HEAD.split('pm.h"')[1]
    text = compiled(toolchain, head + code, level, suffix, "--janus-auto")
    assert events(text) == [
        "INIT", "DATA", "find_node", "ADDR", "undo_log", "pm_flush", "pm_order",
    ]  # fmt: skip
    assert [argument[-1] for argument in hints(text, "addr") + hints(text, "data")] == ["128"] * 2
    assert "PRE" not in compiled(toolchain, head + code, level, suffix).replace("pm_pre", "PRE")


# ---- Flushes and fences (rule 1) ----------------------------------------------------------------

FLUSHES = {
    "clwb": "_mm_clwb((void*)p);",
    "clflushopt": "_mm_clflushopt((void*)p);",
    "clflush": "_mm_clflush((void*)p);",
    "builtin": "__builtin_ia32_clwb((void*)p);",
    "asm clwb": 'asm volatile("clwb %0" : "+m"(*(volatile char*)p));',
    "asm clflushopt": 'asm volatile(".byte 0x66; clflush %0" : "+m"(*(volatile char*)p));',
    "asm xsaveopt": 'asm volatile(".byte 0x66; xsaveopt %0" : "+m"(*(volatile char*)p));',
    "asm clflush": 'asm volatile("clflush (%0)" : : "r"(p) : "memory");',
    "pm_flush": "pm_flush((void*)p, 64);",
}
FENCES = {
    "sfence": "_mm_sfence();",
    "mfence": "_mm_mfence();",
    "asm sfence": 'asm volatile("sfence" ::: "memory");',
    "asm mfence": 'asm volatile("mfence" ::: "memory");',
    "asm lock": 'asm volatile("lock; addl $0,(%%rsp)" ::: "memory");',
    "atomic_thread_fence": "atomic_thread_fence(memory_order_seq_cst);",
    "pm_order": "pm_order();",
    "pm_durable": "pm_durable();",
    "pm_log": "pm_log((void*)(p + 9), 8);",
    "pm_log_ranges": "pm_log_ranges(0, 0);",
    "pm_end": "pm_end();",
}
KINDS = [(flush, "sfence") for flush in FLUSHES] + [("clwb", fence) for fence in FENCES]


def write_back(flush: str, fence: str) -> str:
    return f"void f(struct line* p, long v) {{ other(); p->a = v; {flush} {fence} }}"


@BOTH_LEVELS
@pytest.mark.parametrize(("flush", "fence"), KINDS)
def test_every_kind_of_flush_and_fence_gets_hints(
    toolchain: Toolchain, flush: str, fence: str, level: str
) -> None:
    text = auto(toolchain, write_back(FLUSHES[flush], FENCES[fence]), level)
    assert events(text)[:5] == ["INIT", "ADDR", "other", "BOTH_VAL", "store"]
    ((address, size),) = hints(text, "addr")
    ((_, value),) = hints(text, "both_val")
    assert size == "64"
    assert value == "%1"
    if flush != "pm_flush":  # the line
        assert re.search(rf"{address} = .*@llvm.ptrmask.*i64 -64\)", text)


NOT_BLOCKING = {
    "no fence": write_back(FLUSHES["clwb"], ""),
    "fence before": write_back("_mm_sfence();", FLUSHES["clwb"]),
    "lfence": write_back(FLUSHES["clwb"], "_mm_lfence();"),
    "asm lfence": write_back(FLUSHES["clwb"], 'asm volatile("lfence");'),
    "fence for the compiler": write_back(
        FLUSHES["clwb"], "atomic_signal_fence(memory_order_seq_cst);"
    ),
    "weaker fence": write_back(FLUSHES["clwb"], "atomic_thread_fence(memory_order_release);"),
    "prefetch": write_back("_mm_prefetch((void*)p, 3);", "_mm_sfence();"),
    "no flush": write_back("", "_mm_sfence();"),
    "other branch": """
void f(struct line* p, long v) { if (v) { p->a = v; _mm_clwb((void*)p); } else _mm_sfence(); }
""",
    "own function of that name": """
static __attribute__((noinline)) void pm_flush_(struct line* p) { p->a = 1; }
void f(struct line* p) { pm_flush_(p); _mm_sfence(); }
""",
}


@BOTH_LEVELS
@pytest.mark.parametrize("name", NOT_BLOCKING)
def test_flushes_without_a_fence_get_no_hints(toolchain: Toolchain, name: str, level: str) -> None:
    assert "pm_pre_" not in auto(toolchain, NOT_BLOCKING[name], level)


@BOTH_LEVELS
def test_flush_and_fence_in_one_assembly_statement_get_an_address_hint(
    toolchain: Toolchain, level: str
) -> None:
    both = 'asm volatile("clflush 128(%0); mfence" : : "r"(p) : "memory");'
    text = auto(toolchain, write_back(both, ""), level)
    assert events(text) == ["INIT", "ADDR", "other", "store", "asm"]
    address = re.search(r"ptrmask.*\(ptr (?:nonnull )?(%\w+), i64 -64\)", text)
    assert address is not None
    assert re.search(rf"{address[1]} = getelementptr.*i64 128", text)
    before = 'asm volatile("mfence; clflush (%0)" : : "r"(p) : "memory");'
    assert "pm_pre_" not in auto(toolchain, write_back(before, ""), level)


# ---- Loops and functions (rule 2) ---------------------------------------------------------------

LOOPS = {
    "flush": "void f(struct line* p, long n) { while (n--) _mm_clwb((void*)(p + n)); _mm_sfence(); }",
    "both": "void f(struct line* p, long n) { while (n--) { _mm_clwb((void*)p); _mm_sfence(); } }",
    "goto": """
void f(struct line* p, long n) {
  if (n & 1) goto b;
a: _mm_clwb((void*)p); _mm_sfence();
b: if (n--) goto a;
   if (n & 2) goto b;
}""",
    "region": """
void f(pm_pool* pool, struct line* p, long n) {
  while (n--) { pm_begin(pool); pm_log((void*)p, 8); p->a = n; pm_end(); }
}""",
    "end": """
void f(struct line* p, long n) { pm_log((void*)p, 8); p->a = n; while (n--) pm_end(); }
""",
    "declaration": """
void f(struct line* p, long n) { while (n--) pm_log((void*)(p + n), 8); pm_end(); }
""",
}


@BOTH_LEVELS
@pytest.mark.parametrize("name", LOOPS)
def test_write_backs_in_a_loop_get_no_hints(toolchain: Toolchain, name: str, level: str) -> None:
    assert "pm_pre_" not in auto(toolchain, LOOPS[name], level)


@BOTH_LEVELS
def test_address_hint_is_before_a_loop_or_right_after_it(toolchain: Toolchain, level: str) -> None:
    over = (
        "void f(struct line* p, long n) { while (n--) other(); pm_flush((void*)p, 8); pm_order(); }"
    )
    assert events(auto(toolchain, over, level))[:2] == ["INIT", "ADDR"]
    found = """
struct list { struct list* next; };
void f(struct list* p) {
  while (p->next) { other(); p = p->next; }
  pm_order();
  pm_flush(p, 8);
  pm_order();
}"""
    done = [event for event in events(auto(toolchain, found, level)) if event != "?"]
    assert done == ["other", "INIT", "ADDR", "pm_order", "pm_flush", "pm_order"]


ACROSS = {
    "flush": """
__attribute__((noinline)) static void flush(struct line* p) { _mm_clwb((void*)p); }
void f(struct line* p) { p->a = 1; flush(p); _mm_sfence(); }""",
    "inline": """
static inline void flush(struct line* p) { _mm_clwb((void*)p); }
void f(struct line* p) { p->a = 1; flush(p); _mm_sfence(); }""",
    "fence": """
__attribute__((noinline)) static void fence(void) { _mm_sfence(); }
void f(struct line* p) { p->a = 1; _mm_clwb((void*)p); fence(); }""",
    "region": """
static __attribute__((noinline)) void change(struct line* p) { pm_log((void*)p, 8); p->a = 1; }
void f(pm_pool* pool, struct line* p) { pm_begin(pool); change(p); pm_end(); }""",
}


@BOTH_LEVELS
@pytest.mark.parametrize("name", ACROSS)
def test_write_backs_across_functions_get_no_hints(
    toolchain: Toolchain, name: str, level: str
) -> None:
    assert "pm_pre_" not in auto(toolchain, ACROSS[name], level)


@BOTH_LEVELS
def test_always_inline_functions_count_as_part_of_their_caller(
    toolchain: Toolchain, level: str
) -> None:
    code = ACROSS["inline"].replace("static inline", "__attribute__((always_inline)) static inline")
    assert events(auto(toolchain, code, level)) == ["INIT", "BOTH_VAL", "store", "clwb", "sfence"]


# ---- Addresses (rule 3) -------------------------------------------------------------------------

END = "pm_flush((void*)p, 8); pm_order(); }"
ADDRESSES = {
    # what it is computed by, and what then happens in which order
    "computed": (
        "void f(char* table, long i) { other(); char* p = table + 24 * (i * i + 3); " + END,
        ["INIT", "ADDR", "other"],
    ),
    "a call's result": (
        "void f(long key) { other(); struct line* p = find(key); other(); " + END,
        ["other", "find", "INIT", "ADDR", "other"],
    ),
    "loaded, may be changed in between": (
        "void f(char** table) { other(); char* p = *table; pm_order(); " + END,
        ["other", "INIT", "ADDR", "pm_order"],
    ),
    "loaded, stored to in between": (
        "void f(char** table, char*** that, word* w) "
        "{ *w = 1; **that = (char*)w; *w = 2; char* p = *table; pm_order(); " + END,
        ["store", "store", "INIT", "ADDR", "pm_order"],
    ),
    "loaded, stays the same": (
        "void f(char** table) { pm_order(); char* p = *table; pm_order(); " + END,
        ["pm_order", "INIT", "ADDR", "pm_order"],  # pm_order() might not return
    ),
    "loaded, can't fault": (
        "extern char* table; void f(void) { pm_order(); char* p = table; pm_order(); " + END,
        ["INIT", "ADDR", "pm_order", "pm_order"],
    ),
    "loaded, volatile": (
        "extern char* volatile table; void f(void) { pm_order(); char* p = table; pm_order(); " + END,
        ["pm_order", "INIT", "ADDR", "pm_order"],
    ),
    "loaded, atomic": (
        "extern char* _Atomic table; void f(void) { pm_order(); char* p = table; pm_order(); " + END,
        ["pm_order", "INIT", "ADDR", "pm_order"],
    ),
    "loaded behind an mfence": (
        "extern char* table; void f(void) { _mm_mfence(); char* p = table; pm_order(); " + END,
        ["mfence", "INIT", "ADDR", "pm_order"],
    ),
    "loaded behind a fence for the compiler": (
        'extern char* table; void f(void) { asm volatile("" ::: "memory"); char* p = table; pm_order(); '
        + END,
        ["asm", "INIT", "ADDR", "pm_order"],
    ),
    "loaded in a region": (
        "extern char* table; void f(pm_pool* pool) "
        "{ other(); pm_begin(pool); pm_order(); char* p = table; " + END,
        ["other", "pm_begin", "INIT", "ADDR", "pm_order"],
    ),
    "loaded behind a region": (
        "extern char* table; void f(void) { pm_end(); pm_order(); char* p = table; " + END,
        ["pm_end", "INIT", "ADDR", "pm_order"],
    ),
    "divided": (
        "void f(char* table, long i, long n) { pm_order(); char* p = table + i / n; pm_order(); " + END,
        ["pm_order", "INIT", "ADDR", "pm_order"],
    ),
    "kept in a variable": (
        "void f(char* table, long i) { char* p; long j = i; j += 2; p = table + j; other(); p += 8; " + END,
        ["INIT", "ADDR", "other"],
    ),
    "in a variable that others see": (
        "void f(char* p) { see((long*)&p); other(); " + END,
        ["see", "other", "pm_flush", "pm_order"],
    ),
}  # fmt: skip


@BOTH_LEVELS
@pytest.mark.parametrize("name", ADDRESSES)
def test_address_hint_follows_the_computation_of_the_address(
    toolchain: Toolchain, name: str, level: str
) -> None:
    code, order = ADDRESSES[name]
    done = events(auto(toolchain, code, level))
    assert done[: len(order)] == order
    assert done[-2:] == ["pm_flush", "pm_order"]
    assert done.count("ADDR") == order.count("ADDR")


@BOTH_LEVELS
def test_load_of_an_address_is_moved_not_repeated(toolchain: Toolchain, level: str) -> None:
    code = "extern char* table; void f(void) { pm_order(); char* p = table; pm_order(); " + END
    text = auto(toolchain, code, level)
    assert len(re.findall(r"load ptr, ptr @table", text)) == 1
    assert text.index("load ptr, ptr @table") < text.index("@pm_pre_addr(")


def test_address_hint_follows_a_partial_overwrite_of_its_variable(toolchain: Toolchain) -> None:
    code = """
void f(char* table, long i) {
  long j = i; pm_order(); *(int*)&j = 5; char* p = table + j; pm_order(); """
    assert events(auto(toolchain, code + END, "-O0")) == [
        "pm_order", "INIT", "ADDR", "pm_order", "pm_flush", "pm_order",
    ]  # fmt: skip


MAY_NOT_RETURN = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
declare void @check() memory(none)
declare void @pm_flush(ptr, i64)
declare void @pm_order()
define void @f(ptr DEREFERENCEABLE %table) {
  call void @check()
  %p = load ptr, ptr %table
  call void @pm_order()
  call void @pm_flush(ptr %p, i64 8)
  call void @pm_order()
  ret void
}
"""


@pytest.mark.parametrize("dereferenceable", [True, False])
def test_a_load_that_may_fault_stays_behind_checks(
    toolchain: Toolchain, dereferenceable: bool
) -> None:
    """The call doesn't change memory, but might never return."""
    code = MAY_NOT_RETURN.replace(
        "DEREFERENCEABLE", "nonnull dereferenceable(8)" if dereferenceable else ""
    )
    text = compiled(toolchain, code, "-O0", ".ll", "--janus-auto")
    first = ["INIT", "ADDR", "check"] if dereferenceable else ["check", "INIT", "ADDR"]
    assert events(text) == [*first, "pm_order", "pm_flush", "pm_order"]


CAUGHT = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
declare i32 @__gxx_personality_v0(...)
declare void @other()
declare void @pm_flush(ptr, i64)
declare void @pm_order()
define void @f(ptr nonnull dereferenceable(64) %table) personality ptr @__gxx_personality_v0 {
  invoke void @other() to label %well unwind label %caught
caught:
  %what = landingpad { ptr, i32 } catch ptr null
  br label %join
well:
  br label %join
join:
  call void @pm_order()
  %p = load ptr, ptr %table
  call void @pm_order()
  call void @pm_flush(ptr %p, i64 8)
  call void @pm_order()
  ret void
}
"""


def test_unreachable_code_gets_no_hints(toolchain: Toolchain) -> None:
    code = MAY_NOT_RETURN.replace(
        "  ret void\n",
        """  ret void
never:
  %q = load ptr, ptr %table
  store i64 3, ptr %q
  call void @pm_flush(ptr %q, i64 8)
  call void @pm_order()
  ret void
""",
    ).replace("DEREFERENCEABLE", "")
    done = events(compiled(toolchain, code, "-O0", ".ll", "--janus-auto"))
    assert done.count("INIT") == 1 and done.count("pm_flush") == 2


def test_call_that_throws_counts_as_a_write(toolchain: Toolchain) -> None:
    text = compiled(toolchain, CAUGHT, "-O0", ".ll", "--janus-auto")
    assert events(text) == ["other", "pm_order", "INIT", "ADDR", "pm_order", "pm_flush", "pm_order"]


@BOTH_LEVELS
def test_address_in_a_member_of_the_object_is_loaded_early(
    toolchain: Toolchain, level: str
) -> None:
    code = """
struct Tree { line* root; void __attribute__((noinline, used)) f(long v); };
void Tree::f(long v) {
  pm_order();
  line* p = root;
  p->b = v;
  pm_flush((void*)p, 24);
  pm_order();
}
"""
    text = auto(toolchain, code, level, ".cpp").replace("_ZN4Tree1fEl", "f")
    assert events(text) == ["INIT", "ADDR", "BOTH_VAL", "pm_order", "store", "pm_flush", "pm_order"]


# ---- Data (rule 4) ------------------------------------------------------------------------------

DATA = {
    # the function's beginning, and what happens then
    "between the last two updates": (
        "p->a = 1; pm_order(); p->b = 2; pm_order(); p->c = v; pm_order(); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "store", "pm_order", "store", "BOTH_VAL", "pm_order", "store", "pm_order"],
    ),
    "one update": (
        "pm_order(); p->a = v; pm_flush((void*)p, 24);", ["INIT", "ADDR", "BOTH_VAL", "pm_order"],
    ),
    "the same as the object": (
        "pm_order(); p->a = v; pm_flush((void*)p, 8);", ["INIT", "BOTH_VAL", "pm_order", "store"],
    ),
    "of another line": (
        "pm_order(); p->a = v; pm_order(); p[2].a = 3; pm_flush((void*)p, 64);",
        ["INIT", "ADDR", "BOTH_VAL", "pm_order", "store", "pm_order", "store"],
    ),
    "a neighbour in the line": (
        "p->b = 1; pm_order(); p->a = v; pm_flush((void*)&p->a, 8);",
        ["INIT", "ADDR", "store", "BOTH_VAL", "pm_order", "store"],
    ),
    "a neighbour in the line is last": (
        "p->a = v; pm_order(); p->b = 1; pm_flush((void*)&p->a, 8);",
        ["INIT", "ADDR", "store", "pm_order", "store"],
    ),
    "maybe another's": (
        "p->a = 1; *w = 5; pm_order(); p->b = v; pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "store", "store", "BOTH_VAL", "pm_order", "store"],
    ),
    "maybe another's is last": (
        "p->b = v; *w = 5; pm_flush((void*)p, 24);", ["INIT", "ADDR", "store", "store"],
    ),
    "maybe a call's is last": (
        "p->b = v; other(); pm_flush((void*)p, 24);", ["INIT", "ADDR", "store", "other"],
    ),
    "one of several": (
        "if (v) p->b = v; else { p->b = 7; number(); } pm_order(); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "?"],
    ),
    "conditional": (
        "p->a = 1; if (v) p->b = v; pm_order(); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "store", "?", "store", "pm_order"],
    ),
    "in a loop": (
        "p->a = 1; for (int i = 0; i < v; ++i) p->b = i; pm_order(); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "store"],
    ),
    "computed late": (
        "p->a = 1; pm_order(); p->b = number(); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "store", "pm_order", "number", "BOTH_VAL", "store"],
    ),
    "only pm.h's functions come between": (
        "pm_free(0, 0); pm_log(w, 8); p->a = v; pm_alloc(0, 8); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "BOTH_VAL", "pm_free", "pm_log", "store", "pm_alloc"],
    ),
    "larger than the object": (
        "pm_order(); *(struct two_lines*)p = *(struct two_lines*)w; pm_flush((void*)p, 64);",
        ["INIT", "ADDR", "pm_order"],
    ),
    "filled": ("pm_order(); memset((void*)p, 0, 64); pm_flush((void*)p, 64);", ["INIT", "ADDR", "pm_order"]),
    "copied from a line": (
        "pm_order(); *(struct two_lines*)p = *(struct two_lines*)w; pm_flush((void*)p, 128);",
        ["INIT", "ADDR", "pm_order", "DATA"],
    ),
    "copied, so long as is flushed": (
        "pm_order(); memcpy((void*)p, (void*)w, v); pm_flush((void*)p, v);",
        ["INIT", "ADDR", "pm_order", "BOTH", "pm_flush"],
    ),
    "copied, another length": (
        "pm_order(); memcpy((void*)p, (void*)w, v); pm_flush((void*)p, v + 1);",
        ["INIT", "ADDR", "pm_order", "pm_flush"],
    ),
    "copied from a variable": (
        "long from[2]; see(from); pm_order(); memcpy((void*)p, from, 16); pm_flush((void*)p, 24);",
        ["INIT", "ADDR", "see", "BOTH", "pm_order"],
    ),
    "copied from what changes": (
        "long from[2]; see(from); pm_order(); from[1] = v; pm_order(); memcpy((void*)p, from, 16); "
        "pm_flush((void*)p, 16);", ["INIT", "ADDR", "see", "pm_order", "BOTH", "pm_order", "pm_flush"],
    ),
}  # fmt: skip


@BOTH_LEVELS
@pytest.mark.parametrize("name", DATA)
def test_hint_of_the_last_update_follows_the_second_last_update(
    toolchain: Toolchain, name: str, level: str
) -> None:
    statements, order = DATA[name]
    code = f"void f(struct line* p, long v, word* w) {{ {statements} pm_order(); }}"
    done = [e for e in events(auto(toolchain, code, level)) if not e.startswith("mem")]
    expected = {"BOTH", "BOTH_VAL", "DATA"} & set(order)
    assert done[: len(order)] == order
    assert {"BOTH", "BOTH_VAL", "DATA", "BOTH_PART"} & set(done) == expected


@pytest.mark.parametrize(
    ("update", "announcements"),
    [
        ("atomic_store_explicit((_Atomic long*)p, v, memory_order_release);", ["BOTH_VAL"]),
        ("atomic_exchange((_Atomic long*)p, v);", []),
    ],
)
def test_lines_with_atomic_updates_get_hints(
    toolchain: Toolchain, update: str, announcements: list[str]
) -> None:
    """At -O0 variables after an atomic update are unknown."""
    code = f"void f(struct line* p, long v) {{ pm_order(); {update} pm_flush((void*)p, 24); pm_order(); }}"
    done = events(auto(toolchain, code, "-O2"))
    assert done == ["INIT", "ADDR", *announcements, "pm_order", "pm_flush", "pm_order"]


def test_hint_of_a_whole_line_precedes_calls_that_may_change_it(toolchain: Toolchain) -> None:
    """The values that they write don't matter; but certain updates do."""
    code = """
void f(struct two_lines* p, struct two_lines value) {
  UPDATE other();
  *p = value;
  pm_flush(p, sizeof *p);
  pm_order();
}"""
    early = events(auto(toolchain, code.replace("UPDATE", ""), "-O2"))
    assert early == ["INIT", "BOTH", "other", "pm_flush", "pm_order"]
    found = code.replace("two_lines* p, ", "two_lines** q, ").replace("UPDATE", "find(1);")
    found = found.replace("other();", "struct two_lines* p = *q; other();")
    assert events(auto(toolchain, found, "-O2"))[:5] == ["INIT", "DATA", "find", "ADDR", "other"]
    late = events(auto(toolchain, code.replace("UPDATE", "*(word*)p->words = 1;"), "-O2"))
    assert late[:5] == ["INIT", "ADDR", "store", "DATA", "other"]
    half = code.replace("two_lines value", "line value").replace("*p = v", "*(struct line*)p = v")
    assert events(auto(toolchain, half.replace("UPDATE", ""), "-O2"))[:3] == [
        "INIT", "ADDR", "other",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "early"), [(8, True), (7, False)])
def test_hint_precedes_a_call_only_if_the_whole_line_is_overwritten(
    toolchain: Toolchain, words: int, early: bool
) -> None:
    code = f"""
struct Words {{ long word[{words}]; }};
extern "C" void f(line& p, Words words) {{
  other();
  memcpy((void*)&p, &words, sizeof words);
  pm_flush((void*)&p, sizeof words);
  pm_order();
}}"""
    done = events(auto(toolchain, code, "-O2", ".cpp").replace("_Z5otherv", "other"))
    assert done[:4] == (
        ["INIT", "BOTH", "other", "pm_flush"] if early else ["INIT", "ADDR", "other", "DATA"]
    )


NUMBERS = {
    "char": ("both_part", "1"),
    "short": ("both_part", "2"),
    "int": ("both_part", "4"),
    "float": ("both_part", "4"),
    "long": ("both_val", None),
    "double": ("both_val", None),
    "void*": ("both_val", None),
    "__int128": (None, None),
    "long double": (None, None),
}


@BOTH_LEVELS
@pytest.mark.parametrize("kind", NUMBERS)
def test_value_hints_have_the_size_of_their_type(
    toolchain: Toolchain, kind: str, level: str
) -> None:
    name, size = NUMBERS[kind]
    code = f"void f({kind} volatile* p, {kind} v) {{ pm_order(); *p = v; pm_flush((void*)p, 64); pm_order(); }}"
    text = auto(toolchain, code, level)
    assert events(text)[:2] == ["INIT", "ADDR"]
    announcements = {kind: hints(text, kind) for kind in ("both_val", "both_part", "both")}
    if name is None:
        assert announcements == {"both_val": [], "both_part": [], "both": []}
    else:
        (arguments,) = announcements[name]
        assert sum(map(len, announcements.values())) == 1
        assert arguments[2:] == ([size] if size else [])


# ---- Conditions (rule 5) ------------------------------------------------------------------------

FLUSH = "pm_order(); p->a = v; pm_flush((void*)p, 64); pm_order();"
FLUSHED = ["INIT", "ADDR", "BOTH_VAL", "pm_order", "store", "pm_flush", "pm_order"]
CONDITIONS = {
    "if": (f"other(); if (v) {{ {FLUSH} }}", ["other", "?", *FLUSHED]),
    "else": (
        f"other(); if (v) find(v); else {{ {FLUSH} }}", ["other", "?", "find", *FLUSHED],
    ),
    "two": (
        f"other(); if (v) {{ find(v); if (v & 2) {{ {FLUSH} }} }}",
        ["other", "?", "find", "?", *FLUSHED],
    ),
    "return": (f"other(); if (!v) return; {FLUSH}", ["other", "?", *FLUSHED]),
    "behind another": (
        f"p->b = 1; if (v) find(v); {FLUSH}",
        ["INIT", "ADDR", "store", "?", "find", "BOTH_VAL", *FLUSHED[3:]],
    ),
    "never returns": (
        f"pm_order(); if (!v) __builtin_trap(); {FLUSH}",
        ["INIT", "ADDR", "BOTH_VAL", "pm_order", "?", *FLUSHED[3:]],
    ),
    "update before": (
        "p->a = v; if (v) { pm_durable(); pm_flush((void*)p, 64); pm_order(); }",
        ["store", "?", "INIT", "ADDR", "pm_durable", "pm_flush", "pm_order"],
    ),
    "switch": (
        f"other(); switch (v) {{ case 1: find(v); case 2: {FLUSH} }}", None,
    ),
}  # fmt: skip


@BOTH_LEVELS
@pytest.mark.parametrize("name", CONDITIONS)
def test_hints_stay_under_the_condition_of_their_write_back(
    toolchain: Toolchain, name: str, level: str
) -> None:
    statements, order = CONDITIONS[name]
    text = auto(toolchain, f"void f(struct line* p, long v) {{ {statements} }}", level)
    done = events(text)
    if order is not None:
        assert done == order
    else:
        assert done.index("other") < done.index("INIT") == done.index("ADDR") - 1


EXCEPTIONS = {
    "passed on": "Guard guard; may_throw();",
    "caught": "try { may_throw(); } catch (...) { return; }",
}


@BOTH_LEVELS
@pytest.mark.parametrize("name", EXCEPTIONS)
def test_check_that_ends_in_an_exception_is_no_condition_of_hints(
    toolchain: Toolchain, name: str, level: str
) -> None:
    code = f"""
struct Guard {{ ~Guard(); }};
extern "C" void may_throw();
extern "C" void f(line* p, long v) {{
  {EXCEPTIONS[name]}
  p->a = v;
  pm_flush((void*)p, 64);
  pm_order();
}}
"""
    text = auto(toolchain, code, level, ".cpp")
    assert "invoke" in text
    done = [event for event in events(text) if not event.startswith("__cxa")]
    assert done[:5] == ["INIT", "ADDR", "may_throw", "BOTH_VAL", "store"]


# ---- Several write-backs (rules 6, 9, 11, 12) -----------------------------------------------------


@BOTH_LEVELS
def test_hint_follows_an_earlier_write_back_of_its_line(toolchain: Toolchain, level: str) -> None:
    code = """
void f(struct line* log, struct line* p, long v) {
  log->a = 1; pm_flush((void*)log, 8); pm_order();
  p->a = v; pm_flush((void*)p, 8); pm_order();
  log->b = 0; pm_flush((void*)&log->b, 8); pm_order();
}"""
    text = auto(toolchain, code, level)
    assert events(text) == [
        "INIT", "BOTH_VAL",  # log
        "INIT", "ADDR",  # p, whose second-last update may be log's
        "store", "BOTH_VAL", "pm_flush", "pm_order",
        "INIT", "ADDR",  # log again, the same
        "store", "BOTH_VAL", "pm_flush", "pm_order",
        "store", "pm_flush", "pm_order",
    ]  # fmt: skip
    objects = re.findall(r"@pm_pre_(\w+)\(ptr [^%]*(%\w+)", text.split("define")[1])
    first, second, third = (it for name, it in objects if name == "init")
    assert [it for name, it in objects if name == "both_val"] == [first, second, third]
    assert len({first, second, third}) == 3


@BOTH_LEVELS
def test_hint_of_another_line_precedes_the_write_back_of_the_first(
    toolchain: Toolchain, level: str
) -> None:
    code = """
extern "C" void f(line& log) {
  log.a = 1; pm_flush((void*)&log, 8); pm_order();
  (&log)[1].a = 2; pm_flush((void*)(&log + 1), 8); pm_order();
}"""
    done = events(auto(toolchain, code, level, ".cpp"))
    assert done[:4] == ["INIT", "BOTH_VAL", "INIT", "BOTH_VAL"]
    # If it isn't known where lines begin, these may be of one line.
    unaligned = "struct words { word a[8]; };" + code.replace("line&", "words&").replace(
        ".a", ".a[0]"
    )
    done = events(auto(toolchain, unaligned, level, ".cpp"))
    assert done[:6] == ["INIT", "BOTH_VAL", "store", "pm_flush", "pm_order", "INIT"]


@BOTH_LEVELS
def test_a_hint_that_comes_too_late_is_left_out(toolchain: Toolchain, level: str) -> None:
    code = "void f(struct line* p, long n) { pm_flush((void*)(p + n), 64); pm_order(); }"
    assert events(auto(toolchain, code, level)) == ["pm_flush", "pm_order"]
    loaded = "void f(struct line** p) { other(); pm_flush((void*)*p, 64); pm_order(); }"
    assert events(auto(toolchain, loaded, level)) == ["other", "pm_flush", "pm_order"]


# ---- Regions (rule 1) ---------------------------------------------------------------------------

REGIONS = {
    "declared": (
        "pm_begin(pool); pm_log((void*)p, 24); p->b = 1; p->a = v; pm_end();",
        ["INIT", "ADDR", "pm_begin", "pm_log", "store", "BOTH_VAL", "store", "pm_end"],
    ),
    "declared together": (
        "pm_begin(pool); pm_log_ranges((pm_range[]){{(void*)p, 8}, {(void*)&p[2].b, 8}}, 2); "
        "p->a = v; p[2].b = v; pm_end();",
        ["INIT", "ADDR", "INIT", "ADDR", "pm_begin", "BOTH_VAL", "BOTH_VAL", "pm_log_ranges", "store",
         "store", "pm_end"],
    ),
    "how many isn't known": (
        "pm_begin(pool); pm_log_ranges((pm_range[]){{(void*)p, 8}}, v); p->a = v; pm_end();",
        ["pm_begin", "pm_log_ranges", "store", "pm_end"],
    ),
    "allocated": (
        "pm_begin(pool); struct line* q = (struct line*)pm_alloc(pool, 64); other(); q->a = v; pm_end();",
        ["pm_begin", "pm_alloc", "INIT", "ADDR", "other", "BOTH_VAL", "store", "pm_end"],
    ),
    "allocated before": (
        "struct line* q = (struct line*)pm_alloc(pool, 64); pm_begin(pool); q->a = v; pm_end();",
        ["pm_alloc", "pm_begin", "store", "pm_end"],
    ),
    "allocated between": (
        "pm_begin(pool); pm_end(); struct line* q = (struct line*)pm_alloc(pool, 64); q->a = v; "
        "pm_begin(pool); pm_end();",
        ["pm_begin", "pm_end", "pm_alloc", "store", "pm_begin", "pm_end"],
    ),
    "two ends": (
        "pm_begin(pool); pm_log((void*)p, 8); p->a = v; if (v) { pm_end(); other(); } else { find(v); pm_end(); }",
        ["INIT", "ADDR", "pm_begin", "pm_log", "store", "?", "pm_end", "other", "find", "pm_end"],
    ),
    "declared conditionally": (
        "pm_begin(pool); if (v) { other(); pm_log((void*)p, 8); p->a = v; } pm_end();",
        ["pm_begin", "?", "INIT", "ADDR", "other", "pm_log", "store", "pm_end"],
    ),
    "no end": ("pm_begin(pool); pm_log((void*)p, 8); p->a = v;", ["pm_begin", "pm_log", "store"]),
}  # fmt: skip


@BOTH_LEVELS
@pytest.mark.parametrize("name", REGIONS)
def test_ends_of_regions_count_as_write_backs_of_declared_ranges(
    toolchain: Toolchain, name: str, level: str
) -> None:
    statements, order = REGIONS[name]
    code = f"void f(pm_pool* pool, struct line* p, long v) {{ {statements} }}"
    assert events(auto(toolchain, code, level)) == order


# ---- The rest of the program (rules 7, 13, 14) ------------------------------------------------------

PROGRAM = r"""
#include <stdio.h>
#include <sys/mman.h>
struct list { long count; struct line* last; struct line lines[8]; int log[2]; };
__attribute__((noinline)) static void append(struct list* to, long v) {
  struct line* p = &to->lines[to->count & 7];
  p->a = v;
  p->b = 3;
  pm_flush((void*)p, sizeof *p);
  pm_order();
  to->last = p;
  to->log[0] = (int)to->count;
  ++to->count;
  _mm_clflush(to->log);
  pm_flush(to, 16);
  pm_order();
}
int main(void) {
  struct list* list = mmap((void*)MEMORY, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  for (int i = 0; i < 5; ++i) append(list, i);
  printf("%ld\n", (long)list->last->a + list->count);
  return 0;
}
"""
MEMORY = range(0x300000000000, 0x300000001000)


@BOTH_LEVELS
def test_the_program_stores_and_flushes_the_same_in_the_same_order(
    toolchain: Toolchain, level: str
) -> None:
    def done(*flags: str) -> tuple[list[tuple[str, int, bytes]], int]:
        recording = toolchain.record(
            HEAD + PROGRAM, level, ".c", (*flags, f"-DMEMORY={MEMORY.start}")
        )
        assert recording.output == "9\n"
        of = recording.of(Kind.STORE, Kind.FLUSH, Kind.LOAD)
        return [
            (it.name, it.address, it.value) for it in of if it.address in MEMORY
        ], recording.instructions

    (plain, counted), (hinted, counted_with_hints) = done(), done("--janus-auto")
    loads = [sum(name == "load" for name, _, _ in it) for it in (plain, hinted)]
    assert loads[0] == loads[1] > 0
    changes = [[it for it in all_of if it[0] != "load"] for all_of in (plain, hinted)]
    assert changes[0] == changes[1]
    assert len(changes[0]) == 5 * (5 + 3)
    assert abs(counted_with_hints - counted) <= 5 * 2


@BOTH_LEVELS
def test_hand_placed_hints_are_kept(toolchain: Toolchain, level: str) -> None:
    code = """
void f(struct line* p) {
  pm_pre mine; pm_pre_init(&mine); pm_pre_addr_buf(&mine, (void*)p, 64); pm_pre_start_buf(&mine);
  p->a = 1; pm_flush((void*)p, 8); pm_order();
}"""
    assert sorted(e for e in events(auto(toolchain, code, level)) if e.isupper()) == [
        "ADDR_BUF", "BOTH_VAL", "INIT", "INIT", "START_BUF",
    ]  # fmt: skip


LEFT_ALONE = {
    "setjmp": "#include <setjmp.h>\nextern jmp_buf b; void f(struct line* p) { if (setjmp(b)) return; "
    "p->a = 1; pm_flush((void*)p, 64); pm_order(); }",
    "naked": '__attribute__((naked)) void f(void) { asm("clwb (%rdi); sfence; ret"); }',
}


@BOTH_LEVELS
@pytest.mark.parametrize("name", LEFT_ALONE)
def test_functions_with_unusual_control_flow_get_no_hints(
    toolchain: Toolchain, name: str, level: str
) -> None:
    assert "pm_pre_" not in auto(toolchain, LEFT_ALONE[name], level)


# ---- The option ----------------------------------------------------------------------------------


def test_janus_auto_works_in_every_stage_of_compilation(toolchain: Toolchain) -> None:
    source = toolchain.write(HEAD + PROGRAM)
    folder = toolchain.scratch
    options = ("--janus-auto", f"-DMEMORY={MEMORY.start}", "-O2")
    compiled_alone = run(toolchain.cc, *options, "-c", source, "-o", folder / "program.o")
    linked = run(toolchain.cc, "--janus-auto", folder / "program.o", "-o", folder / "program")
    assembly = folder / "nothing.S"
    assembly.write_text(".section .note.GNU-stack\n")
    assembled = run(toolchain.cc, *options, assembly, source, "-o", folder / "both")
    for silent in (compiled_alone, linked, assembled):
        assert silent.stderr == ""
    for program in ("program", "both"):
        assert toolchain.execute(folder / program).output == "9\n"
        assert b"pm_pre_both_val" in (folder / program).read_bytes()
    header, body = folder / "head.h", folder / "body.c"
    header.write_text(HEAD)
    body.write_text(PROGRAM)
    run(toolchain.cc, *options, header, "-o", folder / "head.pch")
    run(
        toolchain.cc,
        *options,
        "-include-pch",
        folder / "head.pch",
        "-c",
        body,
        "-o",
        folder / "c.o",
    )


def test_help_lists_janus_auto(toolchain: Toolchain) -> None:
    assert "  --janus-auto    " in run(toolchain.cc, "--help").stdout.split("OVERVIEW")[0]


PARTS = """
#include "pmemsim/pm.h"
struct parts { volatile char a; volatile short b; volatile int c; volatile double d; };
__attribute__((noinline)) static void f(struct parts* p) {
  p->a = 0x11; pm_flush((void*)&p->a, 1); pm_order();
  p->b = 0x2233; pm_flush((void*)&p->b, 2); pm_order();
  p->c = 0x44556677; pm_flush((void*)&p->c, 4); pm_order();
  p->d = 1; pm_flush((void*)&p->d, 8); pm_order();
}
int main(void) {
  pm_pool* pool = pm_open(0, 8 << 20, 0);
  void* root = pm_root(pool, 64);
  pm_roi_begin();
  f(root);
  pm_roi_end();
  return 0;
}
"""


@BOTH_LEVELS
def test_recordings_contain_the_hinted_values(tmp_path: Path, level: str) -> None:
    source, program, output = (tmp_path / name for name in ("program.c", "program", "program.pmt"))
    source.write_text(PARTS)
    run(built_toolchain() / "bin" / "pmemsim-cc", level, "--janus-auto", source, "-o", program)
    run(program)  # natively they do nothing
    run(program, env={**os.environ, "PMEMSIM_TRACE": str(output)})
    one = int.from_bytes(struct.pack("<d", 1), "little")
    values = [(1, 0x11), (2, 0x2233), (4, 0x44556677), (8, one)]
    assert announced(Trace(output)) == [(size, [value, 0]) for size, value in values]
