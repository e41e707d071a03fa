"""Pack results with their recordings and configurations in one file, and simulate them again.

A pack is a ZIP file:

    manifest.json          the format, pmemsim's version, and each file's SHA-256; for each result
                           its simulations, with the values of all parameters
    results/N-NAME.json    the results, unchanged
    recordings/HASH.pmt    the recordings, by their hashes
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim.comparison import Comparison, design_label
from pmemsim.errors import Error, Problems
from pmemsim.files import cache_dir, replacing, temporary_folder
from pmemsim.installation import examples, version
from pmemsim.jobs import Outcome
from pmemsim.packed_names import speedups, wrong_axes, wrong_presets, wrong_workloads
from pmemsim.parallel import Report, run_all
from pmemsim.presets import Preset, Setting
from pmemsim.reproduction.metrics import METRICS
from pmemsim.results import Results
from pmemsim.simulation import Configuration, Result, simulate
from pmemsim.storage import Unknown, storage_of, total_bytes
from pmemsim.sweeping.points import configuration_of
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

COMMANDS = ("run", "compare", "sweep", "matrix", "reproduce")
"""Commands whose results can be packed."""
_FORMAT = 1
_MANIFEST = "manifest.json"
# The footer of a recording, whose third number is the recording's hash.
_FOOTER = struct.Struct("<QQQ8s")
_FOOTER_MAGIC = b"PMTEND\0\0"
_NOT_COMPARED = ("wall_s", "instructions_per_wall_s", "version", "configuration")
"""Keys that depend on the host or the version, and the configuration, which is packed."""
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError,
    AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError, struct.error,
)  # fmt: skip
_CURE = "pack the results again by `pmemsim pack`"


@dataclass(frozen=True)
class PackedRun:
    """A simulation of a result."""

    workload: str
    design: str
    machine: str
    trace_hash: str
    settings: Mapping[str, str]
    """The values of all parameters."""

    @property
    def label(self) -> str:
        """Return the run in words."""
        return f"{self.workload} on {self.design}, machine {self.machine}"

    def configuration(self) -> Configuration:
        """Return the run's configuration, which depends on no preset."""
        settings = tuple(Setting(key, value, "pack") for key, value in self.settings.items())
        machine = Preset("machine", self.machine, "", "", settings)
        return Configuration(Preset("design", self.design, "", "", ()), machine)


@dataclass(frozen=True)
class PackedResult:
    """The results of a command, with their simulations."""

    name: str
    """The name of the results' file."""
    document: Mapping[str, Any]
    runs: tuple[PackedRun, ...]

    @property
    def command(self) -> str:
        """Return the command that wrote the results."""
        return str(self.document["command"])


def check_recordings(paths: Iterable[Path], problems: Problems) -> None:
    """Add the files and folders of recordings that don't exist."""
    problems.add(
        f"--recordings {path}: no such file or folder; name a recording, or a folder of recordings"
        for path in paths
        if not path.exists()
    )


# ---- Pack ----------------------------------------------------------------------------------------


def pack(
    results: Sequence[Path],
    output: Path,
    recordings: Sequence[Path] = (),
    names: Sequence[str] | None = None,
) -> int:
    """Write a pack of results, and return the number of its recordings.

    `names` are the results' names in errors; by default their paths.
    Recordings are found by their hashes: among `recordings` (files and folders), beside the
    results, and among those that pmemsim keeps of workloads. Raises a `ConfigError` that names each
    wrong result and each missing recording.
    """
    problems = Problems()
    read = []
    for path, name in zip(results, names or map(str, results), strict=True):
        with problems.collected():
            read.append(_read_result(path, name))
    problems.raise_any()
    wanted = {run.trace_hash: (each, run) for each in read for run in each.runs}
    named = (Path(run.workload) for each in read for run in each.runs)
    places = [
        *recordings,
        *(path for path in named if path.suffix == ".pmt"),
        *(trace for path in results for trace in sorted(path.resolve().parent.glob("*.pmt"))),
        *examples().values(),
        cache_dir() / "traces",
    ]
    found = _find(set(wanted), places)
    problems.add(
        f"{each.name}: the recording of {run.workload} with the hash {run.trace_hash} was not "
        "found; name its file or folder with --recordings"
        for hash_, (each, run) in wanted.items()
        if hash_ not in found
    )
    problems.raise_any()
    with replacing(output) as partial, zipfile.ZipFile(partial, "w") as archive:
        sums = {}
        for number, (each, path) in enumerate(zip(read, results, strict=True)):
            sums[_result_entry(number, each.name)] = _add(
                archive, _result_entry(number, each.name), path.read_bytes()
            )
        for hash_, path in sorted(found.items()):
            sums[_recording_entry(hash_)] = _add_file(archive, _recording_entry(hash_), path)
        manifest = {
            "format": _FORMAT,
            "version": version(),
            "sha256": sums,
            "results": [
                {"name": each.name, "runs": [vars(run) for run in each.runs]} for each in read
            ],
        }
        _add(archive, _MANIFEST, json.dumps(manifest, indent=1).encode())
    return len(found)


