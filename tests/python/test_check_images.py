"""`pmemsim check --verify`: images that x86's persistency model allows, and a program's checker."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from pmemsim.errors import Error
from pmemsim.persistency import Budget
from support import long_except, may_watch, pmemsim

SOURCE = Path(__file__).with_name("published_items.c")
RANGE = "500000000000:500000002000"
Build = Callable[[int], tuple[Path, Path]]

# The mistakes of the program, by number.
(
    RIGHT, DATA_NOT_FLUSHED, NO_FENCE, STORED_AFTER_FLUSH, PARTIAL_LINE, NT_NO_FENCE, OTHER_THREAD,
    OTHER_THREADS_TWIN,
) = range(8)  # fmt: skip


def line_of(comment: str) -> str:
    """Return the place of a line of the program."""
    lines = SOURCE.read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"// {comment}")]
    return f"published_items.c:{number}"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build the program with a mistake, and record it."""
    folder = tmp_path_factory.mktemp("items")

    @cache
    def built(bug: int) -> tuple[Path, Path]:
        program, trace = folder / f"items{bug}", folder / f"items{bug}.pmt"
        compiler = Path(sys.executable).with_name("pmemsim-cc")
        options = ["-O1", "-mclwb", "-pthread", f"-DBUG={bug}"]
        subprocess.run([compiler, *options, SOURCE, "-o", program], check=True)
        done = pmemsim("record", "-o", trace, "--pm-range", RANGE, "--", program)
        assert done.returncode == 0, done.stderr
        return program, trace

    return built


def crash(built: tuple[Path, Path], *options: str | Path) -> subprocess.CompletedProcess[str]:
    program, trace = built
    return pmemsim("check", trace, "--model", "px86", "--verify", program, *options)


@pytest.mark.parametrize(
    ("bug", "store", "why"),
    [
        (DATA_NOT_FLUSHED, "value", "never flushed"),
        (NO_FENCE, "value", r"flushed at \S+, without a fence of that thread before the crash"),
        pytest.param(STORED_AFTER_FLUSH, "late value", "never flushed", marks=pytest.mark.long),
        pytest.param(PARTIAL_LINE, "value", "never flushed", marks=pytest.mark.long),
        (NT_NO_FENCE, "streamed value", "non-temporal, without a fence of its thread"),
        (
            OTHER_THREAD,
            "other's value",
            r"not flushed yet \(\S+\.c:\d+, called at \S+\.c:\d+ flushes it\)",
        ),
    ],
)
def test_a_bug_is_found_and_its_line_named(build: Build, bug: int, store: str, why: str) -> None:
    done = crash(build(bug))
    assert done.returncode == 1, done.stderr
    assert re.search(r"is not crash-safe under px86: .* status 1: item \d+ is counted", done.stderr)
    lost = done.stderr.split("lost in this image, although visible at the crash:")[1]
    assert re.search(rf"{re.escape(line_of(store))}, thread \d: .*: {why}", lost), done.stderr
    again = pmemsim(*shlex.split(done.stderr.split("to reproduce: pmemsim")[1]))
    assert again.returncode == 1
    assert again.stderr.split("were checked)")[1] == done.stderr.split("were checked)")[1]


@pytest.mark.parametrize("bug", [RIGHT, OTHER_THREADS_TWIN])
def test_checker_accepts_all_images_of_a_right_program(build: Build, bug: int) -> None:
    done = crash(build(bug))
    assert done.returncode == 0, done.stderr
    # Images of each item: nothing stored, either line, both lines; and the count.
    assert "81 of 81" in done.stdout


def test_explanation_names_only_losses_that_matter(build: Build) -> None:
    """Each value may be missing, from the second image on; one is enough."""
    lost = crash(build(PARTIAL_LINE)).stderr.split(
        "lost in this image, although visible at the crash:"
    )[1]
    lost = lost.split("kept in this image, although")[0].split("to reproduce")[0]
    (only,) = [line for line in lost.splitlines() if "published_items.c" in line]
    assert re.search(rf"{line_of('value')}, thread 0: 8 bytes from 0x\w+: never flushed", only)


def test_explanation_has_the_position_of_each_thread(build: Build) -> None:
    text = crash(build(OTHER_THREAD)).stderr
    assert re.search(
        r"the crash is immediately before the sfence of thread 0 at \S+items.c:\d+", text
    )
    assert re.search(r"thread 0 has reached \S+items.c:\d+", text)
    assert re.search(r"thread 1 has reached \S+items.c:\d+", text)


def test_eadr_model_needs_fences_only_for_non_temporal_stores(build: Build) -> None:
    for bug, code in {NO_FENCE: 0, PARTIAL_LINE: 0, OTHER_THREAD: 0, NT_NO_FENCE: 1}.items():
        program, trace = build(bug)
        done = pmemsim("check", trace, "--model", "eadr", "--verify", program)
        assert done.returncode == code, (bug, done.stderr)


