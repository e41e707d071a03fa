"""`pmemsim crash`: verdicts, stories, a program's own check."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pmemsim.crashing import Case, CrashRun, Points, promising_designs
from pmemsim.errors import StuckError
from pmemsim.presets import preset_names
from pmemsim.random_programs import crash_programs
from pmemsim.simulation import configure
from pmemsim.stress import stress_sets
from pmemsim.workload_runs import WorkloadRun
from support import interrupt, long_except, pmemsim

TINY = ("--threads", "2", "--regions", "40")


def test_crash_finds_no_violation_at_any_point_of_asap(tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    done = pmemsim("crash", "queue", "--design", "asap", *TINY, "--json", output)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(output.read_text())["runs"]
    assert set(run) == {
        "design", "machine", "stress", "workload", "threads", "seed", "schedule", "programs",
        "points", "all_points", "images", "repaired", "restarts", "checked", "unchecked",
        "violations", "wall_s",
        "points_per_s", "story", "notes", "trace_hash",
    }  # fmt: skip
    assert (run["design"], run["workload"], run["threads"]) == ("asap", "queue", 2)
    assert run["images"] > run["points"] == run["all_points"] > 100
    assert run["checked"] == 10
    # Images that are checked again because of stronger guarantees would be the same for a check.
    assert run["unchecked"] == run["points"] - 10
    assert f"10 of {run['points']:,}" in done.stdout
    assert run["violations"] == 0
    assert run["story"] is None
    assert (run["stress"], run["seed"], run["programs"]) == ("", 1, 1)


@pytest.mark.long
def test_all_designs_with_guarantees_have_no_violation(tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    done = pmemsim(
        "crash", "--all-designs", "--workloads", "queue,hashmap", *TINY, "--subsets", "2",
        "--verify-images", "2", "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = json.loads(output.read_text())["runs"]
    designs = {run["design"] for run in runs}
    assert designs == set(promising_designs("asap"))
    assert set(preset_names("design")) - designs == {
        "np", "ideal-free", "sw-data-only", "x86-bare", "sw-redo", "dpo-bare", "hops-bare",
        "pmem-spec-bare", "eadr-redo", "dpo-redo", "hops-redo", "pmem-spec-redo",
    }  # fmt: skip
    assert all(run["checked"] == 2 for run in runs)
    for run in runs:
        if run["design"] == "sw-undo":
            assert run["images"] > run["points"]
            assert run["restarts"] > 0, "the library's recovery reads what it writes"


def test_points_option_checks_a_sample(queue_trace: Path, tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    done = pmemsim(
        "crash", queue_trace, "--design", "lad", "--points", "50", "--seed", "7",
        "--verify-images", "0", "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(output.read_text())["runs"]
    assert run["points"] == 50 < run["all_points"]
    assert (run["checked"], run["unchecked"]) == (0, None)
    assert f"50 of {run['all_points']:,}" in done.stdout
    assert "no check" in done.stdout


# One of each kind of atomicity and ordering, before all that other papers' PM does to writes.
BEFORE_BACKENDS = "sw-undo,hw-undo,asap,redu+lalea+blom,lad,hops,pmem-spec"
BACKENDS = ",".join(
    f"{what}-{how}"
    for what in ("verified", "deduplicated")
    for how in ("serialized", "parallel", "janus")
)


def runs_before_backends(output: Path, *arguments: str) -> list[dict[str, object]]:
    done = pmemsim(
        "crash", "queue", "-m", "janus", "--threads", "2", "--regions", "20", "--points", "100",
        "--verify-images", "1", "--json", output, *arguments,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(output.read_text())
    assert found["refused"] == []
    assert all(run["points"] >= 100 and run["violations"] == 0 for run in found["runs"])
    return found["runs"]  # type: ignore[no-any-return]


def test_every_kind_of_design_recovers_with_every_backend(tmp_path: Path) -> None:
    runs = runs_before_backends(
        tmp_path / "crash.json", "--design", BEFORE_BACKENDS, "--backends", BACKENDS
    )
    assert {run["design"] for run in runs} == {
        f"{design}@{backend}"
        for design in BEFORE_BACKENDS.split(",")
        for backend in BACKENDS.split(",")
    }
    assert len(runs) == 42


def test_undo_logs_recover_with_selective_metadata(tmp_path: Path) -> None:
    runs = runs_before_backends(
        tmp_path / "crash.json", "--design", "sw-undo,hw-undo", "--backends", "verified-janus",
        "--set", "backend.metadata_atomicity=selective",
    )  # fmt: skip
    assert len(runs) == 2


def test_designs_recover_with_persisted_tree_nodes(tmp_path: Path) -> None:
    for metadata in ("write-through", "selective"):
        runs = runs_before_backends(
            tmp_path / "crash.json", "--design", "sw-undo,hw-undo,asap,lad", "--backends",
            "verified-janus", "--set", "integrity.persist_nodes=all",
            "--set", f"backend.metadata_atomicity={metadata}",
        )  # fmt: skip
        assert len(runs) == 4


# Designs that keep data which must survive in the write pending queue, or metadata beside data.
REFUSED = {
    (design, "written")
    for design in (
        "lad", "lad+lalea", "redu+blom", "redu+lalea+blom", "serialized", "parallel", "janus",
        "ideal",
    )
}  # fmt: skip


@pytest.mark.long
def test_stress_crashes_each_design_with_all_sets_that_it_takes(tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    stressed = ("crash", "random", "--all-designs", "--stress", "--points", "20")
    done = pmemsim(*stressed, *TINY, "--verify-images", "0", "--json", output)
    assert done.returncode == 0, done.stderr
    assert "combinations that are not possible" in done.stdout
    found = json.loads(output.read_text())
    refused = {(case["design"], case["stress"]) for case in found["refused"]}
    assert refused == REFUSED
    assert all("pm.persistence=accepted" in case["reason"] for case in found["refused"])
    ran = [(run["design"], run["stress"]) for run in found["runs"]]
    every = {(design, name) for design in promising_designs("asap") for name in stress_sets()}
    assert len(set(ran)) == len(ran)
    assert set(ran) == every - refused
    assert min(Counter(design for design, _ in ran).values()) >= 4


def test_user_settings_override_stress_settings(tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    accepted = ("--set", "pm.persistence=accepted")
    done = pmemsim(
        "crash", "random", "-d", "lad", "--stress", *accepted, *TINY, "--points", "20",
        "--json", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(output.read_text())
    assert [run["stress"] for run in found["runs"]] == list(stress_sets())
    assert found["refused"] == []


@pytest.mark.long
def test_random_programs_have_no_violation(tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    count = 7  # one for each set of stress settings
    own = {"PMEMSIM_CACHE": str(tmp_path / "cache")}  # other tests record random programs, too
    stressed = ("crash", "--all-designs", "--stress", "--random", str(count), "--seed", "100")
    done = pmemsim(*stressed, "--json", output, environment=own)
    assert done.returncode == 0, done.stderr
    kept = [path.name for path in (tmp_path / "cache").iterdir()]
    assert kept == ["programs"]  # no recording is kept
    found = json.loads(output.read_text())
    assert {(case["design"], case["stress"]) for case in found["refused"]} == REFUSED
    programs = Counter[str]()
    for run in found["runs"]:
        programs[run["design"]] += run["programs"]
        assert run["points"] >= run["programs"] * 100
        assert run["seed"] - 100 == list(stress_sets()).index(run["stress"])
    refused = {design for design, _ in REFUSED}
    assert all(programs[design] == count for design in set(programs) - refused)


def test_violation_in_a_random_program_is_reproduced() -> None:
    broken = ("--design", "hw-redo", "--set", "pmemsim.faults=log.release")
    done = pmemsim("crash", "--random", "3", *broken)
    assert done.returncode == 1, done.stderr
    assert "/3] random program, seed 2, threads 4, regions 30" in done.stderr
    assert "violations also in: hw-redo on random of seed" in done.stderr
    (command,) = re.findall(r"to reproduce: (.*)", done.stderr)
    assert re.search(r"crash random --design hw-redo .* --regions 30 --seed \d+", command)
    word = r"the word at 0x\w+ .*"
    assert re.findall(word, seen_again(done.stderr)) == re.findall(word, done.stderr)


def test_a_random_program_on_which_a_simulation_fails_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stuck(*_: object) -> CrashRun:
        raise StuckError("stands still")

    monkeypatch.setattr("pmemsim.random_programs.verify_or_refuse", stuck)
    program = WorkloadRun.of("random", regions=1, seed=8)
    with pytest.raises(StuckError, match="still; to reproduce: seed 8 on asap"):
        crash_programs(
            [program],
            [[Case("asap", "asap", configure("asap", "asap"))]],
            Points(),
            lambda _: None,
            lambda program, case: f"seed {program.seed} on {case.design}",
        )


def test_a_count_of_random_programs_that_cannot_be_is_no_wrong_seed() -> None:
    done = pmemsim("crash", "--random", "-1", "-d", "asap")
    assert done.returncode == 2
    assert "--random -1: must be 1 to" in done.stderr
    assert "--seed" not in done.stderr


def test_a_random_program_that_does_not_fit_is_named_by_its_seed() -> None:
    done = pmemsim("crash", "--random", "1", "--seed", "7", "--threads", "9", "-d", "asap",
                   "--set", "core.count=8")  # fmt: skip
    assert done.returncode == 2
    assert "random of seed 7: 9 threads" in done.stderr
    assert ".pmt" not in done.stderr


def test_settings_that_no_design_takes_are_refused() -> None:
    done = pmemsim("crash", "--random", "2", "-d", "asap", "--stress", "--set", "core.count=1")
    assert done.returncode == 2
    assert done.stderr.count("core.count=1") == 1


def test_drawn_duplicates_are_refused() -> None:
    drawn = ("--set", "deduplication.duplicates=drawn")
    done = pmemsim("crash", "queue", "-d", "parallel", *TINY, *drawn)
    assert done.returncode == 2
    assert (
        "deduplication.duplicates=drawn models only time and traffic, not the locations of data; "
        "to crash the design, choose deduplication.duplicates=data"
    ) in " ".join(done.stderr.split())


def seen_again(story: str) -> str:
    """Return the output of the command at the end of an explanation."""
    (line,) = [line for line in story.splitlines() if "to reproduce:" in line]
    command = shlex.split(line.partition("to reproduce:")[2])
    assert command[0] == "pmemsim"
    done = pmemsim(*command[1:])
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_violation_of_a_broken_design_is_explained(queue_trace: Path) -> None:
    done = pmemsim(
        "crash", queue_trace, "--design", "hw-undo", "--set", "pmemsim.faults=log.commit"
    )
    assert done.returncode == 1
    assert "hw-undo does not recover queue: a crash at" in done.stderr
    assert "was guaranteed to survive" in done.stderr
    assert "the word at 0x" in done.stderr
    assert re.search(r"stored this value at \S+\.c(pp)?:\d+", done.stderr)
    assert "the word at 0x" in seen_again(done.stderr)


def test_rejection_by_a_user_checker_is_reported(queue_trace: Path, tmp_path: Path) -> None:
    script = tmp_path / "check"
    script.write_text('#!/bin/sh\n[ -s "$1" ] || exit 3\necho "the queue has a hole" >&2\nexit 1\n')
    script.chmod(0o755)
    sentence = f"{script} ended with status 1: the queue has a hole"
    done = pmemsim("crash", queue_trace, "--design", "hw-undo", "--verify", script)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert sentence in seen_again(done.stderr)


@pytest.mark.parametrize("images", long_except(["3", "all"], "3"))
def test_the_image_that_a_check_rejects_is_kept(
    queue_trace: Path, tmp_path: Path, images: str
) -> None:
    script, seen, kept = tmp_path / "check", tmp_path / "seen", tmp_path / "kept"
    script.write_text(f'#!/bin/sh\nif [ ! -e {seen} ]; then cp "$1" {seen}; exit 1; fi\n')
    script.chmod(0o755)
    done = pmemsim(
        "crash", queue_trace, "--design", "hw-undo", "--verify", script, "--verify-images", images,
        "--keep-image", kept,
    )  # fmt: skip
    assert done.returncode == 1
    assert "ended with status 1" in done.stderr
    assert kept.read_bytes() == seen.read_bytes()


def test_keep_image_writes_the_wrong_image_or_the_last_one_of_a_time(
    queue_trace: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    asked = ["crash", str(queue_trace), "--design", "hw-undo", "--verify-images", "0"]
    asked += ["--keep-image", str(kept)]
    done = pmemsim(*asked)
    assert done.returncode == 0
    assert f"no image is wrong, so {kept} is not written" in done.stderr
    assert list(tmp_path.iterdir()) == []
    done = pmemsim(*asked, "--set", "pmemsim.faults=log.commit")
    assert done.returncode == 1
    wrong = kept.read_bytes()
    assert pmemsim(*asked, "--at", "20us").returncode == 0
    right = kept.read_bytes()
    assert len(right) == len(wrong)
    assert right != wrong


def test_violation_before_the_first_persist_is_reproduced(queue_trace: Path) -> None:
    done = pmemsim("crash", queue_trace, "--design", "eadr", "--set", "pmemsim.faults=eadr.caches")
    assert done.returncode == 1
    assert "after change 0 of the persistent state" in done.stderr
    assert "after change 0 of the persistent state" in seen_again(done.stderr)


def test_checker_gets_an_unchanged_image_each_time(queue_trace: Path, tmp_path: Path) -> None:
    """The checker may change its file, and it gets no input from a terminal."""
    seen = tmp_path / "seen"
    script = tmp_path / "check"
    script.write_text(f'#!/bin/sh\ncat >/dev/null\nstat -c %s "$1" >> {seen}\necho more >> "$1"\n')
    script.chmod(0o755)
    done = pmemsim("crash", queue_trace, "--design", "hw-undo", "--verify", script)
    assert done.returncode == 0, done.stderr
    sizes = seen.read_text().split()
    assert len(sizes) == 10
    assert len(set(sizes)) == 1


def test_a_checker_that_does_not_end_is_ended(queue_trace: Path, tmp_path: Path) -> None:
    """The checker's child processes end, too, even after some images that were right."""
    script, sleeper = tmp_path / "check", tmp_path / "sleeper"
    script.write_text(
        f"#!/bin/sh\nfor i in 1 2 3; do mkdir {tmp_path}/$i 2>/dev/null && exit 0; done\n"
        f"sleep 1000 & echo $! >> {sleeper}; wait\n"
    )
    script.chmod(0o755)
    crash: list[str | Path] = ["crash", queue_trace, "--design", "hw-undo", "--verify", script]
    done = pmemsim(*crash, "--verify-timeout", "1.5", "--verify-images", "5")
    assert done.returncode == 1
    assert f"{script} did not end within 1.5 s (--verify-timeout)" in done.stderr
    assert "--verify-timeout 1.5" in done.stderr.split("to reproduce")[1]
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in sleeper.read_text().split())


