"""Write the JSON of `pmemsim reproduce --json` (keys: docs/reference/results.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.plan import Case, Scale, Settings
from pmemsim.reproduction.storage import storage
from pmemsim.reproduction.verdicts import Compared, Finding, counts
from pmemsim.simulation import configure


def to_dict(
    measurements: Sequence[Measurements], rows: Sequence[Compared], scale: Scale
) -> dict[str, Any]:
    """Return all entries, and the values that they were computed from."""
    papers = dict.fromkeys(row.counted.paper.name for row in rows)
    configurations = _Configurations()
    values = [value for measured in measurements for value in _values(measured, configurations)]
    return {
        "entries": [_entry(row) for row in rows],
        "summary": {
            name: asdict(counts([row for row in rows if row.counted.paper.name == name]))
            for name in papers
        },
        "values": values,
        "configurations": configurations.every,
        "storage": [row for measured in measurements for row in _storage(measured)],
        "scale": scale,
    }


class _Configurations:
    """The different configurations of the simulations, in the order of their first use."""

    def __init__(self) -> None:
        self.every: list[dict[str, dict[str, str]]] = []
        self._numbers: dict[tuple[str, str, Settings], int] = {}

    def number_of(self, case: Case) -> int | None:
        """Return the number of a simulation's configuration; None for an analysis."""
        if case.design is None:
            return None
        key = case.design, case.machine, case.settings
        if key not in self._numbers:
            self._numbers[key] = len(self.every)
            configuration = configure(case.design, case.machine, dict(case.settings))
            self.every.append(configuration.to_dict())
        return self._numbers[key]


def _entry(row: Compared) -> dict[str, Any]:
    finding, entry = row.counted, row.entry
    fact, paper = entry.fact, finding.paper
    return {
        "id": fact.id,
        "paper": paper.name,
        "published": fact.shape if fact.value is None else fact.value,
        "unit": fact.unit,
        **_found(finding),
        "as_described": _found(row.described) if row.described else None,
        "cause": {"of": entry.cause.of, "try": list(entry.cause.tries)} if entry.cause else None,
        "used": entry.used,
        "what": fact.what,
        "where": fact.where,
        "experiment": finding.experiment.id,
        "ablation": paper.ablation.id if paper.ablation else None,
        "column": paper.column,
        "seeds": list(paper.seeds),
    }


def _found(finding: Finding) -> dict[str, Any]:
    return {
        "measured": finding.seen if finding.measured is None else finding.measured,
        "ci95": finding.ci95,
        "ratio": finding.ratio,
        "verdict": finding.verdict,
        "groups": {name: asdict(ratio) for name, ratio in finding.groups.items()},
        "benchmarks": finding.benchmarks,
    }


def _values(measured: Measurements, configurations: _Configurations) -> Iterator[dict[str, Any]]:
    """Yield the metrics of each simulation; both columns share those of an equal experiment."""
    paper = measured.paper
    if not measured.outcomes:
        return
    for metric in measured.experiment.metrics:
        of_metric = measured.by(metric)
        for design, point, benchmark, seed in measured.runs:
            case = measured.case(design, point, benchmark, seed)
            yield {
                "paper": paper.name,
                "experiment": measured.experiment.id,
                "ablation": paper.ablation.id if paper.ablation else None,
                "column": paper.column,
                "design": design,
                "point": point.name,
                "benchmark": benchmark.name,
                "group": benchmark.group,
                "seed": seed,
                "metric": metric,
                "value": of_metric.value(design, point, benchmark, seed),
                "trace_hash": measured.outcomes[case].trace_hash,
                "workload": case.run.workload,
                "machine": case.machine,
                "configuration": configurations.number_of(case),
            }


def _storage(measured: Measurements) -> list[dict[str, Any]]:
    if measured.experiment.metric != "storage":
        return []
    return [
        {
            "paper": measured.paper.name,
            "structure": structure.name,
            "formula": structure.formula,
            "bytes": structure.bytes,
            "printed": structure.printed,
            "where": structure.where,
        }
        for structure in storage(measured.paper)
    ]
