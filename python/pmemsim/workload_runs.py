"""List pmemsim's own workloads and their recordings, which are made once and kept."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pmemsim.arguments import is_whole, names_of_parameters, plain
from pmemsim.errors import ConfigError, Error, did_you_mean
from pmemsim.files import OWN_YAML, cache_dir
from pmemsim.plugins import folders
from pmemsim.toolchain import toolchain_dir

OPTIMISATIONS = ("O0", "O1", "O2", "O3")
LIBRARY_OPTIMISATIONS = ("O0", "O2")
"""Levels of the built pm.h library; it has the program's level unless `O0+O2` selects another."""
MIXES = ("insert-update", "insert", "read-update", "insert-delete", "pmweaver", "sections")
LOGS = ("undo", "redo")
HINTS = ("manual", "auto", "none")
"""Sources of pre-execution hints: the workload's source, the compiler, or none.

The value may also be the path of a profile, which names source lines that get hints
(`pmemsim lint-hints --profile`).
"""
Argument = int | float | str | None
"""Argument of a workload; None: not given."""
NAMES = {"mix": MIXES, "log": LOGS}
# Arguments of the programs (workloads/common/workload.hpp).
WHOLE_NUMBERS = {
    "threads": range(1, 127 + 1),
    "regions": range(1, 2**32 + 1),
    "warm_up": range(2**32 + 1),
    "data_bytes": range(8, 8192 + 1, 8),
    "seed": range(2**64),
    "items": range(2, 2**28 + 1),
    "compute_instructions": range(1_000_000 + 1),
    "schedule": range(2**32),
}


@dataclass(frozen=True)
class Workload:
    """A program of the folder workloads/."""

    name: str
    summary: str
    sources: tuple[Path, ...]
    arguments: dict[str, int]
    """The defaults of a recording: threads, regions, data_bytes, seed, duplicate_ratio. A workload
    without `data_bytes` has sizes of its own."""
    papers: tuple[str, ...]
    """Papers whose authors measure it."""
    data_multiple: int
    """Number of items that share `data_bytes`, which must be a multiple of it."""
    least_data_bytes: int = 64
    mixes: tuple[str, ...] = ()
    """Values of `mix` that the workload accepts in addition to insert-update."""
    logs: tuple[str, ...] = LOGS[:1]
    """Software logs with which it can be built."""
    atomic_regions: bool = True
    """Whether it runs atomic regions (`pm_begin`)."""
    version: str = ""
    """Hash of the source, for a workload of the user's own."""


