"""The recordings that the package carries, which commands know as `example:NAME`."""

from __future__ import annotations

import pytest

import pmemsim
from pmemsim.errors import Error
from pmemsim.installation import examples
from pmemsim.targets import find_target
from pmemsim.trace import Trace
from support import pmemsim as command


def test_package_carries_short_recordings_of_workloads() -> None:
    assert list(examples()) == ["hashmap", "queue"]
    for name, path in examples().items():
        trace = Trace(path)
        assert (trace.name, trace.threads) == (name, 2)
        assert trace.metadata["regions"] == 200
        assert path.stat().st_size < 200_000


def test_commands_and_python_take_examples_by_name() -> None:
    by_name = pmemsim.run("example:queue", design="sw-undo", machine="asap")
    by_path = pmemsim.run(examples()["queue"], design="sw-undo", machine="asap")
    assert by_name.stats.equals(by_path.stats)
    assert by_name.regions == 200
    printed = command("run", "example:hashmap", "-d", "np", "-m", "asap").stdout
    assert "hashmap" in printed
    assert command("trace", "info", "example:hashmap").returncode == 0


def test_unknown_example_names_the_nearest() -> None:
    with pytest.raises(Error, match="no recording example:que; did you mean 'example:queue'"):
        find_target("example:que")


def test_example_takes_no_options_of_workloads() -> None:
    with pytest.raises(Error, match="example:queue: this is a recording; remove --regions"):
        find_target("example:queue", regions=5)


def test_missing_compiler_is_answered_with_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmemsim.toolchain.shutil.which", lambda name: None)
    with pytest.raises(Error) as raised:
        pmemsim.toolchain.compiler("pmemsim-cc")
    assert "install it (Debian and Ubuntu: apt-get install clang-19)" in str(raised.value)
    assert all(f"example:{name}" in str(raised.value) for name in examples())
