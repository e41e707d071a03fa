"""Open the recordings that a command works on, and make missing ones first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pmemsim.errors import Error
from pmemsim.parallel import Report, run_all
from pmemsim.programs import KeepGoing
from pmemsim.progress import Watch
from pmemsim.recording import Build
from pmemsim.targets import Target
from pmemsim.trace import Trace

# A recorder doesn't say how far its program is, nor does a compiler.
_BEGUN = 0.01
# A program is compiled in about the time in which this many regions are recorded.
_COMPILED_REGIONS = 30_000


def open_traces(targets: list[Target], jobs: int | None, watch: Watch) -> list[Trace]:
    """Open the targets' traces, after recording missing ones, with progress."""
    _record_missing(targets, jobs, None, watch)
    return [target.trace() for target in targets]


def open_each(targets: list[Target], jobs: int | None, watch: Watch) -> list[Trace | Error]:
    """Do the same as `open_traces`, but return an `Error` in place of each missing trace."""
    failures: dict[int, Error] = {}
    _record_missing(targets, jobs, failures, watch)
    return [failures.get(index) or _opened(target) for index, target in enumerate(targets)]


def _record_missing(
    targets: list[Target], jobs: int | None, failures: dict[int, Error] | None, watch: Watch
) -> None:
    """Record missing targets, whose errors go to `failures`; None: the first error is raised.

    Several recordings begin with the compilation of their programs, each once. Otherwise, a
    recording would wait for its program while another one's job compiles it.
    """
    missing = [index for index, target in enumerate(targets) if not target.is_ready]
    builds = _missing_builds(targets, missing) if len(missing) > 1 else {}
    if not missing:
        return

    def task(of: Sequence[int], make: Callable[[KeepGoing], object]) -> Callable[[Report], None]:
        def run(report: Report) -> None:
            if failures and not failures.keys().isdisjoint(of):
                return
            try:
                make(lambda: report(_BEGUN))
            except Error as error:
                if failures is None:
                    raise
                failures.update(dict.fromkeys(of, error))

        return run

    tasks = [task(of, build.make) for build, of in builds.items()]
    tasks += [task([index], targets[index].trace) for index in missing]
    labels = [f"compiling {build.label}" for build in builds]
    labels += [f"recording {targets[index].name}" for index in missing]
    weights = [float(_COMPILED_REGIONS)] * len(builds)
    weights += [targets[index].weight for index in missing]
    kinds = [*("" for _ in builds), *(targets[index].name for index in missing)]
    with watch(labels, weights, kinds) as progress:
        run_all(tasks, jobs, progress)


def _missing_builds(targets: list[Target], missing: Sequence[int]) -> dict[Build, list[int]]:
    """Return the programs to be compiled, with the targets of each.

    Those that only link another level of pm.h's library are last, when their objects exist.
    """
    found: dict[Build, list[int]] = {}
    for index in missing:
        build = targets[index].build
        if build and not build.program.is_file():
            found.setdefault(build, []).append(index)
    return dict(sorted(found.items(), key=lambda item: "+" in item[0].opt))


def _opened(target: Target) -> Trace | Error:
    try:
        return target.trace()
    except Error as error:
        return error
