"""docs/explanation/layer_rules.md: rules have consecutive numbers, and their checks exist."""

from __future__ import annotations

import re

from support import ROOT

PAGE = (ROOT / "docs/explanation/layer_rules.md").read_text()
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| R")]


def test_rules_have_consecutive_numbers() -> None:
    assert [row[0].strip() for row in ROWS] == [f"R{number}" for number in range(1, len(ROWS) + 1)]


def test_each_rule_names_what_checks_it() -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests" / "contract").glob("*.cpp"))
    for number, _, checks in ROWS:
        for check in checks.strip(" |").split(", "):
            name = check.strip("`")
            if re.fullmatch(r"a reader|\*assertion\*|\*run\*(: no progress)?", check):
                continue
            exists = (ROOT / name).is_file() if "/" in name else f", {name})" in tests
            assert exists, f"{number}: there is no {check}"
