"""Decode a crashed device's image without the simulation, from the registers that survived.

The registers' file has everything that the hardware keeps without power beside PM. It is JSON, so
that a person can see that it contains no other state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmemsim import _core
from pmemsim.errors import Error
from pmemsim.files import replacing

FORMAT = "pmemsim registers 1"
"""Format named in the file."""

OPERATIONS = (
    "compression", "deduplication", "encryption", "integrity", "error-correction", "wear-leveling",
)  # fmt: skip
"""Operations that change lines, in the backend's order."""

_KEYS = {
    "format", "pm_regions", "operations", "encryption_key", "authentication_key", "published_macs",
    "write_counter", "tree", "nodes_persisted", "wear_leveling",
}  # fmt: skip
_KEY_BYTES = 16
_HASH_BYTES = 8
_MOST = 2**64 - 1
_MOST_LEVELS = 16
_MOST_ADDRESS = 2**47  # limit of a program's lines; metadata are far above
_LINE = 64


@dataclass(frozen=True)
class Registers:
    """The state that survives beside the device."""

    pm_regions: tuple[tuple[int, int], ...]
    """Ranges of programs' PM: addresses of the first byte, and of the one after the last."""
    kept: _core.Registers
    """State that the hardware keeps without power."""


@dataclass(frozen=True)
class Decoded:
    """The result of decoding."""

    problem: str
    """Reason why the image can't be trusted; empty: nothing is wrong."""
    unreadable: tuple[int, ...]
    """Addresses of programs' lines whose MAC doesn't match their contents."""
    unreadable_others: int
    """Lines with wrong MACs outside programs' PM, such as those of a hardware log."""
    corrected: int
    """Lines of the device that had errors."""
    elsewhere: int
    """Lines that deduplication has mapped to another line's location."""
    files: tuple[Path, ...]
    """The plain image: a file for each region of PM. None if there is a problem."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `--json` writes it."""
        return {**vars(self), "files": [str(file) for file in self.files]}


def registers_path(image: Path) -> Path:
    """Return the default path of the registers of a device's image."""
    return image.with_name(image.name + ".registers.json")


def write_registers(path: Path, kept: _core.Registers, regions: Sequence[dict[str, Any]]) -> None:
    """Write the registers that a crash has left, as the simulator returns them."""
    facts: dict[str, Any] = {
        "format": FORMAT,
        "pm_regions": [[hex(region["begin"]), hex(region["end"])] for region in regions],
        "operations": kept.operations,
    }
    if kept.encryption_key is not None:
        facts["encryption_key"] = kept.encryption_key.hex()
    if kept.authentication_key is not None:
        facts["authentication_key"] = kept.authentication_key.hex()
    if kept.published_macs:
        facts["published_macs"] = True
    if kept.write_counter is not None:
        facts["write_counter"] = kept.write_counter
    if kept.tree is not None:
        hashes = {
            str(tree): f"{root:0{2 * _HASH_BYTES}x}" for tree, root in kept.tree.roots.items()
        }
        facts["tree"] = {"levels": kept.tree.levels, "roots": hashes}
    if kept.nodes_persisted:
        facts["nodes_persisted"] = True
    if kept.levelling is not None:
        facts["wear_leveling"] = {
            "region_lines": kept.levelling.region_lines,
            "regions": {
                str(number): {"start": region.start, "gap": region.gap}
                for number, region in sorted(kept.levelling.regions.items())
            },
        }
    with replacing(path) as partial:
        partial.write_text(json.dumps(facts, indent=2) + "\n")


class _NotBelievedError(Exception):
    """The image can't be trusted, so nothing of it is written."""


def decode(image: Path, registers: Registers, output: Path) -> Decoded:
    """Read a device's image with the registers alone, and write the files that programs map.

    The second and later regions of PM are written beside `output`, with their number added.
    """
    files = [
        output if number == 0 else output.with_name(f"{output.name}.{number}")
        for number in range(len(registers.pm_regions))
    ]
    with suppress(_NotBelievedError), ExitStack() as partials:
        found = _core.decode(
            image,
            registers.kept,
            registers.pm_regions,
            [partials.enter_context(replacing(file)) for file in files],
        )
        if found.problem:
            files = []
            raise _NotBelievedError
    unreadable = [
        address
        for address in found.unreadable
        if any(begin <= address < end for begin, end in registers.pm_regions)
    ]
    return Decoded(
        problem=found.problem,
        unreadable=tuple(unreadable),
        unreadable_others=len(found.unreadable) - len(unreadable),
        corrected=found.corrected,
        elsewhere=found.elsewhere,
        files=tuple(files),
    )


# ---- Reading the file of registers, which may be malformed --------------------------------------


def read_registers(path: Path) -> Registers:
    """Read the registers' file; an `Error` says what is wrong with it."""
    try:
        facts = json.loads(path.read_bytes())
    except OSError as error:
        raise Error(
            f"{path}: the registers could not be read: {error.strerror or error}; `pmemsim crash "
            "--save-image` writes them next to the image, and --registers names another file"
        ) from error
    except (ValueError, RecursionError) as error:
        raise Error(f"{path}: is not JSON ({error})") from error
    try:
        return _registers(facts)
    except _WrongError as wrong:
        raise Error(f"{path}: {wrong}") from wrong


