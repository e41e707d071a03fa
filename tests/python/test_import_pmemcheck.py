"""Import of pmemcheck's store logs.

`tests/formats/stack.pmemcheck` was written by hand from the format's description: a program pushes
two nodes on a stack, and doesn't fence between a node and the pointer to it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import pmemsim as package
from pmemsim.errors import Error
from pmemsim.pmemcheck import import_pmemcheck
from pmemsim.trace import KINDS, Trace
from support import LONG_TESTS, ROOT, pmemsim

BY_HAND = ROOT / "tests" / "formats" / "stack.pmemcheck"
BASE = 0x7F0000000000
FILE = f"REGISTER_FILE;/mnt/pm/a;{BASE:#x};0x4000;0x0"


def imported(records: str | list[str], folder: Path, **options: list[Path]) -> Trace:
    text = records if isinstance(records, str) else "|".join(["START", *records, "STOP\n"])
    (folder / "a.log").write_text(text)
    return import_pmemcheck(folder / "a.log", folder / "a.pmt", **options)


def operations(trace: Trace) -> list[tuple[str, int, bytes]]:
    return [
        (KINDS[each["kind"]], int(each["address"]), chunk.value(index))
        for chunk in trace.operations(0)
        for index, each in enumerate(chunk.records)
    ]


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


def test_log_written_by_hand_becomes_these_operations(tmp_path: Path) -> None:
    trace = import_pmemcheck(BY_HAND, tmp_path / "s.pmt")
    top, first, second = BASE, BASE + 0x40, BASE + 0x80
    assert operations(trace) == [
        ("store", first, word(0x2A)), ("flush", first, b""),
        ("store", top, word(first)), ("flush", top, b""), ("fence", 0, b""),
        ("store", second, word(0x2B)), ("flush", second, b""),
        ("store", top, word(second)), ("flush", top, b""), ("fence", 0, b""),
        ("store", BASE + 0xC0, b"\x02\x01\x00\x00"),
    ]  # fmt: skip
    assert trace.verify() == []
    assert trace.metadata["pm_regions"] == [
        {"begin": BASE, "end": BASE + 0x10000, "source": "/mnt/pm/stack"}
    ]


def test_check_finds_the_missing_fence_with_frames_and_record_numbers(tmp_path: Path) -> None:
    arguments = ("import", "pmemcheck", BY_HAND, "-o", "s.pmt")
    assert pmemsim(*arguments, cwd=tmp_path).returncode == 0
    done = pmemsim("check", "s.pmt", "--json", "-", cwd=tmp_path)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    first, last = sorted(report["findings"], key=lambda each: str(each["kind"]))
    assert (first["kind"], first["file"], first["line"], first["function"]) == (
        "flushed-not-fenced", "stack.pmemcheck", 11, "push",
    )  # fmt: skip
    assert first["other"] == {"file": "stack.c", "line": 14, "function": "push"}
    assert first["other_calls"] == [{"file": "stack.c", "line": 30, "function": "main"}]
    assert (last["kind"], last["line"], last["note"]) == ("never-flushed", 16, False)
    assert "lacks the contents of /mnt/pm/stack before the run" in report["notes"][0]


def test_fence_before_the_pointer_and_a_last_flush_remove_the_findings(tmp_path: Path) -> None:
    text = BY_HAND.read_text().replace(
        f"|FLUSH;{BASE + 0x80:#x};0x40", f"|FLUSH;{BASE + 0x80:#x};0x40|FENCE"
    )
    text = text.replace("|STOP", f"|FLUSH;{BASE + 0xC0:#x};0x40|FENCE|STOP")
    imported(text, tmp_path)
    assert pmemsim("check", "a.pmt", cwd=tmp_path).returncode == 0


def test_images_have_the_initial_contents_and_the_stored_values(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0" * 4096 + b"before" + b"\0" * 9000)
    imported(
        [FILE, f"STORE;{BASE + 8:#x};0x6f6c6c6568;0x8", f"FLUSH;{BASE:#x};0x40", "FENCE"],
        tmp_path, initial=[tmp_path / "a"],
    )  # fmt: skip
    checker = tmp_path / "checker.py"
    checker.write_text(
        "import sys\nimage = open(sys.argv[1], 'rb').read()\n"
        "assert len(image) == 0x4000 and image[4096:4102] == b'before'\n"
        "assert image[8:13] in (b'hello', b'\\0' * 5)\n"
        "open('seen', 'a').write(image[8:13].decode())\n"
    )
    arguments = ("check", "a.pmt", "--verify", f"python3 {checker}", "--jobs", "1")
    done = pmemsim(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "partial" not in done.stdout
    lost = pmemsim(*arguments[:3], "grep -q hello", "--jobs", "1", cwd=tmp_path)
    assert lost.returncode == 1


def test_each_line_of_a_flush_is_one_operation(tmp_path: Path) -> None:
    trace = imported([FILE, f"FLUSH;{BASE + 0x30:#x};0x51"], tmp_path)
    assert [each[1] - BASE for each in operations(trace)] == [0, 0x40, 0x80]


def test_two_mappings_of_a_file_are_one_region(tmp_path: Path) -> None:
    again = f"REGISTER_FILE;/mnt/pm/a;{BASE + 0x100000:#x};0x2000;0x3000"
    trace = imported(
        [FILE, f"STORE;{BASE + 0x3008:#x};0x1;0x8", again, f"STORE;{BASE + 0x100008:#x};0x2;0x8"],
        tmp_path,
    )
    assert [each[1] - BASE for each in operations(trace)] == [0x3008, 0x3008]
    (region,) = trace.metadata["pm_regions"]
    assert region["end"] - region["begin"] == 0x5000


def test_second_file_at_the_address_of_the_first_gets_its_own_region(tmp_path: Path) -> None:
    other = FILE.replace("/a;", "/b;")
    store = f"STORE;{BASE:#x};0x1;0x8"
    trace = imported([FILE, store, other, store], tmp_path)
    first, second = (each[1] for each in operations(trace))
    assert first == BASE
    assert second == trace.metadata["pm_regions"][1]["begin"] != BASE


def test_memory_without_a_file_becomes_a_region_of_its_own(tmp_path: Path) -> None:
    trace = imported(
        ["STORE;0x5600060;0x1;0x8", "STORE;0x5602ffc;0x2;0x8", "STORE;0x9600000;0x3;0x8"], tmp_path
    )
    assert [(each["begin"], each["end"]) for each in trace.metadata["pm_regions"]] == [
        (0x5600000, 0x5604000), (0x9600000, 0x9601000),
    ]  # fmt: skip
    assert pmemsim("check", "a.pmt", cwd=tmp_path).returncode in (0, 1)


def test_marks_name_the_function_and_valgrinds_messages_are_skipped(tmp_path: Path) -> None:
    flush = f"FLUSH;{BASE:#x};0x40"
    text = (
        f"==7== pmemcheck\nSTART|{FILE}|outer.BEGIN|PMREORDER_POINT|inner.BEGIN|{flush}|inner.END"
        f"==7== A message\n|{flush}|outer.END|other.END|{flush}--7-- Another\n|STOP\n==7== End\n"
    )
    imported(text, tmp_path)
    dump = pmemsim("trace", "dump", "a.pmt", cwd=tmp_path).stdout.splitlines()
    assert [line.split("a.log:")[1].split() for line in dump] == [
        ["5", "inner"], ["7", "outer"], ["10"],
    ]  # fmt: skip


def test_frames_give_functions_files_and_inlined_calls(tmp_path: Path) -> None:
    frames = (
        "0x1A2B: list::add(int, char) (list.hpp:7)0x1A2B: push (stack.c:12)"
        ";0x401F: ??? (in /usr/lib/libc.so.6);0x4020: (below main) (libc-start.c:308)"
    )
    imported([FILE, f"STORE;{BASE:#x};0x1;0x8;{frames}"], tmp_path)
    dump = pmemsim("trace", "dump", "a.pmt", cwd=tmp_path).stdout
    assert "list.hpp:7 list::add(int, char) < stack.c:12 push < " in dump
    assert "libc-start.c:308 (below main)" in dump


def test_random_log_round_trips(tmp_path: Path) -> None:
    pick = random.Random(5)
    records, expected = [FILE], []
    for _ in range(20_000 if LONG_TESTS else 3000):
        address = BASE + pick.randrange(0, 0x3FC0)
        kind = pick.choice(["store", "store", "flush", "fence", "mark"])
        if kind == "store":
            size = pick.choice([1, 2, 4, 8, 16])
            value = pick.randbytes(size)
            number = int.from_bytes(value, "little")
            records.append(f"STORE;{address:#x};{number:#x};{size:#x}")
            expected.append(("store", address, value))
        elif kind == "flush":
            address -= address % 64
            records.append(f"FLUSH;{address:#x};0x40")
            expected.append(("flush", address, b""))
        elif kind == "fence":
            records.append("FENCE")
            expected.append(("fence", 0, b""))
        else:
            records.append(pick.choice(["a.BEGIN", "a.END", "b.BEGIN", "DEEP_SYNC;0x10;0x40"]))
    trace = imported(records, tmp_path)
    assert operations(trace) == expected
    assert trace.verify() == []


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("STORE;0x10;0x1", "it has 2 numbers instead of 3"),
        ("STORE;0x10;0x100;0x1", "the value has more than 1 bytes"),
        ("STORE;0x10;0x1;0x0", "a store of 0 bytes is impossible"),
        ("STORE;0x10;0x1;0x41", "a store of 65 bytes is impossible"),
        ("STORE;16;0x1;0x8", "the address `16` must be a hexadecimal number"),
        ("STORE;0x7fffffffffffffff;0x1;0x8", "the address 0x7fffffffffffffff is above"),
        ("FLUSH;0x10;-0x40", "the size `-0x40` must be"),
        ("FLUSH;0x10;0xffffffffff", "a flush of 1099511627775 bytes is impossible"),
        ("FENCE;0x1", "it has 1 numbers instead of 0"),
        ("REGISTER_FILE;;0x1000;0x1000;0x0", "the file's path is missing"),
        ("REGISTER_FILE;/a;0x1010;0x1000;0x0", "must be multiples of 0x1000"),
        ("REGISTER_FILE;/a;0x1000;0x0;0x0", "the mapping is empty"),
        ("LOAD;0x10;0x8", "the kind of record is unknown"),
        ("FENCD", "the kind of record is unknown"),
        ("", "the kind of record is unknown"),
    ],
)
def test_malformed_record_is_refused_with_its_number(
    record: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "a.log").write_text(f"START|{FILE}|FENCE|{record}|STOP\n")
    done = pmemsim("import", "pmemcheck", "a.log", "-o", "a.pmt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"pmemsim: a.log: record 3 (`{record[:57]}")
    assert reason in done.stderr
    assert "valgrind --tool=pmemcheck --log-stores=yes" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]


def test_file_without_records_is_refused(tmp_path: Path) -> None:
    for text, reason in (
        ("", "the file has no START, so it is no store log"),
        ("==1== pmemcheck\nSTART|FENCE", "the log ends without STOP after 1 records"),
        ("START|STOP", "the log has no store, flush or fence"),
    ):
        with pytest.raises(Error, match=reason):
            imported(text, tmp_path)
    with pytest.raises(Error, match="No such file"):
        import_pmemcheck(tmp_path / "none.log", tmp_path / "a.pmt")


def test_initial_file_of_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    with pytest.raises(Error, match="the log maps 0 files of this name; it maps: /mnt/pm/a"):
        imported([FILE, "FENCE"], tmp_path, initial=[tmp_path / "other"])


def test_damaged_log_is_converted_or_refused(tmp_path: Path) -> None:
    pick = random.Random(2)
    whole = BY_HAND.read_bytes()
    inputs = [whole[:end] for end in range(0, len(whole), 1 if LONG_TESTS else 5)]
    for _ in range(1000 if LONG_TESTS else 150):
        flipped = bytearray(whole)
        flipped[pick.randrange(len(flipped))] ^= 1 << pick.randrange(8)
        inputs.append(bytes(flipped))
    log = tmp_path / "d.log"
    for content in inputs:
        log.write_bytes(content)
        try:
            trace = import_pmemcheck(log, tmp_path / "d.pmt")
        except Error as error:
            assert str(error).startswith(f"{log}: ")
            continue
        assert trace.verify() == []


def test_function_converts_what_the_command_converts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stack").write_bytes(b"before")
    trace = package.import_pmemcheck(BY_HAND, "own.pmt", initial=["stack"])
    arguments = (BY_HAND, "-o", "theirs.pmt", "--initial", "stack")
    done = pmemsim("import", "pmemcheck", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert trace.hash == Trace(tmp_path / "theirs.pmt").hash
    faults = package.check(trace, progress=False).report.faults
    assert {fault.kind for fault in faults} == {"flushed-not-fenced", "never-flushed"}
    with pytest.raises(package.ConfigError, match=r"own\.txt: a trace's name must end with \.pmt"):
        package.import_pmemcheck(BY_HAND, "own.txt")
