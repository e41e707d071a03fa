"""Find the instructions of a program that store to memory or flush a line (objdump)."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from native_builds import need

SUFFIXES = {"b": 1, "w": 2, "l": 4, "q": 8}
READS = re.compile(
    r"cmp(?!xchg)|test|lea|bt[wlq]?$|v?p?test|v?u?comis|prefetch|nop|j|div|idiv|i?mul|ret|leave|pop|fld"
)
"""Instructions that only read, whatever their last operand is."""
FLUSHES = ("clwb", "clflush", "clflushopt")
PREFIXES = ("lock", "rep", "repz", "repnz", "data16", "notrack", "bnd", "xacquire", "xrelease")
VECTOR_SIZES = {"xmm": 16, "ymm": 32, "zmm": 64}
REGISTER_SIZES = [
    (re.compile("%([abcd][lh]|(si|di|sp|bp)l|r[0-9]+b)"), 1),
    (re.compile("%(r[a-z]+|r[0-9]+)"), 8),
    (re.compile("%(e[a-z]+|r[0-9]+d)"), 4),
    (re.compile("%.*"), 2),
]
OPERAND = re.compile(
    r"(?:%(?P<segment>[fg]s):)?(?P<offset>-?0x[0-9a-f]+)?"
    r"(?:\((?:%(?P<base>\w+))?(?:,%(?P<index>\w+),(?P<scale>\d))?\))?$"
)


@dataclass(frozen=True)
class Instruction:
    """An instruction that stores or flushes."""

    kind: str
    """store, push (of a register), call (which pushes the return address) or flush."""
    size: int
    segment: str | None = None
    base: str | None = None
    index: str | None = None
    scale: int = 0
    offset: int = 0

    def address(self, registers: Mapping[str, int]) -> int:
        """The address, computed from the registers' values before the instruction."""
        address = self.offset
        for register, factor in ((self.segment, 1), (self.base, 1), (self.index, self.scale)):
            if register:
                address += factor * registers[register]
        return address & (1 << 64) - 1


@functools.cache
def disassemble(program: Path, begin: int = 0) -> dict[int, Instruction]:
    """Return the instructions of a program, or of a library mapped at `base`, by address."""
    listing = subprocess.run(
        [need("objdump", "binutils"), "-d", "--no-show-raw-insn", str(program)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found: dict[int, Instruction] = {}
    for line in listing.splitlines():
        if match := re.match(r"\s+([0-9a-f]+):\s+(\S.*)", line):
            instruction = _read(match[2], begin)
            if instruction is not None:
                found[int(match[1], 16) + begin] = instruction
    return found


def _read(text: str, begin: int) -> Instruction | None:
    code, _, comment = text.partition("#")
    words = code.split()
    while words and words[0] in PREFIXES:
        words = words[1:]
    if not words:
        return None
    mnemonic, operands = words[0], _operands(" ".join(words[1:]))
    if mnemonic.startswith(("call", "push")):
        return Instruction(mnemonic[:4], 8, base="rsp", offset=-8)
    if not operands or READS.match(mnemonic):
        return None
    match = OPERAND.match(operands[-1])
    if match is None or not operands[-1]:
        return None
    size = 0 if mnemonic in FLUSHES else _size(mnemonic, operands)
    kind = "flush" if mnemonic in FLUSHES else "store"
    if match["base"] == "rip":
        return Instruction(kind, size, offset=int(comment.split()[0], 16) + begin)
    segment = f"{match['segment']}" if match["segment"] else None
    return Instruction(kind, size, segment, match["base"], match["index"],
                       int(match["scale"] or 0), int(match["offset"] or "0", 16))  # fmt: skip


def _operands(text: str) -> list[str]:
    text = re.sub(r"\s*<.*", "", text)
    text = re.sub(r"%es:|\{.*?\}", "", text)
    return re.split(r",(?![^(]*\))", text) if text else []


def _size(mnemonic: str, operands: list[str]) -> int:
    """Return the number of bytes that a store writes."""
    first = operands[0]
    if mnemonic.startswith("set"):
        return 1
    if match := re.match(r"%([xyz]mm)", first):
        name = mnemonic.removeprefix("v")
        if name in ("movd", "movss"):
            return 4
        if name in ("movq", "movsd", "movlps", "movhps", "movlpd", "movhpd"):
            return 8
        return VECTOR_SIZES[match[1]]
    is_register = first.startswith("%") and "(" not in first
    is_count = first == "%cl" and mnemonic.startswith(("sh", "sa", "ro"))
    if not is_register or is_count:
        return SUFFIXES.get(mnemonic[-1], 8)
    return next(size for names, size in REGISTER_SIZES if names.fullmatch(first))
