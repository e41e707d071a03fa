"""Import of ChampSim's traces.

`tests/formats/loop.champsim.hex` was written by hand from the format's description.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import pmemsim as package
from pmemsim.champsim import import_champsim
from pmemsim.errors import Error
from pmemsim.trace import KINDS, Trace
from support import LONG_TESTS, ROOT, bytes_of, pmemsim

BY_HAND = bytes_of(ROOT / "tests" / "formats" / "loop.champsim.hex")
RECORD_BYTES = 64


def record(
    ip: int,
    *,
    taken: bool | None = None,
    written: Sequence[int] = (),
    read: Sequence[int] = (),
    stores: Sequence[int] = (),
    loads: Sequence[int] = (),
    registers: int = 2,
) -> bytes:
    """Return a record; `registers` is 2, or 4 for CloudSuite's variant."""

    def padded(values: Sequence[int], count: int) -> list[int]:
        return [*values, *[0] * (count - len(values))]

    return struct.pack(
        f"<QBB{registers}B4B" + ("6x" if registers == 4 else "") + f"{registers}Q4Q"
        + ("8x" if registers == 4 else ""),
        ip, taken is not None, bool(taken), *padded(written, registers), *padded(read, 4),
        *padded(stores, registers), *padded(loads, 4),
    )  # fmt: skip


def imported(content: bytes, folder: Path, name: str = "t.champsim", **options: object) -> Trace:
    (folder / name).write_bytes(content)
    return import_champsim(folder / name, folder / "t.pmt", **options)  # type: ignore[arg-type]


def operations(trace: Trace) -> list[tuple[str, int, int, bool]]:
    """Return each operation: kind, address, instructions, flag."""
    return [
        (KINDS[each["kind"]], int(each["address"]), int(each["instructions"]), bool(each["flag"]))
        for chunk in trace.operations(0)
        for each in chunk.records
    ]


BY_HAND_OPERATIONS = [
    ("load", 0x1008, 1, False),
    ("store", 0x2010, 2, False),
    ("branch", 0, 2, True),
    ("load", 0x1048, 1, False),
    ("indirect_branch", 0x402000, 1, False),
    ("execute", 0, 1, False),
]


def test_trace_written_by_hand_becomes_these_operations(tmp_path: Path) -> None:
    trace = imported(BY_HAND, tmp_path, pm_ranges=[(0x2000, 0x3000)])
    assert operations(trace) == BY_HAND_OPERATIONS
    assert trace.verify() == []
    names = [str(site.file) for site in trace.file.sites()][64:]
    assert names == ["0x401000", "0x401008", "0x401010", "0x401014", "0x402000"]
    assert trace.metadata["pm_regions"] == [
        {"begin": 0x2000, "end": 0x3000, "source": "--pm-range"}
    ]


def test_dependences_follow_the_registers_of_the_first_two_executions(tmp_path: Path) -> None:
    imported(BY_HAND, tmp_path)
    dump = pmemsim("trace", "dump", tmp_path / "t.pmt").stdout.splitlines()
    assert len(dump) == len(BY_HAND_OPERATIONS)
    run = pmemsim("run", tmp_path / "t.pmt", "-d", "np", "-m", "asap")
    assert run.returncode == 0, run.stderr


def chased(loads: int, *, dependent: bool) -> bytes:
    """Return loads of one line each; the address of each depends on the one before, or doesn't."""
    return b"".join(
        record(0x1000, written=[1], read=[1] if dependent else [], loads=[0x100000 + 4096 * n])
        for n in range(loads)
    )


def time_ns(content: bytes, folder: Path) -> float:
    from pmemsim.simulation import configure, simulate

    return simulate(imported(content, folder), configure("np", "asap")).time_ns


