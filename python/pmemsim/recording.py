"""Record programs: the user's own, and pmemsim's workloads."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

from pmemsim import _core
from pmemsim.arguments import check_path
from pmemsim.errors import CheckFailed, Error, Problems, RecordError
from pmemsim.files import cache_dir, check_writable, replacing, temporary_folder
from pmemsim.processes import Processes
from pmemsim.programs import KeepGoing, ending_of, run_program, why_not_found
from pmemsim.toolchain import compiler, toolchain_dir
from pmemsim.trace import Trace
from pmemsim.workload_runs import (
    HINTS,
    LOGS,
    WorkloadRun,
    find_workload,
    hints_name,
    toolchain_hash,
)


def record(
    command: Sequence[str],
    output: str | Path,
    *,
    name: str | None = None,
    pm_paths: Sequence[str | Path] = (),
    pm_ranges: Sequence[str] = (),
    pm_hints: Sequence[str] = (),
    pm_heap: bool = False,
    process: str | None = None,
    schedule: int = 0,
    seed: int = 1,
    hold: str | None = None,
    keep_going: KeepGoing | None = None,
) -> Trace:
    """Run a program that was built by `pmemsim-cc` or `pmemsim-c++`, and record it.

    It may also be a script that starts such programs. A message on standard error lists the
    programs that aren't recorded. What the program maps through `pmemsim/pm.h` is persistent.

    Args:
        command: The program and its arguments, as a list.
        output: The recording's file.
        name: The name in the recording; default: the program's.
        pm_paths: Folders: files that are mapped from them are persistent.
        pm_ranges: Address ranges that are persistent, as `LO:HI`, hexadecimal.
        pm_hints: Addresses, hexadecimal: what the program asks `mmap` for there is persistent.
        pm_heap: Everything that the program allocates is persistent.
        process: Name of the program to record; default: the first that starts. It is recorded
            until its end.
        schedule: Number of the interleaving of the threads; 0 is the recorder's own.
        seed: Seed of the interleavings.
        hold: `THREAD:OPERATION`, numbered as in a recording of the same schedule: holds a thread
            behind an operation until no other thread can run. The metadata's `hold` has the result.
        keep_going: A function called several times per second while the program runs; an exception
            that it raises stops the program.

    Returns:
        The recording.

    Raises:
        RecordError: The program can't be run, or fails. There is no file then.

    Example:
        `pmemsim.record(["./mine"], "mine.pmt", pm_paths=["/mnt/pmem"]).threads`
    """
    _check_arguments(command, output, pm_paths, pm_ranges, pm_hints)
    output = Path(output)
    check_writable(output)
    if not command:
        raise RecordError("the command to record is missing; give a program and its arguments")
    program = shutil.which(command[0])
    if program is None:
        why = why_not_found(command[0], "build it with pmemsim-cc or pmemsim-c++ first")
        raise RecordError(f"{command[0]}: {why}")
    environment = {}
    if name:
        environment["PMEMSIM_METADATA"] = json.dumps({"workload": name})
    if pm_paths:
        environment["PMEMSIM_PM_PATH"] = ":".join(str(Path(path).absolute()) for path in pm_paths)
    if pm_ranges:
        environment["PMEMSIM_PM_RANGE"] = ",".join(pm_ranges)
    if pm_hints:
        environment["PMEMSIM_PM_HINT"] = ",".join(pm_hints)
    if pm_heap:
        environment["PMEMSIM_PM_HEAP"] = "1"
    environment |= _of_schedule(schedule, seed)
    if hold is not None:
        check_hold(hold)
        environment["PMEMSIM_HOLD"] = hold
    with _made_beside(output) as fresh, Processes.create() as processes:
        environment |= _output_of(fresh)
        environment["PMEMSIM_PROCESSES"] = str(processes.folder)
        environment["PMEMSIM_PROCESS"] = Path(process or "").name
        status = _run([program, *command[1:]], environment, keep_going)
        if status != 0:
            under = f" under schedule {schedule}" if schedule else ""
            raise RecordError(f"{command[0]}: {ending_of(status)}{under}; no trace was kept")
        processes.await_recorded(keep_going)
        if not fresh.is_file():
            raise RecordError(f"{command[0]}: {processes.why_no_trace(process)}")
        recorded = Trace(fresh)
        if recorded.threads > 1 and recorded.schedule != schedule:
            raise RecordError(
                f"{command[0]}: an old pmemsim-cc without schedules built the program; build it "
                "again"
            )
        if hold is not None and "hold" not in recorded.metadata:
            raise RecordError(
                f"{command[0]}: an old pmemsim-cc without --hold built the program; build it again"
            )
        if others := processes.not_recorded():
            print(f"pmemsim: {others}", file=sys.stderr)
        _complete(fresh)
    return Trace(output)


def _check_arguments(command: object, output: object, *declarations: object) -> None:
    """Raise a `ConfigError` for arguments of the wrong kind: a text is no list of letters."""
    problems = Problems()
    with problems.collected():
        check_path("output", output)
    lists = {"command": command, **dict(zip(_DECLARED, declarations, strict=True))}
    problems.add(
        f"{name}: must be a list, as in [{str(value)!r}]"
        for name, value in lists.items()
        if isinstance(value, str | PathLike)
    )
    problems.raise_any()


_DECLARED = ("pm_paths", "pm_ranges", "pm_hints")


def _output_of(recording: Path) -> dict[str, str]:
    """Return the variables that name the runtime's output."""
    return {"PMEMSIM_TRACE": str(recording), "PMEMSIM_CONTENTS": str(_contents_of(recording))}


