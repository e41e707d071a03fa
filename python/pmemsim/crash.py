"""Pulling the plug everywhere: crash verification of a design on a recording."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from pmemsim import _core
from pmemsim.decode import registers_path, write_registers
from pmemsim.errors import ConfigError, Error
from pmemsim.files import named, replacing, temporary_folder
from pmemsim.presets import Setting, preset_names
from pmemsim.programs import KeepGoing, ending_of, run_program
from pmemsim.recording import build_workload
from pmemsim.simulation import Configuration, Progress, configure
from pmemsim.stress import StressSet
from pmemsim.trace import Trace
from pmemsim.workloads import workloads

_MOST_SAID = 1000  # bytes at the end of what a program has said

DEFAULT_CHECKS = 10
"""Images of a run that a program's own checker sees, unless the user says otherwise."""

DEFAULT_CHECK_TIMEOUT_S = 60.0
"""How long a checker may take for an image, unless the user says otherwise."""


@dataclass(frozen=True)
class Case:
    """A design as it is crashed."""

    design: str
    """Its name, or the path of its file."""
    machine: str
    overrides: tuple[Setting, ...] = ()
    stress: StressSet | None = None
    """What makes structures collide; where the user sets the same, the user's value holds."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What is set beside the design and the machine."""
        return (*(self.stress.settings if self.stress else ()), *self.overrides)

    @property
    def options(self) -> list[str]:
        """The words of a command that crashes it."""
        words = ["--design", self.design, "--machine", self.machine]
        for setting in self.settings:
            words += ["--set", f"{setting.key}={setting.value}"]
        return words

    @property
    def label(self) -> str:
        """Its name among others."""
        return f"{self.design} ({self.stress.name})" if self.stress else self.design


@dataclass(frozen=True)
class Points:
    """Which crash points to visit."""

    sample: int | None = None
    """So many, chosen at random; None: all."""
    seed: int = 1
    at_ps: int | None = None
    """The last ones at or before this time instead."""
    subsets: int = 0
    """Other images that the design leaves open, at each point."""
    image: Path | None = None
    """Where the device goes as the last of the points at `at_ps` leaves it."""


@dataclass(frozen=True)
class Checker:
    """A program that judges recovered images: its last arguments are their files, 0 means good."""

    command: tuple[str, ...]
    images: int = DEFAULT_CHECKS
    """So many of a run, at points that lie evenly."""
    timeout_s: float = DEFAULT_CHECK_TIMEOUT_S
    """If it takes longer for an image, then that is wrong."""

    def problem_of(self, files: list[str], keep_going: KeepGoing) -> str:
        """What the program says is wrong with the images of all PM regions; empty: nothing."""
        command = shlex.join(self.command)
        with tempfile.TemporaryFile() as said:
            try:
                status = run_program(
                    [*self.command, *files],
                    keep_going,
                    timeout_s=self.timeout_s,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                )
            except TimeoutError:
                return f"{command} didn't end within {self.timeout_s:g} s (--check-timeout)"
            except OSError as error:
                raise Error(
                    f"--check {command}: can't be run ({error.strerror}); give a program that "
                    "takes the image's file as its last argument"
                ) from error
            if status == 0:
                return ""
            last = _last_line(said)
        return f"{command} {ending_of(status)}" + (f": {last}" if last else "")


def _last_line(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_SAID))
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


@dataclass(frozen=True)
class Story:
    """What went wrong first."""

    point: int
    time_ns: float
    lines: tuple[str, ...]
    command: str
    """A command that shows it again."""


@dataclass(frozen=True)
class CrashRun:
    """One design crashed at the points of one recording."""

    design: str
    machine: str
    stress: str
    """The name of the settings that make structures collide; empty: none of these."""
    workload: str
    threads: int
    seed: int
    """The recording's."""
    schedule: int
    """The recording's interleaving of threads; 0: the recorder's own."""
    points: int
    """Crash points visited."""
    all_points: int
    """Crash points of the run."""
    images: int
    """Images recovered and judged."""
    repaired: int
    """Points at which recovery changed the image."""
    restarts: int
    """Times that a recovery was stopped by a crash of its own and run again."""
    checked: int
    """Images that the program's own checker has seen."""
    unchecked: int | None
    """Images that it hasn't seen; None: there was no checker."""
    violations: int
    """Points at which something was wrong."""
    wall_s: float
    story: Story | None
    programs: int = 1
    """Recordings that the counts are of; `seed` and `threads` are the first's."""

    @property
    def points_per_s(self) -> float:
        """Points a second of one host core: simulation, images, recovery and oracle."""
        return self.points / self.wall_s if self.wall_s else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The run as `--json` writes it; docs/crash.md explains every key."""
        values = {name: value for name, value in vars(self).items() if name != "story"}
        story = vars(self.story) if self.story else None
        return {**values, "points_per_s": self.points_per_s, "story": story}


@dataclass(frozen=True)
class Refused:
    """A design that a set of stress settings doesn't fit."""

    design: str
    stress: str
    reason: str


