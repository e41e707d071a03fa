"""Build, run and record programs of others, and see what they do to persistent memory.

    .venv/bin/python benchmarks/others.py SOURCE... [--json FILE]

SOURCE is a source tree of PMDK, RECIPE, FAST_FAIR or CCEH, known by its files and left as it is: a
copy is built by a plain clang, another by pmemsim-cc, as docs/others.md says. Each program runs
natively, is recorded, and simulated on machine asap. Prints a table; ends with status 1 if a
program doesn't build or prints something else when it is recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from native_builds import BUILD, need
from pmemsim.errors import Error
from pmemsim.recording import record
from pmemsim.toolchain import compiler
from recipes import SOURCES, Program, Source, recipe_of

import pmemsim
from pmemsim.trace import KINDS, Trace

DESIGNS = ("np", "eadr", "x86-bare")
EXTERNAL = KINDS.index("external")
# What `pmemsim record` calls what a program does to persistent memory.
COUNTS = ("pm_stores", "pm_lines", "flushes", "fences")
LEAST = 0.001  # of the instructions: a function that is named


@dataclass
class Findings:
    """What is found out about a program; its fields stand in the file of --json, too."""

    source: str
    commit: str
    program: str
    builds: bool = False
    same_output: bool = False
    """Prints the same natively and while it is recorded, and ends well."""
    slowdown: float = 0.0
    """Processor time while it is recorded, in units of that of a native run."""
    counts: dict[str, int] = field(default_factory=dict)
    flushes_elsewhere: int = 0
    """Of lines that aren't persistent memory."""
    not_instrumented: float = 0.0
    """Share of the instructions."""
    functions: dict[str, float] = field(default_factory=dict)
    """The largest parts of that share, and what is called there."""
    time_ms: dict[str, float] = field(default_factory=dict)
    """Simulated time, by design."""


