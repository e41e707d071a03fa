"""A machine preset is its paper's machine whole: `compare` agrees with `reproduce`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from pmemsim.presets import load_preset
from pmemsim.progress import watch_of
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.reproduction.plan import DESCRIBED, Case
from pmemsim.reproduction.run import measure_studies
from pmemsim.reproduction.studies import Study
from pmemsim.runner import Runner
from pmemsim.workload_runs import WorkloadRun
from support import SMALL, long_except, pmemsim
from tiny_paper import reproduce, write_paper

# Settings of experiments beside their machine's preset. Each has the reason why it isn't a property
# of that machine.
BESIDE_PRESETS = {
    ("asap", "all", "run.hand_placed_flushes"): "the programs' code, not the machine's",
    ("asap", "fig1", "core.full_fences"): "these programs have mfence, on a machine of its own",
    ("janus", "all", "core.count"): "the number of programs that run",
    ("janus", "all", "deduplication.duplicates"): "the programs' data have no duplicates",
    ("janus", "all", "deduplication.drawn_percent"): "a property of the programs' data",
    ("lalea", "fig7", "pm.interleaving"): "what the figure varies",
    ("pmem-spec", "synthetic", "pages.placement"): "the program chooses lines that share a set",
    ("pmweaver", "all", "core.count"): "the number of programs that run",
    ("pmweaver", "all", "backend.miss_latency"): "the artifact's; the text has no such time",
}
# An experiment of each paper with one of its benchmarks.
COMPARED = {
    "asap": ("fig7", "HM"),
    "janus": ("fig10", "Queue"),
    "lalea": ("fig4", "HashTable"),
    "pmem-spec": ("fig9", "Hashmap"),
    "pmweaver": ("fig18", "Array Swap"),
}


def settings_beside_presets(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a paper sets for all designs, for an experiment's, or of its machine for one."""
    paper = load_paper(name)
    of_machine = {setting.key for setting in load_preset("machine", paper.machine).settings}
    yield from ((name, "all", key) for key, _ in paper.settings)
    for experiment in paper.experiments.values():
        yield from ((name, experiment.id, key) for key, _ in experiment.settings)
    for design in paper.designs.values():
        yield from ((name, design.name, key) for key, _ in design.settings if key in of_machine)


@pytest.mark.quick
@pytest.mark.parametrize("name", paper_names())
def test_experiments_set_nothing_that_belongs_to_their_machine(name: str) -> None:
    for setting in settings_beside_presets(name):
        assert setting in BESIDE_PRESETS, f"it belongs to machines/{name}.yaml, or has a reason"


@pytest.mark.quick
def test_every_listed_setting_is_one_of_an_experiment() -> None:
    found = {setting for name in paper_names() for setting in settings_beside_presets(name)}
    assert found == set(BESIDE_PRESETS)


def as_described(name: str) -> Study:
    """Return an experiment with one benchmark, and the designs that are presets unchanged."""
    experiment, benchmark = COMPARED[name]
    paper = load_paper(name).for_smoke().in_column(experiment, DESCRIBED)
    study = paper.experiments[experiment]
    unchanged = [
        design
        for design in study.designs
        if not paper.designs[design].settings and not paper.designs[design].hints
    ]
    of_one = [each for each in study.benchmarks if each.name == benchmark][:1]
    study = replace(study, designs=tuple(unchanged), benchmarks=tuple(of_one), entries=())
    return Study(replace(paper, experiments={experiment: study}))


def recipe_words(run: WorkloadRun) -> list[str]:
    """Return the options that record this run."""
    options = {
        "--threads": run.threads, "--regions": run.regions, "--seed": run.seed, "--opt": run.opt,
        "--data-bytes": run.data_bytes, "--items": run.items, "--mix": run.mix,
        "--warm-up": run.warm_up, "--log": run.log, "--hints": run.hints,
        "--compute-instructions": run.compute_instructions or None,
    }  # fmt: skip
    words = [word for name, value in options.items() if value is not None
             for word in (name, str(value))]  # fmt: skip
    return [*words, "--whole-run"] if run.whole_run else words


def compare_words(name: str, case: Case) -> list[str]:
    """Return the options of a case's machine and recording, with the listed settings alone."""
    settings = dict(case.settings)
    words = ["--machine", case.machine, "--instances", settings.pop("run.instances")]
    for key, value in settings.items():
        assert {(name, where, key) for where in ("all", COMPARED[name][0])} & set(BESIDE_PRESETS)
        words += ["--set", f"{key}={value}"]
    return [*words, *recipe_words(case.run)]


@pytest.mark.parametrize("name", long_except(paper_names(), "asap", "janus"))
def test_compare_agrees_with_reproduce(name: str, tmp_path: Path) -> None:
    study = as_described(name)
    runner = Runner(watch_of(False))
    (measured,) = measure_studies([study], "smoke", runner.open_traces, runner.do).values()
    reproduced = {case.design: outcome.time_ns for case, outcome in measured.outcomes.items()}
    assert len(reproduced) > 1

    case = next(iter(measured.outcomes))
    done = pmemsim(
        "compare", case.run.workload, "--designs", ",".join(map(str, reproduced)),
        *compare_words(name, case), "--json", tmp_path / "compared.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    compared = json.loads((tmp_path / "compared.json").read_text())["runs"]
    assert {run["design"]: run["time_ns"] for run in compared} == reproduced


def test_both_commands_print_whether_flushes_are_placed_by_hand(
    tmp_path: Path, cache: Path
) -> None:
    words = ("compare", "queue", "--designs", "np,sw-undo", "--machine", "asap", *SMALL)
    assert "machine asap, run.hand_placed_flushes=false" in lines(pmemsim(*words))
    by_hand = ("--set", "run.hand_placed_flushes=true", "--set", "core.width=4")
    changed = "machine asap, run.hand_placed_flushes=true, core.width=4"
    assert changed in lines(pmemsim(*words, *by_hand))

    folder = write_paper(tmp_path / "tiny")
    plan = folder / "experiment.yaml"
    experiment = (folder, "speed", "--scale", "smoke", "--out", folder / "out")
    unchanged = "machine asap, run.hand_placed_flushes=false, run.instances=1"
    assert unchanged in lines(reproduce(cache, *experiment))
    machine = 'set: {run.hand_placed_flushes: "true"}'
    plan.write_text(plan.read_text().replace("machine: {", f"machine: {{{machine}, ", 1))
    changed = "machine asap, run.hand_placed_flushes=true, run.instances=1"
    assert changed in lines(reproduce(cache, *experiment))


def lines(done: CompletedProcess[str]) -> list[str]:
    """Return the lines that a command has printed."""
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]
