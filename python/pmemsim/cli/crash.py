"""`pmemsim crash`: crash designs whenever the persistent state changes, recover, and check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pmemsim import crashing, random_programs
from pmemsim.arguments import check_jobs
from pmemsim.cli.choices import before_backends, configurations_of, find_targets, names_of
from pmemsim.cli.command import (
    CHECKER,
    DESIGN,
    EXPLORATION,
    MACHINE,
    OUTPUT,
    TARGET,
    declared,
    option,
)
from pmemsim.cli.console import note_nothing_kept, print_notes, progress_of
from pmemsim.cli.crash_runs import fail_if_wrong, print_refused, print_runs
from pmemsim.cli.options import (
    Backends,
    Jobs,
    Json,
    Machine,
    MoreTargets,
    Overrides,
    Recipe,
    TargetsIfAny,
    all_targets,
    check_outputs,
    keep_inputs,
)
from pmemsim.cli.recordings import open_traces
from pmemsim.cli.verifier import Verifier
from pmemsim.crash_suite import (
    CrashSuite,
    cases_of,
    default_checks,
    image_checks,
    points_of,
    random_programs_of,
)
from pmemsim.crashing import Case, Points
from pmemsim.decode import registers_path
from pmemsim.errors import Problems
from pmemsim.presets import parse_overrides
from pmemsim.rules import Given
from pmemsim.runner import Runner
from pmemsim.workload_runs import WorkloadRun


@dataclass(frozen=True)
class _Designs:
    """Options that select the designs to crash."""

    designs: Annotated[str | None, option(
        DESIGN, "--design", "--designs", "-d", value="DESIGN,...", help="The designs to crash, "
            "separated by commas."
    )] = None  # fmt: skip
    all_designs: Annotated[bool, option(
        DESIGN, "--all-designs",
        help="Crashes every design that guarantees atomic regions and supports the software log "
            "of --log.",
    )] = False  # fmt: skip
    backends: Backends = None
    machine: Machine = "asap"
    overrides: Overrides = None
    stress: Annotated[bool, option(
        MACHINE, "--stress",
        help="Crashes with each set of settings that fills hardware structures, instead of the "
            "unchanged machine (docs/guides/crash_design.md). Random programs use the sets in "
            "turn.",
    )] = False  # fmt: skip

    def names(self, log: str | None, problems: Problems) -> list[str]:
        """Return the names of the wanted designs."""
        names = []
        if self.designs is not None:
            names = names_of(self.designs, problems)
        elif self.all_designs:
            with problems.collected():
                names = crashing.promising_designs(self.machine, log)
        return before_backends(names, self.backends, problems)

    def cases(self, names: Sequence[str], problems: Problems) -> list[list[Case]]:
        """Return the designs to crash, grouped by set of settings."""
        extra = tuple(parse_overrides(self.overrides or [], problems.found))
        configurations = configurations_of(names, self.machine, extra, problems)
        if len(configurations) < len(names):
            return []
        return cases_of(names, self.machine, configurations, stress=self.stress)


@dataclass(frozen=True)
class _Exploration:
    """Options that select the crash points and their images."""

    points: Annotated[str, option(
        EXPLORATION, "--points", value="N|all",
        help="Crashes at N random points (see --seed), or at all points.",
    )] = "all"  # fmt: skip
    at: Annotated[str | None, option(
        EXPLORATION, "--at", value="TIME",
        help="Crashes only at the last points up to this simulated time, as in 12.5us.",
    )] = None  # fmt: skip
    subsets: Annotated[int, option(
        EXPLORATION, "--subsets", value="N",
        help="At each point, also checks N images in which the caches have written back some of "
            "their dirty lines.",
    )] = 0  # fmt: skip

    def wanted(self, seed: int | None, problems: Problems) -> Points:
        """Return the wanted points."""
        return points_of(self.points, self.at, self.subsets, seed, problems)


@dataclass(frozen=True)
class _Options:
    """All options of the command."""

    designs: _Designs
    recipe: Recipe
    exploration: _Exploration
    verifier: Verifier
    verify_images: Annotated[str | None, option(
        CHECKER, "--verify-images", value="N|all", more=True,
        default=f"{crashing.DEFAULT_CHECKS}; 0 with --random alone",
        help="How many images of a run the checker checks, at evenly spaced points. `all` "
            "includes torn lines and the images of --subsets.",
    )] = None  # fmt: skip
    more_targets: MoreTargets = None
    random: Annotated[int | None, option(
        TARGET, "--random", value="N",
        help="Crashes N random programs instead of targets. Their seeds begin with --seed; each "
            f"has {random_programs.REGIONS} regions (or --regions).",
    )] = None  # fmt: skip
    keep_image: Annotated[Path | None, option(
        OUTPUT, "--keep-image", value="FILE", more=True,
        help="Writes the first wrong image, after recovery, to this file. With --at, if no image "
            "is wrong, it writes the image of the last point. Several regions of persistent "
            "memory are written to FILE.0, FILE.1, ...",
    )] = None  # fmt: skip
    save_image: Annotated[Path | None, option(
        OUTPUT, "--save-image", value="FILE", more=True,
        help="Writes the device's contents at the last point of --at, before recovery, for "
            "`pmemsim decode`. Surviving registers are written to FILE.registers.json. The design "
            "must have a backend.",
    )] = None  # fmt: skip
    json_path: Json = None
    jobs: Jobs = None

    def suite(self, targets: Sequence[str], problems: Problems) -> CrashSuite:
        """Return what to crash, and add all errors of the options to `problems`."""
        saved = [self.save_image, registers_path(self.save_image)] if self.save_image else []
        check_outputs(problems, self.json_path, files=[*saved, self.keep_image])
        check_jobs(problems, self.jobs)
        names = self.designs.names(self.recipe.log, problems)
        if self.save_image or self.keep_image:
            self._refuse_several(names, targets, problems)
        machine = self.designs.machine
        outputs = [self.json_path, *saved, self.keep_image]
        keep_inputs(problems, outputs, (*targets, *names, machine))
        points = self.exploration.wanted(self.recipe.seed, problems)
        checker = self.verifier.wanted(problems)
        default = default_checks(random=self.random is not None, checker=checker)
        return CrashSuite(
            cases=self.designs.cases(names, problems),
            points=replace(points, device=self.save_image, kept=self.keep_image),
            recipe=self.recipe.given,
            checker=checker,
            check_images=image_checks(self.verify_images, default=default, problems=problems),
            runner=Runner(progress_of, self.jobs),
        )

    def _refuse_several(
        self, names: Sequence[str], targets: Sequence[str], problems: Problems
    ) -> None:
        """Add a problem if one image is to be written, but there are several targets or designs."""
        if len(names) > 1 or len(targets) > 1:
            option = "--save-image" if self.save_image else "--keep-image"
            problems.add([f"{option}: this option requires a single target and a single design"])


@declared
def crash_command(targets: TargetsIfAny = None, *, given: Given, options: _Options) -> None:
    """Crash a design at every change of its persistent state, recover, and check the image.

    For example:

        pmemsim crash queue --design asap --threads 4
        pmemsim crash queue btree --all-designs --threads 4 --points 10000
        pmemsim crash --all-designs --stress --random 100 --seed 1
        pmemsim crash queue --design asap,lad --backends verified-janus -m janus
        pmemsim crash mine.pmt -d sw-undo --verify './mine --verify'

    At each point, the design's own recovery runs on exactly the data that survive. The recovered
    image must contain a set of whole regions, all regions that these depend on, and all data that
    the design guarantees. A design without atomic regions (x86-bare) must keep all data that were
    flushed and fenced. The command refuses a design without guarantees (np). A program's checker
    also checks some images: the one of --verify, or the one of a workload. To check a program
    instead of a design, use `pmemsim check`.

    The exit codes are:

        0   no image is wrong
        1   an image is wrong; the first one is explained
        2   no image was checked, for example because the recording has no persistent memory, or
            no regions on a design that guarantees nothing else
    """
    problems = given.problems()
    wanted = all_targets(targets, options.more_targets)
    suite = options.suite(wanted, problems)
    if options.random is None:
        targets_found = find_targets(wanted, options.recipe, problems, seed_is_own=True)
        problems.raise_any()
        traces = open_traces(targets_found, options.jobs)
        found = suite.on_traces(list(zip(wanted, traces, strict=True)))
    else:
        programs: list[WorkloadRun] = []
        with problems.collected():
            programs = random_programs_of(options.random, options.recipe.given)
        problems.raise_any()
        found = suite.on_random_programs(programs)
    if options.json_path:
        found.to_json(options.json_path)
    if options.json_path != "-":
        print_runs(found.runs)
        print_notes((run.workload, run.notes) for run in found.runs)
        print_refused(found.refused)
    fail_if_wrong(found.every)
    if options.keep_image is not None and options.exploration.at is None:
        note_nothing_kept(options.keep_image)
