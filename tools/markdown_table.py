"""Tables in Markdown, for generated parts of the documentation."""

from __future__ import annotations

from collections.abc import Sequence


def table(*columns: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table with these titles of columns."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
