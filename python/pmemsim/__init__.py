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
    from pmemsim.advice.advise import Advice
    from pmemsim.api.exchange import import_champsim, import_pmemcheck, pack, replay
    from pmemsim.api.experiments import matrix, reproduce, sweep
    from pmemsim.api.runs import compare, profile, run, timeline
    from pmemsim.api.verification import advise, check, crash
    from pmemsim.catalogue import (
        backends,
        designs,
        experiments,
        machines,
        parameters,
        statistics,
        workloads,
    )
    from pmemsim.checking.check import CheckResults
    from pmemsim.comparison import Comparison
    from pmemsim.crash_suite import CrashResults
    from pmemsim.errors import CheckFailed, ConfigError, Error, RecordError, StuckError, TraceError
    from pmemsim.installation import examples
    from pmemsim.matrices import Matrix
    from pmemsim.packing import Replay
    from pmemsim.profiling import Profile
    from pmemsim.recording import record, record_workload
    from pmemsim.reproduction.run import Reproduction
    from pmemsim.simulation import Configuration, Result, configure, simulate
    from pmemsim.sweeping.run import SweepResults
    from pmemsim.targets import Recipe
    from pmemsim.timelines import WrittenTimeline
    from pmemsim.trace import Trace
    from pmemsim.workload_runs import WorkloadRun

    __version__: str

__all__ = [
    "Advice",
    "CheckFailed",
    "CheckResults",
    "Comparison",
    "ConfigError",
    "Configuration",
    "CrashResults",
    "Error",
    "Matrix",
    "Profile",
    "Recipe",
    "RecordError",
    "Replay",
    "Reproduction",
    "Result",
    "StuckError",
    "SweepResults",
    "Trace",
    "TraceError",
    "WorkloadRun",
    "WrittenTimeline",
    "__version__",
    "advise",
    "backends",
    "check",
    "compare",
    "configure",
    "crash",
    "designs",
    "examples",
    "experiments",
    "import_champsim",
    "import_pmemcheck",
    "machines",
    "matrix",
    "pack",
    "parameters",
    "profile",
    "record",
    "record_workload",
    "replay",
    "reproduce",
    "run",
    "simulate",
    "statistics",
    "sweep",
    "timeline",
    "workloads",
]

_MODULES = {
    "Advice": "advice.advise",
    "CheckFailed": "errors",
    "CheckResults": "checking.check",
    "Comparison": "comparison",
    "ConfigError": "errors",
    "Configuration": "simulation",
    "CrashResults": "crash_suite",
    "Error": "errors",
    "Matrix": "matrices",
    "Profile": "profiling",
    "Recipe": "targets",
    "RecordError": "errors",
    "Replay": "packing",
    "Reproduction": "reproduction.run",
    "Result": "simulation",
    "StuckError": "errors",
    "SweepResults": "sweeping.run",
    "Trace": "trace",
    "TraceError": "errors",
    "WorkloadRun": "workload_runs",
    "WrittenTimeline": "timelines",
    "advise": "api.verification",
    "backends": "catalogue",
    "check": "api.verification",
    "compare": "api.runs",
    "configure": "simulation",
    "crash": "api.verification",
    "designs": "catalogue",
    "examples": "installation",
    "experiments": "catalogue",
    "import_champsim": "api.exchange",
    "import_pmemcheck": "api.exchange",
    "machines": "catalogue",
    "matrix": "api.experiments",
    "pack": "api.exchange",
    "parameters": "catalogue",
    "profile": "api.runs",
    "record": "recording",
    "record_workload": "recording",
    "replay": "api.exchange",
    "reproduce": "api.experiments",
    "run": "api.runs",
    "simulate": "simulation",
    "statistics": "catalogue",
    "sweep": "api.experiments",
    "timeline": "api.runs",
    "workloads": "catalogue",
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
