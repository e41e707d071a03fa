"""Running other programs, which may be stopped before their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

KeepGoing = Callable[[], None]
"""Called several times a second; stops the program by raising an exception."""

_POLL_S = 0.1
_GRACE_S = 5


def run_program(
    command: Sequence[str],
    keep_going: KeepGoing | None,
    *,
    timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> int:
    """Run a program to its end; returns its status, or minus the signal's number.

    `environment` comes on top of this process's. Raises `OSError` if it can't be run, and
    `TimeoutError` if it was ended because it took longer than `timeout_s`; what it has started
    ends with it then.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    process = subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=until is not None,
    )
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_POLL_S)
            if keep_going:
                keep_going()
            if until is not None and time.monotonic() > until:
                raise TimeoutError
    finally:
        if process.poll() is None:
            if until is not None:
                os.killpg(process.pid, signal.SIGKILL)
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ending_of(status: int) -> str:
    """How a program with that status ended, in words."""
    if status < 0:
        names = {number.value: number.name for number in signal.Signals}
        # Real-time signals have numbers alone.
        return f"died of signal {names.get(-status, -status)}"
    return f"ended with status {status}"