def _result_entry(number: int, name: str) -> str:
    return f"results/{number}-{name}"


def _recording_entry(hash_: str) -> str:
    return f"recordings/{hash_}.pmt"


def _entry(name: str) -> zipfile.ZipInfo:
    # Without the time, the same results give the same pack.
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> str:
    archive.writestr(_entry(name), content, zipfile.ZIP_DEFLATED)
    return hashlib.sha256(content).hexdigest()


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """Add a recording, which is compressed already."""
    with path.open("rb") as file, archive.open(_entry(name), "w", force_zip64=True) as entry:
        shutil.copyfileobj(file, entry)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_result(path: Path, name: str) -> PackedResult:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise Error(f"{name}: {error.strerror}; name a file that --json has written") from error
    except (ValueError, RecursionError) as error:
        raise Error(f"{name}: the file is not JSON; name a file that --json has written") from error
    command = document.get("command") if isinstance(document, dict) else None
    if command not in COMMANDS:
        raise Error(
            f"{name}: the file has no results of {', '.join(COMMANDS)}, which can be simulated "
            "again; name a file that --json of these commands has written"
        )
    try:
        runs = tuple(_runs_of(document))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Error(
            f"{name}: the results do not match results.schema.json of this version "
            f"({_reason(error)}); run the command again"
        ) from error
    if not runs:
        raise Error(f"{name}: the results have no simulation")
    return PackedResult(path.name, document, runs)


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _runs_of(document: Mapping[str, Any]) -> Iterator[PackedRun]:
    """Yield the simulations of a command's results."""
    command = document["command"]
    if command == "sweep":
        for point in _measured_points(document):
            yield _run_of_point(point, document["units"])
    elif command == "matrix":
        for cell in _simulated_cells(document):
            yield _packed_run({**cell, "settings": _values(_configuration_of(cell, document))})
    elif command == "reproduce":
        for value in _simulated_values(document):
            configuration = document["configurations"][value["configuration"]]
            yield _packed_run({**value, "settings": _values(configuration)})
    else:
        for run in [document] if command == "run" else document["runs"]:
            yield _packed_run({**run, "settings": _values(run["configuration"])})


def _values(configuration: Mapping[str, Any]) -> dict[str, str]:
    return {key: each["value"] for key, each in configuration.items()}


def _simulations_of(document: Mapping[str, Any]) -> int:
    command = document["command"]
    if command == "sweep":
        return len(_measured_points(document))
    if command == "matrix":
        return len(_simulated_cells(document))
    if command == "reproduce":
        return len(_simulated_values(document))
    return 1 if command == "run" else len(document["runs"])