def test_crash_ends_processes_that_a_checker_has_started(queue_trace: Path, tmp_path: Path) -> None:
    script, sleeper = tmp_path / "check", tmp_path / "sleeper"
    script.write_text(f"#!/bin/sh\nsleep 100 &\necho $! > {sleeper}\n")
    script.chmod(0o755)
    done = pmemsim(
        "crash", queue_trace, "--design", "hw-undo", "--points", "1",
        "--verify", script, "--verify-images", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not Path(f"/proc/{sleeper.read_text().strip()}/exe").exists()


def test_control_c_ends_a_checker_that_does_not_end(queue_trace: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = tmp_path / "check"
    script.write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 1000\n")
    script.chmod(0o755)
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("pmemsim")), "crash", str(queue_trace),
         "--design", "hw-undo", "--verify", str(script), "--json", str(tmp_path / "out.json")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not started.exists():
        time.sleep(0.05)
    interrupt(process)
    assert sorted(tmp_path.iterdir()) == [script, started]


def test_a_checker_does_not_outlive_a_command_that_is_killed(
    queue_trace: Path, tmp_path: Path
) -> None:
    """Neither the checker nor its child processes outlive the command."""
    started = tmp_path / "started"
    script = tmp_path / "check"
    script.write_text(
        f"#!/bin/sh\nsleep 100 &\necho $$ $! > {started}.new\nmv {started}.new {started}\nwait\n"
    )
    script.chmod(0o755)
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("pmemsim")), "crash", str(queue_trace),
         "--design", "hw-undo", "--verify", str(script)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while not started.exists():
        assert process.poll() is None, "no image was shown to the checker"
        time.sleep(0.05)
    process.kill()
    process.wait()
    until = time.monotonic() + 120
    running = started.read_text().split()
    while running and time.monotonic() < until:
        running = [number for number in running if Path(f"/proc/{number}/exe").exists()]
        time.sleep(0.05)
    assert not running