@dataclass(frozen=True)
class WorkloadRun:
    """A workload with everything that determines its recording; `WorkloadRun.of` makes it.

    Raises:
        ConfigError: There is no such workload, or a value is impossible; the exception lists all
            errors.

    Example:
        `pmemsim.WorkloadRun.of("queue", threads=2, regions=50).arguments`
    """

    workload: str
    """The workload's name."""
    opt: str
    """Optimisation level: O0, O1, O2 or O3; of the program and of pm.h's library: O0+O2."""
    threads: int
    """Number of threads."""
    regions: int
    """Atomic regions in the measured part."""
    seed: int
    """Seed of the random numbers."""
    data_bytes: int | None = None
    """Size of one datum, in bytes; None if the workload's rules fix it."""
    duplicate_ratio: float = 0.0
    """Share of the data's lines with contents that many other lines also have."""
    items: int | None = None
    """Number of data items before the measured part; None: the workload's default."""
    mix: str | None = None
    """Operations of a map's regions: one of `MIXES`; None: insert and update."""
    warm_up: int = 0
    """Regions before the measured part, which warm up the caches."""
    compute_instructions: int = 0
    """Instructions that each region executes in addition, without any access to PM."""
    log: str = LOGS[0]
    """Software log of its library: one of `LOGS`."""
    hints: str = HINTS[0]
    """Source of its program's pre-execution hints: one of `HINTS`, or a profile's path."""
    whole_run: bool = False
    """Whether the set-up and the warm-up are part of what is recorded and measured."""
    schedule: int = 0
    """Number of the interleaving of its threads among those of its seed; 0: the recorder's own."""

    def __post_init__(self) -> None:
        workload = find_workload(self.workload)
        taken = workload.arguments
        problems = argument_problems(
            opt=self.opt,
            threads=self.threads,
            regions=self.regions,
            data_bytes=self.data_bytes,
            seed=self.seed,
            duplicate_ratio=self.duplicate_ratio,
            items=self.items,
            mix=self.mix,
            warm_up=self.warm_up,
            compute_instructions=self.compute_instructions,
            log=self.log,
            hints=self.hints,
            whole_run=self.whole_run,
            schedule=self.schedule,
        )
        if not problems and self.mix and self.mix not in (MIXES[0], *workload.mixes):
            mixes = ", ".join((MIXES[0], *workload.mixes))
            has = f"{mixes}; choose one" if workload.mixes else "only one mix; remove --mix"
            problems.append(f"--mix {self.mix}: {self.workload} has {has}")
        if not problems and self.log not in workload.logs:
            both = ", ".join(name for name, other in workloads().items() if self.log in other.logs)
            problems.append(
                f"--log {self.log}: {self.workload} stores to its data directly, which requires "
                f"an undo log; workloads with a redo log: {both}"
            )
        if "data_bytes" not in taken and self.data_bytes is not None:
            problems.append(
                f"--data-bytes: the data of {self.workload} have fixed sizes; remove the option"
            )
        if not problems and self.data_bytes and self.data_bytes % workload.data_multiple != 0:
            problems.append(
                f"--data-bytes {self.data_bytes}: {self.workload} requires a multiple of "
                f"{workload.data_multiple}"
            )
        if not problems and self.data_bytes and self.data_bytes < workload.least_data_bytes:
            problems.append(
                f"--data-bytes {self.data_bytes}: {self.workload} requires at least "
                f"{workload.least_data_bytes}"
            )
        if self.compute_instructions and not workload.atomic_regions:
            problems.append(
                f"--compute-instructions: {self.workload} has no atomic regions; remove the option"
            )
        if problems:
            raise ConfigError(problems)

    @classmethod
    def of(cls, workload: str, *, opt: str | None = None, **arguments: Argument) -> WorkloadRun:
        """Return a workload with its defaults, except for the given values (threads, regions, ...).

        Raises `ConfigError` with everything that is wrong: a workload or values that do not exist.
        """
        known = [name for name in cls.__annotations__ if name != "workload"]
        with names_of_parameters({}):
            if unknown := [name for name in arguments if name not in known]:
                raise ConfigError(
                    f"unknown argument '{name}'{did_you_mean(name, known)}" for name in unknown
                )
            given: dict[str, Any] = {name: plain(value) for name, value in arguments.items()}
            return workload_run(workload, opt=opt, **given)

    @property
    def arguments(self) -> list[str]:
        """Return the workload's command-line arguments."""
        arguments = {"threads": self.threads, "regions": self.regions, "seed": self.seed}
        if self.data_bytes is not None:
            arguments["data-bytes"] = self.data_bytes
        listed = [f"--{key}={value}" for key, value in arguments.items()]
        if self.duplicate_ratio:
            listed.append(f"--duplicate-ratio={self.duplicate_ratio}")
        if self.items is not None:
            listed.append(f"--items={self.items}")
        if self.mix is not None and self.mix != MIXES[0]:
            listed.append(f"--mix={self.mix}")
        if self.warm_up:
            listed.append(f"--warm-up={self.warm_up}")
        if self.whole_run:
            listed.append("--whole-run")
        return listed

    @property
    def cached_trace(self) -> Path:
        """Return the recording's path; its name covers everything that its contents depend on.

        These are the sources, the tools, the arguments, and the turns that threads take.
        """
        parts: tuple[Any, ...] = (
            *(toolchain_hash(), self.opt, self.log, hints_name(self.hints)),
            self.arguments,
        )
        if version := find_workload(self.workload).version:
            parts = (*parts, version)
        if self.compute_instructions:
            parts = (*parts, f"compute {self.compute_instructions}")
        if turns := os.environ.get("PMEMSIM_QUANTUM"):
            parts = (*parts, turns)
        if self.schedule:
            parts = (*parts, f"schedule {self.schedule}")
        key = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return cache_dir() / "traces" / f"{self.workload}-{key}.pmt"


def workload_run(workload: str, *, opt: str | None = None, **arguments: Argument) -> WorkloadRun:
    """Do the same as `WorkloadRun.of`; errors name the options of commands."""
    if workload not in workloads():
        raise ConfigError([unknown_workload(workload), *argument_problems(opt, **arguments)])
    values: dict[str, Any] = dict(find_workload(workload).arguments)
    values |= {key: value for key, value in arguments.items() if value is not None}
    return WorkloadRun(workload, "O2" if opt is None else opt, **values)


def hints_name(hints: str) -> str:
    """Return one of `HINTS`, or a name of the profile's contents."""
    if hints in HINTS:
        return hints
    try:
        contents = Path(hints).read_bytes()
    except OSError as error:
        raise Error(f"{hints}: could not be read: {error.strerror}") from error
    return f"profile-{hashlib.sha256(contents).hexdigest()[:16]}"


@cache
def workloads() -> dict[str, Workload]:
    """Return all workloads by name, in workloads.yaml's order, then those of the user's folders."""
    folder = toolchain_dir() / "share" / "pmemsim" / "workloads"
    catalogue = folder / "workloads.yaml"
    if not catalogue.is_file():
        raise Error(
            f"this installation has no workloads ({catalogue} is missing); install it again"
        )
    text = catalogue.read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.load(text, OWN_YAML)["workloads"]
    found = {entry["name"]: _workload(entry, folder) for entry in entries}
    for path in (path for each in folders() for path in sorted((each / "workloads").glob("*.cpp"))):
        if path.stem in found:
            raise Error(
                f"{path}: a workload with the name {path.stem} already exists; rename the file"
            )
        found[path.stem] = _own_workload(path)
    return found