def test_report_has_the_numbers_of_checked_and_possible_images(
    build: Build, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    done = crash(build(PARTIAL_LINE), "--budget", "1", "--json", output)
    assert "images under px86: 1 of at most 5,242,876 images checked by" in done.stdout
    assert "1 of at most 5,242,876" in done.stdout
    (run,) = json.loads(output.read_text())["images"]
    assert set(run) == {
        "model", "workload", "threads", "seed", "budget", "images", "shown", "possible",
        "complete", "exact", "instants", "wall_s", "images_per_s", "story", "notes", "recovery",
    }  # fmt: skip
    assert (run["images"], run["shown"], run["possible"]) == (1, 1, 5242876)
    assert (run["complete"], run["exact"]) == (False, False)
    done = crash(build(PARTIAL_LINE), "--json", output)
    (run,) = json.loads(output.read_text())["images"]
    assert run["story"]["image"] == run["images"] == 2
    assert "--image 2" in run["story"]["command"]


def test_budget_is_a_number_of_images_or_a_time(build: Build) -> None:
    assert crash(build(RIGHT), "--budget", "all").returncode == 0
    done = crash(build(RIGHT), "--budget", "0.05s")
    assert done.returncode == 0
    assert "81 of 81" not in done.stdout
    assert Budget.of("1.5min").seconds == 90
    for text in ("", "0", "-1", "1.5", "0s", "3 s", "many"):
        with pytest.raises(Error, match=f"--budget {re.escape(text)}: must be a number of images"):
            Budget.of(text)


def test_flushes_beyond_the_budget_are_undecided(build: Build, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    done = crash(build(RIGHT), "--without-each", "--budget", "1", "--json", output)
    assert done.returncode == 3, done.stderr
    assert re.search(r"items0: images: \d+ of \d+ flushes and fences have no verdict", done.stderr)
    rules, images = json.loads(output.read_text())["verdicts"]
    assert (rules["method"], rules["model"], rules["result"]) == ("rules", "px86", "nothing found")
    assert (images["method"], images["model"], images["result"]) == ("images", "px86", "undecided")
    assert f"items0, images under px86: {images['text']}" in done.stdout


def test_rule_findings_determine_the_exit_code_if_no_image_is_checked(build: Build) -> None:
    program, trace = build(PARTIAL_LINE)
    done = crash((program, trace), "--image", "99999999")
    assert done.returncode == 1
    assert "pmemsim: images: --image 99999999: there are" in done.stderr
    assert "1 finding that can lose data; the first:" in done.stderr
    assert "images under px86: no image was checked" in done.stdout


def test_too_many_images_for_all_are_refused() -> None:
    done = pmemsim("check", "rbtree", "--model", "px86", "--budget", "all", "--threads", "2",
                   "--regions", "40", "--verify", "sh -c 'cat < $0 > /dev/null'")  # fmt: skip
    assert done.returncode == 2
    assert "--budget all: rbtree may leave up to" in done.stderr
    assert "don't tell all others" in done.stderr


@pytest.mark.skipif(not may_watch(), reason="what programs read can't be told here")
@pytest.mark.parametrize("way", ["true", "sh -c 'cat /dev/null'"])
def test_a_checker_that_reads_nothing_is_no_success(build: Build, way: str) -> None:
    done = pmemsim("check", build(NO_FENCE)[1], "--model", "px86", "--verify", way)
    assert done.returncode == 2
    assert "the checker read no data that a crash can change" in done.stderr


def test_an_image_that_has_lost_nothing_may_be_rejected(build: Build) -> None:
    done = pmemsim("check", build(NO_FENCE)[1], "--model", "px86", "--verify", "false")
    assert done.returncode == 1
    assert "no visible data are lost in this image" in done.stderr
    assert "lost in this image, although visible at the crash" not in done.stderr


def test_keep_image_writes_an_image_that_the_checker_rejects(build: Build, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    program, trace = build(NO_FENCE)
    done = crash((program, build(RIGHT)[1]), "--keep-image", kept)
    assert done.returncode == 0
    assert f"no image is wrong, so {kept} is not written" in done.stderr
    assert not kept.exists()
    done = crash((program, trace), "--keep-image", kept)
    assert done.returncode == 1
    assert kept.stat().st_size == 0x2000
    assert subprocess.run([program, kept], check=False, capture_output=True).returncode == 1
    done = crash((program, trace), "--keep-image", kept, "--image", "1")
    assert done.returncode == 0
    assert subprocess.run([program, kept], check=False).returncode == 0
    done = crash(build(RIGHT), "--image", "100")
    assert done.returncode == 2
    assert "--image 100: there are only 81 images" in done.stderr


@pytest.mark.parametrize("model", long_except(["px86", "eadr"], "px86"))
def test_workloads_have_a_checker_and_are_right(model: str) -> None:
    done = pmemsim("check", "hashmap", "--verify", "own", "--model", model, "--threads", "2",
                   "--regions", "20", "--items", "500", "--budget", "60")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "60 of at most" in done.stdout


def test_check_refuses_impossible_options_of_a_checker(build: Build, tmp_path: Path) -> None:
    program, trace = build(RIGHT)
    done = pmemsim("check", trace, "--verify", "own")
    assert done.returncode == 2
    assert "--verify own: items0 is not one of pmemsim's workloads" in done.stderr
    for options, sentence in {
        ("-d", "asap"): "--design asap: needs --model guarantees",
        ("--budget", "x"): "--budget x: must be a number of images",
        ("--image", "0"): "--image 0: must be at least 1",
        ("--verify-timeout", "0"): "--verify-timeout 0: must be greater than 0",
    }.items():
        done = crash((program, trace), *options)
        assert done.returncode == 2
        assert sentence in done.stderr
    done = pmemsim("check", trace, "--model", "px", "--verify", program)
    assert done.returncode == 2
    assert "--model px: unknown model; did you mean 'px86'?" in done.stderr
    done = pmemsim("check", trace, "--budget", "3")
    assert done.returncode == 2
    assert "--budget 3: needs --verify or --verify-library or --answers" in done.stderr


def test_a_recording_without_persistent_memory_is_refused(build: Build, tmp_path: Path) -> None:
    program, _ = build(RIGHT)
    none, untouched = tmp_path / "none.pmt", tmp_path / "untouched.pmt"
    assert pmemsim("record", "-o", none, "--", program).returncode == 0
    done = crash((program, none))
    assert done.returncode == 2
    assert "the recording has no persistent memory, so there is nothing to check" in done.stderr
    # Behind the pool.
    behind = ["--pm-range", "500000001000:500000002000"]
    assert pmemsim("record", "-o", untouched, *behind, "--", program).returncode == 0
    done = pmemsim("check", untouched, "--model", "px86", "--verify", "true")
    assert done.returncode == 2
    assert "stores nothing to persistent memory, so there is nothing to check" in done.stderr


def test_a_checker_that_crashes_or_hangs_rejects(build: Build, tmp_path: Path) -> None:
    _, trace = build(RIGHT)
    script = tmp_path / "check"
    script.write_text("#!/bin/sh\nkill -SEGV $$\n")
    script.chmod(0o755)
    done = pmemsim("check", trace, "--model", "px86", "--verify", script)
    assert done.returncode == 1
    assert "died of signal SIGSEGV" in done.stderr
    script.write_text("#!/bin/sh\nsleep 100\n")
    done = pmemsim("check", trace, "--model", "px86", "--verify", script, "--verify-timeout", "0.5")
    assert done.returncode == 1
    assert "did not end within 0.5 s" in done.stderr
    assert "--verify-timeout 0.5" in done.stderr.split("to reproduce")[1]


SWITCHED = r"""
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
// A writer publishes an entry before it flushes it; a reader counts how often it has used it.
struct pool {
  _Alignas(64) uint64_t entry;
  _Alignas(64) _Atomic uint64_t ready;
  _Alignas(64) uint64_t used;
};
static struct pool* pool;
__attribute__((target("clwb"))) static void persist(const void* at) {
  _mm_clwb((void*)at);
  _mm_sfence();
}
static void* writer(void* unused) {
  pool->entry = 7;
  if (FIXED) persist(&pool->entry);
  atomic_store(&pool->ready, 1);
  persist(&pool->entry);
  persist((const void*)&pool->ready);
  return unused;
}
static void* reader(void* unused) {
  for (uint64_t uses = 0; uses < 4;) {
    if (atomic_load(&pool->ready) == 0) continue;
    pool->used = ++uses;
    persist(&pool->used);
  }
  return unused;
}
int main(int count, char** words) {
  int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096)) return 2;
  pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (count == 3) return pool->used == 4 && pool->entry != 7;
  pthread_t threads[2];
  pthread_create(&threads[0], 0, writer, 0);
  pthread_create(&threads[1], 0, reader, 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
}
"""


@pytest.mark.parametrize("fixed", [0, 1])
def test_thread_that_relies_on_unflushed_data_of_another_is_found(
    tmp_path: Path, fixed: int
) -> None:
    source, program, trace = (tmp_path / name for name in ("a.c", "a", "a.pmt"))
    source.write_text(SWITCHED)
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    options = ["-O1", "-g", "-pthread", f"-DFIXED={fixed}"]
    subprocess.run([compiler, *options, source, "-o", program], check=True)
    (tmp_path / "pm").mkdir()
    done = pmemsim("record", "-o", trace, "--pm-path", tmp_path / "pm", "--", program,
                   tmp_path / "pm" / "pool")  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = pmemsim("check", trace, "--verify", f"{program} verify", "--json", tmp_path / "a.json")
    (images,) = json.loads((tmp_path / "a.json").read_text())["images"]
    if fixed:
        assert images["story"] is None
        return
    assert done.returncode == 1
    assert "thread 1 is delayed at its flushes and fences" in done.stderr
    (command,) = re.findall(r"to reproduce: pmemsim (check .*--delayed 1 .*)", done.stderr)
    again = pmemsim(*shlex.split(command))
    assert "the rejected image has number" in again.stderr
    with_less = pmemsim("check", trace, "--verify", f"{program} verify", "--delayed", "7")
    assert with_less.returncode == 2
    assert "--delayed 7:" in with_less.stderr
    assert "has 3 threads, with numbers from 0" in with_less.stderr
