"""Options that several commands take, each declared once.

A group of options is a dataclass. A command that is decorated with `options_of(Group)` has all of
the group's options, and gets their values as one `Group`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

from pmemsim.errors import Error, Problems
from pmemsim.files import check_writable, overwritten
from pmemsim.presets import BEFORE, Setting, parse_overrides
from pmemsim.workloads import workloads

Command = Callable[..., None]

Regions = Annotated[
    int | None, typer.Option("--regions", help="Atomic regions that a workload runs.")
]
Machine = Annotated[
    str, typer.Option("--machine", "-m", help="A machine's name, or the path of a YAML file.")
]
Json = Annotated[
    str | None, typer.Option("--json", help="Write all results to this file; `-`: print them.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", help="Simulations at a time; default: all host cores.")
]


Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="Set a parameter, as in `core.rob_entries=128`; repeatable."),
]


@dataclass(frozen=True)
class Recipe:
    """How a workload is recorded. What isn't given (None) is up to the workload."""

    opt: Annotated[
        str | None,
        typer.Option(
            "--opt",
            help="Optimisation level of a workload: O0, O1, O2 or O3; O0+O2: the program's, and "
            "that of pm.h's library.",
            show_default="O2",
        ),
    ] = None
    threads: Annotated[
        int | None, typer.Option("--threads", "-t", help="Threads of a workload.")
    ] = None
    regions: Regions = None
    data_bytes: Annotated[
        int | None,
        typer.Option(
            "--data-bytes",
            help="Bytes of one datum of a workload: 64 (maps: 8) to 8192, a multiple of 8.",
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of a workload's random numbers.")
    ] = None
    duplicate_ratio: Annotated[
        float | None,
        typer.Option(
            "--duplicate-ratio",
            help="Share of a workload's data that duplicates other data: 0 to 1.",
        ),
    ] = None

    items: Annotated[
        int | None,
        typer.Option("--items", help="Items of a workload before the measured part."),
    ] = None
    mix: Annotated[
        str | None,
        typer.Option(
            "--mix",
            help="What a workload's regions do: insert-update, insert, read-update, insert-delete, "
            "or pmweaver, what PMWeaver's do.",
        ),
    ] = None
    warm_up: Annotated[
        int | None,
        typer.Option(
            "--warm-up",
            help="Regions that a workload runs before the measured part, to fill the caches.",
            show_default="0",
        ),
    ] = None
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            help="The software log in a workload's program: undo, or redo, for designs with "
            "atomicity=software-redo.",
            show_default="undo",
        ),
    ] = None
    hints: Annotated[
        str | None,
        typer.Option(
            "--hints",
            help="Whose pre-execution hints a workload's program has: manual, those of its source; "
            "auto, those that the compiler finds (pmemsim-cc --janus-auto); none; or a file that "
            "`pmemsim lint-hints --profile` has written: behind the stores at its source lines.",
            show_default="manual",
        ),
    ] = None
    schedule: Annotated[
        int | None,
        typer.Option(
            "--schedule",
            help="Which interleaving of threads, of those that --seed gives: a whole number.",
            show_default="0, the recorder's own",
        ),
    ] = None
    whole_run: Annotated[
        bool | None,
        typer.Option(
            "--whole-run",
            help="Record a workload's set-up and warm-up, too, not only the part behind them.",
        ),
    ] = None

    @property
    def arguments(self) -> dict[str, int | float | str | None]:
        """The workload's own arguments: all but the optimisation level."""
        return {name: value for name, value in vars(self).items() if name != "opt"}

    @property
    def given(self) -> dict[str, object]:
        """What the user has given, by the options' names."""
        return {
            f"--{name.replace('_', '-')}": value
            for name, value in vars(self).items()
            if value is not None
        }


