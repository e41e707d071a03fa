"""Where pmemsim is installed, and its version."""

from __future__ import annotations

from pathlib import Path


def installed_dir() -> Path:
    """Return the package's folder; plug-ins are built with its `include`, `lib` and `lib/cmake`."""
    return Path(__file__).parent


def version() -> str:
    """Return pmemsim's version."""
    return (installed_dir() / "version.txt").read_text().strip()
