"""Options that several commands take, each declared once, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from pmemsim import targets
from pmemsim.cli.command import (
    DESIGN,
    EXECUTION,
    MACHINE,
    OUTPUT,
    TARGET,
    WORKLOAD,
    argument,
    option,
)
from pmemsim.errors import Problems
from pmemsim.files import check_writable, overwritten
from pmemsim.presets import BEFORE, Setting, parse_overrides

Target = Annotated[str, argument("TARGET", "A workload's name or a trace (.pmt).")]
Targets = Annotated[list[str], argument("TARGET", "Workloads' names or traces (.pmt).")]
TargetsIfAny = Annotated[list[str] | None, argument("TARGET", "Workloads' names or traces (.pmt).")]
MoreTargets = Annotated[
    str | None,
    option(
        TARGET,
        "--workloads",
        value="TARGET,...",
        more=True,
        help="More targets, separated by commas.",
    ),
]
Design = Annotated[str, option(
    DESIGN, "--design", "-d", value="DESIGN",
    help="A design's name, DESIGN@BACKEND, or a design's YAML file.",
)]  # fmt: skip
Backends = Annotated[str | None, option(
    DESIGN, "--backends", value="BACKEND,...",
    help="Combines each design with each of these backends (`pmemsim list backends`). The name "
        "`none` means the design without a backend.",
)]  # fmt: skip
Machine = Annotated[str, option(
    MACHINE, "--machine", "-m", value="MACHINE", help="A machine's name, or its YAML file."
)]  # fmt: skip
Overrides = Annotated[list[str] | None, option(
    MACHINE, "--set", "-s", value="KEY=VALUE",
    help="Sets a parameter of the machine or the design, as in `core.rob_entries=128`; repeatable.",
)]  # fmt: skip
Threads = Annotated[
    int | None,
    option(WORKLOAD, "--threads", "-t", value="N", help="Number of threads of a workload."),
]
Regions = Annotated[
    int | None,
    option(WORKLOAD, "--regions", value="N", help="Number of atomic regions that a workload runs."),
]
Json = Annotated[str | None, option(
    OUTPUT, "--json", value="FILE",
    help="Writes all results as JSON to this file, or to standard output if FILE is `-`.",
)]  # fmt: skip
Plot = Annotated[Path | None, option(
    OUTPUT, "--plot", value="FILE", help="Writes a plot to this file, whose suffix selects the "
        "format: .png, .pdf or .svg."
)]  # fmt: skip
Top = Annotated[int, option(
    OUTPUT, "--top", value="N", help="Prints at most N findings; --json writes all of them."
)]  # fmt: skip
Jobs = Annotated[int | None, option(
    EXECUTION, "--jobs", "-j", value="N", default="all host cores",
    help="Number of tasks that run at the same time.",
)]  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Options of a workload's recording. The workload has a default for each that is None."""

    threads: Threads = None
    regions: Regions = None
    seed: Annotated[
        int | None, option(WORKLOAD, "--seed", value="N", help="Seed of the random numbers.")
    ] = None
    data_bytes: Annotated[int | None, option(
        WORKLOAD, "--data-bytes", value="N", more=True,
        help="Size of one data item in bytes: 64 (maps: 8) to 8192, a multiple of 8.",
    )] = None  # fmt: skip
    opt: Annotated[str | None, option(
        WORKLOAD, "--opt", value="LEVEL", default="O2", more=True,
        help="Optimisation level: O0, O1, O2 or O3. `O0+O2` compiles the program with O0 and "
            "pm.h's library with O2.",
    )] = None  # fmt: skip
    items: Annotated[int | None, option(
        WORKLOAD, "--items", value="N", more=True,
        help="Number of items in the data structure before the measured part.",
    )] = None  # fmt: skip
    mix: Annotated[str | None, option(
        WORKLOAD, "--mix", value="MIX", more=True,
        help="Operations of the regions: insert-update, insert, read-update, insert-delete, "
            "pmweaver (the mix of PMWeaver's paper), or sections (with an undo log by hand).",
    )] = None  # fmt: skip
    duplicate_ratio: Annotated[float | None, option(
        WORKLOAD, "--duplicate-ratio", value="SHARE", more=True,
        help="Share of the data that duplicates other data, from 0 to 1.",
    )] = None  # fmt: skip
    warm_up: Annotated[int | None, option(
        WORKLOAD, "--warm-up", value="N", default="0", more=True,
        help="Number of regions that run before the measured part, to fill the caches.",
    )] = None  # fmt: skip
    compute_instructions: Annotated[int | None, option(
        WORKLOAD, "--compute-instructions", value="N", default="0", more=True,
        help="Number of instructions that each region executes in addition, without accessing PM.",
    )] = None  # fmt: skip
    log: Annotated[str | None, option(
        WORKLOAD, "--log", value="undo|redo", default="undo", more=True,
        help="The program's software log. Designs with atomicity=software-redo require redo.",
    )] = None  # fmt: skip
    hints: Annotated[str | None, option(
        WORKLOAD, "--hints", value="HINTS", default="manual", more=True,
        help="Pre-execution hints: manual (in the source), auto (inserted by the compiler), none, "
            "or a file that `pmemsim lint-hints --profile` wrote.",
    )] = None  # fmt: skip
    schedule: Annotated[int | None, option(
        WORKLOAD, "--schedule", value="N", default="0, the recorder's own", more=True,
        help="Number of the thread interleaving, among those that --seed generates.",
    )] = None  # fmt: skip
    whole_run: Annotated[bool | None, option(
        WORKLOAD, "--whole-run", more=True,
        help="Records set-up and warm-up in addition to the measured part.",
    )] = None  # fmt: skip

    @property
    def arguments(self) -> dict[str, int | float | str | None]:
        """Return the workload's own arguments: all except the optimisation level."""
        return {name: value for name, value in vars(self).items() if name != "opt"}

    @property
    def given(self) -> targets.Recipe:
        """Return the values that the user has given."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return cast(targets.Recipe, given)


@dataclass(frozen=True)
class Simulation:
    """Options of a simulation: the design, the machine, and the output files."""

    machine: Machine
    overrides: Overrides = None
    instances: Annotated[int | None, option(
        MACHINE, "--instances", value="N",
        help="Simulates N independent copies of the recording.",
    )] = None  # fmt: skip
    lock_order: Annotated[str | None, option(
        MACHINE, "--lock-order", value="recorded|simulated", default="recorded",
        help="Order in which threads acquire locks. With `simulated`, only times are meaningful, "
            "because the data values belong to the recorded order.",
    )] = None  # fmt: skip
    json_path: Json = None
    plot_path: Plot = None

    def settings(self, problems: list[str]) -> tuple[Setting, ...]:
        """Return the parameters that these options set; errors are added to `problems`."""
        settings = parse_overrides(self.overrides or [], problems)
        if self.instances is not None:
            settings.append(Setting("run.instances", str(self.instances), "--instances"))
        if self.lock_order is not None:
            settings.append(Setting("run.lock_order", self.lock_order, "--lock-order"))
        return tuple(settings)


def all_targets(targets: Iterable[str] | None, more: str | None) -> list[str]:
    """Return the targets from positional arguments and from options."""
    return [*(targets or []), *(more.split(",") if more else [])]


def keep_inputs(
    problems: Problems, outputs: Iterable[str | Path | None], inputs: Iterable[str]
) -> None:
    """Add outputs that would overwrite one another, or a file that `inputs` names."""
    paths = [Path(output) for output in outputs if output and str(output) != "-"]
    # A name such as `DESIGN@BACKEND` may contain two files.
    named = [part for name in inputs for part in (name, *name.split(BEFORE))]
    problems.add(overwritten(paths, [Path(name) for name in named if Path(name).suffix]))


def check_outputs(
    problems: Problems,
    json_path: str | None,
    plot_path: Path | None = None,
    files: Iterable[Path | None] = (),
) -> None:
    """Add problems that would prevent results from being written later."""
    paths = [Path(json_path)] if json_path not in (None, "-") else []
    for path in [*paths, *files]:
        if path is not None:
            with problems.collected():
                check_writable(path)
    if plot_path:
        from pmemsim.plots import check_plot_path

        with problems.collected():
            check_plot_path(plot_path)
