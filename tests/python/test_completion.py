"""`pmemsim completion`: what shells complete by its file, driven in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pmemsim.presets import preset_names
from pmemsim.workload_runs import workloads
from support import long_except, pmemsim

# Prints bash's offers for a line, one word a line.
BASH = """
COMP_LINE=$1 COMP_POINT=${#1}
source "$0"
_pmemsim
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file for bash."""
    path = tmp_path_factory.mktemp("completion") / "pmemsim"
    done = pmemsim("completion", "bash")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


def completed(file: Path, line: str, cwd: Path | None = None) -> list[str]:
    """Return bash's offers; only bash is in PATH, so that no Python can start."""
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "--noprofile", "--norc", "-c", BASH, file, line],
        env={"PATH": "/nonexistent"}, cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.quick
def test_commands_and_options_complete(file: Path) -> None:
    assert {"run", "check", "crash", "show"} <= set(completed(file, "pmemsim "))
    assert completed(file, "pmemsim che") == ["check"]
    assert set(completed(file, "pmemsim show ")) >= {"design", "machine", "statistic"}
    assert set(completed(file, "pmemsim trace dump --th")) == {"--thread"}
    offered = completed(file, "pmemsim check x.pmt --verify")
    assert set(offered) == {"--verify", "--verify-library", "--verify-timeout"}
    # Options of the second page of help, too.
    assert completed(file, "pmemsim crash --save") == ["--save-image"]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pmemsim run queue --design hw-u", ["hw-undo"]),
        ("pmemsim run queue -d hw-u", ["hw-undo"]),
        ("pmemsim run queue -d hw-undo@verified-j", ["verified-janus"]),
        ("pmemsim compare queue --designs np,hw-u", ["np,hw-undo"]),
        ("pmemsim crash queue --backends verified-j", ["verified-janus"]),
        ("pmemsim run queue -d np -m pmw", ["pmweaver"]),
        ("pmemsim run queue -d np -m asap --set core.rob", ["core.rob_entries="]),
        ("pmemsim run q -d np -s pmemsim.faults=log.comm", ["log.commit"]),
        ("pmemsim run q -d np -s pmemsim.faults=eadr.caches,log.comm", ["eadr.caches,log.commit"]),
        ("pmemsim run q -d np -s core.clwb_evicts=t", ["true"]),
        ("pmemsim run q -d np --set run.lock_order=s", ["simulated"]),
        ("pmemsim run q -d np --set backend=encryption,int", ["encryption,integrity"]),
        ("pmemsim run q -d np --stats core.loads,stall.fe", ["core.loads,stall.fence_ns"]),
        ("pmemsim compare q -d np -m asap,xeon-o", ["asap,xeon-optane"]),
        ("pmemsim advise hashmap_l", ["hashmap_lowlevel"]),
        ("pmemsim advise q --design hw-u", ["hw-undo"]),
        ("pmemsim profile q --diff hw-u", ["hw-undo"]),
        ("pmemsim profile q --format c", ["callgrind"]),
        ("pmemsim timeline q --format k", ["kanata"]),
        ("pmemsim timeline q -d np -m pmw", ["pmweaver"]),
        ("pmemsim check q --model g", ["guarantees"]),
        ("pmemsim record queue --log r", ["redo"]),
        ("pmemsim record queue --mix insert-u", ["insert-update"]),
        ("pmemsim run queue --lock-order s", ["simulated"]),
        ("pmemsim reproduce asap --scale p", ["paper"]),
        ("pmemsim reproduce lal", ["lalea"]),
        ("pmemsim show design hw-u", ["hw-undo"]),
        ("pmemsim show machine pmw", ["pmweaver"]),
        ("pmemsim show statistic pm.writes_mer", ["pm.writes_merged"]),
        ("pmemsim completion z", ["zsh"]),
        ("pmemsim run hashmap_l", ["hashmap_lowlevel"]),
        ("pmemsim run exa", ["example:hashmap", "example:queue"]),
        ("pmemsim run example:q", ["queue"]),  # the shell takes `example:` for another word
        ("pmemsim run --plot x.png hashmap_l", ["hashmap_lowlevel"]),  # behind an option's value
        ("pmemsim crash --stress hashmap_l", ["hashmap_lowlevel"]),  # behind a flag
        ("pmemsim crash --workloads queue,hashmap_l", ["queue,hashmap_lowlevel"]),
    ],
)
def test_values_complete(file: Path, line: str, offered: list[str]) -> None:
    assert completed(file, line) == offered


def test_completion_file_has_all_names(file: Path) -> None:
    assert completed(file, "pmemsim run x -d ") == preset_names("design")
    assert completed(file, "pmemsim run x -m ") == preset_names("machine")
    assert completed(file, "pmemsim crash x --backends ") == ["none", *preset_names("backend")]
    assert set(completed(file, "pmemsim run ")) >= set(workloads())


def test_traces_complete_as_targets(file: Path, tmp_path: Path) -> None:
    for name in ("mine.pmt", "mine.yaml"):
        (tmp_path / name).touch()
    assert completed(file, "pmemsim run mi", tmp_path) == ["mine.pmt"]
    assert completed(file, "pmemsim trace info mi", tmp_path) == ["mine.pmt"]


ZSH_LINES = [
    ("pmemsim che", "pmemsim check "),
    ("pmemsim run queue --design hw-u", "pmemsim run queue --design hw-undo "),
    ("pmemsim compare queue -d np,hw-u", "pmemsim compare queue -d np,hw-undo"),
    ("pmemsim run q -d np --set core.rob", "pmemsim run q -d np --set core.rob_entries="),
    ("pmemsim run q --set run.lock_order=s", "pmemsim run q --set run.lock_order=simulated "),
    ("pmemsim show machine pmw", "pmemsim show machine pmweaver "),
    ("pmemsim check q --model g", "pmemsim check q --model guarantees "),
    ("pmemsim run example:q", "pmemsim run example:queue "),
]


@pytest.mark.parametrize(("line", "words"), long_except(ZSH_LINES, *ZSH_LINES[2:5]))
def test_zsh_completes_by_its_file(tmp_path: Path, line: str, words: str) -> None:
    done = pmemsim("completion", "zsh")
    assert done.returncode == 0, done.stderr
    (tmp_path / "_pmemsim").write_text(done.stdout)
    script = tmp_path / "drive.zsh"
    script.write_text(ZSH)
    zsh = subprocess.run(
        ["zsh", "-f", script, tmp_path, line],
        env={**os.environ, "TERM": "dumb"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert zsh.stdout.splitlines()[-1] == words, zsh.stdout + zsh.stderr


# Types a line and the tabulator into a zsh of its own, and prints the line that this leaves.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -D -u"
zpty -w shell 'pmemsim() { print -r -- "<<$*>>" }; show() { print -r -- "LINE[$BUFFER]"; }'
zpty -w shell 'zle -N show; bindkey "^X" show; print ready'
zpty -r shell out '*ready*ready*'
zpty -n -w shell "$2"$'\t'$'\x18'
zpty -r shell out '*LINE\[*\]*'
print -r -- "${${out##*LINE\[}%%\]*}"
zpty -d shell
"""


def test_completion_for_an_unknown_shell_is_refused() -> None:
    done = pmemsim("completion", "fish")
    assert done.returncode == 2
    assert "fish: completion does not support this shell; known names: bash, zsh" in done.stderr
