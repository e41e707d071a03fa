"""pmemsim-cc and pmemsim-c++ as build systems use them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import LEVELS, Kind, Toolchain, run

PROGRAM = """
#include <stdio.h>
volatile int memory;
int main(void) { memory = 1; printf("hello\\n"); return 0; }
"""


def fails(*command: str | Path, **options: object) -> str:
    """Run a command that must fail with exit code 2, and return its message."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )  # fmt: skip
    assert result.returncode == 2
    return result.stderr


def test_informational_options_print_what_clang_prints(toolchain: Toolchain) -> None:
    """Options that don't compile have clang's effect."""
    for compiler, clang in ((toolchain.cc, "clang-19"), (toolchain.cxx, "clang++-19")):
        for option in ("--version", "-dumpmachine", "-dumpversion", "-print-search-dirs",
                       "-print-prog-name=ld"):  # fmt: skip
            assert run(compiler, option).stdout == run(clang, option).stdout
        assert "clang version 19" in run(compiler, "-v").stderr


def test_help_begins_with_the_wrappers_own_options(toolchain: Toolchain) -> None:
    for compiler, clang in ((toolchain.cc, "clang-19"), (toolchain.cxx, "clang++-19")):
        own, rest = run(compiler, "--help").stdout.split("\n\n", 1)
        first, second, third, *options = own.splitlines()
        assert first.startswith(
            f"{compiler.name}: clang 19 that compiles programs so that 'pmemsim"
        )
        assert f"{compiler.name} -O2 -g mine.c -o mine" in second
        assert third == "Beyond that:"
        assert [option.split()[0] for option in options] == [
            "--pm-library=LEVEL", "--janus-auto", "--janus-profile=FILE",
        ]  # fmt: skip
        assert rest == run(clang, "--help").stdout


def test_pm_library_option_selects_the_level_of_the_library(toolchain: Toolchain) -> None:
    """The size of the code shows which library is linked."""
    source = toolchain.write(
        "#include <pmemsim/pm.h>\nint main(void) { return !pm_open(0, 0, 0); }"
    )
    sizes = {}
    for options in (("-O0",), ("-O0", "--pm-library=O2"), ("-O2",), ("-O2", "--pm-library=O0")):
        program = toolchain.scratch / "program"
        run(toolchain.cc, *options, source, "-o", program)
        symbols = run("nm", "-S", program).stdout.splitlines()
        (line,) = [line for line in symbols if line.endswith(" pm_open")]
        sizes[options] = int(line.split()[1], 16)
    not_optimised, other, optimised, another = sizes.values()
    assert other == optimised != not_optimised == another
    complaint = fails(toolchain.cc, "--pm-library=O1", source)
    assert "the pm library comes as --pm-library=O0 and as --pm-library=O2" in complaint


@pytest.mark.quick
def test_compiler_stages_run_one_by_one(toolchain: Toolchain) -> None:
    """Preprocess, compile, assemble and link one by one."""
    source = toolchain.write(PROGRAM)
    folder = toolchain.scratch
    text = run(toolchain.cc, "-E", source).stdout
    assert "volatile int memory" in text
    dependencies = run(toolchain.cc, "-MM", source).stdout
    assert dependencies.startswith("program.o:")
    run(toolchain.cc, "-fsyntax-only", source)
    run(toolchain.cc, "-S", source, "-o", folder / "program.s")
    assert "pmemsim_rt_store" in (folder / "program.s").read_text()
    silent = run(toolchain.cc, "-c", folder / "program.s", "-o", folder / "program.o")
    assert silent.stderr == ""
    assert run(toolchain.cc, folder / "program.o", "-o", folder / "program").stderr == ""
    assert toolchain.execute(folder / "program").output == "hello\n"


@pytest.mark.parametrize("level", LEVELS)
def test_bitcode_is_instrumented_once(toolchain: Toolchain, level: str) -> None:
    """The pass doesn't process bitcode that it has processed before."""
    program, module = toolchain.scratch / "program", toolchain.scratch / "program.bc"
    source = toolchain.write(PROGRAM)
    run(toolchain.cc, level, source, "-o", program)
    at_once = [(op.name, op.site) for op in toolchain.execute(program).operations]
    run(toolchain.cc, level, "-c", "-emit-llvm", source, "-o", module)
    run(toolchain.cc, level, "-Wno-unused-command-line-argument", module, "-o", program)
    assert [(op.name, op.site) for op in toolchain.execute(program).operations] == at_once


