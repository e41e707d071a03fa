"""Every command: its page of help, its rules of options, and the old spellings of both."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pmemsim.cli.app import app
from pmemsim.cli.help import is_option, name_of
from pmemsim.cli.old_spellings import EXAMPLES, current_spelling
from pmemsim.rules import RULES, Rule
from support import ROOT, pmemsim

MOST_OPTIONS = 20
"""On the first page of a command's help, --help among them."""

Command = Any  # Typer's own, of no public type


def commands(command: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Command]]:
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(path), command
    for name, each in below.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def options_on(page: str) -> set[str]:
    """Return the long option names at the beginnings of a page's lines."""
    rows = re.findall(r"^  (?:-\w, |    )?(--\S+(?:, --\S+)*)", page, re.M)
    return {row.partition(",")[0] for row in rows}


# ---- Help ----------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_at_most_20_options_and_help_all_shows_each(command: str) -> None:
    page = pmemsim(*command.split(), "--help").stdout
    everything = pmemsim(*command.split(), "--help-all").stdout
    declared = {
        name_of(each) for each in COMMANDS[command].params
        if is_option(each) and each.name != "help_all"
    }  # fmt: skip
    assert options_on(page) <= options_on(everything) | {"--help-all"}
    chooses = {each.name for each in COMMANDS[command].params} & {"design", "designs"}
    plugin = {"--plugin"} if chooses else set()
    assert options_on(page) & {"--plugin"} == plugin
    assert options_on(everything) - {"--help"} == declared | plugin
    assert len(options_on(page)) <= MOST_OPTIONS
    assert ("--help-all" in options_on(page)) == (not declared <= options_on(page))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_values_and_defaults_without_noise(command: str) -> None:
    page = pmemsim(*command.split(), "--help-all").stdout
    assert f"Usage: pmemsim {command}" in page
    assert not re.search(r"<\w+>|<list|\(\(|\[default", page), page
    assert max(map(len, page.splitlines())) <= 100
    for each in COMMANDS[command].params:
        assert each.metavar or each.is_flag, name_of(each)
        assert each.help.endswith("."), name_of(each)
        assert not is_option(each) or each.name == "help_all" or each.rich_help_panel


def test_help_of_groups_lists_their_commands_by_headings() -> None:
    page = pmemsim("--help").stdout
    headings = [line for line in page.splitlines() if re.fullmatch(r"[A-Z][a-z ]+", line)]
    assert headings == [
        "Look", "Record", "Simulate", "Check a program", "Test a design", "Add a design", "Set up",
        "Help",
    ]  # fmt: skip
    for command in COMMANDS:
        assert re.search(rf"^  {command.split()[0]} ", page, re.M), command
    assert "  predictability" in pmemsim("analyze", "--help").stdout


def test_help_page_of_all_commands_has_the_first_paragraph_of_each_command() -> None:
    root: Command = typer.main.get_command(app)
    for _, name, summary in root.summaries():
        first = root.commands[name].help.split("\n\n")[0]
        assert summary == " ".join(first.split()), name


def test_help_shows_what_most_workloads_take_by_default() -> None:
    page = " ".join(pmemsim("record", "--help-all").stdout.split())
    assert "--threads N Number of threads of a workload. Default: 4." in page
    assert "Default: 10000; 2500 for echo, tpcc, tpcc_lowlevel, streaming; 400 for" in page
    assert re.search(r"--opt LEVEL .* Default: O2\.", page)


# ---- Rules ---------------------------------------------------------------------------------------

SAMPLES = {
    "SECONDS": "1", "TIME": "1us", "N|all": "1", "N|TIME|all": "1", "SHARE": "0.5", "LO:HI": "1:2",
    "K/N": "0/1", "ADDRESS": "1000", "undo|redo": "redo", "px86|eadr|guarantees": "px86",
    "DESIGN,...": "asap", "MACHINE": "asap", "LEVEL": "O2", "DIR": ".",
}  # fmt: skip
"""Values that the parsers of options take, by what the help calls them."""


