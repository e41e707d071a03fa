"""The simulator and the trace reader, in C++ (bindings/)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pmemsim.presets import Setting

class _Record:
    """A C++ struct: it is made of its fields, and compares by them."""

    def to_dict(self) -> dict[str, object]: ...

class Parameter(_Record):
    """A parameter, as it is declared or in a configuration."""

    key: Final[str]
    type: Final[str]
    value: Final[str]
    limits: Final[str]
    choices: Final[list[str]]
    description: Final[str]
    place: Final[str]

    def __init__(
        self,
        key: str,
        type: str,
        value: str,
        limits: str,
        choices: Sequence[str],
        description: str,
        place: str,
    ) -> None: ...

class Fault(_Record):
    """A protective mechanism that can be taken away (the setting `pmemsim.faults`)."""

    name: Final[str]
    what: Final[str]

class Implementation(_Record):
    """One implementation of one of a design's four layers."""

    layer: Final[str]
    name: Final[str]
    summary: Final[str]
    needs: Final[list[str]]
    gives: Final[list[str]]
    parameters: Final[list[str]]

    def __init__(
        self,
        layer: str,
        name: str,
        summary: str,
        needs: Sequence[str],
        gives: Sequence[str],
        parameters: Sequence[str],
    ) -> None: ...

class Structure(_Record):
    """One hardware structure."""

    name: Final[str]
    formula: Final[str]
    bytes: Final[float]
    count: Final[int]
    where: Final[str]
    printed: Final[float | None]
    printed_if: Final[float | None]

class LayerStorage(_Record):
    """What the implementation of a layer takes on the chip."""

    layer: Final[str]
    structures: Final[list[Structure]]
    unknown: Final[str]

class Statistic(_Record):
    """One figure of a run."""

    name: Final[str]
    value: Final[float]
    unit: Final[str]
    description: Final[str]

    def __init__(self, name: str, value: float, unit: str, description: str) -> None: ...

class RunResult(_Record):
    """What a run measured."""

    instructions: Final[int]
    regions: Final[int]
    pm_write_bytes: Final[int]
    time_ps: Final[int]
    threads: Final[int]
    wall_s: Final[float]
    statistics: Final[list[Statistic]]
    relations: Final[int]

class Configuration:
    """The values of all parameters."""

    def __init__(self, settings: Sequence[Setting]) -> None: ...
    @property
    def parameters(self) -> list[Parameter]: ...
    def idle(self, key: str) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def storage(self) -> list[LayerStorage]: ...
    @property
    def promises_whole_regions(self) -> bool: ...
    @property
    def runs_redo_logs(self) -> bool: ...

def layer_names() -> list[str]: ...
def parameters() -> list[Parameter]: ...
def faults() -> list[Fault]: ...
def layers() -> list[Implementation]: ...
def check_values(settings: Sequence[Setting]) -> None: ...
def load_plugin(path: str, library: str) -> None:
    """Add a plug-in's implementations to the layers. `library` is the path of libpmemsim.so."""

class Contents:
    """What persistent memory holds when a recording begins."""

def load_contents(trace: TraceFile) -> Contents: ...
def declared_statistics(settings: _Settings) -> list[dict[str, Any]]: ...
def simulate(
    trace: TraceFile,
    configuration: Configuration,
    progress: Callable[[float], None] | None,
    images: list[str],
    contents: Contents | None,
) -> RunResult: ...

class KeptImage:
    def write(self, files: Sequence[str]) -> None: ...

def crash(
    trace: str,
    configuration: Configuration,
    sample: int,
    seed: int,
    at_ps: int | None,
    subsets: int,
    inspections: int | None,
    checker: CheckerCommand | None,
    jobs: int,
    words: Callable[[Told], str] | None,
    device: str | None,
    keep: bool,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]: ...
def predictability(
    trace: TraceFile, progress: Callable[[float], None] | None
) -> dict[str, Any]: ...
def check_program(
    trace: TraceFile, eadr: bool, progress: Callable[[float], None] | None
) -> dict[str, Any]: ...
def lint_hints(
    trace: TraceFile,
    configuration: Configuration,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]: ...
def decode(
    device: str,
    operations: list[str],
    encryption_key: bytes | None,
    authentication_key: bytes | None,
    published_macs: bool,
    tree: tuple[int, list[tuple[int, int]]] | None,
    nodes_persisted: bool,
    levelling: tuple[int, list[tuple[int, int, int]]] | None,
    ranges: list[tuple[int, int]],
    files: list[str],
) -> dict[str, Any]: ...

Told = tuple[str, int, bytes, float] | None
"""What a checker has said of an image that it rejects: how it ended (returned, exited, signal or
too long), with which status, what it wrote last, and the seconds that it took."""

class CheckerCommand:
    """What starts a checker."""

    def __init__(
        self,
        name: str,
        host: Path,
        library: bool,
        words: Sequence[str],
        timeout_s: float,
        folder: str,
        environment: Sequence[str] = (),
        reader: bool = False,
    ) -> None: ...

class Without:
    """Flushes and fences that a program is without; as it is made, none."""

    def __init__(self) -> None: ...

Place = tuple[str, int, str]
"""File, line, function."""

def persist_calls(trace: TraceFile) -> list[tuple[Without, str, Place, list[Place], int]]:
    """A program's flushes and fences: without it, name, place, helpers' calls, times executed."""