class _WrongError(Exception):
    """An error in the file of registers."""


def _registers(facts: object) -> Registers:
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise _WrongError("contains no registers as written by `pmemsim crash --save-image`")
    if unknown := sorted(set(facts) - _KEYS):
        raise _WrongError(f"contains {unknown[0]}, which is not a register")
    kept = _core.Registers(
        operations=_operations(facts.get("operations")),
        encryption_key=_key(facts, "encryption_key"),
        authentication_key=_key(facts, "authentication_key"),
        published_macs=_flag(facts, "published_macs"),
        write_counter=_whole(facts["write_counter"], "write_counter", 0, _MOST)
        if "write_counter" in facts
        else None,
        tree=_tree(facts["tree"]) if "tree" in facts else None,
        nodes_persisted=_flag(facts, "nodes_persisted"),
        levelling=_levelling(facts["wear_leveling"]) if "wear_leveling" in facts else None,
    )
    key_of_macs = True if kept.published_macs else kept.authentication_key
    for operation, key, value in (
        ("encryption", "encryption_key", kept.encryption_key),
        ("integrity", "authentication_key", key_of_macs),
        ("integrity", "tree", kept.tree),
        ("wear-leveling", "wear_leveling", kept.levelling),
    ):
        if operation in kept.operations and value is None:
            raise _WrongError(f"lacks {key}, which {operation} requires")
    return Registers(_pm_regions(facts.get("pm_regions")), kept)


def _flag(facts: dict[str, Any], name: str) -> bool:
    flag = facts.get(name, False)
    if not isinstance(flag, bool):
        raise _WrongError(f"{name} must be true or false")
    return flag


def _operations(names: object) -> tuple[str, ...]:
    if not isinstance(names, list):
        raise _WrongError("operations must be a list of names")
    right = [name for name in OPERATIONS if name in names]
    if names != right:
        raise _WrongError(
            f"operations must be a selection of {', '.join(OPERATIONS)}, in this order"
        )
    return tuple(right)


def _pm_regions(regions: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(regions, list) or not regions:
        raise _WrongError("pm_regions must be a list of addresses, begin and end of each region")
    found = []
    for region in regions:
        if not isinstance(region, list) or len(region) != 2:
            raise _WrongError("pm_regions must have two addresses a region, begin and end")
        begin, end = (_hexadecimal(address, "pm_regions", _MOST_ADDRESS) for address in region)
        if begin >= end or begin % _LINE or end % _LINE:
            raise _WrongError(
                f"pm_regions: {region[0]} to {region[1]} is not a range of whole lines"
            )
        found.append((begin, end))
    return tuple(found)


def _tree(tree: object) -> _core.Tree:
    if not isinstance(tree, dict) or set(tree) != {"levels", "roots"}:
        raise _WrongError("tree must have levels and roots")
    if not isinstance(tree["roots"], dict):
        raise _WrongError("tree.roots must have the root of each tree by its number")
    roots = {
        _number(number, "tree.roots"): _hexadecimal(root, "tree.roots", _MOST)
        for number, root in tree["roots"].items()
    }
    return _core.Tree(_whole(tree["levels"], "tree.levels", 1, _MOST_LEVELS), roots)


def _levelling(levelling: object) -> _core.Levelling:
    if not isinstance(levelling, dict) or set(levelling) != {"region_lines", "regions"}:
        raise _WrongError("wear_leveling must have region_lines and regions")
    lines = _whole(levelling["region_lines"], "wear_leveling.region_lines", 2, _MOST_ADDRESS)
    if not isinstance(levelling["regions"], dict):
        raise _WrongError("wear_leveling.regions must have the registers of each by its number")
    regions = {}
    for number, registers in levelling["regions"].items():
        if not isinstance(registers, dict) or set(registers) != {"start", "gap"}:
            raise _WrongError("wear_leveling.regions must have start and gap of each")
        start = _whole(registers["start"], "wear_leveling.regions: start", 0, lines - 1)
        gap = _whole(registers["gap"], "wear_leveling.regions: gap", 0, lines)
        region = _number(number, "wear_leveling.regions")
        regions[region] = _core.StartGap(lines, start, gap)
    return _core.Levelling(lines, regions)


def _key(facts: dict[str, Any], name: str) -> bytes | None:
    if name not in facts:
        return None
    digits = facts[name]
    if not isinstance(digits, str) or not re.fullmatch(r"[0-9a-f]{32}", digits):
        raise _WrongError(f"{name} must have {2 * _KEY_BYTES} hexadecimal digits")
    return bytes.fromhex(digits)


def _whole(value: object, name: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _WrongError(f"{name} must be a whole number from {least} to {most}")
    return value


def _number(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) > _MOST:
        raise _WrongError(f"{name}: {text} is not a number")
    return int(text)


def _hexadecimal(text: object, name: str, most: int) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"(0x)?[0-9a-f]{1,16}", text):
        raise _WrongError(f"{name}: {text!r} is not a hexadecimal number")
    if int(text, 16) > most:
        raise _WrongError(f"{name}: {text} is greater than {most:#x}")
    return int(text, 16)
