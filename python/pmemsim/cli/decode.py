"""`pmemsim decode`: read a device's contents after a crash, with the registers that survived."""

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
        Path,
        argument("IMAGE", "The device's contents, as written by `pmemsim crash --save-image`."),
    ],
    *,
    output: Annotated[
        Path,
        option(
            OUTPUT,
            "--output",
            "-o",
            value="FILE",
            help="The file to which the decoded image is written, byte for byte as programs see "
            "it.",
        ),
    ],
    registers: Annotated[
        Path | None,
        option(
            TARGET,
            "--registers",
            value="FILE",
            default="IMAGE.registers.json",
            help="The file of keys, roots and other registers that survived the crash.",
        ),
    ] = None,
    json_path: Json = None,
) -> None:
    """Decode a crashed device: decrypt its lines, verify them, and put them in program order.

    For example:

        pmemsim crash queue --design parallel --at 20us --save-image crash.image
        pmemsim decode crash.image -o plain.image

    The command reads only the device's contents and its surviving registers. It rebuilds the
    integrity tree, compares its root with the surviving one, and each line with its MAC. The
    written image is the one before recovery. Each further region of PM is written to a file with
    .1, .2, ... added to the name.

    The exit code is 0 if the image is trustworthy. Unreadable lines are listed, since a design may
    have dropped them. The exit code is 1, and no image is written, if the root differs or errors
    can't be corrected.
    """
    problems = Problems()
    registers = registers or decoding.registers_path(image)
    check_outputs(problems, json_path, files=[output])
    keep_inputs(problems, [output, json_path], (str(image), str(registers)))
    problems.raise_any()
    found = decoding.decode(image, decoding.read_registers(registers), output)
    if json_path:
        write_json("decode", found.to_dict(), json_path)
    if found.problem:
        raise CheckFailed(f"{image}: the image is not trustworthy: {found.problem}")
    if json_path != "-":
        _print(found)


def _print(found: decoding.Decoded) -> None:
    if found.corrected:
        out.print(f"{found.corrected} lines of the device had errors that were corrected")
    if found.elsewhere:
        out.print(f"{found.elsewhere} lines have their data at another line's address")
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
