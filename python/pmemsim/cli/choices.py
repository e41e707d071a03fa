"""What a user names on the command line, turned into what is simulated."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.cli.console import err
from pmemsim.errors import Problems
from pmemsim.presets import Setting
from pmemsim.simulation import Configuration, configure


def names_of(text: str, problems: Problems) -> list[str]:
    """Designs' names, separated by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        problems.add(["--designs needs at least one design; see: pmemsim list designs"])
    return distinct(names, "design", problems)


def distinct(names: Sequence[str], what: str, problems: Problems) -> list[str]:
    """The names, each once; those that stand twice are problems."""
    each = list(dict.fromkeys(names))
    problems.add(
        f"{what} '{name}' stands twice; leave one out" for name in each if names.count(name) > 1
    )
    return each


def configurations_of(
    designs: Sequence[str], machine: str, extra: tuple[Setting, ...], problems: Problems
) -> list[Configuration]:
    """The designs on a machine, with what is set beside them.

    Says on standard error what a user has to know of how one works there.
    """
    configurations = []
    for design in designs:
        with problems.collected():
            configurations.append(configure(design, machine, extra=extra))
            for note in configurations[-1].notes:
                err.print(f"{design} on {machine}: {note}", markup=False)
    return configurations
