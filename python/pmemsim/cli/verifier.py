"""The options that name a checker of images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pmemsim.cli.command import CHECKER, option
from pmemsim.crashing import DEFAULT_CHECK_TIMEOUT_S, CheckerWanted, wanted_checker
from pmemsim.errors import Problems


@dataclass(frozen=True)
class Verifier:
    """A user's checker of images."""

    verify: Annotated[str | None, option(
        CHECKER, "--verify", value="CMD",
        help="A command that checks an image: its last argument is the image's file, and exit "
            "code 0 means consistent. `own` selects the checker of pmemsim's workload.",
    )] = None  # fmt: skip
    verify_library: Annotated[Path | None, option(
        CHECKER, "--verify-library", value="LIBRARY",
        help="A shared library whose function pmemsim_check (pmemsim/check.h) checks images in "
            "memory. It is several times as fast as --verify.",
    )] = None  # fmt: skip
    verify_timeout: Annotated[float | None, option(
        CHECKER, "--verify-timeout", value="SECONDS", more=True,
        default=f"{DEFAULT_CHECK_TIMEOUT_S:g}",
        help="Time limit of a checker for one image, in seconds. An image that exceeds it counts "
            "as wrong.",
    )] = None  # fmt: skip

    def wanted(self, problems: Problems) -> CheckerWanted:
        """The checker."""
        return wanted_checker(self.verify, self.verify_library, self.verify_timeout, problems)
