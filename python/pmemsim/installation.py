"""Where pmemsim is installed, its version, and the recordings that it carries."""

from __future__ import annotations

from pathlib import Path


def installed_dir() -> Path:
    """Return the package's folder; plug-ins are built with its `include`, `lib` and `lib/cmake`."""
    return Path(__file__).parent


def version() -> str:
    """Return pmemsim's version."""
    return (installed_dir() / "version.txt").read_text().strip()


def examples() -> dict[str, Path]:
    """Return the recordings that the package carries, by name.

    Each is a short run of the workload of the same name, so that a first comparison needs no
    compiler. Commands know it as `example:NAME`.

    Example:
        `pmemsim.examples()["queue"]`
    """
    return {path.stem: path for path in sorted((installed_dir() / "examples").glob("*.pmt"))}
