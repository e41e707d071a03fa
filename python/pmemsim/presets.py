"""Read YAML presets of machines, designs and backends strictly, with the line of each value.

A preset is a file `configs/machines/NAME.yaml`, `configs/designs/NAME.yaml` or
`configs/backends/NAME.yaml`, or a file of your own with the same keys:

    name: asap
    summary: One sentence.
    citation: Where the values come from.
    basis: paper               # optional, of a machine: exists, paper or "upper bound"
    inherits: other            # optional: start from this preset
    parameters:
      cores.frequency: {value: 2GHz, source: "Table 2"}
      cores.count: 18          # a value without a source

`DESIGN@BACKEND` is a design, too: the design in front of this backend, whose parameters it takes.

The simulator defines what the keys mean and checks their values; this module checks the form of the
file.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

from pmemsim.errors import ConfigError, Error, did_you_mean
from pmemsim.files import OWN_YAML
from pmemsim.installation import installed_dir
from pmemsim.plugins import folders, load_added, loaded

Kind = Literal["machine", "design", "backend"]
BEFORE = "@"
"""Separator of a design and its backend."""

_KEYS = ("name", "summary", "citation", "basis", "inherits", "parameters")
_BASES = ("exists", "paper", "upper bound")
"""Whether a machine can be bought, was assumed by a paper, or bounds what could be built."""
_VALUE_KEYS = ("value", "source")
_EXAMPLE = (
    "a preset has lines like 'name: mine', 'summary: what it is', 'inherits: NAME' and "
    "'parameters: {core.rob_entries: 64}'"
)


@dataclass(frozen=True)
class Setting:
    """A parameter's value and its source location: `asap.yaml:12` or `--set`."""

    key: str
    value: str
    place: str
    source: str = ""
    ships: bool = False
    """Whether the setting is in a preset of pmemsim's own, which may set it for other designs."""


@dataclass(frozen=True)
class Preset:
    """A named machine, design or backend; `settings` begin with the inherited ones."""

    kind: Kind
    name: str
    summary: str
    citation: str
    settings: tuple[Setting, ...]
    basis: str = ""
    """What a machine models: one of `_BASES`; empty: unknown."""


@cache  # finding the package takes longer than reading a preset, which asks for each of its lines
def preset_dir(kind: Kind) -> Path:
    """Return the folder of pmemsim's own presets of a kind."""
    return installed_dir() / "configs" / f"{kind}s"


def preset_names(kind: Kind) -> list[str]:
    """Return the names of presets of a kind, sorted, without those to inherit from.

    They are pmemsim's own and those of the user's folders (`plugins.folders`).
    """
    return sorted({path.stem for folder in _dirs(kind) for path in folder.glob("[!_]*.yaml")})


def _dirs(kind: Kind) -> list[Path]:
    """Return the folders with presets of a kind, pmemsim's own first."""
    return [preset_dir(kind), *(folder / f"{kind}s" for folder in folders())]


def load_preset(kind: Kind, name: str | Path) -> Preset:
    """Load a preset by its name, or by a path to a YAML file.

    Raises `ConfigError` with everything that is wrong.
    """
    problems: list[str] = []
    preset = read_preset(kind, name, problems)
    if preset is None or problems:
        raise ConfigError(problems)
    return preset


def read_preset(kind: Kind, name: str | Path, problems: list[str]) -> Preset | None:
    """Read as much of a preset as is valid, and add all errors to `problems`.

    None if there is nothing to read.
    """
    if not isinstance(name, str | os.PathLike):
        problems.append(f"{kind}: {name!r} must be a name, or the path of a YAML file")
        return None
    try:
        load_added()
        return _load(kind, os.fspath(name), problems, ())
    except ConfigError as error:
        problems += error.problems
    except Error as error:
        problems.append(str(error))
    return None


def parse_overrides(assignments: Iterable[str], problems: list[str]) -> list[Setting]:
    """Turn `key=value` texts of the command line into settings.

    Errors are added to `problems`.
    """
    settings = []
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip() or not value.strip():
            problems.append(f"--set {assignment}: write it as core.rob_entries=128")
            continue
        settings.append(Setting(key.strip(), value.strip(), "--set"))
    return settings