def _contents_of(recording: Path) -> Path:
    """Return the path of persistent memory's final contents until they are compared."""
    return recording.with_name(f"{recording.name}.contents")


def _of_schedule(schedule: int, seed: int) -> dict[str, str]:
    return {"PMEMSIM_SCHEDULE": f"{schedule}:{seed}"} if schedule else {}


def record_workload(
    run: WorkloadRun, output: str | Path | None = None, keep_going: KeepGoing | None = None
) -> Trace:
    """Build and record one of pmemsim's workloads, or reuse the recording made earlier.

    Args:
        run: The workload with its arguments.
        output: The recording's file; default: a file in the cache folder (`PMEMSIM_CACHE`).
        keep_going: As in `record`.

    Returns:
        The recording.

    Raises:
        RecordError: The workload can't be built or run.
        CheckFailed: The workload's own check failed.

    Example:
        `pmemsim.record_workload(pmemsim.WorkloadRun.of("queue", threads=2, regions=50)).name`
    """
    if not isinstance(run, WorkloadRun):
        raise Error(f"run: {run!r} must be a WorkloadRun, as WorkloadRun.of({str(run)!r}) makes it")
    if output is not None:
        check_path("output", output)
    cached = run.cached_trace
    if not cached.is_file():
        with _made_once(cached) as fresh:
            if fresh is not None:
                record_uncached(run, fresh, keep_going)
    if output is None:
        return Trace(cached)
    with replacing(Path(output)) as partial:
        shutil.copyfile(cached, partial)
    return Trace(output)