def _workload(entry: dict[str, Any], folder: Path, version: str = "") -> Workload:
    return Workload(
        entry["name"],
        entry["summary"],
        tuple(folder / source for source in entry["sources"]),
        {key.replace("-", "_"): value for key, value in entry["arguments"].items()},
        tuple(entry.get("papers", ())),
        entry.get("data-multiple", WHOLE_NUMBERS["data_bytes"].step),
        entry.get("least-data-bytes", Workload.least_data_bytes),
        tuple(entry.get("mixes", ())),
        tuple(entry.get("logs", LOGS[:1])),
        entry.get("atomic-regions", True),
        version,
    )


_DESCRIPTION = re.compile(r"/\* pmemsim workload\n(.*?)\*/", re.DOTALL)
_REQUIRED = {"summary", "arguments"}
_OPTIONAL = {"data-multiple", "least-data-bytes", "mixes", "logs", "atomic-regions"}


def _own_workload(path: Path) -> Workload:
    """Read a user's own workload: a source with its entry of workloads.yaml as first comment."""
    text = path.read_text(encoding="utf-8", errors="replace")
    match = _DESCRIPTION.search(text)
    if match is None:
        raise Error(
            f"{path}: the description is missing; begin the file with a comment '/* pmemsim "
            "workload', whose next lines are 'summary: TEXT' and 'arguments: {threads: 4, "
            "regions: 1000, seed: 1}'"
        )
    try:
        entry = yaml.safe_load(match[1])
        problem = _problem_of(entry)
    except yaml.YAMLError as error:
        problem = f"its first comment is not YAML: {' '.join(str(error).split())}"
    if problem:
        raise Error(f"{path}: {problem}")
    entry |= {"name": path.stem, "sources": [path.name]}
    return _workload(entry, path.parent, hashlib.sha256(text.encode()).hexdigest())


def _problem_of(entry: object) -> str:
    """Return what is wrong with the description of a workload; empty if nothing is."""
    if not isinstance(entry, dict) or not entry.keys() >= _REQUIRED:
        return f"its first comment must have the keys {', '.join(sorted(_REQUIRED))}"
    if unknown := entry.keys() - _REQUIRED - _OPTIONAL:
        (first, *_) = sorted(map(str, unknown))
        return f"unknown key '{first}'" + did_you_mean(first, _REQUIRED | _OPTIONAL)
    arguments = entry["arguments"]
    needed = {"threads", "regions", "seed"}
    if not isinstance(arguments, dict) or not arguments.keys() >= needed:
        return f"its arguments must have the keys {', '.join(sorted(needed))}"
    known = {key.replace("_", "-") for key in WHOLE_NUMBERS} | {"duplicate-ratio"}
    if unknown := arguments.keys() - known:
        return f"unknown argument '{min(unknown)}'" + did_you_mean(min(unknown), known)
    problems = argument_problems(**{key.replace("-", "_"): arguments[key] for key in arguments})
    return "; ".join(problems)


def find_workload(name: str) -> Workload:
    """Return the workload of that name; an `Error` suggests one if there is none."""
    if name not in workloads():
        raise Error(unknown_workload(name))
    return workloads()[name]


def unknown_workload(name: str) -> str:
    """Return the problem that there is no workload of that name, with a suggestion."""
    return f"unknown workload '{name}'" + did_you_mean(name, workloads())


def _is_level(opt: str) -> bool:
    program, joined, library = opt.partition("+")
    return program in OPTIMISATIONS and (not joined or library in LIBRARY_OPTIMISATIONS)


def argument_problems(opt: str | None = None, **arguments: Argument) -> list[str]:
    """Return problems of arguments (None: not given), whatever workload they are for."""
    problems = []
    if opt is not None and not _is_level(opt):
        problems.append(
            f"--opt {opt}: must be one of {', '.join(OPTIMISATIONS)}, or one for the program and "
            "one for its pm library (O0 or O2), as in O0+O2"
        )
    for key, value in arguments.items():
        given = f"--{key.replace('_', '-')} {value}"
        if value is None:
            continue
        if key in NAMES:
            if value not in NAMES[key]:
                problems.append(f"{given}: must be one of {', '.join(NAMES[key])}")
            continue
        if key == "hints":
            if value not in HINTS and not Path(str(value)).is_file():
                problems.append(
                    f"{given}: must be one of {', '.join(HINTS)}, or a file that `pmemsim "
                    "lint-hints --profile` wrote"
                )
            continue
        if key == "whole_run":
            continue
        if key == "duplicate_ratio":
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                problems.append(f"--duplicate-ratio {value!r}: must be a number from 0 to 1")
            continue
        legal = WHOLE_NUMBERS[key]
        if not is_whole(value):
            problems.append(f"--{key.replace('_', '-')} {value!r}: must be a whole number")
        elif value not in legal:
            multiple = f", a multiple of {legal.step}" if legal.step > 1 else ""
            problems.append(f"{given}: must be {legal[0]} to {legal[-1]}{multiple}")
    return problems


@cache
def toolchain_hash() -> str:
    """Identify the pass, the runtime, the library and the workloads' sources."""
    digest = hashlib.sha256()
    root = toolchain_dir()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()