def _load(kind: Kind, name: str, problems: list[str], inheriting: tuple[Path, ...]) -> Preset:
    if kind == "design" and BEFORE in name and not Path(name).is_file():
        design, _, backend = name.partition(BEFORE)
        if not design or not backend:
            raise Error(
                f"{name}: write DESIGN{BEFORE}BACKEND; `pmemsim list backends` shows the "
                "names of backends"
            )
        return _before(design, backend, problems, inheriting)
    path = _find(kind, name)
    return _shipped(kind, path) if _is_own(path) else _read(kind, path, problems, inheriting)


@cache
def _shipped(kind: Kind, path: Path) -> Preset:
    """Return one of pmemsim's own presets, which don't change while it runs."""
    problems: list[str] = []
    preset = _read(kind, path, problems, ())
    if problems:
        raise ConfigError(problems)
    return preset


def _read(kind: Kind, path: Path, problems: list[str], inheriting: tuple[Path, ...]) -> Preset:
    if path in inheriting:
        raise ConfigError(
            [f"{_place(path)}: the preset inherits from itself; remove an 'inherits' line"]
        )
    fields = _fields(path, problems)
    inherited: tuple[Setting, ...] = ()
    if "inherits" in fields:
        base = _scalar(fields["inherits"], "inherits", path, problems)
        if base:
            inherited = _inherited(kind, base, problems, (*inheriting, path), fields["inherits"])
    for key in ("name", "summary"):
        if key not in fields:
            problems.append(f"{_place(path)}: the key '{key}' is missing")
    text = {
        key: (_scalar(fields[key], key, path, problems) or "") if key in fields else ""
        for key in ("name", "summary", "citation", "basis")
    }
    if text["basis"] and text["basis"] not in _BASES:
        problems.append(
            f"{_place(path)}: basis: {text['basis']}: must be one of {', '.join(_BASES)}"
        )
    own = _settings(fields.get("parameters"), path, problems)
    return Preset(
        kind, text["name"], text["summary"], text["citation"], (*inherited, *own), text["basis"]
    )


def _before(design: str, backend: str, problems: list[str], inheriting: tuple[Path, ...]) -> Preset:
    """Combine a design with a backend, whose parameters take precedence."""
    first = _load("design", design, problems, inheriting)
    second = _load("backend", backend, problems, inheriting)
    return Preset(
        "design",
        f"{first.name}{BEFORE}{second.name}",
        f"{first.summary}; before {second.summary}",
        "; ".join(citation for citation in (first.citation, second.citation) if citation),
        (*first.settings, *second.settings),
    )


def _inherited(
    kind: Kind, base: str, problems: list[str], inheriting: tuple[Path, ...], node: yaml.Node
) -> tuple[Setting, ...]:
    try:
        return _load(kind, base, problems, inheriting).settings
    except ConfigError:
        raise
    except Error as error:
        problems.append(f"{_place(inheriting[-1], node)}: inherits: {error}")
        return ()


def _find(kind: Kind, name: str) -> Path:
    if name.endswith((".yaml", ".yml")) or "/" in name:
        path = Path(name)
        if path.is_dir():
            raise Error(f"{name}: this is a folder; give the path of a {kind}'s YAML file")
        if not path.is_file():
            raise Error(
                f"{name}: no such file (expected a {kind} preset); write one, or choose a name "
                f"from `pmemsim list {kind}s`"
            )
        return path
    found = [path for folder in _dirs(kind) if (path := folder / f"{name}.yaml").is_file()]
    if len(found) > 1:
        raise Error(f"{found[1]}: {found[0]} has the same name; rename one")
    if not found:
        problem = f"unknown {kind} '{name}'" + did_you_mean(name, preset_names(kind))
        if kind == "design" and not loaded():
            problem += " (load a plug-in's design with --plugin FILE)"
        if Path(name).exists():  # the user may mean this file, not a preset
            what = "folder" if Path(name).is_dir() else "file"
            problem += f" (the {what} {name} is none: the name of a {kind}'s file ends with .yaml)"
        raise Error(problem)
    return found[0]


