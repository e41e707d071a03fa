"""`pmemsim list` and `pmemsim show`: print names and details of designs, machines and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer

from pmemsim import _core, plugins, workloads
from pmemsim.cli.command import Command, Group, argument, declared
from pmemsim.cli.console import out, table
from pmemsim.presets import Kind, Preset, load_preset, preset_names
from pmemsim.reproduce.papers import load_paper, paper_names
from pmemsim.reproduce.studies import Chosen, ablated, both_columns
from pmemsim.statistics import statistic_of, statistics

list_app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="List designs, backends, machines, workloads, statistics, faults or experiments.",
)
show_app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Show a design, a machine or a statistic in full."
)


def _list_presets(kind: Kind) -> None:
    presets = [load_preset(kind, name) for name in preset_names(kind)]
    has_basis = kind == "machine"
    rows = [
        (each.name, *([each.basis or "-"] if has_basis else []), each.summary) for each in presets
    ]
    columns = [kind, *(["basis"] if has_basis else []), "what it is"]
    out.print(table("", columns, rows))


@list_app.command("designs", cls=Command)
@declared
def list_designs() -> None:
    """List the designs: names for `--design` and `--designs`."""
    _list_presets("design")


@list_app.command("backends", cls=Command)
@declared
def list_backends() -> None:
    """List the backends: names for `--backends`, and for designs such as `asap@NAME`."""
    _list_presets("backend")


@list_app.command("machines", cls=Command)
@declared
def list_machines() -> None:
    """List the machines: names for `--machine`.

    The column `basis` says whether a machine exists, was assumed by a paper, or is an upper bound:
    a machine that is not sold.
    """
    _list_presets("machine")


@list_app.command("workloads", cls=Command)
@declared
def list_workloads() -> None:
    """List pmemsim's own workloads: names for `run`, `compare` and `record`."""
    every = workloads.workloads().values()
    sizes = [str(workload.arguments.get("data_bytes", "fixed")) for workload in every]
    rows = [
        (workload.name, workload.summary, ", ".join(workload.papers), size)
        for workload, size in zip(every, sizes, strict=True)
    ]
    columns = ["workload", "what it does", "papers", ">--data-bytes"]
    out.print(table("", columns, rows))


@list_app.command("faults", cls=Command)
@declared
def list_faults() -> None:
    """List the faults for injection: names for `--set pmemsim.faults=NAME,...`."""
    plugins.load_added()
    rows = [(fault.name, fault.what) for fault in _core.faults()]
    out.print(table("", ["fault", "what goes wrong"], rows))


@list_app.command("statistics", cls=Command)
@declared
def list_statistics() -> None:
    """List the statistics of a run: names for `show statistic`, and keys of `stats` in --json."""
    rows = [(each.name, each.unit, each.meaning) for each in statistics().values()]
    out.print(table("", ["statistic", "unit", "what it counts"], rows))


@list_app.command("experiments", cls=Command)
@declared
def list_experiments(
    name: Annotated[
        str | None, argument("PAPER", "A paper's name, or the path of its folder. Default: all.")
    ] = None,
) -> None:
    """List the papers' experiments and their ablations: names for `reproduce`.

    Examples: `pmemsim list experiments`, `pmemsim list experiments asap`

    The column `simulations` shows the size: the number of simulations without kept results, which
    is the same at the scales `quick` and `paper`.
    """
    rows = []
    for paper in map(load_paper, paper_names() if name is None else [name]):
        for each in paper.experiments.values():
            size = _size([both_columns(paper, each.id)])
            rows.append((paper.name, each.id, size, f"{each.title} ({each.where})"))
        for ablation in paper.ablations.values():
            size = _size(ablated(paper, ablation))
            rows.append((paper.name, ablation.id, size, f"ablation: {ablation.why}"))
    out.print(table("", ["paper", "experiment", ">simulations", "what it is"], rows))


