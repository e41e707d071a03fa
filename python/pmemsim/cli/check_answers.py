"""`pmemsim check --answers`: run the program's own reader on images, and report wrong answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pmemsim.cli.command import CHECKER, option


@dataclass(frozen=True)
class AnswerOptions:
    """Options of a program's reader and its operations."""

    answers: Annotated[str | None, option(
        CHECKER, "--answers", value="CMD",
        help="A command that recovers an image, whose file is its last argument, and prints the "
            "contents. They must be those before or after the interrupted operation.",
    )] = None  # fmt: skip
    operation: Annotated[str | None, option(
        CHECKER, "--operation", value="FUNCTION,...", default="the recording's regions",
        help="Each call of a function that matches one of these globs is an operation for "
            "--answers.",
    )] = None  # fmt: skip
