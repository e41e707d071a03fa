"""The runtime calls that each construct of C and C++ becomes, at every optimization level."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from conftest import (
    CLFLUSH,
    CLFLUSHOPT,
    CLWB,
    FULL_FENCE,
    LEVELS,
    LFENCE,
    MFENCE,
    SFENCE,
    Kind,
    Operation,
    Toolchain,
    run,
)
from support import long_except

pytestmark = pytest.mark.parametrize("level", long_except(LEVELS, "-O2"))

# Stores through a pointer that the optimizer can't see through.
OPAQUE = """
static long memory[64] __attribute__((aligned(64)));
static void *opaque(void *p) { __asm__("" : "+r"(p)); return p; }
"""


def separate(statement: str) -> str:
    """Keep the optimizer from joining the statement with the one after it."""
    return f'{statement}; __asm__ volatile("" ::: "memory");'


def test_loads_and_stores_record_address_size_value_and_line(
    toolchain: Toolchain, level: str
) -> None:
    """Addresses, sizes and values of ordinary accesses, with their source lines."""
    recording = toolchain.record(
        OPAQUE
        + """
#include <stdint.h>
struct pair { int16_t a; int32_t b; };
__attribute__((noinline)) int32_t work(struct pair *p, double *d) {
  p->a = 0x1234;
  p->b = -2;
  *d = 0.5;
  return p->b;
}
int main(void) {
  return work(opaque(memory), opaque(memory + 8)) == -2 ? 0 : 1;
}
""",
        level,
    )
    stores = [
        (op.site.line, op.value)
        for op in recording.of(Kind.STORE, function="work")
        if op.site.line in (8, 9, 10) and op.site.size < 16
    ]
    assert (8, struct.pack("<h", 0x1234)) in stores
    assert (9, struct.pack("<i", -2)) in stores
    assert (10, struct.pack("<d", 0.5)) in stores
    base = next(op.address for op in recording.of(Kind.STORE) if op.value == b"\x34\x12")
    assert base % 64 == 0
    assert next(op.address for op in recording.of(Kind.STORE) if op.bytes == 4 and
                op.value == struct.pack("<i", -2)) == base + 4  # fmt: skip
    for op in recording.of(Kind.STORE):
        assert op.bytes == op.site.size == len(op.value)
        assert op.site.file.endswith("program.c")


def test_stores_of_the_code_generator_are_recorded(toolchain: Toolchain, level: str) -> None:
    """At -O0 these are return addresses, the frame pointer, and spilled results."""
    recording = toolchain.record(
        """
__attribute__((noinline)) long twice(long x) { __asm__("" : "+r"(x)); return 2 * x; }
__attribute__((noinline)) long both(long x) { return twice(x) - twice(x + 1) - twice(x + 2); }
int main(void) { return both(100) + 206 == 0 ? 0 : 1; }
""",
        level,
    )
    pushed = recording.named("pushed_store")
    spilled = [
        struct.unpack("<q", op.value)[0]
        for op in recording.of(Kind.STORE, function="both")
        if op.name == "store" and op.bytes == 8
    ]
    if level != "-O0":
        assert not pushed
        assert not spilled
        return
    # The pushes are of one call of main, one of both, and three of twice.
    assert [op.site.function for op in pushed] == 2 * ["main"] + 2 * ["both"] + 6 * ["twice"]
    returns, frames = pushed[::2], pushed[1::2]
    for top, below in zip(returns, frames, strict=True):
        assert top.address == below.address + 8
    in_both = [struct.unpack("<Q", op.value)[0] for op in returns[2:]]
    assert in_both == sorted(set(in_both))
    assert in_both[2] - in_both[0] < 1000
    # Each call of twice saves the frame pointer of both: the address at which both saved main's.
    assert len({op.value for op in frames[2:]}) == 1
    assert struct.unpack("<Q", frames[2].value)[0] == frames[1].address
    # The parameter is first, then the values that are saved while twice runs again.
    assert spilled == [100, 200, -2]


NAMES = {CLWB: "clwb", CLFLUSHOPT: "clflushopt", CLFLUSH: "clflush"}
FLUSHES = {
    "intrinsic clflush": ("_mm_clflush(p)", CLFLUSH),
    "intrinsic clflushopt": ("_mm_clflushopt(p)", CLFLUSHOPT),
    "intrinsic clwb": ("_mm_clwb(p)", CLWB),
    "asm clflush": ('asm volatile("clflush %0" : "+m"(*(volatile char *)p))', CLFLUSH),
    "asm clflush register": ('asm volatile("clflush (%0)" :: "r"(p) : "memory")', CLFLUSH),
    "asm clflush zero offset": ('asm volatile("clflush 0(%0)\\n\\t" :: "r"(p))', CLFLUSH),
    "asm clflushopt": ('asm volatile("clflushopt %0" : "+m"(*(volatile char *)p))', CLFLUSHOPT),
    "asm clwb": ('asm volatile("clwb %0" : "+m"(*(volatile char *)p))', CLWB),
    "asm clwb upper case": ('asm volatile("CLWB %0" : "+m"(*(volatile char *)p))', CLWB),
    "asm clwb fixed register": ('asm volatile("clwb (%%rax)" :: "a"(p) : "memory")', CLWB),
    "byte clflush": (
        'asm volatile(".byte 0x66; clflush %0" : "+m"(*(volatile char *)p))', CLFLUSHOPT,
    ),
    "byte xsaveopt": (
        'asm volatile(".byte 0x66; xsaveopt %0" : "+m"(*(volatile char *)p))', CLWB,
    ),
    "data16 clflush": (
        'asm volatile("data16 clflush %0" : "+m"(*(volatile char *)p))', CLFLUSHOPT,
    ),
    "bytes clwb rax": ('asm volatile(".byte 0x66, 0x0f, 0xae, 0x30" :: "a"(p) : "memory")', CLWB),
    "bytes clflushopt rdi": (
        'asm volatile(".byte 0x66,0x0f,0xae,0x3f" :: "D"(p) : "memory")', CLFLUSHOPT,
    ),
    "bytes clflush rdx": ('asm volatile(".byte 0x0f, 0xae, 0x3a" :: "d"(p) : "memory")', CLFLUSH),
    "bytes clflush r9": (
        '{ register char *q asm("r9") = p; '
        'asm volatile(".byte 0x41, 0x0f, 0xae, 0x39" :: "r"(q) : "memory"); }', CLFLUSH,
    ),
    "bytes clflush with sfence": (
        'asm volatile(".byte 0x0f,0xae,0x3f, 0x0f,0xae,0xf8" :: "D"(p) : "memory")', CLFLUSH,
    ),
    "bytes clflush with displacement": (
        'asm volatile(".byte 0x0f,0xae,0x7f,0xf8, 0x0f,0xae,0xf8" :: "D"(p + 8) : "memory")',
        CLFLUSH,
    ),
    "words clflush": ('asm volatile(".short 0xae0f; .byte 0x3f" :: "D"(p) : "memory")', CLFLUSH),
    "asm clflush address": ('asm volatile("clflush %a0" :: "r"(p) : "memory")', CLFLUSH),
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_every_kind_of_flush_is_recorded(toolchain: Toolchain, level: str, suffix: str) -> None:
    """Every spelling of a cache flush, with its kind and address."""
    statements = "".join(
        f"  p += 64; *p = 1; if (has_{NAMES[detail]}) {{ {statement}; }}\n"
        for statement, detail in FLUSHES.values()
    )
    recording = toolchain.record(
        f"""