def test_violation_of_a_users_design_is_reproduced_by_its_path(
    queue_trace: Path, tmp_path: Path
) -> None:
    design = tmp_path / "my design.yaml"
    design.write_text(
        "name: mine\nsummary: commits too early\nparameters:\n"
        "  atomicity: {value: hw-undo, source: mine}\n"
        "  pmemsim.faults: {value: log.commit, source: mine}\n"
    )
    done = pmemsim("crash", queue_trace, "--design", design)
    assert done.returncode == 1, done.stderr
    assert "mine does not recover queue" in seen_again(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["queue"], "name a design with --design, or choose --all-designs"),
        (["--design", "asap"], "TARGET is missing; name a workload"),
        (["queue", "--design", "np"], "has no durability guarantees"),
        (["queue", "--design", "asapp"], "did you mean 'asap'"),
        (["queue", "--design", "asap", "--all-designs"], "give one of them"),
        (["queue", "--design", "asap", "--points", "0"], "--points 0: must be 1 to"),
        (["queue", "--design", "asap", "--at", "5"], "a number with a unit of time"),
        (
            ["queue", "--design", "asap", "--at", "1ps"],
            "no data are persistent or guaranteed at that time",
        ),
        (["queue", "--design", "asap", "--subsets", "-1"], "--subsets -1: must be 0 to 100000"),
        (["queue", "--design", "asap", "--subsets", "1000000"], "--subsets 1000000: must be 0 to"),
        (
            ["queue", "--design", "asap", "--points", "few"],
            "--points few: must be `all` or a whole number",
        ),
        (["queue", "--design", "asap", "--points", str(2**64)], "must be `all` or 1 to"),
        (["queue", "--design", "asap", "--at", "99999999s"], "after the end of any simulation"),
        (
            ["queue", "--design", "asap", "--verify-images", "-1"],
            "--verify-images -1: must be at least 0",
        ),
        (
            ["queue", "--design", "asap", "--verify-timeout", "0"],
            "--verify-timeout 0: must be greater",
        ),
        (["queue", "--design", "asap", "--verify", "/no/such"], "no such program"),
        (
            ["queue", "--design", "asap", "--verify", "true", "--verify-images", "0"],
            "--verify-images 0: leave out --verify true; no image would be checked",
        ),
        (["queue", "--design", "asap", "--verify", "'"], "quote the command as in a shell"),
        (["queue", "--design", "asap", "--set", "run.lock_order=simulated"], "can't be checked"),
        (["queue", "queue", "--design", "asap"], "target 'queue' is given twice"),
        (
            ["queue", "--design", "asap", "--random", "5"],
            "--random 5: leave out TARGET; --random generates its",
        ),
        (["--design", "asap", "--random", "0"], "--random 0: must be 1 to"),
        (["--design", "asap", "--random", "100001"], "--random 100001: must be 1 to 100000"),
        (["--design", "asap", "--random", "2", "--seed", str(2**64 - 1)], "must be 0 to"),
        (
            ["queue", "--design", "asap,lad", "--keep-image", "kept"],
            "--keep-image: this option requires a single target and a single design",
        ),
        (["queue", "--design", "asap", "--keep-image", "/no/such"], "/no does not exist"),
    ],
)
def test_crash_refuses_impossible_options(arguments: list[str], sentence: str) -> None:
    done = pmemsim("crash", *arguments, *TINY)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seed", "-1"], "--seed -1: must be 0 to"),
        (["--set", "core.count=1"], "--set: "),  # where it was set
    ],
)
def test_crash_refuses_impossible_options_of_a_recording(
    queue_trace: Path, arguments: list[str], sentence: str
) -> None:
    done = pmemsim("crash", queue_trace, "--design", "asap", *arguments)
    assert done.returncode == 2, done.stderr
    assert f"pmemsim: {sentence}" in done.stderr


