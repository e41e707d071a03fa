"""Growing resources on which no run may become slower, and the exceptions that are known today.

No paper's machine is among the machines: most of them have one channel whose banks aren't hashed,
so that a change of timing also changes which lines wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass

MACHINES = ("xeon-6140", "xeon-optane", "cxl")
DESIGNS = ("sw-undo", "asap", "lad", "hops", "pmem-spec", "janus")
WORKLOADS = ("array_swap", "queue", "hashmap", "rbtree", "btree")
PARAMETERS = {
    "pm.latency_factor": ("4", "2", "1"),
    "dram.latency_factor": ("4", "2", "1"),
    "pm.link_bandwidth": ("2GB/s", "8GB/s", "32GB/s"),
    "pm.wpq_entries": ("8", "16", "64"),
    "core.store_queue_entries": ("16", "32", "112"),
    "core.rob_entries": ("64", "128", "512"),
    "core.mshrs": ("2", "4", "16"),
    "core.width": ("2", "4", "8"),
}
"""Values of each parameter, of which later ones are faster or larger."""

MEAN = "mean"
MOST_SLOWER = {MEAN: 1.0, **dict.fromkeys(WORKLOADS, 5.0)}
"""Limits in percent: of a workload, and of the geometric mean of all workloads."""


@dataclass(frozen=True)
class Exemption:
    """A run that becomes slower with more of a resource."""

    machine: str
    design: str
    parameter: str
    workload: str
    """Or `MEAN`."""
    slower: float
    """In percent, measured between the two values that differ most."""
    mechanism: str
    without: tuple[tuple[str, str], ...] = ()
    """Settings that switch the mechanism off, and with it the exemption: the experiment."""


_PAUSES = (
    "Each overflow of PMEM-Spec's speculation buffer (4 entries) stops all cores until a window of "
    "20 ns a core ends, for up to two thirds of a run; number and length of these pauses depend on "
    "when stores arrive (32 to 43 pauses in array_swap on cxl); with 64 entries there is none"
)
_NO_PAUSES = (("pmem_spec.buffer_entries", "64"),)

EXEMPTIONS = (
    Exemption("cxl", "pmem-spec", "dram.latency_factor", "array_swap", 7.9, _PAUSES, _NO_PAUSES),
    Exemption("cxl", "pmem-spec", "dram.latency_factor", MEAN, 1.1, _PAUSES, _NO_PAUSES),
    Exemption("cxl", "pmem-spec", "core.rob_entries", "array_swap", 6.2, _PAUSES, _NO_PAUSES),
    Exemption("cxl", "pmem-spec", "core.width", "array_swap", 6.9, _PAUSES, _NO_PAUSES),
)
