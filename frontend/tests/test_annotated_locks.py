"""A program's own annotated locks: the calls by which the pass reports them."""

from __future__ import annotations

import re
import subprocess

import pytest

from conftest import LEVELS, Kind, Recording, Toolchain, run

ACQUIRED, RELEASED = "lock_acquired", "lock_released"

LOCKS = r"""
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include "pmemsim/pm.h"

struct spin_lock { atomic_int taken; };
struct ticket_lock { atomic_uint next, serving; };
static struct spin_lock spin;
static struct ticket_lock ticket;
static long protected;

PM_ACQUIRES static void take(struct spin_lock* lock) {
  int free = 0;
  while (!atomic_compare_exchange_weak(&lock->taken, &free, 1)) free = 0;
}
PM_TRY_ACQUIRES static bool try_to_take(struct spin_lock* lock) {
  int free = 0;
  return atomic_compare_exchange_strong(&lock->taken, &free, 1);
}
PM_RELEASES static void give_back(struct spin_lock* lock) {
  atomic_store_explicit(&lock->taken, 0, memory_order_release);
}
PM_ACQUIRES static void queue(struct ticket_lock* lock) {
  const unsigned mine = atomic_fetch_add(&lock->next, 1);
  while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) {
  }
}
PM_RELEASES static void call_next(struct ticket_lock* lock) {
  const unsigned now = atomic_load_explicit(&lock->serving, memory_order_relaxed);
  atomic_store_explicit(&lock->serving, now + 1, memory_order_release);
}
"""

USES = r"""
static void not_annotated(struct spin_lock* lock) {
  atomic_exchange(&lock->taken, 1);
  protected += 1;
  atomic_store(&lock->taken, 0);
}
__attribute__((noinline)) void use_spin(void) {
  take(&spin);
  protected += 2;
  give_back(&spin);
}
__attribute__((noinline)) void use_ticket(void) {
  queue(&ticket);
  protected += 3;
  call_next(&ticket);
}
__attribute__((noinline)) void use_try(void) {
  if (try_to_take(&spin)) {
    protected += 4;
    if (try_to_take(&spin)) protected += 100;
    give_back(&spin);
  }
}
int main(void) {
  use_spin();
  use_ticket();
  use_try();
  not_annotated(&spin);
  printf("%p %p %p %ld\n", (void*)&spin, (void*)&ticket, (void*)&protected, protected);
  return 0;
}
"""


def events(recording: Recording, *data: int) -> list[str]:
    """Return the events of locks and of the data that they protect, in order."""
    names = {ACQUIRED: ("in_vain", "acquired"), RELEASED: ("released",)}
    found = []
    for operation in recording.operations:
        if operation.name in names:
            found.append(names[operation.name][operation.flag])
        elif operation.site.kind in (Kind.ATOMIC_STORE, Kind.ATOMIC_UPDATE):
            found.append("write" if operation.name == "atomic_store" or operation.flag else "look")
        elif operation.site.kind == Kind.STORE and operation.address in data:
            found.append("data")
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_annotated_lock_is_reported_after_acquisition_and_before_release(
    toolchain: Toolchain, level: str
) -> None:
    recording = toolchain.record(LOCKS + USES, level)
    spin, ticket, protected = (int(word, 16) for word in recording.output.split()[:3])
    assert recording.output.split()[3] == "10"
    assert events(recording, protected) == [
        "write", "acquired", "data", "released", "write",  # the spin lock
        "write", "acquired", "data", "released", "write",  # the ticket lock
        "write", "acquired", "data", "look", "in_vain", "released", "write",  # tried
        "write", "data", "write",
    ]  # fmt: skip
    found = [recorded for recorded in recording.operations if recorded.site.kind == Kind.SYNC]
    assert [operation.address for operation in found] == [spin] * 2 + [ticket] * 2 + [spin] * 3
    # The last check of the ticket lock's turn is before this, too.
    names = [operation.name for operation in recording.operations]
    turn = names.index("atomic_load")
    assert names.index("atomic_update", 0, turn) < turn < names.index(ACQUIRED, turn)


@pytest.mark.parametrize("level", LEVELS)
def test_lock_annotations_add_no_instructions(toolchain: Toolchain, level: str) -> None:
    plain = "#define PM_ACQUIRES\n#define PM_TRY_ACQUIRES\n#define PM_RELEASES\n"
    without = (LOCKS + USES).replace('#include "pmemsim/pm.h"', plain)
    annotated, bare = (toolchain.record(code, level) for code in (LOCKS + USES, without))
    assert not [operation for operation in bare.operations if operation.site.kind == Kind.SYNC]
    assert annotated.instructions == bare.instructions > 0


