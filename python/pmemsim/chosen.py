"""Turn the names that a user gives into designs, and configurations of them."""

from __future__ import annotations

from collections.abc import Sequence

from pmemsim.errors import Error, Problems
from pmemsim.presets import BEFORE, Setting, load_preset
from pmemsim.simulation import Configuration, configure, settings_without_effect

AS_IT_IS = "none"
"""The name among `--backends` that leaves a design unchanged."""


def distinct(names: Sequence[str], what: str, problems: Problems) -> list[str]:
    """Return the names, each once; a repeated name is added to the problems."""
    each = list(dict.fromkeys(names))
    problems.add(
        f"{what} '{name}' is given twice; remove one" for name in each if names.count(name) > 1
    )
    return each


def before_backends(
    designs: Sequence[str], backends: Sequence[str] | None, problems: Problems
) -> list[str]:
    """Return each design combined with each of these backends; if None, the unchanged designs."""
    if backends is None:
        return list(designs)
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
