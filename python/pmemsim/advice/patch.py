"""Write a repair as a patch of the program's source, where the source names the data.

A flush needs the expression of what a statement stores. It is taken from the source line if that
holds one whole statement with an assignment, or a call of a function that copies or is atomic.
Otherwise the repair is a sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pmemsim import _core
from pmemsim.advice.edits import Step
from pmemsim.sources import Sources
from pmemsim.trace import Trace

_OPERAND = r"(?:\*+\s*)?[A-Za-z_]\w*(?:->\w+|\.\w+|\[[^\][]*\])*"
_ASSIGNMENT = re.compile(
    rf"^(?:\+\+|--)?(?P<target>{_OPERAND})\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--|;)"
)
_COPY = re.compile(
    r"^(?:std::)?(?:memcpy|memmove|memset|mempcpy|strncpy)\s*\((?P<target>[^,]+),[^,]+,"
    r"(?P<bytes>.+)\)\s*;"
)
_ATOMIC = re.compile(
    rf"\batomic_(?:store|exchange|fetch_\w+|compare_exchange_\w+?)(?:_explicit)?\s*\(\s*&"
    rf"(?P<target>{_OPERAND})"
)
_LOAD = re.compile(
    rf"=\s*(?:atomic_load(?:_explicit)?\s*\(\s*&(?P<atomic>{_OPERAND})|"
    rf"(?P<plain>{_OPERAND})(?:\.load\s*\(|\s*;))"
)
_MEMBER = re.compile(rf"^(?P<target>{_OPERAND})\.(?:store|exchange|fetch_\w+)\s*\(")


@dataclass(frozen=True)
class _Words:
    """How the program flushes and fences."""

    flush: str
    """A call with `{address}` and `{bytes}`; empty: the instruction itself."""
    fence: str

    def flush_of(self, data: _Data) -> str:
        """Return the statement that flushes data."""
        if self.flush:
            return self.flush.format(address=data.address, bytes=data.bytes)
        return f'__asm__ volatile("clwb %0" : "+m"({data.expression}));'


@dataclass(frozen=True)
class _Data:
    address: str
    bytes: str
    expression: str


@dataclass(frozen=True)
class Patch:
    """A repair of source files."""

    diff: str
    """A unified diff, for `patch -p1`; empty: no step could be written so."""
    rest: tuple[str, ...]
    """The steps that the diff lacks, as sentences."""


def patch_of(trace: Trace, steps: Sequence[Step]) -> Patch:
    """Return a repair's patch; steps that can't be written as source stay sentences."""
    sources = Sources(trace)
    changes: dict[Path, _Source] = {}
    rest = []
    for step in _bottom_up(steps):
        # The step's line may be another one in a newer source.
        path = None if sources.is_newer(step.file) else sources.find(step.file)
        if path is not None and path not in changes:
            changes[path] = _Source(path, _words(trace, path, sources))
        if path is None or not changes[path].apply(step):
            rest.append(str(step))
    diff = "".join(line for source in changes.values() for line in source.diff())
    return Patch(diff, tuple(rest))


_RANKS = {"fence after": 0, "fence after call": 0, "flush": 1, "flush loaded": 1, "fence before": 2}


def _bottom_up(steps: Sequence[Step]) -> list[Step]:
    """Order the steps so that none moves a line at which another one applies.

    Behind one line, a fence comes first here, so that a flush is then put between.
    """
    return sorted(steps, key=lambda step: (-step.line, _RANKS[step.what]))


def _words(trace: Trace, path: Path, sources: Sources) -> _Words:
    """Find the program's own functions for flushing and fencing, or those of its library."""
    text = path.read_text(errors="replace")
    if "pmemsim/pm.h" in text:
        return _Words("pm_flush({address}, {bytes});", "pm_durable();")
    if "libpmem.h" in text:
        return _Words("pmem_flush({address}, {bytes});", "pmem_drain();")
    flush, fence = "", '__asm__ volatile("sfence" ::: "memory");'
    calls = _core.persist_calls(trace.file)
    flushing = {call.place.function for call in calls if call.name.startswith("cl")}
    fencing = {call.place.function for call in calls if not call.name.startswith("cl")}
    included = set(re.findall(r'#\s*include\s*"(?:[^"]*/)?([^"/]+)"', text))
    headers = {call.place.file for call in calls if Path(call.place.file).name in included}
    found = [source for header in headers if (source := sources.find(header))]
    texts = {text} | {source.read_text(errors="replace") for source in found}
    for function in sorted(flushing - fencing):
        if _declares(function, r"[^,()]*\*\s*\w+\s*,[^,()]*\w", texts):
            flush = function + "({address}, {bytes});"
    for function in sorted(fencing - flushing):
        if _declares(function, r"\s*(?:void)?\s*", texts):
            fence = f"{function}();"
    return _Words(flush, fence)


