"""`pmemsim analyze`: analyses of a recording without simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from pmemsim.arguments import check_jobs, check_whole
from pmemsim.chosen import distinct
from pmemsim.cli.command import OUTPUT, WORKLOAD, Command, Group, declared, option
from pmemsim.cli.console import out, percent, progress_of, table
from pmemsim.cli.options import Jobs, Json, Plot, Recipe, Targets, check_outputs, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.errors import Problems
from pmemsim.files import write_json
from pmemsim.parallel import Report, run_all
from pmemsim.predictability import (
    ALL_STORES,
    SHARES,
    WITHOUT_OWN_STORES,
    Found,
    Predictability,
    PredictabilityPlot,
    predictability,
    share_found,
)
from pmemsim.targets import Target, find_target
from pmemsim.trace import Trace

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Analyse recordings without simulating time."
)

_COLUMNS = ("address", "data", "both", "data by 8 bytes", "both")


@dataclass(frozen=True)
class Recipes(Recipe):
    """Options of the workloads' recordings, at several optimisation levels."""

    opt: Annotated[str | None, option(
        WORKLOAD, "--opt", value="LEVEL,...", default="O2",
        help="Optimisation levels, separated by commas: O0, O1, O2 or O3. `O0+O2` compiles the "
            "program with O0 and pm.h's library with O2.",
    )] = None  # fmt: skip


@app.command("predictability", cls=Command)
@declared
def predictability_command(
    targets: Targets,
    *,
    recipes: Recipes,
    top: Annotated[
        int,
        option(
            OUTPUT,
            "--top",
            value="N",
            help="Prints at most N source lines of a single recording; --json writes all of them.",
        ),
    ] = 15,
    json_path: Json = None,
    plot_path: Plot = None,
    jobs: Jobs = None,
) -> None:
    """Measure how often earlier stores contain the address and the data of a write-back.

    The result is what a predictor without limits could find. It is an upper bound of PMWeaver's
    predictions (figure 10 of its paper). For example:

        pmemsim analyze predictability mine.pmt
        pmemsim analyze predictability queue hashmap --opt O0,O2 --plot predictability.png

    A write-back is a flush of a line of persistent memory that its thread has stored to since the
    line's last flush. Its address is found if an 8-byte value of an earlier store points into the
    line. Its data are found if each stored 4-byte chunk (or 8-byte word) equals one of an earlier
    store. Earlier stores include those to the line itself; the right half of the table excludes
    them.

    The command also prints:

    * the number of instructions between a line's last store and its write-back (figure 7);

    * the share of write-backs that the 20 most frequent sets of store instructions cause
      (figure 11);

    * for a single recording, the shares by source line of the last store.
    """
    problems = Problems()
    check_jobs(problems, jobs)
    check_outputs(problems, json_path, plot_path)
    check_whole(problems, "--top", top, 0)
    keep_inputs(problems, [json_path, plot_path], targets)
    traces = open_traces(_targets(targets, recipes, problems), jobs)
    with progress_of([_label(trace) for trace in traces]) as progress:
        found = run_all([_Task(trace) for trace in traces], jobs, progress)
    if json_path:
        write_json(
            "analyze predictability", {"recordings": [each.to_dict() for each in found]}, json_path
        )
    if plot_path:
        PredictabilityPlot(found).save_plot(plot_path)
    if json_path != "-":
        _print(found, top)


@dataclass(frozen=True)
class _Task:
    trace: Trace

    def __call__(self, report: Report) -> Predictability:
        return predictability(self.trace, report)


def _targets(names: Sequence[str], recipes: Recipes, problems: Problems) -> list[Target]:
    levels: list[str | None] = [None]
    if recipes.opt is not None:
        levels = list(distinct(recipes.opt.split(","), "level", problems))
    found = []
    for name in distinct(names, "target", problems):
        for level in levels:
            with problems.collected():
                found.append(find_target(name, opt=level, **recipes.arguments))
    problems.raise_any()
    return found


def _label(trace: Trace) -> str:
    return f"{trace.name} {trace.metadata.get('optimization', '')}".strip()


def _print(found: Sequence[Predictability], top: int) -> None:
    columns = ["workload", "opt", ">write-backs", *(f">{name}" for name in _COLUMNS)]
    without_own = [f">{name} without own" for name in _COLUMNS]
    rows = [
        (each.workload, each.optimization, f"{each.total.write_backs:,}", *_shares(each.total))
        for each in found
    ]
    title = "write-backs found in earlier stores, with and without stores to the line itself"
    out.print(table(title, [*columns, *without_own], rows))
    out.print(table("", ["workload", "opt", *_FURTHER], [_further(each) for each in found]))
    if len(found) == 1 and top > 0:
        lines = found[0].by_line[:top]
        rows = [
            (str(line), line.function, f"{part.write_backs:,}", *_shares(part))
            for line, part in lines
        ]
        columns = ["last stored at", "function", *columns[2:]]
        out.print(table("by source line", [*columns, *without_own], rows))
        if rest := len(found[0].by_line) - len(lines):
            out.print(f"{rest} more lines; --top {len(found[0].by_line)} shows all")


def _shares(found: Found) -> list[str]:
    return [
        percent(share_found(found, stores, what))
        for stores in (ALL_STORES, WITHOUT_OWN_STORES)
        for what in SHARES
    ]


_FURTHER = (
    ">half within instructions", ">90% within", ">sets of stores", ">of the 20 most frequent",
    ">flushes that write nothing back",
)  # fmt: skip


def _further(each: Predictability) -> tuple[str, ...]:
    bounds = [each.distance_of(share) for share in (0.5, 0.9)]
    return (
        each.workload,
        each.optimization,
        *("more" if bound is None else f"{bound:,}" for bound in bounds),
        f"{each.store_sets:,}",
        percent(each.frequent_share),
        f"{each.other_flushes:,}",
    )
