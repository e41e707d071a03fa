"""What a user names on the command line, turned into what is simulated."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import err
from pmemsim.cli.options import Recipe
from pmemsim.errors import Error, Problems
from pmemsim.presets import BEFORE, Setting, load_preset
from pmemsim.simulation import Configuration, configure, idle_problems
from pmemsim.targets import Target, find_target

AS_IT_IS = "none"
"""Among backends: a design as it is."""


def names_of(text: str, problems: Problems) -> list[str]:
    """Designs' names, separated by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        problems.add(["--designs names no design; `pmemsim list designs` shows the names"])
    return distinct(names, "design", problems)


def before_backends(designs: Sequence[str], text: str | None, problems: Problems) -> list[str]:
    """Each design before each of these backends, by commas; None: the designs as they are."""
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
    """The targets of these names, each once; those that aren't there are problems.

    `seed_is_own`: the command has a use for --seed beside recordings, too.
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
    """The names, each once; those that stand twice are problems."""
    each = list(dict.fromkeys(names))
    problems.add(
        f"{what} '{name}' is given twice; remove one" for name in each if names.count(name) > 1
    )
    return each


def each_configured(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> dict[str, Configuration | Error]:
    """Each design on the machine, or why it doesn't work there.

    What is set by hand, and none of those that work uses, is a problem.
    """
    found: dict[str, Configuration | Error] = {}
    for design in dict.fromkeys(designs):
        try:
            found[design] = configure(design, machine, extra=extra)
        except Error as error:
            found[design] = error
    problems.add(idle_problems([each for each in found.values() if not isinstance(each, Error)]))
    return found


def configurations_of(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> list[Configuration]:
    """The designs on a machine, with what is set beside them.

    Says on standard error what a user has to know of how one works there. What is set by hand, and
    none of them uses, is a problem.
    """
    configurations = []
    for design in designs:
        with problems.collected():
            configurations.append(configure(design, machine, extra=extra))
            for note in configurations[-1].notes:
                err.print(f"{design} on {machine}: {note}", markup=False)
    # A design with an error has no configuration that says which parameters it uses.
    if len(configurations) == len(designs):
        problems.add(idle_problems(configurations))
    return configurations