def record_uncached(run: WorkloadRun, output: Path, keep_going: KeepGoing | None = None) -> None:
    """Build and record a workload, and keep nothing but `output`."""
    computed = run.compute_instructions
    program = Build.of(run).make(keep_going)
    environment = {
        **_of_schedule(run.schedule, run.seed),
        **_output_of(output),
        "PMEMSIM_PROCESSES": "",  # variables of an enclosing `pmemsim record` don't apply
        "PMEMSIM_METADATA": json.dumps(
            {
                "workload": run.workload,
                "seed": run.seed,
                "optimization": run.opt,
                "regions": run.regions,
                # Recordings without it are equal to those of earlier versions.
                **({"compute_instructions": computed} if computed else {}),
            }
        ),
    }
    # The caller did not ask for the workload's own output. Its error messages become part of the
    # error message.
    with tempfile.TemporaryFile() as complaints:
        command = [str(program), *run.arguments]
        status = _run(command, environment, keep_going, subprocess.DEVNULL, complaints)
        complaints.seek(0)
        text = complaints.read().decode(errors="replace").strip()
    what = " ".join([run.workload, *run.arguments])
    # The runtime only adds that the program has failed.
    own = [line for line in text.splitlines() if not line.startswith("pmemsim: ")]
    why = "; ".join(own) or text.removeprefix("pmemsim: ") or ending_of(status)
    if status == 1:
        raise CheckFailed(f"{what}: the program's self-check failed: {why}; no trace was kept")
    if status == 2 and own:
        raise RecordError(
            f"{what}: {why}; no trace was kept; choose smaller --regions or --threads"
        )
    if status != 0 or not output.is_file():
        raise RecordError(f"{what}: {why}; no trace was kept")
    if text:
        print(text, file=sys.stderr)
    _complete(output)


def _complete(recording: Path) -> None:
    """Add the results of one pass over a recording to its metadata; they are optional."""
    contents = _contents_of(recording)
    if contents.is_file():
        with _noted(
            "compare persistent memory with the recording",
            "whether it contains all stores to persistent memory",
        ):
            _core.store_unrecorded(recording, contents)
        contents.unlink()
    with _noted("find races", "which accesses race, so each use of it finds them again"):
        _core.store_races(recording)


@contextlib.contextmanager
def _noted(task: str, missing: str) -> Iterator[None]:
    """If the task fails, print what the recording lacks."""
    try:
        yield
    except (Error, MemoryError) as error:
        why = str(error) or f"there is not enough memory to {task}"
        print(
            f"pmemsim: note: {why}; the recording is complete, but lacks the information {missing}",
            file=sys.stderr,
        )


@dataclass(frozen=True)
class Build:
    """A workload's program for recording, with everything that its code depends on.

    Recordings that differ in arguments of the program have the same one.
    """

    workload: str
    opt: str = "O2"
    log: str = LOGS[0]
    hints: str = HINTS[0]
    compute_instructions: int = 0

    @classmethod
    def of(cls, run: WorkloadRun) -> Build:
        """Return the program of a recording."""
        return cls(run.workload, run.opt, run.log, run.hints, run.compute_instructions)

    @property
    def label(self) -> str:
        """Describe the program, for progress."""
        other = [f"{self.log} log"] if self.log != LOGS[0] else []
        other += [f"hints {self.hints}"] if self.hints != HINTS[0] else []
        return ", ".join([f"{self.workload} {self.opt}", *other])

    @property
    def program(self) -> Path:
        """Return the program's path in the cache folder."""
        return self._folder(self.opt) / self.workload

    def make(self, keep_going: KeepGoing | None = None) -> Path:
        """Compile the program, unless that was done earlier, and return its path."""
        program = self.program
        if program.is_file():
            return program
        library = self.opt.partition("+")[2]
        link = [*self._compiler, *([f"--pm-library={library}"] if library else [])]
        with _made_once(program) as fresh:
            if fresh is not None:
                objects = self._objects(keep_going)
                self._run_compiler([*link, *objects, "-o", str(fresh)], keep_going)
        return program

    @property
    def _level(self) -> str:
        """The program's own optimisation level, without that of pm.h's library."""
        return self.opt.partition("+")[0]

    @property
    def _compiler(self) -> list[str]:
        """The compiler with the options that decide which library is linked, too."""
        command = _compiler_of(self._level)
        return [*command, "-DPM_REDO_LOG"] if self.log == "redo" else command

    def _folder(self, opt: str) -> Path:
        """Return the folder of programs or objects with this optimisation level."""
        version = find_workload(self.workload).version
        own = f"-{version[:16]}" if version else ""
        own += f"-compute{self.compute_instructions}" if self.compute_instructions else ""
        return _built(f"{opt}-{self.log}-{hints_name(self.hints)}{own}")

    def _objects(self, keep_going: KeepGoing | None) -> list[str]:
        """Compile the sources, which is done once for all levels of pm.h's library."""
        command = [*self._compiler, "-c"]
        if self.hints != "manual":
            command.append("-DWORKLOAD_WITHOUT_HINTS")
        if self.hints == "auto":
            command.append("--janus-auto")
        elif self.hints not in HINTS:
            command.append(f"--janus-profile={self.hints}")
        if self.compute_instructions:
            command.append(f"-DWORKLOAD_COMPUTE_INSTRUCTIONS={self.compute_instructions}")
            command += ["-include", str(_common() / "compute.hpp")]
        # The headers don't depend on the recording's hints or log.
        headers = _precompiled_once(self._level, _built(self._level), keep_going)
        command += ["-include-pch", str(headers)]
        objects = []
        for source in find_workload(self.workload).sources:
            compiled = self._folder(self._level) / f"{self.workload}-{source.stem}.o"
            with _made_once(compiled) as fresh:
                if fresh is not None:
                    self._run_compiler([*command, str(source), "-o", str(fresh)], keep_going)
            objects.append(str(compiled))
        return objects

    def _run_compiler(self, command: Sequence[str], keep_going: KeepGoing | None) -> None:
        _compile(command, f"{self.workload}: could not be built", keep_going)


