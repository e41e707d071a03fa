"""Plug-ins: designs of the user's own, built against the installed headers only."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from pmemsim.errors import Error
from pmemsim.new_design import LAYERS, build_plugin, write_design
from shared import locked
from support import ROOT, long_except, pmemsim

# Calls itself until the stack is full.
OVERFLOW = """{
    struct Deep {
      static int call(int n) {
        volatile char room[4096];
        room[0] = 1;
        return n == 0 ? 0 : call(n + room[0]) + room[0];
      }
    };
    volatile int first = 1;
    Deep::call(first);
  }"""
# Values of the layer's parameter with which the design of `misbehaving` does these things.
MISBEHAVIOUR = {
    "signal": ("*reinterpret_cast<volatile int*>(8) = 1;", "has crashed: Segmentation fault"),
    "assertion": ("std::abort();", "has crashed: Aborted"),
    "overflow": (OVERFLOW, "has crashed: Segmentation fault"),
    "exception": ('throw std::runtime_error("no luck");', "has thrown an exception: no luck"),
    "number": ("throw 42;", "has thrown an exception"),
}
ENDLESS = "for (volatile int i = 0; i < 1; i = i * 2) {\n  }"


def built(layer: str, folder: Path) -> Path:
    """Build the plug-in of a new design of a layer, which one worker does for all."""
    parent = folder / "plugins" / layer
    parent.mkdir(parents=True, exist_ok=True)
    with locked(parent):
        design = parent / f"my_{layer}"
        if not design.is_dir():
            build_plugin(write_design(f"my-{layer}", layer, parent))
    return design / f"my_{layer}.so"


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.long
def test_new_design_passes_its_own_tests(layer: str, shared_folder: Path) -> None:
    folder = built(layer, shared_folder).parent
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # A user's folder is outside this repository, so that its settings don't apply.
    alone = ["--config-file", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *alone, str(folder)],
        env={**os.environ, "PATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("layer", long_except(("ordering", "atomicity"), "atomicity"))
def test_injected_fault_of_a_new_design_is_noticed(layer: str, shared_folder: Path) -> None:
    done = pmemsim("selftest", "--design", f"my-{layer}", "--plugin", built(layer, shared_folder))
    assert done.returncode == 0, done.stderr
    assert f"my_{layer}." in done.stdout
    assert "NOT DETECTED" not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("list", "designs"),
        ("show", "design", "my-atomicity"),
        ("run", "queue", "-d", "my-atomicity", "-m", "asap", "--regions", "20"),
        ("compare", "queue", "-d", "sw-undo,my-atomicity", "-m", "asap", "--regions", "20"),
        (
            "matrix", "--workloads", "queue", "-d", "my-atomicity", "-m", "asap",
            "--regions", "20", "--points", "20",
        ),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_lists_the_design_of_a_plugin(
    command: tuple[str, ...], shared_folder: Path, tmp_path: Path
) -> None:
    environment = {"PMEMSIM_PLUGINS": str(built("atomicity", shared_folder))}
    done = pmemsim(*command, environment=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "my-atomicity" in done.stdout
    assert "not one of" not in done.stdout


def test_command_that_shows_a_violation_again_names_the_plugin(
    shared_folder: Path, tmp_path: Path
) -> None:
    plugin = built("atomicity", shared_folder)
    words = ("crash", "queue", "-d", "my-atomicity", "-m", "asap", "--regions", "20",
             "--verify", "false", "--plugin", plugin)  # fmt: skip
    done = pmemsim(*words)
    assert done.returncode == 1
    (again,) = re.findall(r"to reproduce: (pmemsim .*)", done.stderr)
    repeated = pmemsim(*shlex.split(again)[1:], cwd=tmp_path)
    assert repeated.returncode == 1, repeated.stderr
    assert "my-atomicity does not recover queue" in repeated.stderr


def test_a_source_newer_than_its_plugin_is_noted(shared_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copy(built("atomicity", shared_folder), tmp_path)
    show = ("show", "design", "my-atomicity", "--plugin", copy)
    shutil.copytree(
        Path(built("atomicity", shared_folder)).parent / "designs", tmp_path / "designs"
    )
    assert "newer" not in pmemsim(*show).stderr
    (tmp_path / "mine.cpp").write_text("")
    os.utime(copy, (1, 1))
    done = pmemsim(*show)
    assert done.returncode == 0
    assert f"note: {tmp_path}/mine.cpp is newer than the plug-in" in done.stderr


def test_python_interface_runs_the_design_of_a_plugin(shared_folder: Path) -> None:
    program = (
        "import pmemsim; "
        "result = pmemsim.run('queue', design='my-atomicity', machine='asap'); "
        "print(result.stats['my_atomicity.committed'] == result.regions > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PMEMSIM_PLUGINS": str(built("atomicity", shared_folder))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


def test_sweep_does_runs_of_a_plugin_in_its_processes(shared_folder: Path, tmp_path: Path) -> None:
    spec = tmp_path / "sweep.yaml"
    spec.write_text(
        "axes: {workload: queue, machine: asap, design: my-atomicity, regions: [20, 30]}\n"
    )
    plugin = built("atomicity", shared_folder)
    done = pmemsim("sweep", spec, "-o", tmp_path / "out.parquet", "--plugin", plugin, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert (table["my_atomicity.committed"] > 0).all()
    assert len(table) == 2


def refused(plugin: Path) -> str:
    """Return the message of a command about a plug-in that it refuses."""
    done = pmemsim("list", "designs", "--plugin", plugin)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(plugin) in done.stderr
    return done.stderr


def test_missing_plugin_is_refused(tmp_path: Path) -> None:
    assert "no such plug-in" in refused(tmp_path / "none.so")


def test_file_that_is_no_plugin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("text")
    assert "this is not a plug-in of pmemsim" in refused(tmp_path / "text.so")


def test_plugin_for_other_headers_is_refused_before_it_runs(
    shared_folder: Path, tmp_path: Path
) -> None:
    code = built("atomicity", shared_folder).read_bytes()
    word = b"pmemsim-design-version="
    position = code.index(word) + len(word)
    older = tmp_path / "older.so"
    older.write_bytes(code[:position] + b"0" * 16 + code[position + 16 :])
    assert "was built for another version of pmemsim's headers" in refused(older)


def test_truncated_plugin_is_refused(shared_folder: Path, tmp_path: Path) -> None:
    code = built("atomicity", shared_folder).read_bytes()
    part = tmp_path / "part.so"
    for length in (len(code) // 8, len(code) // 2, len(code) - 1):
        part.write_bytes(code[:length])
        refused(part)


def test_second_plugin_of_the_same_name_is_refused(shared_folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copyfile(built("atomicity", shared_folder), copy)
    environment = {"PMEMSIM_PLUGINS": str(built("atomicity", shared_folder))}
    done = pmemsim("list", "designs", "--plugin", copy, environment=environment)
    assert done.returncode == 2
    assert (
        "atomicity=my-atomicity already exists; give the implementation another name" in done.stderr
    )


@pytest.mark.parametrize("name", ["Upper", "two words", "-x", "a--b", "x_y"])
def test_name_that_cpp_and_presets_cannot_share_is_refused(name: str, tmp_path: Path) -> None:
    done = pmemsim("new-design", "--layer", "ordering", "-o", tmp_path, "--", name)
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    done = pmemsim("new-design", "mine", "--layer", "ordering", "-o", tmp_path)
    assert (done.returncode, list((tmp_path / "mine").iterdir())) == (2, [])
    assert "the folder already exists" in done.stderr


@pytest.mark.long
def test_error_of_the_compiler_is_shown(tmp_path: Path) -> None:
    folder = write_design("mine", "ordering", tmp_path)
    source = folder / "mine.cpp"
    source.write_text(source.read_text() + "this is no C++\n")
    done = pmemsim("plugin", "build", folder)
    assert done.returncode == 2
    assert "mine.cpp" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_plugin_that_crashes_ends_the_command_with_its_name(tmp_path: Path) -> None:
    folder = write_design("mine", "ordering", tmp_path)
    source = folder / "mine.cpp"
    cases = "\n".join(
        f"  if (parameters_.most_in_flight == {number}) {statement}"
        for number, (statement, _) in enumerate((*MISBEHAVIOUR.values(), (ENDLESS, "")), start=2)
    )
    first = "  ++statistics_.sent;\n"
    text = source.read_text().replace(first, f"{cases}\n{first}")
    assert cases in text
    source.write_text("#include <cstdlib>\n#include <stdexcept>\n" + text)
    plugin = build_plugin(folder)
    for number, (_, said) in enumerate(MISBEHAVIOUR.values(), start=2):
        done = pmemsim(
            "run", "queue", "-d", "mine", "-m", "asap", "--regions", "20", "--plugin", plugin,
            "--set", f"mine.most_in_flight={number}", installed=True,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert f"pmemsim: the plug-in {plugin} {said}" in done.stderr
        assert "Traceback" not in done.stderr
    done = interrupted(
        "run", "queue", "-d", "mine", "-m", "asap", "--regions", "20", "--plugin", str(plugin),
        "--set", f"mine.most_in_flight={2 + len(MISBEHAVIOUR)}",
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert f"a function of the plug-in {plugin} did not return within 5 s" in done.stderr


def interrupted(*words: str) -> subprocess.CompletedProcess[str]:
    """Return a command that Ctrl-C interrupts when it has used three seconds of processor time."""
    program = Path(sys.executable).with_name("pmemsim")
    command = subprocess.Popen([program, *words], stderr=subprocess.PIPE, text=True)
    used = Path(f"/proc/{command.pid}/stat")
    while sum(map(int, used.read_text().split()[13:15])) < 3 * os.sysconf("SC_CLK_TCK"):
        time.sleep(0.1)
    command.send_signal(signal.SIGINT)
    _, stderr = command.communicate(timeout=60)
    return subprocess.CompletedProcess(words, command.returncode, "", stderr)


@pytest.mark.long
def test_asap_and_pmem_spec_as_plugins_give_the_pinned_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    shutil.copytree(ROOT / "tests" / "plugins", folder)
    for layer, patterns in {
        "atomicity": ("asap*",),
        "ordering": ("pmem_spec*", "*speculation_*", "core_pauses*"),
    }.items():
        target = folder / "sources" / "pmemsim" / "designs" / layer
        target.mkdir(parents=True)
        for pattern in patterns:
            for path in (ROOT / "src" / "pmemsim" / "designs" / layer).glob(pattern):
                shutil.copyfile(path, target / path.name)
    plugin = build_plugin(folder)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "python" / "plugin_pins.py")],
        env={**os.environ, "PMEMSIM_PLUGINS": str(plugin)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("software-undo", "an implementation in pmemsim has this name"),
        ("np", "a design of this name exists"),
    ],
)
def test_new_design_with_a_taken_name_is_refused(tmp_path: Path, name: str, why: str) -> None:
    done = pmemsim("new-design", name, "--layer", "atomicity", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{name}: {why}" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_plugin_that_registers_no_implementation_is_refused(tmp_path: Path) -> None:
    folder = write_design("mine", "ordering", tmp_path)
    source = folder / "mine.cpp"
    source.write_text(re.sub(r"PMEMSIM_PLUGIN\(.*\)", "", source.read_text()))
    done = pmemsim("plugin", "build", folder)
    assert done.returncode == 2
    assert (
        "mine.so: the plug-in registers no implementation; end its source with PMEMSIM_PLUGIN(...)"
    ) in done.stderr


def test_fault_of_a_plugin_is_listed(shared_folder: Path) -> None:
    done = pmemsim("list", "faults", "--plugin", built("atomicity", shared_folder))
    assert "my_atomicity.commit" in done.stdout


def test_design_without_its_plugin_says_how_to_load_it() -> None:
    done = pmemsim("run", "queue", "-d", "my-atomicity", "-m", "asap")
    assert "load a plug-in's design with --plugin FILE" in done.stderr


def test_refusal_of_a_plugin_is_printed_once(tmp_path: Path) -> None:
    done = pmemsim("run", "queue", "-d", "np", "-m", "asap", "--plugin", tmp_path / "no.so")
    assert done.stderr.count("no such plug-in") == 1


def test_plugin_build_without_make_or_ninja_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cmake").symlink_to(shutil.which("cmake") or "")
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(Error, match="make or ninja, and neither was found; install one with"):
        build_plugin(write_design("alone", "ordering", tmp_path))
