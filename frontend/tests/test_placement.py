"""A recording does not depend on what else is installed, or on what the program inherits."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from conftest import built_toolchain, run

# The program's addresses are those of a library's data, of thread-local variables, of the heap, and
# of mappings that the kernel places while it runs.
PROGRAM = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
extern int in_library;
static __thread long own;
static void *work(void *argument) {
  own = *(long *)argument;
  char *big = malloc(1 << 20);
  memset(big, 1, 64);
  free(big);
  return NULL;
}
int main(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  long value = (long)limit.rlim_cur;
  in_library = (int)value;
  errno = 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  char *big = malloc(1 << 20), *small = malloc(100);
  char *mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  big[0] = small[0] = mapped[0] = 1;
  pthread_t thread;
  pthread_create(&thread, NULL, work, &value);
  pthread_join(thread, NULL);
  for (int i = 0; i < 8; ++i) {
    long *at = mmap(NULL, 4096 << i, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = i;
    if (i % 2) munmap(at, 4096 << i);
  }
  free(big);
  free(small);
  return 0;
}
"""
CACHE = Path("/etc/ld.so.cache")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placement")
    (folder / "library.c").write_text("int in_library = 1;")
    (folder / "program.c").write_text(PROGRAM)
    compiler = built_toolchain() / "bin" / "pmemsim-cc"
    run(compiler, "-O1", "-shared", "-fPIC", folder / "library.c", "-o", folder / "libown.so")
    run(compiler, "-O1", "-pthread", folder / "program.c", "-L", folder, "-lown",
        f"-Wl,-rpath,{folder}", "-o", folder / "program")  # fmt: skip
    return folder / "program"


@pytest.fixture(scope="session")
def plain(program: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return recorded(program, tmp_path_factory.mktemp("plain") / "x.pmt")


def recorded(
    program: Path, output: Path, shell: str = "", cwd: Path | None = None, **variables: str
) -> bytes:
    """Return the recording that is made after these commands of the shell."""
    run("sh", "-c", f'{shell}\nexec "$0"', program, cwd=cwd,
        env={**os.environ, "PMEMSIM_TRACE": str(output), **variables})  # fmt: skip
    return output.read_bytes()


@pytest.mark.parametrize("limit", ["-S -s 256", "-S -s 16384", "-S -s 200000", "-s 1024"])
def test_recording_does_not_depend_on_the_stack_limit(
    program: Path, plain: bytes, tmp_path: Path, limit: str
) -> None:
    assert recorded(program, tmp_path / "x.pmt", f"ulimit {limit} || exit 1") == plain


def test_recording_does_not_depend_on_the_environment_or_the_folder(
    program: Path, plain: bytes, tmp_path: Path
) -> None:
    assert recorded(program, tmp_path / "x.pmt", MORE="x" * 10_000) == plain
    folder = tmp_path / "another folder"
    folder.mkdir()
    assert recorded(program, tmp_path / "x.pmt", cwd=folder) == plain


@cache
def may_mount() -> bool:
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return tried.returncode == 0 and CACHE.is_file()


def with_longer_cache(bytes_more: int, folder: Path) -> str:
    """Return the command that replaces the linker's cache in a mount namespace of its own."""
    longer = folder / "cache"
    longer.write_bytes(CACHE.read_bytes() + bytes(bytes_more))
    return f"mount --bind {longer} {CACHE} || exit 1"


@pytest.mark.parametrize("more", [8192, 1 << 20])
def test_recording_does_not_depend_on_the_linkers_cache(
    program: Path, plain: bytes, tmp_path: Path, more: int
) -> None:
    if not may_mount():
        pytest.skip("a private mount namespace (unshare -m) is not permitted here")
    output = tmp_path / "x.pmt"
    run("unshare", "-m", "sh", "-c", f'{with_longer_cache(more, tmp_path)}\nexec "$0"', program,
        env={**os.environ, "PMEMSIM_TRACE": str(output)})  # fmt: skip
    assert output.read_bytes() == plain


def test_program_sees_its_own_preloaded_libraries(program: Path, tmp_path: Path) -> None:
    output, shown = tmp_path / "x.pmt", tmp_path / "shown.c"
    shown.write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/resource.h>
        int main(void) {
          puts(getenv("LD_PRELOAD"));
          fflush(stdout);
          return system("echo $LD_PRELOAD; ulimit -s");
        }""")
    run(built_toolchain() / "bin" / "pmemsim-cc", shown, "-o", tmp_path / "shown")
    own = str(program.parent / "libown.so")
    done = run("sh", "-c", 'ulimit -S -s 4321; exec "$0"', tmp_path / "shown",
               env={**os.environ, "PMEMSIM_TRACE": str(output), "LD_PRELOAD": own})  # fmt: skip
    assert done.stdout.split() == [own, own, "4321"]


REQUEST = """
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  for (unsigned long at = 0x7e0000000000; at < 0x7ffff0000000; at += 0x10000000000) {
    void *got = mmap((void *)at, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got != (void *)at) printf("%lx became %p\\n", at, got);
  }
  return 0;
}
"""


def test_requested_addresses_are_available(tmp_path: Path) -> None:
    source = tmp_path / "request.c"
    source.write_text(REQUEST)
    run(built_toolchain() / "bin" / "pmemsim-cc", source, "-o", tmp_path / "request")
    output = tmp_path / "x.pmt"
    done = run(tmp_path / "request", env={**os.environ, "PMEMSIM_TRACE": str(output)})
    assert done.stdout == ""