# ---- In the intermediate code ------------------------------------------------------------------


def intermediate_code(toolchain: Toolchain, code: str, level: str, suffix: str = ".c") -> str:
    source = toolchain.write(code, suffix)
    text = toolchain.scratch / "program.s.ll"
    run(
        toolchain.compiler(source), level, "-fverify-intermediate-code", "-S", "-emit-llvm",
        source, "-o", text,
    )  # fmt: skip
    return text.read_text()


def functions(text: str) -> dict[str, list[str]]:
    """Return the lines of each function that is defined."""
    found = re.findall(r"^define [^\n]*@\"?([\w.]+)\"?\([^\n]*\n(.*?)^}", text, re.M | re.S)
    return {name: body.splitlines() for name, body in found}


def lines_with(body: list[str], pattern: str) -> list[int]:
    return [number for number, line in enumerate(body) if re.search(pattern, line)]


def calls_of(body: list[str], what: str) -> list[int]:
    return lines_with(body, rf"call void @pmemsim_rt_{what}\(")


def rest_of_block(body: list[str], number: int) -> list[str]:
    """Return the text after a line, up to the end of its block."""
    rest = body[number + 1 :]
    end = next((i for i, line in enumerate(rest) if not line.strip()), len(rest))
    return [line.strip() for line in rest[:end]]


def test_only_annotated_functions_report_locks(toolchain: Toolchain) -> None:
    code = functions(intermediate_code(toolchain, LOCKS + USES, "-O0"))
    counts = {
        name: (len(calls_of(body, ACQUIRED)), len(calls_of(body, RELEASED)))
        for name, body in code.items()
        if calls_of(body, ACQUIRED) or calls_of(body, RELEASED)
    }
    assert counts == {
        "take": (1, 0), "try_to_take": (1, 0), "give_back": (0, 1),
        "queue": (1, 0), "call_next": (0, 1),
    }  # fmt: skip
    for name, acquiring in (("take", "cmpxchg"), ("queue", "load atomic")):
        (call,) = calls_of(code[name], ACQUIRED)
        assert max(lines_with(code[name], acquiring)) < call
        # The return is the only code of the program after it.
        assert rest_of_block(code[name], call)[-1].startswith("ret void")
        assert not lines_with(rest_of_block(code[name], call), "load|store|cmpxchg|br ")
    for name in ("give_back", "call_next"):
        (call,) = calls_of(code[name], RELEASED)
        assert call < min(lines_with(code[name], "store atomic|load atomic"))
        assert not lines_with(code[name][:call], "br ")  # the entry
    (call,) = calls_of(code["try_to_take"], ACQUIRED)
    condition = re.search(r"i32 (?:noundef )?(%\w+)\)", code["try_to_take"][call])
    assert condition is not None, code["try_to_take"][call]
    assert lines_with(code["try_to_take"][:call], rf"{condition[1]} = zext i1 %\w+ to i32")


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_lock_calls_keep_their_order_when_inlined(toolchain: Toolchain, level: str) -> None:
    code = functions(intermediate_code(toolchain, LOCKS + USES, level))
    assert "take" not in code and "call_next" not in code
    for name, acquiring in (("use_spin", "cmpxchg"), ("use_ticket", "load atomic.* acquire")):
        body = code[name]
        (acquired,), (released,) = calls_of(body, ACQUIRED), calls_of(body, RELEASED)
        (data,) = lines_with(body, r" store i64 %\w+, ptr @protected")
        assert lines_with(body, acquiring)[0] < acquired < data < released
        (gives_back,) = lines_with(body, r" store atomic .* release")
        assert released < gives_back
        assert not lines_with(body[:released], "store atomic")


