"""The application object of all commands, its entry point, and the output of errors."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from pmemsim.cli import (
    analyze,
    calibrate,
    catalogue,
    check,
    completion,
    crash,
    decode,
    lint,
    matrix,
    plugin,
    record,
    reproduce,
    selftest,
    simulate,
    sweep,
    trace,
)  # fmt: skip
from pmemsim.cli.command import Command, Group
from pmemsim.cli.console import err
from pmemsim.cli.usage import UsageError, sentences_of
from pmemsim.errors import CheckFailed, ConfigError, Error, Undecided, printable
from pmemsim.plugins import PLUGINS, installed_dir, want
from pmemsim.simulation import version

EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_UNDECIDED = 3
EXIT_INTERRUPTED = 130
_PATIENCE_S = 5.0  # an interrupted simulation ends within a small part of a second


class _Group(Group):
    """Turns pmemsim's errors, and Typer's, into sentences and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 -- Typer's own signature
        """The commands, in the order of the help page."""
        return _names

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 -- Typer's own signature
        try:
            sys.exit(super().main(*args, **{**extra, "standalone_mode": False}))
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
                sys.exit(EXIT_BAD_INPUT)
            _fail(sentences_of(error), EXIT_BAD_INPUT)
        except BrokenPipeError:  # while help is printed, before any command is invoked
            _end_by_broken_pipe()

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- Typer's own signature
        try:
            # From here on there may be files to remove and programs to end. So Ctrl-C, a batch
            # system's time limit and a closed terminal raise exceptions.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, _interrupt)
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
_names: list[str] = []


def add_command(heading: str, name: str, command: Any) -> None:  # noqa: ANN401 -- or a group
    """Add a command or a group of commands; the help page lists it below this heading."""
    _names.append(name)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=heading)
    else:
        app.command(name, cls=Command, rich_help_panel=heading)(command)


_COMMANDS: dict[str, dict[str, Any]] = {
    "Look": {"list": catalogue.list_app, "show": catalogue.show_app},
    "Record": {"record": record.record_command, "trace": trace.app},
    "Simulate": {
        "run": simulate.run_command,
        "compare": simulate.compare_command,
        "matrix": matrix.matrix_command,
        "sweep": sweep.sweep_command,
        "reproduce": reproduce.reproduce_command,
    },
    "Check a program": {
        "check": check.check_command,
        "lint-hints": lint.lint_hints_command,
        "analyze": analyze.app,
    },
    "Test a design": {
        "crash": crash.crash_command,
        "decode": decode.decode_command,
        "selftest": selftest.selftest_command,
    },
    "Add a design": {
        "new-design": plugin.new_design_command,
        "plugin": plugin.app,
    },
    "Set up": {
        "completion": completion.completion_command,
        "calibrate": calibrate.calibrate_command,
        "bench": simulate.bench_command,
    },
}
for _heading, _commands in _COMMANDS.items():
    for _name, _command in _commands.items():
        add_command(_heading, _name, _command)


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
