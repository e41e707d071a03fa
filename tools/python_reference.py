"""The reference of the Python package, from the docstrings of its public names.

A docstring begins with what the object is. `Args:`, `Returns:`, `Raises:` and `Example:` follow.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent, fill
from typing import Any

import pmemsim
from markdown_table import table
from pmemsim.errors import Error

_SECTIONS = ("Args", "Returns", "Raises", "Example")
_HEADING = re.compile(rf"^({'|'.join(_SECTIONS)}):$", re.MULTILINE)
_ENTRY = re.compile(r"^(\S+?): ", re.MULTILINE)
_LENGTH = 100


@dataclass(frozen=True)
class Described:
    """A docstring in parts."""

    text: str
    """What the object is, as paragraphs."""
    arguments: dict[str, str]
    returns: str
    raises: dict[str, str]
    example: str


def described(docstring: str) -> Described:
    """Return the parts of a docstring."""
    text, *rest = _HEADING.split(inspect.cleandoc(docstring))
    sections = {
        name: dedent(body).strip() for name, body in zip(rest[::2], rest[1::2], strict=True)
    }
    return Described(
        text.strip(),
        _entries(sections.get("Args", "")),
        _joined(sections.get("Returns", "")),
        _entries(sections.get("Raises", "")),
        _joined(sections.get("Example", "")).strip("`"),
    )


def _joined(text: str) -> str:
    return " ".join(text.split())


def _entries(section: str) -> dict[str, str]:
    """Return the entries `NAME: what it is` of a section, whose further lines are indented."""
    _, *parts = _ENTRY.split(section)
    return {name: _joined(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def public(kind: str) -> list[str]:
    """Return the public names of a kind, sorted: function, class, or error."""
    return [name for name in sorted(pmemsim.__all__) if _kind(name) == kind]


def _kind(name: str) -> str:
    found = getattr(pmemsim, name)
    if not inspect.isclass(found):
        return "function" if callable(found) else "value"
    return "error" if issubclass(found, Error) else "class"


def _paragraphs(text: str) -> str:
    return "\n\n".join(
        fill(_joined(each), _LENGTH, break_long_words=False, break_on_hyphens=False)
        for each in text.split("\n\n")
    )


def _block(code: str) -> str:
    # A docstring has a statement and its block in one line.
    formatted = re.sub(r"^(with .*?\)): ", r"\1:\n    ", code)
    return f"```python\n{formatted}\n```\n"


def _raises(parts: Described) -> str:
    if not parts.raises:
        return ""
    rows = [(f"`{name}`", text) for name, text in parts.raises.items()]
    return table("raises", "if", rows=rows)


def function_entries() -> str:
    """Return an entry for each public function."""
    return "\n".join(_function(name) for name in public("function"))


def _function(name: str) -> str:
    function = getattr(pmemsim, name)
    parts = described(function.__doc__)
    signature = inspect.signature(function)
    rows = [
        (f"`{argument}`", _default(signature, argument), parts.arguments[argument])
        for argument in parts.arguments
    ]
    arguments = table("argument", "default", "meaning", rows=rows) if rows else ""
    returns = _paragraphs(f"Returns `{_returned(signature)}`. {parts.returns}")
    return "\n".join(
        part
        for part in (
            f"### {name}\n", f"{_paragraphs(parts.text)}\n", arguments, f"{returns}\n",
            _raises(parts), _block(parts.example),
        )
        if part
    )  # fmt: skip


def _default(signature: inspect.Signature, argument: str) -> str:
    found = signature.parameters.get(argument)
    if found is None or found.kind is found.VAR_KEYWORD:  # **recipe
        return ""
    if found.default is found.empty:
        return "required"
    return f"`{found.default!r}`" if found.default not in (None, ()) else "none"


def _returned(signature: inspect.Signature) -> str:
    return str(signature.return_annotation).replace("pd.", "pandas.")


def class_entries() -> str:
    """Return an entry for each public class that isn't an error."""
    return "\n".join(_class(name) for name in public("class"))


def _class(name: str) -> str:
    parts = described(getattr(pmemsim, name).__doc__)
    arguments = [(f"`{argument}`", text) for argument, text in parts.arguments.items()]
    rows = [(f"`{member}`", text) for member, text in members(getattr(pmemsim, name))]
    return "\n".join(
        part
        for part in (
            f"### {name}\n", f"{_paragraphs(parts.text)}\n",
            table("argument", "meaning", rows=arguments) if arguments else "",
            table("member", "meaning", rows=rows), _raises(parts), _block(parts.example),
        )
        if part
    )  # fmt: skip


def members(of: type) -> Iterator[tuple[str, str]]:
    """Return the public fields, properties and methods of a class, with their meaning."""
    seen = {"command"}  # a detail of JSON
    for owner in of.__mro__:
        if not owner.__module__.startswith("pmemsim") or owner.__module__ == "pmemsim._core":
            continue
        for name, text in _own_members(owner):
            if name.partition("(")[0] not in seen:
                seen.add(name.partition("(")[0])
                yield name, text


def _own_members(owner: type) -> Iterator[tuple[str, str]]:
    """Return the members that a class declares; only the source has the docstrings of fields."""
    (tree,) = ast.parse(dedent(inspect.getsource(owner))).body
    assert isinstance(tree, ast.ClassDef)
    for node, following in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, _text_of(following)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            text = described(ast.get_docstring(node) or "").text
            decorators = {ast.unparse(each) for each in node.decorator_list}
            if decorators & {"property", "cached_property"}:
                yield node.name, _joined(text)
            else:
                yield f"{node.name}({_parameters(node.args)})", _joined(text)


def _text_of(node: ast.AST | None) -> str:
    """Return the docstring of the field before a statement; empty if it has none."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return _joined(str(node.value.value))
    return ""


def _parameters(arguments: ast.arguments) -> str:
    names: list[Any] = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    shown = [each.arg for each in names if each.arg not in ("self", "cls")]
    return ", ".join([*shown, *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])])


def error_entries() -> str:
    """Return an entry for each public error."""
    return "\n".join(_error(name) for name in public("error"))


def _error(name: str) -> str:
    parts = described(getattr(pmemsim, name).__doc__)
    return f"### {name}\n\n{_paragraphs(parts.text)}\n\n{_block(parts.example)}"
