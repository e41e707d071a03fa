"""Inject faults into designs, which crash verification must report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from pmemsim import plugins
from pmemsim.crashing import CrashRun, Points, verify
from pmemsim.files import OWN_YAML
from pmemsim.installation import installed_dir
from pmemsim.parallel import Report, run_all
from pmemsim.simulation import Configuration, configure
from pmemsim.stress import StressSet, stress_sets
from pmemsim.trace import Trace
from pmemsim.workload_runs import LOGS, WorkloadRun

FAULTS_KEY = "pmemsim.faults"
"""The key of the setting that injects faults."""

SUBSETS = 2
"""Number of images at each point with lines that the caches might have written back."""


@dataclass(frozen=True)
class InjectedFault:
    """A design without one of its protective mechanisms."""

    design: str
    switch: str
    """The injected fault, or the parameter, that takes the mechanism away."""
    setting: tuple[str, str] | None
    """The key and the value of the fault; None: no fault."""
    what: str
    """Description of the missing mechanism."""
    workload: WorkloadRun
    stress: StressSet | None
    """Further settings that make the mechanism matter; the design with these alone must be right.
    """
    extra: tuple[tuple[str, str], ...] = ()
    """Further parameters with the same purpose, including a backend that no preset has."""

    @property
    def is_fault(self) -> bool:
        """Return whether it has an injected fault, not a parameter with the same effect."""
        return self.setting is not None and self.setting[0] == FAULTS_KEY

    @property
    def sound(self) -> InjectedFault:
        """Return the same design with all its mechanisms."""
        return InjectedFault(self.design, "", None, "", self.workload, self.stress, self.extra)

    def configuration(self, machine: str) -> Configuration:
        """Return the configuration of the design on a machine, with the fault if there is one."""
        return configure(self.design, machine, dict(self._overrides))

    def command(self, machine: str) -> str:
        """Return the command that shows the fault."""
        run = self.workload
        return (
            f"pmemsim crash {run.workload} --design {self.design} --machine {machine} "
            f"--threads {run.threads} --regions {run.regions} --subsets {SUBSETS}"
            + (f" --items {run.items}" if run.items else "")
            + (f" --log {run.log}" if run.log != LOGS[0] else "")
            + "".join(f" --set {key}={value}" for key, value in self._overrides)
            + "".join(f" {shlex.quote(word)}" for word in plugins.options())
        )

    @property
    def _overrides(self) -> list[tuple[str, str]]:
        values = [*(self.stress.values if self.stress else ()), *self.extra]
        return [*values, self.setting] if self.setting else values


@dataclass(frozen=True)
class FaultVerdict:
    """The verdict of crash verification on a fault."""

    fault: InjectedFault
    run: CrashRun

    @property
    def caught(self) -> bool:
        """Return whether crash verification has reported the fault."""
        return self.run.violations > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as `--json` writes it."""
        return {
            "design": self.fault.design,
            "fault": self.fault.switch,
            "what": self.fault.what,
            "stress": self.run.stress,
            "caught": self.caught,
            "workload": self.run.workload,
            "points": self.run.points,
            "violations": self.run.violations,
            "story": vars(self.run.story) if self.run.story else None,
        }


@cache
def injected_faults() -> tuple[InjectedFault, ...]:
    """Return all faults, in the order of configs/injected_faults.yaml, then those of plug-ins."""
    own = installed_dir() / "configs"
    files = [folder / "injected_faults.yaml" for folder in (own, *plugins.folders())]
    return tuple(
        _fault(entry)
        for file in files
        if file.is_file()
        for entry in yaml.load(file.read_text(encoding="utf-8"), OWN_YAML)["faults"]
    )


def _fault(entry: dict[str, Any]) -> InjectedFault:
    run = WorkloadRun.of(
        entry["workload"],
        threads=entry.get("threads", 4),
        regions=entry.get("regions", 400),
        items=entry.get("items"),
        log=entry.get("log"),
    )
    stress = stress_sets()[entry["stress"]] if "stress" in entry else None
    switch = entry.get("fault") or entry["parameter"]
    setting = (FAULTS_KEY, switch) if "fault" in entry else (switch, str(entry["value"]))
    extra = tuple((key, str(value)) for key, value in entry.get("set", {}).items())
    return InjectedFault(entry["design"], switch, setting, entry["what"], run, stress, extra)


def check_faults(
    chosen: Sequence[InjectedFault],
    machine: str,
    traces: dict[WorkloadRun, Trace],
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[list[FaultVerdict], list[CrashRun]]:
    """Crash all faults, and all designs without them; `progress` counts both."""

    def task(fault: InjectedFault) -> Callable[[Report], CrashRun]:
        return lambda report: verify(
            traces[fault.workload],
            fault.configuration(machine),
            Points(subsets=SUBSETS),
            None,
            fault.command(machine),
            report,
            fault.stress.name if fault.stress else "",
        )

    runs = run_all([task(fault) for fault in (*chosen, *_sound(chosen))], jobs, progress)
    verdicts = [FaultVerdict(fault, run) for fault, run in zip(chosen, runs, strict=False)]
    return verdicts, runs[len(chosen) :]


def labels(chosen: Sequence[InjectedFault]) -> list[str]:
    """Return the labels of the cases that `check_faults` crashes, in its order."""
    return [
        *(f"{fault.design} with {fault.switch}" for fault in chosen),
        *(f"{fault.design} without faults" for fault in _sound(chosen)),
    ]


def _sound(chosen: Sequence[InjectedFault]) -> list[InjectedFault]:
    """Return the designs without faults, each once."""
    return list(dict.fromkeys(fault.sound for fault in chosen))
