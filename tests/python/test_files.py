"""Result files appear whole or not at all."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pmemsim.document import read
from pmemsim.errors import Error
from pmemsim.files import cache_dir, check_writable, replacing, write_json
from pmemsim.installation import version
from support import SMALL, pmemsim


def test_a_finished_file_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    write_json("run", {"a": 1}, str(target))
    assert json.loads(target.read_text()) == {"command": "run", "a": 1, "version": version()}
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    target.write_text("old")
    with pytest.raises(ValueError, match="half-way"), replacing(target) as partial:
        partial.write_text("new")
        assert partial.suffix == ".png"
        raise ValueError("half-way")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250 + ".json")
    write_json("run", {"a": 1}, str(target))
    assert list(tmp_path.iterdir()) == [target]
    too_long = tmp_path / ("x" * 256)
    with pytest.raises(Error, match=rf"^{too_long}: .*too long"), replacing(too_long):
        pass


def test_files_have_the_users_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        # Writers in other threads must not see another mask for a moment.
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "umask", lambda mask: pytest.fail(f"umask {mask}"))
            write_json("run", {"a": 1}, str(tmp_path / "out.json"))
    finally:
        os.umask(before)
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o640


def test_missing_home_folder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(user: int) -> None:
        raise KeyError(user)

    for variable in ("HOME", "PMEMSIM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", missing)
    with pytest.raises(Error, match=r"no home folder .* set PMEMSIM_CACHE"):
        cache_dir()


def test_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(Error, match="No space left on device"), replacing(tmp_path / "out"):
        Path("/dev/full").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_deeply_nested_yaml_is_an_error(tmp_path: Path) -> None:
    deep = tmp_path / "deep.yaml"
    deep.write_text("[" * 2000 + "]" * 2000)
    with pytest.raises(Error, match="too many nested levels"):
        read(deep)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 64 KiB that has 4 KiB left."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk is not permitted here")
    (folder / "filling").write_bytes(bytes(60 << 10))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_compiler_without_disk_space_is_one_sentence(full_disk: Path) -> None:
    environment = {"PMEMSIM_CACHE": str(full_disk), "TMPDIR": str(full_disk)}
    done = pmemsim("run", "queue", "-d", "np", "-m", "asap", *SMALL, environment=environment)
    assert done.returncode == 2
    (sentence,) = done.stderr.splitlines()[-1:]
    assert f"the disk of {full_disk} or" in sentence
    assert "PLEASE submit a bug report" not in done.stderr


def test_images_without_disk_space_are_not_the_checkers_fault(
    full_disk: Path, queue_trace: Path
) -> None:
    environment = {"TMPDIR": str(full_disk)}
    done = pmemsim("check", queue_trace, "--verify", "/bin/true", environment=environment)
    assert done.returncode == 2
    assert "where the program's images are, is full" in done.stderr
    assert "another disk with TMPDIR" in done.stderr


def test_error_names_the_requested_file_instead_of_the_partial_one(tmp_path: Path) -> None:
    target = tmp_path / "out.img"
    with pytest.raises(Error) as told, replacing(target) as partial:
        raise Error(f"{partial}: the image could not be written")
    assert str(told.value) == f"{target}: the image could not be written"


def test_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_json("run", {"a": 1}, str(pipe))
    assert json.loads(os.read(reading, 1000)) == {"command": "run", "a": 1, "version": version()}
    os.close(reading)
    assert pipe.is_fifo()


def test_symbolic_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "out.json"
    target.write_text("old")
    link.symlink_to(target)
    write_json("run", {"a": 1}, str(link))
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"command": "run", "a": 1, "version": version()}


def test_missing_folders_and_folders_are_refused_as_output(tmp_path: Path) -> None:
    with pytest.raises(Error, match="does not exist"):
        check_writable(tmp_path / "no" / "out.json")
    with pytest.raises(Error, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "out.json")


def test_json_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_json("run", {"a": [1, 2]}, "-")
    assert json.loads(capsys.readouterr().out) == {
        "command": "run", "a": [1, 2], "version": version(),
    }  # fmt: skip
