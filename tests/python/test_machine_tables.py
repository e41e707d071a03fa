"""Tables of docs/reference/machines, made of small results (tools/machine_tables.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import machine_tables
from machine_tables import loop_table, overview, published_table

pytestmark = pytest.mark.quick

LATENCY: dict[str, object] = {
    "curve": "loads",
    "machine": "m",
    "unit": "ns",
    "over": "shuffled",
    "source": "s",
}
POINTS: list[dict[str, object]] = [
    {**LATENCY, "x": 0, "simulated": 100.0, "published": 80.0, "used": False},
    {**LATENCY, "x": 1, "simulated": 300.0, "published": 305.0, "used": True},
    {**LATENCY, "x": 1, "simulated": 1.0, "published": 1.0, "used": True, "machine": "other"},
    {**LATENCY, "x": 2, "simulated": 5.0, "published": None, "used": False},
]
LOOPS = {
    "measurements": [
        {"name": "steady", "median_ns": 2.0, "spread": 0.15, "simulated_ns": 1.8},
        {"name": "unsteady", "median_ns": 2.0, "spread": 0.16, "simulated_ns": 9.0},
        {"name": "far off", "median_ns": 1000.0, "spread": 0.0, "simulated_ns": 1300.0},
        {"name": "not recorded", "median_ns": 1.0, "spread": 0.0, "simulated_ns": None},
    ]
}


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "published.json").write_text(json.dumps(POINTS))
    (tmp_path / "server.json").write_text(json.dumps(LOOPS))
    monkeypatch.setattr(machine_tables, "RESULTS", tmp_path)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines()[2:] if line.startswith("|")]


def test_a_published_value_is_beside_the_simulated_one_with_ratio_and_use() -> None:
    text = published_table("m")
    assert rows(text) == [
        "| loads, in order | 80 ns | s | 100 ns | 1.25 |  |",
        "| loads, at random | 305 ns | s | 300 ns | 0.98 | yes |",
    ]
    assert text.endswith("Within 15%: 1 of 2 values. Inputs of the preset: 1.\n")


def test_loops_count_if_they_are_simulated_and_their_spread_is_at_most_15_percent() -> None:
    text = loop_table("server.json")
    assert rows(text) == [
        "| steady | 2.00 | 15% | 1.80 | 0.90 | yes |",
        "| unsteady | 2.00 | 16% | 9.00 | 4.50 | no |",
        "| far off | 1,000 | 0% | 1,300 | 1.30 | yes |",
        "| not recorded | 1.00 | 0% | - | - | no |",
    ]
    summary = "Loops that count: 2, of which 1 are within 25%, and 1 within 15%.\n"
    assert text.endswith(f"Loops: 4. {summary}")


def test_the_overview_has_a_row_for_each_comparison() -> None:
    server = "[server](../reference/machines/server.md)"
    text = overview(["m"], ["server"])
    assert rows(text) == [
        "| published figures, [m](../reference/machines/m.md) | 2 | 1 | 1 | 2 | 0.98 to 1.25 |",
        f"| loops of `calibrate`, {server} | 2 | most | 1 | 1 | 0.90 to 1.30 |",
    ]


@pytest.mark.parametrize(
    ("over", "x", "words"),
    [
        ("threads", 1, "1 thread"),
        ("threads", 4, "4 threads"),
        ("lines", 4, "blocks of 256 B"),
        ("bytes", 64, "always the same line"),
        ("bytes", 16 << 10, "in 16 KiB"),
        ("bytes", 8 << 20, "in 8 MiB"),
    ],
)
def test_a_published_measurements_condition_is_in_words(
    over: str, x: int, words: str, tmp_path: Path
) -> None:
    point = {**POINTS[0], "over": over, "x": x}
    (tmp_path / "published.json").write_text(json.dumps([point]))
    assert rows(published_table("m"))[0].startswith(f"| loads, {words} |")
