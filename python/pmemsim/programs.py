"""Run other programs, which may be stopped before their end."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from pmemsim.errors import Error

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
    """Run a program to its end, and return its status, or minus the signal's number.

    `environment` comes on top of this process's. Raises `OSError` if it can't be run, and
    `TimeoutError` if it was ended because it took longer than `timeout_s`; with a timeout,
    processes that the program has started end with it, and all of them end if this process is
    killed.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    with contextlib.nullcontext() if until is None else _group_that_ends_with_us() as group:
        process = None
        try:
            with _without_interrupts():
                process = subprocess.Popen(
                    command,
                    env={**os.environ, **(environment or {})},
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    process_group=group,
                )
            while not _ends_within(process, _POLL_S):
                if keep_going:
                    keep_going()
                if until is not None and time.monotonic() > until:
                    raise TimeoutError
            return process.wait()
        finally:
            if process is not None and process.poll() is None:
                if group is not None:
                    os.killpg(group, signal.SIGKILL)
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(_GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a program. `Popen.wait` would notice it up to 50 ms later."""
    handle = os.pidfd_open(process.pid)
    try:
        ends = select.poll()
        ends.register(handle, select.POLLIN)
        return bool(ends.poll(seconds * 1000))
    finally:
        os.close(handle)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Delay signals that raise exceptions to the end of the block.

    A signal while a program is being started would otherwise leave it running and unnoticed.
    """
    came: list[int] = []
    raising = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.default_int_handler
    ]
    for number in raising:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number in raising:
            signal.signal(number, signal.default_int_handler)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def _group_that_ends_with_us() -> Iterator[int]:
    """Return the number of a process group that ends with the block, or if this process is killed.

    Its first process waits for the end of a pipe, which is reached when no process can write to the
    pipe.
    """
    guard = ["sh", "-c", "read _; kill -KILL 0"]
    with subprocess.Popen(guard, stdin=subprocess.PIPE, process_group=0) as process:
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def ending_of(status: int) -> str:
    """Describe how a program with this status ended."""
    if status < 0:
        names = {number.value: number.name for number in signal.Signals}
        # Real-time signals have numbers but no names.
        return f"died of signal {names.get(-status, -status)}"
    return f"ended with status {status}"


def words_of(option: str, command: str) -> tuple[str, ...]:
    """Split an option's command into words, as a shell does; an `Error` if it can't be run."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Error(f"{option} {command}: {error}; quote the command as in a shell") from error
    if not words:
        raise Error(f"{option}: the command is empty; name a program, or remove the option")
    if shutil.which(words[0]) is None:
        raise Error(f"{option} {command}: {why_not_found(words[0])}")
    return tuple(words)


def why_not_found(program: str, cure: str = "name an existing one") -> str:
    """Return the reason why a program can't be run; `cure` follows if it doesn't exist."""
    path = Path(program)
    if not path.exists():
        return f"no such program; {cure}"
    if path.is_dir():
        return "this is a folder; name the program itself"
    if "/" not in program:
        return f"no such program in PATH; for the one in this folder, write ./{program}"
    return f"the file is not executable; if it is a program, run: chmod +x {program}"