# Stores to PM, or to the stack, and perhaps flushes.
WITHOUT_REGIONS = """
#include <pmemsim/pm.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int where = atoi(argv[1]);
  pm_pool *pool = where > 0 ? pm_open("words.pool", 1 << 23, 0) : NULL;
  unsigned long stack[8];
  volatile unsigned long *words = where > 0 ? pm_root(pool, 64) : (void *)stack;
  (void)argc;
  pm_roi_begin();
  for (int i = 0; i < 8; i++) {
    words[0] = words[0] + 1;
    if (where < 2) continue;
    __builtin_ia32_clflush((void *)words);
    __builtin_ia32_sfence();
  }
  pm_roi_end();
  return 0;
}
"""


@pytest.fixture(scope="module")
def without_regions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("without_regions")
    source = folder / "words.c"
    source.write_text(WITHOUT_REGIONS)
    program = source.with_suffix("")
    compiler = Path(sys.executable).with_name("pmemsim-cc")
    subprocess.run([compiler, "-O2", source, "-o", program], check=True)
    traces = {}
    for number, what in enumerate(("volatile", "unflushed", "persisted")):
        traces[what] = folder / f"{what}.pmt"
        done = pmemsim("record", "-o", traces[what], "--", program, str(number), cwd=folder)
        assert done.returncode == 0, done.stderr
    return traces