def test_assembler_files_pass_through_uninstrumented(toolchain: Toolchain) -> None:
    """Assembler, preprocessed or not, passes through."""
    folder = toolchain.scratch
    (folder / "add.S").write_text(
        "#define NAME add\n.globl NAME\nNAME: leal (%rdi,%rsi), %eax\n ret\n"
        '.section .note.GNU-stack,"",@progbits\n'
    )
    source = toolchain.write("int add(int, int); int main(void) { return add(2, -2); }")
    result = run(toolchain.cc, source, folder / "add.S", "-o", folder / "program")
    assert result.stderr == ""
    toolchain.execute(folder / "program")


def test_source_from_standard_input_is_compiled(toolchain: Toolchain) -> None:
    """`-x c -` must not make the runtime a C file."""
    program = toolchain.scratch / "program"
    run(toolchain.cc, "-x", "c", "-", "-o", program, input=PROGRAM)
    assert toolchain.execute(program).output == "hello\n"


def test_arguments_in_a_response_file_are_used(toolchain: Toolchain) -> None:
    """Arguments in a file count like arguments."""
    source = toolchain.write(PROGRAM)
    folder = toolchain.scratch
    (folder / "compile.rsp").write_text(f'-c "{source}"\n-o {folder / "program.o"}')
    run(toolchain.cc, f"@{folder / 'compile.rsp'}")
    (folder / "link.rsp").write_text(f"{folder / 'program.o'} -o {folder / 'program'}")
    run(toolchain.cc, f"@{folder / 'link.rsp'}")
    assert toolchain.execute(folder / "program").output == "hello\n"


def test_paths_with_spaces_and_symbolic_links_are_accepted(toolchain: Toolchain) -> None:
    """Paths with spaces; the wrapper called by a symbolic link."""
    folder = toolchain.scratch / "a folder"
    folder.mkdir()
    root = folder / "tool chain"
    shutil.copytree(toolchain.root, root, symlinks=True)
    link = folder / "pmemsim-cc"
    link.symlink_to(root / "bin" / "pmemsim-cc")
    source = toolchain.write(PROGRAM).rename(folder / "a program.c")
    run(link, source, "-DX=a b", "-o", folder / "a program")
    assert toolchain.execute(folder / "a program").output == "hello\n"


@pytest.mark.quick
def test_source_lines_are_recorded_without_a_debug_option(toolchain: Toolchain) -> None:
    """Lines are there without -g, and -g keeps working."""
    for flags in ((), ("-g",), ("-O2",), ("-ggdb3",)):
        source = toolchain.write(PROGRAM)
        program = toolchain.scratch / "program"
        run(toolchain.cc, *flags, source, "-o", program)
        stores = toolchain.execute(program).of(Kind.STORE)
        assert 4 in {op.site.line for op in stores}


def test_shared_library_uses_the_executables_runtime(toolchain: Toolchain) -> None:
    """A shared library uses the executable's runtime, even if it forbids undefined symbols."""
    folder = toolchain.scratch
    (folder / "library.c").write_text("long counter; void count(long n) { counter += n; }")
    library = folder / "libcount.so"
    run(toolchain.cc, "-O1", "-shared", "-fPIC", "-Wl,--no-undefined", folder / "library.c",
        "-o", library)  # fmt: skip
    symbols = run("nm", "-D", library).stdout
    assert " U pmemsim_rt_store" in symbols
    assert " T pmemsim_rt_" not in symbols
    source = toolchain.write("void count(long); int main(void) { count(5); return 0; }")
    program = folder / "program"
    run(toolchain.cc, source, f"-L{folder}", "-lcount", f"-Wl,-rpath,{folder}", "-o", program)
    functions = {op.site.function for op in toolchain.execute(program).of(Kind.STORE)}
    assert functions >= {"main", "count"}

    source = toolchain.write(
        f"""
#include <dlfcn.h>
int main(void) {{
  void *library = dlopen("{library}", RTLD_NOW);
  void (*count)(long) = (void (*)(long))dlsym(library, "count");
  count(3);
  return 0;
}}
"""
    )
    run(toolchain.cc, source, "-o", program)
    assert "count" in {op.site.function for op in toolchain.execute(program).of(Kind.STORE)}


