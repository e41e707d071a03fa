"""The list of all kinds of pins."""

from __future__ import annotations

from collections.abc import Callable

from pins import models, papers, parameters, statistics, verdicts
from pins.files import Files

KINDS: dict[str, Callable[[], Files]] = {
    "statistics": statistics.measure,
    "parameters": parameters.measure,
    "check": verdicts.check,
    "lint_hints": verdicts.lint_hints,
    "crash": verdicts.crash,
    "injected_faults": verdicts.injected_faults,
    "matrix": verdicts.matrix,
    "models": models.measure,
    "reproduce": papers.measure,
}
"""The function that measures the files of each kind."""