def _place(path: Path, node: yaml.Node | None = None) -> str:
    """Return `machines/asap.yaml:12` for a preset of pmemsim's own, else the given path."""
    shown = f"{path.parent.name}/{path.name}" if _is_own(path) else str(path)
    return f"{shown}:{node.start_mark.line + 1}" if node else shown


def _is_own(path: Path) -> bool:
    return path.parent in [preset_dir(kind) for kind in get_args(Kind)]


def _fields(path: Path, problems: list[str]) -> dict[str, yaml.Node]:
    try:
        loader = OWN_YAML if _is_own(path) else yaml.SafeLoader
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: the file could not be read: {error}"]) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(
            [f"{_place(path)}{line}: not YAML: {error.problem}; {_EXAMPLE}"]
        ) from error
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise ConfigError([f"{_place(path)}: not YAML: {reason}; {_EXAMPLE}"]) from error
    except RecursionError as error:
        raise ConfigError(
            [f"{_place(path)}: the file is nested too deeply for a preset"]
        ) from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError([f"{_place(path, root)}: {_what_it_is(root)}, not a preset; {_EXAMPLE}"])
    fields = _mapping(root, "a preset", path, problems)
    for key, node in fields.items():
        if key not in _KEYS:
            problems.append(f"{_place(path, node)}: unknown key '{key}'{did_you_mean(key, _KEYS)}")
    return fields


def _what_it_is(root: yaml.Node | None) -> str:
    if root is None:
        return "is empty"
    return "is a list" if isinstance(root, yaml.SequenceNode) else "is text"


def _mapping(
    node: yaml.Node | None, what: str, path: Path, problems: list[str]
) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        problems.append(f"{_place(path, node)}: {what} must be 'key: value' lines")
        return {}
    found: dict[str, yaml.Node] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append(f"{_place(path, key_node)}: {what}: a key must be one word")
            continue
        key = str(key_node.value)
        if key in found:
            first = found[key].start_mark.line + 1
            problems.append(
                f"{_place(path, key_node)}: the key '{key}' is given twice (first on line "
                f"{first}); remove one"
            )
            continue
        found[key] = value_node
    return found


def _scalar(node: yaml.Node, key: str, path: Path, problems: list[str]) -> str | None:
    """Return the text of a single value, or of a plain list of values joined by commas."""
    if isinstance(node, yaml.ScalarNode) and (node.value or node.style):
        text = str(node.value)
    elif isinstance(node, yaml.SequenceNode) and all(
        isinstance(item, yaml.ScalarNode) for item in node.value
    ):
        text = ",".join(str(item.value) for item in node.value)
    else:
        problems.append(f"{_place(path, node)}: {key}: must be one value")
        return None
    if control := _control_character(text):
        problems.append(
            f"{_place(path, node)}: {key}: the value contains {control!a}, which can't be printed; "
            "remove it"
        )
        return None
    return text


def _control_character(text: str) -> str:
    """Return the first character that would break a table or a terminal; empty if there is none."""
    broken = (c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t")
    return next(broken, "")


def _settings(node: yaml.Node | None, path: Path, problems: list[str]) -> list[Setting]:
    if node is None:
        return []
    settings = []
    for key, value_node in _mapping(node, "'parameters'", path, problems).items():
        source = ""
        if isinstance(value_node, yaml.MappingNode):
            entry = _mapping(value_node, key, path, problems)
            for name, part in entry.items():
                if name not in _VALUE_KEYS:
                    problems.append(
                        f"{_place(path, part)}: {key}: unknown key '{name}'"
                        + did_you_mean(name, _VALUE_KEYS)
                    )
            if "value" not in entry:
                problems.append(f"{_place(path, value_node)}: {key}: the key 'value' is missing")
                continue
            if "source" in entry:
                source = _scalar(entry["source"], f"{key}.source", path, problems) or ""
            value_node = entry["value"]
        value = _scalar(value_node, key, path, problems)
        if value is not None:
            settings.append(Setting(key, value, _place(path, value_node), source, _is_own(path)))
    return settings