#include <immintrin.h>
char memory[64 * 32];
volatile int has_clwb = {int(processor_has(CLWB))};
volatile int has_clflushopt = {int(processor_has(CLFLUSHOPT))};
volatile int has_clflush = {int(processor_has(CLFLUSH))};
int main() {{
  char *volatile source = memory;
  char *p = source;
{statements}
  return 0;
}}
""",
        level, suffix, ("-mclwb", "-mclflushopt"),
    )  # fmt: skip
    details = [detail for _, detail in FLUSHES.values()]
    sites = [site for site in recording.sites if site.kind == Kind.FLUSH]
    assert [site.detail for site in sites] == details
    assert [site.line for site in sites] == list(range(10, 10 + len(details)))
    base = recording.of(Kind.FLUSH)[0].address
    assert [(op.address - base) // 64 for op in recording.of(Kind.FLUSH)] == [
        i for i, detail in enumerate(details) if processor_has(detail)
    ]
    assert base in {op.address for op in recording.of(Kind.STORE) if op.value == b"\x01"}


def processor_has(flush: int) -> bool:
    """Say whether the processor that runs the tests knows the instruction."""
    return NAMES[flush] in Path("/proc/cpuinfo").read_text().split()


FENCES = {
    "_mm_sfence()": SFENCE,
    "_mm_mfence()": MFENCE,
    "_mm_lfence()": LFENCE,
    "__sync_synchronize()": MFENCE,
    "__atomic_thread_fence(__ATOMIC_SEQ_CST)": MFENCE,
    'asm volatile("sfence" ::: "memory")': SFENCE,
    'asm volatile("mfence\\n" ::: "memory")': MFENCE,
    'asm volatile("lfence; nop" ::: "memory")': LFENCE,
    'asm volatile(".byte 0x0f, 0xae, 0xf8" ::: "memory")': SFENCE,
    'asm volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc")': MFENCE,
    'asm volatile("lock addq $0,-8(%%rsp)" ::: "memory", "cc")': MFENCE,
}


BARRIERS = (
    "__atomic_thread_fence(__ATOMIC_ACQUIRE)",
    "__atomic_thread_fence(__ATOMIC_RELEASE)",
    "__atomic_signal_fence(__ATOMIC_SEQ_CST)",
    'asm volatile("" ::: "memory")',
)


def test_every_fence_is_recorded_but_no_compiler_barrier(toolchain: Toolchain, level: str) -> None:
    """Every spelling of a fence is recorded; a barrier for the compiler only costs nothing."""
    statements = "".join(f"  {separate(statement)}\n" for statement in (*FENCES, *BARRIERS))
    recording = toolchain.record(
        f"#include <immintrin.h>\nint main(void) {{\n{statements}  return 0;\n}}\n", level
    )
    assert [(op.site.line, op.site.detail) for op in recording.of(Kind.FENCE)] == list(
        enumerate(FENCES.values(), 3)
    )


def test_atomic_operations_record_kind_fence_outcome_and_value(
    toolchain: Toolchain, level: str
) -> None:
    """Kinds, fences, outcomes and values of atomic operations."""
    recording = toolchain.record(
        """
#include <atomic>
std::atomic<long> a;
int main() {
  a.store(1, std::memory_order_release);
  a.store(2);
  long v = a.load(std::memory_order_acquire);
  a.fetch_add(3, std::memory_order_relaxed);
  long expected = 5;
  bool first = a.compare_exchange_strong(expected, 6);
  bool second = a.compare_exchange_strong(expected, 7);
  long old = a.exchange(8);
  return v == 2 && first && !second && old == 6 ? 0 : 1;
}
""",
        level, ".cpp",
    )  # fmt: skip
    atomics = recording.of(Kind.ATOMIC_LOAD, Kind.ATOMIC_STORE, Kind.ATOMIC_UPDATE)
    seen = [
        (op.site.kind, op.site.flags, op.flag, int.from_bytes(op.value, "little")) for op in atomics
    ]
    assert seen == [
        (Kind.ATOMIC_STORE, 0, 0, 1),
        (Kind.ATOMIC_STORE, FULL_FENCE, 0, 2),
        (Kind.ATOMIC_LOAD, 0, 0, 0),
        (Kind.ATOMIC_UPDATE, FULL_FENCE, 1, 5),
        (Kind.ATOMIC_UPDATE, FULL_FENCE, 1, 6),
        (Kind.ATOMIC_UPDATE, FULL_FENCE, 0, 6),
        (Kind.ATOMIC_UPDATE, FULL_FENCE, 1, 8),
    ]
    assert len({op.address for op in atomics}) == 1
    assert all(op.bytes == op.site.size == 8 for op in atomics)


ASSEMBLY_UPDATES = {
    'asm volatile("lock; xaddl %0, %1" : "+r"(one), "+m"(*p) :: "memory")': (4, 1, 4),
    'asm volatile("lock incl %0" : "+m"(*p))': (4, 1, 4),
    'asm volatile("xchgl %0, (%1)" : "+r"(one) : "r"(p) : "memory")': (4, 1, 1),
    'asm volatile("lock; cmpxchgl %2, %1" : "+a"(three), "+m"(*p) : "r"(one))': (4, 1, 1),
    'asm volatile("lock; cmpxchgl %2, %1" : "+a"(one), "+m"(*p) : "r"(three))': (4, 0, 3),
    'asm volatile(".byte 0xf0; orl $0x10, 0(%0)" :: "r"(p) : "memory")': (4, 1, 0x13),
}


def test_locked_assembly_is_recorded_as_atomic_updates(toolchain: Toolchain, level: str) -> None:
    """Locked instructions of inline assembly are atomic updates."""
    statements = "".join(
        f"  *p = three = 3; one = 1; {statement};\n" for statement in ASSEMBLY_UPDATES
    )
    recording = toolchain.record(
        f"""
