"""Compiles snippets with pmemsim-cc, with a runtime that prints its calls."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import pytest

from shared import shared_folder  # noqa: F401  # a fixture

# Shells start background jobs with Ctrl-C ignored, and programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
LEVELS = ("-O0", "-O1", "-O2", "-O3")


class Kind(IntEnum):
    """Same as SiteKind of src/pmemsim/trace/format.hpp."""

    LOAD = 0
    STORE = 1
    NON_TEMPORAL = 2
    ATOMIC_LOAD = 3
    ATOMIC_STORE = 4
    ATOMIC_UPDATE = 5
    COPY_LOAD = 6
    COPY_STORE = 7
    BRANCH = 8
    EXECUTE = 9
    FLUSH = 10
    FENCE = 11
    SYNC = 14
    RECURRENCE = 15
    INDIRECT_BRANCH = 16


CLWB, CLFLUSHOPT, CLFLUSH = range(3)
SFENCE, MFENCE, LFENCE = range(3)
FULL_FENCE, ENTRY, EXIT = 1, 8, 16


@dataclass
class Site:
    """A line of the site table."""

    number: int
    kind: Kind
    detail: int
    size: int
    flags: int
    instructions: int
    file: str
    function: str
    line: int
    address: list[tuple[int, int]]
    data: list[tuple[int, int]]
    inlined_at: list[tuple[str, int, str]]  # file, line, function; the innermost first
    entry: bool  # a call of its function begins
    exit: bool


# Calls that report annotated locks belong to no instruction of the program.
NO_SITE = Site(0, Kind.SYNC, 0, 0, 0, 0, "", "", 0, [], [], [], False, False)


@dataclass
class Operation:
    """A call of the runtime."""

    name: str
    site: Site
    address: int
    bytes: int
    flag: int
    value: bytes


@dataclass
class Recording:
    """The calls of the runtime in one run of a program."""

    sites: list[Site] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    instructions: int = 0
    inlined_calls: int = 0  # in all tables
    output: str = ""

    def of(self, *kinds: Kind, function: str | None = None) -> list[Operation]:
        """Return the operations of these kinds, in order."""
        return [
            operation
            for operation in self.operations
            if operation.site.kind in kinds
            and (function is None or operation.site.function.split("(")[0] == function)
        ]

    def named(self, name: str) -> list[Operation]:
        """Return the calls of one function of the runtime."""
        return [operation for operation in self.operations if operation.name == name]


def read_log(path: Path, output: str = "") -> Recording:
    """Read what the printing runtime wrote."""
    recording = Recording(output=output)
    by_number: dict[tuple[int, int], Site] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["op"] == "end":
            recording.instructions = record["instructions"]
            return recording
        if record["op"] == "module":
            recording.inlined_calls += record["inlined_calls"]
            continue
        if record["op"].startswith("lock_"):
            recording.operations.append(
                Operation(record["op"], NO_SITE, record["address"], 0, record["flag"], b"")
            )
            continue
        key = (record["module"], record["site"])
        if record["op"] == "site":
            site = Site(
                record["site"], Kind(record["kind"]), record["detail"], record["size"],
                record["flags"] & FULL_FENCE, record["instructions"], record["file"], record["function"],
                record["line"], [tuple(d) for d in record["address"]],
                [tuple(d) for d in record["data"]],
                [tuple(call) for call in record["inlined_at"]],
                bool(record["flags"] & ENTRY), bool(record["flags"] & EXIT),
            )  # fmt: skip
            by_number[key] = site
            recording.sites.append(site)
        else:
            recording.operations.append(
                Operation(
                    record["op"],
                    by_number[key],
                    record["address"],
                    record["bytes"],
                    record["flag"],
                    bytes.fromhex(record["value"]),
                )
            )
    raise AssertionError(f"{path}: the program did not end properly")


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    result = subprocess.run(
        [str(part) for part in command],
        capture_output=True, text=True, timeout=300, **options,
    )  # fmt: skip
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result


class Toolchain:
    """The tool chain under test, with the printing runtime in place of the recording one."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self.root = root
        self.scratch = scratch
        self.cc = root / "bin" / "pmemsim-cc"
        self.cxx = root / "bin" / "pmemsim-c++"

    def compiler(self, source: Path) -> Path:
        """Return the wrapper for the source's language."""
        return self.cxx if source.suffix == ".cpp" else self.cc

    def write(self, code: str, suffix: str = ".c") -> Path:
        """Write a source file."""
        source = self.scratch / f"program{suffix}"
        source.write_text(code)
        return source

    def record(
        self, code: str, level: str = "-O0", suffix: str = ".c", flags: tuple[str, ...] = ()
    ) -> Recording:
        """Compile, check with LLVM's verifier, run, and return what was recorded."""
        source = self.write(code, suffix)
        program = self.scratch / "program"
        compiled = run(
            self.compiler(source), level, *flags, "-fverify-intermediate-code", source,
            "-o", program, "-lm",
        )  # fmt: skip
        assert compiled.stderr == ""
        return self.execute(program)

    def execute(self, program: Path, **variables: str) -> Recording:
        """Run an instrumented program."""
        log = self.scratch / "log.json"
        environment = {**os.environ, "PRINT_RUNTIME": str(log), **variables}
        result = run(program, env=environment, cwd=self.scratch)
        return read_log(log, result.stdout)


def built_toolchain() -> Path:
    """Return the folder of the tool chain to test: a build's, or that of the installed package."""
    if folder := os.environ.get("PMEMSIM_TOOLCHAIN"):
        return Path(folder).resolve()
    from pmemsim.toolchain import toolchain_dir

    return toolchain_dir()


@pytest.fixture(scope="session")
def toolchain_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out a copy of the tool chain that has the printing runtime."""
    built = built_toolchain()
    root = tmp_path_factory.mktemp("toolchain")
    shutil.copytree(built / "bin", root / "bin")
    shutil.copytree(built / "include", root / "include")
    (root / "lib").mkdir()
    for file in ("pmemsim-pass.so", "libpm_recorded_O0.a", "libpm_recorded_O2.a"):
        (root / "lib" / file).symlink_to(built / "lib" / file)
    runtime = root / "print_runtime.o"
    run("clang-19", "-O2", "-fPIC", "-c", HERE / "print_runtime.c", "-I", HERE.parent / "runtime",
        "-o", runtime)  # fmt: skip
    run("ar", "rcs", root / "lib" / "libpmemsim_rt.a", runtime)
    return root


@pytest.fixture
def toolchain(toolchain_root: Path, tmp_path: Path) -> Toolchain:
    """Give each test a scratch folder of its own."""
    return Toolchain(toolchain_root, tmp_path)
