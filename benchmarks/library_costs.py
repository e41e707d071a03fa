"""Measure how many instructions functions of the C and C++ libraries execute.

    .venv/bin/python benchmarks/library_costs.py

Runs library_costs.cpp under callgrind and counts the instructions outside the program. Writes
frontend/library_costs.inc: for each function a constant and a number of instructions per unit of
its size. They have the least sum of squared relative errors over the measured sizes. Prints the
functions whose fit is off by more than a quarter at a size. The recorder estimates calls by this
table (frontend/library_costs.hpp says how).
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from native_builds import need

SOURCE = Path(__file__).with_suffix(".cpp")
TABLE = SOURCE.parents[1] / "frontend" / "library_costs.inc"
STUB = 1
"""The jump of the procedure linkage table, which the measured program does not have."""
NO_REPEATED_MOVES = (
    "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"
)
"""Long copies use vector instructions, since callgrind counts each byte of a `rep movsb`."""
COPY_BYTES = 16
"""The recorder counts an instruction for each load and store of so many bytes (kCopyBytes)."""
CONVERSIONS_OF_ROW = 8
"""Conversions in the format of a row such as %d, and one character before each."""
EXCEPTION = (
    "__cxa_allocate_exception", "__cxa_begin_catch", "__cxa_end_catch", "__cxa_free_exception",
)  # fmt: skip
"""Functions whose instructions are in the cost of __cxa_throw."""
SHOWN_ERROR = 0.25


@dataclass
class Function:
    """A function, the size that its cost depends on, and instructions a call by size."""

    name: str
    units: str
    argument: int
    cost: list[tuple[int, float]] = field(default_factory=list)

    def fitted(self) -> tuple[float, float]:
        """Return the constant and the instructions per unit; neither is negative."""
        if len({n for n, _ in self.cost}) == 1:
            return statistics.mean(cost for _, cost in self.cost), 0.0
        points = [(1 / max(cost, 1.0) ** 2, size, cost) for size, cost in self.cost]
        total = sum(weight for weight, _, _ in points)
        mean_size = sum(weight * size for weight, size, _ in points) / total
        mean_cost = sum(weight * cost for weight, _, cost in points) / total
        above = sum(w * (size - mean_size) * (cost - mean_cost) for w, size, cost in points)
        below = sum(w * (size - mean_size) ** 2 for w, size, _ in points)
        slope = max(0.0, above / below)
        if (constant := mean_cost - slope * mean_size) >= 0:
            return constant, slope
        through_zero = sum(w * size * cost for w, size, cost in points)
        return 0.0, through_zero / sum(w * size * size for w, size, _ in points)

    def worst_error(self, constant: float, slope: float) -> float:
        """Return the relative error at the worst size."""
        return max(abs((constant + slope * n) / max(c, 1.0) - 1) for n, c in self.cost)


def measured(folder: Path) -> dict[str, Function]:
    """Compile and run the program; return the functions in its order."""
    program = folder / "program"
    clang = need("clang++-19", "clang-19")
    subprocess.run(
        [clang, "-std=c++20", "-O1", "-w", "-fno-builtin", "-D__NO_INLINE__", "-fno-plt",
         "-Wl,-z,now", SOURCE, "-o", program], check=True,
    )  # fmt: skip
    subprocess.run(
        [need("valgrind", "valgrind"), "--tool=callgrind", "--compress-strings=no",
         "--compress-pos=no", f"--callgrind-out-file={folder}/out", program],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "GLIBC_TUNABLES": NO_REPEATED_MOVES},
    )  # fmt: skip
    functions: dict[str, Function] = {}
    for path in sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:])):
        text = path.read_text(errors="replace")
        if not (
            label := re.search(r"Client Request: (.+)\|(\w+)\|(\d+)\|(\d+)\|(\d+)$", text, re.M)
        ):
            continue
        name, units, argument, size, calls = label.groups()
        function = functions.setdefault(name, Function(name, units, int(argument)))
        cost = outside(text, str(program)) / int(calls) + STUB
        function.cost.append((int(size), cost))
    return functions


def outside(profile: str, program: str) -> int:
    """Return the instructions of a profile that are not the program's own."""
    total, inside, lines = 0, False, iter(profile.splitlines())
    for line in lines:
        if line.startswith("ob="):
            inside = line[3:] == program
        elif line.startswith("calls="):
            next(lines)  # the callee's cost, which is counted where the callee is
        elif not inside and (match := re.fullmatch(r"\d+ (\d+)", line)):
            total += int(match[1])
    return total


def without_recorded(function: Function) -> None:
    """Subtract what the recorder counts for a copy beside its estimate."""
    each = {"Copied": 2, "Filled": 1}[function.units]
    function.cost = [(n, cost - each * -(-n // COPY_BYTES)) for n, cost in function.cost]
    function.cost = [(0, max(0.0, statistics.mean(cost for _, cost in function.cost)))]
    function.units = "None"


def conversion(function: Function, empty: tuple[float, float]) -> None:
    """Take one conversion's cost from that of a format with several and one character each."""
    whole = function.cost[0][1] - STUB - empty[0] - empty[1] * CONVERSIONS_OF_ROW
    function.cost = [(0, whole / CONVERSIONS_OF_ROW)]
    function.units = "None"


def version(command: str) -> str:
    """Return the first line that a program says about its version."""
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def main() -> None:
    """Write the table and print what fits badly."""
    with tempfile.TemporaryDirectory() as folder:
        functions = measured(Path(folder))
    empty = functions["snprintf"].fitted()
    rows, constants = {}, []
    for name, function in functions.items():
        if function.units in ("Copied", "Filled"):
            without_recorded(function)
        elif function.units == "Conversion":
            conversion(function, empty)
        constant, slope = function.fitted()
        rows[name] = (function.units, function.argument, round(constant), slope)
        constants.append(constant)
        if (error := function.worst_error(constant, slope)) > SHOWN_ERROR:
            cost = ", ".join(f"{n}: {c:.0f}" for n, c in function.cost)
            print(f"{name}: {constant:.0f} + {slope:.3f} n, off by up to {error:.0%} ({cost})")
    rows |= dict.fromkeys(EXCEPTION, ("None", 0, 0, 0.0))
    lines = [
        f'{{"{name}", Units::k{units}, {argument}, {constant}, {slope:.3f}F}},'
        for name, (units, argument, constant, slope) in sorted(rows.items())
    ]
    TABLE.write_text(
        "// Instructions of functions of the C and C++ libraries: name, unit, argument, constant,\n"
        "// instructions per unit. Written by benchmarks/library_costs.py with\n"
        f"// {' '.join(platform.libc_ver())} and {version('valgrind')}, a processor with AVX2.\n"
        "// clang-format off\n" + "\n".join(lines) + "\n"
    )
    print(f"{TABLE}: {len(rows)} functions; the median constant is {statistics.median(constants)}")


if __name__ == "__main__":
    main()