def build_workload(name: str, opt: str = "O2") -> Path:
    """Build a workload for recording, or reuse an earlier build, and return the program's path."""
    return Build(name, opt).make()


def _built(variant: str) -> Path:
    """Return the folder of what is compiled in one way with this tool chain."""
    return cache_dir() / "programs" / f"{toolchain_hash()[:16]}-{variant}"


def _common() -> Path:
    """Return the folder of the workloads' headers."""
    return toolchain_dir() / "share" / "pmemsim" / "workloads" / "common"


def _compiler_of(level: str) -> list[str]:
    """Return the compiler with the options of each workload at this level."""
    share = toolchain_dir() / "share" / "pmemsim"
    return [
        str(compiler("pmemsim-c++")),
        f"-{level}",
        "-std=c++20",
        f"-I{_common()}",
        # A recording must not depend on the folder that pmemsim is installed in.
        f"-ffile-prefix-map={share}/=",
    ]


_precompiled: dict[Path, Path] = {}
_precompiling = threading.Lock()


def _precompiled_once(level: str, folder: Path, keep_going: KeepGoing | None) -> Path:
    """Return the workloads' precompiled headers; this process tests once whether they are current.

    Jobs of this process that need them at the same time make them once.
    """
    with _precompiling:
        known = _precompiled.get(folder)
        if known is None or not known.is_file():
            header = _common() / "standard.hpp"
            known = _precompiled[folder] = precompiled(
                header, _compiler_of(level), folder, keep_going
            )
        return known


def precompiled(
    header: Path, command: Sequence[str], folder: Path, keep_going: KeepGoing | None = None
) -> Path:
    """Return the path of the header, precompiled by this compiler, now or earlier."""
    folder.mkdir(parents=True, exist_ok=True)
    compiled = folder / f"{header.name}.pch"
    # The compiler tests whether the file is its own, and made of the system's current headers.
    check = ["-Xclang", "-fmodules-validate-system-headers", "-include-pch", str(compiled)]
    check += ["-fsyntax-only", "-x", "c++", os.devnull]
    with tempfile.TemporaryFile() as complaints:
        if _run([*command, *check], {}, keep_going, stderr=complaints) == 0:
            return compiled
    with _made_beside(compiled) as fresh:
        words = [*command, str(header), "-o", str(fresh)]
        _compile(words, f"{header.name}: could not be compiled", keep_going)
    return compiled


# Parts of what a compiler prints if a disk is full. LLVM then prints its own call stack, too.
_DISK_FULL = (b"No space left on device", b"IO failure on output stream")


