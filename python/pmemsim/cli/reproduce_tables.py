"""Print what `pmemsim reproduce` has measured: tables, explanations of deviations, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from pmemsim.cli.console import HAND_PLACED_FLUSHES, machine_line, out, table
from pmemsim.estimates import Estimate
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.papers import experiments_dir
from pmemsim.reproduction.plan import Paper, Scale
from pmemsim.reproduction.storage import storage
from pmemsim.reproduction.verdicts import Compared, Finding, counts

_SMOKE = "scale smoke: too few regions to compare; these numbers mean nothing, and none is counted"


def print_experiment(
    measured: Measurements, rows: Sequence[Compared], lines: Sequence[Sequence[Compared]],
    figure: Path | None,
) -> None:  # fmt: skip
    """Print an experiment's table, the lines of its ablations, its shapes and its deviations."""
    paper, experiment = measured.paper, measured.experiment
    title = f"{paper.name} {experiment.id}: {experiment.title} ({experiment.where})"
    if paper.ablation:
        title += f"\nablation {paper.ablation.id} ({paper.column}): {paper.ablation.why}"
    if measured.outcomes:
        title += f"\n{_machine(measured)}"
    if rows:
        out.print(table(title, _columns(paper), [_row(row) for row in rows]))
    for line in lines:
        out.print(_line(line), markup=False)
    for row in rows:
        if row.entry.shape:
            _print_shape(row)
        elif row.counted.deviates and paper.ablation is None:
            out.print(_deviation(row), markup=False, soft_wrap=True)
    if experiment.metric == "storage":
        _print_storage(title, paper)
    if figure:
        out.print(f"figure: {figure}\n", markup=False)


def _machine(measured: Measurements) -> str:
    """Return the machine of an experiment, with the settings that all of its designs have."""
    case, *others = measured.outcomes
    common = set(case.settings).intersection(*(other.settings for other in others))
    settings = {HAND_PLACED_FLUSHES: "false"} if case.design else {}
    settings |= {key: value for key, value in case.settings if (key, value) in common}
    return machine_line(case.machine, settings)


def _columns(paper: Paper) -> list[str]:
    sizes = [f">{group}" for group in paper.groups] if len(paper.groups) > 1 else []
    described = [] if paper.ablation else [">as described"]
    return ["id", ">paper", f">{paper.column}", ">measured/paper", "verdict", *described, *sizes]


def _row(row: Compared) -> list[str]:
    finding = row.counted
    fact, groups = finding.entry.fact, finding.paper.groups
    paper = "shape" if fact.value is None else f"{fact.value:g} {fact.unit}".strip()
    ratio = "" if finding.ratio is None else f"{finding.ratio:.2f}"
    cells = [fact.id, paper, _value(finding), ratio, finding.verdict]
    if row.described:
        cells.append(_value(row.described))
    sizes = [
        f"{finding.groups[group].mean:.3f}" if group in finding.groups else "" for group in groups
    ]
    return [*cells, *sizes] if len(groups) > 1 else cells


def _value(finding: Finding) -> str:
    if finding.measured is None or finding.ci95 is None:
        return finding.verdict if finding.entry.shape else "none"
    return str(Estimate(finding.measured, finding.ci95))


def _line(rows: Sequence[Compared]) -> str:
    """Return the values of an ablation, in the order of the table's rows."""
    ablation = rows[0].counted.paper.ablation
    assert ablation is not None
    settings = " ".join(f"{key}={value}" for key, value in ablation.settings)
    values = ", ".join(
        f"{row.entry.fact.id.rpartition('.')[2]} {row.counted.measured:.3f}" for row in rows
    )
    return f"with {settings} (ablation {ablation.id}): {values}"


def _print_shape(row: Compared) -> None:
    """Print a shape's condition with what was measured, in both columns if they differ."""
    fact, counted, described = row.entry.fact, row.counted, row.described
    out.print(f"{fact.id}: {counted.verdict}", markup=False)
    out.print(f"  condition: {fact.shape}\n  measured: {counted.seen}", markup=False)
    if described and described.seen != counted.seen:
        out.print(f"  as described: {described.verdict}; {described.seen}", markup=False)
    if counted.deviates and counted.paper.ablation is None:
        out.print(f"  cause: {_cause(row)}", markup=False, soft_wrap=True)


def _deviation(row: Compared) -> str:
    """Return an entry that is off with its cause, in one line."""
    fact, why = row.entry.fact, "cause: " if row.entry.cause else ""
    return f"{fact.id} {fact.value:g} → {row.counted.measured:.3g}; {why}{_cause(row)}"


def _cause(row: Compared) -> str:
    cause = row.entry.cause
    if cause is None:
        return "unexplained"
    return f"{cause.of}; try: reproduce {row.counted.paper.given} {' '.join(cause.tries)}"


def _print_storage(title: str, paper: Paper) -> None:
    rows = [
        (s.name, s.formula, f"{s.bytes:g}", "" if s.printed is None else f"{s.printed:g}", s.where)
        for s in storage(paper)
    ]
    columns = ["structure", "formula", ">bytes", ">bytes in the paper", "section"]
    out.print(table(title, columns, rows))


def print_counts(rows: Sequence[Compared], scale: Scale) -> None:
    """Print how many entries each paper reproduces, and all together."""
    if scale == "smoke":
        out.print(_SMOKE, markup=False)
        return
    names = list(dict.fromkeys(row.counted.paper.name for row in rows))
    lines = {
        name: counts([row for row in rows if row.counted.paper.name == name]) for name in names
    }
    if len(names) > 1:
        lines["all"] = counts(rows)
    columns = [
        "paper", ">values", ">within 15%", ">within 10%", ">shapes", ">that hold",
        ">deviations with a cause", ">unexplained", ">used for inference",
    ]  # fmt: skip
    cells = [(name, *map(str, astuple(of_one))) for name, of_one in lines.items()]
    out.print(table("entries that are reproduced, as measured", columns, cells))


def print_end(rows: Sequence[Compared], json_path: str, scale: Scale) -> None:
    """Print the verdicts of a run, and where its values and the causes of deviations are."""
    if scale == "smoke":
        out.print(f"{_SMOKE}; all values of this run: {json_path}", markup=False)
        return
    found = Counter(row.counted.verdict for row in rows)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
    entries = f"{_counted(len(rows))}: {verdicts}" if rows else "no entry has a paper's value"
    out.print(f"{entries}; all values of this run: {json_path}", markup=False)
    deviating = [row.counted for row in rows if row.counted.deviates]
    for name in dict.fromkeys(finding.paper.name for finding in deviating):
        causes = experiments_dir() / name / "DEVIATIONS.md"
        if causes.is_file():
            out.print(f"causes of deviations: {causes}", markup=False)


def _counted(entries: int) -> str:
    return f"{entries} entry" if entries == 1 else f"{entries} entries"
