"""Read the axes of a sweep from a YAML file, strictly.

    axes:                                  # every combination of their values
      workload: [queue, hashmap]           # or traces (.pmt)
      design: [sw-undo, asap]
      machine: asap                        # one value is an axis, too
      threads: [1, 2, 4]                   # and whatever else says how a workload is recorded
      pm.wpq_entries: [16, 64]             # any parameter, with the values that --set takes
    paired:                                # lists of one length, whose values go together
      - pm.trcd: [14ns, 140ns]
        pm.twr: [15ns, 150ns]

The values of `paired` count as one axis. Whatever is wrong with a value by itself is an error of
the file; values that don't go together are a point that fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.document import Item, of_values, read
from pmemsim.errors import Error, Problems, did_you_mean
from pmemsim.presets import Setting
from pmemsim.simulation import check_values
from pmemsim.targets import find_target
from pmemsim.workload_runs import WHOLE_NUMBERS, argument_problems

Value = bool | int | float | str
Combination = Mapping[str, Value]
"""A value of each axis, by its name, in the file's order."""

REQUIRED = {"workload": "workload: queue", "design": "design: sw-undo", "machine": "machine: asap"}
"""Keys that every point needs, with an example."""
RECIPE = (*WHOLE_NUMBERS, "duplicate_ratio", "mix", "log", "hints", "whole_run", "opt")
"""Keys that determine how a workload is recorded."""
_NUMBERS: dict[str, Callable[[str], int | float]] = {
    **dict.fromkeys(WHOLE_NUMBERS, int),
    "duplicate_ratio": float,
}


@dataclass(frozen=True)
class Spec:
    """The axes of a sweep; each has one name, or several whose values go together."""

    axes: tuple[tuple[Combination, ...], ...]

    @property
    def names(self) -> list[str]:
        """Return the names of all axes, in the file's order."""
        return [name for axis in self.axes for name in axis[0]]

    def axis_of(self, name: str) -> tuple[Combination, ...]:
        """Return the axis that has this name, alone or together with others."""
        (found,) = (axis for axis in self.axes if name in axis[0])
        return found

    def combinations(self) -> Iterator[Combination]:
        """Return all points; the last axis varies fastest."""
        for parts in itertools.product(*self.axes):
            yield {name: value for part in parts for name, value in part.items()}


def read_spec(path: Path) -> Spec:
    """Read a sweep's file; raises `ConfigError` with all its errors."""
    return _Reader().spec(read(path))


def spec_of(values: object, place: str) -> Spec:
    """Return the spec that has the same keys as a file; raises `ConfigError` with all errors."""
    return _Reader().spec(of_values(values, place))


class _Reader:
    """Reads a file to its end, and collects its errors."""

    def __init__(self) -> None:
        self._problems = Problems()
        self._names: set[str] = set()

    def spec(self, root: Item) -> Spec:
        axes: list[tuple[Combination, ...]] = []
        fields = root.entries()
        with self._problems.collected():
            root.fields(("axes",), ("paired",))
        each: dict[str, Item] | None = None
        if "axes" in fields:
            with self._problems.collected():
                each = fields["axes"].entries()
        with self._problems.collected():
            for name, item in (each or {}).items():
                axes.append(tuple({name: value} for value in self._distinct(name, item)))
        if "paired" in fields:
            with self._problems.collected():
                for group in fields["paired"].items():
                    with self._problems.collected():
                        axes.append(self._paired(group))
        for name, example in REQUIRED.items():
            # Axes that couldn't be read may have the name.
            if name not in self._names and each is not None:
                self._note(root.error(f"{name} is missing; add it to 'axes', as in '{example}'"))
        self._problems.raise_any()
        return Spec(tuple(axes))

    def _note(self, error: Error) -> None:
        self._problems.add([str(error)])

    def _paired(self, group: Item) -> tuple[Combination, ...]:
        columns = {name: self._values(name, item) for name, item in group.entries().items()}
        lengths = {name: len(item.values()) for name, item in group.entries().items()}
        if len(lengths) < 2:
            raise group.error("must contain at least two lists; write a single list under 'axes'")
        if len(set(lengths.values())) > 1:
            each = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise group.error(f"the lists must have equal lengths, but {each}")
        return tuple(
            # An invalid value is missing here, and the file is refused because of it.
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=False)
        )

    def _distinct(self, name: str, item: Item) -> list[Value]:
        values = self._values(name, item)
        for value in dict.fromkeys(value for value in values if values.count(value) > 1):
            self._note(item.error(f"the value '{value}' is given twice; remove one"))
        return values

    def _values(self, name: str, item: Item) -> list[Value]:
        """Return the values of one name that are valid in some combination."""
        known = (*REQUIRED, *RECIPE, *(parameter.key for parameter in _core.parameters()))
        if name not in known:
            self._note(item.error(f"unknown axis{did_you_mean(name, known)}"))
            return []
        if name in self._names:
            self._note(item.error("is given twice; remove one"))
        self._names.add(name)
        found: list[Value] = []
        for one in item.values():
            with self._problems.collected():
                found.append(_value(name, one))
        if not item.values():
            self._note(item.error("has no values; give at least one"))
        return found


def _value(name: str, item: Item) -> Value:
    """Return a value after the checks that don't depend on the other axes."""
    if name == "design":
        return item.preset_file("design")
    if name == "machine":
        return item.preset_file("machine")
    if name not in (*REQUIRED, *RECIPE):
        check_values([Setting(name, item.text(), item.place)])
        return item.text()
    text = item.text()
    if name == "whole_run":
        if text not in ("true", "false"):
            raise item.error(f"'{text}' must be true or false")
        return text == "true"
    try:
        if name == "workload":
            find_target(text)
            return text
        value = _NUMBERS[name](text) if name in _NUMBERS else text
    except ValueError:
        raise item.error(f"'{text}' is not a number") from None
    except Error as error:
        raise item.error(str(error)) from error
    arguments: dict[str, Any] = {name: value}
    for problem in argument_problems(**arguments):
        raise item.error(f"'{text}' {problem.partition(': ')[2]}")
    return value
