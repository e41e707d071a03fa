"""What the functions share: rules and names of commands, recordings, designs, progress."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from pmemsim.arguments import check_path, names_of_parameters, plain
from pmemsim.chosen import distinct
from pmemsim.errors import Error, Problems, did_you_mean
from pmemsim.files import check_writable, overwritten
from pmemsim.rules import Given
from pmemsim.runner import Runner
from pmemsim.simulation import Configuration, configure, settings_without_effect
from pmemsim.targets import Recipe, Target, find_target, samples_of
from pmemsim.trace import Trace
from pmemsim.workload_runs import WorkloadRun, workloads

AnyTrace = Trace | WorkloadRun | str | Path
"""A recording, the path of a `.pmt` file, or a workload, which is recorded if need be."""
Overrides = Mapping[str, object]
"""Values of parameters with their units, as in `{"core.rob_entries": 128}`."""

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def like_command(
    command: str, *, harmless: str = "", **options: str
) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Give a function the rules of a command, and its errors the names of parameters.

    `options` names the options and arguments that differ from the parameters' names. Rules ignore
    the parameter `harmless`, which a script may give always. A keyword argument that is neither a
    parameter nor a part of a recipe is a `ConfigError`.
    """

    def decorate(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*positional: Arguments.args, **named: Arguments.kwargs) -> Value:
            args: Any = [plain(each) for each in positional]
            kwargs: Any = {name: plain(each) for name, each in named.items()}
            with names_of_parameters(options):
                given = _bound(function.__name__, signature, args, kwargs)
                recipe = given.pop("recipe", {})
                problems = Problems()
                values = {
                    options.get(name, _option_of(name)): value
                    for name, value in {**given, **recipe}.items()
                    if name not in signature.parameters
                    or (value is not signature.parameters[name].default and name != harmless)
                }
                problems.add(_not_flags(signature, given))
                problems.add(Given(command, values).problems().found)
                problems.raise_any()
            with names_of_parameters(options):
                return function(*args, **kwargs)

        return call

    return decorate


