"""Read recordings in Python: metadata, NumPy structured arrays, pandas frames."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmemsim import _core
from pmemsim.arguments import is_whole, plain
from pmemsim.errors import Error, did_you_mean
from pmemsim.installation import examples
from pmemsim.workload_runs import workloads

# Loading these modules takes as long as the rest of a short command.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

# Names by the numbers in the arrays.
_NAMES = _core.names()
KINDS = _NAMES["kind"]
PURPOSES = _NAMES["purpose"]
DETAILS = {kind: _NAMES[kind] for kind in KINDS if kind in _NAMES}

Place = _core.Place

CHAMPSIM, PMEMCHECK = "ChampSim", "pmemcheck"
"""Tools whose files can be imported; the metadata of such a recording name the tool."""

# The NumPy type of an operation.
OPERATION_DTYPE = [
    ("address", "<u8"),  # for a mark, its first word
    ("second", "<u8"),  # for a mark, its second word
    ("value_offset", "<u8"),  # where the stored bytes begin in Operations.values
    ("site", "<u4"),  # index into Trace.sites
    ("instructions", "<u4"),  # machine instructions, this one included
    ("object", "<u4"),  # synchronisation object, and its version
    ("version", "<u4"),
    ("kind", "u1"),  # index into KINDS
    ("detail", "u1"),  # index into DETAILS of the kind
    ("size", "u1"),  # bytes
    ("purpose", "u1"),  # index into PURPOSES
    ("flag", "u1"),  # branch: taken; atomic update: it wrote; lock: annotated
    ("has_value", "u1"),
    ("unused", "V2"),
]

# The NumPy type of a turn.
TURN_DTYPE = [("end", "<u8"), ("thread", "<u4"), ("unused", "V4")]


@dataclass(frozen=True)
class Operations:
    """A range of one thread's operations, in program order."""

    records: npt.NDArray[Any]
    """Structured array of `OPERATION_DTYPE`."""
    values: npt.NDArray[np.uint8]
    """The stored bytes; those of a record begin at its `value_offset`."""

    def value(self, index: int) -> bytes:
        """Return the bytes that operation `index` has stored (empty if it stores none)."""
        record = self.records[index]
        if not record["has_value"]:
            return b""
        begin = int(record["value_offset"])
        return self.values[begin : begin + int(record["size"])].tobytes()


def _named(codes: npt.NDArray[Any], names: Sequence[str]) -> pd.Categorical[Any]:
    import pandas as pd

    return pd.Categorical.from_codes(codes.astype("i1"), categories=pd.Index(names))


EXAMPLE = "example:"
"""What names of recordings begin with that the package carries."""


def recording_path(name: str | Path) -> Path:
    """Return the path of a recording: a file's own, or that of `example:NAME`.

    Raises `Error` if it doesn't exist.
    """
    text = str(name)
    if text.startswith(EXAMPLE):
        known = {f"{EXAMPLE}{each}": path for each, path in examples().items()}
        if text not in known:
            raise Error(f"pmemsim carries no recording {text}{did_you_mean(text, known)}")
        return known[text]
    path = Path(name)
    if path.is_dir():
        raise Error(f"{path}: this is a folder; name a trace (.pmt)")
    if not path.exists():
        raise Error(f"{path}: no such trace; {_how_to_record(path)}")
    if not path.is_file():
        raise Error(f"{path}: this is not a regular file; copy the trace to one")
    return path


def _how_to_record(path: Path) -> str:
    with contextlib.suppress(Error):  # an installation without workloads
        if str(path) in workloads():
            return (
                f"it is the name of a workload; to record that, run: pmemsim record {path} -o "
                f"{path}.pmt"
            )
    return f"to record a program, run: pmemsim record -o {path.with_suffix('.pmt')} -- PROGRAM"