int memory;
int main(void) {{
  int *volatile source = &memory;
  int *p = source, one, three;
{statements}
  return 0;
}}
""",
        level,
    )
    updates = recording.of(Kind.ATOMIC_UPDATE)
    assert [(op.bytes, op.flag, int.from_bytes(op.value, "little")) for op in updates] == list(
        ASSEMBLY_UPDATES.values()
    )
    assert all(op.site.flags == FULL_FENCE for op in updates)
    assert len({op.address for op in updates}) == 1


def test_memory_operands_of_assembly_are_recorded(toolchain: Toolchain, level: str) -> None:
    """Memory operands of other inline assembly are loads and stores; movnti is non-temporal."""
    recording = toolchain.record(
        """
long memory[8];
int main(void) {
  long *volatile source = memory;
  long *p = source, v = 0x1122334455667788, w;
  asm volatile("movq %1, %0" : "=m"(p[0]) : "r"(v));
  asm volatile("movq %1, %0" : "=r"(w) : "m"(p[0]));
  asm volatile("movnti %1, %0" : "=m"(p[1]) : "r"(w));
  asm volatile("movnti %1, 16(%0)" :: "r"(p), "r"((int)w) : "memory");
  asm volatile("leaq %1, %0" : "=r"(w) : "m"(p[3]));
  return 0;
}
""",
        level,
    )
    base = recording.of(Kind.NON_TEMPORAL)[0].address - 8
    here = [op for op in recording.operations if base <= op.address < base + 64]
    assert [(op.name, op.site.kind, op.site.line, op.address - base, op.value) for op in here] == [
        ("store", Kind.STORE, 6, 0, bytes.fromhex("8877665544332211")),
        ("load", Kind.LOAD, 7, 0, b""),
        ("store", Kind.NON_TEMPORAL, 8, 8, bytes.fromhex("8877665544332211")),
        ("store", Kind.NON_TEMPORAL, 9, 16, bytes.fromhex("88776655")),
    ]
    assert here[1].site.size == 8


NON_TEMPORAL = {
    "_mm_stream_si32((int *)p, 0x01020304)": [(0, b"\4\3\2\1")],
    "_mm_stream_si64((long long *)p, 5)": [(0, b"\5" + b"\0" * 7)],
    "_mm_stream_si128((__m128i *)p, _mm_set1_epi8(6))": [(0, b"\6" * 16)],
    "_mm_stream_ps((float *)p, _mm_castsi128_ps(_mm_set1_epi8(7)))": [(0, b"\7" * 16)],
    "_mm_stream_pd((double *)p, _mm_castsi128_pd(_mm_set1_epi8(8)))": [(0, b"\x08" * 16)],
    "_mm256_stream_si256((__m256i *)p, _mm256_set1_epi8(9))": [(0, b"\x09" * 32)],
    "_mm_stream_pi((__m64 *)p, _mm_set1_pi8(10)); _mm_empty()": [(0, b"\x0a" * 8)],
    "_mm_maskmoveu_si128(_mm_set1_epi8(11), _mm_set_epi32(128, 0, 0, 0x8000), p)": [
        (1, b"\x0b"), (12, b"\x0b"),
    ],
    "__builtin_nontemporal_store(12, (int *)p)": [(0, b"\x0c\0\0\0")],
    'asm volatile("movntdq %0, (%1)" :: "x"(_mm_set1_epi8(13)), "r"(p) : "memory")': [
        (0, b"\x0d" * 16),
    ],
    'asm volatile("vmovntdq %0, %1" :: "x"(_mm256_set1_epi8(14)), "m"(*(__m256i *)p))': [
        (0, b"\x0e" * 32),
    ],
}  # fmt: skip


def test_non_temporal_stores_of_each_width_are_recorded(toolchain: Toolchain, level: str) -> None:
    """Streaming stores of each width, masked ones, and those of inline assembly."""
    statements = "".join(f"  p += 64; {statement};\n" for statement in NON_TEMPORAL)
    recording = toolchain.record(
        f"""
#include <immintrin.h>
char memory[64 * 16] __attribute__((aligned(64)));
__attribute__((target("avx2"))) int main(void) {{
  char *volatile source = memory;
  char *p = source;
{statements}
  _mm_sfence();
  return 0;
}}
""",
        level,
    )
    stores = recording.of(Kind.NON_TEMPORAL)
    base = stores[0].address
    assert [(op.address - base, op.value) for op in stores] == [
        (64 * line + offset, value)
        for line, expected in enumerate(NON_TEMPORAL.values())
        for offset, value in expected
    ]


def recorded_assembly(
    toolchain: Toolchain, level: str, statements: Iterable[str]
) -> Iterator[tuple[str, int, list[Operation]]]:
    """Return each statement, the location of its p, and its accesses in the 512 bytes there."""
    lines = "".join(f"  {statement};\n" for statement in statements)
    recording = toolchain.record(
        f"""
