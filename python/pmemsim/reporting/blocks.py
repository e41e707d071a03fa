"""The parts of a report's page, which page.html renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Table:
    """A table; a column whose title begins with `>` has numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Plot:
    """An interactive plot."""

    title: str
    summary: str
    """What the plot shows, for readers who don't see it."""
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    """Traces and layout as Plotly.js takes them."""
    kind: ClassVar = "plot"


@dataclass(frozen=True)
class Verdict:
    """A verdict in words, and whether it is good; None: undecided."""

    text: str
    good: bool | None
    kind: ClassVar = "verdict"


@dataclass(frozen=True)
class Explanation:
    """The explanation of a violation, and the command that shows it again."""

    title: str
    lines: Sequence[str]
    command: str
    kind: ClassVar = "explanation"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: ClassVar = "text"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str
    kind: ClassVar = "heading"


@dataclass(frozen=True)
class Details:
    """Parts that are shown on demand, and not in print unless they are open."""

    title: str
    parts: Sequence[Block]
    kind: ClassVar = "details"


Block = Table | Plot | Verdict | Explanation | Text | Heading | Details


@dataclass(frozen=True)
class Section:
    """The results of one file."""

    title: str
    outcome: str
    """The result in a phrase, for the summary of the page."""
    good: bool | None
    """Whether nothing is wrong; None: there is no verdict."""
    parts: Sequence[Block] = field(default_factory=list)