def test_static_executable_is_refused(toolchain: Toolchain) -> None:
    """The error is one sentence."""
    message = fails(toolchain.cc, "-static", toolchain.write(PROGRAM))
    assert message.count("\n") == 1
    assert "-static" in message
    assert "error" in message


def test_static_library_and_partial_link_contain_no_runtime(toolchain: Toolchain) -> None:
    """`ar` and `ld -r` steps leave the runtime to the executable."""
    folder = toolchain.scratch
    (folder / "a.c").write_text("int a; void set_a(void) { a = 1; }")
    (folder / "b.c").write_text("int b; void set_b(void) { b = 2; }")
    for name in ("a", "b"):
        run(toolchain.cc, "-c", folder / f"{name}.c", "-o", folder / f"{name}.o")
    run(toolchain.cc, "-r", "-nostdlib", folder / "a.o", folder / "b.o", "-o", folder / "ab.o")
    run("ar", "rcs", folder / "libab.a", folder / "ab.o")
    source = toolchain.write(
        "void set_a(void), set_b(void); int main(void) { set_a(); set_b(); return 0; }"
    )
    run(toolchain.cc, source, f"-L{folder}", "-lab", "-o", folder / "program")
    functions = {op.site.function for op in toolchain.execute(folder / "program").of(Kind.STORE)}
    assert functions >= {"set_a", "set_b"}


@pytest.mark.parametrize(
    ("flags", "expected"), [((), "O0"), (("-O0",), "O0"), (("-O2",), "O2"), (("-O3",), "O2")]
)
def test_pm_library_of_the_compiled_level_is_linked(
    toolchain: Toolchain, flags: tuple[str, ...], expected: str
) -> None:
    """<pmemsim/pm.h> is found, and the recorded library of the right level linked."""
    source = toolchain.write(
        "#include <pmemsim/pm.h>\nvoid *volatile used = (void *)pm_open; int main(void) { return 0; }"
    )
    program = toolchain.scratch / "program"
    linked = run(toolchain.cc, *flags, source, "-o", program, "-Wl,--trace").stdout
    assert f"libpm_recorded_{expected}.a" in linked
    assert "pm_open" in run("nm", program).stdout


def test_link_time_optimization_is_turned_off(toolchain: Toolchain) -> None:
    """The pass has to see what the code generator compiles."""
    source = toolchain.write(PROGRAM)
    run(toolchain.cc, "-flto", "-O2", "-c", source, "-o", toolchain.scratch / "program.o")
    assert (toolchain.scratch / "program.o").read_bytes()[:4] == b"\x7fELF"


