"""`pmemsim calibrate`: fitting by closed forms, what can't be measured, the command as a whole."""

from __future__ import annotations

import dataclasses
import json
import platform
import sys
from pathlib import Path

import pytest

from pmemsim.calibration import calibrate, measurements
from pmemsim.calibration import processor as processors
from pmemsim.calibration.fit import Fitted, fit
from pmemsim.calibration.measurements import (
    LOAD_SIZES,
    MEMORY_SIZE,
    PAGE_COUNTS,
    Benchmark,
    Measurement,
    Measurements,
    benchmarks,
    size_name,
    summarise,
)
from pmemsim.calibration.preset import BASE, preset_text
from pmemsim.calibration.processor import Processor, this_processor
from pmemsim.errors import Error
from pmemsim.presets import load_preset
from pmemsim.simulation import configure
from support import pmemsim

KIB, MIB = 1 << 10, 1 << 20

# A machine in round numbers: 4 GHz, caches of 1, 4 and 15 ns, 200 ns more to memory.
PROCESSOR = Processor(
    model="Round 4000",
    flags=frozenset({"clwb", "clflushopt"}),
    cpus=(0, 1),
    numa_node=0,
    cache_bytes={1: 32 * KIB, 2: 1 * MIB, 3: 32 * MIB},
    cache_ways={1: 8, 2: 16, 3: 11},
)
L1, L2, SHARED = 1.0, 3.0, 11.0
SECOND, WALK = 2.0, 15.0
FIRST_PAGES, SECOND_PAGES = 64, 1536
CONTROLLER = 10 + 2  # front end and response: pm.front_latency, path.response_latency
DRAM = 14.16 * 3 + 3.332
REQUEST, FLUSH, BACK = 50.0, 30.0, 20.0
WAY = L1 + L2 + SHARED + REQUEST + CONTROLLER


def wait_for_page(pages: float) -> float:
    if pages <= FIRST_PAGES:
        return 0
    return (1 - FIRST_PAGES / pages) * SECOND + max(0.0, 1 - SECOND_PAGES / pages) * WALK


def load(size: int) -> float:
    if size <= 32 * KIB:
        time = L1
    elif size <= 1 * MIB:
        time = L1 + L2
    elif size <= 16 * MIB:
        time = L1 + L2 + SHARED
    else:
        time = WAY + DRAM + BACK
    return time + wait_for_page(size / 4096)


def page_load(pages: int) -> float:
    """Pages that don't fit in a TLB all miss it, because they are loaded in a circle."""
    time = L1 if pages <= 512 else L1 + L2
    if pages > FIRST_PAGES:
        time += SECOND
    return time + (WALK if pages > SECOND_PAGES else 0)


def figures() -> dict[str, float]:
    """Return the figures that would be measured on the machine."""
    times = {
        "addition": 0.25,
        "independent instruction": 0.05,
        "multiplication": 0.75,
        "division": 6.0,
        "locked addition": 5.0,
        "branch, always taken": 0.5,
        "branch, random": 0.5 + (L1 + 0.25 + 15 * 0.25) / 2,
        measurements.INDEPENDENT: load(MEMORY_SIZE) / 12,
        measurements.CLWB: WAY + FLUSH + 0.5,
        measurements.CLWB_MFENCE: WAY + FLUSH + 1,
        measurements.LOAD_AFTER: WAY + FLUSH + 2,
        "store, clflushopt, sfence": WAY + FLUSH + 40,
        "store, clflush, sfence": WAY + FLUSH + 50,
        measurements.NONTEMPORAL: 8 * 0.25 + SHARED + REQUEST + CONTROLLER,
        measurements.READ.format(1): 8.0,
        measurements.READ.format(2): 1.7,
        measurements.WRITE.format(1): 5.0,
        measurements.WRITE.format(2): 3.0,
        measurements.BEHIND_LOCKED.format(1): WAY + FLUSH + 5 + L1 + L2,
        measurements.BEHIND_LOCKED.format(33): WAY + FLUSH + 5 + 33 * (L1 + L2),
        measurements.HAND_OVER: 2 * (L1 + L2 + SHARED + 40),
    }
    for kind, room in (("instructions", 224), ("loads", 72), ("stores", 56)):
        times |= {
            measurements.BETWEEN.format(count, kind): 200.0 if count <= room else 390.0
            for count in measurements.BETWEEN_COUNTS[kind]
        }
    times |= {measurements.LOAD.format(size_name(size)): load(size) for size in LOAD_SIZES}
    return times | {measurements.PAGES.format(n): page_load(n) for n in PAGE_COUNTS}


