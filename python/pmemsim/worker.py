"""Do jobs in a process for another one: `python -m pmemsim.worker DESCRIPTOR`.

The worker ends when the other process ends. Only the other process handles Ctrl-C.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from pmemsim.errors import Error, on_one_line
from pmemsim.executor import Failure
from pmemsim.jobs import Kept, Work
from pmemsim.simulation import Progress, StartingContents
from pmemsim.trace import Trace

_ANY_NUMBER = 1 << 62  # more simulations than any worker runs


class _Last:
    """The recording of the last job, with its PM loaded: the next job often uses it, too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a Dask worker has threads
        self._opened: tuple[Path, Trace, StartingContents] | None = None

    def opened(self, path: Path) -> tuple[Trace, StartingContents]:
        with self._lock:
            if self._opened is None or self._opened[0] != path:
                self._opened = None  # so that only one recording is in memory at a time
                trace = Trace(path)
                self._opened = (path, trace, StartingContents(trace, _ANY_NUMBER))
            return self._opened[1:]


_last = _Last()


def perform(path: Path, work: Work, report: Progress) -> Kept | Failure:
    """Do work on a recording; every error becomes its result."""
    try:
        return work.run(*_last.opened(path), report)
    except (EOFError, ConnectionError):  # the other process has ended
        raise
    except MemoryError:
        return Failure(
            "out of memory; simulate a shorter recording, or run fewer tasks at the "
            "same time (--jobs)"
        )
    except Error as error:
        return Failure(on_one_line(error))
    except Exception as error:  # a defect in one job must not lose the others
        return Failure(f"{type(error).__name__}: {error}")


def main() -> None:
    """Entry point."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            connection.send(_next(connection))


def _next(connection: Connection) -> Kept | Failure:
    """Receive the next job and do it; its configuration is resolved on arrival."""
    try:
        path, work = connection.recv()
    except Error as error:
        return Failure(on_one_line(error))
    return perform(path, work, connection.send)


if __name__ == "__main__":
    main()