long memory[64] __attribute__((aligned(64)));
int main(void) {{
  long *volatile source = memory;
  volatile long three = 3;
  long *p = source, i = three, v = 7;
{lines}
  asm volatile("movnti %1, (%0)" :: "r"(p), "r"(v) : "memory");
  return 0;
}}
""",
        level,
    )
    p = recording.of(Kind.NON_TEMPORAL)[-1].address
    for line, statement in enumerate(statements, 7):
        here = [op for op in recording.operations if op.site.line == line]
        yield statement, p, [op for op in here if p <= op.address < p + 512]


# Kinds and sizes of each statement's accesses at p.
REGISTER_ADDRESSES = {
    'asm volatile("movq %1, (%0)" :: "r"(p), "r"(v) : "memory")': [(Kind.STORE, 8)],
    'asm volatile("movl %k1, 0(%0)" :: "r"(p), "r"(v) : "memory")': [(Kind.STORE, 4)],
    'asm volatile("movb $5, (%0)" :: "r"(p) : "memory")': [(Kind.STORE, 1)],
    'asm volatile("mov %1, (%0)" :: "r"(p), "r"((short)v) : "memory")': [(Kind.STORE, 2)],
    'asm volatile("movdqu %%xmm0, (%0)" :: "r"(p) : "memory")': [(Kind.STORE, 16)],
    'asm volatile("movss %%xmm0, (%0)" :: "r"(p) : "memory")': [(Kind.STORE, 4)],
    'asm volatile("movq (%1), %0" : "=r"(v) : "r"(p))': [(Kind.LOAD, 8)],
    'asm volatile("movzbl (%1), %k0" : "=r"(v) : "r"(p))': [(Kind.LOAD, 1)],
    'asm volatile("addq %1, (%0)" :: "r"(p), "r"(v) : "memory")': [(Kind.LOAD, 8), (Kind.STORE, 8)],
    'asm volatile("incl (%0)" :: "r"(p) : "memory")': [(Kind.LOAD, 4), (Kind.STORE, 4)],
    'asm volatile("sub %1, (%0)" :: "r"(p), "r"(v) : "memory")': [(Kind.LOAD, 8), (Kind.STORE, 8)],
    'asm volatile("cmpq %1, (%0)" :: "r"(p), "r"(v) : "cc")': [(Kind.LOAD, 8)],
}  # fmt: skip


def test_assembly_accesses_through_registers_are_recorded(toolchain: Toolchain, level: str) -> None:
    """The text writes the address itself; the mnemonic selects the operation there."""
    for statement, p, done in recorded_assembly(toolchain, level, REGISTER_ADDRESSES):
        seen = [(op.site.kind, op.site.size) for op in done if op.address == p]
        assert seen == REGISTER_ADDRESSES[statement], statement


# Kinds and sizes of each statement's accesses at p, which is declared as a long.
DECLARED_ADDRESSES = {
    'asm volatile("movq %1, %0" :: "m"(*p), "r"(v) : "memory")': [(Kind.STORE, 8)],
    'asm volatile("movl %k1, %0" :: "m"(*p), "r"(v) : "memory")': [(Kind.STORE, 4)],
    'asm volatile("mov %k1, %0" :: "m"(*p), "r"(v) : "memory")': [(Kind.STORE, 4)],
    'asm volatile("mov %w1, (%0)" :: "r"(p), "r"(3L) : "memory")': [(Kind.STORE, 2)],
    'asm volatile("mov %%cl, %0" :: "m"(*p), "c"(v) : "memory")': [(Kind.STORE, 1)],
    'asm volatile("mov %%ah, (%0)" :: "D"(p), "a"(v) : "memory")': [(Kind.STORE, 1)],
    'asm volatile("mov %%ecx, (%0)" :: "r"(p), "c"(v) : "memory")': [(Kind.STORE, 4)],
    'asm volatile("movnti %k1, %0" :: "m"(*p), "r"(v) : "memory")': [(Kind.NON_TEMPORAL, 4)],
    'asm volatile("lock add %b1, %0" :: "m"(*p), "q"(v) : "memory")': [(Kind.ATOMIC_UPDATE, 1)],
    'asm volatile("incq %0" :: "m"(*p) : "memory")': [(Kind.LOAD, 8), (Kind.STORE, 8)],
    'asm volatile("shlw $3, %0" :: "m"(*p) : "memory")': [(Kind.LOAD, 2), (Kind.STORE, 2)],
    'asm volatile("cmpxchg %1, %0" :: "m"(*p), "r"(v) : "rax", "memory")': [
        (Kind.LOAD, 8), (Kind.STORE, 8),
    ],
    'asm volatile("cmpxchg8b %0" :: "m"(*p), "b"(3), "c"(4) : "rax", "rdx", "memory")': [
        (Kind.LOAD, 8), (Kind.STORE, 8),
    ],
    'asm volatile("cmpxchg16b (%0)" :: "r"(p), "b"(3), "c"(4) : "rax", "rdx", "memory")': [
        (Kind.LOAD, 16), (Kind.STORE, 16),
    ],
    'asm volatile("movq %1, %0" : "=r"(v) : "m"(*p))': [(Kind.LOAD, 8)],
    'asm volatile("testq %1, %0" :: "m"(*p), "r"(v) : "cc")': [(Kind.LOAD, 8)],
    'asm volatile("mulq %0" :: "m"(*p) : "rax", "rdx", "cc")': [(Kind.LOAD, 8)],
    'asm volatile("setc %0" : "=m"(*(char *)p))': [(Kind.STORE, 1)],
    'asm volatile("fnstcw %0" : "=m"(*(short *)p))': [(Kind.STORE, 2)],
}  # fmt: skip


def test_assembly_mnemonics_override_the_declared_operands(
    toolchain: Toolchain, level: str
) -> None:
    """An operand that is declared as an input may be written; an unknown mnemonic is trusted."""
    for statement, p, done in recorded_assembly(toolchain, level, DECLARED_ADDRESSES):
        seen = [(op.site.kind, op.site.size) for op in done if op.address == p]
        assert seen == DECLARED_ADDRESSES[statement], statement


# Kinds and locations of each statement's accesses in an array of longs; i is 3.
INDEXED_ADDRESSES = {
    'asm volatile("clflush (%0,%1,8)" :: "r"(p), "r"(i) : "memory")': [(Kind.FLUSH, 24)],
    'asm volatile("clwb -8( %0, %1, 4 )" :: "r"(p), "r"(i) : "memory")': [(Kind.FLUSH, 4)],
    'asm volatile("clflushopt 0x10(%0,%1)" :: "r"(p), "r"(i) : "memory")': [(Kind.FLUSH, 19)],
    'asm volatile("clflush (%1,%0)" :: "r"(p), "r"(i) : "memory")': [(Kind.FLUSH, 3)],
    'asm volatile("clflush %c2(%0,%1,%c3)" :: "r"(p), "r"(i), "i"(16), "i"(2) : "memory")': [
        (Kind.FLUSH, 22),
    ],
    'asm volatile("clflush 8(,%0,8)" :: "r"((unsigned long)p / 8) : "memory")': [(Kind.FLUSH, 8)],
    'asm volatile("clflush (%%rax,%%rcx,8)" :: "a"((unsigned long)p), "c"(i) : "memory")': [
        (Kind.FLUSH, 24),
    ],
    'asm volatile("clflush %c1(%0)" :: "r"(p), "i"(40) : "memory")': [(Kind.FLUSH, 40)],
    'asm volatile("movq %2, 8(%0,%1,8)" :: "r"(p), "r"(i), "r"(v) : "memory")': [(Kind.STORE, 32)],
    'asm volatile("movq (%1,%2,8), %0" : "=r"(v) : "r"(p), "r"(i))': [(Kind.LOAD, 24)],
    'asm volatile("movnti %2, (%0,%1,8)" :: "r"(p), "r"(i), "r"(v) : "memory")': [
        (Kind.NON_TEMPORAL, 24),
    ],
    'asm volatile("lock incq (%0,%1,8)" :: "r"(p), "r"(i) : "memory")': [(Kind.ATOMIC_UPDATE, 24)],
}  # fmt: skip


def test_indexed_addresses_of_assembly_are_computed(toolchain: Toolchain, level: str) -> None:
    """The text adds up base, scaled index and displacement."""
    for statement, p, done in recorded_assembly(toolchain, level, INDEXED_ADDRESSES):
        seen = [(op.site.kind, op.address - p) for op in done]
        assert seen == INDEXED_ADDRESSES[statement], statement


@pytest.mark.parametrize(
    "statement",
    [
        "movq %0, memory(%%rip)",
        "clflush memory(,%0,8)",
        "clflush (%1,%%r8,8)",
        "fstpt (%1)",
        "maskmovdqu %%xmm0, %%xmm1",
        "movq %0, memory",
        "lock incq memory",
    ],
)
def test_unrecordable_assembly_is_reported_with_its_line(
    toolchain: Toolchain, level: str, statement: str
) -> None:
    """The warning is a sentence with the line."""
    source = toolchain.write(
        f'long memory[8];\nvoid f(void) {{ asm volatile("{statement}" :: "r"(0L), "r"(memory)); }}\n'
    )
    compiled = run(toolchain.cc, level, "-c", source, "-o", toolchain.scratch / "program.o")
    mnemonic = statement.removeprefix("lock ").split()[0]
    assert f"line 2: inline assembly '{mnemonic}' " in compiled.stderr
    assert "it is not recorded" in compiled.stderr


# Assembly of which a part can't be recorded, and which, in the warning; d and n are registers.
LOST = {
    "stosq\\n stosb": "'stosb' writes to an address",
    "rep movsq\\n stosq": "'stosq' writes to an address",
    "rep stosq\\n rep stosb": "'stosb' writes to an address",
    "addq $8, %0\\n movq $1, (%0)": "'movq' accesses an address",
    "movl $1, %%edi\\n clflush (%%rdi)": "'clflush' flushes an address",
    "xchgq %2, %0\\n movnti %2, (%2)": "'movnti' writes to an address",
    "lock cmpxchgq %2, (%0)\\n movb $1, (%1)": "'movb' accesses an address",
    "1: movq $1, (%0)\\n add $8, %0\\n dec %2\\n jnz 1b": "'jnz' loops",
    "again%=: stosb\\n loop again%=": "'loop' loops",
    ".rept 4\\n movq $1, (%0)\\n .endr": "'.rept' loops",
    "setc %3": "'setc' accesses an address",
    "popq %3": "'popq' accesses an address",
    "lock btsq %2, %3": "'btsq' updates an address",
    "btcl %k2, (%0)": "'btcl' accesses an address",
    "btrq %5, %3": "'btrq' accesses an address",
    "lock btsl %k5, (%0)": "'btsl' updates an address",
}  # fmt: skip


def test_unrecordable_effects_of_assembly_are_reported(toolchain: Toolchain, level: str) -> None:
    """Examples are changed registers, loops, and undeclared or unknown writes."""
    lines = "".join(
        f'  asm volatile("{text}" : "+D"(d), "+S"(s), "+c"(n) : "m"(m), "a"(0L), "r"(64L)'
        f' : "memory", "cc");\n'
        for text in LOST
    )
    source = toolchain.write(f"long m;\nvoid f(void *d, void *s, long n) {{\n{lines}}}\n")
    compiled = run(toolchain.cc, level, "-c", source, "-o", toolchain.scratch / "program.o")
    warnings = [line for line in compiled.stderr.splitlines() if "inline assembly" in line]
    assert len(warnings) == len(LOST)
    for number, (warning, named) in enumerate(zip(warnings, LOST.values(), strict=True), 3):
        assert f"line {number}: inline assembly {named}" in warning


# Registers of two statements that don't concern each other, and loops that only wait.
KEPT = {
    "stosq\\n movq $1, (%1)": 2,
    "cmpq $0, %0\\n movq $1, (%0)": 1,
    "movq $1, (%0)\\n 1: dec %2\\n jnz 1b": 1,
    "btsq $3, (%0)": 1,
    "btsl %k3, (%0)": 1,
    "movq $1, (%0)\\n jmp 1f\\n 1: movq $1, (%1)": 2,
}  # fmt: skip


def test_recordable_part_of_assembly_is_recorded_without_a_warning(
    toolchain: Toolchain, level: str
) -> None:
    """There is no warning, which `record` would refuse."""
    statements = "".join(
        f'  asm volatile("{text}" : "+D"(d), "+S"(s), "+c"(n) : "a"(0L) : "memory", "cc");'
        f" d = s = memory; n = 1;\n"
        for text in KEPT
    )
    recording = toolchain.record(
        f"""