def measured(times: dict[str, float], **missing: str) -> Measurements:
    found = {
        name: Measurement(Benchmark(name, "loop", 1), ns, ns, ns, 0.0) for name, ns in times.items()
    }
    return Measurements(found, missing)


def fitted(times: dict[str, float], processor: Processor = PROCESSOR) -> dict[str, str]:
    found = fit(processor, measured(times), load_preset("machine", BASE))
    assert all(each.source for each in found)
    assert len({each.key for each in found}) == len(found)
    return {each.key: each.value for each in found}


def ns(text: str) -> float:
    return float(text.removesuffix("ns"))


@pytest.mark.quick
def test_fit_recovers_the_measured_machine() -> None:
    found = fitted(figures())
    assert found["core.count"] == "2"
    assert found["core.frequency"] == "4000MHz"
    assert found["core.width"] == "5"
    assert found["core.locked_latency"] == "19cycles"
    assert found["core.branch_penalty"] == "15cycles"
    assert found["core.mshrs"] == "12"
    assert found["core.rob_entries"] == "280"  # with the two instructions of a loop of eight
    assert found["core.load_queue_entries"] == "72"
    assert found["core.store_queue_entries"] == "56"
    assert found["core.clwb_evicts"] == "false"
    assert found["core.loads_pass_locks"] == "false"
    assert (found["tlb.entries"], found["tlb.second_entries"]) == ("64", "1536")
    assert found["l1.size"] == "32KiB"
    assert found["shared.size"] == "16384KiB"  # the size that the loads show, not the system's
    assert found["shared.ways"] == "16"  # 11 don't divide it
    times = {
        "l1.latency": L1,
        "l2.latency": L2,
        "shared.latency": SHARED,
        "shared.snoop_latency": 40,
        "tlb.second_latency": SECOND,
        "tlb.walk_latency": WALK,
        "path.request_latency": REQUEST,
        "path.flush_latency": FLUSH,
        "dram.back_latency": BACK,
        "pm.back_latency": BACK,
    }
    assert {key: ns(found[key]) for key in times} == pytest.approx(times, abs=0.01)
    assert found["dram.channels_per_controller"] == "2"
    assert found["dram.interleaving"] == found["pm.interleaving"] == "line"
    assert "pm.device" not in found
    # In order, a line takes more than half of what it takes at random.
    assert "prefetch.streams" not in found


def test_optional_features_of_processors_are_fitted_from_measurements() -> None:
    times = figures()
    times[measurements.READ.format(1)] = 4.0
    times[measurements.LOAD_AFTER] = times[measurements.CLWB_MFENCE] + 100
    times[measurements.BEHIND_LOCKED.format(33)] = WAY + FLUSH + 20
    found = fitted(times)
    assert found["core.clwb_evicts"] == "true"
    assert found["core.loads_pass_locks"] == "true"
    open_row = WAY + BACK + 14.16 + 3.332
    assert int(found["prefetch.distance"]) == round(open_row / 4)
    assert found["prefetch.registers"] == found["prefetch.distance"]
    without = {name: ns for name, ns in times.items() if "pages" not in name}
    flat = {measurements.PAGES.format(n): L1 if n <= 512 else L1 + L2 for n in PAGE_COUNTS}
    assert not any(key.startswith("tlb.") for key in fitted(without | flat))


def test_l3_shared_with_a_neighbour_is_fitted_smaller() -> None:
    times = figures()
    for size in LOAD_SIZES:
        if 4 * MIB <= size < MEMORY_SIZE:
            times[measurements.LOAD.format(size_name(size))] = 190.0
    found = fitted(times)
    assert found["shared.size"] == "3072KiB"
    assert ns(found["shared.latency"]) == pytest.approx(SHARED, abs=0.01)