def test_loads_that_chase_a_pointer_take_their_latencies_one_after_the_other(
    tmp_path: Path,
) -> None:
    chain, independent = (time_ns(chased(400, dependent=each), tmp_path) for each in (True, False))
    assert chain > 3 * independent


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)],
)
def test_compressed_trace_gives_the_same_recording(
    suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    plain = imported(BY_HAND * 1000, tmp_path).hash
    assert imported(compress(BY_HAND * 1000), tmp_path, f"t.champsim{suffix}").hash == plain


def test_cloudsuite_variant_has_four_registers_and_stores(tmp_path: Path) -> None:
    content = record(
        0x1000, written=[1, 2, 3, 4], read=[5], stores=[8, 16, 24, 32], loads=[40], registers=4
    )
    assert len(content) == 96
    found = operations(imported(content, tmp_path, cloudsuite=True))
    assert found == [
        ("load", 40, 1, False),
        *(("store", address, 0, False) for address in (8, 16, 24, 32)),
    ]


def test_random_trace_keeps_its_instructions_accesses_and_branches(tmp_path: Path) -> None:
    pick = random.Random(3)
    content, accesses, taken = [], [], []
    for _ in range(5000):
        loads = [8 * pick.randrange(1, 1 << 40) for _ in range(pick.choice([0, 0, 0, 1, 4]))]
        stores = [8 * pick.randrange(1, 1 << 40) for _ in range(pick.choice([0, 0, 0, 1, 2]))]
        branch = pick.choice([None, None, True, False])
        written, read = ([pick.randrange(1, 25)] * 2, [pick.randrange(64)])
        if branch is not None:
            written, read = [26], [26, 25]
        ip = 4 * pick.randrange(1, 500)
        content.append(record(
            ip, taken=branch, loads=loads, stores=stores, written=written, read=read,
        ))  # fmt: skip
        accesses += [("load", each) for each in loads] + [("store", each) for each in stores]
        taken += [branch] if branch is not None else []
    found = operations(imported(b"".join(content), tmp_path))
    assert [each[:2] for each in found if each[0] in ("load", "store")] == accesses
    assert [each[3] for each in found if each[0] == "branch"] == taken
    assert sum(each[2] for each in found) == 5000


def test_skip_and_instructions_select_a_part(tmp_path: Path) -> None:
    found = operations(imported(BY_HAND, tmp_path, skip=4, instructions=2))
    assert found == [("branch", 0, 1, True), ("load", 0x1048, 1, False)]
    with pytest.raises(Error, match="the trace has 8 records, of which none is left to convert"):
        imported(BY_HAND, tmp_path, skip=8)


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        ([26, 25], "branch"), ([26, 3], "branch"), ([3], "indirect_branch"), ([26], None),
        ([6, 26], None), ([6, 26, 3], "indirect_branch"), ([6], None),
    ],
)  # fmt: skip
def test_registers_tell_the_kind_of_a_branch(
    read: list[int], kind: str | None, tmp_path: Path
) -> None:
    written = [26, 6] if 6 in read else [26]
    content = record(0x1000, taken=True, written=written, read=read) + record(0x2000)
    kinds = [each[0] for each in operations(imported(content, tmp_path))]
    assert kinds == ([kind] if kind else []) + ["execute"]


def test_addresses_are_aligned_and_in_the_address_space(tmp_path: Path) -> None:
    content = record(0x1000, loads=[0x103F, (1 << 64) - 1])
    assert [each[1] for each in operations(imported(content, tmp_path))] == [
        0x1038, (1 << 47) - 8,
    ]  # fmt: skip


