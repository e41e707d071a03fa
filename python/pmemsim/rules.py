"""Rules for options that need or exclude each other.

One table is the source of the checks of commands and of Python functions, and of
docs/reference/commands.md.

A term of a rule is an option (`--budget`), an option with one value (`--model guarantees`), or a
positional argument by its name in the help (`TARGET`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pmemsim.errors import Problems


class Given:
    """The values of a command line, by the names of options and arguments."""

    def __init__(self, command: str, values: Mapping[str, object]) -> None:
        self.command = command
        self.values = values

    def has(self, term: str) -> bool:
        """Return whether the term is on the command line."""
        name, _, value = term.partition(" ")
        return name in self.values and value in ("", str(self.values[name]))

    def those(self, *terms: str) -> list[str]:
        """Return the terms that are on the command line, with their values."""
        return [self._shown(term.partition(" ")[0]) for term in terms if self.has(term)]

    def _shown(self, name: str) -> str:
        value = self.values[name]
        if value is True or not name.startswith("-"):
            return name
        return f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}"

    def problems(self, *more: str) -> Problems:
        """Return the problems that the command's rules find; `more` terms count as given, too."""
        whole = Given(self.command, {**self.values, **dict.fromkeys(more, True)})
        found = Problems()
        for rule in RULES.get(self.command, ()):
            found.add(rule.problems(whole))
        return found


@dataclass(frozen=True)
class Rule:
    """A rule: beside `when` (empty: always), `least` to `most` of the terms must be given."""

    when: str
    terms: tuple[str, ...]
    least: int
    most: int
    why: str
    """The reason of the rule, or its cure; the error message contains it."""

    @property
    def sentence(self) -> str:
        """Return the rule in words."""
        *first, last = [f"`{term}`" for term in self.terms]
        word = "or" if self.least else "and"
        terms = f"{', '.join(first)} {word} {last}" if first else last
        beside = f"`{self.when}` " if self.when else ""
        if self.least:
            return f"{beside}needs {terms}"
        if not self.most:
            return f"{beside}excludes {terms}"
        return f"{f'with {beside}' if beside else ''}at most one of {terms}"

    def problems(self, given: Given) -> list[str]:
        """Return the problems of a command line."""
        if self.when and not given.has(self.when):
            return []
        beside = given.those(self.when)[0] + ": " if self.when else ""
        found = given.those(*self.terms)
        why = f"; {self.why}" if self.why else ""
        if len(found) < self.least:
            return [f"{beside}needs {' or '.join(self.terms)}{why}" if beside else self.why]
        if len(found) <= self.most:
            return []
        if self.most:
            return [f"{beside}{' and '.join(found)}: give one of them{why}"]
        return [f"{beside}leave out {', '.join(found)}{why}"]


_ANY_NUMBER = 99


def one_of(*terms: str, else_: str) -> Rule:
    """Make a rule: one of the terms must be given; `else_` is the error's request for it."""
    return Rule("", terms, 1, _ANY_NUMBER, else_)


def exclusive(*terms: str, when: str = "", why: str = "") -> Rule:
    """Make a rule: the terms exclude each other."""
    return Rule(when, terms, 0, 1, why)


def needs(term: str, *others: str, why: str = "") -> Rule:
    """Make a rule: the term needs at least one of the others."""
    return Rule(term, others, 1, _ANY_NUMBER, why)


def excludes(term: str, *others: str, why: str = "") -> Rule:
    """Make a rule: the term excludes each of the others."""
    return Rule(term, others, 0, 0, why)


_EXECUTION = (
    exclusive("--scheduler", "--jobs", why="a cluster has its own workers"),
    exclusive("--scheduler", "--slurm", "--share"),
    needs("--tasks", "--slurm"),
    needs("--at-once", "--slurm"),
)
_TARGETS = "TARGET is missing; name a workload or a trace (.pmt)"
_CHECKERS = ("--verify", "--verify-library")
_METHODS = (*_CHECKERS, "--answers")
_OWN_PROGRAM = ("--pm-path", "--pm-range", "--pm-hint", "--pm-heap", "--process", "--hold")
_OF_WORKLOADS = (
    "--threads", "--regions", "--data-bytes", "--opt", "--items", "--mix", "--duplicate-ratio",
    "--warm-up", "--compute-instructions", "--log", "--hints", "--whole-run",
)  # fmt: skip