@pytest.mark.parametrize(
    ("what", "design", "sentence"),
    [
        (
            "volatile",
            "x86-bare",
            "the recording has no persistent memory, so there is no image to check",
        ),
        ("volatile", "asap", "has no persistent memory"),
        ("unflushed", "x86-bare", "no data became persistent and no guarantee covered any"),
        ("persisted", "sw-undo", "has no atomic regions, and without them atomicity=software-undo"),
        ("persisted", "x86-bare,asap", "(as in x86-bare) to check the"),
    ],
)
def test_crash_without_a_checked_image_is_no_success(
    without_regions: dict[str, Path], tmp_path: Path, what: str, design: str, sentence: str
) -> None:
    output = tmp_path / "crash.json"
    done = pmemsim("crash", without_regions[what], "-d", design, "--json", output)
    assert done.returncode == 2, done.stdout
    assert f"{without_regions[what]}: " in done.stderr
    assert sentence in done.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    "options",
    [["-d", "x86-bare"], ["-d", "sw-undo", "--verify", "true"], ["-d", "eadr"], ["-d", "hops"]],
)
def test_crash_checks_a_recording_without_regions(
    without_regions: dict[str, Path], options: list[str]
) -> None:
    done = pmemsim("crash", without_regions["persisted"], *options)
    assert done.returncode == 0, done.stderr


def test_crash_with_a_user_checker_of_no_image_is_no_success(
    without_regions: dict[str, Path],
) -> None:
    done = pmemsim("crash", without_regions["unflushed"], "-d", "sw-undo", "--verify", "true")
    assert done.returncode == 2
    assert "no image was checked" in done.stderr
