"""Turn the names on the command line into designs, machines and recordings."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim import chosen
from pmemsim.chosen import distinct
from pmemsim.cli.console import err
from pmemsim.cli.options import Recipe
from pmemsim.errors import Problems
from pmemsim.presets import Setting
from pmemsim.simulation import Configuration, configure, settings_without_effect
from pmemsim.targets import Target, find_target, is_recording


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
    backends = None
    if text is not None:
        backends = [name.strip() for name in text.split(",") if name.strip()]
    return chosen.before_backends(designs, backends, problems)


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
        if seed_is_own and is_recording(name):
            del arguments["seed"]
        with problems.collected():
            found.append(find_target(name, opt=recipe.opt, **arguments))
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