class Trace:
    """A recording (`.pmt`). Opening it checks its structure; operations stream from the file.

    Args:
        path: The recording's file.

    Raises:
        TraceError: The file is damaged, or of another format; the text has the offset.

    Example:
        `pmemsim.Trace("queue.pmt").to_frame(thread=0)["kind"].value_counts()`
    """

    path: Path
    """The recording's file."""
    metadata: dict[str, Any]
    """What the recorder has noted: the workload, its arguments, the regions of PM, and so on."""

    def __init__(self, path: str | Path) -> None:
        self.path = recording_path(path)
        self.file = _core.TraceFile(str(self.path))
        self.metadata = json.loads(self.file.metadata_json)

    def __repr__(self) -> str:
        return f"<{self.name}, threads: {self.threads}, {self.path}>"

    def __reduce__(self) -> tuple[type[Trace], tuple[Path]]:
        """Pickle the path alone, for another process, which opens the recording again."""
        return Trace, (self.path,)

    @property
    def name(self) -> str:
        """Return the workload's name; for a program of the user's own, the program's.

        The name includes the schedule, unless that is the first.
        """
        name = str(self.metadata.get("workload") or Path(self.metadata["program"]).name)
        return f"{name} (schedule {self.schedule})" if self.schedule else name

    @property
    def schedule(self) -> int:
        """Return the number of the threads' interleaving; 0: the recorder's own."""
        return int(self.metadata.get("schedule", 0))

    @property
    def seed(self) -> int:
        """Return the workload's seed; for another program, the seed of its schedule, or 0."""
        return int(self.metadata.get("seed", self.metadata.get("schedule_seed", 0)))

    @property
    def hash(self) -> str:
        """Return the recording's hash, 16 hexadecimal digits."""
        return self.file.hash

    @property
    def threads(self) -> int:
        """Return the number of recorded threads."""
        return self.file.threads

    def operation_count(self, thread: int) -> int:
        """Return the number of a thread's operations."""
        self._check(thread)
        return self.file.operation_count(thread)

    @property
    def sites(self) -> pd.DataFrame:
        """Return the recorded instructions: kind, width, source file, function and line."""
        import pandas as pd

        frame = pd.DataFrame([site.to_dict() for site in self.file.sites()])
        frame.index.name = "site"
        frame["kind"] = _named(frame["kind"].to_numpy(), KINDS)
        return frame

    def operations(self, thread: int) -> Iterator[Operations]:
        """Yield a thread's operations, at most 65536 at a time."""
        self._check(thread)
        chunks = self.file.operations(thread)
        while (chunk := chunks.next()) is not None:
            records, values = chunk
            yield Operations(records.view(OPERATION_DTYPE), values)

    def to_frame(self, thread: int) -> pd.DataFrame:
        """Return all operations of a thread as a pandas frame, with names for kinds and purposes.

        The whole thread is held in memory (about 50 bytes an operation).
        """
        import numpy as np
        import pandas as pd

        parts = [chunk.records for chunk in self.operations(thread)]
        records = np.concatenate(parts) if parts else np.empty(0, OPERATION_DTYPE)
        dropped = ("value_offset", "has_value", "unused")
        columns: dict[str, Any] = {
            name: records[name] for name in records.dtype.names or () if name not in dropped
        }
        columns["kind"] = _named(records["kind"], KINDS)
        columns["purpose"] = _named(records["purpose"], PURPOSES)
        columns["flag"] = records["flag"].astype(bool)
        return pd.DataFrame(columns)

    @property
    def has_turns(self) -> bool:
        """Return whether the recording has the order in which the threads ran."""
        return self.file.has_turns

    def turns(self) -> npt.NDArray[Any]:
        """Return the order in which the threads ran, as a structured array of `TURN_DTYPE`.

        Each turn belongs to `thread`, and lasts until that thread has executed its first `end`
        operations. The array is empty if no turns are recorded: there is one thread, or the
        recording is old.
        """
        return self.file.turns().view(TURN_DTYPE)

    def summary(self) -> dict[str, Any]:
        """Read all and return the summary: counts, traffic, uninstrumented share."""
        summary: dict[str, Any] = json.loads(self.file.summary_json())
        return summary

    def verify(self) -> list[str]:
        """Check every frame and record, and that the threads' synchronisation can complete.

        Raises `TraceError` at the first error; returns warnings.
        """
        return self.file.verify().notes

    def require_values(self) -> None:
        """Raise an `Error` if the recording lacks the stored values, flushes and threads."""
        if self.metadata.get("imported") == CHAMPSIM:
            raise Error(
                f"{self.path}: the recording was imported from ChampSim, whose traces have no "
                "stored values, flushes or threads, so only times can be simulated; to check the "
                "program, record it with `pmemsim record`"
            )

    def dump(self, thread: int, first: int, count: int, descriptor: int) -> None:
        """Write a thread's operations as text, one a line, to a file descriptor."""
        self._check(thread)
        self.file.dump(thread, first, count, descriptor)

    def _check(self, thread: int) -> None:
        if not is_whole(plain(thread)) or not 0 <= thread < self.threads:
            raise Error(
                f"{self.path}: there is no thread {thread!r}, only threads 0 to {self.threads - 1}"
            )
