"""Write the JSON of `pmemsim reproduce --json` (keys: docs/reference/experiments.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.plan import Scale
from pmemsim.reproduce.storage import storage
from pmemsim.reproduce.verdicts import Finding
from pmemsim.simulation import version


def to_dict(
    measurements: Sequence[Measurements], found: Sequence[Finding], scale: Scale
) -> dict[str, Any]:
    """Return all findings, and the values that they were computed from."""
    return {
        "entries": [_entry(finding) for finding in found],
        "values": [value for measured in measurements for value in _values(measured)],
        "storage": [row for measured in measurements for row in _storage(measured)],
        "scale": scale,
        "version": version(),
    }


def _entry(finding: Finding) -> dict[str, Any]:
    fact = finding.entry.fact
    return {
        "id": fact.id,
        "paper": fact.shape if fact.value is None else fact.value,
        "measured": finding.seen if finding.measured is None else finding.measured,
        "unit": fact.unit,
        "ci95": finding.ci95,
        "ratio": finding.ratio,
        "verdict": finding.verdict,
        "what": fact.what,
        "where": fact.where,
        "experiment": finding.experiment.id,
        "ablation": finding.paper.ablation.id if finding.paper.ablation else None,
        "seeds": list(finding.paper.seeds),
        "groups": {name: asdict(ratio) for name, ratio in finding.groups.items()},
        "benchmarks": finding.benchmarks,
    }


def _values(measured: Measurements) -> list[dict[str, Any]]:
    if not measured.outcomes:
        return []
    return [
        {
            "paper": measured.paper.name,
            "experiment": measured.experiment.id,
            "ablation": measured.paper.ablation.id if measured.paper.ablation else None,
            "design": design,
            "point": point.name,
            "benchmark": benchmark.name,
            "group": benchmark.group,
            "seed": seed,
            "metric": metric,
            "value": measured.by(metric).value(design, point, benchmark, seed),
            "trace_hash": measured.outcome(design, point, benchmark, seed).trace_hash,
        }
        for metric in measured.experiment.metrics
        for design in measured.experiment.designs
        for point in measured.experiment.points
        for benchmark in measured.experiment.benchmarks
        for seed in measured.paper.seeds
    ]


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