long memory[8];
int main(void) {{
  void *d = memory, *s = memory; long n = 1;
{statements}
  return 0;
}}
""",
        level,
    )
    memory = recording.named("filled")[0].address
    for line, count in enumerate(KEPT.values(), 5):
        here = [op for op in recording.operations if op.site.line == line]
        wrote = [op for op in here if op.name in ("store", "filled") and op.address == memory]
        assert len(wrote) == count, line


def test_assembly_in_intel_syntax_is_reported(toolchain: Toolchain, level: str) -> None:
    """Its operands have the reverse order; a directive in the text switches, too."""
    for text, flags in (
        ("mov qword ptr [%0], %1", ["-masm=intel"]),
        (".intel_syntax noprefix\\n mov qword ptr [rdi], rsi\\n .att_syntax", []),
    ):
        source = toolchain.write(
            f'long x;\nvoid f(void) {{ asm volatile("{text}" :: "D"(&x), "S"(1L)); }}\n'
        )
        compiled = run(
            toolchain.cc, level, *flags, "-c", source, "-o", toolchain.scratch / "program.o"
        )
        assert "line 2: inline assembly 'mov' accesses an address" in compiled.stderr


def test_instructions_of_one_assembly_are_recorded_in_order(
    toolchain: Toolchain, level: str
) -> None:
    """One assembly has several instructions: a flush and a fence follow the stores they are for."""
    recording = toolchain.record(
        """
