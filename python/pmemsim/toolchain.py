"""The recording tool chain inside the installed package, and its entry points.

`toolchain/` holds the compiler wrappers, the LLVM pass, the runtime, the `pm.h` library and the
workloads' sources.
"""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path
from typing import NoReturn

from pmemsim.errors import Error

_MISSING = (
    "the recording front end is not part of this installation, because clang and LLVM 19 were not "
    "found when it was built; install them (Debian and Ubuntu: apt-get install clang-19 "
    "llvm-19-dev), then install pmemsim again"
)


def toolchain_dir() -> Path:
    """The folder of the tool chain inside the package."""
    return Path(str(resources.files("pmemsim"))) / "toolchain"


def compiler(name: str) -> Path:
    """The path of `pmemsim-cc` or `pmemsim-c++`; an `Error` says what to install if it's absent."""
    path = toolchain_dir() / "bin" / name
    if not path.is_file():
        raise Error(_MISSING)
    return path


def _run(name: str) -> NoReturn:
    try:
        path = compiler(name)
    except Error as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        sys.exit(2)
    os.execv(path, [str(path), *sys.argv[1:]])


def run_cc() -> NoReturn:
    """Entry point of the command `pmemsim-cc`."""
    _run("pmemsim-cc")


def run_cxx() -> NoReturn:
    """Entry point of the command `pmemsim-c++`."""
    _run("pmemsim-c++")