def _bound(
    function: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments by parameters; raises a `ConfigError` if the function lacks some."""
    parameters = dict(signature.parameters)
    recipe = [*Recipe.__annotations__] if parameters.pop("recipe", None) else []
    known = [*parameters, *recipe]
    in_order = [
        name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    problems = Problems()
    problems.add(
        f"{function}: unknown argument '{name}'{did_you_mean(name, known)}"
        for name in kwargs
        if name not in known
    )
    if len(args) > len(in_order):
        problems.add(
            [f"{function}: only {' and '.join(in_order)} may be given without a name; write "
             f"{next(name for name in parameters if name not in in_order)}=..."]
        )  # fmt: skip
    problems.add(
        f"{function}: the argument '{name}' is given twice; remove one"
        for name in in_order[: len(args)]
        if name in kwargs
    )
    problems.add(
        f"{function}: the argument '{name}' is missing"
        for name, each in parameters.items()
        if each.default is each.empty and name not in (*kwargs, *in_order[: len(args)])
    )
    problems.raise_any()
    return dict(signature.bind(*args, **kwargs).arguments)


def _not_flags(signature: inspect.Signature, given: Mapping[str, object]) -> list[str]:
    """Report values other than True and False of parameters that are either."""
    flags = [name for name, each in signature.parameters.items() if isinstance(each.default, bool)]
    return [
        f"{name} {given[name]!r}: must be True or False"
        for name in flags
        if name in given
        and not isinstance(given[name], bool)
        and not (name == "progress" and callable(given[name]))
    ]


def _option_of(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


@dataclass(frozen=True)
class Recording:
    """A recording that a user wants."""

    name: str
    """The user's name for it, which commands accept, too."""
    source: Trace | Target


def recordings_of(
    traces: AnyTrace | Sequence[AnyTrace],
    recipe: Mapping[str, object],
    problems: Problems,
    *,
    seed_is_own: bool = False,
) -> list[Recording]:
    """Return the wanted recordings, each once; what can't be found is added to the problems.

    `seed_is_own`: the function uses `seed` not only for recordings.
    """
    every = [traces] if isinstance(traces, AnyTrace) else traces
    if not isinstance(every, Sequence) or not all(isinstance(each, AnyTrace) for each in every):
        problems.add([f"trace: {traces!r} must be a recording, its path, or a workload's name"])
        return []
    names = [_name_of(each) for each in every]
    distinct(names, "trace", problems)
    found = []
    for name, each in zip(names, every, strict=True):
        with problems.collected():
            found.append(Recording(name, _source(each, recipe, seed_is_own=seed_is_own)))
    return found


def _name_of(trace: AnyTrace) -> str:
    if isinstance(trace, Trace):
        return str(trace.path)
    return str(trace.cached_trace) if isinstance(trace, WorkloadRun) else str(trace)


def _source(trace: AnyTrace, recipe: Mapping[str, object], *, seed_is_own: bool) -> Trace | Target:
    is_workload = isinstance(trace, str) and not trace.endswith(".pmt") and trace in workloads()
    own = {"seed"} if seed_is_own and not is_workload else set()
    given = {key: value for key, value in recipe.items() if key not in own and value is not None}
    if isinstance(trace, str | Path):
        return find_target(str(trace), **cast(Recipe, given))
    if given:
        names = ", ".join(given)
        raise Error(f"{_name_of(trace)}: remove {names}, which only names of workloads accept")
    return trace if isinstance(trace, Trace) else Target(trace.workload, trace)


def samples_of_recording(
    recording: Recording, seeds: int, schedules: int, problems: Problems
) -> list[Recording]:
    """Return recordings with consecutive seeds, each with several schedules."""
    source = recording.source
    target = Target(recording.name, source.path) if isinstance(source, Trace) else source
    samples = samples_of(target, seeds, schedules, problems)
    return [recording] if samples == [target] else [Recording(recording.name, s) for s in samples]


def opened(recordings: Sequence[Recording], runner: Runner) -> list[Trace]:
    """Return the recordings, after making missing ones."""
    targets = [each.source for each in recordings if isinstance(each.source, Target)]
    made = iter(runner.open_traces(targets))
    return [each.source if isinstance(each.source, Trace) else next(made) for each in recordings]


def check_list(what: str, value: object, example: str) -> None:
    """Raise an `Error` if the argument is a single name instead of a list, or an empty list."""
    if isinstance(value, str | Path | Trace | WorkloadRun) or not value:
        raise Error(f"{what}: must be a list with at least one element, as in {example}")


def designs_of(designs: Sequence[str | Path], problems: Problems) -> list[str]:
    """Return the names of designs; errors are added to the problems."""
    with problems.collected():
        check_list("designs", designs, '["np", "sw-undo"]')
        return distinct([str(design) for design in designs], "design", problems)
    return []


def configurations_of(
    designs: Sequence[str | Path],
    machine: str | Path,
    overrides: Overrides | None,
    problems: Problems,
) -> list[Configuration]:
    """Return the designs on a machine; a value that no design uses is a problem."""
    found = []
    for design in designs:
        with problems.collected():
            found.append(configure(design, machine, overrides))
    # A design with an error has no configuration that says which parameters it uses.
    if len(found) == len(designs):
        problems.add(settings_without_effect(found))
    return found


def given_recipe(recipe: Mapping[str, object]) -> Recipe:
    """Return the given values of a recipe; None means a default."""
    return cast(Recipe, {key: value for key, value in recipe.items() if value is not None})


def path_of(path: str | Path | None) -> Path | None:
    """Return a path that may be missing; raises an `Error` for an object that is no path."""
    if path is not None:
        check_path("the file", path)
    return None if path is None else Path(path)


def check_outputs(
    outputs: Sequence[str | Path | None], inputs: Sequence[object], problems: Problems
) -> None:
    """Add files that can't be written, or that would replace an input or each other."""
    paths = []
    for output in outputs:
        with problems.collected():
            if output is not None:
                check_path("the output", output)
                paths.append(Path(output))
                check_writable(paths[-1])
    files = [Path(str(each)) for each in inputs if isinstance(each, str | Path)]
    problems.add(overwritten(paths, [path for path in files if path.suffix]))
