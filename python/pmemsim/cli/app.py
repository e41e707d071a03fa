"""The application object of all commands, its entry point, and the output of errors."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.main

from pmemsim.cli.command import Command, Group
from pmemsim.cli.usage import UsageError, sentences_of
from pmemsim.errors import CheckFailed, ConfigError, Error, Undecided, printable
from pmemsim.installation import installed_dir, version
from pmemsim.plugins import PLUGINS, want

EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_UNDECIDED = 3
EXIT_INTERRUPTED = 130
_PATIENCE_S = 5.0  # an interrupted simulation ends within a small part of a second


@dataclass(frozen=True)
class _Entry:
    """A command or a group of commands, in the order of the help page."""

    heading: str
    place: str
    """The command's function, or the group's Typer object: `simulate.run_command`."""
    summary: str

    def command(self, name: str) -> Any:  # noqa: ANN401 -- Typer's own, of no public type
        """Load the module, and return the command."""
        module, _, function = self.place.partition(".")
        found = getattr(importlib.import_module(f"pmemsim.cli.{module}"), function)
        alone = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=name)
        else:
            alone.command(name, cls=Command)(found)
        return typer.main.get_group(alone).commands[name]


class _Commands(Mapping[str, Any]):
    """The commands by name; a command is loaded when it is first used."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 -- Typer's own, of no public type
        if name not in self._loaded:
            self._loaded[name] = _entries[name].command(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_entries)

    def __len__(self) -> int:
        return len(_entries)


class _Group(Group):
    """Turns pmemsim's errors, and Typer's, into sentences and exit codes."""

    def __init__(self, **extra: Any) -> None:  # noqa: ANN401 -- Typer's own signature
        super().__init__(**extra)
        vars(self)["commands"] = _Commands()

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Return the heading, name and summary of each command, without loading it."""
        return ((each.heading, name, each.summary) for name, each in _entries.items())

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 -- Typer's own signature
        try:
            sys.exit(super().main(*args, **{**extra, "standalone_mode": False}))
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
                sys.exit(EXIT_BAD_INPUT)
            _fail(sentences_of(error), EXIT_BAD_INPUT)
        except BrokenPipeError:  # while help is printed, before any command is invoked
            _end_by_broken_pipe()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 -- as above
        """Find and load the command that the arguments begin with."""
        found = super().resolve_command(ctx, args)
        # From here on there may be files to remove and programs to end. So Ctrl-C, a batch
        # system's time limit and a closed terminal raise exceptions.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _interrupt)
        return found

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- Typer's own signature
        try:
            returned = super().invoke(ctx)
            sys.stdout.flush()
            return returned
        except CheckFailed as error:
            _fail(error.problems, EXIT_CHECK_FAILED)
        except Undecided as error:
            _fail(error.problems, EXIT_UNDECIDED)
        except ConfigError as error:
            _fail(error.problems, EXIT_BAD_INPUT)
        except Error as error:
            _fail([str(error)], EXIT_BAD_INPUT)
        except BrokenPipeError:
            _end_by_broken_pipe()  # only now that unfinished files are removed
        except MemoryError:
            _fail(
                [
                    "out of memory; simulate a shorter recording, or run fewer tasks at the same "
                    "time (--jobs)"
                ],
                EXIT_BAD_INPUT,
            )
        except OSError as error:  # a full disk, say, or a cache folder that can't be written
            _fail([f"{error.filename or 'output'}: {error.strerror or error}"], EXIT_BAD_INPUT)
        except KeyboardInterrupt as stopped:
            _fail([str(stopped) or "interrupted; no result was written"], EXIT_INTERRUPTED)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    """Interrupt the command; end the process if a plug-in keeps a thread of it busy."""
    if names := os.environ.get(PLUGINS):
        ending = threading.Timer(_PATIENCE_S, _end_now, [names])
        ending.daemon = True
        ending.start()
    raise KeyboardInterrupt


def _end_now(names: str) -> NoReturn:
    from pmemsim.cli.console import err

    err.print(
        f"pmemsim: interrupted; a function of the plug-in {names} did not return within "
        f"{_PATIENCE_S:g} s",
        markup=False,
    )
    os._exit(EXIT_INTERRUPTED)


def _end_by_broken_pipe() -> NoReturn:
    """End like other programs when the reader of the output has ended (`| head`)."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.raise_signal(signal.SIGPIPE)
    sys.exit(EXIT_BAD_INPUT)


def _fail(problems: Iterable[str], status: int) -> NoReturn:
    from pmemsim.cli.console import err

    for problem in problems:
        err.print(f"pmemsim: {printable(problem)}", markup=False)
    sys.exit(status)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Simulate persistent-memory hardware: record a program once, simulate it on any design.

Start here:

    pmemsim list designs
    pmemsim compare queue hashmap --designs np,sw-undo --machine asap

Your own program:

    pmemsim-cc -O2 -g mine.c -o mine
    pmemsim record -o mine.pmt -- ./mine
    pmemsim run mine.pmt --design sw-undo --machine asap
    pmemsim check mine.pmt