RULES: dict[str, tuple[Rule, ...]] = {
    "record": (
        one_of(
            "PROGRAM", "WORKLOAD", "--all",
            else_="nothing to record; name a workload, give --all, or give your own program after "
                "--, as in 'pmemsim record -o mine.pmt -- ./mine'",
        ),
        needs("--all", "--out-dir", why="the folder to which the traces are written"),
        needs("--out-dir", "--all", why="name a single trace with -o NAME.pmt"),
        excludes(
            "--all", "PROGRAM", "WORKLOAD", "--name", "--output", "--log", "--whole-run",
            why="it records every workload into --out-dir",
        ),
        excludes(
            "PROGRAM", *_OF_WORKLOADS,
            why="these options apply only to pmemsim's workloads; write your program's own "
                "arguments after it",
        ),
        needs(
            "--seed", "WORKLOAD", "--all", "--schedule", "--schedules",
            why="your own program has a seed only with schedules",
        ),
        *(needs(each, "PROGRAM", why="it is for a program of your own") for each in _OWN_PROGRAM),
        exclusive("--schedule", "--schedules"),
        excludes(
            "--json -", "PROGRAM",
            why="the program itself can write to standard output; name a file",
        ),
        exclusive("--hold", "--schedules", why="an operation's number is that of one schedule"),
    ),
    "check": (
        exclusive(*_CHECKERS),
        needs("--design", "--model guarantees"),
        needs("--model guarantees", "--design", why="name the designs whose guarantees hold"),
        needs("--model guarantees", *_CHECKERS, why="rules without a checker support only px86 "
            "and eadr"),
        excludes("--model guarantees", "--answers", "--recovery-image", "--delayed",
                 why="choose px86 or eadr"),
        needs("--hosts", "--fail", why="name the host that fails"),
        needs("--fail", "--hosts", why="give the number of hosts that share persistent memory"),
        *(excludes("--hosts", other, why="hosts that share memory are modelled under px86 alone")
          for other in ("--model guarantees", "--model eadr")),
        needs("--operation", "--answers"),
        *(needs(each, *_METHODS) for each in ("--budget", "--image", "--verify-timeout", "--jobs")),
        *(needs(each, *_CHECKERS) for each in ("--keep-image", "--without-each", "--delayed",
                                             "--hosts")),
        exclusive(*_METHODS, when="--image", why="each of them numbers its images separately"),
        needs("--recovery-image", "--image", why="name the image from which recovery starts"),
        needs("--recovery-image", "--verify", why="only the recovery of a program can be recorded"),
        exclusive("--image", "--without-each"),
    ),
    "crash": (
        one_of("TARGET", "--workloads", "--random", else_=f"{_TARGETS}, or choose --random"),
        excludes(
            "--random", "TARGET", "--workloads", "--save-image", "--keep-image",
            why="--random generates its own programs",
        ),
        one_of(
            "--design", "--all-designs",
            else_="name a design with --design, or choose --all-designs",
        ),
        exclusive("--design", "--all-designs"),
        exclusive(*_CHECKERS),
        excludes("--verify-images 0", *_CHECKERS, why="no image would be checked"),
        exclusive("--at", "--points"),
        needs("--save-image", "--at"),
        excludes("--stress", "--save-image", "--keep-image"),
    ),
    "profile": (needs("--format", "--output", why="the file to write"),),
    "selftest": (
        needs("--seed", "--random"),
        excludes(
            "--random", "--design", "--machine",
            why="random configurations generate their own designs",
        ),
    ),
    "calibrate": (
        one_of(
            "--output", "--from", "--export-tool",
            else_="nothing to write; name the preset's file with --output (-o), as in "
                "'pmemsim calibrate -o mine.yaml'",
        ),
        needs("--measure-only", "--output", why="the file of measurements"),
        excludes("--measure-only", "--from", "--json", why="nothing is fitted"),
        excludes("--export-tool", "--output", "--from", "--measure-only", "--dax", "--json",
                 why="nothing is measured here"),
        excludes("--from", "--dax", why="nothing is measured"),
    ),
    "matrix": (one_of("TARGET", "--workloads", else_=_TARGETS), *_EXECUTION),
    "sweep": (
        *_EXECUTION,
        needs("--plot-file", "--plot", why="the axes of the plot"),
    ),
    "reproduce": (
        one_of(
            "PAPER", "--all", "--summary",
            else_="PAPER is missing; name a paper, or choose --all",
        ),
        exclusive("PAPER", "--all"),
        *_EXECUTION,
    ),
}  # fmt: skip
"""The rules of each command, by its name."""
