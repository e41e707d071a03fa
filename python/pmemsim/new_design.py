"""Write sources of a user's own designs from templates, and compile them to plug-ins."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from pmemsim import _core
from pmemsim.errors import Error
from pmemsim.installation import installed_dir

LAYERS = ("ordering", "atomicity", "backend", "precompute")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUBFOLDERS = {"my-design.yaml": "designs"}


def cmake_dir() -> Path:
    """Return the folder of pmemsim's CMake package, for `-Dpmemsim_DIR=`."""
    return installed_dir() / "lib" / "cmake" / "pmemsim"


def write_design(name: str, layer: str, parent: Path) -> Path:
    """Write the sources of a minimal design that survives crashes, and return their new folder.

    The folder gets the design's name with underscores. Raises `Error` if the name isn't made of
    lower-case words, or if the folder exists.
    """
    if not _NAME.fullmatch(name):
        raise Error(
            f"{name}: a design's name must be in lower case with hyphens, as in write-through"
        )
    if layer not in LAYERS:
        raise Error(f"--layer {layer}: must be one of {', '.join(LAYERS)}")
    if any(each.name == name for each in _core.layers()):
        raise Error(f"{name}: an implementation in pmemsim has this name; choose another one")
    words = name.split("-")
    names = {
        "my-design": name,
        "my_design": "_".join(words),
        "MyDesign": "".join(map(str.capitalize, words)),
    }
    folder = parent / names["my_design"]
    if folder.exists():
        raise Error(f"{folder}: the folder already exists; choose another name, or remove it")
    templates = installed_dir() / "templates"
    files = [*(templates / "common").iterdir(), *(templates / layer).iterdir()]
    for file in sorted(file for file in files if file.is_file()):
        target = folder / _SUBFOLDERS.get(file.name, "") / _renamed(file.name, names)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_renamed(file.read_text(encoding="utf-8"), names), encoding="utf-8")
    return folder


def _renamed(text: str, names: dict[str, str]) -> str:
    for template, name in names.items():
        text = text.replace(template, name)
    return text


def build_plugin(folder: Path) -> Path:
    """Compile a plug-in's folder with its CMakeLists.txt, and return the path of the plug-in.

    Raises `Error` if a tool is missing, or with the compiler's messages.
    """
    if not (folder / "CMakeLists.txt").is_file():
        raise Error(
            f"{folder}: the folder has no CMakeLists.txt; `pmemsim new-design` creates a "
            "complete folder"
        )
    if shutil.which("cmake") is None:
        raise Error(
            "cmake was not found; install it with `pip install cmake` or `apt-get install cmake`"
        )
    if shutil.which("make") is None and shutil.which("ninja") is None:
        raise Error(
            "CMake needs make or ninja, and neither was found; install one with `apt-get install "
            "make` or `pip install ninja`"
        )
    build = folder / "build"
    generator = [] if shutil.which("make") else ["-G", "Ninja"]
    settings = [f"-Dpmemsim_DIR={cmake_dir()}", *generator]
    _run("cmake", "-S", str(folder), "-B", str(build), *settings)
    # After a build that fails, no older plug-in is loaded instead.
    for older in folder.glob("*.so"):
        older.unlink()
    _run("cmake", "--build", str(build), "--parallel")
    plugin = _only_plugin(folder)
    if b"pmemsim_plugin_rows" not in plugin.read_bytes():
        raise Error(
            f"{plugin}: the plug-in registers no implementation; end its source with "
            "PMEMSIM_PLUGIN(...)"
        )
    return plugin


def _only_plugin(folder: Path) -> Path:
    plugins = sorted(folder.glob("*.so"))
    if len(plugins) != 1:
        raise Error(f"{folder}: its CMakeLists.txt made {len(plugins)} plug-ins; it must make one")
    return plugins[0]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise Error(f"{' '.join(command[:2])} failed:\n{done.stdout.strip()}\n{said}".strip())
