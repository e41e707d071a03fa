"""`pmemsim decode` needs only a device's image and the registers that survived."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import pmemsim

QUEUE = ("queue", "--threads", "2", "--regions", "200", "--at", "300us")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save an image in a folder, with its registers beside it."""
    folder = tmp_path_factory.mktemp("saved")
    done = pmemsim(
        "crash", *QUEUE, "--design", "parallel", "--save-image", folder / "crash.image",
        "--verify-images", "0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path / "crash.image"


def registers_of(image: Path) -> Path:
    return image.with_name("crash.image.registers.json")


def change(image: Path, what: Callable[[dict[str, Any]], object]) -> None:
    facts = json.loads(registers_of(image).read_text())
    what(facts)
    registers_of(image).write_text(json.dumps(facts))


# The files are all it gets: the folder has no recording, and the program that judges the image
# opens it as any program opens its pool again.
def test_the_workload_itself_finds_its_image_right(saved: Path, tmp_path: Path) -> None:
    from pmemsim.programs import run_program
    from pmemsim.recording import build_workload

    output = tmp_path / "found.json"
    done = pmemsim("decode", saved / "crash.image", "-o", tmp_path / "plain", "--json", output)
    assert done.returncode == 0, done.stderr
    assert f"written: {tmp_path / 'plain'}" in done.stdout
    found = json.loads(output.read_text())
    assert set(found) == {
        "command", "problem", "unreadable", "unreadable_others", "corrected", "elsewhere", "files",
        "version",
    }  # fmt: skip
    assert (found["problem"], found["corrected"]) == ("", 0)
    assert found["elsewhere"] > 0
    command = [str(build_workload("queue")), "--verify", str(tmp_path / "plain")]
    assert run_program(command, lambda: None) == 0


def test_encrypted_device_does_not_contain_the_plain_data(saved: Path, tmp_path: Path) -> None:
    done = pmemsim("decode", saved / "crash.image", "-o", tmp_path / "plain")
    assert done.returncode == 0
    device = (saved / "crash.image").read_bytes()
    plain = (tmp_path / "plain").read_bytes()
    lines = {plain[at : at + 64] for at in range(0, len(plain), 64)} - {bytes(64)}
    assert len(lines) > 50
    there = {device[at + 8 : at + 72] for at in range(16, len(device), 88)}
    # Data written before the recording began are in the device's image unchanged.
    assert len(lines - there) > 20


def test_registers_file_has_exactly_the_expected_keys(saved: Path) -> None:
    facts = json.loads((saved / "crash.image.registers.json").read_text())
    assert set(facts) == {
        "format", "pm_regions", "operations", "encryption_key", "authentication_key",
        "write_counter", "tree",
    }  # fmt: skip
    assert facts["operations"] == ["deduplication", "encryption", "integrity"]
    assert facts["tree"]["levels"] == 9


def test_decode_rejects_an_image_with_another_root(copy: Path, tmp_path: Path) -> None:
    def other_root(facts: dict[str, Any]) -> None:
        number = next(iter(facts["tree"]["roots"]))
        facts["tree"]["roots"][number] = "0123456789abcdef"

    change(copy, other_root)
    done = pmemsim("decode", copy, "-o", tmp_path / "plain")
    assert done.returncode == 1
    assert done.stderr.split(": ", 2)[2].strip() == (
        "the image is not trustworthy: the root of the integrity tree does not match the "
        "entries in PM"
    )
    assert not (tmp_path / "plain").exists()


def test_lines_that_cannot_be_read_are_listed(copy: Path, tmp_path: Path) -> None:
    change(copy, lambda facts: facts.update(authentication_key="00" * 16))
    done = pmemsim("decode", copy, "-o", tmp_path / "plain", "--json", tmp_path / "found")
    assert done.returncode == 0, done.stderr
    unreadable = json.loads((tmp_path / "found").read_text())["unreadable"]
    assert f"{len(unreadable)} lines can't be read: {unreadable[0]:#x}, " in done.stdout
    assert f"and {len(unreadable) - 20} more" in done.stdout


def set_to(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda facts: facts.update({key: value})


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (set_to("format", "x"), "contains no registers as written by `pmemsim crash --save-image`"),
        (set_to("cache", 3), "contains cache, which is not a register"),
        (set_to("operations", 3), "operations must be a list of names"),
        (
            set_to("operations", ["encryption", "deduplication"]),
            "operations must be a selection of",
        ),
        (set_to("operations", [["encryption"]]), "operations must be a selection of"),
        (
            set_to("operations", ["wear-leveling"]),
            "lacks wear_leveling, which wear-leveling requires",
        ),
        (
            lambda facts: facts.pop("encryption_key"),
            "lacks encryption_key, which encryption requires",
        ),
        (lambda facts: facts.pop("tree"), "lacks tree, which integrity requires"),
        (set_to("encryption_key", "00"), "encryption_key must have 32 hexadecimal digits"),
        (set_to("encryption_key", None), "encryption_key must have 32 hexadecimal digits"),
        (set_to("published_macs", 1), "published_macs must be true or false"),
        (set_to("write_counter", -1), "write_counter must be a whole number from 0 to"),
        (set_to("write_counter", True), "write_counter must be a whole number from 0 to"),
        (set_to("tree", []), "tree must have levels and roots"),
        (set_to("tree", {"levels": 99, "roots": {}}), "tree.levels must be a whole number from 1"),
        (set_to("tree", {"levels": 9, "roots": []}), "tree.roots must have the root of each tree"),
        (
            set_to("tree", {"levels": 9, "roots": {"x": "0"}}),
            "tree.roots: x is not a number",
        ),
        (set_to("tree", {"levels": 9, "roots": {"0": 0}}), "tree.roots: 0 is not a hexadecimal"),
        (set_to("pm_regions", []), "pm_regions must be a list of addresses"),
        (set_to("pm_regions", [["0x0"]]), "pm_regions must have two addresses a region"),
        (set_to("pm_regions", [["0x40", "0x41"]]), "pm_regions: 0x40 to 0x41 is not a range"),
        (
            set_to("pm_regions", [["0x0", "0xffffffffffff"]]),
            "pm_regions: 0xffffffffffff is greater than 0x800000000000",
        ),
        (set_to("wear_leveling", {}), "wear_leveling must have region_lines and regions"),
        (
            set_to("wear_leveling", {"region_lines": 4, "regions": {"0": {"start": 4, "gap": 0}}}),
            "wear_leveling.regions: start must be a whole number from 0 to 3",
        ),
        (
            set_to("wear_leveling", {"region_lines": 4, "regions": {"0": {"start": 0, "gap": 5}}}),
            "wear_leveling.regions: gap must be a whole number from 0 to 4",
        ),
    ],
)
def test_impossible_registers_are_refused(
    copy: Path, tmp_path: Path, what: Callable[[dict[str, Any]], object], sentence: str
) -> None:
    change(copy, what)
    done = pmemsim("decode", copy, "-o", tmp_path / "plain")
    assert done.returncode == 2
    assert done.stderr.startswith(f"pmemsim: {registers_of(copy)}: {sentence}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "plain").exists()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
def test_decode_refuses_malformed_registers(copy: Path, tmp_path: Path, text: bytes) -> None:
    registers_of(copy).write_bytes(text)
    done = pmemsim("decode", copy, "-o", tmp_path / "plain")
    assert done.returncode == 2
    assert done.stderr.startswith(f"pmemsim: {registers_of(copy)}: ")
    assert done.stderr.count("\n") == 1


def test_a_damaged_device_is_refused(copy: Path, tmp_path: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-1])
    done = pmemsim("decode", copy, "-o", tmp_path / "plain")
    assert done.returncode == 2
    assert done.stderr == f"pmemsim: {copy}: the file is damaged: it ends within a line\n"


