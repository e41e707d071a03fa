"""Compare runs with results that follow from the machine's parameters.

Crash verification can't detect an injected fault in a time, a count or a structure that only
affects time. Such a fault must change a known result, or contradict another statistic of its run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pmemsim.errors import Error, RecordError
from pmemsim.files import OWN_YAML, temporary_folder
from pmemsim.installation import installed_dir
from pmemsim.parallel import Report, run_all
from pmemsim.programs import ending_of, run_program
from pmemsim.recording import record
from pmemsim.selftest.injected_faults import FAULTS_KEY
from pmemsim.simulation import configure, simulate
from pmemsim.toolchain import compiler
from pmemsim.trace import Trace

MACHINE = "asap"
"""The machine of all runs; a run's settings change it."""

# Part of the message about a run whose statistics break their declared relations.
_CONTRADICTION = "statistics of this run contradict each other"


@dataclass(frozen=True)
class KnownResult:
    """A run with a known result, and the injected fault that changes the result."""

    design: str
    fault: str
    what: str
    """The error that the fault makes."""
    loop: str
    """The name of a loop in known_results.c."""
    operations: int
    lines: int
    """The number of PM lines that the loop uses."""
    statistic: str
    """The result is this statistic divided by the number of operations."""
    least: float
    most: float
    because: str
    """The reason for these limits."""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def arguments(self) -> tuple[str, str, str]:
        """Return the arguments of known_results.c."""
        return self.loop, str(self.operations), str(self.lines)

    @property
    def limits(self) -> str:
        """Return the limits of the result, as in `500 to 550`."""
        return f"{self.least:g}" if self.least == self.most else f"{self.least:g} to {self.most:g}"

    def measure(self, trace: Trace, fault: str = "") -> float:
        """Return the result of a run of the recorded loop, with an injected fault or without."""
        overrides = {**dict(self.settings), **({FAULTS_KEY: fault} if fault else {})}
        result = simulate(trace, configure(self.design, MACHINE, overrides))
        (value,) = (each.value for each in result.statistics if each.name == self.statistic)
        return value / self.operations

    def measure_with_fault(self, trace: Trace) -> float | None:
        """Return the result with the fault; None if it contradicts other statistics of the run."""
        try:
            return self.measure(trace, self.fault)
        except Error as error:
            if _CONTRADICTION in str(error):
                return None
            raise

    def holds(self, value: float) -> bool:
        """Return whether a result is within the limits."""
        return self.least <= value <= self.most


@dataclass(frozen=True)
class KnownVerdict:
    """The results of a run with and without the fault."""

    known: KnownResult
    sound: float
    faulty: float | None
    """None if pmemsim itself reported that the statistics contradict each other."""

    @property
    def problems(self) -> list[str]:
        """Return what is wrong with the simulator, in sentences."""
        known = self.known
        problems = []
        if not known.holds(self.sound):
            problems.append(
                f"{known.design} without a fault has {self.sound:.5g} of {known.statistic} an "
                f"operation of {known.loop}, but must have {known.limits}, since {known.because}"
            )
        if not self.caught:
            problems.append(f"{known.design} with {known.fault}: the fault was not detected")
        return problems

    @property
    def caught(self) -> bool:
        """Return whether the fault changes the known result, or contradicts other statistics."""
        return self.faulty is None or not self.known.holds(self.faulty)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as `--json` writes it."""
        return {
            "design": self.known.design,
            "fault": self.known.fault,
            "what": self.known.what,
            "statistic": self.known.statistic,
            "least": self.known.least,
            "most": self.known.most,
            "because": self.known.because,
            "result": self.sound,
            "result_with_fault": self.faulty,
            "caught": self.caught,
        }


@cache
def known_results() -> tuple[KnownResult, ...]:
    """Return all known results, in the order of configs/known_results.yaml."""
    file = installed_dir() / "configs" / "known_results.yaml"
    entries = yaml.load(file.read_text(encoding="utf-8"), OWN_YAML)["results"]
    return tuple(_known(entry) for entry in entries)


def _known(entry: dict[str, Any]) -> KnownResult:
    settings = tuple((key, str(value)) for key, value in entry.pop("set", {}).items())
    return KnownResult(**entry, settings=settings)


def check_results(
    chosen: Sequence[KnownResult],
    jobs: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> list[KnownVerdict]:
    """Record the loops, and run each with and without its fault."""
    if not chosen:
        return []
    with temporary_folder() as folder:
        program = folder / "known_results"
        _build(program)

        def task(number: int) -> Callable[[Report], KnownVerdict]:
            def check(report: Report) -> KnownVerdict:
                known = chosen[number]
                trace = record(
                    [str(program), *known.arguments],
                    folder / f"{number}.pmt",
                    keep_going=lambda: report(0.3),
                )
                sound = known.measure(trace)
                report(0.7)
                return KnownVerdict(known, sound, known.measure_with_fault(trace))

            return check

        return run_all([task(number) for number in range(len(chosen))], jobs, progress)


def _build(program: Path) -> None:
    source = installed_dir() / "selftest" / "known_results.c"
    command = [str(compiler("pmemsim-cc")), "-O2", str(source), "-o", str(program)]
    status = run_program(command, None)
    if status != 0:
        raise RecordError(f"{source}: could not be built ({ending_of(status)})")
