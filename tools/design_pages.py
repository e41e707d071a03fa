"""Pages of the documentation's site, one for each design: what it is, and how near to its paper.

The sources are the presets, the implementations' tables of parameters and storage, the papers'
experiments with their committed results, and the pinned verdicts of crashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from deviations import EXPERIMENTS, PAPERS, paper_of, results_path
from markdown_table import table
from pmemsim import _core
from pmemsim.plots import save
from pmemsim.presets import Preset, load_preset, preset_names
from pmemsim.reproduction.plan import Entry, Experiment, Paper
from pmemsim.simulation import configure
from pmemsim.storage import Unknown, storage_of, total_bytes

VERDICTS = EXPERIMENTS.parent / "tests/pins/verdicts/crash.txt"
LAYERS = _core.layer_names()


@dataclass(frozen=True)
class Measured:
    """An entry of a paper that concerns a design, with its committed result."""

    paper: Paper
    experiment: Experiment
    entry: Entry
    result: Mapping[str, Any]

    @property
    def is_number(self) -> bool:
        """Return whether the paper and the measurement both have a ratio or a share."""
        fact = self.entry.fact
        return fact.value is not None and not fact.unit and "measured" in self.result


def pages() -> dict[str, str]:
    """Return the text of each design's page, by the design's name."""
    return {name: _page(load_preset("design", name)) for name in preset_names("design")}


def _page(preset: Preset) -> str:
    name = preset.name
    machine = _crashes().get(name, {}).get("machine") or "asap"
    parts = [
        f"# {name}\n\n{preset.summary}.\n\nSource: {preset.citation}.\n",
        f"    pmemsim compare queue --designs np,{name} --machine {machine}\n"
        if name != "np"
        else "    pmemsim run queue --design np --machine asap\n",
        f"## Layers\n\n{_layers(preset)}",
        f"## Parameters\n\n{_parameters(preset)}",
        f"## Storage on the chip\n\n{_storage(name, machine)}",
        f"## Crashes\n\n{_crash(name)}",
        f"## Beside its paper\n\n{_beside(name)}",
    ]
    return "\n".join(parts)


def _layers(preset: Preset) -> str:
    """Return a table of the design's implementations, with the section that each is from."""
    chosen = {setting.key: setting for setting in preset.settings}
    summaries = {(each.layer, each.name): each.summary for each in _core.layers()}
    rows = []
    for layer in LAYERS:
        setting = chosen[layer]
        for choice in setting.value.split(","):
            link = f"[{layer}](../explanation/{layer}.md)"
            rows.append((link, f"`{choice}`", summaries[layer, choice], setting.source))
    return table("layer", "implementation", "what it does", "from", rows=rows)


def _parameters(preset: Preset) -> str:
    meanings = {each.key: each.description for each in _core.parameters()}
    own = {each.key: each for each in preset.settings if each.key not in LAYERS}
    if not own:
        return "The preset sets none beyond the layers.\n"
    rows = [
        (f"`{key}`", f"`{setting.value}`", setting.source, meanings[key])
        for key, setting in own.items()
    ]
    return table("parameter", "value", "from", "meaning", rows=rows)


def _storage(name: str, machine: str) -> str:
    structures = storage_of(configure(name, machine))
    if isinstance(structures, Unknown):
        return f"{structures.reason}.\n"
    if not structures:
        return "None: it adds no structure to its machine.\n"
    rows = [(each.name, f"{each.bytes:,.0f}", f"{each.count:,}", each.where) for each in structures]
    whole = f"{total_bytes(structures):,.0f} bytes on the machine `{machine}`:\n\n"
    return whole + table("structure", "bytes", "number", "from", rows=rows)


def _crashes() -> dict[str, dict[str, str]]:
    """Return each design's pinned numbers of crashes, and the machine they are from."""
    found: dict[str, dict[str, str]] = {}
    for line in VERDICTS.read_text(encoding="utf-8").splitlines():
        machine, design, what, number = line.split()
        found.setdefault(design, {"machine": machine})[what] = number
    return found


def _crash(name: str) -> str:
    numbers = _crashes().get(name)
    if numbers is None:
        return "It guarantees nothing after a crash, so there is nothing to verify.\n"
    return (
        f"The tests crash it on the machine `{numbers['machine']}` at {numbers['points']} points "
        f"of a short recording, and verify {numbers['images']} images of PM: "
        f"**{numbers['violations']} violations**. "
        "[Crash verification](../explanation/crash.md) says what is verified.\n"
    )


def _beside(name: str) -> str:
    found = list(_measured(name))
    if not found:
        return "No reproduced figure has a value of this design.\n"
    rows = [_row(each) for each in found]
    papers = dict.fromkeys(each.paper.name for each in found)
    causes = ", ".join(f"[{paper}](../../experiments/{paper}/DEVIATIONS.md)" for paper in papers)
    figure = f"![Paper's values and measured ones]({name}.svg)\n\n" if _numbers(name) else ""
    return (
        f"{figure}"
        + table("entry", "what the paper reports", "paper", "measured", "verdict", rows=rows)
        + f"\nCauses of deviations: {causes}. To measure them again: "
        + ", ".join(f"`pmemsim reproduce {paper}`" for paper in papers)
        + ".\n"
    )


def _row(found: Measured) -> tuple[str, ...]:
    fact, result = found.entry.fact, found.result
    reported = "" if fact.value is None else f"{fact.value:g} {fact.unit}".strip()
    measured = f"{result['measured']:.3g} ± {result['ci95']:.2g}" if "measured" in result else ""
    return f"`{fact.id}`", fact.what or fact.shape, reported, measured, result["verdict"]


def _measured(design: str) -> Iterator[Measured]:
    """Return the entries in which a paper's design is run by this preset."""
    for name in PAPERS:
        paper = paper_of(name)
        results = json.loads(results_path(name).read_text(encoding="utf-8"))["entries"]
        own = {
            label
            for label, each in paper.designs.items()
            if design in (each.preset, each.redo_preset)
        }
        for experiment in paper.experiments.values():
            for entry in experiment.entries:
                if own & {entry.of, entry.over} or (entry.shape and own & {*experiment.designs}):
                    result = results[entry.fact.id]["as_measured"]
                    yield Measured(paper, experiment, entry, result)


def _numbers(design: str) -> list[Measured]:
    return [each for each in _measured(design) if each.is_number]


def figures(folder: Path, designs: Iterable[str]) -> None:
    """Draw each design's entries: the paper's value and the measured one with its interval."""
    for name in designs:
        if found := _numbers(name):
            save(partial(_draw, found), folder / f"{name}.svg", (7.5, 1.0 + 0.28 * len(found)))


def _draw(found: Sequence[Measured], figure: Figure) -> None:
    axes = figure.subplots()
    rows = range(len(found))
    reported = [each.entry.fact.value or 0.0 for each in found]
    axes.plot(reported, rows, "D", label="paper", color="black")
    axes.errorbar(
        [each.result["measured"] for each in found], rows,
        xerr=[each.result["ci95"] for each in found], fmt="o", label="pmemsim, as measured",
    )  # fmt: skip
    axes.set_yticks(rows, [each.entry.fact.id for each in found])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.4)
    axes.legend(fontsize=8)