def words_of(command: str, terms: list[str]) -> list[str]:
    """Return a command line that has these terms of rules and nothing else."""
    options, last = [], []
    for term in terms:
        name, _, value = term.partition(" ")
        if name == "PROGRAM":
            last = ["--", "./no-such-program", "argument"]
        elif not name.startswith("--"):
            last = ["queue"]
        else:
            (each,) = [each for each in COMMANDS[command].params if name in each.opts]
            sample = [] if each.is_flag else [value or SAMPLES.get(each.metavar, "1")]
            options += [name, *sample]
    needed = {
        "sweep": ["no.yaml"],
        "check": ["queue"],
        "matrix": ["--machine", "asap"],
        "profile": ["queue", "--design", "np", "--machine", "asap"],
    }
    return [command, *options, *needed.get(command, []), *last]


def broken(rule: Rule) -> Iterator[list[str]]:
    """Yield terms that break a rule, in each possible way."""
    beside = [rule.when] if rule.when else []
    if rule.least:
        yield beside
    elif rule.most:
        for pair in itertools.combinations(rule.terms, 2):
            yield [*beside, *pair]
    else:
        for term in rule.terms:
            yield [*beside, term]


BROKEN = [
    pytest.param(command, rule, terms, id=f"{command} {' '.join(terms)}")
    for command, rules in RULES.items()
    for rule in rules
    for terms in broken(rule)
]


@pytest.mark.parametrize(("command", "rule", "terms"), BROKEN)
def test_a_command_line_that_breaks_a_rule_is_refused(
    tmp_path: Path, command: str, rule: Rule, terms: list[str]
) -> None:
    done = pmemsim(*words_of(command, terms), cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    (line,) = [
        line
        for line in done.stderr.splitlines()
        if line.endswith(rule.why) and all(term.split()[0] in line for term in terms)
        and ("needs" in line or "leave out" in line or "give" in line or "name" in line)
    ][:1]  # fmt: skip
    assert line.startswith("pmemsim: ")
    assert list(tmp_path.iterdir()) == []


def test_rules_name_options_of_their_commands() -> None:
    for command, rules in RULES.items():
        names = {name for each in COMMANDS[command].params for name in each.opts}
        terms = {term.split()[0] for rule in rules for term in (*rule.terms, rule.when) if term}
        assert {term for term in terms if term.startswith("--")} <= names, command


# ---- Old spellings -------------------------------------------------------------------------------


@pytest.mark.parametrize("old", EXAMPLES)
def test_an_old_spelling_is_answered_with_the_new_one(old: str) -> None:
    done = pmemsim(*old.split())
    new = current_spelling(old.split()[0], old.split()[1:])
    assert new
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"pmemsim: {old} is spelled differently now; run: pmemsim {new}\n"
    assert f"| `{old}` | `{new}` |" in (ROOT / "docs/reference/commands.md").read_text()
    names = {name for each in COMMANDS[new.split()[0]].params for name in each.opts}
    assert {word for word in new.split() if word.startswith("-")} <= names


def test_old_values_of_options_that_are_joined_by_equals_signs_are_renamed() -> None:
    assert current_spelling("crash", ["q", "--model=promises", "-d", "asap", "--check=x y"]) == (
        "check q --model=guarantees -d asap '--verify=x y'"
    )
    assert current_spelling("crash", ["q", "-d", "asap", "--verify", "x"]) is None
    assert current_spelling("check", ["q", "--model", "px86"]) is None


@pytest.mark.parametrize("command", ["--help", "crash --help-all", "list designs"])
def test_reader_that_has_gone_ends_a_command_without_a_traceback(command: str) -> None:
    program = Path(sys.executable).with_name("pmemsim")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [program, *command.split()], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert done.stderr == ""
