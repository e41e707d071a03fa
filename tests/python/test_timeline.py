"""Timelines: their files are valid, agree with statistics, and keep to their bounds and cost."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import kanata
import track_events
from host_instructions import Work, whole_instructions
from pins.configurations import BACKENDS, DESIGNS, FOLDER, configuration, recording
from pmemsim.errors import Error
from pmemsim.simulation import Result, configure, simulate
from pmemsim.timelines import LAST_PS, Bounds, Format, Timeline, write_timeline
from pmemsim.trace import Trace
from support import long_except, pmemsim
from track_events import Slice, TrackEvents

_ALL = [(design, machine) for machine, designs in DESIGNS.items() for design in designs] + [
    (f"sw-undo@{backend}", machine)
    for machine, backends in BACKENDS.items()
    for backend in backends
]
_USUAL = (
    ("sw-undo", "asap"), ("asap", "asap"), ("lad", "lalea"), ("hops", "pmem-spec"),
    ("pmem-spec", "pmem-spec"), ("dpo", "pmem-spec"), ("janus", "janus"), ("eadr", "xeon-optane"),
    ("sw-undo@enc+veri-pmweaver", "pmweaver"), ("sw-undo@deduplicated-janus", "janus"),
)  # fmt: skip
LINE_BYTES = 64
_SHORT = FOLDER / "recordings" / "four_threads.pmt"


def _trace(design: str) -> Trace:
    software_redo = design.endswith("-redo") and design != "hw-redo"
    return recording("redo_log" if software_redo else "four_threads")


def _bounds(start: int = 0, end: int = LAST_PS, **more: int) -> Bounds:
    bounds = {"first_region": 0, "last_region": 0, "slowest": 0, **more}
    return Bounds(from_ps=start, until_ps=end, **bounds)


def _perfetto(
    design: str, machine: str, path: Path, bounds: Bounds | None = None
) -> tuple[TrackEvents, Timeline]:
    written = write_timeline(
        _trace(design), configuration(design, machine), path, bounds or _bounds()
    )
    return track_events.read(path), written


def _run(design: str, machine: str) -> Result:
    return simulate(_trace(design), configuration(design, machine))


@pytest.mark.parametrize(("design", "machine"), long_except(_ALL, *_USUAL))
def test_timeline_is_valid_and_agrees_with_the_statistics(
    design: str, machine: str, tmp_path: Path
) -> None:
    found, written = _perfetto(design, machine, tmp_path / "t.pftrace")
    result = _run(design, machine)
    stats = result.stats
    assert written.time_ps == round(result.time_ns * 1000)
    assert written.slices == len(found.slices)
    assert written.tracks == len(found.names)
    regions = [each for each in found.on_any("core ") if each.name.startswith("region ")]
    assert len(regions) == result.regions == written.regions
    banks = [each for each in found.slices if "/bank " in found.path(each.track)]
    reads = [each for each in banks if each.name == "read"]
    assert len(reads) == stats["pm.bytes_read"] / LINE_BYTES
    assert len(banks) - len(reads) == stats["pm.bytes_written"] / LINE_BYTES
    refreshes = [each for each in found.slices if found.path(each.track).endswith("/refreshes")]
    assert len(refreshes) == stats["pm.refreshes"]
    fences = [each for each in found.slices if found.path(each.track).endswith("/fences")]
    again = any(each.name == "region re-executes" for each in found.instants)
    assert len(fences) < stats["core.fences"] if again else len(fences) == stats["core.fences"]


@pytest.mark.parametrize(("design", "machine"), long_except(_ALL, *_USUAL))
def test_kanata_log_is_valid_and_has_a_row_for_each_write(
    design: str, machine: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.kanata"
    written = write_timeline(
        _trace(design), configuration(design, machine), path, _bounds(), "kanata"
    )
    rows = kanata.read(path)
    assert written.rows == len(rows)
    assert written.arrows == sum(len(row.producers) for row in rows)
    stats = _run(design, machine).stats
    at_banks = [row for row in rows if any(name == "Bk" for _, name, _, _ in row.stages)]
    assert len(at_banks) == stats["pm.bytes_written"] / LINE_BYTES
    assert sum("fence" in row.label for row in rows) >= stats["core.fences"]
    assert sum(": refresh" in row.label for row in rows) == stats["pm.refreshes"]
    assert [row.begin for row in rows] == sorted(row.begin for row in rows)


def test_wpq_counter_has_the_time_in_which_the_queue_is_full(tmp_path: Path) -> None:
    found, _ = _perfetto("sw-undo", "asap", tmp_path / "t.pftrace")
    settings = configuration("sw-undo", "asap")
    entries = int(settings["pm.wpq_entries"])
    stats = _run("sw-undo", "asap").stats
    counters = [values for track, values in found.counters.items() if "WPQ" in found.path(track)]
    assert max(value for values in counters for _, value in values) <= entries
    assert all(values[-1][1] == 0 for values in counters)
    full = sum(
        until - since
        for values in counters
        for (since, value), (until, _) in itertools.pairwise(values)
        if value == entries
    )
    assert full == pytest.approx(stats["pm.wpq_full_ns"], abs=len(counters) * 1000)


def test_files_are_equal_to_the_byte(tmp_path: Path) -> None:
    formats: tuple[Format, ...] = ("perfetto", "kanata")
    for format_name in formats:
        files = [tmp_path / f"{number}.{format_name}" for number in range(2)]
        for path in files:
            write_timeline(
                recording("four_threads"), configuration("asap", "asap"), path,
                format=format_name,
            )  # fmt: skip
        assert files[0].read_bytes() == files[1].read_bytes()


def _key(found: TrackEvents, each: Slice) -> tuple[object, ...]:
    # Lanes differ between files; slices of a track and their times don't.
    return (found.path(each.track), each.name, each.begin, each.end, each.depth)


def test_times_bound_the_timeline(tmp_path: Path) -> None:
    whole, _ = _perfetto("asap", "asap", tmp_path / "whole.pftrace")
    start, end = 2_000, 4_000
    part, _ = _perfetto(
        "asap", "asap", tmp_path / "part.pftrace", _bounds(start * 1000, end * 1000)
    )
    assert 0 < len(part.slices) < len(whole.slices)
    assert {_key(part, each) for each in part.slices} <= {
        _key(whole, each) for each in whole.slices
    }
    inside = {
        _key(whole, each)
        for each in whole.slices
        if "/bank " in whole.path(each.track) and each.end > start and each.begin < end
    }
    assert inside <= {_key(part, each) for each in part.slices}
    for track, values in part.counters.items():
        full = whole.counter(part.path(track))
        before = [value for when, value in full if when < start]
        assert values[0] == (start, before[-1] if before else 0)
        assert values[1:] == [each for each in full if start <= each[0] <= end]


def test_numbers_of_regions_bound_the_timeline(tmp_path: Path) -> None:
    part, _ = _perfetto(
        "asap", "asap", tmp_path / "part.pftrace", _bounds(first_region=3, last_region=4)
    )
    whole, _ = _perfetto("asap", "asap", tmp_path / "whole.pftrace")
    chosen = [
        each
        for each in whole.slices
        if each.notes.get("region") in (3, 4) and each.name.startswith("region ")
    ]
    shown = {_key(part, each) for each in part.slices}
    assert {_key(whole, each) for each in chosen} <= shown
    for each in part.slices:
        assert any(each.begin <= one.end and each.end >= one.begin for one in chosen)


@pytest.mark.parametrize("design", ["sw-undo", "asap"])
def test_slowest_regions_are_those_that_last_longest(design: str, tmp_path: Path) -> None:
    whole, _ = _perfetto(design, "asap", tmp_path / "whole.pftrace")
    part, written = _perfetto(design, "asap", tmp_path / "part.pftrace", _bounds(slowest=3))
    regions = [each for each in whole.on_any("core ") if each.name.startswith("region ")]
    longest = sorted((each.end - each.begin for each in regions), reverse=True)[:3]
    ranked = sorted(
        (each for each in part.slices if "rank" in each.notes), key=lambda each: each.notes["rank"]
    )
    assert [each.notes["rank"] for each in ranked] == [1, 2, 3]
    assert [each.end - each.begin for each in ranked] == pytest.approx(longest, abs=1)
    for each, region in zip(ranked, written.slowest, strict=True):
        assert each.name == f"region {region.number}"
        assert each.begin == region.begin_ps // 1000
        assert each.end == region.end_ps // 1000
        assert sum(region.stalls_ps) <= region.end_ps - region.begin_ps
    assert len(part.slices) < len(whole.slices)


def test_asap_commits_after_its_regions_end_and_software_logs_do_not(tmp_path: Path) -> None:
    commits = {
        design: len(
            [
                each
                for each in _perfetto(design, "asap", tmp_path / f"{design}.pftrace")[0].slices
                if each.name == "commit"
            ]
        )
        for design in ("asap", "sw-undo")
    }
    assert commits["asap"] > 0
    assert commits["sw-undo"] == 0


def test_misspeculations_and_predictions_are_shown(tmp_path: Path) -> None:
    found, _ = _perfetto("janus", "janus", tmp_path / "janus.pftrace")
    assert found.on("backend/predictions")
    assert any(found.path(each.track).startswith("backend/unit ") for each in found.slices)
    assert {each.name for each in found.on_any("backend/sub-operations")} >= {"E1"}


# ---- The command


def _command(*arguments: str | Path, code: int = 0) -> str:
    done = pmemsim("timeline", *arguments)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_command_prints_what_it_has_written_and_the_slowest_regions(tmp_path: Path) -> None:
    path = tmp_path / "t.pftrace"
    text = _command(_SHORT, "-d", "asap", "-m", "asap", "--slowest", "2", "-o", path)
    assert re.search(r"t\.pftrace: \d+ slices and \d+ counter values on \d+ tracks", text)
    assert "slowest regions" in text
    track_events.read(path)
    path = tmp_path / "t.kanata"
    text = _command(_SHORT, "-d", "asap", "-m", "asap", "--format", "kanata", "-o", path)
    assert re.search(r"t\.kanata: \d+ rows, \d+ arrows, of a run of .* us; open it in Konata", text)
    kanata.read(path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--from", "5"], "--from 5: must be a number with a unit of time, as in 12.5us"),
        (["--from", "5us", "--to", "4us"], "--from 5us: is later than --to 4us; exchange them"),
        (["--slowest", "0"], "--slowest 0: must be 1 to 1000000"),
        (["--show-regions", "x"],
         "--show-regions x: must be a number or a range, as in 100-120"),
        (["--show-regions", "7-3"], "--show-regions 3: must be at least 7"),
        (["--format", "json"], "--format json: must be perfetto or kanata"),
        (["--show-regions", "5000"], "none of the regions 5000 to 5000 is within the bounds"),
        (["-o", "/nowhere/t"], "/nowhere/t: the folder /nowhere does not exist"),
        (["-o", _SHORT], "this command already reads or writes this file"),
    ],
)  # fmt: skip
def test_bad_input_gives_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "t.pftrace"
    given = [*arguments] if "-o" in arguments else [*arguments, "-o", path]
    text = _command(_SHORT, "-d", "asap", "-m", "asap", *given, code=2)
    assert sentence in text
    assert len([line for line in text.splitlines() if line.startswith("pmemsim: ")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_program_without_regions_has_no_slowest(tmp_path: Path) -> None:
    trace = Trace(next((FOLDER / "recordings" / "corpus").glob("*.pmt")))
    with pytest.raises(Error, match="the recording has no regions"):
        write_timeline(trace, configure("x86-bare", "asap"), tmp_path / "t", _bounds(slowest=1))


# ---- The cost


def _instructions(design: str, what: Work, path: Path) -> int:
    return whole_instructions(_SHORT, configure(design, "asap"), what, path)


@pytest.mark.long
@pytest.mark.parametrize("design", ["sw-undo", "asap"])
def test_timeline_takes_at_most_twice_the_host_instructions(design: str, tmp_path: Path) -> None:
    plain = _instructions(design, "run", tmp_path / "t")
    formats: tuple[Work, ...] = ("perfetto", "kanata")
    for what in formats:
        assert plain < _instructions(design, what, tmp_path / "t") <= 2 * plain


@pytest.mark.parametrize(
    ("design", "machine"), [("asap", "asap"), ("hops", "pmem-spec"), ("pmem-spec", "pmem-spec")]
)
def test_commit_latencies_are_those_of_the_timeline(
    design: str, machine: str, tmp_path: Path
) -> None:
    # A region that is durable at its end has no slice `commit`. A file has whole nanoseconds.
    events, _ = _perfetto(design, machine, tmp_path / "t.pftrace")
    commits = sorted(each.end - each.begin for each in events.slices if _is_commit(events, each))
    histogram = _run(design, machine).commit_latencies
    found = [begin for begin, count in histogram for _ in range(count)]
    regions = [each for each in events.slices if each.name.startswith("region ")]
    assert len(found) == len(regions)
    for begin, exact in zip([begin for begin in found if begin], commits, strict=True):
        assert 0.968 * (exact - 1) <= begin <= exact + 1


def _is_commit(events: TrackEvents, each: Slice) -> bool:
    return each.name == "commit" and events.path(each.track).endswith("/regions")