TWO_RETURNS = """
target triple = "x86_64-pc-linux-gnu"
@name = private constant [{length} x i8] c"pmemsim.{role}\\00", section "llvm.metadata"
@file = private constant [7 x i8] c"mine.c\\00", section "llvm.metadata"
@llvm.global.annotations = appending global [2 x {{ ptr, ptr, ptr, i32, ptr }}] [
  {{ ptr, ptr, ptr, i32, ptr }} {{ ptr @lock, ptr @name, ptr @file, i32 7, ptr null }},
  {{ ptr, ptr, ptr, i32, ptr }} {{ ptr @lock, ptr @name, ptr @file, i32 9, ptr null }}
], section "llvm.metadata"
define {result} @lock(i32 %number, ptr %it, ptr %other) {{
  %old = atomicrmw xchg ptr %it, i32 1 seq_cst
  %free = icmp eq i32 %old, 0
  br i1 %free, label %one, label %two
one:
  store i32 %number, ptr %other
  ret {result} {first}
two:
  store i32 %old, ptr %other
  ret {result} {second}
}}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("role", "returns"),
    [
        ("acquires", ("void", "", "")),
        ("try_acquires", ("i32", "-1", "%old")),
        ("releases", ("void", "", "")),
    ],
)
def test_each_return_of_an_annotated_function_has_one_lock_call(
    toolchain: Toolchain, role: str, level: str, returns: tuple[str, str, str]
) -> None:
    """Declaration and definition may both have the annotation, also in two steps of compilation."""
    result, first, second = returns
    text = TWO_RETURNS.format(
        role=role, length=len(role) + 9, result=result, first=first, second=second
    )
    once = intermediate_code(toolchain, text, level, ".ll")
    twice = intermediate_code(toolchain, once, level, ".ll")
    for code in (once, twice):
        body = functions(code)["lock"]
        acquired, released = calls_of(body, ACQUIRED), calls_of(body, RELEASED)
        (update,) = lines_with(body, "atomicrmw")
        assert all("ptr" in body[call] and "%it" in body[call] for call in acquired + released)
        if role == "releases":
            assert acquired == [] and len(released) == 1 and released[0] < update
            continue
        assert released == [] and all(update < call for call in acquired)
        returning = lines_with(body, r"^\s+ret ")
        if level == "-O0":
            assert len(acquired) == len(returning) == 2
        for number in returning:  # each has a call before it, in its block
            begin = max(lines_with(body[:number], r"^[\w.]+:"), default=0)
            assert any(begin <= call < number for call in acquired)


# ---- C++ -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_annotated_lock_is_the_object_or_the_first_pointer_argument(
    toolchain: Toolchain, level: str
) -> None:
    code = r"""
#include <atomic>
#include <cstdio>
#include <mutex>
#include "pmemsim/pm.h"
struct Lock {
  std::atomic<bool> taken{false};
  PM_ACQUIRES void lock() { while (taken.exchange(true, std::memory_order_acquire)) {} }
  PM_TRY_ACQUIRES bool try_lock() { return !taken.exchange(true, std::memory_order_acquire); }
  PM_RELEASES void unlock() { taken.store(false, std::memory_order_release); }
};
struct Large { long words[9]; };
struct Held { Lock* lock; long more[8]; ~Held() {} };
PM_ACQUIRES __attribute__((noinline)) static Large with_result(long, Lock* lock, Lock*) {
  lock->taken.store(true);
  return Large{{4}};
}
PM_ACQUIRES __attribute__((noinline)) static void by_value(Large large, Lock& lock) {
  lock.taken.store(large.words[0] != 0);
}
struct Maker { PM_RELEASES __attribute__((noinline)) Large made(Lock*) { return Large{{3}}; } };
template <class Number> PM_ACQUIRES void of_template(Lock* lock, Number) { lock->taken.store(true); }
int main() {
  Lock lock;
  Maker maker;
  std::printf("%p %p\n", static_cast<void*>(&lock), static_cast<void*>(&maker));
  { std::lock_guard guard(lock); }
  { std::unique_lock guard(lock, std::try_to_lock); }
  long sum = with_result(2, &lock, nullptr).words[0];
  by_value(Large{{1}}, lock);
  of_template(&lock, 2.5);
  return sum + maker.made(&lock).words[0] == 7 ? 0 : 1;
}
"""
    recording = toolchain.record(code, level, ".cpp")
    lock, maker = (int(word, 16) for word in recording.output.split())
    found = [recorded for recorded in recording.operations if recorded.site.kind == Kind.SYNC]
    assert [(operation.name, operation.address, operation.flag) for operation in found] == [
        (ACQUIRED, lock, 1), (RELEASED, lock, 0), (ACQUIRED, lock, 1), (RELEASED, lock, 0),
        (ACQUIRED, lock, 1), (ACQUIRED, lock, 1), (ACQUIRED, lock, 1), (RELEASED, maker, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_exception_from_an_acquiring_function_reports_no_lock(
    toolchain: Toolchain, level: str
) -> None:
    code = r"""
