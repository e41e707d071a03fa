"""The recordings, designs and machines that pinned numbers are measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pmemsim.presets import Setting, load_preset
from pmemsim.simulation import Configuration
from pmemsim.trace import Trace

FOLDER = Path(__file__).parents[2] / "pins"
_RECORDINGS = FOLDER / "recordings"

# Each design and each backend runs on the machine of its paper. The machine of `eadr`, which is no
# paper's, is the one with Intel's memory.
DESIGNS = {
    "asap": (
        "np", "sw-data-only", "x86-bare", "sw-undo", "hw-undo", "hw-redo", "asap", "asap+c",
        "asap+c+lp", "asap-no-opt",
    ),
    "lalea": ("redu", "redu+lalea", "redu+blom", "redu+lalea+blom", "lad", "lad+lalea"),
    "pmem-spec": (
        "sw-redo", "eadr-redo", "dpo", "dpo-bare", "dpo-redo", "hops", "hops-bare", "hops-redo",
        "pmem-spec", "pmem-spec-bare", "pmem-spec-redo",
    ),
    "janus": ("serialized", "parallel", "janus", "ideal", "ideal-free"),
    "xeon-optane": ("eadr",),
}  # fmt: skip
BACKENDS = {
    "janus": (
        "verified-serialized", "verified-parallel", "verified-janus", "deduplicated-serialized",
        "deduplicated-parallel", "deduplicated-janus",
    ),
    "pmweaver": ("enc+veri", "enc+veri-pmweaver", "dedup", "dedup-pmweaver"),
}  # fmt: skip

_trace = cache(Trace)


def configuration(
    design: str, machine: str, settings: Mapping[str, str] | Iterable[tuple[str, str]] = ()
) -> Configuration:
    """Return a design on a machine, with these parameters."""
    beside = (Setting(key, value, "pins") for key, value in dict(settings).items())
    return Configuration(
        load_preset("design", design), load_preset("machine", machine), tuple(beside)
    )


def recording(name: str) -> Trace:
    """Return a recording of program.c: `one_thread`, `four_threads` or `redo_log`."""
    return _trace(_RECORDINGS / f"{name}.pmt")


def corpus_recording(name: str) -> Trace:
    """Return the recording of a program of tests/corpus."""
    return _trace(_RECORDINGS / "corpus" / f"{name}.pmt")


def runs_redo_logs(design: str, machine: str) -> bool:
    """Return whether the design runs recordings with a redo log, and no others."""
    return configuration(design, machine).runs_redo_logs


def largest_recording(design: str, machine: str) -> Trace:
    """Return the recording with the most threads that the design runs."""
    return recording("redo_log" if runs_redo_logs(design, machine) else "four_threads")
