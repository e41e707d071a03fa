"""Prints the ten slowest cases of the C++ tests.

    tools/slowest_tests.py FOLDER

The folder contains the files of GoogleTest's --gtest_output=json, one for each part of a program
(tests/test_programs.cmake). The script fails if there is no case: a run without tests is no
success.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

SHOWN = 10


def times(results: Path) -> Iterator[tuple[float, str]]:
    """Return seconds and name of each case."""
    for suite in json.loads(results.read_text(encoding="utf-8"))["testsuites"]:
        for case in suite["testsuite"]:
            yield float(case["time"].removesuffix("s")), f"{suite['name']}.{case['name']}"


def main() -> None:
    """Print the slowest cases."""
    cases = sorted(case for file in Path(sys.argv[1]).glob("*.json") for case in times(file))
    if not cases:
        sys.exit(f"{sys.argv[1]}: no test has run")
    print(f"slowest {SHOWN} of {len(cases)} cases")
    for seconds, name in reversed(cases[-SHOWN:]):
        print(f"{seconds:6.2f}s {name}")


if __name__ == "__main__":
    main()
