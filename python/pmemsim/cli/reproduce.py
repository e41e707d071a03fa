"""`pmemsim reproduce`: run a paper's experiments, and compare the results with the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pmemsim import result_cache
from pmemsim.cli.command import EXPLORATION, OUTPUT, argument, declared, option
from pmemsim.cli.console import out, table
from pmemsim.cli.execution import Execution
from pmemsim.cli.options import Json, keep_inputs
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.rules import Given
from pmemsim.errors import Error, did_you_mean
from pmemsim.executor import Failure
from pmemsim.files import check_writable, write_json
from pmemsim.jobs import Job, Outcome
from pmemsim.reproduce import runs
from pmemsim.reproduce.measurements import Measurements
from pmemsim.reproduce.papers import experiments_dir, is_paper, load_paper
from pmemsim.reproduce.plan import Experiment, Paper, Scale
from pmemsim.reproduce.report import to_dict
from pmemsim.reproduce.storage import storage
from pmemsim.reproduce.verdicts import Finding, findings
from pmemsim.targets import Target

Study = tuple[Paper, Experiment]


@declared
def reproduce_command(
    names: Annotated[
        list[str],
        argument(
            "PAPER [EXPERIMENT...]",
            "Papers, each followed by its experiments to run (default: all).",
        ),
    ],
    *,
    given: Given,
    scale: Annotated[
        Scale,
        option(
            EXPLORATION,
            "--scale",
            value="quick|paper",
            help="Size of the runs: `quick` takes minutes, and `paper` runs ten times as many "
            "regions.",
        ),
    ] = "quick",
    ablations: Annotated[
        bool, option(EXPLORATION, "--ablations", help="Also runs the papers' ablations.")
    ] = False,
    out_dir: Annotated[
        Path,
        option(
            OUTPUT,
            "--out",
            value="DIR",
            help="The folder to which figures and results.json are written.",
        ),
    ] = Path("reproduction"),
    json_path: Json = None,
    execution: Execution,
) -> None:
    """Reproduce a paper's experiments, and compare each result with the published one.

    For example:

        pmemsim reproduce asap lalea
        pmemsim reproduce asap fig7 fig10 --jobs 8
        pmemsim reproduce asap --scale paper --out asap-full

    `pmemsim list experiments` shows the papers' experiments and ablations (variations that show
    which mechanisms matter). Each value is the mean of the benchmarks (geometric, but arithmetic
    for shares and units), averaged over three seeds, with its 95% confidence interval. Results are
    kept in the cache folder, so a second run, or one after Ctrl-C, simulates only missing ones. A
    deviation from the paper does not change the exit code, which is 0.
    """
    problems = given.problems()
    execution.check(problems)
    keep_inputs(problems, [json_path, execution.slurm_path], [])
    problems.raise_any()
    chosen = _chosen(names, ablations)
    _make_folder(out_dir)
    json_path = str(out_dir / "results.json") if json_path is None else json_path
    if json_path != "-":
        check_writable(Path(json_path))
    measured = _measure(_with_lines(chosen), scale, execution)
    found = [findings(study) for study in measured]
    everything = [finding for of_one in found for finding in of_one]
    write_json(to_dict(measured, everything, scale), json_path)
    figures = [_draw(study, out_dir) for study in measured[: len(chosen)]]
    if json_path != "-":
        for study, of_one, figure in zip(measured, found, figures, strict=False):
            lines = [
                line
                for other, line in zip(measured, found, strict=True)
                if _is_line_of(other, study)
            ]
            _print(study, of_one, figure, lines)
        _print_summary([each for of_one in found[: len(chosen)] for each in of_one], json_path)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Error(f"--out {path}: this is a file; name a folder") from error
    except OSError as error:
        raise Error(f"--out {path}: the folder could not be created: {error.strerror}") from error


def _chosen(names: Sequence[str], ablations: bool) -> list[Study]:
    """Return the wanted experiments: all of each paper, or those named after the paper."""
    wanted: dict[str, list[str]] = {}
    for name in names:
        if not wanted or is_paper(name):
            if name in wanted:
                raise Error(f"paper '{name}' is given twice; remove one")
            wanted[name] = []
        else:
            wanted[list(wanted)[-1]].append(name)
    studies = []
    for name, experiments in wanted.items():
        paper = load_paper(name)
        extra = list(paper.ablations) if ablations else []
        for experiment in experiments or [*paper.experiments, *extra]:
            studies += _studies(paper, experiment)
    return studies


def _studies(paper: Paper, name: str) -> list[Study]:
    if name in paper.experiments:
        return [(paper, paper.experiments[name])]
    if name in paper.ablations:
        ablated = paper.ablated(paper.ablations[name])
        return [(ablated, experiment) for experiment in ablated.experiments.values()]
    hint = did_you_mean(name, [*paper.experiments, *paper.ablations])
    raise Error(f"{paper.name} has no experiment '{name}'{hint}")


def _with_lines(chosen: Sequence[Study]) -> list[Study]:
    """Return the studies, followed by the ablations that their experiments show in one line."""
    known = {_key(study) for study in chosen}
    lines = [line for paper, experiment in chosen for line in paper.lines(experiment)]
    return [*chosen, *(line for line in lines if _key(line) not in known)]


def _key(study: Study) -> tuple[str, str, str]:
    paper, experiment = study
    return paper.name, paper.ablation.id if paper.ablation else "", experiment.id


def _is_line_of(other: Measurements, study: Measurements) -> bool:
    """Return whether the other study is an ablation that the study shows in one line."""
    ablation = other.paper.ablation
    return (
        ablation is not None
        and ablation.always
        and study.paper.ablation is None
        and (other.paper.name, other.experiment.id) == (study.paper.name, study.experiment.id)
    )


def _measure(studies: Sequence[Study], scale: Scale, execution: Execution) -> list[Measurements]:
    cases = [paper.cases(experiment, scale) for paper, experiment in studies]
    everything = [case for of_one in cases for case in of_one]
    runs.configurations(everything)  # errors are reported before anything is recorded
    recipes = list(dict.fromkeys(case.run for case in everything))
    traces = open_traces([Target(recipe.workload, recipe) for recipe in recipes], execution.jobs)
    simulations = runs.prepare(everything, dict(zip(recipes, traces, strict=True)))
    execution.do(list(simulations.values()), "simulations", _raise)
    outcomes = {
        case: result_cache.load(simulation, Outcome) for case, simulation in simulations.items()
    }
    return [
        Measurements(paper, experiment, scale, {case: outcomes[case] for case in of_one})
        for (paper, experiment), of_one in zip(studies, cases, strict=True)
    ]


def _raise(_: Job, failure: Failure | None) -> None:
    if failure:
        raise Error(failure.reason)


def _draw(measured: Measurements, folder: Path) -> Path | None:
    if measured.experiment.metric == "storage":
        return None
    from pmemsim.reproduce.figures import draw

    paper = measured.paper
    place = folder / paper.name / (paper.ablation.id if paper.ablation else "")
    place.mkdir(parents=True, exist_ok=True)
    figure = place / f"{measured.experiment.id}.png"
    draw(measured, figure)
    return figure


def _print(
    measured: Measurements, found: Sequence[Finding], figure: Path | None,
    lines: Sequence[Sequence[Finding]],
) -> None:  # fmt: skip
    paper, experiment = measured.paper, measured.experiment
    title = f"{paper.name} {experiment.id}: {experiment.title} ({experiment.where})"
    if paper.ablation:
        title += f"\nablation {paper.ablation.id}: {paper.ablation.why}"
    rows = [_row(finding) for finding in found]
    if rows:
        sizes = [f">{group}" for group in paper.groups] if len(paper.groups) > 1 else []
        columns = ["id", ">paper", ">measured", ">measured/paper", "verdict", *sizes]
        out.print(table(title, columns, rows))
    for line in lines:
        out.print(_line(line), markup=False)
    for finding in found:
        if finding.seen:
            fact = finding.entry.fact
            out.print(f"{fact.id}: {finding.verdict}", markup=False)
            out.print(f"  condition: {fact.shape}\n  measured: {finding.seen}", markup=False)
    if experiment.metric == "storage":
        _print_storage(title, paper)
    if figure:
        out.print(f"figure: {figure}\n", markup=False)


def _line(found: Sequence[Finding]) -> str:
    """Return the values of an ablation, in the order of the table's rows."""
    ablation = found[0].paper.ablation
    assert ablation is not None
    settings = " ".join(f"{key}={value}" for key, value in ablation.settings)
    values = ", ".join(
        f"{finding.entry.fact.id.rpartition('.')[2]} {finding.measured:.3f}" for finding in found
    )
    return f"with {settings} (ablation {ablation.id}): {values}"


