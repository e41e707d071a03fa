"""The commands' frame: the application object, its entry point, and how errors reach the user."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from pmemsim.cli import (
    analyze,
    calibrate,
    catalogue,
    check,
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
from pmemsim.cli.console import err
from pmemsim.cli.options import WorkloadCommand
from pmemsim.cli.usage import UsageError, sentences_of
from pmemsim.errors import CheckFailed, ConfigError, Error, printable
from pmemsim.plugins import want
from pmemsim.simulation import version

EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class _Group(TyperGroup):
    """Turns pmemsim's errors, and Typer's, into sentences and exit codes."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 -- Typer's own signature
        try:
            sys.exit(super().main(*args, **{**extra, "standalone_mode": False}))
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
                sys.exit(EXIT_BAD_INPUT)
            _fail(sentences_of(error), EXIT_BAD_INPUT)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- Typer's own signature
        try:
            # From here on there may be files to tidy up and programs to end, so Ctrl-C, a batch
            # system's time limit and a terminal that goes away are exceptions.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.default_int_handler)
            returned = super().invoke(ctx)
            sys.stdout.flush()
            return returned
        except CheckFailed as error:
            _fail([str(error)], EXIT_CHECK_FAILED)
        except ConfigError as error:
            _fail(error.problems, EXIT_BAD_INPUT)
        except Error as error:
            _fail([str(error)], EXIT_BAD_INPUT)
        except BrokenPipeError:
            # The reader of our output has gone (| head): end as other programs do, but only now
            # that unfinished files are removed.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)
        except MemoryError:
            _fail(
                ["out of memory; simulate a shorter recording, or fewer at once (--jobs)"],
                EXIT_BAD_INPUT,
            )
        except OSError as error:  # a full disk, say, or a cache folder that can't be written
            _fail([f"{error.filename or 'output'}: {error.strerror or error}"], EXIT_BAD_INPUT)
        except KeyboardInterrupt as stopped:
            _fail([str(stopped) or "interrupted; no result was written"], EXIT_INTERRUPTED)


def _fail(problems: list[str], status: int) -> NoReturn:
    for problem in problems:
        err.print(f"pmemsim: {printable(problem)}", markup=False)
    sys.exit(status)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Simulate persistent-memory hardware: record a program once, run it on any design.

Start here:

    pmemsim list designs
    pmemsim compare queue hashmap --designs np,sw-undo --machine asap

Your own program:

    pmemsim-cc -O2 -g mine.c -o mine
    pmemsim record -o mine.pmt -- ./mine
    pmemsim run mine.pmt --design sw-undo --machine asap
""",
)
app.add_typer(catalogue.list_app, name="list")
app.add_typer(catalogue.show_app, name="show")
app.command("record", cls=WorkloadCommand)(record.record_command)
app.add_typer(trace.app, name="trace")
app.command("run", cls=WorkloadCommand)(simulate.run_command)
app.command("compare", cls=WorkloadCommand)(simulate.compare_command)
app.command("check", cls=WorkloadCommand)(check.check_command)
app.command("crash", cls=WorkloadCommand)(crash.crash_command)
app.command("selftest")(selftest.selftest_command)
app.command("decode")(decode.decode_command)
app.command("matrix", cls=WorkloadCommand)(matrix.matrix_command)
app.add_typer(analyze.app, name="analyze")
app.command("lint-hints", cls=WorkloadCommand)(lint.lint_hints_command)
app.command("sweep")(sweep.sweep_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("calibrate")(calibrate.calibrate_command)
app.command("new-design")(plugin.new_design_command)
app.add_typer(plugin.app, name="plugin")
app.command("bench", cls=WorkloadCommand)(simulate.bench_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pmemsim {version()}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command `pmemsim`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the caller has closed it, as `>&-` does
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- stays open
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As standard error does: a folder's name may be any bytes.
        sys.stdout.reconfigure(errors="backslashreplace")
    for argument in sys.argv:
        try:
            argument.encode()
        except UnicodeEncodeError:
            _fail([f"{argument!a}: is not valid UTF-8; rename the file"], EXIT_BAD_INPUT)
    app(_without_plugins(sys.argv[1:]))


def _without_plugins(arguments: list[str]) -> list[str]:
    """The arguments but `--plugin FILE`, which any command takes: these plug-ins are wanted."""
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
            _fail(["--plugin: needs the path of a plug-in"], EXIT_BAD_INPUT)
        want(path)
    return left
