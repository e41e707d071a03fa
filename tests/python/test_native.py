"""Programs run natively and simulated, side by side (benchmarks/native.py)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import native
from native import PROGRAM_NAMES, Row, main, mean_log_ratio, missed
from support import long_except


def row(ratio: float, program: str = "p") -> Row:
    return Row(program, 100.0, 90.0, 110.0, 100.0 * ratio)


def test_limits_apply_to_each_program_and_to_the_mean() -> None:
    assert missed([row(1.09), row(0.93)]) == []
    assert missed([row(1.24), row(1.0), row(1.0)]) == []
    (one,) = missed([row(1.3, "slow"), *[row(1.0)] * 9])
    assert one == "slow: 1.30 of the native time, not within 25%"
    (mean,) = missed([row(1.2), row(1 / 1.2)])  # they don't make up for each other
    assert mean == "mean: off by 20%, more than 10%"
    assert mean_log_ratio([row(2.0), row(0.5)]) == pytest.approx(math.log(2))


# Programs are all built and recorded alike, and so are workloads: every second program, a workload
# with the library's log, and one with its own.
@pytest.mark.parametrize(
    "program", long_except([*PROGRAM_NAMES[::2], "queue", "tatp_lowlevel"], PROGRAM_NAMES[0])
)
def test_each_program_measures_itself_natively_and_is_recorded(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "BUILD", tmp_path)
    report = tmp_path / "report.json"
    arguments = ["--machine", "xeon-6140", "--operations", "200", "--repetitions", "3"]
    assert main([*arguments, "--json", str(report), program]) in (0, 1)  # so few say nothing
    (measured,) = json.loads(report.read_text())["rows"]
    assert measured["program"] == program
    assert 0 < measured["least_ns"] <= measured["native_ns"] <= measured["most_ns"]
    assert measured["simulated_ns"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--machine", "xeon-6140", "typo"], "there is no program typo; there are append_log"),
        (["--machine", "xeon-614"], "did you mean 'xeon-6140'"),
        (["--machine", "xeon-6140", "--operations", "0"], "must be at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err