def test_decode_names_missing_files(tmp_path: Path) -> None:
    done = pmemsim("decode", tmp_path / "none", "-o", tmp_path / "plain")
    assert done.returncode == 2
    assert (
        f"{tmp_path / 'none.registers.json'}: the registers could not be read: No such file"
        in done.stderr
    )
    assert "--registers names another file" in done.stderr


def test_decode_refuses_to_overwrite_its_input(copy: Path) -> None:
    done = pmemsim("decode", copy, "-o", copy)
    assert done.returncode == 2
    assert "already reads or writes this file" in done.stderr


# After a change of any bit, the image is refused, or the line is named, or the bit is of a line
# that nothing refers to.
def test_changed_bits_are_detected(copy: Path, tmp_path: Path) -> None:
    right, image = tmp_path / "right", copy.read_bytes()
    assert pmemsim("decode", copy, "-o", right).returncode == 0
    found_out = 0
    for at in range(100, len(image), len(image) // 12):
        changed = bytearray(image)
        changed[at] ^= 4
        copy.write_bytes(changed)
        plain = tmp_path / f"plain{at}"
        done = pmemsim("decode", copy, "-o", plain)
        found_out += done.returncode > 0 or "can't be read" in done.stdout
        assert "Traceback" not in done.stderr
    assert found_out > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--design", "parallel"], "--save-image image: needs --at"),
        (
            ["--design", "asap,parallel", "--at", "20us"],
            "--save-image: this option requires a single target and a single design",
        ),
        (["--design", "asap", "--at", "20us"], "save-image: the device holds unencoded data"),
        (["--design", "parallel", "--at", "1ps"], "save-image: no data are persistent"),
    ],
)
def test_save_image_refuses_impossible_combinations(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = pmemsim(
        "crash",
        *QUEUE[:5],
        *arguments,
        "--save-image",
        "image",
        "--verify-images",
        "0",
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stdout
    assert f"pmemsim: {sentence}" in done.stderr
    assert list(tmp_path.iterdir()) == []


# ASAP drops log entries whose regions have committed, and never reads them again.
def test_unreadable_log_lines_of_asap_are_counted(tmp_path: Path) -> None:
    image, output = tmp_path / "crash.image", tmp_path / "found.json"
    done = pmemsim(
        "crash", *QUEUE, "--design", "asap", "--save-image", image, "--verify-images", "0",
        "--set", "backend=encryption,integrity",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = pmemsim("decode", image, "-o", tmp_path / "plain", "--json", output)
    assert done.returncode == 0, done.stderr
    found = json.loads(output.read_text())
    assert found["unreadable_others"] > 0
    assert f"{found['unreadable_others']} lines outside programs' PM" in done.stdout


def test_image_with_published_form_of_macs_needs_no_key(tmp_path: Path) -> None:
    image = tmp_path / "crash.image"
    done = pmemsim(
        "crash", *QUEUE, "--design", "parallel", "--save-image", image, "--verify-images", "0",
        "--set", "integrity.mac=published", "--set", "deduplication.duplicates=data",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "crash.image.registers.json").read_text())
    assert facts["published_macs"] is True
    assert "authentication_key" not in facts
    done = pmemsim("decode", image, "-o", tmp_path / "plain")
    assert done.returncode == 0, done.stderr


# Nodes are the lines from 2 ** 54 on.
def test_persisted_nodes_are_compared_with_their_children(tmp_path: Path) -> None:
    image = tmp_path / "crash.image"
    done = pmemsim(
        "crash", *QUEUE, "--design", "parallel", "--save-image", image, "--verify-images", "0",
        "--set", "integrity.persist_nodes=all", "--set", "backend=encryption,integrity",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    registers = tmp_path / "crash.image.registers.json"
    facts = json.loads(registers.read_text())
    assert facts["nodes_persisted"] is True
    right = image.read_bytes()
    assert pmemsim("decode", image, "-o", tmp_path / "plain").returncode == 0
    at = next(
        at for at in range(16, len(right), 88) if int.from_bytes(right[at : at + 8], "little") >> 54
    )
    changed = bytearray(right)
    changed[at + 8] ^= 1
    image.write_bytes(changed)
    done = pmemsim("decode", image, "-o", tmp_path / "plain")
    assert done.returncode == 1
    assert "a node of the integrity tree in PM does not match its children" in done.stderr
    registers.write_text(json.dumps({**facts, "nodes_persisted": False}))
    assert pmemsim("decode", image, "-o", tmp_path / "plain").returncode == 0, (
        "decode skips the tree"
    )
    registers.write_text(json.dumps({**facts, "nodes_persisted": 1}))
    done = pmemsim("decode", image, "-o", tmp_path / "plain")
    assert "nodes_persisted must be true or false" in done.stderr


# With all operations and flipped bits, the decoded image is the one that the program finds.
def test_image_of_all_backend_operations_is_decoded(tmp_path: Path) -> None:
    from pmemsim.programs import run_program
    from pmemsim.recording import build_workload

    operations = "compression,deduplication,encryption,integrity,error-correction,wear-leveling"
    image = tmp_path / "crash.image"
    done = pmemsim(
        "crash", *QUEUE, "--design", "parallel", "--save-image", image, "--verify-images", "0",
        "--set", f"backend={operations}", "--set", "error_correction.flipped_bits=1",
        "--set", "wear_leveling.region_lines=8", "--set", "wear_leveling.writes_per_move=3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = pmemsim("decode", image, "-o", tmp_path / "plain")
    assert done.returncode == 0, done.stderr
    assert "had errors that were corrected" in done.stdout
    command = [str(build_workload("queue")), "--verify", str(tmp_path / "plain")]
    assert run_program(command, lambda: None) == 0
