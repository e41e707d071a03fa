"""Load plug-ins with a user's own designs, and find the folders of a user's own files.

A plug-in is a shared library with implementations of layers (`pmemsim new-design` writes the source
of one). Its folder, and each folder in the environment variable `PMEMSIM_PATH`, may have the same
subfolders as pmemsim's own: `designs`, `backends` and `machines` with presets, `workloads` with
programs, and `injected_faults.yaml`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pmemsim.errors import Error
from pmemsim.installation import installed_dir

PLUGINS = "PMEMSIM_PLUGINS"
"""The environment variable with the paths of plug-ins, separated by colons."""
PATH = "PMEMSIM_PATH"
"""The environment variable with additional folders to search, separated by colons."""

_loaded: list[Path] = []


def want(path: str) -> None:
    """Add a plug-in that this process and its child processes load.

    A source that has changed since the build is noted: the plug-in lacks the change.
    """
    if newer := _newer_source(Path(path)):
        print(
            f"pmemsim: note: {newer} is newer than the plug-in; to build it again, run: pmemsim "
            f"plugin build {newer.parent}",
            file=sys.stderr,
        )
    others = os.environ.get(PLUGINS)
    absolute = str(Path(path).absolute())
    os.environ[PLUGINS] = f"{others}:{absolute}" if others else absolute


def load_added() -> None:
    """Load the plug-ins of `PMEMSIM_PLUGINS` that aren't loaded yet.

    Raises `Error` with the plug-in's path if one can't be loaded.
    """
    for name in filter(None, os.environ.get(PLUGINS, "").split(":")):
        path = Path(name).resolve()
        if path in _loaded:
            continue
        if not path.is_file():
            raise Error(f"{name}: no such plug-in; build it with `pmemsim plugin build FOLDER`")
        from pmemsim import _core

        _core.load_plugin(str(path), str(installed_dir() / "lib" / "libpmemsim.so"))
        _loaded.append(path)


def _newer_source(plugin: Path) -> Path | None:
    """Return a source of the plug-in's folder that has changed since the build, if there is one."""
    if not plugin.is_file():
        return None
    built = plugin.stat().st_mtime
    sources = (path for path in plugin.parent.glob("*.[ch]pp") if path.stat().st_mtime > built)
    return next(iter(sorted(sources)), None)


def loaded() -> tuple[Path, ...]:
    """Return the loaded plug-ins, in their order."""
    load_added()
    return tuple(_loaded)


def options() -> list[str]:
    """Return the options that name the loaded plug-ins, for repeating this command anywhere."""
    return [word for path in loaded() for word in ("--plugin", str(path))]


def folders() -> Iterator[Path]:
    """Return the folders of a user's own files: those of plug-ins, then those of `PMEMSIM_PATH`."""
    found = [path.parent for path in loaded()]
    for name in filter(None, os.environ.get(PATH, "").split(":")):
        folder = Path(name).absolute()
        if not folder.is_dir():
            raise Error(f"{PATH}: {name}: no such folder; create it, or remove it from {PATH}")
        found.append(folder)
    yield from dict.fromkeys(found)
