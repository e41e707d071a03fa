"""Report what a recording lacks of persistent memory: unrecorded stores, libraries' metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CAUSES = (
    "usual causes are code that pmemsim-cc did not compile (a library, an assembler file), inline "
    "assembly of which it warned, a signal handler, a forked child, or a system call that fills "
    "memory"
)
CURE = "compile that code with pmemsim-cc, or store the data in the program itself"
DOCS = "docs/guides/record_program.md#changed-without-a-record"
LIBRARIES = "docs/guides/record_program.md#pmdk"


def unrecorded(metadata: Mapping[str, Any]) -> str:
    """Describe how many bytes have changed, and where; empty if none have, or if unknown."""
    found = metadata.get("unrecorded")
    if found is None:
        return ""
    count, places = found["bytes"], found["places"]
    first = found["lowest"][0]["begin"]
    if places == 1:
        return f"{counted(count, 'byte')} in 1 location, at {_named(first, metadata)}"
    return (
        f"{counted(count, 'byte')} in {places:,} locations, the first at {_named(first, metadata)}"
    )


def notes_on_crashes(metadata: Mapping[str, Any]) -> list[str]:
    """Return the notes for checks of a recording's crashes."""
    notes = []
    changed = unrecorded(metadata)
    if library_of(metadata):
        notes.append(library_note(metadata))
    elif changed:
        notes.append(
            f"persistent memory changed without a recorded store ({changed}): crash images may be "
            f"missing, and findings may be wrong; {CAUSES}; {CURE}, and record again ({DOCS})"
        )
    return [*notes, *not_recorded(metadata)]


def not_recorded(metadata: Mapping[str, Any]) -> list[str]:
    """Return the executed constructs that can't be recorded, with file and line."""
    return [str(note) for note in metadata.get("partial", [])]


def library_of(metadata: Mapping[str, Any]) -> str:
    """Return the libraries that the program calls, and whose own stores aren't recorded."""
    return ", ".join(metadata.get("libraries", []))


def library_note(metadata: Mapping[str, Any]) -> str:
    """Describe what a recording lacks of the libraries that the program calls."""
    changed = unrecorded(metadata)
    return (
        f"{library_of(metadata)} stores the metadata of its pools itself, which is not recorded"
        + (f" ({changed})" if changed else "")
        + f": rules check what the program does, but no crash image can be made ({LIBRARIES})"
    )


def no_images(metadata: Mapping[str, Any]) -> str:
    """Return why a crash image of the recording can't be made; empty if it can."""
    if not (library := library_of(metadata)):
        return ""
    return (
        f"no crash image can be made, because {library} stores the metadata of its pools itself, "
        f"which is not recorded; compile {library} by pmemsim-cc to check images ({LIBRARIES})"
    )


def counted(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _named(address: int, metadata: Mapping[str, Any]) -> str:
    for region in metadata["pm_regions"]:
        if region["begin"] <= address < region["end"]:
            return f"{region['source']}+{address - region['begin']:#x} ({address:#x})"
    return f"{address:#x}"