def _declares(function: str, parameters: str, sources: set[str]) -> bool:
    name = re.escape(function)
    declaration = re.compile(rf"^[^\n;=]*\b{name}\s*\({parameters}\)", re.MULTILINE)
    return bool(re.fullmatch(r"\w+", function)) and any(map(declaration.search, sources))


class _Source:
    def __init__(self, path: Path, words: _Words) -> None:
        self.path = path
        self.words = words
        self.before = path.read_text(errors="replace").splitlines(keepends=True)
        self.lines = list(self.before)

    def apply(self, step: Step) -> bool:
        """Add a step's statement; return whether its line allows that."""
        index = step.line - 1
        if index >= len(self.before):
            return False
        old = self.before[index]
        head, statement = _split(_without_comment(old))
        if not statement:
            return False
        new = self.words.fence
        if step.is_flush:
            data = data_of(statement) if step.what == "flush" else loaded_by(statement)
            if data is None:
                return False
            new = self.words.flush_of(data)
        indent = old[: len(old) - len(old.lstrip())]
        if step.is_flush and head:
            self.lines[index] = f"{indent}{head} {{ {statement} {new} }}\n"
        elif self._is_branch(index):
            inner = self.lines[index].strip()
            inner = inner[2:-2].strip() if inner.startswith("{ ") else inner
            both = f"{new} {inner}" if step.what == "fence before" else f"{inner} {new}"
            self.lines[index] = f"{indent}{{ {both} }}\n"
        else:
            at = index if step.what == "fence before" else index + 1
            self.lines.insert(at, f"{indent}{new}\n")
        return True

    def _is_branch(self, index: int) -> bool:
        """Return whether the line is the only statement of an `if` or a loop, without braces."""
        above = next((line for line in reversed(self.before[:index]) if line.strip()), "")
        code = _without_comment(above)
        begins = re.match(r"(?:\}\s*)?(?:if|for|while|else|do)\b", code)
        continues = code.count(")") > code.count("(")
        return bool(begins or continues) and bool(re.search(r"(?:\)|\belse|\bdo)$", code))

    def diff(self) -> Iterator[str]:
        """Return the lines of the diff."""
        name = self.path.name
        return difflib.unified_diff(self.before, self.lines, f"a/{name}", f"b/{name}")


def _without_comment(line: str) -> str:
    return re.sub(r"//.*|/\*.*?\*/", "", line).strip()


def _split(code: str) -> tuple[str, str]:
    """Split a line into the head of a loop or branch, if any, and its only statement.

    The statement, with its semicolon, is empty if the line has another form.
    """
    head = ""
    if re.match(r"(?:for|while|if)\s*\(", code):
        end, depth = code.index("(") + 1, 1
        while depth > 0 and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        head, code = code[:end], code[end:].strip()
    if re.match(r"(?:if|for|while|do|else|switch|case|return|#|\}|\{)", code):
        return "", ""
    return (head, code) if code.endswith(";") and code.count(";") == 1 else ("", "")


def data_of(statement: str) -> _Data | None:
    """Return what a statement stores, as expressions; None: the statement doesn't say."""
    if copy := _COPY.match(statement):
        target = copy["target"].strip()
        return _Data(target, copy["bytes"].strip(), f"*(char*)({target})")
    found = _ASSIGNMENT.match(statement) or _MEMBER.match(statement) or _ATOMIC.search(statement)
    if found is None:
        return None
    return _named(found["target"])


def loaded_by(statement: str) -> _Data | None:
    """Return what a statement loads, as expressions; None: the statement doesn't say."""
    found = _LOAD.search(statement)
    return _named(found["atomic"] or found["plain"]) if found else None


def _named(target: str) -> _Data:
    return _Data(f"&{target}", f"sizeof({target})", target)
