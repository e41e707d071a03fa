"""Crash verification: crash a design at points of a recording, recover, and check the images."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.decode import registers_path, write_registers
from pmemsim.errors import ConfigError, Error, Problems, RecordError
from pmemsim.files import replacing, temporary_folder
from pmemsim.installation import installed_dir
from pmemsim.presets import Setting, preset_names
from pmemsim.programs import ending_of, words_of
from pmemsim.recording import build_workload
from pmemsim.simulation import Configuration, Progress, configure
from pmemsim.stress import StressSet
from pmemsim.trace import Trace
from pmemsim.unrecorded import notes_on_crashes
from pmemsim.workload_runs import workloads

# Where a checker finds the file of a region: in memory (host/program.cpp), or in a folder.
_FILE_IN_MEMORY = re.compile(r"/proc/\d+/fd/1(\d\d)\b")
_FILE = re.compile(r"\S*/image\d+\.(\d+)\b")

DEFAULT_CHECKS = 10
"""Number of images of a run that a program's own checker sees by default."""

DEFAULT_CHECK_TIMEOUT_S = 60.0
"""Default limit of a checker's time for an image."""


@dataclass(frozen=True)
class Case:
    """A design, its machine and its settings for a crash run."""

    design: str
    """Its name, or the path of its file."""
    machine: str
    unstressed: Configuration
    """The design on the machine, with the user's own settings."""
    stress: StressSet | None = None
    """Settings that make structures collide; the user's own values take precedence."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return the settings in addition to the design and the machine."""
        return (*(self.stress.settings if self.stress else ()), *self.unstressed.overrides)

    @cached_property
    def configuration(self) -> Configuration:
        """Return the design on the machine; raises a `ConfigError` if they are incompatible."""
        if self.stress is None:
            return self.unstressed
        return configure(self.design, self.machine, extra=self.settings)

    @property
    def options(self) -> list[str]:
        """Return the words of a command that crashes it."""
        words = ["--design", self.design, "--machine", self.machine]
        for setting in self.settings:
            words += ["--set", f"{setting.key}={setting.value}"]
        return words

    @property
    def label(self) -> str:
        """Return its name among other cases."""
        return f"{self.design} ({self.stress.name})" if self.stress else self.design


@dataclass(frozen=True)
class Points:
    """The crash points to visit."""

    sample: int | None = None
    """Number of randomly chosen points; None: all."""
    seed: int = 1
    at_ps: int | None = None
    """Time of the crash: only the last points at or before this time are visited."""
    subsets: int = 0
    """Number of further images at each point, among those that the design allows."""
    device: Path | None = None
    """Path for the device's contents after the last of the points at `at_ps`."""
    kept: Path | None = None
    """Path for the first wrong image; with `at_ps`, if none is wrong, for the last point's."""


@dataclass(frozen=True)
class Checker:
    """A checker of images in its own processes: a program, or a library that they load.

    A program's last arguments are the images' files, and status 0 means that they are right. A
    library implements include/pmemsim/check.h.
    """

    command: tuple[str, ...]
    """The program and its arguments, or the library."""
    images: int | None = DEFAULT_CHECKS
    """Number of images of a run, at points that are spaced evenly; None: all."""
    timeout_s: float = DEFAULT_CHECK_TIMEOUT_S
    """Limit of the time for an image, beyond which it counts as wrong."""
    library: bool = False
    reader: bool = False
    """Whether the program doesn't check images, but prints their contents."""

    @property
    def options(self) -> list[str]:
        """Return the words of a command that name the checker."""
        if self.library:
            return ["--verify-library", self.command[0]]
        return ["--answers" if self.reader else "--verify", shlex.join(self.command)]

    @property
    def name(self) -> str:
        """Return the user's name of the checker: the command, or the library."""
        return shlex.join(self.command)

    def started_in(
        self, folder: Path | None, environment: Sequence[str] = ()
    ) -> _core.CheckerCommand:
        """Return how the checker is started, with a program's files in this folder, or in memory.

        `environment`: variables, `NAME=VALUE`, beside this process's own.
        """
        host = installed_dir() / "pmemsim-checker-host"
        name = " ".join(self.options)
        return _core.CheckerCommand(
            name,
            host,
            self.library,
            self.command,
            self.timeout_s,
            str(folder or ""),
            environment,
            self.reader,
        )

    def problem_of(self, answer: _core.CheckerAnswer | None) -> str:
        """Return the checker's error in an answer; empty if there is none."""
        if answer is None:
            return ""
        if answer.ending == "too long":
            return f"{self.name} did not end within {self.timeout_s:g} s (--verify-timeout)"
        last = _last_line(answer.said)
        return f"{self.name} {self._ending(answer)}" + (f": {last}" if last else "")

    def _ending(self, answer: _core.CheckerAnswer) -> str:
        if answer.ending == "returned":
            return f"returned {answer.status}"
        if answer.ending == "exited" and self.library:
            return f"ended its process with status {answer.status} instead of returning"
        return ending_of(-answer.status if answer.ending == "signal" else answer.status)


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    if not lines:
        return ""
    # The file's path differs each time.
    for pattern in (_FILE_IN_MEMORY, _FILE):
        lines[-1] = pattern.sub(lambda match: f"image {int(match[1])}", lines[-1])
    return lines[-1]


