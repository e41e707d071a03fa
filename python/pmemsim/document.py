"""Read YAML files strictly: every error is reported with the file and the line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePath

import yaml

from pmemsim.arguments import plain
from pmemsim.errors import ConfigError, Error, did_you_mean, on_one_line
from pmemsim.presets import BEFORE, Kind, load_preset, preset_names


class Item:
    """A value of a YAML file, with its place and its name there."""

    def __init__(self, path: Path | str, node: yaml.Node, name: str = "") -> None:
        """Make an item of a file, or of values that a text names, which have no lines."""
        self.name = name
        self._path = path
        self._node = node

    def error(self, reason: str) -> Error:
        """Return an error about this value, for the caller to raise."""
        named = f"{self.name}: " if self.name else ""
        return Error(f"{self.place}: {named}{reason}")

    @property
    def place(self) -> str:
        """Return the file and the line, or the name of values without lines."""
        if isinstance(self._path, str):
            return self._path
        return f"{self._path}:{self._node.start_mark.line + 1}"

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Item]:
        """Return the values of these keys; there may be no others."""
        found = self.entries()
        known = [*required, *optional]
        problems = [
            str(item.error(f"unknown key{did_you_mean(key, known)}"))
            for key, item in found.items()
            if key not in known
        ]
        problems += [
            str(self.error(f"the key '{key}' is missing")) for key in required if key not in found
        ]
        if problems:
            raise ConfigError(problems)
        return found

    @property
    def is_mapping(self) -> bool:
        """Return whether the value is a list of 'key: value' lines."""
        return isinstance(self._node, yaml.MappingNode)

    def entries(self) -> dict[str, Item]:
        """Return the values by their keys, whatever these are."""
        if not self.is_mapping:
            of_python = isinstance(self._path, str)
            raise self.error(
                "must be a dict" if of_python else "must be a list of 'key: value' lines"
            )
        found: dict[str, Item] = {}
        for key_node, value_node in self._node.value:
            item = Item(self._path, value_node, str(key_node.value))
            if item.name in found:
                raise item.error("is given twice; remove one")
            found[item.name] = item
        return found

    def items(self) -> list[Item]:
        """Return the values of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("must be a list: [one, another]")
        return [Item(self._path, node, self.name) for node in self._node.value]

    def values(self) -> list[Item]:
        """Return the values of a list, or the single value."""
        return self.items() if isinstance(self._node, yaml.SequenceNode) else [self]

    def text(self) -> str:
        """Return a single value as it is written."""
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value:
            raise self.error("must be one value")
        return str(self._node.value)

    def whole(self, least: int = 1) -> int:
        """Return a whole number."""
        text = self.text()
        if not text.isdecimal() or int(text) < least:
            raise self.error(f"'{text}' must be a whole number of at least {least}")
        return int(text)

    def number(self, *, or_zero: bool = False) -> float:
        """Return a number above 0, or 0 where that is allowed."""
        text = self.text()
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not (number > 0 or (or_zero and number == 0)):
            legal = "0 or a number above it" if or_zero else "a number above 0"
            raise self.error(f"'{text}' must be {legal}")
        return number

    def one_of(self, known: Collection[str], what: str) -> str:
        """Return a name that must be one of the known ones."""
        name = self.text()
        if name not in known:
            raise self.error(f"unknown {what} '{name}'{did_you_mean(name, known)}")
        return name

    def preset(self, kind: Kind) -> str:
        """Return a machine or a design: a known name, or the path of a YAML file.

        A design may be combined with a backend, as in `asap@enc+veri`.
        """
        name = self.text()
        if "/" in name or name.endswith((".yaml", ".yml")):
            return name
        design, before, backend = name.partition(BEFORE)
        if kind == "design" and before:
            self._known(design, "design")
            return f"{design}{BEFORE}{self._known(backend, 'backend')}"
        return self._known(name, kind)

    def _known(self, name: str, kind: Kind) -> str:
        if name not in preset_names(kind):
            raise self.error(f"unknown {kind} '{name}'{did_you_mean(name, preset_names(kind))}")
        return name

    def preset_file(self, kind: Kind) -> str:
        """Do the same as `preset`, and require a user's own file to be free of errors."""
        name = self.preset(kind)
        try:
            load_preset(kind, name)
        except Error as error:
            raise self.error(on_one_line(error)) from error
        return name


def read(path: Path) -> Item:
    """Read a whole YAML file."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise Error(f"{path}: not YAML: the file is no text in UTF-8") from error
    except OSError as error:
        raise Error(f"{path}: the file could not be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise Error(f"{path}{line}: not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise Error(f"{path}: not YAML: {error}") from error
    except RecursionError as error:
        raise Error(f"{path}: has too many nested levels; at most about 100 are read") from error
    if root is None:
        raise Error(f"{path}: is empty")
    return Item(path, root)


def of_values(values: object, place: str) -> Item:
    """Return values of a Python program as if they were read from a file; `place` names them."""
    try:
        text = yaml.safe_dump(_plain(values, place), sort_keys=False)
    except yaml.YAMLError as error:
        reason = error.args[0] if error.args else error
        raise Error(f"{place}: must be dicts and lists of texts and numbers ({reason})") from error
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert root is not None, "what yaml has written is not empty"
    return Item(place, root)


def _plain(value: object, place: str) -> object:
    """Return the value with lists, texts and numbers of Python instead of other libraries'.

    Raises an `Error` for an object that is none of them; `place` names the value.
    """
    if isinstance(value, Mapping):
        return {str(key): _plain(each, f"{place}: {key}") for key, each in value.items()}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(each, place) for each in value]
    found = plain(value)
    if found is not None and not isinstance(found, str | bytes | int | float):
        raise Error(f"{place}: must be texts and numbers, but one value is {value!r}")
    return found
