"""Files that appear whole or not at all, and the folder for what may be made again."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pmemsim.errors import Error


def cache_dir() -> Path:
    """Where built workloads and recorded traces are kept (`PMEMSIM_CACHE` overrides)."""
    chosen = os.environ.get("PMEMSIM_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pmemsim"


def check_writable(path: Path) -> None:
    """Raise an `Error` now if a result could not be written to `path` later."""
    if path.is_dir():
        raise Error(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise Error(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise Error(f"{path}: the folder {path.parent} is not writable")


def overwritten(outputs: Iterable[Path], inputs: Iterable[Path]) -> list[str]:
    """Say which outputs would take the place of an input or of each other."""
    taken = {os.path.realpath(path) for path in inputs}
    found = []
    for path in outputs:
        if path.exists() and not path.is_file():  # /dev/null takes everything
            continue
        if os.path.realpath(path) in taken:
            found.append(f"{path}: this command reads or writes it already; choose another name")
        taken.add(os.path.realpath(path))
    return found


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place if the block succeeds.

    What is no ordinary file, such as /dev/null, stays where it is and is written to.
    """
    check_writable(path)
    special = path.exists() and not path.is_file()
    target = path.resolve()  # a link stays one
    # The suffix stays last, because writers choose a format by it.
    descriptor, name = tempfile.mkstemp(
        dir=None if special else target.parent,
        prefix=f".{path.stem}.",
        suffix=f".partial{path.suffix}",
    )
    os.close(descriptor)
    partial = Path(name)
    try:
        yield partial
        if special:
            path.write_bytes(partial.read_bytes())
            return
        umask = os.umask(0)
        os.umask(umask)
        partial.chmod(0o666 & ~umask)
        partial.replace(target)
    except OSError as error:
        raise Error(f"{path}: could not be written: {error.strerror or error}") from error
    except Error as error:
        if name not in str(error):
            raise
        raise Error(str(error).replace(name, str(path))) from error
    finally:
        partial.unlink(missing_ok=True)


def write_json(value: dict[str, Any], path: str) -> None:
    """Write JSON to a file, or to standard output if `path` is `-`."""
    text = json.dumps(value, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with replacing(Path(path)) as partial:
        partial.write_text(text)
