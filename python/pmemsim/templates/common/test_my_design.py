"""Tests of my-design: `python -m pytest` in this folder, after `pmemsim plugin build .`"""

import subprocess
from pathlib import Path

PLUGIN = Path(__file__).parent / "my_design.so"


def pmemsim(*words: str) -> str:
    """Run a command with the plug-in and return what it prints."""
    command = ["pmemsim", *words, "--plugin", str(PLUGIN)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_crash_leaves_an_image_that_recovery_makes_whole() -> None:
    shown = pmemsim("crash", "queue", "-d", "my-design", "-m", "asap", "--regions", "50")
    assert "my-design" in shown


def test_the_design_finishes_a_run_on_several_cores() -> None:
    shown = pmemsim("run", "hashmap", "-d", "my-design", "-m", "asap", "--regions", "50")
    assert "atomic regions" in shown