def _size(chosen: Iterable[Chosen]) -> str:
    """Return the number of different simulations of experiments, in both columns."""
    columns = [each for one in chosen for each in (one.counted, one.described) if each]
    return f"{len({case for study in columns for case in study.cases('quick')}):,}"


@show_app.command("design", cls=Command)
@declared
def show_design(
    name: Annotated[
        str, argument("DESIGN", "A design's name, DESIGN@BACKEND, or a design's YAML file.")
    ],
) -> None:
    """Show a design: its four layers, what they require and provide, and its parameters.

    Example: `pmemsim show design sw-undo`
    """
    preset = load_preset("design", name)
    _print_heading(preset)
    resolved = {parameter.key: parameter.value for parameter in _resolve(preset)}
    known = {(layer.layer, layer.name): layer for layer in _core.layers()}
    rows = []
    for layer in _core.layer_names():
        for choice in resolved[layer].split(","):
            info = known[layer, choice]
            needs, gives = ", ".join(info.needs) or "-", ", ".join(info.gives) or "-"
            rows.append((layer, choice, info.summary, needs, gives))
    out.print(table("", ["layer", "choice", "what it does", "needs", "gives"], rows))
    _print_parameters(preset, lambda key: key in {setting.key for setting in preset.settings})


@show_app.command("machine", cls=Command)
@declared
def show_machine(
    name: Annotated[str, argument("MACHINE", "A machine's name, or its YAML file.")],
) -> None:
    """Show a machine: every parameter with its value, unit and source.

    Example: `pmemsim show machine asap`
    """
    preset = load_preset("machine", name)
    _print_heading(preset)
    layers = _core.layer_names()
    _print_parameters(preset, lambda key: key not in layers and not key.startswith("run."))


@show_app.command("statistic", cls=Command)
@declared
def show_statistic(
    name: Annotated[str, argument("STATISTIC", "A statistic's name, as in `pm.writes`.")],
) -> None:
    """Show a statistic: its unit, meaning and component, and its relations to other statistics.

    Example: `pmemsim show statistic pm.writes_merged`
    """
    found = statistic_of(name)
    component = found.component
    if component == "core":
        component += ": the sum over all cores; each core also has its own, as core0"
    facts = [
        ("meaning", found.meaning),
        ("unit", found.unit),
        ("component", component),
        ("module", found.module),
        ("declared at", f"{found.file}:{found.line}"),
        ("is", "\n".join(found.relations) or "part of no other statistic"),
        ("has parts", ", ".join(found.parts) or "none"),
        ("designs", _owners(found.designs, preset_names("design"), found.backends)),
        ("machines", _owners(found.machines, preset_names("machine"))),
    ]
    out.print(table(found.name, ["", "value"], facts))


def _owners(found: Sequence[str], every: Sequence[str], backends: Sequence[str] = ()) -> str:
    """Return in words which designs or machines have a statistic, and which backends add it."""
    if len(found) == len(every):
        return "all"
    with_backends = [f"all designs with a backend: {', '.join(backends)}"] if backends else []
    return "\n".join([*([", ".join(found)] if found else []), *with_backends]) or "in these designs"


def _resolve(preset: Preset) -> list[_core.Parameter]:
    return _core.Configuration(preset.settings).parameters


def _print_heading(preset: Preset) -> None:
    out.print(preset.name, markup=False, style="bold", end=": ")
    out.print(preset.summary, markup=False)
    if preset.citation:
        out.print(preset.citation, markup=False, style="dim")


def _print_parameters(preset: Preset, wanted: Callable[[str], bool]) -> None:
    sources = {(setting.key, setting.place): setting.source for setting in preset.settings}
    rows = []
    for parameter in _resolve(preset):
        key, place = parameter.key, parameter.place
        if wanted(key):
            source = sources.get((key, place)) or place
            rows.append((key, parameter.value, source, parameter.description))
    out.print(table("", ["parameter", ">value", "source", "meaning"], rows))
