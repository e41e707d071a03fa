"""Recording programs of the user's own: what works, and what failures leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import pmemsim

import pmemsim as package

BARE = """
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char** argv) {
  uint64_t* data = mmap((void*)0x500000000000, 1 << 20, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  for (int i = 0; i < 100; ++i) {
    data[8 * i] = i;
    _mm_clflush(&data[8 * i]);
    _mm_sfence();
  }
  if (argc > 1 && !strcmp(argv[1], "exit")) return 3;
  if (argc > 1 && !strcmp(argv[1], "abort")) abort();
  if (argc > 1 && !strcmp(argv[1], "forever")) for (volatile int i = 0;; i = !i) {}
  return 0;
}
"""


def compile_c(source: Path) -> Path:
    program = source.with_suffix("")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-O2", source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that maps memory at a fixed address, stores, flushes and fences."""
    source = tmp_path_factory.mktemp("bare") / "bare.c"
    source.write_text(BARE)
    return compile_c(source)


def test_a_program_with_bare_flushes(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "bare.pmt"
    done = pmemsim(
        "record", "-o", output, "--name", "mine", "--pm-range", "0x500000000000:0x500000100000",
        "--", bare,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = package.Trace(output)
    assert trace.name == "mine"
    frame = trace.to_frame(0)
    assert (frame["kind"] == "flush").sum() == 100
    assert (frame["kind"] == "fence").sum() == 100
    result = package.run(output, design="x86-bare", machine="asap")
    assert result.regions == 0
    assert result.pm_write_bytes == 100 * 64
    np = package.run(output, design="np", machine="asap")
    assert np.time_ns < result.time_ns


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [("exit", "ended with status 3"), ("abort", "died of signal SIGABRT")],
)
def test_a_program_that_fails_leaves_no_trace(
    tmp_path: Path, bare: Path, argument: str, sentence: str
) -> None:
    done = pmemsim("record", "-o", tmp_path / "x.pmt", "--", bare, argument)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("whom", ["pmemsim", "group"])
def test_control_c_while_recording_leaves_no_trace(tmp_path: Path, bare: Path, whom: str) -> None:
    command = [Path(sys.executable).with_name("pmemsim"), "record", "-o", tmp_path / "x.pmt"]
    process = subprocess.Popen(
        [*map(str, command), "--", str(bare), "forever"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".pmemsim-*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    if whom == "group":  # as a terminal does
        subprocess.run(["kill", "-INT", "--", f"-{process.pid}"], check=True)
    else:
        process.send_signal(signal.SIGINT)
    try:
        _, text = process.communicate(timeout=30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, text
    assert list(tmp_path.iterdir()) == []


def test_an_existing_trace_survives_a_failed_recording(tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "x.pmt"
    assert pmemsim("record", "-o", output, "--", bare).returncode == 0
    before = output.read_bytes()
    assert pmemsim("record", "-o", output, "--", bare, "abort").returncode == 2
    assert output.read_bytes() == before


def test_a_failing_compiler_is_reported_by_itself(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return undeclared; }\n")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    done = subprocess.run([compiler, source], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "undeclared" in done.stderr
