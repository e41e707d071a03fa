"""Find the recording tool chain inside the installed package.

`toolchain/` holds the compiler wrappers, the LLVM pass, the runtime, the `pm.h` library and the
workloads' sources.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pmemsim.errors import Error
from pmemsim.installation import installed_dir

_NO_RECORDER = (
    "this installation can't record, because clang and LLVM 19 were not found when it was built; "
    "install them (Debian and Ubuntu: apt-get install clang-19 llvm-19-dev), then install pmemsim "
    "again"
)
_NO_CLANG = "clang 19 was not found; install it (Debian and Ubuntu: apt-get install clang-19)"


def toolchain_dir() -> Path:
    """Return the folder of the tool chain inside the package."""
    return installed_dir() / "toolchain"


def compiler(name: str) -> Path:
    """Return the path of `pmemsim-cc` or `pmemsim-c++`; an `Error` says what to install."""
    path = toolchain_dir() / "bin" / name
    if not path.is_file():
        raise Error(_NO_RECORDER)
    if _clang() is None:
        raise Error(
            f"{_NO_CLANG}, or simulate recordings that pmemsim carries: example:queue, "
            "example:hashmap"
        )
    return path


def native_compiler() -> Path:
    """Return Clang 19, which the wrappers call, for programs that aren't to be recorded."""
    found = _clang()
    if found is None:
        raise Error(_NO_CLANG)
    return Path(found)


def _clang() -> str | None:
    """Return the path of Clang 19 where the wrappers find it, too."""
    found = shutil.which("clang-19") or shutil.which("/usr/lib/llvm-19/bin/clang")
    if found is None and (other := shutil.which("clang")):
        asked = subprocess.run([other, "-dumpversion"], capture_output=True, text=True, check=False)
        found = other if asked.stdout.startswith("19.") else None
    return found
