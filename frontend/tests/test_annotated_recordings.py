"""A program's own annotated locks: their records, and the use of these."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import pmemsim
from conftest import HERE, built_toolchain, run
from pmemsim.trace import DETAILS, Trace
from shared import locked
from support import long_except
from support import pmemsim as command

SOURCE = HERE / "recorded" / "annotated_locks.c"
PLAIN = "-DWITHOUT_ANNOTATIONS"
SECTIONS = 100
# How often the locks of annotated_locks.c are acquired and released, as the recording has it.
RECORDED = {
    "ticket": (100, 100),
    "mcs": (100, 100),
    "tried": (100, 100),
    "spin": (100, 100),
    "nested": (400, 400),
    "futex": (100, 100),
    "mutex_inside": (0, 0),  # recorded as the mutex inside it
    "recursive": (100, 100),  # the outermost
    "taken_before": (100, 101),
    "made_taken": (100, 100),
    "waits": (200, 200),
    "inside_regions": (100, 100),
}


@pytest.fixture(scope="session")
def recorded(shared_folder: Path) -> Callable[..., Path]:
    """Record a part of annotated_locks.c, once."""
    folder = shared_folder / "annotated"
    folder.mkdir(exist_ok=True)

    def made(name: str, level: str = "-O2", *flags: str) -> Path:
        program = folder / f"program{level}{''.join(flags)}"
        recording = folder / f"{name}{program.name}.pmt"
        with locked(folder):
            if not program.exists():
                run(built_toolchain() / "bin" / "pmemsim-cc", level, "-g", "-std=gnu11", *flags,
                    SOURCE, "-o", program)  # fmt: skip
            if not recording.exists():
                done = command("record", "-o", recording, "--", program, name)
                assert done.returncode == 0, done.stderr
        return recording

    return made


def locks(recording: Path) -> Counter[tuple[str, bool]]:
    """Return how many mutexes are acquired and released, annotated or not."""
    trace = Trace(recording)
    assert trace.verify() == []
    found: Counter[tuple[str, bool]] = Counter()
    for thread in range(trace.threads):
        records = trace.to_frame(thread)
        records = records[records["kind"] == "sync"]
        for detail, annotated in zip(records["detail"], records["flag"], strict=True):
            found[DETAILS["sync"][detail], bool(annotated)] += 1
    return found


@pytest.mark.parametrize("level", long_except(["-O0", "-O2"], "-O0"))
@pytest.mark.parametrize("name", RECORDED)
def test_each_critical_section_records_one_lock_and_one_unlock(
    recorded: Callable[..., Path], name: str, level: str
) -> None:
    recording = recorded(name, level)
    found = locks(recording)
    assert (found["mutex_lock", True], found["mutex_unlock", True]) == RECORDED[name]
    assert {kind for kind, annotated in found if annotated} <= {"mutex_lock", "mutex_unlock"}
    # Other than those of the library, which a thread takes for itself.
    of_mutexes = found["mutex_lock", False] - (2 * SECTIONS if name == "mutex_inside" else 0)
    assert of_mutexes < 10
    done = command("trace", "verify", recording)
    assert (done.returncode, "good" in done.stdout) == (0, True)


@pytest.mark.parametrize("name", [name for name in RECORDED if RECORDED[name][0] > 0])
def test_regions_declare_their_stores_while_the_lock_is_held(
    recorded: Callable[..., Path], name: str
) -> None:
    """Regions declare their stores while the thread has the lock."""
    trace = Trace(recorded(name))
    holders = 0
    for thread in range(trace.threads):
        records = trace.to_frame(thread)
        annotated = records["detail"][(records["kind"] == "sync") & (records["flag"] == 1)]
        held = int([DETAILS["sync"][detail] for detail in annotated[:1]] == ["mutex_unlock"])
        holders += held
        for kind, detail, flag in zip(
            records["kind"], records["detail"], records["flag"], strict=True
        ):
            if kind == "sync" and flag:
                held += 1 if DETAILS["sync"][detail] == "mutex_lock" else -1
            elif kind == "mark" and DETAILS["mark"][detail] == "log_range":
                assert held > 0 or name == "inside_regions"
        assert held == 0
    assert holders == int(name == "taken_before")


def test_program_without_annotations_records_no_annotated_locks(
    recorded: Callable[..., Path],
) -> None:
    assert not [kind for kind, annotated in locks(recorded("mcs", "-O2", PLAIN)) if annotated]


def test_annotated_program_recorded_twice_gives_the_same_bytes(
    recorded: Callable[..., Path], tmp_path: Path
) -> None:
    first = recorded("mcs")
    program = next(first.parent.glob("program-O2"))
    second = tmp_path / first.name
    assert command("record", "-o", second, "--", program, "mcs").returncode == 0
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", RECORDED)
def test_annotated_locks_run_under_recorded_and_simulated_order(
    recorded: Callable[..., Path], name: str
) -> None:
    """The recording, simulated time, or both may decide which thread gets a lock."""
    for order in ("recorded", "simulated"):
        for design in ("np", "pmem-spec"):
            result = pmemsim.run(
                recorded(name), design=design, machine="asap", overrides={"run.lock_order": order}
            )
            expected = RECORDED[name][0] or 2 * SECTIONS
            assert expected <= result.stats["core.locks"] < expected + 10


@pytest.mark.parametrize("order", ["recorded", "simulated"])
@pytest.mark.parametrize("machine", ["asap", "xeon-optane"])  # with ARM's locks, with x86's
def test_lock_annotations_add_no_simulated_time(
    recorded: Callable[..., Path], machine: str, order: str
) -> None:
    """A lock's atomic accesses are executed, each of them, and nothing else."""
    for name in ("ticket", "spin"):
        annotated, plain = (
            pmemsim.run(
                recorded(name, "-O2", *flags), design="np", machine=machine,
                overrides={"run.lock_order": order},
            )
            for flags in ((), (PLAIN,))
        )  # fmt: skip
        instructions = "core.instructions"
        assert annotated.stats[instructions] == plain.stats[instructions]
        assert annotated.time_ns == pytest.approx(plain.time_ns, rel=0.02)


