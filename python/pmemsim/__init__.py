"""pmemsim: a simulator of persistent-memory hardware.

    import pmemsim

    result = pmemsim.run("queue", design="sw-undo", machine="asap")
    result.time_ns, result.stats, result.configuration["core.rob_entries"]

A trace is a path of a `.pmt` file, a `Trace`, or the name of one of pmemsim's own workloads, which
is then recorded the first time. docs/reference/python.md has every name.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmemsim.api import compare, profile, run
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
    from pmemsim.simulation import Configuration, Result, configure, simulate
    from pmemsim.trace import Trace
    from pmemsim.workload_runs import WorkloadRun

    __version__: str

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
    "profile",
    "record",
    "record_workload",
    "run",
    "simulate",
]

_MODULES = {
    "CheckFailed": "errors",
    "Comparison": "comparison",
    "ConfigError": "errors",
    "Configuration": "simulation",
    "Error": "errors",
    "RecordError": "errors",
    "Result": "simulation",
    "StuckError": "errors",
    "Trace": "trace",
    "TraceError": "errors",
    "WorkloadRun": "workloads",
    "compare": "api",
    "configure": "simulation",
    "profile": "api",
    "record": "recording",
    "record_workload": "recording",
    "run": "api",
    "simulate": "simulation",
}
"""The module of each name. It is loaded when the name is first used, since commands use few."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- each name has its own type
    if name == "__version__":
        from pmemsim.installation import version

        return version()
    if name in _MODULES:
        return getattr(importlib.import_module(f"pmemsim.{_MODULES[name]}"), name)
    try:
        return importlib.import_module(f"pmemsim.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"pmemsim.{name}":
            raise
        raise AttributeError(f"module 'pmemsim' has no attribute '{name}'") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
