"""Find the recording tool chain inside the installed package.

`toolchain/` holds the compiler wrappers, the LLVM pass, the runtime, the `pm.h` library and the
workloads' sources.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pmemsim.errors import Error
from pmemsim.installation import installed_dir

_MISSING = (
    "this installation can't record, because clang and LLVM 19 were not found when it was built; "
    "install them (Debian and Ubuntu: apt-get install clang-19 llvm-19-dev), then install pmemsim "
    "again"
)


def toolchain_dir() -> Path:
    """Return the folder of the tool chain inside the package."""
    return installed_dir() / "toolchain"


def compiler(name: str) -> Path:
    """Return the path of `pmemsim-cc` or `pmemsim-c++`; an `Error` says what to install."""
    path = toolchain_dir() / "bin" / name
    if not path.is_file():
        raise Error(_MISSING)
    return path


def native_compiler() -> Path:
    """Return Clang 19, which the wrappers call, for programs that aren't to be recorded."""
    compiler("pmemsim-cc")  # raises an error that names the missing package
    found = shutil.which("clang-19") or shutil.which("/usr/lib/llvm-19/bin/clang")
    if found is None:
        raise Error(
            "clang 19 was not found; install it (Debian and Ubuntu: apt-get install clang-19)"
        )
    return Path(found)