def _row(finding: Finding) -> list[str]:
    fact = finding.entry.fact
    groups = finding.paper.groups
    if finding.measured is None or fact.value is None:
        sizes = ["" for _ in groups]
        cells = [fact.id, "shape", "see below", "", finding.verdict]
    else:
        sizes = [
            f"{finding.groups[group].mean:.3f}" if group in finding.groups else ""
            for group in groups
        ]
        cells = [
            fact.id,
            f"{fact.value:g} {fact.unit}".strip(),
            f"{finding.measured:.3f} ± {finding.ci95:.3f}",
            "" if finding.ratio is None else f"{finding.ratio:.2f}",
            finding.verdict,
        ]
    return [*cells, *sizes] if len(groups) > 1 else cells


def _print_storage(title: str, paper: Paper) -> None:
    rows = [
        (s.name, s.formula, f"{s.bytes:g}", "" if s.printed is None else f"{s.printed:g}", s.where)
        for s in storage(paper)
    ]
    columns = ["structure", "formula", ">bytes", ">bytes in the paper", "section"]
    out.print(table(title, columns, rows))


def _print_summary(found: Sequence[Finding], json_path: str) -> None:
    counts = Counter(finding.verdict for finding in found)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    entries = f"{_counted(len(found))}: {verdicts}" if found else "no entry has a paper's value"
    out.print(f"{entries}; all values of this run: {json_path}", markup=False)
    deviating = [each for each in found if each.verdict in ("off", "fails")]
    for name in dict.fromkeys(finding.paper.name for finding in deviating):
        causes = experiments_dir() / name / "DEVIATIONS.md"
        if causes.is_file():
            out.print(f"causes of deviations: {causes}", markup=False)


def _counted(entries: int) -> str:
    return f"{entries} entry" if entries == 1 else f"{entries} entries"