class WantedImages:
    """Which images, in which order."""

    def __init__(
        self,
        eadr: bool,
        design: Configuration | None,
        seed: int,
        most: int,
        without: Without,
        watch: bool,
    ) -> None: ...

def fingerprint(trace: TraceFile, wanted: WantedImages) -> tuple[int | None, int | None]:
    """Return two numbers, each of which tells that images are the same.

    Of what is open at which instant (None: by promises); and of the set of all images (None if
    these are too many).
    """

class ModelImages:
    """Images that a model or promises allow of a recording, and a checker that sees them."""

    def __init__(
        self, trace: TraceFile, wanted: WantedImages, checker: CheckerCommand, jobs: int
    ) -> None: ...
    def show_all(self, seconds: float | None, progress: Callable[[float], None] | None) -> int: ...
    def said(self) -> Told: ...
    def judge(self, progress: Callable[[float], None] | None) -> Told: ...
    def go_to(self, number: int, progress: Callable[[float], None] | None) -> bool: ...
    def write(self, files: list[str]) -> None: ...
    def story(self) -> list[str]: ...
    def losses(self) -> list[int]: ...
    def bring_back(self, losses: list[int]) -> None: ...
    def lose_again(self, losses: list[int]) -> None: ...
    @property
    def number(self) -> int: ...
    @property
    def shown(self) -> int: ...
    @property
    def watches(self) -> bool: ...
    @property
    def exact(self) -> bool: ...
    @property
    def possible(self) -> float: ...
    @property
    def complete(self) -> bool: ...
    @property
    def instants(self) -> int: ...

class RecoveryImages(ModelImages):
    """Images that a crash of recovery leaves, which a checker sees as images of the program."""

    def __init__(
        self,
        recovery: TraceFile,
        crashed: ModelImages,
        places: list[tuple[int, int, int]],
        wanted: WantedImages,
        checker: CheckerCommand,
        jobs: int,
    ) -> None: ...
    def set_limit(self, images: int) -> None: ...

class OneChecker:
    """A checker that sees images one by one, beside those that judge them."""

    def __init__(self, checker: CheckerCommand, images: ModelImages) -> None: ...
    def judge(self, progress: Callable[[float], None] | None) -> Told: ...

def persist_steps(recovery: TraceFile) -> tuple[int, int]:
    """What recovery does to persistent memory, as a number, and how many stores."""

def open_reads(
    images: ModelImages, recovery: TraceFile, places: list[tuple[int, int, int]]
) -> list[tuple[str, int, str, str, int, str, bool]]:
    """What recovery has read that the image left open: load, store, whether that is there."""

def uses_of_functions(trace: TraceFile) -> list[tuple[str, int, int, int, int]]:
    """Of each function: name, calls, operations where it was inlined, stores to PM, depth."""

class AnswerImages:
    """Images that a persistency model allows of a recording, and a reader that answers them."""

    def __init__(
        self,
        trace: TraceFile,
        eadr: bool,
        seed: int,
        most: int,
        reader: CheckerCommand,
        jobs: int,
        functions: list[str] | None,
    ) -> None: ...
    def show_all(self, seconds: float | None, progress: Callable[[float], None] | None) -> None: ...
    def find_wrong(self, progress: Callable[[float], None] | None) -> list[int]: ...
    def judge(self, progress: Callable[[float], None] | None) -> dict[str, Any] | None: ...
    def whole(
        self, order: int, progress: Callable[[float], None] | None
    ) -> tuple[str, int, bytes, bytes]: ...
    def go_to(self, number: int) -> bool: ...
    def story(self) -> list[str]: ...
    def losses(self) -> list[int]: ...
    def bring_back(self, losses: list[int]) -> None: ...
    def lose_again(self, losses: list[int]) -> None: ...
    def lost(self, moment: int) -> list[list[int]]: ...
    def newest(self) -> int: ...
    def piece(self, order: int) -> dict[str, Any]: ...
    @property
    def number(self) -> int: ...
    @property
    def possible(self) -> float: ...
    @property
    def complete(self) -> bool: ...
    @property
    def unjudged(self) -> int: ...
    @property
    def answers_differ(self) -> bool: ...
    @property
    def operations(self) -> int: ...
    @property
    def pieces(self) -> int: ...

IMAGE_OF_ZEROS: int
MOST_MODEL_IMAGES: float
NO_END_OF_MODEL_IMAGES: int

names: dict[str, tuple[str, ...]]

class OperationChunks:
    """A thread's operations, a chunk at a time."""

    def next(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None: ...

def store_unrecorded(path: Path, contents: Path) -> None:
    """Let a recording say what of persistent memory has changed without a recorded store.

    `contents` is what that memory held at the end, as the recorder has written it.
    """

def store_races(path: Path) -> None:
    """Write the races of a recording into it, unless they are there already."""

class TraceFile:
    """An open `.pmt` file."""

    def __init__(self, path: str) -> None: ...
    @property
    def metadata_json(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def threads(self) -> int: ...
    def operation_count(self, thread: int) -> int: ...
    def sites(self) -> list[dict[str, Any]]: ...
    def operations(self, thread: int) -> OperationChunks: ...
    def summary_json(self) -> str: ...
    @property
    def has_turns(self) -> bool: ...
    def turns(self) -> npt.NDArray[np.uint8]: ...
    def verify(self) -> tuple[int, list[str]]: ...
    def dump(self, thread: int, first: int, count: int, descriptor: int) -> None: ...
