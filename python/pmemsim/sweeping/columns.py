"""Make a column of an axis' values: numbers in one unit, flags or text.

A file of a sweep has values as `--set` takes them, such as `14ns` or `32KiB`. Results have numbers,
so that other programs sort and plot them by size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pmemsim import _core
from pmemsim.sweeping.spec import Value

_QUANTITY = re.compile(r"([0-9.]+)(\D*)")
# The unit of a column, and the value of the written unit in it.
_UNITS = {
    "": ("", "1"), "%": ("", "0.01"), "cycle": ("cycles", "1"), "cycles": ("cycles", "1"),
    "ps": ("ns", "0.001"), "ns": ("ns", "1"), "us": ("ns", "1e3"), "ms": ("ns", "1e6"),
    "s": ("ns", "1e9"),
    "B": ("bytes", "1"), **{f"{p}iB": ("bytes", str(1024**n)) for n, p in enumerate("KMGT", 1)},
    **{f"{p}B/s": ("bytes/s", f"1e{3 * n}") for n, p in enumerate(("", "k", "M", "G", "T"))},
    **{f"{p}Hz": ("Hz", f"1e{3 * n}") for n, p in enumerate(("", "k", "M", "G"))},
    "pJ": ("nJ", "0.001"), "nJ": ("nJ", "1"), "uJ": ("nJ", "1e3"), "mJ": ("nJ", "1e6"),
    "mW": ("W", "0.001"), "W": ("W", "1"),
}  # fmt: skip
_TEXTS = ("choice", "choices")
_WHOLE = ("count", "size")


@dataclass(frozen=True)
class Column:
    """The values of an axis, a value for each point."""

    values: Sequence[Value]
    unit: str = ""
    """Unit of the numbers; empty for text, flags, counts and ratios."""


def column_of(axis: str, values: Sequence[Value]) -> Column:
    """Return the values of an axis as numbers if each of them is a number in the same unit."""
    kinds = {parameter.key: parameter.type for parameter in _core.parameters()}
    kind = kinds.get(axis, "choice")  # the axes of recordings have typed values already
    if kind in _TEXTS:
        return Column(values)
    if kind == "flag":
        return Column([str(value) == "true" for value in values])
    quantities = [_quantity(str(value)) for value in values]
    units = {unit for _, unit in quantities}
    if len(units) > 1:  # some delays are in ns and others in cycles
        return Column(values)
    numbers = [int(number) if kind in _WHOLE else float(number) for number, _ in quantities]
    return Column(numbers, *units)


def _quantity(text: str) -> tuple[Decimal, str]:
    """Return a number and its unit; the value has passed the checks of the simulator."""
    found = _QUANTITY.fullmatch(text)
    assert found, text
    unit, factor = _UNITS[found[2]]
    return Decimal(found[1]) * Decimal(factor), unit