def test_dax_file_gives_its_own_pm_latencies() -> None:
    times = figures()
    times[measurements.PERSISTENT_LOAD] = load(MEMORY_SIZE) + 170
    found = fitted(times)
    assert found["pm.device"] == "fixed"
    # 10 ns are the default of the back end, 3.332 the burst.
    assert ns(found["pm.read_latency"]) == pytest.approx(DRAM + BACK + 170 - 10 - 3.332, abs=0.02)
    assert ns(found["pm.write_latency"]) == pytest.approx(16 * 3.0 - 3.332, abs=0.02)
    assert "pm.channels_per_controller" not in found


def test_processor_without_clwb_is_fitted_with_other_flushes() -> None:
    times = figures()
    del times[measurements.CLWB], times[measurements.CLWB_MFENCE], times[measurements.LOAD_AFTER]
    found = fitted(times)
    assert ns(found["path.flush_latency"]) == pytest.approx(FLUSH + 39.5, abs=0.02)
    assert "core.clwb_evicts" not in found
    del times["store, clflushopt, sfence"], times["store, clflush, sfence"]
    with pytest.raises(Error, match="no instruction that writes a line back"):
        fitted(times)


def test_single_processor_gets_no_snoop_latency() -> None:
    times = figures()
    del times[measurements.HAND_OVER]
    assert "shared.snoop_latency" not in fitted(times)


def test_fit_without_memory_measurements_or_cache_sizes_is_refused() -> None:
    times = figures()
    name = measurements.LOAD.format("256 MiB")
    del times[name]
    with pytest.raises(
        Error,
        match=f"{name}: it wasn't measured; a machine can't be fitted without this measurement",
    ):
        fitted(times)
    with pytest.raises(Error, match="does not report the size of the level 2 cache"):
        fitted(figures(), dataclasses.replace(PROCESSOR, cache_bytes={1: 32 * KIB}))


def test_measurements_of_a_busy_machine_are_limited_to_legal_values() -> None:
    times = figures() | {"independent instruction": 0.001, measurements.INDEPENDENT: 0.1}
    found = fitted(times)
    assert (found["core.width"], found["core.mshrs"]) == ("16", "64")


def test_measurements_of_an_impossible_machine_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["pmemsim.calibration.calibrate"]
    monkeypatch.setattr(module, "measure", lambda *_: measured({}))
    monkeypatch.setattr(module, "fit", lambda *_: [Fitted("core.width", "0", "nonsense")])
    output = tmp_path / "mine.yaml"
    with pytest.raises(
        Error, match=r"describe no possible machine \(.*core.width.*; run the command again"
    ):
        calibrate(output)
    assert not output.exists()


def test_calibrated_preset_lists_noisy_and_missing_measurements(tmp_path: Path) -> None:
    times = figures()
    all_of_it = measured(times, clwb="the processor does not support clwb")
    noisy = dataclasses.replace(all_of_it.found["addition"], spread=0.3)
    all_of_it = dataclasses.replace(all_of_it, found=all_of_it.found | {"addition": noisy})
    fits = fit(PROCESSOR, all_of_it, load_preset("machine", BASE))
    text = preset_text('mine: "x"', PROCESSOR, fits, all_of_it, "2026-01-02")
    assert "more than a tenth:\n#   addition\n" in text
    assert "# Not measured: clwb: the processor does not support clwb" in text
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    preset = load_preset("machine", path)
    assert preset.name == 'mine: "x"'
    assert len(configure("x86-bare", path).values) > len(fits)
    own = [setting for setting in preset.settings if setting.key == "core.frequency"]
    assert own[-1].source == "a dependent addition: 0.250 ns"


def test_figures_are_medians_with_the_spread_of_their_middle_half() -> None:
    found = summarise(Benchmark("x", "x", 1), [4.0, 1.0, 2.0, 3.0, 100.0])
    assert (found.median_ns, found.least_ns, found.most_ns) == (3.0, 1.0, 100.0)
    assert found.spread == pytest.approx((4 - 2) / 3)
    assert not found.is_sure


