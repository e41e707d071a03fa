"""The image of a run: the program must find its data whole in it."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import pmemsim
from duplicates import written_ranges
from pmemsim import crashing
from pmemsim.crashing import Checker, Points
from pmemsim.errors import Error
from pmemsim.recording import build_workload
from pmemsim.simulation import configure
from pmemsim.workload_runs import workloads
from support import ONE_OF_EACH_KIND, long_except, shared_recording

FLIPS = 5
PAGE_BYTES = 4096


def verify(workload: str, image: Path) -> subprocess.CompletedProcess[str]:
    """Let the workload check an image."""
    return subprocess.run(
        [build_workload(workload), "--verify", image], capture_output=True, text=True, check=False
    )


def write_image(path: Path, contents: npt.NDArray[np.uint8], used: npt.NDArray[np.intp]) -> None:
    """Write an image as a file with holes: only its used pages, which are few, take time."""
    path.unlink()
    with path.open("wb") as file:
        for begin in (used * PAGE_BYTES).tolist():
            file.seek(begin)
            file.write(contents[begin : begin + PAGE_BYTES].tobytes())
        file.truncate(len(contents))


@pytest.mark.quick
@pytest.mark.parametrize(
    ("workload", "opt"),
    long_except(
        [*((each, "O2") for each in workloads()), *((each, "O0") for each in ONE_OF_EACH_KIND)],
        ("queue", "O2"),
        ("hashmap_lowlevel", "O2"),
    ),
)
def test_a_workload_finds_its_data_in_the_image(workload: str, opt: str, tmp_path: Path) -> None:
    trace = shared_recording(workload, opt)
    image = tmp_path / "image"
    pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    done = verify(workload, image)
    assert done.returncode == 0, done.stderr
    assert image.stat().st_size == sum(
        region["end"] - region["begin"] for region in trace.metadata["pm_regions"]
    )


@pytest.mark.parametrize("workload", long_except(workloads(), "queue", "hashmap_lowlevel"))
def test_a_workload_notices_a_flipped_bit(workload: str, tmp_path: Path) -> None:
    """At least one bit in four is noticed where regions stored.

    Padding and finished logs don't matter.
    """
    trace = shared_recording(workload)
    image = tmp_path / "image"
    pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    contents = np.fromfile(image, np.uint8)
    used = np.flatnonzero(contents.reshape(-1, PAGE_BYTES).any(axis=1))
    base = int.from_bytes(contents[16:24].tobytes(), "little")
    places = np.unique(written_ranges(trace, range(base, base + len(contents))), axis=1)
    random = np.random.default_rng(1)
    noticed = 0
    flips = min(FLIPS, places.shape[1])
    for first, last in random.choice(places, flips, axis=1, replace=False).T:
        place = random.integers(first, last, endpoint=True)
        contents[place] ^= 1
        write_image(image, contents, np.union1d(used, place // PAGE_BYTES))
        noticed += verify(workload, image).returncode == 1
        contents[place] ^= 1
    assert noticed >= flips // 4


def queue_items(design: str, folder: Path) -> str:
    """Return the number of items that the queue's own check counts in the image of a design."""
    image = folder / design
    pmemsim.run(shared_recording("queue"), design=design, machine="asap", image=image)
    return verify("queue", image).stdout.split("; ")[1]


def test_image_includes_the_contents_of_persistent_caches(tmp_path: Path) -> None:
    assert queue_items("eadr", tmp_path) == queue_items("sw-undo", tmp_path)


@contextmanager
def small_files() -> Iterator[None]:
    """Limit the size of this process's files to less than that of a workload's pool."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_image_too_large_for_a_file_is_an_error(tmp_path: Path) -> None:
    trace = shared_recording("queue")
    (region,) = trace.metadata["pm_regions"]
    begin, end = region["begin"], region["end"]
    words = f": the image of the trace's persistent memory from {begin:#x} to {end:#x}, "
    words += f"{end - begin} bytes, could not be written: File too large; choose a file system"
    image = tmp_path / "image"
    with small_files(), pytest.raises(Error, match=f"^{re.escape(f'{image}{words}')}"):
        pmemsim.run(trace, design="sw-undo", machine="asap", image=image)
    words = words.removeprefix(": ").replace("could not be written", "could not be kept in memory")
    words = words.replace("choose a file system", "record with a smaller pool")
    with small_files(), pytest.raises(Error, match=f"^{re.escape(words)}"):
        crashing.verify(trace, configure("sw-undo", "asap"), Points(), Checker(("true",), 1), "")


def test_image_without_flushes_has_the_initial_contents(tmp_path: Path) -> None:
    """A small queue stays in the caches, so PM keeps the state of the set-up."""
    set_up = "10000 items checked\n"
    assert queue_items("np", tmp_path) == set_up
    assert queue_items("sw-undo", tmp_path) != set_up