@dataclass(frozen=True)
class Simulation:
    """On what a recording is simulated, and where the results go."""

    machine: Machine
    overrides: Overrides = None
    instances: Annotated[
        int | None,
        typer.Option("--instances", help="Run so many independent copies of the recording."),
    ] = None
    lock_order: Annotated[
        str | None,
        typer.Option(
            "--lock-order",
            help="Who gets a lock: `recorded` (default) keeps the recording's order, `simulated` "
            "decides in simulated time (for timing only: the recorded values belong to the "
            "recorded order).",
        ),
    ] = None
    json_path: Json = None
    plot_path: Annotated[
        Path | None,
        typer.Option("--plot", help="Write a plot; the suffix chooses png, pdf or svg."),
    ] = None

    def settings(self, problems: list[str]) -> tuple[Setting, ...]:
        """The parameters that these options set; what is wrong is added to `problems`."""
        settings = parse_overrides(self.overrides or [], problems)
        if self.instances is not None:
            settings.append(Setting("run.instances", str(self.instances), "--instances"))
        if self.lock_order is not None:
            settings.append(Setting("run.lock_order", self.lock_order, "--lock-order"))
        return tuple(settings)


def options_of(group: type[Any]) -> Callable[[Command], Command]:
    """A decorator: the parameter of type `group` becomes an option for each of its fields."""

    def decorate(command: Command) -> Command:
        types = get_type_hints(command, include_extras=True)
        (receiver,) = [name for name, kind in types.items() if kind is group]
        own = inspect.signature(command).parameters
        options = inspect.signature(group).parameters
        names = [field.name for field in fields(group)]

        @functools.wraps(command)
        def with_options(**given: object) -> None:
            given[receiver] = group(**{name: given.pop(name) for name in names})
            command(**given)

        types |= get_type_hints(group, include_extras=True)
        shown = {**own, **options}
        del shown[receiver], types[receiver]
        with_options.__annotations__ = types
        # Typer reads a command's options from its signature.
        vars(with_options)["__signature__"] = inspect.Signature(
            [
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=types[name])
                for name, parameter in shown.items()
            ]
        )
        return with_options

    return decorate


class WorkloadCommand(TyperCommand):
    """A command whose help shows the workloads' own values of their arguments."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 -- Typer's signature
        """Print the help."""
        # An installation without workloads has help, too.
        with contextlib.suppress(Error):
            for option in self.params:
                if isinstance(option, TyperOption) and (default := _default_of(option.name or "")):
                    option.show_default = default
        super().format_help(ctx, formatter)


def _default_of(argument: str) -> str:
    """What most workloads have as an argument, and which have something else."""
    values = {
        workload.name: workload.arguments[argument]
        for workload in workloads().values()
        if argument in workload.arguments
    }
    if not values:
        return ""
    ((usual, _),) = Counter(values.values()).most_common(1)
    others = [f"{name}: {value}" for name, value in values.items() if value != usual]
    return "; ".join([str(usual), *others])


def keep_inputs(
    problems: Problems, outputs: Iterable[str | Path | None], inputs: Iterable[str]
) -> None:
    """Add outputs that would take the place of one another, or of a file that `inputs` names."""
    paths = [Path(output) for output in outputs if output and str(output) != "-"]
    # A design's and a backend's file may stand in one name.
    named = [part for name in inputs for part in (name, *name.split(BEFORE))]
    problems.add(overwritten(paths, [Path(name) for name in named if Path(name).suffix]))


def check_outputs(json_path: str | None, plot_path: Path | None = None) -> None:
    """Raise an `Error` now if results could not be written later."""
    if json_path is not None and json_path != "-":
        check_writable(Path(json_path))
    if plot_path:
        from pmemsim.plots import check_plot_path

        check_plot_path(plot_path)


def check_jobs(jobs: int | None) -> None:
    """Raise an `Error` for a number of jobs that can't be."""
    if jobs is not None and jobs < 1:
        raise Error(f"--jobs {jobs}: must be at least 1")


# That the simulator can count.
MOST = 2**63 - 1


def sample_of(points: str, problems: Problems) -> int | None:
    """How many crash points `--points` asks for; None: all."""
    if points == "all":
        return None
    if not points.isdecimal():
        problems.add([f"--points {points}: must be `all` or a whole number, as in 10000"])
    elif len(points) > len(str(MOST)):
        problems.add([f"--points {points}: must be `all` or 1 to {MOST}"])
    elif not 1 <= int(points) <= MOST:
        problems.add([f"--points {points}: must be 1 to {MOST}, or `all`"])
    else:
        return int(points)
    return None
