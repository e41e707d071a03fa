#!/usr/bin/env python3
"""Writes the generated tables of the documentation again: make docs.

A table is between `<!-- NAME -->` and `<!-- end of NAME -->`; the text around it is written by
hand. The sources of the tables are the installed pmemsim and the presets. The papers' pages have
tables of their own (tools/deviations.py). The tests compare the
pages with the tables (tests/python/test_generated_docs.py), and so does make lint (--check).
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import fill

import yaml

import combined
import deviations
from check_modules import LAYER_MODULES, REPOSITORY, module_includes
from machine_tables import loop_table, overview, published_table
from markdown_table import table
from pmemsim import _core
from pmemsim.cli.old_spellings import EXAMPLES, current_spelling
from pmemsim.declared_statistics import DeclaredStatistic, statistics
from pmemsim.presets import Preset, load_preset, preset_names
from pmemsim.rules import RULES, Rule
from pmemsim.stress import stress_sets
from python_reference import class_entries, error_entries, function_entries
from results_tables import results_tables

DOCS = Path(__file__).resolve().parents[1] / "docs"
LAYERS = _core.layer_names()
PUBLISHED_MACHINES = ("xeon-optane", "xeon-6140", "cxl-nv-cmm")
"""Machines with published measurements (benchmarks/real_machines.py)."""
MEASURED_MACHINES = ("xeon-2023", "amd-epyc")
"""Machines that `pmemsim calibrate` has measured (benchmarks/measurements)."""
MACHINES = ("asap", "lalea", "pmem-spec", "janus", "pmweaver", "cxl")


def resolved(*presets: Preset) -> dict[str, str]:
    """Every parameter's value with these presets."""
    settings = [setting for preset in presets for setting in preset.settings]
    return {each.key: each.value for each in _core.Configuration(settings).parameters}


def machine_parameters() -> list[str]:
    """Return the parameters that a machine must set: all except those of designs and of a run."""
    others = {"run", *LAYERS, *(group for layer in _core.layers() for group in layer.parameters)}
    keys = [parameter.key for parameter in _core.parameters()]
    return [key for key in keys if key.partition(".")[0] not in others]


def parameter_tables() -> str:
    """Return a table for each group of parameters; dram and pm share a table."""
    parameters = {parameter.key: parameter for parameter in _core.parameters()}
    groups: dict[str, list[tuple[str, ...]]] = {}
    for key, parameter in parameters.items():
        group = key.partition(".")[0] if "." in key else "layers"
        name = f"`{key}`"
        if group == "dram":
            twin = parameters[f"pm.{key.removeprefix('dram.')}"]
            assert {**parameter.to_dict(), "key": ""} == {**twin.to_dict(), "key": ""}, key
            name = f"`{key}`, `{twin.key}`"
            group = "dram, pm"
        if group == "pm" and f"dram.{key.removeprefix('pm.')}" in parameters:
            continue
        limits = " / ".join(f"`{choice}`" for choice in parameter.choices) or parameter.limits
        row = (name, parameter.type, parameter.value, limits, parameter.description)
        groups.setdefault(group, []).append(row)
    columns = ("parameter", "kind", "default", "limits or choices", "meaning")
    return "\n".join(
        f"## {group}\n\n{table(*columns, rows=rows)}" for group, rows in groups.items()
    )