def commit_of(tree: Path) -> str:
    """The tree's commit, if it is kept in git."""
    command = ["git", "-C", str(tree), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def missing_packages(source: Source) -> list[str]:
    """Debian's packages of the libraries that can't be linked."""

    def links(library: str) -> bool:
        command = ["clang++-19", "-x", "c++", "-", f"-l{library}", "-o", os.devnull]
        done = subprocess.run(
            command, input="int main() {}", text=True, capture_output=True, check=False
        )
        return done.returncode == 0

    return [package for library, package in source.libraries.items() if not links(library)]


def shell(lines: Iterable[str], folder: Path, environment: dict[str, str], log: Path) -> bool:
    """Run lines of bash in a folder; returns whether all went well."""
    with log.open("w") as output:
        command = ["bash", "-ec", "\n".join(lines)]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return done.returncode == 0


def processor_time(work: Callable[[], object]) -> float:
    """Seconds that programs take which the work starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def without_times(output: str, times: str) -> str:
    """What a program printed, but for what no two runs have in common."""
    return re.sub(times, "...", output)


def called_at(source_line: str, symbols: set[str]) -> str | None:
    """The function of a library that is called in a line of source, if one is."""
    names = re.findall(r"(\w+)\s*\(", source_line)
    for name in names:
        mangled = f"{len(name)}{name}"
        if name in symbols or any(mangled in symbol for symbol in symbols):
            return str(name)
    operator = re.search(r"\b(new|delete)\b", source_line)
    return operator[0] if operator else None


def dynamic_symbols(program: Path) -> set[str]:
    """What the program shares with libraries: what it calls there, and what it gives them."""
    done = subprocess.run(["nm", "-D", str(program)], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def outside_calls(trace: Trace) -> Counter[int]:
    """Instructions that aren't instrumented, by the site of the call: the record before them."""
    calls: Counter[int] = Counter()
    for thread in range(trace.threads):
        last = 0
        for operations in trace.operations(thread):
            sites = np.concatenate(([last], operations.records["site"]))
            outside = np.flatnonzero(operations.records["kind"] == EXTERNAL)
            for index in outside:
                calls[int(sites[index])] += int(operations.records["instructions"][index])
            last = int(sites[-1])
    return calls


def source_line(tree: Path, file: str, number: int) -> str:
    """A line of a source file that is named as the compiler was given it; empty if not found."""
    tail = [part for part in Path(file).parts if part not in ("..", ".")]
    if not tail:
        return ""
    for path in (tree / file, *tree.rglob(tail[-1])):  # `tree / file` is `file` if that is absolute
        if path.is_file() and list(path.parts[-len(tail) :]) == tail:
            lines = path.read_text(errors="replace").splitlines()
            return lines[number - 1] if 0 < number <= len(lines) else ""
    return ""


def caller_of(function: str) -> str:
    """A function in short, without template arguments and parameters, as the one that calls."""
    while (shorter := re.sub(r"<[^<>]*>", "", function)) != function:
        function = shorter
    return f"in {function.partition('(')[0]}" if function else "elsewhere"


def outside_functions(trace: Trace, tree: Path, program: Program) -> dict[str, int]:
    """Instructions that aren't instrumented, by what is called, else by what calls."""
    symbols = dynamic_symbols(tree / program.binary)
    sites = trace.sites
    functions: Counter[str] = Counter()
    for site, instructions in outside_calls(trace).items():
        place = sites.loc[site]
        line = source_line(tree, str(place["file"]), int(str(place["line"])))
        called = called_at(line, symbols)
        functions[called or caller_of(str(place["function"]))] += instructions
    return dict(functions.most_common())


def build(source: Source, program: Program, copy: Path, compilers: dict[str, str]) -> bool:
    """Build a program in a copy of its tree; what is said there is kept beside the copy."""
    log = copy.with_name(f"{program.name}.{copy.name}.log")
    # The copy lies in a repository of which it is no part, and whose version isn't its own.
    environment = {**compilers, "GIT_CEILING_DIRECTORIES": str(copy.parent)}
    if shell((*source.prepare, *program.build), copy, environment, log):
        return True
    print(f"{program.name}: doesn't build by {compilers['CC']}; see {log}", file=sys.stderr)
    return False


def run(program: Program, folder: Path, found: Findings) -> Trace:
    """Run a program natively, and record it."""
    native, recorded = folder / "native", folder / "recorded"

    def output(copy: Path) -> Path:
        return folder / f"{program.name}.{copy.name}.out"

    def line(copy: Path) -> str:
        return f"cd '{copy}' && {program.command} > '{output(copy)}'"

    natively = processor_time(lambda: subprocess.run(["bash", "-c", line(native)], check=True))
    trace = folder / f"{program.name}.pmt"
    while_recorded = processor_time(
        lambda: record(
            ["bash", "-c", line(recorded)],
            trace,
            name=program.name,
            pm_paths=[recorded / program.pools] if program.pools else [],
            pm_heap=program.pools is None,
        )
    )
    found.slowdown = while_recorded / natively
    printed = {
        without_times(output(copy).read_text(), program.times) for copy in (native, recorded)
    }
    found.same_output = len(printed) == 1
    return Trace(trace)


def examine(program: Program, trace: Trace, tree: Path, found: Findings) -> None:
    """Count what was recorded, and simulate it."""
    total = trace.summary()["total"]
    found.counts = {name: total[name] for name in COUNTS}
    elsewhere = trace.metadata.get("flushes_outside_pm", [])
    found.flushes_elsewhere = sum(memory["flushes"] for memory in elsewhere)
    instructions = total["instructions"] + total["external_instructions"]
    found.not_instrumented = total["external_instructions"] / instructions
    functions = outside_functions(trace, tree, program)
    found.functions = {name: count / instructions for name, count in functions.items()}
    for design in DESIGNS:
        result = pmemsim.run(trace, design=design, machine="asap")
        found.time_ms[design] = result.time_ns / 1e6


def measure(tree: Path, source: Source) -> Iterator[Findings]:
    """Find out about the programs of a tree."""
    folder = BUILD / "others" / source.name
    shutil.rmtree(folder, ignore_errors=True)
    copies = {
        folder / "native": {"CC": "clang-19", "CXX": "clang++-19"},
        folder / "recorded": {
            "CC": str(compiler("pmemsim-cc")), "CXX": str(compiler("pmemsim-c++")),
        },
    }  # fmt: skip
    for copy in copies:
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for program in source.programs:
        found = Findings(source.name, commit_of(tree), program.name)
        built = [build(source, program, copy, compilers) for copy, compilers in copies.items()]
        found.builds = all(built)
        if found.builds:
            try:
                trace = run(program, folder, found)
                examine(program, trace, folder / "recorded", found)
            except (Error, subprocess.CalledProcessError) as error:
                print(f"{program.name}: {error}", file=sys.stderr)
        yield found


def row(found: Findings) -> str:
    """A line of the table."""
    if not found.counts:
        return f"{found.program:19} {'yes' if found.builds else 'no':>6}"
    counts = " ".join(f"{found.counts[name]:10,}" for name in COUNTS)
    times = " ".join(f"{found.time_ms[design]:9.2f}" for design in DESIGNS)
    output = "same" if found.same_output else "other"
    return (
        f"{found.program:19} {'yes':>6} {output:>6} {found.slowdown:7.1f}x {counts}"
        f" {found.flushes_elsewhere:9,} {found.not_instrumented:7.1%} {times}"
    )


def heading() -> str:
    """The table's heading."""
    counts = " ".join(f"{name.replace('_', ' '):>10}" for name in COUNTS)
    times = " ".join(f"{design + ' ms':>9}" for design in DESIGNS)
    return (
        f"{'program':19} {'builds':>6} {'prints':>6} {'slower':>8} {counts}"
        f" {'elsewhere':>9} {'outside':>7} {times}"
    )


def arguments_of(command_line: list[str] | None) -> tuple[dict[Path, Source], Path | None]:
    """The trees with their recipes, and the file of --json; what can't be run ends the script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", type=Path, metavar="SOURCE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    arguments = parser.parse_args(command_line)
    trees: dict[Path, Source] = {}
    for tree in arguments.sources:
        source = recipe_of(tree)
        if source is None:
            known = ", ".join(source.name for source in SOURCES)
            parser.exit(2, f"{tree}: is no source tree of {known}; give the folder of a clone\n")
        if packages := missing_packages(source):
            parser.exit(
                2,
                f"{source.name} needs libraries that are missing; install them "
                f"(Debian and Ubuntu: apt-get install {' '.join(packages)})\n",
            )
        trees[tree] = source
    return trees, arguments.json


def main(command_line: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    trees, file = arguments_of(command_line)
    for tool, package in (
        ("clang-19", "clang-19"), ("make", "make"), ("cmake", "cmake"),
        ("pkg-config", "pkg-config"), ("nm", "binutils"),
    ):  # fmt: skip
        need(tool, package)
    print(heading())
    results = []
    for tree, source in trees.items():
        for found in measure(tree, source):
            results.append(found)
            print(row(found), flush=True)
    print("\nNot instrumented, in percent of the instructions:")
    for found in results:
        parts = [f"{name} {share:.1%}" for name, share in found.functions.items() if share >= LEAST]
        print(f"{found.program:19} {', '.join(parts)}")
    if file is not None:
        file.write_text(json.dumps([asdict(found) for found in results], indent=2) + "\n")
    return 0 if all(found.builds and found.same_output for found in results) else 1


if __name__ == "__main__":
    sys.exit(main())
