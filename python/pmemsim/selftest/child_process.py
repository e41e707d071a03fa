"""Run work in a child process, which may die or stop responding."""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from pmemsim.programs import ending_of

PROCESSOR_SECONDS = 20.0
_SECONDS = 300.0  # For work that waits instead of computing.
_MEMORY = 4 << 30

# The children are copies of a process without threads, which has loaded the package.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pmemsim.selftest.trials"])

_Value = TypeVar("_Value")


class ChildFailedError(Exception):
    """The child process has ended without a value; the text says how."""


def in_child_process(
    work: Callable[..., _Value], *arguments: object, processor_seconds: float = PROCESSOR_SECONDS
) -> _Value:
    """Return what `work` returns in another process.

    Raises `ChildFailedError` if that process dies, or needs more time.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    child = _CONTEXT.Process(target=_send, args=(sender, processor_seconds, work, arguments))
    child.start()
    sender.close()
    try:
        value: _Value = receiver.recv()
    except EOFError:
        child.join()
        raise ChildFailedError(_ending(child.exitcode or 0)) from None
    child.join()
    return value


def _send(
    sender: Connection,
    processor_seconds: float,
    work: Callable[..., object],
    arguments: tuple[object, ...],
) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, processor_seconds)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    sender.send(work(*arguments))


def _ending(status: int) -> str:
    if status in (-signal.SIGPROF, -signal.SIGALRM):
        return "the process did not end in time"
    return f"the process {ending_of(status)}"