# ---- PMEM-Spec -------------------------------------------------------------------------------


def test_critical_sections_get_speculation_ids(recorded: Callable[..., Path]) -> None:
    for name in ("ticket", "mcs"):
        annotated, plain = (
            pmemsim.run(recorded(name, "-O2", *flags), design="pmem-spec", machine="pmem-spec")
            for flags in ((), (PLAIN,))
        )
        ids = "pmem_spec.assigned_ids"
        assert plain.stats[ids] < 10
        assert annotated.stats[ids] - plain.stats[ids] == pytest.approx(SECTIONS, abs=1)


def test_stores_in_the_wrong_order_are_found_by_their_ids(recorded: Callable[..., Path]) -> None:
    """If locks don't order stores, only the annotations say whose store was first."""

    def alarms(*flags: str) -> float:
        result = pmemsim.run(
            recorded("inside_regions", "-O2", *flags), design="pmem-spec", machine="pmem-spec",
            overrides={"pmem_spec.releases": "published", "pages.placement": "contiguous"},
        )  # fmt: skip
        stats = result.stats
        return float(stats["pmem_spec.store_alarms"] - stats["pmem_spec.false_store_alarms"])

    assert alarms() > 0
    assert alarms(PLAIN) == 0


@pytest.mark.parametrize("options", [(), ("--stress",)])
@pytest.mark.parametrize("name", ["ticket", "mcs"])
def test_crash_finds_no_violation_in_annotated_programs(
    recorded: Callable[..., Path], name: str, options: tuple[str, ...]
) -> None:
    done = command(
        "crash", recorded(name), "-d", "pmem-spec", "-m", "pmem-spec", "--points", "200", *options,
        "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert runs and all(row["points"] > 0 and row["violations"] == 0 for row in runs)


# ---- Wrong annotations -----------------------------------------------------------------------

WRONG = {
    "several_readers": ("begin_to_read", "several_readers"),
    "never_released": ("take_ticket", ""),
}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", WRONG)
def test_lock_held_by_two_threads_is_refused(
    recorded: Callable[..., Path], tmp_path: Path, name: str, level: str
) -> None:
    program = recorded("ticket", level).parent / f"program{level}"
    output = tmp_path / "trace.pmt"
    done = command("record", "-o", output, "--", program, name)
    assert done.returncode == 2
    here, there = WRONG[name]
    assert f"({here}), while thread " in done.stderr and f"({there}" in done.stderr
    assert "annotated_locks.c:" in done.stderr
    assert (
        "annotate the function that releases or re-initialises it with PM_RELEASES" in done.stderr
    )
    assert list(tmp_path.iterdir()) == []
    # Annotations aren't checked when nothing is recorded.
    assert subprocess.run([program, name], capture_output=True, check=False).returncode == 0