def _compile(command: Sequence[str], failure: str, keep_going: KeepGoing | None) -> None:
    """Run a compiler, and show what it prints; a `RecordError` begins with `failure`."""
    with os.fdopen(os.memfd_create("pmemsim-compiler"), "w+b") as printed:
        status = _run(command, {}, keep_going, stderr=printed)
        printed.seek(0)
        messages = printed.read()
    if status != 0 and any(part in messages for part in _DISK_FULL):
        raise RecordError(
            f"{failure}: the disk of {cache_dir()} or {tempfile.gettempdir()} is full; free some "
            "space, or choose another disk with PMEMSIM_CACHE and TMPDIR"
        )
    sys.stderr.write(messages.decode(errors="replace"))
    if status != 0:
        raise RecordError(f"{failure} ({ending_of(status)})")


@contextlib.contextmanager
def _made_once(path: Path) -> Iterator[Path | None]:
    """Make a file as `_made_beside` does; the value is None if another process has made it.

    A missing folder is created. Other processes that need the file wait for it. On a file system
    without locks, each process makes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    with lock.open("w") as file, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        stack.callback(lock.unlink, missing_ok=True)
        yield None if path.is_file() else stack.enter_context(_made_beside(path))


@contextlib.contextmanager
def _made_beside(path: Path) -> Iterator[Path]:
    """Give a path for another program's output; the file then takes the place of `path`.

    The path is in a folder of its own, so that all files of a dying program are removed.
    """
    with temporary_folder(path.absolute().parent) as folder:
        fresh = folder / path.name
        yield fresh
        fresh.replace(path)


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    keep_going: KeepGoing | None,
    stdout: int | None = None,
    stderr: IO[bytes] | None = None,
) -> int:
    try:
        return run_program(
            command,
            keep_going,
            environment={**environment, "PMEMSIM_RECORDER": str(os.getpid())},
            stdout=stdout,
            stderr=stderr,
        )
    except OSError as error:
        cure = "; name a program, or a script that begins with #!"
        raise RecordError(
            f"{command[0]}: could not be run: {error.strerror}"
            + (cure if error.errno == errno.ENOEXEC else "")
        ) from error


def check_pm_path(path: Path) -> None:
    """Raise an `Error` if the runtime can't accept this folder."""
    if not path.is_dir():
        raise Error(f"--pm-path {path}: no such folder")
    if ":" in str(path.absolute()):  # a colon separates folders in the environment
        raise Error(
            f"--pm-path {path}: the path contains a colon; rename the folder, or create a "
            "link to it"
        )


def check_range(text: str) -> str:
    """Return `LO:HI` as the runtime takes it; an `Error` says what is wrong with it."""
    low, colon, high = text.partition(":")
    try:
        begin, end = int(low, 16), int(high, 16)
    except ValueError:
        colon, begin, end = "", 0, 0
    if not colon or not 0 <= begin < end < 1 << 64:
        raise Error(f"--pm-range {text}: must be LO:HI in hexadecimal, as in 0x10000000:0x20000000")
    return f"{begin:#x}:{end:#x}"


def check_hold(text: str) -> None:
    """Raise an `Error` if the text names no thread and operation."""
    if not re.fullmatch(r"[0-9]{1,9}:[0-9]{1,18}", text):
        raise Error(
            f"--hold {text}: must be a thread and one of its operations, as `pmemsim check` prints "
            "them: 2:57"
        )


def check_hint(text: str) -> str:
    """Return a page's address as the runtime takes it; an `Error` says what is wrong with it."""
    try:
        address = int(text, 16)
    except ValueError:
        address = 0
    if not 0 < address < 1 << 47 or address % 4096:
        raise Error(
            f"--pm-hint {text}: must be the hexadecimal address that the program passes to mmap, "
            "a multiple of 0x1000, as in 0x10000000000"
        )
    return f"{address:#x}"
