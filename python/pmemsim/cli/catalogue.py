"""`pmemsim list` and `pmemsim show`: print names and details of designs, machines and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from pmemsim import _core
from pmemsim.catalogue import (
    experiment_entries,
    fault_entries,
    preset_entries,
    statistic_entries,
    workload_entries,
)
from pmemsim.cli.command import Command, Group, argument, declared
from pmemsim.cli.console import out, table
from pmemsim.cli.options import Json, check_outputs
from pmemsim.declared_statistics import DeclaredStatistic, statistic_of
from pmemsim.errors import Problems
from pmemsim.files import write_json
from pmemsim.presets import Kind, Preset, load_preset, preset_names

list_app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="List designs, backends, machines, workloads, statistics, faults or experiments.",
)
show_app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Show a design, a machine or a statistic in full."
)


def _write_list(what: str, entries: Sequence[dict[str, Any]], json_path: str | None) -> bool:
    """Write the entries as JSON if wanted; returns whether they are to be printed, too."""
    _check_json(json_path)
    if json_path:
        write_json(f"list {what}", {what: entries}, json_path)
    return json_path != "-"


def _check_json(json_path: str | None) -> None:
    """Raise a `ConfigError` if the JSON can't be written."""
    problems = Problems()
    check_outputs(problems, json_path)
    problems.raise_any()


def _list_presets(kind: Kind, json_path: str | None) -> None:
    entries = preset_entries(kind)
    has_basis = kind == "machine"
    if _write_list(f"{kind}s", entries, json_path):
        shown = ["name", *(["basis"] if has_basis else []), "summary"]
        rows = [[entry[key] or "-" for key in shown] for entry in entries]
        columns = [kind, *(["basis"] if has_basis else []), "what it is"]
        out.print(table("", columns, rows))


@list_app.command("designs", cls=Command)
@declared
def list_designs(*, json_path: Json = None) -> None:
    """List the designs: names for `--design` and `--designs`."""
    _list_presets("design", json_path)


@list_app.command("backends", cls=Command)
@declared
def list_backends(*, json_path: Json = None) -> None:
    """List the backends: names for `--backends`, and for designs such as `asap@NAME`."""
    _list_presets("backend", json_path)


@list_app.command("machines", cls=Command)
@declared
def list_machines(*, json_path: Json = None) -> None:
    """List the machines: names for `--machine`.

    The column `basis` says whether a machine exists, was assumed by a paper, or is an upper bound:
    a machine that is not sold.
    """
    _list_presets("machine", json_path)


@list_app.command("workloads", cls=Command)
@declared
def list_workloads(*, json_path: Json = None) -> None:
    """List pmemsim's own workloads: names for `run`, `compare` and `record`."""
    entries = workload_entries()
    if _write_list("workloads", entries, json_path):
        rows = [
            (each["name"], each["summary"], ", ".join(each["papers"]),
             str(each["data_bytes"] or "fixed"))
            for each in entries
        ]  # fmt: skip
        columns = ["workload", "what it does", "papers", ">--data-bytes"]
        out.print(table("", columns, rows))


@list_app.command("faults", cls=Command)
@declared
def list_faults(*, json_path: Json = None) -> None:
    """List the faults for injection: names for `--set pmemsim.faults=NAME,...`."""
    entries = fault_entries()
    if _write_list("faults", entries, json_path):
        rows = [tuple(entry.values()) for entry in entries]
        out.print(table("", ["fault", "what goes wrong"], rows))


@list_app.command("statistics", cls=Command)
@declared
def list_statistics(*, json_path: Json = None) -> None:
    """List the statistics of a run: names for `show statistic`, and keys of `stats` in --json."""
    entries = statistic_entries()
    if _write_list("statistics", entries, json_path):
        rows = [tuple(entry.values()) for entry in entries]
        out.print(table("", ["statistic", "unit", "what it counts"], rows))


@list_app.command("experiments", cls=Command)
@declared
def list_experiments(
    name: Annotated[
        str | None, argument("PAPER", "A paper's name, or the path of its folder. Default: all.")
    ] = None,
    *,
    json_path: Json = None,
) -> None:
    """List the papers' experiments and their ablations: names for `reproduce`.

    Examples: `pmemsim list experiments`, `pmemsim list experiments asap`

    The column `simulations` shows the size: the number of simulations without kept results, which
    is the same at the scales `quick` and `paper`.
    """
    entries = experiment_entries(None if name is None else [name])
    if _write_list("experiments", entries, json_path):
        rows = [
            (each["paper"], each["name"], f"{each['simulations']:,}",
             f"ablation: {each['summary']}" if each["is_ablation"] else each["summary"])
            for each in entries
        ]  # fmt: skip
        out.print(table("", ["paper", "experiment", ">simulations", "what it is"], rows))