def test_foreign_architecture_is_refused(toolchain: Toolchain) -> None:
    """The error is one sentence."""
    source = toolchain.write("int x; void f(void) { x = 1; }")
    result = subprocess.run(
        [str(toolchain.cc), "--target=aarch64-linux-gnu", "-c", str(source), "-o", "/dev/null"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode != 0
    assert "x86-64" in result.stderr


def test_missing_clang_is_reported_with_what_to_install(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    """The error says what to install."""
    empty = tmp_path / "empty"
    empty.mkdir()
    wrapper = toolchain.root / "bin" / "pmemsim-cc"
    script = wrapper.read_text().replace("/usr/lib/llvm-19/bin", str(empty))
    (toolchain.root / "bin" / "without").write_text(script)
    message = fails("/bin/sh", toolchain.root / "bin" / "without", "-c", "x.c",
                    env={"PATH": str(empty)})  # fmt: skip
    assert message.count("\n") == 1
    assert "apt-get install clang-19" in message


def test_unrecordable_assembly_is_reported(toolchain: Toolchain) -> None:
    """A flush of an unknown address causes a warning with its line."""
    source = toolchain.write('void f(void) { asm volatile("clflush (%rbx)"); }')
    result = run(toolchain.cc, "-c", source, "-o", toolchain.scratch / "program.o")
    assert "program.c: line 1: inline assembly 'clflush' flushes an address" in result.stderr


def test_make_project_is_compiled(toolchain: Toolchain) -> None:
    """`make CC=pmemsim-cc` with the built-in rules."""
    folder = toolchain.scratch
    (folder / "main.c").write_text("void part(void); int main(void) { part(); return 0; }")
    (folder / "part.c").write_text("int x; void part(void) { x = 3; }")
    (folder / "Makefile").write_text("main: main.o part.o\n")
    run("make", f"CC={toolchain.cc}", "CFLAGS=-O2 -Wall -Werror", cwd=folder)
    assert [op.site.function for op in toolchain.execute(folder / "main").of(Kind.STORE)] == [
        "part"
    ]


def test_cmake_project_is_compiled(toolchain: Toolchain) -> None:
    """CMake with C and C++, a shared library and an executable."""
    folder = toolchain.scratch
    (folder / "CMakeLists.txt").write_text(
        """
cmake_minimum_required(VERSION 3.16)
project(example C CXX)
include(CheckCSourceCompiles)
check_c_source_compiles("int main(void) { return 0; }" WORKS)
if(NOT WORKS)
  message(FATAL_ERROR "the check failed")
endif()
find_package(Threads REQUIRED)
add_library(part SHARED part.c)
add_executable(program main.cpp)
target_link_libraries(program part Threads::Threads)
"""
    )
    (folder / "part.c").write_text("int x; void part(void) { x = 3; }")
    (folder / "main.cpp").write_text(
        """
#include <thread>
extern "C" void part();
int main() { std::thread(part).join(); }
"""
    )
    environment = {**os.environ, "CC": str(toolchain.cc), "CXX": str(toolchain.cxx)}
    run("cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
        env=environment)  # fmt: skip
    run("cmake", "--build", folder / "build")
    functions = [
        op.site.function for op in toolchain.execute(folder / "build" / "program").of(Kind.STORE)
    ]
    assert "part" in functions


def test_configure_script_accepts_the_compiler(toolchain: Toolchain) -> None:
    """A configure script's checks pass: a compiler that makes executables that run."""
    folder = toolchain.scratch
    (folder / "configure").write_text(
        """#!/bin/sh
set -e
cat >conftest.c <<'END'
#include <stdio.h>
int main(void) { FILE *f = fopen("conftest.out", "w"); return ferror(f) || fclose(f) != 0; }
END
$CC -o conftest $CFLAGS conftest.c
./conftest
$CC -c $CFLAGS conftest.c
test -f conftest.o
$CC -E conftest.c >conftest.i
echo 'int main(void) { return pmemsim_no_such_function(); }' >conftest.c
if $CC -o conftest $CFLAGS conftest.c 2>/dev/null; then exit 1; fi
echo 'char sin(void); int main(void) { return sin(); }' >conftest.c
$CC -o conftest -fno-builtin conftest.c -lm 2>/dev/null
"""
    )
    run("sh", "configure", cwd=folder, env={**os.environ, "CC": str(toolchain.cc), "CFLAGS": "-O2"})


def test_precompiled_headers_are_compiled_and_used(toolchain: Toolchain) -> None:
    """A header is compiled, not linked, however it is named."""
    folder = toolchain.scratch
    header = folder / "program.h"
    header.write_text("static int five(void) { return 5; }\n")
    run(toolchain.cc, header, "-o", folder / "first.pch")
    run(toolchain.cc, "-x", "c-header", header, "-o", folder / "second.pch")
    run(toolchain.cc, "-xc-header", header, "-o", folder / "third.pch")
    source = toolchain.write("int main(void) { return five() - 5; }")
    for name in ("first", "second", "third"):
        program = folder / name
        run(toolchain.cc, "-include-pch", folder / f"{name}.pch", source, "-o", program)
        toolchain.execute(program)


def test_programs_with_coverage_or_profiling_run(toolchain: Toolchain) -> None:
    """The compiler's additions to the program run before the runtime has the module."""
    for option in ("--coverage", "-fprofile-generate"):
        program = toolchain.scratch / "program"
        run(toolchain.cc, option, toolchain.write(PROGRAM), "-o", program)
        assert toolchain.execute(program).output == "hello\n"
