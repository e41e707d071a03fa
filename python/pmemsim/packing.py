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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pmemsim.comparison import Comparison
from pmemsim.errors import Error, Problems
from pmemsim.files import cache_dir, replacing, temporary_folder
from pmemsim.installation import version
from pmemsim.parallel import Report, run_all
from pmemsim.presets import Preset, Setting
from pmemsim.simulation import Configuration, Result, configure, simulate
from pmemsim.trace import Trace

COMMANDS = ("run", "compare", "sweep")
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
        return f"{self.workload} on {self.design}"

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


# ---- Pack ----------------------------------------------------------------------------------------


def pack(results: Sequence[Path], output: Path, recordings: Sequence[Path] = ()) -> int:
    """Write a pack of results, and return the number of its recordings.

    Recordings are found by their hashes: among `recordings` (files and folders), beside the
    results, and among those that pmemsim keeps of workloads. Raises a `ConfigError` that names each
    wrong result and each missing recording.
    """
    problems = Problems()
    read = []
    for path in results:
        with problems.collected():
            read.append(_read_result(path))
    problems.raise_any()
    wanted = {run.trace_hash: (each, run) for each in read for run in each.runs}
    named = (Path(run.workload) for each in read for run in each.runs)
    places = [
        *recordings,
        *(path for path in named if path.suffix == ".pmt"),
        *(trace for path in results for trace in sorted(path.resolve().parent.glob("*.pmt"))),
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


def _read_result(path: Path) -> PackedResult:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise Error(f"{path}: {error.strerror}; name a file that --json has written") from error
    except (ValueError, RecursionError) as error:
        raise Error(f"{path}: the file is not JSON; name a file that --json has written") from error
    command = document.get("command") if isinstance(document, dict) else None
    if command not in COMMANDS:
        raise Error(
            f"{path}: the file has no results of {', '.join(COMMANDS)}, which can be simulated "
            "again; name a file that --json of these commands has written"
        )
    try:
        runs = tuple(_runs_of(document))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Error(
            f"{path}: the results do not match results.schema.json of this version ({error!r}); "
            "run the command again"
        ) from error
    if not runs:
        raise Error(f"{path}: the results have no simulation")
    return PackedResult(path.name, document, runs)


def _runs_of(document: Mapping[str, Any]) -> Iterator[PackedRun]:
    """Yield the simulations of a command's results."""
    if document["command"] == "sweep":
        for point in _measured_points(document):
            yield _run_of_point(point, document["units"])
        return
    for run in [document] if document["command"] == "run" else document["runs"]:
        settings = {key: each["value"] for key, each in run["configuration"].items()}
        yield _packed_run({**run, "settings": settings})


def _simulations_of(document: Mapping[str, Any]) -> int:
    if document["command"] == "sweep":
        return len(_measured_points(document))
    return 1 if document["command"] == "run" else len(document["runs"])


def _measured_points(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [point for point in document["points"] if point["status"] == "ok"]


def _packed_run(packed: Mapping[str, Any]) -> PackedRun:
    return PackedRun(
        workload=str(packed["workload"]),
        design=str(packed["design"]),
        machine=str(packed["machine"]),
        trace_hash=str(packed["trace_hash"]),
        settings={str(key): str(value) for key, value in packed["settings"].items()},
    )


def _run_of_point(point: Mapping[str, Any], units: Mapping[str, str]) -> PackedRun:
    axes = point["axes"]
    overrides = {
        key: f"{value}{units.get(key, '')}" if not isinstance(value, bool) else value
        for key, value in axes.items()
        if "." in key
    }
    configuration = configure(axes["design"], axes["machine"], overrides)
    return PackedRun(
        str(axes["workload"]),
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
    return "nothing" if value is None else str(value)


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
    ) -> list[Replayed]:
        """Simulate all results again, and compare each number."""

        def task(run: PackedRun) -> Callable[[Report], Result]:
            def simulated(report: Report) -> Result:
                found = simulate(self._traces[run.trace_hash], run.configuration(), report)
                return replace(found, workload=run.workload)

            return simulated

        found = iter(run_all([task(run) for run in self.runs], jobs, progress))
        return [_compared(each, [next(found) for _ in each.runs]) for each in self.results]


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


def _compared(packed: PackedResult, found: Sequence[Result]) -> Replayed:
    document = dict(packed.document)
    del document["command"]
    if packed.command == "run":
        now: dict[str, Any] = found[0].to_dict()
    elif packed.command == "compare":
        designs = tuple(dict.fromkeys(run.design for run in packed.runs))
        now = Comparison(tuple(found), designs).to_dict()
    else:
        # A sweep's axes and speedups follow from its numbers.
        points = _measured_points(document)
        document = {"points": [_numbers(each) for each in points]}
        each_now = zip(found, points, strict=True)
        now = {"points": [_numbers_of_point(run, point) for run, point in each_now]}
    return Replayed(packed, tuple(_differences("", document, json.loads(json.dumps(now)))))


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
