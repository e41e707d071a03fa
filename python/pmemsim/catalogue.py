"""Say what there is: designs, backends, machines, workloads, parameters, statistics, experiments.

The entries are those of `pmemsim list --json`; the frames add what `pmemsim show` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pmemsim import _core, declared_statistics, plugins, workload_runs
from pmemsim.presets import Kind, load_preset, preset_names
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.reproduction.studies import Chosen, ablated, both_columns

if TYPE_CHECKING:
    import pandas as pd

Entry = dict[str, Any]


def preset_entries(kind: Kind) -> list[Entry]:
    """Return an entry for each preset of a kind; machines have a basis."""
    presets = [load_preset(kind, name) for name in preset_names(kind)]
    return [
        {
            "name": each.name,
            **({"basis": each.basis or None} if kind == "machine" else {}),
            "summary": each.summary,
            "citation": each.citation,
        }
        for each in presets
    ]


def workload_entries() -> list[Entry]:
    """Return an entry for each workload."""
    return [
        {
            "name": workload.name,
            "summary": workload.summary,
            "papers": list(workload.papers),
            "data_bytes": workload.arguments.get("data_bytes"),
        }
        for workload in workload_runs.workloads().values()
    ]


def fault_entries() -> list[Entry]:
    """Return an entry for each fault that can be injected."""
    plugins.load_added()
    return [{"name": fault.name, "what": fault.what} for fault in _core.faults()]


def statistic_entries() -> list[Entry]:
    """Return an entry for each statistic."""
    return [
        {"name": each.name, "unit": each.unit, "meaning": each.meaning}
        for each in declared_statistics.statistics().values()
    ]


def experiment_entries(papers: Sequence[str] | None = None) -> list[Entry]:
    """Return an entry for each experiment and each ablation of these papers; None: of all."""
    entries: list[Entry] = []
    for paper in map(load_paper, paper_names() if papers is None else papers):
        for each in paper.experiments.values():
            size = _size([both_columns(paper, each.id)])
            summary = f"{each.title} ({each.where})"
            entries.append(_experiment(paper.name, each.id, size, summary, is_ablation=False))
        for ablation in paper.ablations.values():
            size = _size(ablated(paper, ablation))
            entries.append(
                _experiment(paper.name, ablation.id, size, ablation.why, is_ablation=True)
            )
    return entries


def _experiment(
    paper: str, name: str, simulations: int, summary: str, *, is_ablation: bool
) -> Entry:
    return {
        "paper": paper,
        "name": name,
        "simulations": simulations,
        "summary": summary,
        "is_ablation": is_ablation,
    }


def _size(chosen: Iterable[Chosen]) -> int:
    """Return the number of different simulations of experiments, in both columns."""
    columns = [each for one in chosen for each in (one.counted, one.described) if each]
    return len({case for study in columns for case in study.cases("quick")})


def _frame(entries: Sequence[Entry], *index: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(entries).set_index(list(index) if len(index) > 1 else index[0])


def designs() -> pd.DataFrame:
    """Return the designs by name: the names for `design` and `designs`.

    The columns are `summary`, `citation`, and the implementation of each of the four layers:
    `ordering`, `atomicity`, `precompute` and `backend`.

    Example:
        `pmemsim.designs().query("atomicity != 'none'")`
    """
    layers = _core.layer_names()

    def choices(name: str) -> Entry:
        settings = load_preset("design", name).settings
        values = {each.key: each.value for each in _core.Configuration(settings).parameters}
        return {layer: values[layer] for layer in layers}

    return _frame([each | choices(each["name"]) for each in preset_entries("design")], "name")


def backends() -> pd.DataFrame:
    """Return the backends by name: the names for `backends`, and for designs as `asap@NAME`.

    The columns are `summary` and `citation`.

    Example:
        `pmemsim.backends().index.tolist()`
    """
    return _frame(preset_entries("backend"), "name")


def machines() -> pd.DataFrame:
    """Return the machines by name: the names for `machine`.

    The columns are `basis` (whether the machine exists, was assumed by a paper, or is an upper
    bound), `summary` and `citation`. `configure(design, machine).to_frame()` has a machine's
    parameters.

    Example:
        `pmemsim.machines().loc["asap", "basis"]`
    """
    return _frame(preset_entries("machine"), "name")


def workloads() -> pd.DataFrame:
    """Return pmemsim's own workloads by name: the names for `trace` and `traces`.

    The columns are `summary`, `papers` (a list), `data_bytes` (default size of one datum in bytes;
    empty: fixed), `mixes` and `logs` (lists of the values that `mix` and `log` may have).

    Example:
        `pmemsim.workloads().index.tolist()`
    """
    entries = [
        each | {"mixes": [workload_runs.MIXES[0], *found.mixes], "logs": list(found.logs)}
        for each, found in zip(workload_entries(), workload_runs.workloads().values(), strict=True)
    ]
    frame = _frame(entries, "name")
    return frame.astype({"data_bytes": "Int64"})


def parameters() -> pd.DataFrame:
    """Return the parameters of machines and designs by name: the keys for `overrides`.

    The columns are `type`, `default` (text with its unit), `limits`, `choices` (a list) and
    `meaning`.

    Example:
        `pmemsim.parameters().loc["core.rob_entries", "limits"]`
    """
    plugins.load_added()
    entries = [
        {
            "name": each.key,
            "type": each.type,
            "default": each.value,
            "limits": each.limits,
            "choices": list(each.choices),
            "meaning": each.description,
        }
        for each in _core.parameters()
    ]
    return _frame(entries, "name")


def statistics() -> pd.DataFrame:
    """Return the statistics of runs by name: the keys of `Result.stats`.

    The columns are `unit`, `meaning`, `component`, `module`, `relations` (to other statistics),
    and `designs`, `machines` and `backends` that have the statistic (lists).

    Example:
        `pmemsim.statistics().loc["pm.writes", "meaning"]`
    """
    columns = ("component", "module", "relations", "designs", "machines", "backends")
    entries = [
        each | {column: getattr(found, column) for column in columns}
        for each, found in zip(
            statistic_entries(), declared_statistics.statistics().values(), strict=True
        )
    ]
    return _frame(entries, "name")


def experiments() -> pd.DataFrame:
    """Return the papers' experiments and ablations by paper and name: the names for `reproduce`.

    The columns are `simulations` (how many an experiment needs without kept results), `summary`
    and `is_ablation`.

    Example:
        `pmemsim.experiments().loc["asap"]`
    """
    return _frame(experiment_entries(), "paper", "name")