char memory[256] __attribute__((aligned(64)));
int main(void) {
  char *volatile source = memory;
  char *p = source;
  long v = 5;
  asm volatile("movq %1, (%0)\\n clflush (%0)\\n sfence" :: "r"(p), "r"(v) : "memory");
  asm volatile("movnti %1, (%0)\\n movnti %1, 64(%0)\\n sfence" :: "r"(p), "r"(v) : "memory");
  asm volatile("mfence; lock incq %0; clflush %0" : "+m"(*(long *)p));
  return 0;
}
""",
        level,
    )
    seen = [
        (op.site.line, op.site.kind) for op in recording.operations if op.site.line in (7, 8, 9)
    ]
    assert [kind for line, kind in seen if line == 7][-3:] == [Kind.STORE, Kind.FLUSH, Kind.FENCE]
    assert [kind for line, kind in seen if line == 8][-3:] == [
        Kind.NON_TEMPORAL, Kind.NON_TEMPORAL, Kind.FENCE,
    ]  # fmt: skip
    first, second = recording.of(Kind.NON_TEMPORAL)
    assert second.address == first.address + 64
    assert [kind for line, kind in seen if line == 9 and kind != Kind.LOAD][-3:] == [
        Kind.FENCE, Kind.ATOMIC_UPDATE, Kind.FLUSH,
    ]  # fmt: skip


COPIES = {
    "memcpy(to, from, n)": [("memcpy", 24)],
    "memcpy(to, from, 24)": [("memcpy", 24)],
    "__builtin_memmove(to, to + 8, n)": [("memmove", 24)],
    "memmove(to, to + 8, 24)": [("memmove", 24)],
    "memset(to, 3, n)": [("memset", 24)],
    "memset(to, 0, 24)": [("memset", 24)],
    "bzero(to, n)": [("memset", 24)],
    "*(struct big *)to = *(struct big *)from": [("memcpy", 200)],
    "strcpy(to, from)": [("memcpy", 6)],
    "strncpy(to, from, n)": [("memcpy", 5), ("memset", 19)],
    "check(mempcpy(to, from, n) == to + 24)": [("memcpy", 24)],
    "check(stpcpy(to, from) == to + 5)": [("memcpy", 6)],
    "check(strcat(to + 100, from) == to + 100)": [("memcpy", 6)],
}
# The optimizer expands some copies of known length by itself.
MAY_BECOME_STORES = ("memcpy(to, from, 24)", "memmove(to, to + 8, 24)", "memset(to, 0, 24)")


@pytest.mark.parametrize("flags", [(), ("-fno-builtin",)])
def test_memory_copies_are_recorded(
    toolchain: Toolchain, level: str, flags: tuple[str, ...]
) -> None:
    """Memory intrinsics and the C library's copying functions, with their three sites."""
    statements = "".join(f"  {separate(statement)}\n" for statement in COPIES)
    recording = toolchain.record(
        """
#define _GNU_SOURCE
#include <string.h>
#include <strings.h>
#include <stdlib.h>
struct big { char bytes[200]; };
char a[256], b[256] = "hello";
static void check(int good) { if (!good) abort(); }
int main(void) {
  char *volatile to_source = a, *volatile from_source = b;
  volatile size_t n_source = 24;
  char *to = to_source, *from = from_source;
  size_t n = n_source;
"""
        + statements
        + "  check(!strcmp(a, b));\n  return 0;\n}\n",
        level, ".c", flags,
    )  # fmt: skip
    calls = [op for op in recording.operations if op.name.startswith("mem")]
    for line, (statement, expected) in enumerate(COPIES.items(), 14):
        seen = [(op.name, op.bytes) for op in calls if op.site.line == line]
        if statement in MAY_BECOME_STORES and seen == []:
            stored = [op for op in recording.of(Kind.STORE) if op.site.line == line]
            assert sum(op.bytes for op in stored) == 24, statement
        else:
            assert seen == expected, statement
    for op in calls:
        first = op.site.number
        execute, load, store = recording.sites[first : first + 3]
        kinds = (execute.kind, load.kind, store.kind)
        assert kinds == (Kind.EXECUTE, Kind.COPY_LOAD, Kind.COPY_STORE)
        assert store.data == ([] if op.name == "memset" else [(load.number, 0)])


def test_wide_accesses_are_split(toolchain: Toolchain, level: str) -> None:
    """A trace holds at most 64 bytes an access."""
    recording = toolchain.record(
        """
typedef long wide __attribute__((vector_size(128)));
wide a, b;
int main(void) {
  wide *volatile source = &a, *volatile target = &b;
  wide *from = source, *to = target;
  *to = *from + 1;
  return 0;
}
""",
        level,
    )
    stores = [op for op in recording.of(Kind.STORE) if op.site.line == 7 and op.bytes == 64]
    assert len(stores) == 2
    assert stores[1].address == stores[0].address + 64
    assert all(op.value == (1).to_bytes(8, "little") * 8 for op in stores)
    assert all(site.size <= 64 for site in recording.sites)