def open_table() -> str:
    """Return an item for each source of values that the papers leave open (`_common`)."""
    rows: dict[str, list[str]] = {}
    for setting in load_preset("machine", "_common").settings:
        rows.setdefault(setting.source, []).append(f"`{setting.key}={setting.value}`")
    items = [f"- {', '.join(values)}: {source}" for source, values in rows.items()]
    wrapped = [
        fill(item, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for item in items
    ]
    return "\n".join([*wrapped, ""])


def machine_table() -> str:
    """Return a table of the machines' differences; values of `_common` are in italics.

    Parameters of a group whose values are equal in every machine share a row. If at most half of
    the machines have values of their own for a parameter, these are in a second table.
    """
    presets = {name: load_preset("machine", name) for name in MACHINES}
    values = {name: resolved(preset) for name, preset in presets.items()}
    rows: dict[tuple[str, ...], list[str]] = {}
    listed: dict[str, list[str]] = {name: [] for name in MACHINES}
    for key in machine_parameters():
        own = [name for name, preset in presets.items() if not _of_common(preset, key)]
        if len(own) > len(MACHINES) // 2:
            cells = [
                values[name][key] if name in own else f"*{values[name][key]}*" for name in MACHINES
            ]
            rows.setdefault((key.partition(".")[0], *cells), []).append(f"`{key}`")
        else:
            for name in own:
                listed[name].append(f"`{key}={values[name][key]}`")
    lines = [(", ".join(keys), *cells) for (_, *cells), keys in rows.items()]
    differing = table("parameter", *(f"`{name}`" for name in MACHINES), rows=lines)
    others = [(f"`{name}`", ", ".join(own)) for name, own in listed.items() if own]
    return f"{differing}\n{table('machine', 'other values of its preset', rows=others)}"


def _of_common(preset: Preset, key: str) -> bool:
    """Return whether a machine has the value of `_common`."""
    last = [setting for setting in preset.settings if setting.key == key][-1]
    return last.place.startswith("machines/_common.yaml")


def choice_table() -> str:
    """Return a table of the implementations of the four layers."""
    rows = [
        (c.layer, f"`{c.name}`", c.summary, ", ".join(c.needs), ", ".join(c.gives))
        for c in _core.layers()
    ]
    return table("layer", "choice", "what it does", "needs", "gives", rows=rows)


def design_table() -> str:
    """Return the designs in the order of their implementations, each after its parent."""
    order = [(choice.layer, choice.name) for choice in _core.layers()]
    rows = []
    for name in preset_names("design"):
        preset = load_preset("design", name)
        values = resolved(preset)
        choices = [values[layer] for layer in LAYERS]
        rank = [
            [order.index((layer, name)) for name in names.split(",")]
            for layer, names in zip(LAYERS, choices, strict=True)
        ]
        row = (f"`{name}`", *(f"`{choice}`" for choice in choices), preset.summary)
        rows.append((rank, len(preset.settings), name, row))
    return table("design", *LAYERS, "what it is", rows=[row for *_, row in sorted(rows)])


def backend_table() -> str:
    """Return a table of the backends that designs can be combined with."""
    rows = []
    for name in preset_names("backend"):
        preset = load_preset("backend", name)
        values = {setting.key: setting.value for setting in preset.settings}
        rows.append((f"`{name}`", f"`{values['backend']}`", preset.summary))
    return table("backend", "operations", "what it is", rows=rows)


def stress_table() -> str:
    """Return a table of the stress settings."""
    rows = [
        (f"`{s.name}`", s.why, ", ".join(f"`{key}={value}`" for key, value in s.values))
        for s in stress_sets().values()
    ]
    return table("set", "what happens with it", "settings", rows=rows)


def repository_table() -> str:
    """Return a table of the includes that are granted between the repository's folders."""
    rows = [
        (f"`{folder}/`", ", ".join(f"`{may}`" for may in granted) or "nothing")
        for folder, granted in REPOSITORY.items()
    ]
    return table("folder", "may include", rows=rows)


def modules_picture() -> str:
    """The simulator's modules, highest first, with an arrow for each module that another includes.

    Arrows that follow from other arrows are omitted. The layers have equal arrows and share a box.
    """
    includes = module_includes()
    boxes: dict[str, str] = dict.fromkeys(LAYER_MODULES, "designs_layers")
    box_of = {module: boxes.get(module, module.replace("/", "_")) for module in includes}
    lines = ["```mermaid", "flowchart TB"]
    shown = set()
    for module in reversed(includes):
        if box_of[module] not in shown:
            shown.add(box_of[module])
            names = [other for other in includes if box_of[other] == box_of[module]]
            lines.append(f'  {box_of[module]}["{"<br>".join(names)}"]')
    for box in dict.fromkeys(box_of[module] for module in reversed(includes)):
        targets = {
            box_of[other]: other
            for module, others in includes.items()
            if box_of[module] == box
            for other in others
            if box_of[other] != box
        }
        beneath = {target: _beneath(other, includes) for target, other in targets.items()}
        lines += [
            f"  {box} --> {target}"
            for target, other in reversed(targets.items())
            if not any(other in beneath[via] for via in targets if via != target)
        ]
    return "\n".join([*lines, "```", ""])


def _beneath(module: str, includes: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the modules that a module includes, directly or through others."""
    return set(includes[module]).union(*(_beneath(other, includes) for other in includes[module]))


def corpus_table() -> str:
    """Return a table of tests/corpus, grouped by the methods that find the programs' bugs."""
    cases = yaml.safe_load((DOCS.parent / "tests/corpus/corpus.yaml").read_text(encoding="utf-8"))
    ways = ("check", "px86", "recovery", "answers", "schedules")
    groups: dict[str, list[str]] = {}
    for name, case in cases.items():
        found_by = ", ".join(way for way in ways if way in case["found_by"])
        groups.setdefault(found_by, []).append(f"`{name}`")
    rows = [(found_by, str(len(names)), ", ".join(names)) for found_by, names in groups.items()]
    return table("found by", "bugs", "programs", rows=rows)


def report_table() -> str:
    """Return a table of the public reports that programs of tests/corpus come from."""
    cases = yaml.safe_load((DOCS.parent / "tests/corpus/corpus.yaml").read_text(encoding="utf-8"))
    rows = []
    for name, case in cases.items():
        if report := case.get("from"):
            url = f"https://github.com/{report.replace('#', '/issues/')}"
            rows.append((f"`{name}`", case["bug"], f"[{report}]({url})"))
    return table("program", "bug", "report", rows=rows)


def exclusion_table() -> str:
    """Return a table of the options that need or exclude others."""
    commands: dict[Rule, list[str]] = {}
    for command, rules in RULES.items():
        for rule in rules:
            commands.setdefault(rule, []).append(f"`{command}`")
    rows = [(", ".join(names), rule.sentence) for rule, names in commands.items()]
    return table("command", "rule", rows=rows)


def old_spelling_table() -> str:
    """Return a table of old spellings of commands, with the new ones."""
    rows = []
    for old in EXAMPLES:
        command, *words = old.split()
        rows.append((f"`{old}`", f"`{current_spelling(command, words)}`"))
    return table("old", "new", rows=rows)


def statistic_tables() -> str:
    """Return all statistics, a table for each component; that of pm also describes dram."""
    components: dict[str, list[DeclaredStatistic]] = {}
    for each in statistics().values():
        components.setdefault(each.component, []).append(each)
    names = {each.name for each in components["pm"]}
    assert {f"pm.{each.name.removeprefix('dram.')}" for each in components.pop("dram")} == names
    return "\n".join(
        f"## {component}\n\n{_owners(found)}\n\n{_statistic_table(found)}"
        for component, found in components.items()
    )


def _owners(found: Sequence[DeclaredStatistic]) -> str:
    """Return a sentence about the runs that have a component's statistics."""
    designs = {name for each in found for name in each.designs}
    if len(designs) == len(preset_names("design")):
        twin = ", and the same of `dram`" if found[0].component == "pm" else ""
        return f"All runs have these statistics{twin}."
    owners = [f"`{name}`" for name in preset_names("design") if name in designs]
    every = {name for each in found for name in each.backends}
    presets = [f"`{name}`" for name in preset_names("backend") if name in every]
    alone = [f"`{name}`" for name in sorted(every) if name.startswith("backend=")]
    parts = [
        *(["with designs " + ", ".join(owners)] if owners else []),
        *(["with backends " + ", ".join(presets)] if presets else []),
        *(["with " + ", ".join(alone)] if alone and not presets else []),
    ]
    return textwrap.fill(f"These statistics are present {'; '.join(parts)}.", 100)


def _statistic_table(found: Sequence[DeclaredStatistic]) -> str:
    """Return a table of a component's statistics; those that differ only in name share a row."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for each in found:
        relations = "; ".join(map(_relation, each.relations))
        rows.setdefault((each.unit, each.meaning, relations), []).append(each.name)
    return table(
        "statistic", "unit", "meaning", "relation to others",
        rows=[(f"`{_pattern(names)}`", *key) for key, names in rows.items()],
    )  # fmt: skip


def _relation(phrase: str) -> str:
    """Return a relation for the table, without the numbers of statistics that share a row."""
    return re.sub(r"_[a-z]+_\d+ns\b", "", phrase)


def _pattern(names: Sequence[str]) -> str:
    """Return the names as one, with their differences in braces; all have equally many parts."""
    columns = zip(*(re.split(r"(\d+|[._])", name) for name in names), strict=True)
    return "".join(
        column[0] if len(set(column)) == 1 else f"{{{', '.join(column)}}}" for column in columns
    )


def machines_that_exist() -> str:
    """Return a table of all comparisons with machines that exist."""
    return overview(PUBLISHED_MACHINES, MEASURED_MACHINES)


@dataclass(frozen=True)
class Section:
    """A generated part of a page."""

    page: str
    name: str
    generate: Callable[[], str]


SECTIONS = (
    Section("explanation/architecture.md", "includes", repository_table),
    Section("explanation/architecture.md", "modules", modules_picture),
    Section("guides/check_program.md", "corpus", corpus_table),
    Section("guides/check_program.md", "reports", report_table),
    Section("reference/commands.md", "exclusions", exclusion_table),
    Section("reference/commands.md", "old spellings", old_spelling_table),
    Section("guides/crash_design.md", "stress settings", stress_table),
    Section("explanation/layers.md", "choices", choice_table),
    Section("explanation/layers.md", "designs", design_table),
    Section("explanation/layers.md", "backends", backend_table),
    Section("explanation/combined.md", "gains", combined.gain_table),
    Section("explanation/combined.md", "early operations", combined.early_table),
    Section("explanation/combined.md", "accounts", combined.account_table),
    Section("explanation/combined.md", "logs", combined.log_table),
    Section("explanation/combined.md", "combinations", combined.combination_table),
    Section("explanation/validation.md", "machines that exist", machines_that_exist),
    *(
        Section(f"reference/machines/{name}.md", "published", partial(published_table, name))
        for name in PUBLISHED_MACHINES
    ),
    *(
        Section(f"reference/machines/{name}.md", "loops", partial(loop_table, f"{name}.json"))
        for name in MEASURED_MACHINES
    ),
    Section("reference/machines.md", "machines", machine_table),
    Section("reference/machines.md", "open parameters", open_table),
    Section("reference/parameters.md", "all parameters", parameter_tables),
    Section("reference/python.md", "functions", function_entries),
    Section("reference/python.md", "classes", class_entries),
    Section("reference/python.md", "errors", error_entries),
    Section("reference/results.md", "all results", results_tables),
    Section("reference/statistics.md", "all statistics", statistic_tables),
)


def section_of(page: str, name: str) -> str:
    """Return the text of a page between the comments that begin and end a section."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    _, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(begin)
    text, found, _ = rest.partition(end)
    assert found, f"docs/{page} has no section '{name}'"
    return text


def written(section: Section) -> bool:
    """Return whether a section equals its generated text."""
    return section_of(section.page, section.name) == section.generate()


def write(section: Section) -> None:
    """Replace a section of its page."""
    path = DOCS / section.page
    begin = f"<!-- {section.name} -->\n"
    old = begin + section_of(section.page, section.name)
    text = path.read_text(encoding="utf-8").replace(old, begin + section.generate())
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Write all sections, or check them with --check."""
    if sys.argv[1:] != ["--check"]:
        for section in SECTIONS:
            write(section)
        return deviations.main([])
    behind = [
        f"docs/{each.page}: '{each.name}' is behind" for each in SECTIONS if not written(each)
    ]
    behind += [
        f"experiments/{name}/DEVIATIONS.md: a table is behind"
        for name in deviations.PAPERS
        if not deviations.is_written(name)
    ]
    for each in behind:
        print(f"{each}; run: make docs", file=sys.stderr)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
