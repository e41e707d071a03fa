"""Describes the JSON of every command in tables, from its schema (results.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from markdown_table import table
from pmemsim.installation import installed_dir

_TYPES = {
    "string": "text", "integer": "number", "number": "number", "boolean": "true or false",
    "null": "null",
}  # fmt: skip
_IN_ALL = ("command", "version")


@cache
def definitions() -> dict[str, Any]:
    """Return the schema's named parts."""
    found = json.loads((installed_dir() / "results.schema.json").read_text(encoding="utf-8"))
    return dict(found["$defs"])


def results_tables() -> str:
    """Return a section for each command, and below it one for each new object in its JSON."""
    shown: set[str] = set()
    return "\n".join(
        section
        for name, part in definitions().items()
        if "command" in part.get("properties", {})
        for section in _sections(name, "##", shown)
    )


def _sections(name: str, level: str, shown: set[str]) -> Iterator[str]:
    part = definitions()[name]
    if name in shown or "properties" not in part:
        return
    shown.add(name)
    rows = [
        (f"`{key}`{' ⏱' if value.get('clock') else ''}", _type(value), value["description"])
        for key, value in part["properties"].items()
        if level != "##" or key not in _IN_ALL
    ]
    about = f"{part['description']}\n\n" if part["description"] else ""
    yield f"{level} {part['title']}\n\n{about}{table('key', 'type', 'meaning', rows=rows)}"
    for value in part["properties"].values():
        for other in _references(value):
            yield from _sections(other, "###", shown)


def _references(value: Any) -> list[str]:  # noqa: ANN401 -- any JSON
    """Return the names of the parts in a value of the schema, through parts without keys."""
    if isinstance(value, list):
        return [name for each in value for name in _references(each)]
    if not isinstance(value, dict):
        return []
    if "$ref" not in value:
        return [name for each in value.values() for name in _references(each)]
    name = value["$ref"].rpartition("/")[2]
    part = definitions()[name]
    return [name] if "properties" in part else _references(part)


def _type(value: dict[str, Any]) -> str:
    """Return a key's type in words, with a link to the section of its objects."""
    if "anyOf" in value:
        return " or ".join(_type(each) for each in value["anyOf"])
    if "enum" in value:
        return " / ".join(f"`{word}`" for word in value["enum"])
    if "$ref" in value:
        return _linked("object", value)
    if value.get("type") == "array":
        return _linked("list", value["items"])
    if value.get("type") == "object":
        return _linked("object by name", value["additionalProperties"])
    kinds = [value["type"]] if isinstance(value["type"], str) else value["type"]
    return " or ".join(dict.fromkeys(_TYPES[kind] for kind in kinds))


def _linked(word: str, value: dict[str, Any]) -> str:
    names = _references(value)
    if not names:
        return word
    title = definitions()[names[0]]["title"].lower().replace("'", "").replace(" ", "-")
    return f"[{word}](#{title})"