@show_app.command("design", cls=Command)
@declared
def show_design(
    name: Annotated[
        str, argument("DESIGN", "A design's name, DESIGN@BACKEND, or a design's YAML file.")
    ],
    *,
    json_path: Json = None,
) -> None:
    """Show a design: its four layers, what they require and provide, and its parameters.

    Example: `pmemsim show design sw-undo`
    """
    _check_json(json_path)
    preset = load_preset("design", name)
    resolved = {parameter.key: parameter.value for parameter in _resolve(preset)}
    known = {(layer.layer, layer.name): layer for layer in _core.layers()}
    layers: list[dict[str, str | list[str]]] = [
        {
            "layer": layer,
            "choice": choice,
            "summary": known[layer, choice].summary,
            "needs": list(known[layer, choice].needs),
            "gives": list(known[layer, choice].gives),
        }
        for layer in _core.layer_names()
        for choice in resolved[layer].split(",")
    ]
    own = {setting.key for setting in preset.settings}
    parameters = _parameters(preset, lambda key: key in own)
    if json_path:
        shown = {**_heading(preset), "layers": layers, "parameters": parameters}
        write_json("show design", shown, json_path)
    if json_path != "-":
        _print_heading(preset)
        rows = [
            [cell if isinstance(cell, str) else ", ".join(cell) or "-" for cell in layer.values()]
            for layer in layers
        ]
        out.print(table("", ["layer", "choice", "what it does", "needs", "gives"], rows))
        _print_parameters(parameters)


@show_app.command("machine", cls=Command)
@declared
def show_machine(
    name: Annotated[str, argument("MACHINE", "A machine's name, or its YAML file.")],
    *,
    json_path: Json = None,
) -> None:
    """Show a machine: every parameter with its value, unit and source.

    Example: `pmemsim show machine asap`
    """
    _check_json(json_path)
    preset = load_preset("machine", name)
    layers = _core.layer_names()
    parameters = _parameters(preset, lambda key: key not in layers and not key.startswith("run."))
    if json_path:
        shown = {**_heading(preset), "basis": preset.basis or None, "parameters": parameters}
        write_json("show machine", shown, json_path)
    if json_path != "-":
        _print_heading(preset)
        _print_parameters(parameters)


@show_app.command("statistic", cls=Command)
@declared
def show_statistic(
    name: Annotated[str, argument("STATISTIC", "A statistic's name, as in `pm.writes`.")],
    *,
    json_path: Json = None,
) -> None:
    """Show a statistic: its unit, meaning and component, and its relations to other statistics.

    Example: `pmemsim show statistic pm.writes_merged`
    """
    _check_json(json_path)
    found = statistic_of(name)
    if json_path:
        keys = (
            "name", "unit", "meaning", "component", "module", "file", "line", "relations", "parts",
            "designs", "machines", "backends",
        )  # fmt: skip
        write_json("show statistic", {key: getattr(found, key) for key in keys}, json_path)
    if json_path != "-":
        _print_statistic(found)


def _print_statistic(found: DeclaredStatistic) -> None:
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


def _heading(preset: Preset) -> dict[str, Any]:
    return {"name": preset.name, "summary": preset.summary, "citation": preset.citation}


def _parameters(preset: Preset, wanted: Callable[[str], bool]) -> list[dict[str, str]]:
    """Return the wanted parameters, each with its value, the value's source, and its meaning."""
    sources = {(setting.key, setting.place): setting.source for setting in preset.settings}
    return [
        {
            "name": parameter.key,
            "value": parameter.value,
            "place": parameter.place,
            "source": sources.get((parameter.key, parameter.place)) or "",
            "meaning": parameter.description,
        }
        for parameter in _resolve(preset)
        if wanted(parameter.key)
    ]


def _print_parameters(parameters: Sequence[dict[str, str]]) -> None:
    rows = [
        (each["name"], each["value"], each["source"] or each["place"], each["meaning"])
        for each in parameters
    ]
    out.print(table("", ["parameter", ">value", "source", "meaning"], rows))
