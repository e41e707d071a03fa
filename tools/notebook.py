#!/usr/bin/env python3
"""Executes the documentation's notebook again, and stores its outputs: make docs."""

from __future__ import annotations

import copy
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "tutorials" / "notebook.ipynb"


def executed(folder: Path) -> Any:  # noqa: ANN401 -- a notebook of nbformat, which has no types
    """Return the notebook after its cells have run in a folder; an error in one is raised."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute()
    return notebook


def without_progress(notebook: Any) -> Any:  # noqa: ANN401
    """Return a notebook without the places of its progress bars."""
    found = copy.deepcopy(notebook)
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not is_progress(each)]
    return found


def is_progress(output: dict[str, Any]) -> bool:
    """Return whether an output is the place of a progress bar that has ended."""
    return bool(output["output_type"] == "display_data" and output["data"] == {"text/plain": ""})


def printed(notebook: Any) -> list[str]:  # noqa: ANN401
    """Return what each code cell prints."""
    return [
        "".join(each.text for each in cell.outputs if each.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> int:
    """Execute the notebook, and store it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PMEMSIM_CACHE"] = folder
        nbformat.write(without_progress(executed(Path(folder))), NOTEBOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