@contextlib.contextmanager
def folder_of_images() -> Iterator[Path | None]:
    """Create the folder in which programs find images: in memory, or where TMPDIR says."""
    if "TMPDIR" not in os.environ:
        yield None
        return
    with temporary_folder() as folder:
        yield folder


def kept_files(path: Path, regions: int) -> list[Path]:
    """Return the files in which an image is kept, one for each region if there are several."""
    if regions == 1:
        return [path]
    return [path.with_name(f"{path.name}.{number}") for number in range(regions)]


def keep_image(image: _core.KeptImage | _core.ModelImages, path: Path, regions: int) -> None:
    """Write an image to this file, or to a file for each region if there are several."""
    with contextlib.ExitStack() as stack:
        files = kept_files(path, regions)
        image.write([str(stack.enter_context(replacing(file))) for file in files])


@dataclass(frozen=True)
class Explanation:
    """The explanation of the first violation."""

    point: int
    time_ns: float
    lines: tuple[str, ...]
    command: str
    """Command that shows this violation again."""


@dataclass(frozen=True)
class CrashRun:
    """The crash run of one design at the points of one recording."""

    design: str
    machine: str
    stress: str
    """Name of the settings that make structures collide; empty if there are none."""
    workload: str
    threads: int
    seed: int
    """Seed of the recording."""
    schedule: int
    """Number of the threads' interleaving; 0: the recorder's own."""
    points: int
    """Crash points visited."""
    all_points: int
    """Crash points of the run."""
    images: int
    """Images recovered and checked."""
    repaired: int
    """Points at which recovery changed the image."""
    restarts: int
    """Times that a recovery was stopped by a crash of its own and run again."""
    checked: int
    """Images that the program's own checker has checked."""
    unchecked: int | None
    """Images that the program's checker has not checked; None if there was no checker."""
    violations: int
    """Points at which something was wrong."""
    wall_s: float
    story: Explanation | None
    trace_hash: str
    configuration: Configuration = field(repr=False)
    programs: int = 1
    """Number of recordings in the counts; `seed` and `threads` are the first one's."""
    notes: tuple[str, ...] = ()
    """Notes on data that the recording lacks, so that violations may be missing or false."""

    @property
    def design_and_stress(self) -> str:
        """Return the name of the configuration: `asap`, or `asap/small-lists` under stress."""
        return f"{self.design}/{self.stress}" if self.stress else self.design

    @property
    def points_per_s(self) -> float:
        """Return the points per second of the run: simulation, images, recovery and oracle."""
        return self.points / self.wall_s if self.wall_s else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the run for `--json`, without its configuration, which several runs share."""
        values = {
            name: value
            for name, value in vars(self).items()
            if name not in ("story", "configuration")
        }
        story = vars(self.story) if self.story else None
        return {**values, "points_per_s": self.points_per_s, "story": story}


@dataclass(frozen=True)
class Refused:
    """A design that is incompatible with a set of stress settings, and the reason."""

    design: str
    stress: str
    reason: str


OWN = "own"
"""The name that selects the workload's own checker."""


@dataclass(frozen=True)
class CheckerWanted:
    """The checker that the user wants."""

    command: str | None = None
    """The command of a program, or `OWN`."""
    library: Path | None = None
    """The library that checks instead of the command."""
    timeout_s: float | None = None

    @property
    def options(self) -> list[str]:
        """Return the words of a command that wants the same checker."""
        words = [] if self.command is None else ["--verify", self.command]
        if self.library is not None:
            words += ["--verify-library", str(self.library)]
        if self.timeout_s is not None:
            words += ["--verify-timeout", f"{self.timeout_s:g}"]
        return words

    @property
    def given(self) -> bool:
        """Return whether the user has named a checker."""
        return self.command is not None or self.library is not None


MOST_SECONDS = 10**6


def wanted_checker(
    command: str | None, library: Path | None, timeout_s: float | None, problems: Problems
) -> CheckerWanted:
    """Return the checker that the user wants; errors are added to the problems."""
    if timeout_s is not None and not 0 < timeout_s <= MOST_SECONDS:
        problems.add(
            [f"--verify-timeout {timeout_s:g}: must be greater than 0 and at most {MOST_SECONDS}"]
        )
    return CheckerWanted(command, library, timeout_s)