def checker_of(
    trace: Trace, command: str | None, images: int | None, timeout_s: float | None = None
) -> Checker | None:
    """What judges a recording's images: the user's command, or the workload's own check.

    None if `images` is 0, or if there is neither.
    """
    count = DEFAULT_CHECKS if images is None else images
    timeout_s = DEFAULT_CHECK_TIMEOUT_S if timeout_s is None else timeout_s
    if count == 0:
        return None
    if command is not None:
        return Checker(_words(command), count, timeout_s)
    name = str(trace.metadata.get("workload", ""))
    # A program of the user's own may have a workload's name, too; it isn't recorded with a level.
    if name not in workloads() or "optimization" not in trace.metadata:
        return None
    # A whole run may crash before its set-up is complete.
    whole = ["--whole-run"] if "--whole-run" in trace.metadata["arguments"] else []
    return Checker((str(build_workload(name)), *whole, "--verify"), count, timeout_s)


def _words(command: str) -> tuple[str, ...]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Error(f"--check {command}: {error}; write it as in a shell") from error
    if not words:
        raise Error("--check: is empty; give a program, or leave it out")
    return tuple(words)


def verify_or_refuse(
    trace: Trace,
    case: Case,
    points: Points,
    checker: Checker | None,
    command: str,
    progress: Progress | None = None,
) -> CrashRun | Refused:
    """As `verify`; but a design that its stress settings don't fit is a result, too."""
    try:
        configuration = configure(case.design, case.machine, extra=case.settings)
        stress = case.stress.name if case.stress else ""
        return verify(trace, configuration, points, checker, command, progress, stress)
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
) -> CrashRun:
    """Crash a design at the points of a recording, recover, and judge what is left.

    `command` is how the user would see the first problem again; `stress` names the stress settings
    in the configuration. Raises `ConfigError` for a design that promises nothing, and `Error` where
    nothing would be judged: no persistent memory, no regions although the design promises nothing
    but these, nothing that becomes persistent, or a checker that sees no image.
    """
    share = 0.0

    def report(done: float) -> None:
        nonlocal share
        share = done
        if progress:
            progress(done)

    def keep_going() -> None:
        report(share)

    with temporary_folder() as folder, contextlib.ExitStack() as names:
        image = names.enter_context(replacing(points.image)) if points.image else None
        regions = trace.metadata["pm_regions"]
        files = [str(folder / f"image{number}") for number in range(len(regions))]
        for file in files:
            names.enter_context(named(Path(file), f"{folder.parent} (TMPDIR)"))
        found = _core.crash(
            str(trace.path),
            configuration.settings,
            points.sample or 0,
            points.seed,
            points.at_ps,
            points.subsets,
            checker.images if checker else 0,
            files if checker else [],
            partial(checker.problem_of, files, keep_going) if checker else None,
            str(image) if image else None,
            report,
        )
    if points.image:
        write_registers(registers_path(points.image), found["registers"], regions)
    return CrashRun(
        design=configuration.design.name,
        machine=configuration.machine.name,
        stress=stress,
        workload=trace.name,
        threads=trace.threads,
        seed=trace.seed,
        schedule=trace.schedule,
        points=found["points"],
        all_points=found["all_points"],
        images=found["images"],
        repaired=found["repaired"],
        restarts=found["restarts"],
        checked=found["inspected"],
        unchecked=found["images"] - found["inspected"] if checker else None,
        violations=found["violations"],
        wall_s=found["wall_s"],
        story=_story(found["story"], command),
    )


def _story(told: dict[str, Any] | None, command: str) -> Story | None:
    if told is None:
        return None
    again = f"{command} --at {told['time_ps'] / 1000:.3f}ns"
    return Story(told["point"], told["time_ps"] / 1000, tuple(told["lines"]), again)


def promising_designs(machine: str, log: str | None = None) -> list[str]:
    """The designs that promise atomic regions, and so can be verified.

    Only those that run recordings with this log: undo (the default) or redo.
    """
    return [name for name in preset_names("design") if _can_verify(name, machine, log)]


def _can_verify(design: str, machine: str, log: str | None) -> bool:
    settings = configure(design, machine).settings
    return _core.promises_whole_regions(settings) and (
        _core.runs_redo_logs(settings) == (log == "redo")
    )
