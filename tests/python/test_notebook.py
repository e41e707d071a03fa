"""The documentation's notebook runs on the recordings that the package carries."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import notebook
from notebook import NOTEBOOK, executed, is_progress, printed, without_progress


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 -- of nbformat
    """Execute the notebook in an empty folder, with an empty cache."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PMEMSIM_CACHE", str(folder / "cache"))
        patch.setenv("PATH", "/nowhere")  # there is no compiler
        return executed(folder)


@pytest.mark.long
def test_stored_outputs_are_those_of_the_cells(again: Any) -> None:  # noqa: ANN401
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert printed(stored) == printed(without_progress(again)), "run: make docs"
    assert pictures(stored) == pictures(again) == 3


def pictures(of: Any) -> int:  # noqa: ANN401
    """Return the number of plots among the outputs."""
    return sum(
        "image/png" in output.get("data", {})
        for cell in of.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )


@pytest.mark.long
def test_a_progress_bar_is_shown_and_removed(again: Any) -> None:  # noqa: ANN401
    outputs = [each for cell in again.cells if cell.cell_type == "code" for each in cell.outputs]
    assert sum(is_progress(output) for output in outputs) >= 6
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(is_progress(o) for c in stored.cells for o in c.get("outputs", []))


class _Noting(NotebookClient):
    """Notes what a cell has displayed instead of an earlier output."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.shown: list[dict[str, str]] = []

    def process_message(self, msg: dict[str, Any], *cell: Any) -> Any:  # noqa: ANN401
        if msg["msg_type"] == "update_display_data":
            self.shown.append(msg["content"]["data"])
        return super().process_message(msg, *cell)


def test_progress_bar_names_running_jobs(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import time
        from pmemsim import progress
        progress._REFRESH_S = 0
        with progress.watch_of(True)(["<first>", "second"]) as report:
            report(0, 0.5)
            report(1, 1.0)
            raise SystemExit
    """)
    cells = [nbformat.v4.new_code_cell(code)]
    client = _Noting(
        nbformat.v4.new_notebook(cells=cells), allow_errors=True, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )  # fmt: skip
    client.execute()
    shown = client.shown
    assert "25%" in shown[0]["text/html"]
    assert "&lt;first&gt;" in shown[0]["text/html"]
    assert "<first>" not in shown[0]["text/html"]
    assert shown[-1] == {"text/plain": ""}  # removed, although the block ended with an error


@pytest.mark.long
def test_a_failing_cell_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "failing.ipynb"
    cells = [
        nbformat.v4.new_code_cell("import pmemsim; pmemsim.run('no', design='np', machine='asap')")
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    monkeypatch.setattr(notebook, "NOTEBOOK", path)
    with pytest.raises(Exception, match="unknown workload 'no'"):
        executed(tmp_path)