def checker_of(trace: Trace, wanted: CheckerWanted, images: int | None) -> Checker | None:
    """Return the checker of a recording's images: the one the user wants, or the workload's own.

    Returns None if `images` is 0, or if there is no checker. An `images` of None means all images.
    """
    if images == 0:
        return None
    timeout_s = DEFAULT_CHECK_TIMEOUT_S if wanted.timeout_s is None else wanted.timeout_s
    if wanted.library is not None:
        return Checker((str(_library(wanted.library)),), images, timeout_s, library=True)
    if wanted.command not in (None, OWN):
        return Checker(words_of("--verify", str(wanted.command)), images, timeout_s)
    try:
        own = _own_check(trace)
    except RecordError as error:
        if wanted.command == OWN:
            raise
        raise RecordError(
            f"{error}; to crash without the workload's own checker, choose --verify-images 0"
        ) from error
    if own is None and wanted.command == OWN:
        raise Error(
            f"--verify {OWN}: {trace.name} is not one of pmemsim's workloads, and only these have "
            "their own checker; give a program that recovers the file named by its last argument, "
            "and exits with 0 if the contents are consistent"
        )
    return Checker(own, images, timeout_s) if own else None


def _own_check(trace: Trace) -> tuple[str, ...] | None:
    name = str(trace.metadata.get("workload", ""))
    # A user's program with the name of a workload isn't recorded with a level.
    if name not in workloads() or "optimization" not in trace.metadata:
        return None
    # A whole run may crash before its set-up is complete.
    whole = ["--whole-run"] if "--whole-run" in trace.metadata["arguments"] else []
    return (str(build_workload(name)), *whole, "--verify")


def _library(path: Path) -> Path:
    if not path.is_file():
        raise Error(
            f"--verify-library {path}: no such file; name a shared library with the function "
            "pmemsim_check (pmemsim/check.h)"
        )
    return path.resolve()


def verify_or_refuse(
    trace: Trace,
    case: Case,
    points: Points,
    checker: Checker | None,
    command: str,
    progress: Progress | None = None,
    jobs: int = 1,
) -> CrashRun | Refused:
    """Do the same as `verify`, but return a refused design as a result, too."""
    try:
        stress = case.stress.name if case.stress else ""
        return verify(trace, case.configuration, points, checker, command, progress, stress, jobs)
    except ConfigError as error:
        if not case.stress:
            raise
        return Refused(case.design, case.stress.name, "; ".join(error.problems))


def verify(
    trace: Trace,
    configuration: Configuration,
    points: Points,
    checker: Checker | None,
    command: str,
    progress: Progress | None = None,
    stress: str = "",
    jobs: int = 1,
) -> CrashRun:
    """Crash a design at the points of a recording, recover, and check the images.

    `command` is how the user would see the first problem again. `stress` names the stress settings
    in the configuration. `jobs` threads simulate the run, each of which checks a part of the
    points, and as many checkers work at once. The results are the same for any number of jobs.

    Raises `ConfigError` for a design without durability guarantees. Raises `Error` where nothing
    would be checked: no persistent memory, no regions although the design guarantees nothing but
    these, nothing that becomes persistent, or a checker that sees no image.
    """
    trace.require_values()
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(replacing(points.device)) if points.device else None
        regions = trace.metadata["pm_regions"]
        folder = stack.enter_context(folder_of_images()) if checker else None
        found = _core.crash(
            trace.path,
            configuration,
            points.sample or 0,
            points.seed,
            points.at_ps,
            points.subsets,
            checker.images if checker else 0,
            checker.started_in(folder) if checker else None,
            jobs,
            checker.problem_of if checker else None,
            str(device) if device else None,
            points.kept is not None,
            progress,
        )
    if points.device and found.registers:
        write_registers(registers_path(points.device), found.registers, regions)
    if points.kept and found.kept:
        keep_image(found.kept, points.kept, len(regions))
    return CrashRun(
        design=configuration.design.name,
        machine=configuration.machine.name,
        stress=stress,
        workload=trace.name,
        threads=trace.threads,
        seed=trace.seed,
        schedule=trace.schedule,
        points=found.points,
        all_points=found.all_points,
        images=found.images,
        repaired=found.repaired,
        restarts=found.restarts,
        checked=found.inspected,
        unchecked=found.different - found.inspected if checker else None,
        violations=found.violations,
        wall_s=found.wall_s,
        story=_explanation(found.story, command),
        notes=tuple(notes_on_crashes(trace.metadata)),
        trace_hash=trace.hash,
        configuration=configuration,
    )


def _explanation(found: _core.CrashExplanation | None, command: str) -> Explanation | None:
    if found is None:
        return None
    time_ns = found.time_ps / 1000
    return Explanation(found.point, time_ns, tuple(found.lines), f"{command} --at {time_ns:.3f}ns")


def promising_designs(machine: str, log: str | None = None) -> list[str]:
    """Return the designs that guarantee atomic regions, and so can be verified.

    Only designs that run recordings with this log count: undo (the default) or redo.
    """
    return [name for name in preset_names("design") if _can_verify(name, machine, log)]


def _can_verify(design: str, machine: str, log: str | None) -> bool:
    configuration = configure(design, machine)
    return configuration.promises_whole_regions and (
        configuration.runs_redo_logs == (log == "redo")
    )