def test_benchmarks_of_missing_features_are_not_run(tmp_path: Path) -> None:
    alone = dataclasses.replace(PROCESSOR, flags=frozenset(), cpus=(0,))
    wanted = [
        each
        for each in benchmarks(alone)
        if each.needs or each.threads > 1 or each.loop == "hand_over"
    ]
    assert wanted
    found = measurements.measure(tmp_path / "not run", alone, wanted)
    assert not found.found
    assert found.missing[measurements.CLWB] == "the processor does not support clwb"
    assert found.missing[measurements.HAND_OVER] == "requires 2 processors"


def test_a_benchmark_that_hangs_or_fails_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "_TIMEOUT_S", 0.2)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 20\n")
    program.chmod(0o755)
    wanted = [Benchmark("slow", "x", 1)]
    found = measurements.measure(program, PROCESSOR, wanted)
    assert "the machine may be busy" in found.missing["slow"]
    program.write_text("#!/bin/sh\necho no memory >&2; exit 2\n")
    with pytest.raises(Error, match="slow: could not be measured: no memory"):
        measurements.measure(program, PROCESSOR, wanted)


def test_processors_are_described_by_the_system(tmp_path: Path) -> None:
    text = "processor: 0\nmodel name\t: Some CPU\nflags\t\t: clwb hypervisor\n\nprocessor: 1\n"
    found = processors._cpuinfo(text)
    assert found["model name"] == "Some CPU"
    for index, (level, kind, size) in enumerate(
        [
            (1, "Data", "48K"),
            (1, "Instruction", "32K"),
            (2, "Unified", "2048K"),
            (3, "Unified", "1G"),
        ]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        (folder / "type").write_text(f"{kind}\n")
        (folder / "size").write_text(f"{size}\n")
        (folder / "ways_of_associativity").write_text("12\n")
    sizes, ways = processors._caches(tmp_path)
    assert sizes == {1: 48 * KIB, 2: 2 * MIB, 3: 1 << 30}
    assert ways == {1: 12, 2: 12, 3: 12}
    assert (
        "virtual machine"
        in dataclasses.replace(PROCESSOR, flags=frozenset({"hypervisor"})).description()
    )


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(Error, match="measures only x86-64 processors, and this one is aarch64"):
        this_processor()


@pytest.mark.long
def test_a_whole_calibration_writes_a_machine_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["pmemsim.calibration.calibrate"]

    def fewer(processor: Processor, file: Path | None = None) -> list[Benchmark]:
        return [
            dataclasses.replace(each, recorded=min(each.recorded, 256))
            for each in benchmarks(processor, file)
        ]

    monkeypatch.setattr(measurements, "ROUNDS", 1)
    monkeypatch.setattr(measurements, "REPETITIONS", 2)
    monkeypatch.setattr(module, "benchmarks", fewer)
    output = tmp_path / "mine.yaml"
    found = calibrate(output)
    simulated = {name for name, each in found.measured.found.items() if each.benchmark.recorded}
    assert set(found.simulated_ns) == simulated
    assert min(found.simulated_ns.values()) > 0
    assert json.loads(json.dumps(found.to_dict()))["parameters"]["core.count"]["value"]
    assert load_preset("machine", output).name == "mine"
    assert configure("sw-undo", output).values
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.yaml"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["-o", "mine.txt"],
            "mine.txt: the name of a machine's file must end with .yaml; write mine.txt.yaml",
        ),
        (["-o", "nowhere/mine.yaml"], "the folder nowhere does not exist"),
        (["-o", "m.yaml", "--json", "nowhere/m.json"], "the folder nowhere does not exist"),
        (["-o", "m.yaml", "--json", "m.yaml"], "m.yaml"),
        (["-o", "m.yaml", "--dax", "nowhere"], "--dax nowhere: no such folder"),
        (
            ["-o", "m.yaml", "--dax", "."],
            "name a folder with 2 GiB of free space on a file system mounted with",
        ),
        ([], "--output"),
    ],
)
def test_calibrate_refuses_bad_arguments(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    finished = pmemsim("calibrate", *arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert list(tmp_path.iterdir()) == []
