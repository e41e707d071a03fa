"""Write files that appear whole or not at all, and find the folder of pmemsim's cached files."""

from __future__ import annotations

import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from pmemsim.errors import ConfigError, Error
from pmemsim.installation import version

OWN_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads the YAML files that come with pmemsim, ten times as fast as the loader in Python.

It must not read a user's files: deep nesting overflows its stack.
"""


def cache_dir() -> Path:
    """Return the folder of built workloads and recorded traces (`PMEMSIM_CACHE` overrides)."""
    chosen = os.environ.get("PMEMSIM_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pmemsim"
    except RuntimeError as error:
        raise Error(
            "there is no home folder for the cache of recordings; set PMEMSIM_CACHE"
        ) from error


def check_writable(path: Path) -> None:
    """Raise an `Error` now if a result could not be written to `path` later."""
    try:
        is_folder = path.is_dir()
    except OSError as error:  # a name that is too long, say
        raise Error(f"{path}: {error.strerror}; choose another name") from error
    if is_folder:
        raise Error(f"{path}: this is a folder; name a file")
    if not path.parent.is_dir():
        raise Error(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise Error(f"{path}: the folder {path.parent} is not writable")


def check_trace_name(path: Path) -> None:
    """Raise an `Error` if the path isn't that of a recording."""
    if path.suffix != ".pmt":
        raise Error(f"{path}: a trace's name must end with .pmt")


def overwritten(outputs: Iterable[Path], inputs: Iterable[Path]) -> list[str]:
    """Report outputs that would replace an input or each other."""
    taken = {os.path.realpath(path) for path in inputs}
    found = []
    for path in outputs:
        if path.exists() and not path.is_file():  # /dev/null takes everything
            continue
        if os.path.realpath(path) in taken:
            found.append(
                f"{path}: this command already reads or writes this file; choose another name"
            )
        taken.add(os.path.realpath(path))
    return found


def _leftover_prefix() -> str:
    """Return the beginning of an unfinished file's name, before the number of the process."""
    return f".pmemsim-{os.uname().nodename}-"


def _remove_leftovers(folder: Path) -> None:
    """Remove files that killed processes of this machine have left there."""
    for path in folder.glob(f"{glob.escape(_leftover_prefix())}*"):
        number = path.name.removeprefix(_leftover_prefix()).partition("-")[0]
        if not number.isdecimal() or Path(f"/proc/{number}").exists():
            continue
        with suppress(OSError):  # another user's file, or already removed by another process
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a folder, by default a temporary one of the system, and remove it after the block.

    If this process is killed, the next process that creates a folder there removes it.
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_leftovers(parent)
    prefix = f"{_leftover_prefix()}{os.getpid()}-"
    with tempfile.TemporaryDirectory(dir=parent, prefix=prefix) as folder:
        yield Path(folder)


@contextmanager
def named(path: Path, name: str) -> Iterator[None]:
    """Make errors of the block name the file at `path`, because its own name is temporary."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(text.replace(str(path), name) for text in error.problems) from error
    except Error as error:
        raise type(error)(str(error).replace(str(path), name)) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Create a temporary file beside `path` that takes its place if the block succeeds.

    A special file, such as /dev/null, is written in place.
    """
    check_writable(path)
    special = path.exists() and not path.is_file()
    target = path.resolve()  # a link stays a link
    folder = Path(tempfile.gettempdir()) if special else target.parent
    # The suffix stays last, because writers choose a format by it.
    _remove_leftovers(folder)
    unique = f"{_leftover_prefix()}{os.getpid()}-{os.urandom(8).hex()}"
    partial = folder / f"{unique}{path.suffix}"
    try:
        partial.touch(exist_ok=False)
        with named(partial, str(path)):
            yield partial
        if special:
            path.write_bytes(partial.read_bytes())
            return
        partial.replace(target)
    except OSError as error:
        raise Error(f"{path}: could not be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def write_json(command: str, results: dict[str, Any], path: str) -> None:
    """Write a command's results as JSON to a file, or to standard output if `path` is `-`.

    The file says which command wrote it, in which version. docs/reference/results.md describes
    every key.
    """
    text = json.dumps({"command": command, **results, "version": version()}, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with replacing(Path(path)) as partial:
        partial.write_text(text)