Every command accepts --plugin FILE, which loads your own designs from a plug-in.
PMEMSIM_PATH names folders with your own machines, designs and workloads; `list` shows them, too.
"""
    f"The documentation is in {installed_dir() / 'docs'}; begin with tutorials/tour.md.\n",
)
_entries: dict[str, _Entry] = {}


def add_command(heading: str, name: str, place: str, summary: str) -> None:
    """Add a command or a group of commands; the help page lists it below this heading.

    `place` is the command's function, or the group's Typer object, in a module of `pmemsim.cli`,
    which is loaded when the command is used. `summary` is the first paragraph of its help.
    """
    _entries[name] = _Entry(heading, place, summary)


_COMMANDS = {
    "Look": {
        "list": (
            "catalogue.list_app",
            "List designs, backends, machines, workloads, statistics, faults or experiments.",
        ),
        "show": ("catalogue.show_app", "Show a design, a machine or a statistic in full."),
    },
    "Record": {
        "record": ("record.record_command", "Record a program once, for simulation on any design."),
        "trace": ("trace.app", "Show the contents of a recording, or check its file."),
        "import": ("imports.app", "Convert files of other tools into recordings."),
    },
    "Simulate": {
        "run": (
            "simulate.run_command",
            "Simulate one recording on one design, and print every statistic.",
        ),
        "compare": (
            "simulate.compare_command",
            "Compare designs on several recordings: their throughput, and how their time is spent.",
        ),
        "profile": (
            "profile.profile_command",
            "Print where a run's time goes: by source line and cause, with the calls on request.",
        ),
        "timeline": (
            "timeline.timeline_command",
            "Write what one simulation does in time, for the viewers Perfetto and Konata.",
        ),
        "matrix": (
            "matrix.matrix_command",
            "Simulate and crash every design on the same workloads and one machine, side by side.",
        ),
        "sweep": (
            "sweep.sweep_command",
            "Simulate all combinations of workloads, designs, machines and parameters in a "
            "YAML file.",
        ),
        "reproduce": (
            "reproduce.reproduce_command",
            "Reproduce a paper's experiments, and compare each result with the published one.",
        ),
        "pack": (
            "pack.pack_command",
            "Pack results, their recordings and configurations in one file.",
        ),
        "replay": (
            "pack.replay_command",
            "Simulate packed results again, and compare every number.",
        ),
        "report": (
            "report.report_command",
            "Make one HTML page of results: verdicts, plots, tables, configurations and their "
            "origin.",
        ),
    },
    "Check a program": {
        "check": (
            "check.check_command",
            "Find errors in a recorded program's use of persistent memory.",
        ),
        "advise": (
            "advise.advise_command",
            "Say which flushes, fences and logging can be removed, or what repairs a program.",
        ),
        "lint-hints": (
            "lint.lint_hints_command",
            "Report pre-execution hints (pm_pre_...) that cost more than they save, and "
            "missing hints.",
        ),
        "analyze": ("analyze.app", "Analyse recordings without simulating time."),
    },
    "Test a design": {
        "crash": (
            "crash.crash_command",
            "Crash a design at every change of its persistent state, recover, and check the image.",
        ),
        "decode": (
            "decode.decode_command",
            "Decode a crashed device: decrypt its lines, verify them, and put them in "
            "program order.",
        ),
        "selftest": (
            "selftest.selftest_command",
            "Inject faults into designs, and check that each is detected.",
        ),
    },
    "Add a design": {
        "new-design": (
            "plugin.new_design_command",
            "Write the sources of a new design that already works and survives crashes.",
        ),
        "plugin": ("plugin.app", "Build plug-ins that contain your own designs."),
    },
    "Set up": {
        "completion": (
            "completion.completion_command",
            "Print a file that completes pmemsim's commands, options and names in a shell.",
        ),
        "calibrate": (
            "calibrate.calibrate_command",
            "Measure a machine, and write a machine preset that behaves like it.",
        ),
        "bench": (
            "bench.bench_command",
            "Measure the simulator's own speed and memory use, for every design.",
        ),
    },
}
for _heading, _of_heading in _COMMANDS.items():
    for _name, _where in _of_heading.items():
        add_command(_heading, _name, *_where)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pmemsim {version()}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Prints the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command `pmemsim`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the caller has closed standard output, as `>&-` does
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- stays open
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A folder's name may be any bytes; standard error escapes these by default.
        sys.stdout.reconfigure(errors="backslashreplace")
    for argument in sys.argv:
        try:
            argument.encode()
        except UnicodeEncodeError:
            _fail([f"{argument!a}: the name is not valid UTF-8; rename the file"], EXIT_BAD_INPUT)
    app(_without_plugins(sys.argv[1:]))


def _without_plugins(arguments: list[str]) -> list[str]:
    """Return the arguments without `--plugin FILE`, and note these plug-ins for loading."""
    left: list[str] = []
    given = iter(arguments)
    for argument in given:
        if argument == "--":
            return [*left, argument, *given]
        option, equals, value = argument.partition("=")
        if option != "--plugin":
            left.append(argument)
            continue
        path = value if equals else next(given, "")
        if not path:
            _fail(
                ["--plugin: the path of the plug-in is missing; write --plugin FILE"],
                EXIT_BAD_INPUT,
            )
        want(path)
    return left
