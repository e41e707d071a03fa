"""The command line: output, refusals, and exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pmemsim import _core
from pmemsim.bench import Recording, bench, pairs_of_all, why_not
from pmemsim.errors import ConfigError
from pmemsim.installation import version
from pmemsim.presets import preset_names
from pmemsim.simulation import configure
from pmemsim.workload_runs import WorkloadRun, workloads
from support import LONG_TESTS, SMALL, interrupt, pmemsim

ON_ASAP = ("--design", "sw-undo", "--machine", "asap")


def refused(*arguments: str | Path) -> str:
    """Run a command that must be refused, and return its sentence."""
    done = pmemsim(*arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.quick
def test_lists_name_everything() -> None:
    for what, names in (
        ("designs", preset_names("design")),
        ("backends", preset_names("backend")),
        ("machines", preset_names("machine")),
        ("workloads", list(workloads())),
    ):
        done = pmemsim("list", what)
        assert done.returncode == 0
        assert names
        for name in names:
            assert name in done.stdout


def test_every_preset_can_be_shown() -> None:
    usual = slice(None) if LONG_TESTS else slice(2)
    for name in preset_names("machine")[usual]:
        done = pmemsim("show", "machine", name)
        assert done.returncode == 0, done.stderr
        assert "core.frequency" in done.stdout
        assert "GHz" in done.stdout
    for name in preset_names("design")[usual]:
        done = pmemsim("show", "design", name)
        assert done.returncode == 0, done.stderr
        assert "atomicity" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        [], ["record"], ["run"], ["compare"], ["crash"], ["reproduce"], ["bench"],
        ["show"], ["show", "design"], ["show", "machine"],
        ["list"], ["list", "designs"], ["list", "machines"], ["list", "workloads"],
        ["trace"], ["trace", "info"], ["trace", "dump"], ["trace", "verify"],
    ],
)  # fmt: skip
def test_every_command_has_help(command: list[str]) -> None:
    done = pmemsim(*command, "--help")
    assert done.returncode == 0
    assert " ".join(["Usage: pmemsim", *command]) in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "queeu", *ON_ASAP], "unknown workload 'queeu'; did you mean 'queue'?"),
        (["run", "no.pmt", *ON_ASAP], "no.pmt: no such trace"),
        (["run", "queue", "-d", "sw-udno", "-m", "asap"], "did you mean 'sw-undo'?"),
        (["run", "queue", "-d", "np", "-m", "asp"], "unknown machine 'asp'; did you mean 'asap'?"),
        (["run", "queue", *ON_ASAP, "--threads", "0"], "--threads 0: must be 1 to 127"),
        (["run", "queue", *ON_ASAP, "--threads", "100000"], "--threads 100000: must be 1 to 127"),
        (["run", "queue", *ON_ASAP, "--regions", "9999999999"], "must be 1 to 4294967296"),
        (["run", "queue", *ON_ASAP, "--seed", "-1"], "--seed -1: must be 0 to"),
        (["run", "queue", *ON_ASAP, "--data-bytes", "7"], "must be 8 to 8192"),
        (["run", "tatp", *ON_ASAP, "--data-bytes", "64"], "the data of tatp have fixed sizes"),
        (["run", "tpcc", *ON_ASAP, "--data-bytes", "64"], "the data of tpcc have fixed sizes"),
        (["run", "queue", *ON_ASAP, "--opt", "O9"], "must be one of O0, O1, O2, O3"),
        (["run", "queue", *ON_ASAP, "--json", "no/such/out.json"], "no/such does not exist"),
        (["run", "queue", *ON_ASAP, "--plot", "out.xyz"], "format; use .png, .pdf or .svg"),
        (["compare", "queue", "-d", "np", "-m", "asap", "--plot", "out.gif"], "use .png, .pdf or"),
        (["run", "queue", *ON_ASAP, "--set", "core.rob=3"], "similar keys: core.rob_entries"),
        (["run", "queue", *ON_ASAP, "--set", "xyz=3"], "`pmemsim show machine NAME` lists all"),
        (["run", "queue", *ON_ASAP, "--set", "core"], "--set core: write it as"),
        (["compare", "queue", "-d", "np,np", "-m", "asap"], "design 'np' is given twice"),
        (["compare", "queue", "queue", "-d", "np", "-m", "asap"], "target 'queue' is given twice"),
        (["compare", "queue", "-d", ",", "-m", "asap"], "names no design"),
        (["compare", "queue", "-d", "np", "-m", "asap", "--jobs", "0"], "must be at least 1"),
        (["record"], "nothing to record"),
        (["record", "--name", "queue"], "name the trace with -o NAME.pmt"),
        (["record", "--name", "queue", "-o", "x.txt"], "must end with .pmt"),
        (["record", "--name", "queeu", "-o", "x.pmt"], "did you mean 'queue'?"),
        (["record", "--all"], "--all: needs --out-dir; the folder to which the traces are written"),
        (
            ["record", "--all", "--out-dir", "x", "--name", "queue"],
            "--all: leave out WORKLOAD, --name queue",
        ),
        (
            ["record", "--name", "queue", "-o", "x.pmt", "--out-dir", "x"],
            "--out-dir x: needs --all; name a single trace with",
        ),
        (
            ["record", "-o", "x.pmt", "--", "./no-such-program"],
            "no such program; build it",
        ),
        (
            ["record", "-o", "x.pmt", "--seed", "1", "--", "ls"],
            "--seed 1: needs WORKLOAD or --all or --schedule or --schedules",
        ),
        (["record", "queeu", "-o", "x.pmt", "--threads", "4"], "did you mean 'queue'?"),
        (["record", "no-such", "-o", "x.pmt"], "with its path after --: ./no-such"),
        (["record", "queue"], "name the trace with -o NAME.pmt"),
        (["record", "queue", "-o", "x.pmt", "--threads", "0"], "--threads 0: must be"),
        (
            ["record", "queue", "-o", "x.pmt", "--process", "a"],
            "--process a: needs PROGRAM; it is for a program of your own",
        ),
        (["record", "-o", "x.pmt", "--pm-range", "5", "--", "ls"], "must be LO:HI"),
        (
            ["record", "-o", "x.pmt", "--pm-range", "0:1" + 16 * "0", "--", "ls"],
            "must be LO:HI",
        ),
        (["record", "-o", "x.pmt", "--pm-hint", "1234", "--", "ls"], "a multiple of 0x1000"),
        (["record", "-o", "x.pmt", "--pm-path", "no", "--", "ls"], "no such folder"),
        (["trace", "dump", "--first", "-1", "no.pmt"], "--first -1: must be at least 0"),
        (["record", "queue", "-o", "x.pmt", "--opt", ""], "--opt : must be one of O0"),
        (
            ["trace", "info", "no.pmt"],
            "no such trace; to record a program, run: pmemsim record -o no.pmt -- PROGRAM",
        ),
        (
            ["trace", "info", "queue"],
            "it is the name of a workload; to record that, run: pmemsim record queue -o queue.pmt",
        ),
        (["trace", "info", "/"], "/: this is a folder; name a trace"),
        (["trace", "info", "/dev/null"], "/dev/null: this is not a regular file"),
        (["trace", "info", "\udcff.pmt"], "is not valid UTF-8"),
        (["bench", "no.pmt"], "no.pmt: no such trace"),
        (["bench", "queue", "-m", "asp"], "unknown machine 'asp'; did you mean 'asap'?"),
        (["crash", "queue", "-d", "asap", "--points", "9" * 5000], "must be `all` or 1 to"),
        (["bench", "queeu"], "unknown workload 'queeu'; did you mean 'queue'?"),
        (["bench", "queue", "queue"], "target 'queue' is given twice"),
        (
            ["run", "queue", "-d", "np", "-m", "/"],
            "/: this is a folder; give the path of",
        ),
        (["show", "design", "nothing"], "unknown design 'nothing'"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments: list[str], sentence: str) -> None:
    assert sentence in refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (["--nosuch"], ["--nosuch: unknown option; see: pmemsim --help"]),
        (["run", "--nosuch"], ["run: --nosuch: unknown option; see: pmemsim run --help"]),
        (["check", "q", "--hold", "3"], ["check: --hold: unknown option; pmemsim record has it"]),
        (["run", "q", "--desing", "np"], ["run: --desing: unknown option; did you mean --design?"]),
        (
            ["nosuch"],
            ["nosuch: unknown command; known names: advise, analyze, bench, calibrate, "],
        ),
        (["trace", "inf"], ["trace: inf: unknown command; did you mean 'info'?"]),
        (["run", "queue", "more", *ON_ASAP], ["run: more: unexpected argument; remove it"]),
        (["run", "queue", "-d"], ["-d: the value is missing"]),
        (["crash", "--all-designs=3"], ["--all-designs: this option takes no value; remove it"]),
        (
            ["run", "queue", *ON_ASAP, "--instances", "x"],
            ["run: --instances x: must be a whole number; see: pmemsim run --help"],
        ),
        (
            ["run", "queue", *ON_ASAP, "--duplicate-ratio", "x"],
            ["run: --duplicate-ratio x: must be a number; see"],
        ),
        (
            ["reproduce", "--scale", "huge"],
            ["reproduce: --scale huge: must be one of quick, paper, smoke; see"],
        ),
        (["show", "machine"], ["show machine: MACHINE is missing; give a machine's name, or its"]),
        (
            ["run", "queue"],
            [
                "run: --design is missing; give a design's name, DESIGN@BACKEND, or a design's",
                "run: --machine is missing; give a machine's name, or its YAML file",
            ],
        ),
    ],
)
def test_malformed_command_line_is_refused_with_a_line_for_each_problem(
    arguments: list[str], sentences: list[str]
) -> None:
    lines = refused(*arguments).splitlines()
    assert len(lines) == len(sentences)
    for line, sentence in zip(lines, sentences, strict=True):
        assert line.startswith(f"pmemsim: {sentence}")


def test_files_of_other_kinds_are_refused_as_design_or_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.txt").write_text("name: x\n")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, what in (("text.txt", "file"), ("folder", "folder")):
        text = refused("run", "queue", "-d", name, "-m", "asap")
        assert f"(the {what} {name} is none: the name of a design's file ends with .yaml)" in text
    assert "text.txt: this is not a trace; the name of a" in refused("run", "text.txt", *ON_ASAP)
    assert "folder: this is a folder; name a workload" in refused("run", "folder", *ON_ASAP)


def test_record_refuses_a_file_that_is_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("text\n")
    monkeypatch.chdir(tmp_path)

    def said(program: str) -> str:
        return refused("record", "-o", "x.pmt", "--", program)

    assert "./folder: this is a folder; name the program itself" in said("./folder")
    assert "./text: the file is not executable; if it is a program, run: chmod +x ./text" in said(
        "./text"
    )
    # The second word, since one alone may be a workload's name.
    text = refused("record", "-o", "x.pmt", "--", "text", "word")
    assert "no such program in PATH; for the one in this folder, write ./text" in text
    (tmp_path / "text").chmod(0o755)
    assert "Exec format error; name a program, or a script that begins with #!" in said("./text")
    assert not (tmp_path / "x.pmt").exists()


@pytest.mark.quick
def test_all_problems_of_a_configuration_are_reported_at_once() -> None:
    text = refused(
        "run", "queue", *ON_ASAP,
        "--set", "core.rob_entires=128",
        "--set", "core.frequency=2",
        "--set", "core.width=many",
        "--set", "l1.ways=0",
    )  # fmt: skip
    assert "--set: core.rob_entires: unknown key; did you mean 'core.rob_entries'?" in text
    assert "--set: core.frequency:" in text
    assert "--set: core.width:" in text
    assert "--set: l1.ways:" in text


def test_problems_of_a_file_and_of_its_values_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nsummary: s\ninherits: asap\nmade: up\nparameters:\n"
        "  core.frequency: 2\n  core.width: {a: b}\n"
    )
    text = refused("run", "queue", "-d", "np", "-m", path, "--set", "core.rob_entires=128")
    assert f"{path}:4: unknown key 'made'" in text
    assert f"{path}:6: core.frequency: '2': missing unit" in text
    assert f"{path}:7: core.width: the key 'value' is missing" in text
    assert "--set: core.rob_entires: unknown key" in text


def test_preset_text_with_markup_characters_is_printed_literally(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('name: "[/x]"\nsummary: "[red]"\ncitation: "[/y]"\ninherits: np\n')
    done = pmemsim("show", "design", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[/x]: [red]\n[/y]\n")


def test_paths_with_markup_characters_are_printed_literally(
    tmp_path: Path, queue_trace: Path
) -> None:
    path = tmp_path / ":x:[1].yaml"
    path.write_text("name: mine\nsummary: s\nparameters:\n" + 96 * "\n" + "  core.frequency: 2\n")
    assert f"{path}:100: core.frequency" in refused("run", "queue", "-d", "np", "-m", path)
    trace = tmp_path / ":x:[bold].pmt"
    shutil.copyfile(queue_trace, trace)
    done = pmemsim("trace", "info", trace)
    assert done.returncode == 0, done.stderr
    assert str(trace) in done.stdout


def test_problems_across_parameters_name_the_lines_of_all_of_them(tmp_path: Path) -> None:
    machine, design = tmp_path / "small.yaml", tmp_path / "mine.yaml"
    machine.write_text(
        "name: small\nsummary: s\ninherits: asap\nparameters:\n"
        "  shared.size: {value: 64KiB, source: me}\n"
        "  pm.write_low_watermark: 0.9\n"
    )
    design.write_text(
        "name: mine\nsummary: s\nparameters:\n"
        "  ordering: none\n  atomicity: software-undo\n  pm.write_high_watermark: 0.5\n"
    )
    problems = refused("run", "queue", "-d", design, "-m", machine, "--set", "l2.size=3MiB")
    start = f"pmemsim: {machine}:5, machines/asap.yaml:"  # shared.size_per_core is inherited
    assert any(
        line.startswith(start) and "--set: shared.size" in line and "l2.size (3145728" in line
        for line in problems.splitlines()
    ), problems
    assert f"pmemsim: {machine}:6, {design}:6: pm: write_low_watermark: 0.9 is above" in problems
    assert f"pmemsim: {design}:5, {design}:4: atomicity=software-undo needs" in problems


def test_an_unknown_name_hides_no_other_problem(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nsummary: s\nparameters:\n  core.frequency: 2\n")
    text = refused(
        "compare", "queeu", "queue", "queue", "-d", "np,sw-udno,np", "-m", path,
        "--set", "core", "--set", "core.rob_entires=128", "--set", "l2.size=64MiB",
        "--threads", "0", "--data-bytes", "7", "--duplicate-ratio", "2", "--opt", "O9",
        "--json", "no/such/out.json", "--jobs", "0",
    )  # fmt: skip
    problems = [
        "unknown workload 'queeu'; did you mean 'queue'?",
        "target 'queue' is given twice",
        "design 'np' is given twice",
        "unknown design 'sw-udno'; did you mean 'sw-undo'?",
        f"{path}:4: core.frequency: '2': missing unit",
        "--set core: write it as",
        "--set: core.rob_entires: unknown key; did you mean 'core.rob_entries'?",
        "--threads 0: must be 1 to 127",
        "--data-bytes 7: must be 8 to 8192, a multiple of 8",
        "--duplicate-ratio 2.0: must be a number from 0 to 1",
        "--opt O9: must be one of",
        "no/such does not exist",
        "--jobs 0: must be at least 1",
    ]
    for problem in problems:
        assert text.count(problem) == 1, (problem, text)


def test_an_unknown_machine_hides_no_problem_of_keys_and_makes_none_up() -> None:
    text = refused(
        "run", "queue", "-d", "np", "-m", "asp",
        "--set", "core.width=many", "--set", "l2.size=64MiB",
    )  # fmt: skip
    assert "unknown machine 'asp'; did you mean 'asap'?" in text
    assert "--set: core.width: 'many' is not a number" in text
    # The machine decides whether this size is too large.
    assert "l2.size" not in text
    assert len(text.splitlines()) == 2


def test_pm_path_with_a_colon_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    text = refused("record", "-o", "x.pmt", "--pm-path", folder, "--", "ls")
    assert (
        f"--pm-path {folder}: the path contains a colon; rename the folder, or create a link to it"
    ) in text


def test_record_reports_all_problems_at_once(tmp_path: Path) -> None:
    for which in (("--name", "queue", "-o", "x.txt"), ("--all", "--out-dir", str(tmp_path))):
        text = refused("record", *which, "--threads", "0", "--regions", "0", "--seed", "-1")
        for option in ("--threads 0:", "--regions 0:", "--seed -1:"):
            assert text.count(option) == 1, text
        assert ("must end with .pmt" in text) == ("--name" in which)
    text = refused("record", "-o", "x.txt", "--pm-range", "5", "--pm-path", "no", "--", "ls")
    assert len(text.splitlines()) == 3
    assert list(tmp_path.iterdir()) == []


def test_refusal_by_a_workload_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "queue.pmt"
    text = refused("record", "--name", "queue", "--regions", "4000000000", "-o", path)
    assert text.splitlines()[-1].startswith("pmemsim: queue --threads=4 --regions=4000000000 ")
    assert "no trace was kept; choose smaller --regions or --threads" in text
    assert len(text.splitlines()) == 1
    monkeypatch.setenv("PMEMSIM_QUANTUM", "few")
    text = refused("record", "--name", "queue", "-o", path)
    assert 'PMEMSIM_QUANTUM is "few"; it must be a number of instructions' in text
    assert "choose smaller --regions or --threads" not in text  # which wouldn't help
    assert list(tmp_path.iterdir()) == []


def test_a_narrow_terminal_shows_all_of_a_table() -> None:
    narrow = {"COLUMNS": "60", "TTY_COMPATIBLE": "1", "TERM": "xterm"}
    done = pmemsim("list", "workloads", environment=narrow, installed=True)
    assert "…" not in done.stdout
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout)
    assert max(map(len, shown.splitlines())) <= 60
    assert "wlevel" in shown  # part of a name that is folded


def test_commands_share_their_options() -> None:
    def options(command: str) -> set[str]:
        return set(re.findall(r"--[a-z-]+", pmemsim(command, "--help-all").stdout))

    different = {
        "--design", "--designs", "--image", "--stats", "--per-core", "--jobs", "--seeds",
        "--schedules",
    }  # fmt: skip
    assert options("run") ^ options("compare") == different
    assert {"--threads", "--seed", "--duplicate-ratio"} <= options("record") & options("run")


def test_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pmt"
    path.write_text("#!/bin/sh\n")
    assert "not a .pmt file" in refused("run", path, *ON_ASAP)


def test_commands_work_in_folders_whose_names_are_not_utf8(
    tmp_path: Path, queue_trace: Path
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    odd.mkdir()
    shutil.copy(queue_trace, odd)
    there = {"PMEMSIM_CACHE": str(odd), "TMPDIR": str(odd)}
    done = pmemsim(
        "run", queue_trace.name, *ON_ASAP, "--image", "image", cwd=odd, environment=there
    )
    assert done.returncode == 0, done.stderr
    crash = ["crash", queue_trace.name, "-d", "sw-undo", "--points", "9", "--verify", "true"]
    done = pmemsim(*crash, cwd=odd, environment=there)
    assert done.returncode == 0, done.stderr
    (odd / "taken").touch()
    there["PMEMSIM_CACHE"] = f"{odd}/taken"
    done = pmemsim("run", "queue", *ON_ASAP, environment=there)
    assert done.returncode == 2
    assert "/?/taken" in done.stderr


def test_uninstrumented_program_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "x.pmt"
    text = refused("record", "-o", output, "--", "true")
    assert "build it with pmemsim-cc or pmemsim-c++" in text
    assert list(tmp_path.iterdir()) == []


def test_installation_without_clang_runs_recordings(tmp_path: Path, queue_trace: Path) -> None:
    """Without clang 19, existing recordings run, and recording says what is missing."""
    package = tmp_path / "site" / "pmemsim"
    shutil.copytree(
        Path(_core.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in ("bin", "lib", "include"):
        shutil.rmtree(package / "toolchain" / folder)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from pmemsim.cli import main; main()", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(package.parent), "PMEMSIM_CACHE": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run("run", queue_trace, *ON_ASAP).returncode == 0
    for command in (["run", "queue", *ON_ASAP], ["record", "queue", "-o", tmp_path / "x.pmt"]):
        done = run(*command)
        assert done.returncode == 2
        assert "apt-get install clang-19 llvm-19-dev" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("*.pmt"))


def test_arguments_of_a_workload_do_not_apply_to_a_trace(queue_trace: Path) -> None:
    text = refused("run", queue_trace, *ON_ASAP, "--threads", "2")
    assert "this is a recording; remove --threads, which only workloads accept" in text


@pytest.mark.quick
def test_run_writes_json_and_a_plot(tmp_path: Path, queue_trace: Path) -> None:
    done = pmemsim(
        "run", queue_trace, *ON_ASAP, "--json", tmp_path / "a.json", "--plot", tmp_path / "a.png"
    )
    assert done.returncode == 0, done.stderr
    assert "stall.fence_ns" in done.stdout
    run = json.loads((tmp_path / "a.json").read_text())
    assert (run["workload"], run["design"], run["machine"]) == ("queue", "sw-undo", "asap")
    assert run["threads"] == 2
    assert run["regions"] > 0
    assert run["time_ns"] > 0
    assert run["pm_write_bytes"] > 0
    assert run["configuration"]["core.count"]["place"].startswith("machines/asap.yaml:")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_output_that_would_overwrite_an_input_is_refused(tmp_path: Path, queue_trace: Path) -> None:
    trace = tmp_path / "q.pmt"
    shutil.copy(queue_trace, trace)
    plot = tmp_path / "same.svg"
    clashes: list[list[str | Path]]
    clashes = [["--json", trace], ["--image", trace], ["--json", plot, "--plot", plot]]
    for outputs in clashes:
        text = refused("run", trace, *ON_ASAP, *outputs)
        assert f"{outputs[-1]}: this command already reads or writes this file" in text
    for command, design in (("bench", "np"), ("crash", "sw-undo")):
        text = refused(command, trace, "-d", design, "--json", trace)
        assert "this command already reads or writes this file" in text
    assert trace.read_bytes() == queue_trace.read_bytes()
    assert "is a folder" in refused("run", trace, *ON_ASAP, "--json", "")
    assert pmemsim("run", trace, *ON_ASAP, "--json", "-").returncode == 0
    assert pmemsim("run", trace, *ON_ASAP, "--json", "/dev/null").returncode == 0


def test_set_and_instances_reach_the_simulation(queue_trace: Path) -> None:
    done = pmemsim(
        "run", queue_trace, *ON_ASAP, "--instances", "2", "--lock-order", "recorded",
        "--set", "core.rob_entries=16", "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    configuration = run["configuration"]
    assert configuration["core.rob_entries"] == {"value": "16", "place": "--set"}
    assert configuration["run.instances"] == {"value": "2", "place": "--instances"}
    assert configuration["run.lock_order"] == {"value": "recorded", "place": "--lock-order"}
    assert run["threads"] == 4


@pytest.mark.quick
def test_run_prints_the_statistics_that_match(queue_trace: Path) -> None:
    run = ("run", queue_trace, "--design", "np", "--machine", "asap")
    done = pmemsim(*run, "--stats", "stall.fence_ns, pm.wpq*")
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^[│ ]*([a-z_0-9]+\.\w+)", done.stdout, re.MULTILINE)
    assert names[0] == "stall.fence_ns"
    assert len(names) > 1
    assert all(name.startswith("pm.wpq") for name in names[1:])
    done = pmemsim(*run, "--stats", "stall.fence_ns,lad.*")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("pmemsim: --stats lad.*: this run has no such")


def test_the_same_run_twice_is_the_same_apart_from_wall_clock(queue_trace: Path) -> None:
    runs = []
    for _ in range(2):
        run = json.loads(pmemsim("run", queue_trace, *ON_ASAP, "--json", "-").stdout)
        for key in ("wall_s", "instructions_per_wall_s"):
            del run[key]
        runs.append(run)
    assert runs[0] == runs[1]


def test_compare_is_the_same_with_any_number_of_jobs(tmp_path: Path) -> None:
    documents = []
    for jobs in ("1", "4"):
        path = tmp_path / f"{jobs}.json"
        done = pmemsim(
            "compare", "queue", "hashmap", "--designs", "np,sw-undo", "--machine", "asap",
            *SMALL, "--jobs", jobs, "--json", path, "--plot", tmp_path / f"{jobs}.svg",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        words = ("geomean", "over np", "ns/region", "fence stalls", "lock waiting")
        for word in (*words, "store queue stalls"):
            assert word in done.stdout
        document = json.loads(path.read_text())
        for run in document["runs"]:
            del run["wall_s"], run["instructions_per_wall_s"]
        documents.append(document)
    assert documents[0] == documents[1]
    pairs = [(run["workload"], run["design"]) for run in documents[0]["runs"]]
    assert pairs == [
        ("queue", "np"), ("queue", "sw-undo"), ("hashmap", "np"), ("hashmap", "sw-undo"),
    ]  # fmt: skip
    assert documents[0]["geomean"]["np"] == 1.0
    assert 0.0 < documents[0]["geomean"]["sw-undo"] < 1.0


def _without_valgrind(folder: Path) -> Path:
    """Return a folder with a valgrind that fails."""
    failing = folder / "valgrind"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    return folder


@pytest.mark.long
def test_bench_measures_every_size(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    # test_bench_counts_host_instructions runs under valgrind, which takes the time of ten others.
    done = pmemsim(
        "bench", "queue", "-d", "np,sw-undo", "--regions", "200", "--json", path,
        environment={"PATH": f"{_without_valgrind(tmp_path)}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text())
    runs = document["runs"]
    assert [(run["cores"], run["design"]) for run in runs] == [
        (cores, design) for cores in (1, 2, 4, 8) for design in ("np", "sw-undo")
    ]
    for run in runs:
        assert run["minstructions_per_s"] > 0
        assert run["peak_memory_bytes"] > 1 << 20
        counted = run["host_instructions_per_instruction"] is not None
        assert counted != bool(run["host_instructions_reason"])
        assert run["configuration"]["core.count"]["place"].startswith("machines/asap.yaml:")
        assert (len(run["trace_hash"]), run["version"]) == (16, version())
    speeds = {(run["design"], run["cores"]): run["minstructions_per_s"] for run in runs}
    for mean in document["geomean"]:
        design, cores = mean["design"], mean["cores"]
        assert mean["minstructions_per_s"] == pytest.approx(speeds[design, cores])
        assert mean["over_sw_undo"] == pytest.approx(
            speeds[design, cores] / speeds["sw-undo", cores]
        )


def test_bench_measures_the_size_that_is_wanted(tmp_path: Path, queue_trace: Path) -> None:
    path = tmp_path / "bench.json"
    done = pmemsim(
        "bench", "queue", "-d", "np", "-t", "3", "-s", "core.count=3", "--regions", "60", "--json",
        path,
        environment={"PATH": f"{_without_valgrind(tmp_path)}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(path.read_text())["runs"]
    assert run["cores"] == 3
    assert run["host_instructions_per_instruction"] is None
    assert run["host_instructions_reason"]
    assert run["configuration"]["core.count"]["value"] == "3"
    assert "core.count" in refused("bench", "queue", "-d", "np", "-s", "core.count=0")
    assert "remove --threads" in refused("bench", queue_trace, "-t", "3")


@pytest.mark.long
def test_bench_counts_host_instructions(queue_trace: Path) -> None:
    recording = Recording("queue", 2, queue_trace, queue_trace, True)
    (run,) = bench([(recording, "sw-undo")], "asap", ("sw-undo",)).runs
    assert run.host_instructions_per_instruction is not None, run.host_instructions_reason
    assert run.host_instructions_per_instruction > 10
    assert run.host_instructions_per_operation is not None
    assert run.host_instructions_per_operation > run.host_instructions_per_instruction
    assert run.host_instructions_reason == ""


def test_bench_excludes_the_memory_of_its_caller(queue_trace: Path) -> None:
    ballast = b"x" * (256 << 20)
    recording = Recording("queue", 1, queue_trace, queue_trace, True)
    (run,) = bench([(recording, "np")], "asap", ()).runs
    assert 1 << 24 < run.peak_memory_bytes < len(ballast)


def test_bench_refuses_a_recording_that_no_design_supports(
    tmp_path: Path, queue_trace: Path
) -> None:
    machine = tmp_path / "small.yaml"
    machine.write_text("name: s\nsummary: s\ninherits: asap\nparameters: {core.count: 1}\n")
    text = refused("bench", queue_trace, "-m", machine)
    assert "no design supports this recording" in text


def test_bench_measures_every_design_that_can_run(tmp_path: Path, queue_trace: Path) -> None:
    recordings = [
        Recording("queue", cores, queue_trace, queue_trace, cores == 4) for cores in (1, 2, 4, 8)
    ]
    pairs = pairs_of_all(recordings, preset_names("design"))
    assert [design for recording, design in pairs if recording.cores == 4] == preset_names("design")
    for cores in (1, 2, 8):
        assert [d for recording, d in pairs if recording.cores == cores] == ["np", "sw-undo"]

    assert why_not("np", "asap", recordings) is None
    refused_design = tmp_path / "refused.yaml"
    refused_design.write_text("name: n\nsummary: s\ninherits: np\nparameters: {core.width: 0}\n")
    assert "core.width" in str(why_not(str(refused_design), "asap", recordings))


def test_control_c_ends_with_130_and_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("pmemsim")), "compare", "queue", "--jobs", "1",
         "--regions", "20000", "--designs", "np,sw-undo,eadr", "-m", "asap",
         "--json", str(tmp_path / "out.json"), "--plot", str(tmp_path / "out.png")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    while (line := process.stderr.readline()) and "queue on np" not in line:
        pass
    interrupt(process)  # while the second design is being simulated
    assert list(tmp_path.iterdir()) == []


def test_control_c_while_the_command_is_loaded() -> None:
    script = str(Path(sys.executable).with_name("pmemsim"))
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", script, "run", "queue", *ON_ASAP],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    while (line := process.stderr.readline()) and "yaml" not in line:
        pass
    assert line, "yaml was not loaded"
    interrupt(process)  # while modules are being loaded


def test_output_on_a_full_disk_is_an_error(queue_trace: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("pmemsim")), "run", queue_trace, *ON_ASAP,
             "--json", "-"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "pmemsim: output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_length_of_turns_is_cached_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    run = WorkloadRun.of("queue")
    usual = run.cached_trace
    monkeypatch.setenv("PMEMSIM_QUANTUM", "50")
    assert run.cached_trace != usual


def test_cache_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = pmemsim("run", "queue", *ON_ASAP, environment={"PMEMSIM_CACHE": str(tmp_path / "file")})
    assert done.returncode == 2
    assert f"{tmp_path / 'file'}" in done.stderr
    assert "Traceback" not in done.stderr


def test_closed_pipe_of_the_output_is_no_error(queue_trace: Path) -> None:
    command = f"'{Path(sys.executable).with_name('pmemsim')}' trace dump '{queue_trace}' -n 20000"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_result_file_is_written_although_the_output_pipe_is_closed(
    tmp_path: Path, queue_trace: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("pmemsim")), "run", queue_trace, *ON_ASAP,
         "--json", str(tmp_path / "out.json")],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["workload"] == "queue"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_run_whose_output_pipe_is_closed_while_it_records_leaves_no_file(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("pmemsim")), "run", "queue", *ON_ASAP, *SMALL,
         "--seed", "7", "--json", str(tmp_path / "out.json")],
        stdout=writing, stderr=writing, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert list(tmp_path.iterdir()) == []


def test_closed_output_is_no_error(tmp_path: Path, queue_trace: Path) -> None:
    command = f"'{Path(sys.executable).with_name('pmemsim')}'"
    for arguments in (f"trace dump '{queue_trace}'", f"run '{queue_trace}' -d np -m asap --json -"):
        done = subprocess.run(
            ["bash", "-c", f"{command} {arguments} >&-"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_time_that_does_not_fit_is_refused() -> None:
    slow = [f"--set=pm.{name}=1s" for name in ("tras", "twr", "trcd", "trp", "tcl")]
    queue = ("run", "queue", "--threads", "1", "--regions", "15000")
    said = refused(*queue, *ON_ASAP, *slow, "--set", "pm.latency_factor=1000")
    assert "the simulated time exceeds 4,000,000 s (46 days); choose smaller latencies" in said


def test_pmem_spec_on_several_controllers_has_a_note(queue_trace: Path) -> None:
    """PMEM-Spec is for one controller; machine `asap` has two."""
    assert configure("pmem-spec", "pmem-spec").notes == []
    (note,) = configure("pmem-spec", "asap").notes
    assert "one PM controller" in note
    assert "extension" in note
    with pytest.raises(ConfigError, match=r"pmem_spec.controllers=published"):
        configure("pmem-spec", "asap", {"pmem_spec.controllers": "published"})
    said = pmemsim("run", str(queue_trace), "--design", "pmem-spec", "--machine", "asap").stderr
    assert said.count(note) == 1


def test_lifetimes_have_the_largest_unit_that_fits() -> None:
    from pmemsim.cli.simulate import _lifetime

    assert _lifetime(None) == "-"
    assert _lifetime(12.4) == "12.4 years"
    assert _lifetime(0.5) == "183 days"
    assert _lifetime(1 / 8766) == "1 hours"
    assert _lifetime(3.86e-5) == "20.3 minutes"