def test_masked_accesses_record_only_active_lanes(toolchain: Toolchain, level: str) -> None:
    """Only the active lanes of a masked access are recorded."""
    recording = toolchain.record(
        """
#include <immintrin.h>
int memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__attribute__((target("avx2"), noinline)) void work(int *p) {
  __m256i mask = _mm256_setr_epi32(-1, 0, -1, 0, 0, 0, 0, -1);
  __m256i v = _mm256_maskload_epi32(p, mask);
  _mm256_maskstore_epi32(p, mask, _mm256_add_epi32(v, v));
}
int main(void) { work(memory); return memory[7] == 16 && memory[1] == 2 ? 0 : 1; }
""",
        level,
    )
    base = min(op.address for op in recording.of(Kind.STORE) if op.value == b"\2\0\0\0")
    active = [op for op in recording.of(Kind.STORE) if op.bytes == 4 and op.site.line in (6, 7)]
    lanes = [
        ((op.address - base) // 4, op.value[0])
        for op in recording.of(Kind.STORE, function="work") + active
        if op.bytes == 4 and base <= op.address < base + 32
    ]
    assert sorted(set(lanes)) == [(0, 2), (2, 6), (7, 16)]


@pytest.mark.skipif(
    "avx512vl" not in Path("/proc/cpuinfo").read_text(), reason="the processor has no AVX-512"
)
def test_gathered_and_expanded_loads_record_active_lanes(toolchain: Toolchain, level: str) -> None:
    """Active lanes are recorded at their indices' addresses, or one after the other."""
    recording = toolchain.record(
        """
#include <immintrin.h>
long memory[64];
__attribute__((target("avx2,avx512f,avx512vl"), noinline)) void work(long *p) {
  __m128i mask = _mm_setr_epi32(-1, 0, 0, -1), index = _mm_setr_epi32(5, 6, 7, -1);
  __m256i v = _mm256_castsi128_si256(_mm_mask_i32gather_epi32(mask, (int *)p, index, mask, 4));
  v = _mm256_mmask_i64gather_epi64(v, 0x6, _mm256_setr_epi64x(1, 2, 3, 4), p, 8);
  _mm256_storeu_si256((void *)p, _mm256_mask_expandloadu_epi64(v, 0xb, p + 16));
}
int main(void) { work(memory + 8); _mm_prefetch(memory, 0); _mm_setcsr(_mm_getcsr()); return 0; }
""",
        level,
    )
    p = [op.address for op in recording.of(Kind.STORE) if op.bytes == 32][-1]
    loads = [(op.site.size, op.address - p) for op in recording.of(Kind.LOAD)]
    assert [load for load in loads if -64 <= load[1] < 448] == [
        (4, 20), (4, -4), (8, 16), (8, 24), (8, 128), (8, 136), (8, 144),
    ]  # fmt: skip


def test_intrinsics_with_unknown_writes_are_reported_with_their_line(
    toolchain: Toolchain, level: str
) -> None:
    """They are recorded with their line in the program, not in the header that defines them."""
    source = toolchain.write(
        """#include <immintrin.h>
#include <x86intrin.h>
__attribute__((target("xsave,clzero,fxsr,cldemote"))) void f(char *p) {
  _xsave(p, 1);
  _xrstor(p, 1);
  _mm_clzero(p);
  _cldemote(p);
  _fxrstor(p);
}
"""
    )
    compiled = run(toolchain.cc, level, "-c", source, "-o", toolchain.scratch / "program.o")
    assert [line.split("program.c: ")[1] for line in compiled.stderr.splitlines()] == [
        "line 4: the intrinsic 'xsave' may write to memory; it is not recorded.",
        "line 6: the intrinsic 'clzero' may write to memory; it is not recorded.",
    ]


def test_conditional_branches_record_their_outcome(toolchain: Toolchain, level: str) -> None:
    """Conditional branches carry their outcome."""
    recording = toolchain.record(
        """
volatile int sink;
__attribute__((noinline)) void work(int x) {
  if (x & 1) sink = 1;
}
int main(void) {
  for (int i = 0; i < 6; i++) work(i);
  return 0;
}
""",
        level,
    )
    outcomes = [op.flag for op in recording.of(Kind.BRANCH, function="work")]
    assert outcomes in ([0, 1] * 3, [1, 0] * 3)


def test_uninstrumented_functions_are_bracketed_by_before_and_after(
    toolchain: Toolchain, level: str
) -> None:
    """Library functions that are not instrumented are between `before` and `after`."""
    recording = toolchain.record(
        """
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
volatile double x = 2;
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
  int *p = malloc(2 * sizeof(int)) ;
  int *volatile keep = p;
  keep[0] = 2, keep[1] = 1;
  qsort(keep, 2, sizeof(int), order);
  printf("%d %.1f\\n", keep[0], pow(x, 3) + fmod(x, 2));
  free(keep);
  return 0;
}
""",
        level,
    )
    assert recording.output == "1 8.0\n"
    assert [op.site.line for op in recording.named("external_before")] == [8, 11, 12, 12, 12, 13]


def test_operations_before_a_call_are_reported_before_the_call(
    toolchain: Toolchain, level: str
) -> None:
    """The callee's operations are recorded between those before the call and those after it."""
    recording = toolchain.record(
        """
volatile int sink;
__attribute__((noinline)) int callee(int x) { sink = x; return x + 1; }
__attribute__((noinline)) int caller(int x) { return callee(x * 3 + 1) * 7; }
int main(void) { return caller(2) == 56 ? 0 : 1; }
""",
        level,
    )
    functions = [op.site.function for op in recording.operations]
    first_callee = functions.index("callee")
    assert "caller" in functions[:first_callee]
    assert all(op.name != "execute" or op.site.instructions > 0 for op in recording.operations)


SURVIVORS = {
    "exceptions": (
        ".cpp",
        """
#include <stdexcept>
#include <string>
#include <cstdio>
struct Guard { int &x; ~Guard() { ++x; } };
__attribute__((noinline)) int thrower(int n, int &x) {
  Guard g{x};
  if (n == 0) throw std::runtime_error("deep " + std::to_string(x));
  return thrower(n - 1, x) + 1;
}
int main() {
  int x = 0;
  try { thrower(5, x); } catch (const std::exception &e) { std::printf("%s %d\\n", e.what(), x); }
  try { throw 3; } catch (int i) { std::printf("%d\\n", i); }
  char *volatile keep;
  try { keep = new char[1ul << 60]; } catch (const std::bad_alloc &) { std::puts("bad_alloc"); }
}
""",
        "deep 0 6\n3\nbad_alloc\n",
    ),
    "setjmp": (
        ".c",
        """
#include <setjmp.h>
#include <stdio.h>
static jmp_buf place;
static void deep(int n) { if (n) deep(n - 1); else longjmp(place, 7); }
int main(void) {
  volatile int round = 0;
  int r = setjmp(place);
  round++;
  if (r == 0) deep(4);
  printf("%d %d\\n", r, round);
  return 0;
}
""",
        "7 2\n",
    ),
    "computed goto": (
        ".c",
        """
#include <stdio.h>
int main(void) {
  static void *table[] = {&&add, &&twice, &&end};
  static const char program[] = {0, 1, 0, 1, 1, 2};
  int x = 1, pc = 0;
  goto *table[(int)program[pc++]];
add: x += 3; goto *table[(int)program[pc++]];
twice: x *= 2; goto *table[(int)program[pc++]];
end: printf("%d\\n", x);
  return 0;
}
""",
        "44\n",
    ),
    "musttail": (
        ".c",
        """
#include <stdio.h>
static long odd(long n, long s);
static long even(long n, long s) { if (n == 0) return s; __attribute__((musttail)) return odd(n - 1, s + 1); }
static long odd(long n, long s) { if (n == 0) return -s; __attribute__((musttail)) return even(n - 1, s + 2); }
int main(void) { printf("%ld\\n", even(1000, 0)); return 0; }
""",
        "1500\n",
    ),
    "varargs": (
        ".c",
        """
#include <stdarg.h>
#include <stdio.h>
static double sum(int n, ...) {
  va_list list; va_start(list, n); double s = 0;
  for (int i = 0; i < n; i++) s += i & 1 ? va_arg(list, double) : va_arg(list, int);
  va_end(list); return s;
}
int main(void) { printf("%.2f\\n", sum(4, 1, 2.5, 3, 4.25)); return 0; }
""",
        "10.75\n",
    ),
    "asm goto": (
        ".c",
        """
#include <stdio.h>
static int memory = 5;
__attribute__((noinline)) int test(int x) {
  asm goto("lock; decl %0; cmpl $0, %1; je %l[zero]" :: "m"(memory), "r"(x) : "memory", "cc" : zero);
  return 1;
zero:
  return 0;
}
int main(void) { int a = test(0), b = test(4); printf("%d %d %d\\n", a, b, memory); return 0; }
""",
        "0 1 3\n",
    ),
    "switch": (
        ".c",
        """
#include <stdio.h>
__attribute__((noinline)) int f(int x) {
  switch (x) { case 0: return 5; case 1: return 9; case 2: return 1; case 3: return 7;
               case 4: return 8; case 100: return 2; default: return 0; }
}
int main(void) { int s = 0; for (int i = 0; i < 120; i++) s = s * 3 % 1001 + f(i); printf("%d\\n", s); }
""",
        "881\n",
    ),
    "threads": (
        ".c",
        """
#include <pthread.h>
#include <stdio.h>
static _Atomic int total; static __thread int mine;
static void *work(void *a) { for (int i = 0; i < 100; i++) { mine += i; total += 1; } return a; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  printf("%d\\n", total);
}
""",
        "400\n",
    ),
    "constructors": (
        ".cpp",
        """
#include <cstdio>
#include <map>
#include <string>
struct Early { int x; Early() : x(41) { table["a"] = ++x; } std::map<std::string, int> table; };
__attribute__((init_priority(101))) Early early;
__attribute__((constructor(102))) static void c() { early.x++; }
int main() { std::printf("%d %d\\n", early.x, early.table["a"]); }
""",
        "43 42\n",
    ),
    "ifunc": (
        ".c",
        """
#include <stdio.h>
static int one(void) { return 1; }
static void *resolve(void) { return (void *)one; }
int f(void) __attribute__((ifunc("resolve")));
int main(void) { printf("%d\\n", f()); }
""",
        "1\n",
    ),
    "naked": (
        ".c",
        """
#include <stdio.h>
__attribute__((naked)) int f(int x) { asm("leal 1(%rdi), %eax\\n\\tret"); }
int main(void) { printf("%d\\n", f(4)); }
""",
        "5\n",
    ),
    "pure functions": (
        ".c",
        """
#include <stdio.h>
__attribute__((pure, noinline)) int f(const int *p) { return *p * 2; }
__attribute__((const, noinline)) int g(int x) { return x > 3 ? x * x : -x; }
int main(void) { int v = 4, s = 0; for (int i = 0; i < 10; i++) s += f(&v) + g(i); printf("%d\\n", s); }
""",
        "345\n",
    ),
    "coroutines": (
        ".cpp",
        """
#include <coroutine>
#include <cstdio>
struct Gen {
  struct promise_type {
    int v; Gen get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int x) { v = x; return {}; }
    void return_void() {} void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> h;
};
Gen count(int n) { for (int i = 0; i < n; i++) co_yield i * i; }
int main() { Gen g = count(4); int s = 0; while (g.h.resume(), !g.h.done()) s += g.h.promise().v; g.h.destroy(); std::printf("%d\\n", s); }
""",
        "14\n",
    ),
}


@pytest.mark.parametrize("name", SURVIVORS)
def test_unusual_control_flow_survives_instrumentation(
    toolchain: Toolchain, level: str, name: str
) -> None:
    """Programs with unusual control flow behave as they do without the pass."""
    suffix, code, output = SURVIVORS[name]
    flags = ("-std=c++20",) if suffix == ".cpp" else ()
    recording = toolchain.record(code, level, suffix, flags)
    assert recording.output == output
    assert recording.operations


def test_string_instructions_are_recorded_as_copies(toolchain: Toolchain, level: str) -> None:
    """`rep movs` and `rep stos` are copies, with or without prefix, in both spellings."""
    recording = toolchain.record(
        """
char from[64], to[64];
int main(void) {
  void *d = to; const void *s = from; long n = 20;
  asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
  d = to; n = 3;
  asm volatile("rep; stosq" : "+D"(d), "+c"(n) : "a"(0x55L) : "memory");
  d = to; s = from;
  asm volatile("movsl" : "+D"(d), "+S"(s) :: "memory");
  asm volatile(".byte 0xf3; stosl" : "=D"(d), "=c"(n) : "0"(to), "1"(5L), "a"(7) : "memory");
  double x = 1;
  asm volatile("movsd %1, %0" : "=m"(*(double *)to) : "x"(x));
  return 0;
}
""",
        level,
    )
    copies = [op for op in recording.operations if op.name in ("copied", "filled")]
    assert [(op.name, op.site.line, op.bytes) for op in copies] == [
        ("copied", 5, 20), ("filled", 7, 24), ("copied", 9, 4), ("filled", 10, 20),
    ]  # fmt: skip
    assert len({op.address for op in copies}) == 1
    stores = recording.of(Kind.STORE, function="main")
    assert (12, struct.pack("<d", 1.0)) in [(op.site.line, op.value) for op in stores]


def test_descending_string_instructions_record_their_addresses(
    toolchain: Toolchain, level: str
) -> None:
    """With the direction flag set, the addresses are those of the last element."""
    recording = toolchain.record(
        """
char from[64], to[64];
int main(void) {
  void *d = to; const void *s = from; long n = 3;
  asm volatile("stosb" : "+D"(d) : "a"(1L) : "memory");
  d = to + 32; s = from + 32;
  asm volatile("std\\n rep movsq\\n cld" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
  d = to + 32;
  asm volatile("std\\n stosl\\n cld" : "+D"(d) : "a"(1L) : "memory");
  d = to + 32;
  asm volatile("std\\n cld\\n stosl" : "+D"(d) : "a"(1L) : "memory");
  return 0;
}
""",
        level,
    )
    copies = [op for op in recording.operations if op.name in ("copied", "filled")]
    begin = copies[0].address
    assert [(op.name, op.address - begin, op.bytes) for op in copies[1:]] == [
        ("copied", 16, 24), ("filled", 32, 4), ("filled", 32, 4),
    ]  # fmt: skip


def test_unrecordable_string_instruction_is_reported_with_its_line(
    toolchain: Toolchain, level: str
) -> None:
    """The warning is a sentence with the line."""
    source = toolchain.write(
        'char to[8];\nint main(void) { asm volatile("lea to(%%rip), %%rdi\\n stosb" ::: "rdi"); }\n'
    )
    compiled = run(toolchain.cc, level, "-c", source, "-o", toolchain.scratch / "program.o")
    assert "line 2: inline assembly 'stosb' writes to an address" in compiled.stderr


def test_writes_of_library_functions_and_the_kernel_are_recorded(
    toolchain: Toolchain, level: str
) -> None:
    """Writes of the C library and of the kernel are recorded with their location and contents."""
    recording = toolchain.record(
        """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char memory[64];
int main(void) {
  char *volatile source = memory;
  char *p = source;
  int zero = open("/dev/zero", O_RDONLY);
  if (read(zero, p, 7) != 7) return 1;
  if (read(-1, p, 7) != -1) return 1;
  snprintf(p, 4, "%d", getppid() + 10000);
  snprintf(p, 40, "%s", source == memory ? "abc" : "");
  FILE *stream = fdopen(zero, "r");
  if (fread(p, 4, 3, stream) != 3) return 1;
  char *volatile block = calloc(3, 4);
  block = realloc(block, 100000);
  block = strdup(source == memory ? "four" : "");
  return 0;
}
""",
        level,
    )
    wrote = [(op.site.line, op.bytes) for op in recording.named("wrote")]
    assert wrote == [
        (12, 7), (13, 0), (14, 4), (15, 4), (17, 12), (18, 12), (19, 100000), (20, 5),
    ]  # fmt: skip
