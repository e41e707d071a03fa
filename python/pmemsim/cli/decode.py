"""`pmemsim decode`: read what a crash has left on a device, with the registers that survived."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pmemsim import decode as decoding
from pmemsim.cli.command import OUTPUT, TARGET, argument, declared, option
from pmemsim.cli.console import out
from pmemsim.cli.options import Json, check_outputs, keep_inputs
from pmemsim.errors import CheckFailed, Problems
from pmemsim.files import write_json

_SHOWN = 20  # unreadable lines


@declared
def decode_command(
    image: Annotated[
        Path, argument("IMAGE", "The device, as `pmemsim crash --save-image` writes it.")
    ],
    *,
    output: Annotated[
        Path,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="FILE",
            help="The file for the image that programs would find, byte for byte.",
        ),
    ],
    registers: Annotated[
        Path | None,
        option(
            TARGET,
            "--registers",
            value="FILE",
            default="IMAGE.registers.json",
            help="Keys, roots and other registers that survived.",
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    """Decrypt, verify and put in order what a crash has left, from two files and nothing else.

    For example:

        pmemsim crash queue --design parallel --at 20us --save-image crash.image
        pmemsim decode crash.image -o plain.image

    The integrity tree is built anew and compared with the root that survived, and each line with
    its MAC. Recovery hasn't run on what is written; of several regions of PM, the second goes to
    a file with .1 added. The exit code is 0 if the image is to be believed; lines that can't be
    read are listed, since a design may have dropped them. It is 1 if it isn't: the root is another,
    or errors can't be corrected. Then nothing is written.
    """
    problems = Problems()
    registers = registers or decoding.registers_path(image)
    check_outputs(problems, json_path, files=[output])
    keep_inputs(problems, [output, json_path], (str(image), str(registers)))
    problems.raise_any()
    found = decoding.decode(image, decoding.read_registers(registers), output)
    if json_path:
        write_json(found.to_dict(), json_path)
    if found.problem:
        raise CheckFailed(f"{image}: nothing of it is to be believed: {found.problem}")
    if json_path != "-":
        _print(found)


def _print(found: decoding.Decoded) -> None:
    if found.corrected:
        out.print(f"{found.corrected} lines of the device had errors, which are corrected")
    if found.elsewhere:
        out.print(f"{found.elsewhere} lines have their data at another line's place")
    if found.unreadable:
        shown = ", ".join(hex(address) for address in found.unreadable[:_SHOWN])
        more = len(found.unreadable) - _SHOWN
        out.print(
            f"{len(found.unreadable)} lines can't be read: {shown}"
            + (f" and {more} more" if more > 0 else "")
        )
    if found.unreadable_others:
        others = found.unreadable_others
        out.print(f"{others} lines outside programs' PM, as of a hardware log, can't be read")
    out.print("written: " + ", ".join(str(file) for file in found.files))
