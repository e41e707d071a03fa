"""pmemsim's own workloads: what there is, and recordings of them, made once and kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pmemsim.errors import Error, did_you_mean
from pmemsim.files import cache_dir
from pmemsim.toolchain import toolchain_dir

OPTIMISATIONS = ("O0", "O1", "O2", "O3")
DATA_BYTES = range(64, 8192 + 1)


@dataclass(frozen=True)
class Workload:
    """One program of the folder workloads/."""

    name: str
    summary: str
    sources: tuple[Path, ...]
    arguments: dict[str, int]
    """The defaults of a recording: threads, regions, data_bytes, seed."""


@dataclass(frozen=True)
class WorkloadRun:
    """A workload with everything that determines its recording."""

    workload: str
    opt: str
    """Optimisation level: O0, O1, O2 or O3."""
    threads: int
    regions: int
    """Atomic regions in the measured part."""
    data_bytes: int
    """Size of one datum, in bytes."""
    seed: int

    def __post_init__(self) -> None:
        find_workload(self.workload)
        if self.opt not in OPTIMISATIONS:
            raise Error(f"--opt {self.opt}: must be one of {', '.join(OPTIMISATIONS)}")
        if self.threads < 1:
            raise Error(f"--threads {self.threads}: must be at least 1")
        if self.regions < 1:
            raise Error(f"--regions {self.regions}: must be at least 1")
        if self.data_bytes not in DATA_BYTES or self.data_bytes % 8:
            raise Error(f"--data-bytes {self.data_bytes}: must be 64 to 8192, a multiple of 8")
        if self.seed < 0:
            raise Error(f"--seed {self.seed}: must not be negative")

    @classmethod
    def of(cls, workload: str, *, opt: str | None = None, **arguments: int | None) -> WorkloadRun:
        """A workload with its defaults, except for what is given (threads, regions, ...).

        Raises `Error` for a workload or a value that does not exist.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        return cls(workload, opt or "O2", **{**find_workload(workload).arguments, **given})

    @property
    def arguments(self) -> list[str]:
        """The workload's command-line arguments."""
        return [
            f"--threads={self.threads}",
            f"--regions={self.regions}",
            f"--data-bytes={self.data_bytes}",
            f"--seed={self.seed}",
        ]

    @property
    def cached_trace(self) -> Path:
        """Where the recording is kept; its name covers the sources, the tools and the arguments."""
        key = hashlib.sha256(
            repr((toolchain_hash(), self.opt, self.arguments)).encode()
        ).hexdigest()[:16]
        return cache_dir() / "traces" / f"{self.workload}-{key}.pmt"


@cache
def workloads() -> dict[str, Workload]:
    """All workloads by name, in the order of workloads.yaml."""
    folder = toolchain_dir() / "share" / "pmemsim" / "workloads"
    catalogue = folder / "workloads.yaml"
    if not catalogue.is_file():
        raise Error(
            f"this installation has no workloads ({catalogue} is missing); install it again"
        )
    entries: list[dict[str, Any]] = yaml.safe_load(catalogue.read_text(encoding="utf-8"))[
        "workloads"
    ]
    return {
        entry["name"]: Workload(
            entry["name"],
            entry["summary"],
            tuple(folder / source for source in entry["sources"]),
            {key.replace("-", "_"): value for key, value in entry["arguments"].items()},
        )
        for entry in entries
    }


def find_workload(name: str) -> Workload:
    """The workload of that name; an `Error` suggests one if there is none."""
    known = workloads()
    if name not in known:
        raise Error(f"unknown workload '{name}'" + did_you_mean(name, known))
    return known[name]


@cache
def toolchain_hash() -> str:
    """Identifies the pass, the runtime, the library and the workloads' sources."""
    digest = hashlib.sha256()
    root = toolchain_dir()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()
