"""Say what persistence code can be removed, or what repairs a program that lacks some."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim.advice.edits import edited
from pmemsim.advice.patch import Patch, patch_of
from pmemsim.advice.repair import Judge, Repair, repair
from pmemsim.advice.superfluous import NOTHING, Savings, find_superfluous
from pmemsim.crashing import Checker, CheckerWanted, checker_of
from pmemsim.errors import Error
from pmemsim.files import replacing, temporary_folder
from pmemsim.parallel import host_cores
from pmemsim.persistency import Budget, Wanted
from pmemsim.progress import Watch, run_one
from pmemsim.results import Results
from pmemsim.simulation import Configuration, simulate
from pmemsim.sources import Sources
from pmemsim.trace import Place, Trace
from pmemsim.unrecorded import no_images

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Mended:
    """A repair, its text, and its time on the design."""

    repair: Repair
    patch: Patch
    time_ns: float
    """Simulated time of the program before the repair."""
    cost_ns: float
    """How much longer the repaired program runs."""

    def to_dict(self) -> dict[str, Any]:
        """Return the repair as `--json` writes it."""
        repair = self.repair
        return {
            "problem": repair.problem,
            "steps": [step.to_dict() for step in repair.steps],
            "reason": repair.reason,
            "flushes": repair.flushes,
            "fences": repair.fences,
            "useless": list(repair.useless),
            "useless_executed": repair.saved,
            "proof": repair.proof,
            "tried": repair.tried,
            "cost_ns": self.cost_ns,
            "patch": self.patch.diff,
            "sentences": list(self.patch.rest),
        }


@dataclass(frozen=True)
class Advice(Results):
    """The repair of an incorrect program, or what can be removed from a correct one.

    Example:
        `pmemsim.advise("queue", design="x86-bare", machine="asap").patch`
    """

    trace: Trace
    """The program's recording."""
    configuration: Configuration
    """The design and the machine whose time counts."""
    has_checker: bool
    """Whether a checker has checked crash images, in addition to the rules."""
    mended: Mended | None
    """The repair; None if no error was found."""
    savings: Savings | None
    """What can be removed from a program without an error."""
    command: ClassVar = "advise"

    @property
    def title(self) -> str:
        """Say whether the program has an error."""
        if self.mended:
            return f"{self.trace.name} is not crash-safe: {self.mended.repair.problem}"
        if not (self.savings and self.savings.each):
            return f"{self.trace.name}: {NOTHING}"
        where = f"{self.configuration.design.name}, machine {self.configuration.machine.name}"
        return f"{self.trace.name}: flushes, fences and logging that can be removed ({where})"

    @property
    def patch(self) -> str:
        """Return the repair for `patch -p1`; empty if there is none."""
        return self.mended.patch.diff if self.mended else ""

    @property
    def newer_sources(self) -> str:
        """Return a sentence if sources of the advice are newer than the recording; else nothing.

        The repair of such a source is not in the patch.
        """
        places: list[Place] = []
        if self.mended:
            steps = self.mended.repair.steps
            places = [Place(step.file, step.line, step.function) for step in steps]
        elif self.savings:
            places = [place for each in self.savings.each for place in each.call.places]
        return Sources(self.trace).note(places)

    def write_patch(self, path: Path) -> None:
        """Write the repair, if there is one, to a file for `patch -p1`."""
        if self.mended:
            with replacing(path) as partial:
                partial.write_text(self.patch)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each step of the repair, or each line that can be removed."""
        import pandas as pd

        document, columns = self.to_dict(), ["file", "line", "function"]
        if self.mended:
            steps = document["repair"]["steps"]
            return pd.DataFrame(steps, columns=["what", *columns])
        columns = ["name", *columns, "calls", "executed", "proof", "saved_ns"]
        return pd.DataFrame(document["superfluous"], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice for `--json` (keys: docs/reference/results.md)."""
        savings, mended = self.savings, self.mended
        return {
            "workload": self.trace.name,
            "design": self.configuration.design.name,
            "machine": self.configuration.machine.name,
            "trace_hash": self.trace.hash,
            "repair": mended.to_dict() if mended else None,
            "superfluous": [each.to_dict() for each in savings.each] if savings else [],
            "time_ns": savings.time_ns if savings else mended.time_ns if mended else None,
            "without_ns": savings.without_ns if savings else None,
            "note": savings.note if savings else "",
        }


@dataclass(frozen=True)
class Adviser:
    """The program, the design, and the means to test variants of the program."""

    trace: Trace
    configuration: Configuration
    wanted: Wanted
    checker: Checker | None
    jobs: int
    watch: Watch

    def advice(self) -> Advice:
        """Return the repair of an incorrect program, or what can be removed from a correct one."""
        with temporary_folder() as folder:
            mended = self._repair(folder)
            savings = None if mended else self._savings(folder)
        return Advice(self.trace, self.configuration, self.checker is not None, mended, savings)

    def _repair(self, folder: Path) -> Mended | None:
        """Return the repair of an incorrect program; None if no error is found."""
        judge = Judge(self.wanted, self.checker, self.jobs)
        found = run_one(
            f"repair of {self.trace.name}",
            lambda report: repair(self.trace, judge, folder, report),
            self.watch,
        )
        if found is None:
            return None
        before = edited(self.trace, folder / "before.pmt", found.steps, only_sites=True)
        time = simulate(before.trace, self.configuration).time_ns
        copy = edited(self.trace, folder / "repaired.pmt", found.steps)
        repaired = simulate(copy.trace, self.configuration).time_ns
        return Mended(found, patch_of(self.trace, found.steps), time, repaired - time)

    def _savings(self, folder: Path) -> Savings:
        """Return what can be removed from a program without an error."""
        return run_one(
            f"{self.trace.name} without each flush, fence and log",
            lambda report: find_superfluous(
                self.trace, self.configuration, self.wanted, self.checker, folder, self.jobs, report
            ),
            self.watch,
        )


def adviser_of(
    trace: Trace,
    configuration: Configuration,
    budget: Budget,
    checker: CheckerWanted,
    jobs: int | None,
    watch: Watch,
) -> Adviser:
    """Return the adviser on a program; raises an `Error` if no crash image can be made."""
    trace.require_values()
    if impossible := no_images(trace.metadata):
        raise Error(f"{trace.name}: {impossible}")
    wanted = Wanted("px86", budget)
    found = checker_of(trace, checker, None) if checker.given else None
    return Adviser(trace, configuration, wanted, found, jobs or host_cores(), watch)
