"""Choose what to measure: experiments in both columns, ablations, and the lines under a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pmemsim.errors import Error, did_you_mean
from pmemsim.reproduction.papers import is_paper, load_paper
from pmemsim.reproduction.plan import DESCRIBED, MEASURED, Ablation, Case, Experiment, Paper, Scale


@dataclass(frozen=True)
class Study:
    """An experiment in one column, or as an ablation varies it."""

    paper: Paper
    """The variation, which has this experiment alone."""

    @property
    def experiment(self) -> Experiment:
        """Return the experiment."""
        (experiment,) = self.paper.experiments.values()
        return experiment

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what tells studies apart."""
        return self.paper.key_of(self.experiment)

    def cases(self, scale: Scale) -> list[Case]:
        """Return its simulations."""
        return self.paper.cases(self.experiment, scale)


@dataclass(frozen=True)
class Chosen:
    """What is measured for one table: the values that count, and those beside them."""

    counted: Study
    described: Study | None
    """None: an ablation, which varies one column."""
    lines: tuple[Study, ...] = ()
    """Ablations that the table shows in one line each."""

    @property
    def studies(self) -> tuple[Study, ...]:
        """Return all of them."""
        return self.counted, *([self.described] if self.described else []), *self.lines


def both_columns(paper: Paper, experiment: str) -> Chosen:
    """Return an experiment as it was measured and as it is described."""
    lines = [
        Study(paper.ablated(ablation, experiment))
        for ablation in paper.ablations.values()
        if ablation.always and experiment in ablation.of
    ]
    described, counted = (
        Study(paper.in_column(experiment, column)) for column in (DESCRIBED, MEASURED)
    )
    return Chosen(counted, described, tuple(lines))


def ablated(paper: Paper, ablation: Ablation) -> list[Chosen]:
    """Return the experiments of an ablation."""
    return [Chosen(Study(paper.ablated(ablation, name)), None) for name in ablation.of]


def choose(names: Sequence[str], scale: Scale, *, ablations: bool) -> list[Chosen]:
    """Return the wanted experiments: all of each paper, or those named after the paper."""
    wanted: dict[str, list[str]] = {}
    for name in names:
        if not wanted or is_paper(name):
            if name in wanted:
                raise Error(f"paper '{name}' is given twice; remove one")
            wanted[name] = []
        else:
            wanted[list(wanted)[-1]].append(name)
    chosen = []
    for name, experiments in wanted.items():
        paper = load_paper(name).for_smoke() if scale == "smoke" else load_paper(name)
        extra = list(paper.ablations) if ablations else []
        for experiment in experiments or [*paper.experiments, *extra]:
            chosen += _named(paper, experiment)
    return chosen


def _named(paper: Paper, name: str) -> list[Chosen]:
    if name in paper.experiments:
        return [both_columns(paper, name)]
    if name in paper.ablations:
        return ablated(paper, paper.ablations[name])
    hint = did_you_mean(name, [*paper.experiments, *paper.ablations])
    raise Error(f"{paper.name} has no experiment '{name}'{hint}")


def every_study(chosen: Iterable[Chosen]) -> list[Study]:
    """Return all studies, each once."""
    return list({study.key: study for each in chosen for study in each.studies}.values())
