"""Measures the pinned verdicts on programs: the corpus's own checks see images that x86 allows."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from corpus import CASES
from corpus import FOLDER as SOURCES
from pins.configurations import corpus_recording
from pins.files import Files, number
from pmemsim.answers import AnswersWanted, check_answers
from pmemsim.crashing import Checker
from pmemsim.persistency import Budget, Wanted, show_order

_MODELS = ("px86", "eadr")
_BUDGET = Budget.of("100")


def measure() -> Files:
    """Return which images the programs' checks reject, and which answers are wrong."""
    # The programs check images here and aren't recorded, so any compiler will do.
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: Path(folder) / name for name in CASES}
        for name, program in programs.items():
            source = SOURCES / f"{name}.c"
            subprocess.run(["cc", "-O0", "-pthread", source, "-o", program], check=True)
        images: list[str] = []
        answers: list[str] = []
        for name, program in programs.items():
            for model in _MODELS:
                images += _images(name, program, model)
                if "operation" in CASES[name]:
                    answers += _answers(name, program, model)
    return {"verdicts/images.txt": images, "verdicts/answers.txt": answers}


def _images(name: str, program: Path, model: str) -> Iterator[str]:
    """Yield numbers of images, and the program's lines that explain the first rejected image."""
    # A checker's reads depend on its compiler, so no images are spared because of them.
    wanted = Wanted(model, _BUDGET, watch=False)
    run = show_order(corpus_recording(name), wanted, Checker((str(program), "check")), "", set())
    assert run is not None
    explained = "\n".join(run.story.lines) if run.story else ""
    lines = dict.fromkeys(re.findall(rf"{name}\.c:(\d+)", explained))
    yield f"{name} {model} images {run.images}"
    yield f"{name} {model} possible {number(run.possible)}"
    yield f"{name} {model} instants {run.instants}"
    yield f"{name} {model} rejected_for_lines {','.join(lines) or '-'}"


def _answers(name: str, program: Path, model: str) -> Iterator[str]:
    """Yield numbers of images, and the number of wrong answers by source line."""
    reader = Checker((str(program), "answer"), reader=True)
    wanted = AnswersWanted(reader, CASES[name]["operation"], model == "eadr", _BUDGET)
    found = check_answers(corpus_recording(name), wanted, "")
    for key in ("operations", "images", "possible", "wrong", "unjudged"):
        yield f"{name} {model} {key} {number(getattr(found, key))}"
    for finding in found.findings:
        yield f"{name} {model} {Path(str(finding.place)).name} {finding.count}"