def _measured_points(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for number, point in enumerate(document["points"]):
        if (point["status"] == "ok") == (point["time_ns"] is None):
            time = "no time" if point["status"] == "ok" else "a time"
            raise ValueError(f"point {number} has the status {point['status']}, but {time}")
    return [point for point in document["points"] if point["status"] == "ok"]


def _simulated_cells(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a matrix's cells with a simulation, then the baseline's that aren't among them."""
    cells = [cell for cell in document["cells"] if cell["trace_hash"]]
    baseline = document["baseline"]
    known = {cell["trace_hash"] for cell in cells if cell["design"] == baseline}
    lacking = {cell["trace_hash"]: cell for cell in cells if cell["speedup"] is not None}
    return cells + [
        {**cell, "design": baseline} for hash_, cell in lacking.items() if hash_ not in known
    ]


def _configuration_of(cell: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document["configurations"][cell["design"]]
    return found


def _simulated_values(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the values of papers' experiments that have a simulation, each simulation once."""
    found = {
        (value["trace_hash"], value["configuration"]): value
        for value in reversed(document["values"])
        if value["configuration"] is not None
    }
    return list(reversed(found.values()))


def _packed_run(packed: Mapping[str, Any]) -> PackedRun:
    return PackedRun(
        workload=str(packed["workload"]),
        design=str(packed["design"]),
        machine=str(packed["machine"]),
        trace_hash=str(packed["trace_hash"]),
        settings={str(key): str(value) for key, value in packed["settings"].items()},
    )


def _run_of_point(point: Mapping[str, Any], units: Mapping[str, str]) -> PackedRun:
    configuration = configuration_of(point, units)
    return PackedRun(
        str(point["axes"]["workload"]),
        configuration.design.name,
        configuration.machine.name,
        str(point["trace_hash"]),
        dict(configuration.values),
    )


def _find(hashes: set[str], places: Iterable[Path]) -> dict[str, Path]:
    """Return the files of the recordings with these hashes."""
    found: dict[str, Path] = {}
    for place in places:
        if hashes <= found.keys():
            break
        for path in sorted(place.rglob("*.pmt")) if place.is_dir() else [place]:
            hash_ = _hash_of(path)
            if hash_ in hashes:
                found.setdefault(hash_, path)
    return found


def _hash_of(path: Path) -> str:
    """Return the hash in a recording's footer; empty if the file has none."""
    try:
        with path.open("rb") as file:
            file.seek(-_FOOTER.size, 2)
            *_, number, magic = _FOOTER.unpack(file.read())
    except (OSError, struct.error):
        return ""
    return f"{number:016x}" if magic == _FOOTER_MAGIC else ""


# ---- Replay --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A value that differs from the packed one; None: there is none."""

    name: str
    packed: Any
    now: Any

    def __str__(self) -> str:
        """Return the difference in words."""
        return f"{self.name}: packed {_shown(self.packed)}, now {_shown(self.now)}"


def _shown(value: Any) -> str:  # noqa: ANN401 -- any JSON
    return "nothing" if value in (None, "") else str(value)


@dataclass(frozen=True)
class Replayed:
    """A result that was simulated again."""

    result: PackedResult
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `--json` (keys: docs/reference/results.md)."""
        return {
            "result": self.result.name,
            "result_command": self.result.command,
            "simulations": len(self.result.runs),
            "differences": [
                {"name": each.name, "packed": _shown(each.packed), "now": _shown(each.now)}
                for each in self.differences
            ],
        }


@dataclass(frozen=True)
class Replay(Results):
    """Packed results that were simulated again, and the values that differ.

    Example:
        `pmemsim.replay("figure.pmpack").equal`
    """

    packed_version: str
    """The version of pmemsim that made the pack."""
    results: tuple[Replayed, ...] = field(repr=False)
    """Each packed result with its differences."""
    command: ClassVar = "replay"

    @property
    def title(self) -> str:
        """Count the results, and the values that differ."""
        results, values = len(self.results), len(self.to_frame())
        return f"results: {results}, values that differ: {values}"

    @property
    def equal(self) -> bool:
        """Return whether all numbers are equal to the bit."""
        return not any(each.differences for each in self.results)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each value that differs, with the packed and the new value."""
        import pandas as pd

        rows = [
            (each.result.name, one.name, one.packed, one.now)
            for each in self.results
            for one in each.differences
        ]
        return pd.DataFrame(rows, columns=["result", "value", "packed", "now"])

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `--json` (keys: docs/reference/results.md)."""
        results = [each.to_dict() for each in self.results]
        return {"packed_version": self.packed_version, "results": results}


class Pack:
    """A pack that has been opened, with its recordings in a temporary folder."""

    def __init__(self, archive: zipfile.ZipFile, folder: Path) -> None:
        manifest = json.loads(archive.read(_MANIFEST))
        if manifest["format"] != _FORMAT:
            raise ValueError("the format is that of another version of pmemsim")
        self.version = str(manifest["version"])
        self._sums: dict[str, str] = manifest["sha256"]
        self._archive = archive
        self._folder = folder
        self.results = [
            self._result(number, each) for number, each in enumerate(manifest["results"])
        ]
        self._traces = {
            run.trace_hash: self._trace(run.trace_hash)
            for each in self.results
            for run in each.runs
        }

    def _result(self, number: int, packed: Mapping[str, Any]) -> PackedResult:
        name = str(packed["name"])
        content = self._archive.read(_result_entry(number, name))
        if hashlib.sha256(content).hexdigest() != self._sums[_result_entry(number, name)]:
            raise ValueError(f"the results {name} were changed")
        document = json.loads(content)
        runs = tuple(_packed_run(run) for run in packed["runs"])
        if document["command"] not in COMMANDS or len(runs) != _simulations_of(document):
            raise ValueError(f"the results {name} don't match their simulations")
        return PackedResult(name, document, runs)

    def _trace(self, hash_: str) -> Trace:
        path = self._folder / f"{int(hash_, 16):016x}.pmt"
        if not path.exists():
            with self._archive.open(_recording_entry(hash_)) as entry, path.open("wb") as file:
                shutil.copyfileobj(entry, file)
            with path.open("rb") as file:
                if (
                    hashlib.file_digest(file, "sha256").hexdigest()
                    != self._sums[_recording_entry(hash_)]
                ):
                    raise ValueError(f"the recording {hash_} was changed")
        return Trace(path)

    @property
    def runs(self) -> list[PackedRun]:
        """Return the simulations of all results."""
        return [run for each in self.results for run in each.runs]

    def replay(
        self, jobs: int | None = None, progress: Callable[[int, float], None] | None = None
    ) -> Replay:
        """Simulate all results again, and compare each number."""

        def task(run: PackedRun) -> Callable[[Report], Result]:
            def simulated(report: Report) -> Result:
                found = simulate(self._traces[run.trace_hash], run.configuration(), report)
                return replace(found, workload=run.workload)

            return simulated

        found = iter(run_all([task(run) for run in self.runs], jobs, progress))
        return Replay(
            self.version,
            tuple(self._replayed(each, [next(found) for _ in each.runs]) for each in self.results),
        )

    def _replayed(self, packed: PackedResult, found: Sequence[Result]) -> Replayed:
        names = _wrong_names(packed, self._traces, with_presets=self.version == version())
        compared = _compared(packed, found)
        return replace(compared, differences=(*names, *compared.differences))


@contextmanager
def opened(path: Path) -> Iterator[Pack]:
    """Open a pack; an `Error` says what is wrong with the file."""
    with temporary_folder() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                found = Pack(archive, folder)
        except FileNotFoundError as error:
            raise Error(f"{path}: no such file; {_CURE}") from error
        except Error as error:
            raise Error(f"{path}: {error}") from error
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            if isinstance(error, KeyError):
                reason = f"{error} is missing"
            raise Error(f"{path}: this is no pack, or it is damaged: {reason}; {_CURE}") from error
        yield found


def _wrong_names(
    packed: PackedResult, traces: Mapping[str, Trace], *, with_presets: bool
) -> Iterator[Difference]:
    """Yield the names of designs, machines and workloads that are not those of the simulations.

    Other versions have other presets, with which a design and a machine are then not compared.
    """
    document = packed.document
    if packed.command == "sweep":
        for number, point in enumerate(document["points"]):
            if point["status"] == "ok":
                for key, name, now in wrong_axes(point["axes"], traces[point["trace_hash"]]):
                    yield Difference(f"points[{number}].axes.{key}", name, now)
    elif packed.command != "reproduce":
        named = _named_runs(document)
        right = wrong_workloads([run for _, run in named], traces)
        for (name, run), workload in zip(named, right, strict=True):
            if workload != run["workload"]:
                yield Difference(f"{name}workload", run["workload"], workload)
            if with_presets:
                configuration = run.get("configuration", {})
                for key, before, now in wrong_presets(run, configuration):
                    yield Difference(f"{name}{key}", before, now)


def _named_runs(document: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the simulations with names, each with its place in the results."""
    command = document["command"]
    if command == "run":
        return [("", document)]
    if command == "compare":
        return [(f"runs[{number}].", run) for number, run in enumerate(document["runs"])]
    return [
        (f"cells[{number}].", {**cell, "configuration": _configuration_of(cell, document)})
        for number, cell in enumerate(document["cells"])
        if cell["trace_hash"]
    ]


def _compared(packed: PackedResult, found: Sequence[Result]) -> Replayed:
    document = dict(packed.document)
    del document["command"]
    if packed.command == "run":
        now: dict[str, Any] = found[0].to_dict()
    elif packed.command == "compare":
        machines = {run.machine for run in packed.runs}
        labels = (design_label(run.design, run.machine, machines) for run in packed.runs)
        now = Comparison(tuple(found), tuple(dict.fromkeys(labels))).to_dict()
    elif packed.command == "sweep":
        document, now = _points(document, found)
    elif packed.command == "matrix":
        document, now = _cells(document, found)
    else:
        document, now = _metrics(packed, found)
    return Replayed(packed, tuple(_differences("", document, json.loads(json.dumps(now)))))


def _points(
    document: Mapping[str, Any], found: Sequence[Result]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a sweep's numbers, packed and now; failures aren't repeated."""
    points, runs = document["points"], iter(found)
    each_now = [next(runs) if point["status"] == "ok" else None for point in points]
    right = speedups(points, [run.time_ns if run else None for run in each_now])
    now = [
        {**(_numbers_of_point(run, point) if run else _numbers(point)), "speedup": speedup}
        for run, point, speedup in zip(each_now, points, right, strict=True)
    ]
    units = {name: unit if "." in name else "" for name, unit in document["units"].items()}
    packed = [{**_numbers(point), "speedup": point["speedup"]} for point in points]
    return {"units": document["units"], "points": packed}, {"units": units, "points": now}


def _cells(
    document: Mapping[str, Any], found: Sequence[Result]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a matrix's numbers that are simulated, packed and now; crashes aren't repeated."""
    cells = [cell for cell in document["cells"] if cell["trace_hash"]]
    runs = zip(_simulated_cells({**document}), found, strict=True)
    base = {c["trace_hash"]: run for c, run in runs if c["design"] == document["baseline"]}

    def now_of(cell: Mapping[str, Any], run: Result) -> dict[str, Any]:
        over = base.get(cell["trace_hash"])
        storage = storage_of(run.configuration)
        return {
            "threads": run.threads,
            "speedup": over.time_ns / run.time_ns if over else None,
            "pm_write_bytes": run.pm_write_bytes,
            "energy_nj": run.stats.get("energy.total_nj"),
            "storage_bytes": None if isinstance(storage, Unknown) else total_bytes(storage),
        }

    now = [now_of(cell, run) for cell, run in zip(cells, found, strict=False)]
    packed = [{key: cell[key] for key in each} for cell, each in zip(cells, now, strict=True)]
    return {"cells": packed}, {"cells": now}


def _metrics(
    packed: PackedResult, found: Sequence[Result]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a reproduction's simulations, packed and now.

    Its entries are computed from them, and from what the paper published.
    """
    document = packed.document
    outcomes = {
        (value["trace_hash"], value["configuration"]): Outcome.of(run)
        for value, run in zip(_simulated_values(document), found, strict=True)
    }
    before, now = {}, {}
    for value in document["values"]:
        key = value["trace_hash"], value["configuration"]
        if key not in outcomes:
            continue
        parts = ("paper", "experiment", "ablation", "column", "design", "point", "benchmark",
                 "group", "seed", "metric")  # fmt: skip
        name = " ".join(str(value[part]) for part in parts if value[part] is not None)
        before[name] = value["value"]
        now[name] = METRICS[value["metric"]].of(outcomes[key])
    return {"values": before}, {"values": now}


def _numbers(point: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in point.items() if key not in _NOT_MEASURED}


_NOT_MEASURED = ("axes", "point", "status", "reason", "speedup")


def _numbers_of_point(run: Result, point: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in run.to_dict().items() if key in _numbers(point)}
    return {**found, "stats": {key: found["stats"].get(key) for key in point["stats"]}}


def _differences(name: str, packed: Any, now: Any) -> Iterator[Difference]:  # noqa: ANN401
    """Yield the packed values that differ now; newer versions may have further ones."""
    if isinstance(packed, dict) and isinstance(now, dict):
        for key in (each for each in packed if each not in _NOT_COMPARED):
            inside = f"{name}.{key}" if name else str(key)
            yield from _differences(inside, packed[key], now.get(key))
    elif isinstance(packed, list) and isinstance(now, list) and len(packed) == len(now):
        for number, (one, other) in enumerate(zip(packed, now, strict=True)):
            yield from _differences(f"{name}[{number}]", one, other)
    elif packed != now:
        yield Difference(name, packed, now)
