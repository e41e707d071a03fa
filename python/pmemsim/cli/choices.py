"""Turn the names on the command line into designs, machines and recordings."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import err
from pmemsim.cli.options import Recipe
from pmemsim.errors import Error, Problems
from pmemsim.presets import BEFORE, Setting, load_preset
from pmemsim.simulation import Configuration, configure, settings_without_effect
from pmemsim.targets import Target, find_target

AS_IT_IS = "none"
"""The name among `--backends` that leaves a design unchanged."""


def names_of(text: str, problems: Problems) -> list[str]:
    """Return the designs' names in a text that separates them by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        problems.add(["--designs names no design; `pmemsim list designs` shows the names"])
    return distinct(names, "design", problems)


def before_backends(designs: Sequence[str], text: str | None, problems: Problems) -> list[str]:
    """Return each design combined with each of these backends (separated by commas).

    If None, return the designs unchanged.
    """
    if text is None:
        return list(designs)
    backends = [name.strip() for name in text.split(",") if name.strip()]
    if not backends:
        problems.add(["--backends names no backend; `pmemsim list backends` shows the names"])
    known = []
    for backend in distinct(backends, "backend", problems):
        with problems.collected():
            if backend != AS_IT_IS:
                load_preset("backend", backend)
            known.append(backend)
    return [
        design if backend == AS_IT_IS else f"{design}{BEFORE}{backend}"
        for design in designs
        for backend in known
    ]


def find_targets(
    names: Sequence[str], recipe: Recipe, problems: Problems, *, seed_is_own: bool = False
) -> list[Target]:
    """Return the targets of these names, each once.

    A name without a target is added to the problems.

    `seed_is_own`: the command uses --seed not only for recordings.
    """
    found = []
    for name in distinct(names, "target", problems):
        arguments = recipe.arguments
        if seed_is_own and name.endswith(".pmt"):
            del arguments["seed"]
        with problems.collected():
            found.append(find_target(name, opt=recipe.opt, **arguments))
    return found


def distinct(names: Sequence[str], what: str, problems: Problems) -> list[str]:
    """Return the names, each once; a repeated name is added to the problems."""
    each = list(dict.fromkeys(names))
    problems.add(
        f"{what} '{name}' is given twice; remove one" for name in each if names.count(name) > 1
    )
    return each


def each_configured(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> dict[str, Configuration | Error]:
    """Return each design on the machine, or the error that prevents this.

    A setting by hand that no valid design uses is a problem.
    """
    found: dict[str, Configuration | Error] = {}
    for design in dict.fromkeys(designs):
        try:
            found[design] = configure(design, machine, extra=extra)
        except Error as error:
            found[design] = error
    problems.add(
        settings_without_effect([each for each in found.values() if not isinstance(each, Error)])
    )
    return found


def configurations_of(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> list[Configuration]:
    """Return the designs on a machine, with the user's settings.

    Notes about a design on this machine go to standard error. A setting by hand that no design uses
    is a problem.
    """
    configurations = []
    for design in designs:
        with problems.collected():
            configurations.append(configure(design, machine, extra=extra))
            for note in configurations[-1].notes:
                err.print(f"{design} on {machine}: {note}", markup=False)
    # A design with an error has no configuration that says which parameters it uses.
    if len(configurations) == len(designs):
        problems.add(settings_without_effect(configurations))
    return configurations
