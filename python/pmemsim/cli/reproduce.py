"""`pmemsim reproduce`: run a paper's experiments, and compare the results with the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim.cli.command import EXPLORATION, OUTPUT, TARGET, argument, declared, option
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import Json, keep_inputs
from pmemsim.cli.reproduce_tables import print_counts, print_end, print_experiment
from pmemsim.errors import Error
from pmemsim.files import check_writable
from pmemsim.reproduction.papers import paper_names
from pmemsim.reproduction.plan import Scale
from pmemsim.reproduction.run import ExperimentTable, reproduce_experiments
from pmemsim.reproduction.studies import choose
from pmemsim.rules import Given


@dataclass(frozen=True)
class _Options:
    all_papers: Annotated[
        bool, option(TARGET, "--all", help="Runs the experiments of all papers.")
    ] = False
    scale: Annotated[Scale, option(
        EXPLORATION, "--scale", value="quick|paper|smoke",
        help="Size of the runs: `quick` takes minutes, and `paper` runs ten times as many regions. "
            "`smoke` takes seconds per figure and only shows that everything runs: its numbers "
            "mean nothing.",
    )] = "quick"  # fmt: skip
    ablations: Annotated[
        bool, option(EXPLORATION, "--ablations", help="Also runs the papers' ablations.")
    ] = False
    summary: Annotated[bool, option(
        OUTPUT, "--summary",
        help="Prints only how many entries each paper reproduces (default: all papers), and draws "
            "no figures.",
    )] = False  # fmt: skip
    out_dir: Annotated[Path, option(
        OUTPUT, "--out", value="DIR",
        help="The folder to which figures and results.json are written.",
    )] = Path("reproduction")  # fmt: skip
    json_path: Json = None


@declared
def reproduce_command(
    names: Annotated[
        list[str] | None,
        argument(
            "PAPER [EXPERIMENT...]",
            "Papers, each followed by its experiments to run (default: all).",
        ),
    ] = None,
    *,
    given: Given,
    options: _Options,
    execution: Execution,
) -> None:
    """Reproduce a paper's experiments, and compare each result with the published one.

    For example:

        pmemsim reproduce asap lalea
        pmemsim reproduce asap fig7 fig10 --jobs 8
        pmemsim reproduce --summary

    `pmemsim list experiments` shows the papers' experiments and ablations (variations that show
    which mechanisms matter). Each entry has two values: `as measured`, on the machine and with the
    rules that the paper's figures came from, and `as described` in its text; the verdict is that
    of the first. A value is the mean of the benchmarks (geometric, but arithmetic for shares and
    units), averaged over three seeds, with its 95% confidence interval. Results are kept in the
    cache folder, so a second run, or one after Ctrl-C, simulates only missing ones. A deviation
    from the paper does not change the exit code, which is 0.
    """
    problems = given.problems(*(["PAPER"] if names else []))
    execution.check(problems)
    keep_inputs(problems, [options.json_path, execution.slurm_path], [])
    problems.raise_any()
    chosen = choose(names or paper_names(), options.scale, ablations=options.ablations)
    _make_folder(options.out_dir)
    json_path = options.json_path or str(options.out_dir / "results.json")
    if json_path != "-":
        check_writable(Path(json_path))
    found = reproduce_experiments(chosen, options.scale, execution.runner.open_traces, execution.do)
    found.to_json(json_path)
    figures = [None if options.summary else _draw(each, options.out_dir) for each in found.tables]
    if json_path == "-":
        return
    if options.summary:
        print_counts(found.rows, options.scale)
        return
    for each, figure in zip(found.tables, figures, strict=True):
        print_experiment(each.counted, each.rows, each.line_rows, figure)
    print_end(found.rows, json_path, options.scale)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Error(f"--out {path}: this is a file; name a folder") from error
    except OSError as error:
        raise Error(f"--out {path}: the folder could not be created: {error.strerror}") from error


def _draw(table: ExperimentTable, folder: Path) -> Path | None:
    if not table.has_figure:
        return None
    paper = table.counted.paper
    place = folder / paper.name / (paper.ablation.id if paper.ablation else "")
    place.mkdir(parents=True, exist_ok=True)
    figure = place / f"{table.counted.experiment.id}.png"
    table.figure.save_plot(figure)
    return figure
