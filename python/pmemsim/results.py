"""Give results the same ways out: a table of pandas, JSON, a page of a notebook, and a plot."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pmemsim.arguments import check_path
from pmemsim.files import write_json

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_SHOWN_ROWS = 20
"""Rows of a table that a notebook shows at once."""


class Results(ABC):
    """The results of a command or of the Python function with its name."""

    command: ClassVar[str]
    """The command that writes the same JSON."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Describe the results in one line."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the results for `--json` (keys: docs/reference/results.md)."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the results as a table."""

    def to_json(self, path: str | Path) -> None:
        """Write the file that the command's --json writes; `-` is standard output."""
        check_path("path", path)
        write_json(self.command, self.to_dict(), str(path))

    def _repr_html_(self) -> str:
        return page_of(self.title, self.to_frame())


def typed_frame(
    rows: Sequence[Sequence[object]] | Sequence[Mapping[str, object]], columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return a table whose columns have these types of pandas, even if it has no rows."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns)).astype(dict(columns))


def page_of(title: str, frame: pd.DataFrame) -> str:
    """Return a table's first rows in HTML, with a title."""
    heading = f"<p>{html.escape(title)}</p>\n"
    if not len(frame):
        return heading
    rest = len(frame) - _SHOWN_ROWS
    more = f"\n<p>{rest:,} more rows</p>" if rest > 0 else ""
    shown = frame.head(_SHOWN_ROWS).to_html(border=0, float_format="{:,.6g}".format, na_rep="")
    return f"{heading}{shown}{more}"


Plotted = TypeVar("Plotted")
"""What a plot is drawn on: one object `Axes` of matplotlib, or several."""


class Plot(ABC, Generic[Plotted]):
    """A picture of results, in pmemsim's style."""

    @property
    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return the width and the height, in inches."""

    @abstractmethod
    def _draw(self, figure: Figure) -> Plotted:
        """Draw on an empty figure, and return its axes."""

    def plot(self) -> Plotted:
        """Plot in a notebook or a window, and return matplotlib's axes.

        Raises `Error` if matplotlib's backend can't be used here.
        """
        from pmemsim.plots import shown  # matplotlib takes longer to load than many commands to run

        return shown(self._draw, self._size)

    def save_plot(self, path: str | Path) -> None:
        """Write the plot to a file, whose suffix selects the format: .png, .pdf or .svg.

        Raises `Error` for another suffix, or if the file can't be written.
        """
        from pmemsim.plots import check_plot_path, save

        check_path("path", path)
        check_plot_path(Path(path))
        save(self._draw, Path(path), self._size)