#include <atomic>
#include "pmemsim/pm.h"
static std::atomic<int> taken;
PM_ACQUIRES __attribute__((noinline)) static void take(std::atomic<int>* lock, int tries) {
  for (int i = 0; lock->exchange(1) != 0; ++i) {
    if (i == tries) throw tries;
  }
}
int main() {
  take(&taken, 3);
  try {
    take(&taken, 3);
  } catch (int tries) {
    return tries == 3 ? 0 : 1;
  }
  return 1;
}
"""
    assert len(toolchain.record(code, level, ".cpp").named(ACQUIRED)) == 1


# ---- What can't be ------------------------------------------------------------------------------

WRONG = {
    "no_pointer": (
        ".c", "PM_ACQUIRES void take(int lock) { (void)lock; }",
        "take is annotated as a lock's function, but has no parameter that points to the lock; "
        "the lock must be its first pointer parameter",
    ),
    "by_value": (
        ".c", "struct lock { long words[8]; };\nPM_RELEASES void give(struct lock lock) { (void)lock; }",
        "give is annotated as a lock's function, but has no parameter that points to the lock; "
        "the lock must be its first pointer parameter",
    ),
    "no_result": (
        ".cpp", "PM_TRY_ACQUIRES void take(int* lock) { *lock = 1; }",
        "take(int*) is annotated with PM_TRY_ACQUIRES, but returns neither a bool nor an integer; "
        "let it return whether it has acquired the lock",
    ),
    "both": (
        ".c", "PM_TRY_ACQUIRES PM_ACQUIRES int take(int* lock) { return *lock; }",
        "take is annotated with both PM_ACQUIRES and PM_TRY_ACQUIRES; remove PM_ACQUIRES if it "
        "may return without the lock, else PM_TRY_ACQUIRES",
    ),
    "misspelt": (
        ".c", '__attribute__((annotate("pmemsim.acquire"))) void take(int* lock) { *lock = 1; }',
        'take has the annotation "pmemsim.acquire", which doesn\'t exist; use PM_ACQUIRES, '
        "PM_TRY_ACQUIRES or PM_RELEASES of pmemsim/pm.h",
    ),
    "musttail": (
        ".c",
        "void other(int* lock);\n"
        "PM_ACQUIRES void take(int* lock) { __attribute__((musttail)) return other(lock); }",
        "take is annotated as acquiring a lock, but returns by musttail, after which nothing can "
        "be recorded; annotate the called function instead, or remove musttail",
    ),
    "naked": (
        ".c", 'PM_RELEASES __attribute__((naked)) void give(int* lock) { __asm__("ret"); }',
        "give is annotated as a lock's function, but is a coroutine or naked, so the compiler "
        "can't see its return; annotate its caller or a function that it calls",
    ),
}  # fmt: skip


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", WRONG)
def test_annotation_of_an_unsuitable_function_is_a_compile_error(
    toolchain: Toolchain, name: str, level: str
) -> None:
    suffix, code, sentence = WRONG[name]
    source = toolchain.write(f'#include "pmemsim/pm.h"\n{code}\n', suffix)
    done = subprocess.run(
        [toolchain.compiler(source), level, "-c", source, "-o", toolchain.scratch / "program.o"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    line = 2 + code.count("\n")
    assert f"error: {source}:{line}: {sentence}\n" in done.stderr
    assert not (toolchain.scratch / "program.o").exists()


def test_releasing_function_may_end_in_a_musttail_call(toolchain: Toolchain) -> None:
    code = """
#include "pmemsim/pm.h"
void other(int* lock);
PM_RELEASES void give_back(int* lock) { __attribute__((musttail)) return other(lock); }
"""
    body = functions(intermediate_code(toolchain, code, "-O2"))["give_back"]
    assert calls_of(body, RELEASED)[0] < lines_with(body, "musttail call")[0]


def test_other_compilers_accept_the_lock_annotations(toolchain: Toolchain) -> None:
    source = toolchain.write(LOCKS + USES)
    for compiler in ("gcc", "clang-19"):
        program = toolchain.scratch / compiler
        run(compiler, "-std=c11", "-pedantic", "-Wall", "-Werror", "-I",
            toolchain.root / "include", source, "-o", program)  # fmt: skip
        assert run(program).stdout.split()[3] == "10"
