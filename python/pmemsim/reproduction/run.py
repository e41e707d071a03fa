"""Run papers' experiments, and compare the results with the papers'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim import result_cache
from pmemsim.errors import Error, did_you_mean
from pmemsim.executor import Failure
from pmemsim.jobs import Job, Outcome
from pmemsim.reproduction import runs
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.plan import Scale
from pmemsim.reproduction.report import to_dict
from pmemsim.reproduction.studies import Chosen, Study, every_study
from pmemsim.reproduction.verdicts import Compared, compare
from pmemsim.results import Results
from pmemsim.runner import Do
from pmemsim.targets import Target
from pmemsim.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pmemsim.reproduction.figures import ExperimentFigure

Measured = dict[tuple[str, str, str, str], Measurements]
"""The measurements of each study, by its key."""


def compared(chosen: Chosen, measured: Measured) -> list[Compared]:
    """Return the entries of an experiment in both columns, or of an ablation."""
    described = measured[chosen.described.key] if chosen.described else None
    return compare(measured[chosen.counted.key], described)


@dataclass(frozen=True)
class ExperimentTable:
    """The measurements of an experiment in both columns, and of the lines under its table."""

    counted: Measurements
    described: Measurements | None
    lines: Sequence[Measurements]
    rows: Sequence[Compared]
    line_rows: Sequence[Sequence[Compared]]

    @classmethod
    def of(cls, chosen: Chosen, measured: Measured) -> ExperimentTable:
        """Return the table of an experiment."""
        described = measured[chosen.described.key] if chosen.described else None
        lines = [measured[line.key] for line in chosen.lines]
        line_rows = [compare(line, None) for line in lines]
        rows = compared(chosen, measured)
        return cls(measured[chosen.counted.key], described, lines, rows, line_rows)

    @property
    def name(self) -> str:
        """Return the paper and the experiment, as in `asap fig7`."""
        paper = self.counted.paper
        ablation = f" {paper.ablation.id}" if paper.ablation else ""
        return f"{paper.name}{ablation} {self.counted.experiment.id}"

    @property
    def has_figure(self) -> bool:
        """Return whether there is a figure; the sizes of structures are a table only."""
        return self.counted.experiment.metric != "storage"

    @property
    def figure(self) -> ExperimentFigure:
        """Return the experiment's figure."""
        from pmemsim.reproduction.figures import ExperimentFigure

        return ExperimentFigure(self.counted)

    @property
    def measurements(self) -> list[Measurements]:
        """Return the different measurements, without a second column that equals the first."""
        counted, described = self.counted, self.described
        if described is None or described.equals(counted):
            return [counted, *self.lines]
        return [counted, described, *self.lines]


@dataclass(frozen=True)
class Reproduction(Results):
    """The experiments of papers, and how far their results are reproduced.

    Example:
        `pmemsim.reproduce(["asap", "fig7"], scale="smoke").title`
    """

    tables: tuple[ExperimentTable, ...]
    """The measurements of each experiment."""
    scale: Scale
    """The size of the runs."""
    command: ClassVar = "reproduce"

    @property
    def rows(self) -> list[Compared]:
        """Return the entries of all experiments, without those of lines under the tables."""
        return [row for each in self.tables for row in each.rows]

    @property
    def title(self) -> str:
        """Count the entries by their verdicts."""
        found = Counter(row.counted.verdict for row in self.rows)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
        return f"scale {self.scale}: {verdicts or 'no entry has a value in its paper'}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each entry, by its id.

        `published` is the paper's value or condition, `measured` the value on the machine that the
        paper's figure came from, with `ci95`, half its 95% confidence interval. `described` is the
        value on the machine that the text describes.
        """
        import pandas as pd

        rows = [
            {
                "id": each["id"],
                "paper": each["paper"],
                "experiment": each["experiment"],
                **{key: each[key] for key in ("published", "unit", "measured", "ci95", "ratio")},
                "verdict": each["verdict"],
                "described": each["as_described"]["measured"] if each["as_described"] else None,
                "cause": each["cause"]["of"] if each["cause"] else None,
            }
            for each in self.to_dict()["entries"]
        ]
        columns = (
            "id", "paper", "experiment", "published", "unit", "measured", "ci95", "ratio",
            "verdict", "described", "cause",
        )  # fmt: skip
        return pd.DataFrame(rows, columns=list(columns)).set_index("id")

    def plot(self, experiment: str | None = None) -> list[Axes]:
        """Plot an experiment's figure, and return its axes: one for each size of the data.

        `experiment` names it, as in `asap fig7`; it may be left out if there is only one. Raises
        `Error` if there is no such figure.
        """
        figures = {each.name: each for each in self.tables if each.has_figure}
        if experiment is None and len(figures) == 1:
            (experiment,) = figures
        if experiment not in figures:
            what = "is missing" if experiment is None else f"'{experiment}' has no figure here"
            raise Error(f"experiment: {what}{did_you_mean(str(experiment), figures)}")
        return figures[experiment].figure.plot()

    def to_dict(self) -> dict[str, Any]:
        """Return the results for `--json` (keys: docs/reference/results.md).

        An ablation that is a table and a line of another table is there once.
        """
        shown = {each.counted.key for each in self.tables}
        rows: list[Compared] = []
        measurements: Measured = {}
        for each in self.tables:
            rows += each.rows
            for line, of_line in zip(each.lines, each.line_rows, strict=True):
                rows += of_line if line.key not in shown else []
            measurements |= {one.key: one for one in each.measurements}
        return to_dict(list(measurements.values()), rows, self.scale)


def reproduce_experiments(
    chosen: Sequence[Chosen],
    scale: Scale,
    open_traces: Callable[[list[Target]], list[Trace]],
    do: Do,
) -> Reproduction:
    """Run the chosen experiments, and compare their results with the papers'."""
    measured = measure_studies(every_study(chosen), scale, open_traces, do)
    return Reproduction(tuple(ExperimentTable.of(each, measured) for each in chosen), scale)


def measure_studies(
    studies: Sequence[Study],
    scale: Scale,
    open_traces: Callable[[list[Target]], list[Trace]],
    do: Do,
) -> Measured:
    """Record and simulate what isn't kept, and return all measurements."""
    cases = [study.cases(scale) for study in studies]
    everything = [case for of_one in cases for case in of_one]
    runs.configurations(everything)  # errors are reported before anything is recorded
    recipes = list(dict.fromkeys(case.run for case in everything))
    traces = open_traces([Target(recipe.workload, recipe) for recipe in recipes])
    simulations = runs.prepare(everything, dict(zip(recipes, traces, strict=True)))
    do(list(simulations.values()), "simulations", _raise)
    outcomes = {
        case: result_cache.load(simulation, Outcome) for case, simulation in simulations.items()
    }
    return {
        study.key: Measurements(
            study.paper, study.experiment, scale, {case: outcomes[case] for case in of_one}
        )
        for study, of_one in zip(studies, cases, strict=True)
    }


def _raise(_: Job, failure: Failure | None) -> None:
    if failure:
        raise Error(failure.reason)
