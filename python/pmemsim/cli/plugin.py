"""`pmemsim new-design` and `pmemsim plugin`: create and build a user's own designs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmemsim import new_design
from pmemsim.cli.command import DESIGN, OUTPUT, Command, Group, argument, declared, option
from pmemsim.cli.console import out
from pmemsim.errors import Error
from pmemsim.presets import preset_names

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Build plug-ins that contain your own designs."
)


@declared
def new_design_command(
    name: Annotated[str, argument("NAME", "The design's name, as in write-through.")],
    *,
    layer: Annotated[
        str,
        option(
            DESIGN,
            "--layer",
            value="|".join(new_design.LAYERS),
            help="The layer that the design implements.",
        ),
    ],
    output: Annotated[
        Path,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="DIR",
            help="The folder in which the design's folder is created.",
        ),
    ] = Path(),
) -> None:
    """Write the sources of a new design that already works and survives crashes.

    For example:

        pmemsim new-design write-through --layer ordering
        pmemsim plugin build write_through
        pmemsim crash queue --plugin write_through/write_through.so -d write-through -m asap

    The new folder contains a header, a source, a preset, injected faults, a test and a
    CMakeLists.txt. docs/explanation/layer_rules.md explains what an implementation of each layer
    may do and must do.
    """
    if name in preset_names("design"):
        raise Error(f"{name}: a design of this name exists; choose another name")
    folder = new_design.write_design(name, layer, output)
    out.print(
        f"{folder}: change {folder.name}.hpp and {folder.name}.cpp, then\n"
        f"  pmemsim plugin build {folder}\n"
        f"  pmemsim crash queue --plugin {folder / folder.name}.so -d {name} -m asap",
        markup=False,
    )


@app.command("build", cls=Command)
@declared
def build(
    folder: Annotated[Path, argument("DIR", "The folder that `new-design` wrote.")],
) -> None:
    """Compile a plug-in against the installed headers, with CMake and your C++ compiler.

    Example: `pmemsim plugin build write_through`
    """
    plugin = new_design.build_plugin(folder)
    out.print(
        f"{plugin}: load it with --plugin {plugin}, or name it in PMEMSIM_PLUGINS", markup=False
    )


@app.command("cmake-dir", cls=Command)
@declared
def cmake_dir() -> None:
    """Print the folder of pmemsim's CMake package, for builds of your own.

    Example: `cmake -B build -Dpmemsim_DIR="$(pmemsim plugin cmake-dir)"`
    """
    out.print(str(new_design.cmake_dir()), markup=False)
