"""`pmemsim reproduce`: run a paper's experiments, and compare the results with the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim import result_cache
from pmemsim.cli.command import EXPLORATION, OUTPUT, TARGET, argument, declared, option
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import Json, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.reproduce_tables import print_counts, print_end, print_experiment
from pmemsim.cli.rules import Given
from pmemsim.errors import Error
from pmemsim.executor import Failure
from pmemsim.files import check_writable, write_json
from pmemsim.jobs import Job, Outcome
from pmemsim.reproduction import runs
from pmemsim.reproduction.measurements import Measurements
from pmemsim.reproduction.papers import paper_names
from pmemsim.reproduction.plan import Scale
from pmemsim.reproduction.report import to_dict
from pmemsim.reproduction.studies import Chosen, Study, choose, every_study
from pmemsim.reproduction.verdicts import Compared, compare
from pmemsim.targets import Target


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
    measured = measure_studies(every_study(chosen), options.scale, execution)
    tables = [_Table.of(each, measured) for each in chosen]
    _write(tables, options.scale, json_path)
    figures = [None if options.summary else _draw(each.counted, options.out_dir) for each in tables]
    if json_path == "-":
        return
    rows = [row for each in tables for row in each.rows]
    if options.summary:
        print_counts(rows, options.scale)
        return
    for each, figure in zip(tables, figures, strict=True):
        print_experiment(each.counted, each.rows, each.line_rows, figure)
    print_end(rows, json_path, options.scale)


Measured = dict[tuple[str, str, str, str], Measurements]
"""The measurements of each study, by its key."""


def compared(chosen: Chosen, measured: Measured) -> list[Compared]:
    """Return the entries of an experiment in both columns, or of an ablation."""
    described = measured[chosen.described.key] if chosen.described else None
    return compare(measured[chosen.counted.key], described)


@dataclass(frozen=True)
class _Table:
    """The measurements of an experiment in both columns, and of the lines under its table."""

    counted: Measurements
    described: Measurements | None
    lines: Sequence[Measurements]
    rows: Sequence[Compared]
    line_rows: Sequence[Sequence[Compared]]

    @classmethod
    def of(cls, chosen: Chosen, measured: Measured) -> _Table:
        described = measured[chosen.described.key] if chosen.described else None
        lines = [measured[line.key] for line in chosen.lines]
        line_rows = [compare(line, None) for line in lines]
        rows = compared(chosen, measured)
        return cls(measured[chosen.counted.key], described, lines, rows, line_rows)

    @property
    def measurements(self) -> list[Measurements]:
        """Return the different measurements, without a second column that equals the first."""
        counted, described = self.counted, self.described
        if described is None or described.equals(counted):
            return [counted, *self.lines]
        return [counted, described, *self.lines]


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Error(f"--out {path}: this is a file; name a folder") from error
    except OSError as error:
        raise Error(f"--out {path}: the folder could not be created: {error.strerror}") from error


def measure_studies(studies: Sequence[Study], scale: Scale, execution: Execution) -> Measured:
    """Record and simulate what isn't kept, and return all measurements."""
    cases = [study.cases(scale) for study in studies]
    everything = [case for of_one in cases for case in of_one]
    runs.configurations(everything)  # errors are reported before anything is recorded
    recipes = list(dict.fromkeys(case.run for case in everything))
    traces = open_traces([Target(recipe.workload, recipe) for recipe in recipes], execution.jobs)
    simulations = runs.prepare(everything, dict(zip(recipes, traces, strict=True)))
    execution.do(list(simulations.values()), "simulations", _raise)
    outcomes = {
        case: result_cache.load(simulation, Outcome) for case, simulation in simulations.items()
    }
    return {
        study.key: Measurements(
            study.paper, study.experiment, scale, {case: outcomes[case] for case in of_one}
        )
        for study, of_one in zip(studies, cases, strict=True)
    }


def _raise(_: Job, failure: Failure | None) -> None:
    if failure:
        raise Error(failure.reason)


def _write(tables: Sequence[_Table], scale: Scale, json_path: str) -> None:
    """Write the JSON; an ablation that is a table and a line of another one is there once."""
    shown = {each.counted.key for each in tables}
    rows: list[Compared] = []
    measurements: Measured = {}
    for each in tables:
        rows += each.rows
        for line, of_line in zip(each.lines, each.line_rows, strict=True):
            rows += of_line if line.key not in shown else []
        measurements |= {one.key: one for one in each.measurements}
    write_json("reproduce", to_dict(list(measurements.values()), rows, scale), json_path)


def _draw(measured: Measurements, folder: Path) -> Path | None:
    if measured.experiment.metric == "storage":
        return None
    from pmemsim.reproduction.figures import draw

    paper = measured.paper
    place = folder / paper.name / (paper.ablation.id if paper.ablation else "")
    place.mkdir(parents=True, exist_ok=True)
    figure = place / f"{measured.experiment.id}.png"
    draw(measured, figure)
    return figure
