"""pmemsim: a simulator of persistent-memory hardware.

    import pmemsim

    result = pmemsim.run("queue", design="sw-undo", machine="asap")
    result.time_ns, result.stats, result.configuration["core.rob_entries"]

A trace is a path of a `.pmt` file, a `Trace`, or the name of one of pmemsim's own workloads, which
is then recorded the first time. docs/reference/python.md has every name.
"""

from pmemsim.api import compare, run
from pmemsim.comparison import Comparison
from pmemsim.errors import (
    CheckFailed,
    ConfigError,
    Error,
    RecordError,
    StuckError,
    TraceError,
)
from pmemsim.recording import record, record_workload
from pmemsim.simulation import Configuration, Result, configure, simulate, version
from pmemsim.trace import Trace
from pmemsim.workloads import WorkloadRun

__version__ = version()

__all__ = [
    "CheckFailed",
    "Comparison",
    "ConfigError",
    "Configuration",
    "Error",
    "RecordError",
    "Result",
    "StuckError",
    "Trace",
    "TraceError",
    "WorkloadRun",
    "__version__",
    "compare",
    "configure",
    "record",
    "record_workload",
    "run",
    "simulate",
]