def test_commands_that_need_values_refuse_the_recording(tmp_path: Path) -> None:
    imported(BY_HAND, tmp_path, pm_ranges=[(0x2000, 0x3000)])
    for arguments in (
        ("check", "t.pmt"), ("check", "t.pmt", "--verify", "true"),
        ("crash", "t.pmt", "-d", "eadr", "-m", "asap"), ("analyze", "predictability", "t.pmt"),
        ("advise", "t.pmt", "-d", "sw-undo", "-m", "asap"),
    ):  # fmt: skip
        done = pmemsim(*arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert "imported from ChampSim, whose traces have no stored values" in done.stderr
    assert pmemsim("run", "t.pmt", "-d", "eadr", "-m", "asap", cwd=tmp_path).returncode == 0


def test_foreign_or_damaged_champsim_trace_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.champsim").write_text("This is not a trace of ChampSim.\n" * 10)
    (tmp_path / "short.champsim").write_bytes(BY_HAND[:100])
    (tmp_path / "t.gz").write_bytes(gzip.compress(BY_HAND * 9)[:-12])
    (tmp_path / "raw.xz").write_bytes(BY_HAND)
    (tmp_path / "empty.champsim").write_bytes(b"")
    for name, reason in (
        ("text.champsim", "record 0 (at byte 0) has bytes 8 and 9 that don't say"),
        ("short.champsim", "record 1 has only 36 of 64 bytes"),
        ("t.gz", "could not be read: compressed file ended"),
        ("raw.xz", "could not be read: input format not supported"),
        ("empty.champsim", "the trace has 0 records"),
        ("none.champsim", "could not be read: no such file"),
    ):
        done = pmemsim("import", "champsim", name, "-o", "o.pmt", cwd=tmp_path)
        assert done.returncode == 2
        assert f"pmemsim: {name}: {reason}" in done.stderr
        assert "Traceback" not in done.stderr
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"text.champsim", "short.champsim", "t.gz", "raw.xz", "empty.champsim"}


def test_wrong_options_are_refused_together(tmp_path: Path) -> None:
    done = pmemsim(
        "import", "champsim", "t.champsim", "-o", "t.txt", "--skip=-1", "--instructions", "0",
        "--pm-range", "20:10", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert [line.split(":")[1].split()[0] for line in done.stderr.splitlines()] == [
        "t.txt", "--skip", "--instructions", "--pm-range",
    ]  # fmt: skip


def test_damaged_trace_is_converted_or_refused(tmp_path: Path) -> None:
    pick = random.Random(1)
    whole = BY_HAND
    inputs = [(whole[:end], "t.champsim") for end in range(len(whole))]
    packed = gzip.compress(whole)
    inputs += [(packed[:end], "t.champsim.gz") for end in range(len(packed))]
    for content, name in ((whole, "t.champsim"), (packed, "t.champsim.gz")):
        for _ in range(500 if LONG_TESTS else 100):
            flipped = bytearray(content)
            flipped[pick.randrange(len(flipped))] ^= 1 << pick.randrange(8)
            inputs.append((bytes(flipped), name))
    for content, name in inputs if LONG_TESTS else inputs[::3]:
        try:
            trace = imported(content, tmp_path, name)
        except Error as error:
            assert str(tmp_path / name) in str(error)
            continue
        trace.verify()
        assert sum(each[2] for each in operations(trace)) <= len(whole) // RECORD_BYTES


def test_function_converts_what_the_command_converts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.champsim").write_bytes(BY_HAND)
    trace = package.import_champsim(
        "t.champsim", "own.pmt", pm_ranges=["0x2000:0x3000"], skip=1, instructions=4, progress=False
    )
    bounds = ("--pm-range", "0x2000:0x3000", "--skip", "1", "--instructions", "4")
    done = pmemsim("import", "champsim", "t.champsim", "-o", "theirs.pmt", *bounds, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert trace.hash == Trace(tmp_path / "theirs.pmt").hash
    with pytest.raises(package.ConfigError) as error:
        package.import_champsim("t.champsim", "t.champsim", pm_ranges=["3:2"], skip=-1)
    assert sorted(error.value.problems) == [
        "pm_range: 3:2: must be LO:HI in hexadecimal, as in 0x10000000:0x20000000, and at most "
        "0x800000000000",
        "skip: -1: must be at least 0",
        "t.champsim: a trace's name must end with .pmt",
        "t.champsim: this command already reads or writes this file; choose another name",
    ]
