"""Runs the command `pmemsim` as a process that need not load the package first.

Loading it is most of what a short command does, and the tests run hundreds. So theirs are forked
from a process that has loaded it, one for each of pytest's workers. Apart from that they are like
others: arguments, folder, environment, output and status are their own.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

TIMEOUT_S = 300


def run(
    arguments: Sequence[str], cwd: Path | None, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal, and wait for its end."""
    with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as errors:
        request = {
            "arguments": arguments,
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(environment),
            "output": output.name,
            "errors": errors.name,
        }
        loaded = _loaded()
        assert loaded.stdin is not None
        assert loaded.stdout is not None
        loaded.stdin.write(json.dumps(request) + "\n")
        loaded.stdin.flush()
        status = int(loaded.stdout.readline())
        return subprocess.CompletedProcess(
            ["pmemsim", *arguments],
            status,
            Path(output.name).read_text(),
            Path(errors.name).read_text(),
        )


@functools.cache
def _loaded() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, __file__], env={**os.environ, "COLUMNS": "200"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(process.communicate)
    return process


def _serve() -> None:
    import importlib.metadata  # noqa: F401

    import numpy  # noqa: F401
    import pandas as pd  # noqa: F401
    import pydantic.plugin._loader  # noqa: F401  # typer loads these when it reads a command line
    import typer._adapters
    import typer._click.decorators
    import typer.main
    from matplotlib import pyplot  # noqa: F401

    import pmemsim.cli
    import pmemsim.sweeping.run
    import pmemsim_command  # noqa: F401

    # Building the commands from their functions takes longer than many a command.
    command: Any = typer.main.get_command(pmemsim.cli.app.app)
    dict(command.commands)  # loads each command's modules
    setattr(pmemsim.cli.app, "app", command)  # noqa: B010 -- it is called in the same way
    gc.freeze()  # loaded objects stay in place, shared with forked processes
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(request: dict[str, Any]) -> NoReturn:
    from pmemsim_command import main

    signal.alarm(TIMEOUT_S)
    for descriptor, name in enumerate((os.devnull, request["output"], request["errors"])):
        os.dup2(os.open(name, os.O_RDWR), descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["pmemsim", *request["arguments"]]
    status = 0
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
