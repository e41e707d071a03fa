"""Where the command `pmemsim` starts.

It lies outside the package, so that Ctrl-C is answered in words while the package is being loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType


def main() -> None:
    """Entry point of the command `pmemsim`."""
    # Shells start jobs in the background without Ctrl-C; that stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from pmemsim.cli import main as run

    run()


def _end(_signal: int, _frame: FrameType | None) -> None:
    # There is nothing to tidy up yet, and an exception might end in a half-loaded module.
    with contextlib.suppress(OSError):
        os.write(2, b"pmemsim: interrupted; no result was written\n")
    os._exit(130)
