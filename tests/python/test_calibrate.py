"""`pmemsim calibrate`: fitting by closed forms, files of measurements, the tool, the command."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from machine_tables import RESULTS
from pmemsim.calibration import (
    calibrate,
    export_tool,
    measuring,
    read_measurements,
    write_measurements,
)
from pmemsim.calibration.comparison import simulate_all
from pmemsim.calibration.fit import Fit, Fitted, fit
from pmemsim.calibration.measurements import Measurement, Measurements, size_name
from pmemsim.calibration.measuring import measure_here, run_tool
from pmemsim.calibration.preset import BASE, preset_text
from pmemsim.calibration.processor import Processor
from pmemsim.errors import Error
from pmemsim.presets import load_preset
from pmemsim.simulation import configure
from pmemsim.toolchain import native_compiler
from support import ROOT, pmemsim

KIB, MIB = 1 << 10, 1 << 20
SERVER = ROOT / "benchmarks" / "measurements" / "xeon-2023.json"

# A machine in round numbers: 4 GHz, caches of 1, 4 and 15 ns, 200 ns more to memory.
PROCESSOR = Processor(
    model="Round 4000",
    flags=frozenset({"clwb", "clflushopt"}),
    cpus=2,
    numa_node=0,
    cache_bytes={1: 32 * KIB, 2: 1 * MIB, 3: 32 * MIB},
    cache_ways={1: 8, 2: 16, 3: 11},
)
CYCLE, L1, L2, SHARED = 0.25, 1.0, 3.0, 11.0
SECOND, WALK = 2.0, 15.0
FIRST_PAGES, SECOND_PAGES = 64, 1536
CONTROLLER = 10 + 2  # front end and response: pm.front_latency, path.response_latency
DRAM = 14.16 * 3 + 3.332
REQUEST, FLUSH, BACK = 50.0, 30.0, 20.0
WAY = L1 + L2 + SHARED + REQUEST + CONTROLLER
ROUND_TRIP = WAY + FLUSH + 2 * CYCLE
LOAD_SIZES = [16 * KIB, 128 * KIB, 512 * KIB] + [
    n * MIB for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 256)
]
PAGE_COUNTS = (16, 32, 48, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192)


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


def figure(name: str, loop: str, ns: float, *options: str, threads: int = 1) -> Measurement:
    return Measurement(name, loop, ns, ns, ns, 0.0, options, threads)


def write_backs() -> list[Measurement]:
    few, many = ("bytes=16384", "lines=1"), ("bytes=262144", "lines=64")
    behind = ROUND_TRIP + 5
    return [
        figure("clwb", "store_clwb_sfence", ROUND_TRIP, *few),
        figure("same line", "store_clwb_sfence", 400, "bytes=64", "lines=1"),
        figure("64 lines", "store_clwb_sfence", (ROUND_TRIP + 63 * 12) / 64, *many),
        figure("clwb, mfence", "store_clwb_mfence", ROUND_TRIP + 1, *few),
        figure("load after", "load_after_clwb", ROUND_TRIP + 2, *few),
        figure("clflushopt", "store_clflushopt_sfence", ROUND_TRIP + 40, *few),
        figure("clflush", "store_clflush_sfence", ROUND_TRIP + 50, *few),
        figure("nt", "nontemporal_sfence", 8 * CYCLE + SHARED + REQUEST + CONTROLLER, *few),
        figure("nt, 8 lines", "nontemporal_sfence", 20, "bytes=262144", "lines=8"),
        figure("1 load", "load_behind_locked", behind + L1 + L2, "lines=1"),
        figure("33 loads", "load_behind_locked", behind + 33 * (L1 + L2), "lines=33"),
    ]


def figures() -> list[Measurement]:
    """Return the figures that would be measured on the machine."""
    found = [
        figure("addition of registers", "add_register", CYCLE),
        figure("multiplication", "multiply", 3 * CYCLE),
        figure("independent instruction", "instruction", 0.05),
        figure("division", "divide", 12 * CYCLE),
        figure("locked addition", "locked", 5.0),
        figure("branch, always taken", "even_branch", 0.5),
        figure("branch, random", "random_branch", 0.5 + (L1 + CYCLE + 15 * CYCLE) / 2),
        figure("independent", "independent_load", load(256 * MIB) / 12, f"bytes={256 * MIB}"),
        figure("read 1", "read_bandwidth", 8.0),
        figure("read 2", "read_bandwidth", 1.7, threads=2),
        figure("write 1", "write_bandwidth", 5.0),
        figure("write 2", "write_bandwidth", 3.0, threads=2),
        figure("hand over", "hand_over", 2 * (L1 + L2 + SHARED + 40), threads=2),
        *write_backs(),
    ]
    for kind, counts, room in (
        ("instructions", (96, 128, 160, 192, 224, 256, 320, 384, 512), 224),
        ("loads", (32, 48, 64, 72, 96, 128, 160, 192, 256), 72),
        ("stores", (32, 40, 48, 56, 64, 72, 96, 128), 56),
    ):
        found += [
            figure(
                f"{count} {kind}",
                f"{kind}_between",
                200.0 if count <= room else 390.0,
                f"lines={count}",
            )
            for count in counts
        ]
    found += [
        figure(f"load, {size_name(size)}", "load", load(size), f"bytes={size}")
        for size in LOAD_SIZES
    ]
    return found + [
        figure(f"load of {count} pages", "page_load", page_load(count), f"bytes={count * 4096}")
        for count in PAGE_COUNTS
    ]


def measured(
    found: Iterable[Measurement],
    processor: Processor = PROCESSOR,
    missing: dict[str, str] | None = None,
) -> Measurements:
    by_name = {each.name: each for each in found}
    return Measurements(processor, "2026-01-02", by_name, missing or {})


def with_times(**times: float) -> list[Measurement]:
    """Return the figures with other times, by loop."""
    return [
        dataclasses.replace(each, median_ns=times.get(each.loop, each.median_ns))
        for each in figures()
    ]


def with_spread(spread: float, *loops: str) -> list[Measurement]:
    return [
        dataclasses.replace(each, spread=spread) if each.loop in loops else each
        for each in figures()
    ]


def fit_of(found: Iterable[Measurement], processor: Processor = PROCESSOR) -> Fit:
    return fit(measured(found, processor), load_preset("machine", BASE))


def fitted(found: Iterable[Measurement], processor: Processor = PROCESSOR) -> dict[str, str]:
    values = fit_of(found, processor).parameters
    assert all(each.source for each in values)
    assert len({each.key for each in values}) == len(values)
    return {each.key: each.value for each in values}


def ns(text: str) -> float:
    return float(text.removesuffix("ns"))


@pytest.mark.quick
def test_fit_recovers_the_measured_machine() -> None:
    found = fitted(figures())
    assert found["core.count"] == "2"
    assert found["core.frequency"] == "4000MHz"
    assert found["core.width"] == "5"
    assert found["core.locked_latency"] == "19cycles"
    assert found["core.division_latency"] == "11cycles"
    assert found["core.branch_penalty"] == "15cycles"
    assert found["core.mshrs"] == "12"
    # With the instructions of the loops and the two loads.
    assert found["core.rob_entries"] == str(224 * 10 // 8 + 10)
    assert found["core.load_queue_entries"] == str(72 + 4)
    assert found["core.store_queue_entries"] == str(56 + 2)
    assert found["core.flush_registers"] == str(int(ROUND_TRIP / 12) + 2)
    assert found["core.write_combining_buffers"] == "15"
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
        "path.nontemporal_latency": 0,
        "core.flush_interval": 12,
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
    sequential = dataclasses.replace(figure("read 1", "read_bandwidth", 4.0))
    found = fitted(
        [
            *with_times(load_after_clwb=ROUND_TRIP + 101),
            sequential,
            figure("33 loads", "load_behind_locked", ROUND_TRIP + 20, "lines=33"),
        ]
    )
    assert found["core.clwb_evicts"] == "true"
    assert found["core.loads_pass_locks"] == "true"
    open_row = WAY + BACK + 14.16 + 3.332
    assert int(found["prefetch.distance"]) == round(open_row / 4)
    assert found["prefetch.registers"] == found["prefetch.distance"]


def test_a_machine_without_tlb_misses_is_fitted_without_tlb() -> None:
    flat = [
        figure(f"load of {n} pages", "page_load", L1 if n <= 512 else L1 + L2, f"bytes={n * 4096}")
        for n in PAGE_COUNTS
    ]
    assert not any(key.startswith("tlb.") for key in fitted([*figures(), *flat]))


def test_tlb_of_entries_between_two_numbers_of_pages_is_fitted_by_the_share_of_misses() -> None:
    # 96 pages are in 22 sets of 4 entries. 8 sets have 5 pages, which all miss.
    some = figure("load of 96 pages", "page_load", L1 + 40 / 96 * SECOND, f"bytes={96 * 4096}")
    found = sorted([*figures(), some], key=lambda each: each.number("bytes"))
    assert fitted(found)["tlb.entries"] == "88"


def test_walks_are_fitted_to_huge_pages_where_the_loads_of_pages_vary() -> None:
    found = [
        dataclasses.replace(each, spread=0.3)
        if each.loop == "page_load" and each.number("bytes") > 1536 * 4096
        else each
        for each in figures()
    ]
    huge = WAY + DRAM + BACK + (1 - 64 / 128) * SECOND
    found.append(figure("huge", "load", huge, f"bytes={256 * MIB}", "huge"))
    values = fitted(found)
    # The small pages' loads wait for the second TLB with all but 64 of 65,536 pages.
    assert ns(values["tlb.walk_latency"]) == pytest.approx(WALK, abs=0.02)
    assert ns(values["dram.back_latency"]) == pytest.approx(BACK, abs=0.01)


def reading_threads(*lines_in_flight: float) -> list[Measurement]:
    """Return times of 1, 2, 4, ... threads that have so many lines in flight each."""
    latency = WAY + DRAM + BACK
    return [
        figure(f"read {2**i}", "read_bandwidth", latency / lines / 2**i, threads=2**i)
        for i, lines in enumerate(lines_in_flight)
    ]


def test_threads_of_one_core_are_found_where_more_threads_still_read_faster() -> None:
    found = fitted([*figures(), *reading_threads(12, 6, 6, 6)])
    assert found["core.threads_per_core"] == "2"
    # Both threads of the core write a line in 3 ns, in a round trip of 75 ns.
    assert found["core.write_combining_buffers"] == "15"
    for alone in (reading_threads(12, 12, 11, 11), reading_threads(12, 12, 6, 3)):
        assert "core.threads_per_core" not in fitted([*figures(), *alone])


def test_an_l1_whose_lines_a_loop_does_not_get_all_loses_a_way() -> None:
    whole = figure("load of 512 pages", "page_load", L1 + L2 + SECOND, f"bytes={512 * 4096}")
    found = fitted([*figures(), whole])
    assert (found["l1.size"], found["l1.ways"]) == ("28KiB", "7")


def test_l3_shared_with_a_neighbour_is_fitted_smaller() -> None:
    found = [
        dataclasses.replace(each, median_ns=190.0)
        if each.loop == "load" and 4 * MIB <= each.number("bytes") < 256 * MIB
        else each
        for each in figures()
    ]
    values = fitted(found)
    assert values["shared.size"] == "3072KiB"
    assert ns(values["shared.latency"]) == pytest.approx(SHARED, abs=0.01)


def test_l3_of_any_size_is_fitted() -> None:
    sizes = [300 * MIB, 600 * MIB, 1200 * MIB]
    large = [
        figure(
            f"load, {size_name(size)}",
            "load",
            (L1 + L2 + SHARED if size <= 300 * MIB else WAY + DRAM + BACK)
            + wait_for_page(size / 4096),
            f"bytes={size}",
        )
        for size in [24 * MIB, 32 * MIB, 64 * MIB, 256 * MIB, *sizes]
    ]
    processor = dataclasses.replace(
        PROCESSOR,
        cache_bytes={1: 32 * KIB, 2: MIB, 3: 300 * MIB},
        cache_ways={1: 8, 2: 16, 3: 20},
    )
    found = fitted([*figures(), *large], processor)
    assert (found["shared.size"], found["shared.ways"]) == (f"{300 * KIB}KiB", "20")
    assert ns(found["dram.back_latency"]) == pytest.approx(BACK, abs=0.02)


def test_the_fastest_access_decides_the_path_that_all_share() -> None:
    slow = [
        dataclasses.replace(each, median_ns=each.median_ns + 100)
        if each.name in ("nt", "clwb")
        else each
        for each in figures()
    ]
    found = fitted(slow)
    assert ns(found["path.request_latency"]) == pytest.approx(REQUEST + BACK, abs=0.01)
    assert ns(found["dram.back_latency"]) == 0
    assert ns(found["path.flush_latency"]) == pytest.approx(FLUSH + 100 - BACK, abs=0.01)
    assert ns(found["path.nontemporal_latency"]) == pytest.approx(100 - BACK, abs=0.01)


def test_dax_file_gives_its_own_pm_latencies() -> None:
    more = load(256 * MIB) + 170
    found = fitted(
        [*figures(), figure("persistent", "persistent_load", more, f"bytes={256 * MIB}")]
    )
    assert found["pm.device"] == "fixed"
    # 10 ns are the default of the back end, 3.332 the burst.
    assert ns(found["pm.read_latency"]) == pytest.approx(DRAM + BACK + 170 - 10 - 3.332, abs=0.02)
    assert ns(found["pm.write_latency"]) == pytest.approx(16 * 3.0 - 3.332, abs=0.02)
    assert "pm.channels_per_controller" not in found


def without(*loops: str) -> list[Measurement]:
    return [each for each in figures() if each.loop not in loops]


def test_processor_without_clwb_is_fitted_with_other_flushes() -> None:
    clwb = ("store_clwb_sfence", "store_clwb_mfence", "load_after_clwb")
    found = fitted(without(*clwb))
    assert ns(found["path.flush_latency"]) == pytest.approx(FLUSH + 40, abs=0.02)
    assert "core.clwb_evicts" not in found
    with pytest.raises(Error, match="no instruction that writes a line back was measured"):
        fitted(without(*clwb, "store_clflushopt_sfence", "store_clflush_sfence"))


def test_single_processor_gets_no_snoop_latency() -> None:
    found = fit(
        measured(without("hand_over"), missing={"hand a line over": "requires 2 processors"}),
        load_preset("machine", BASE),
    )
    assert all(each.key != "shared.snoop_latency" for each in found.parameters)
    assert "requires 2 processors" in found.refused["shared.snoop_latency"]


def test_fit_without_loads_or_cache_sizes_is_refused() -> None:
    with pytest.raises(
        Error, match="the loop load was not measured; a machine can't be fitted without this"
    ):
        fitted(without("load"))
    with pytest.raises(Error, match="does not report the size of the level 2 cache"):
        fitted(figures(), dataclasses.replace(PROCESSOR, cache_bytes={1: 32 * KIB}))


def test_prefetcher_is_fitted_where_its_times_vary_by_less_than_half() -> None:
    def varying(spread: float) -> list[Measurement]:
        in_order = figure("read 1", "read_bandwidth", 4.0)
        return [
            dataclasses.replace(each, spread=spread)
            if each.loop in ("read_bandwidth", "independent_load")
            else each
            for each in [*figures(), in_order]  # the last of a name counts
        ]

    found = {each.key: each for each in fit_of(varying(0.5)).parameters}
    assert found["prefetch.distance"].value == fitted(varying(0))["prefetch.distance"]
    assert found["prefetch.distance"].source.startswith("read a line, 1 threads: about 4.00 ns;")
    assert "varies by 51%" in fit_of(varying(0.51)).refused["prefetch.streams"]


def test_figures_that_vary_decide_nothing() -> None:
    found = fit_of(with_spread(0.16, "instruction", "even_branch"))
    assert found.refused.keys() == {
        "core.width",
        "core.threads_per_core",
        "prefetch.streams",
    }
    assert (
        found.refused["core.width"]
        == "'independent instruction' varies by 16% between repetitions, more than 15%"
    )
    assert "no prefetcher shows" in found.refused["prefetch.streams"]
    for name, loop in (("nt", "nontemporal_sfence"), ("clwb", "store_clwb_sfence")):
        with pytest.raises(
            Error,
            match=f"'{name}' varies by 40% between repetitions, more than 15%; a machine can't be",
        ):
            fit_of(with_spread(0.4, loop))


def test_an_l3_whose_loads_vary_is_not_taken_for_memory() -> None:
    def noisy(spread: float, ns: float) -> list[Measurement]:
        return [
            dataclasses.replace(each, median_ns=ns, spread=spread)
            if each.loop == "load" and 2 * MIB <= each.number("bytes") <= 16 * MIB
            else each
            for each in figures()
        ]

    with pytest.raises(Error, match="'load, 2 MiB' varies by 50% between repetitions"):
        fit_of(noisy(0.5, 15.0))
    # Steady loads that take memory's time show that no L3 is left.
    found = fitted(noisy(0.0, 210.0))
    assert (found["shared.size"], found["shared.latency"]) == ("2048KiB", "0ns")


def test_chains_that_contradict_one_another_are_refused() -> None:
    """An addition that the processor removes when it renames registers takes no cycle."""
    with pytest.raises(
        Error, match=r"different cycles \(multiplication: 0.250 ns, addition of registers: 0.124"
    ):
        fitted(with_times(add_register=0.124))
    found = fitted(
        [
            dataclasses.replace(each, median_ns=0.124, spread=0.4)
            if each.loop == "add_register"
            else each
            for each in figures()
        ]
    )
    assert found["core.frequency"] == "4000MHz"


def test_measurements_of_a_busy_machine_are_limited_to_legal_values() -> None:
    found = fitted(with_times(instruction=0.001, independent_load=0.1))
    assert (found["core.width"], found["core.mshrs"]) == ("16", "64")


def test_measurements_of_an_impossible_machine_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["pmemsim.calibration.calibrate"]
    monkeypatch.setattr(module, "fit", lambda *_: Fit([Fitted("core.width", "0", "x")], {}))
    output = tmp_path / "mine.yaml"
    with pytest.raises(
        Error, match=r"describe no possible machine \(.*core.width.*; measure again"
    ):
        calibrate(output, measured=measured(figures()))
    assert not output.exists()


def test_calibrated_preset_lists_noisy_and_missing_measurements(tmp_path: Path) -> None:
    all_of_it = measured(
        with_spread(0.3, "instruction"), missing={"clwb": "the processor does not support clwb"}
    )
    fits = fit(all_of_it, load_preset("machine", BASE))
    text = preset_text('mine: "x"', fits, all_of_it)
    assert "more than 15%:\n#   independent instruction: 30%\n" in text
    assert "# Not fitted: core.width: 'independent instruction' varies by 30%" in text
    assert "# Not measured: clwb: the processor does not support clwb." in text
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    preset = load_preset("machine", path)
    assert preset.name == 'mine: "x"'
    assert len(configure("x86-bare", path).values) > len(fits.parameters)
    own = [setting for setting in preset.settings if setting.key == "core.frequency"]
    assert "multiplication: 0.250 ns" in own[-1].source


# ---- Files of measurements ----------------------------------------------------------------------


def test_a_file_of_measurements_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = measured(figures(), missing={"clwb": "the processor does not support clwb"})
    file = tmp_path / "m.json"
    write_measurements(found, file)
    assert read_measurements(file) == found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda given: given.pop("processor"), "the key 'processor' is missing"),
        (lambda given: given["measurements"][0].pop("loop"), "the key 'loop' is missing"),
        (
            lambda given: given["measurements"][1].update(median_ns=-1),
            "the times of 'multiplication' are no least, median and most time",
        ),
        (
            lambda given: given["measurements"].append(given["measurements"][0]),
            "two measurements are named 'addition of registers'",
        ),
        (lambda given: given.update(measurements=[{"name": 3}]), "the key 'median_ns' is missing"),
    ],
)
def test_other_files_are_refused(change: object, sentence: str, tmp_path: Path) -> None:
    given = measured(figures()).to_dict()
    change(given)  # type: ignore[operator]
    file = tmp_path / "m.json"
    file.write_text(json.dumps(given))
    finished = pmemsim("calibrate", "--from", str(file), cwd=tmp_path)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert "write the file by `pmemsim calibrate --measure-only`" in finished.stderr


def test_text_that_is_no_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text("nothing\n")
    with pytest.raises(Error, match=r"m.json: .*write the file by"):
        read_measurements(file)
    with pytest.raises(Error, match=r"missing.json: No such file or directory; name a file"):
        read_measurements(tmp_path / "missing.json")


# ---- The server of 2023 -------------------------------------------------------------------------


def test_the_preset_of_the_server_is_what_the_command_makes() -> None:
    found = read_measurements(SERVER)
    text = preset_text("xeon-2023", fit(found, load_preset("machine", BASE)), found)
    file = ROOT / "python" / "pmemsim" / "configs" / "machines" / "xeon-2023.yaml"
    assert file.read_text() == text


# test_loops_are_still_simulated_as_committed simulates all loops.
def test_committed_times_of_the_server_are_as_measured() -> None:
    ratios = {
        each["name"]: each["simulated_ns"] / each["median_ns"]
        for each in json.loads((RESULTS / SERVER.name).read_text())["measurements"]
        if each["spread"] <= 0.15 and each["simulated_ns"]
    }
    assert len(ratios) > 40
    assert {name: ratio for name, ratio in ratios.items() if not 0.75 <= ratio <= 1.25} == {}
    near = [ratio for ratio in ratios.values() if 0.85 <= ratio <= 1.15]
    assert len(near) >= 0.9 * len(ratios)


# ---- The tool -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tool") / "measure"
    finished = pmemsim("calibrate", "--export-tool", str(file), cwd=file.parent)
    assert finished.returncode == 0, finished.stderr
    return file


def run_alone(tool: Path, *arguments: str, cpus: Iterable[int] | None = None) -> dict[str, Any]:
    """Run the tool where there is no Python, nor anything else."""
    finished = subprocess.run(
        [tool, *arguments],
        env={"PATH": str(tool.parent / "nothing")},
        cwd=tool.parent,
        check=True,
        capture_output=True,
        preexec_fn=None if cpus is None else lambda: os.sched_setaffinity(0, cpus),
    )
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def test_tool_is_static_and_measures_alone(tool: Path) -> None:
    interpreter = subprocess.run(["readelf", "-l", tool], capture_output=True, text=True)
    assert "INTERP" not in interpreter.stdout
    found = run_alone(tool, "rounds=1", "only=lication")
    (only,) = found["measurements"]
    assert only["name"] == "multiplication"
    assert 0 < only["least_ns"] <= only["median_ns"] <= only["most_ns"]
    processor = Processor.of(found["processor"])
    assert processor.cpus == len(os.sched_getaffinity(0))
    flags = Path("/proc/cpuinfo").read_text().split("flags\t\t: ")[1].splitlines()[0]
    assert processor.flags == frozenset(flags.split())


ROUNDS = """
#define PMEMSIM_NATIVE
#include "measured.h"
enum { PAGE_BYTES = 4096 };
#include "measure_all.h"
static void set_up(void) {}
static void repeat(void) {}
static int choose_benchmark(const char* name) { return name != NULL; }
static void add_round(struct figure* figure, double ns) {
  for (int i = 0; i < REPETITIONS; ++i) figure->times[figure->count++] = ns + i % 2;
}
int main(void) {
  static struct figure figure = {.loop = "multiply", .threads = 1};
  (void)measure_all; /* all that it uses is part of this program */
  const double rounds_ns[] = {100, 150, 100, 300, 102, 200};
  for (int i = 0; i < 6; ++i) {
    add_round(&figure, rounds_ns[i]);
    if (i >= 2) printf("%d", varies(&figure));
  }
  print_figure(&figure, "");
  return 0;
}
"""


def test_figure_that_varies_keeps_its_fastest_rounds(tmp_path: Path) -> None:
    program = tmp_path / "rounds"
    source = tmp_path / "rounds.c"
    source.write_text(ROUNDS)
    include = f"-I{measuring.source().parent}"
    subprocess.run([native_compiler(), include, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    varied, text = printed.split("\n")[0], printed[printed.index("{") :]
    assert varied == "1100"  # until the round of 102 ns, the fifth
    found = json.loads(text)
    assert (found["median_ns"], found["least_ns"], found["most_ns"]) == (101, 100, 103)


def test_tool_says_what_it_cannot_measure(tool: Path) -> None:
    found = run_alone(tool, "rounds=1", "only=hand", cpus=[min(os.sched_getaffinity(0))])
    assert found["not_measured"] == {"hand a line over": "requires 2 processors"}
    assert found["measurements"] == []
    for wrong in ("rounds=0", "lines=3"):
        finished = subprocess.run([tool, wrong], capture_output=True, text=True)
        assert finished.returncode == 2
        assert wrong in finished.stderr


@pytest.mark.long
def test_a_machine_is_fitted_to_what_the_tool_prints(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All loops would take a minute. The others' times are the server's."""
    found = run_alone(tool, "rounds=1", "only=lication")
    measured = [*found["measurements"], *run_alone(tool, "rounds=1", "only=clwb")["measurements"]]
    # Other programs run on this machine, too.
    here = {each["name"]: {**each, "spread": 0} for each in measured}
    assert len(here) > 10
    committed = json.loads(SERVER.read_text())["measurements"]
    found["measurements"] = [here.get(each["name"], each) for each in committed]
    # The simulation of all loops takes minutes; that of three shows that the command runs.
    few = ("multiplication", "store, clwb, sfence", "load, 16 KiB")
    file = tmp_path / "here.json"
    file.write_text(json.dumps(found))
    monkeypatch.setattr(
        sys.modules["pmemsim.calibration.calibrate"],
        "simulate_all",
        lambda program, wanted, *more: simulate_all(
            program, [each for each in wanted if each.name in few], *more
        ),
    )
    output = tmp_path / "here.yaml"
    made = calibrate(output, measured=read_measurements(file))
    assert made.simulated_ns.keys() == set(few)
    assert load_preset("machine", output).name == "here"
    assert configure("sw-undo", output).values


def test_a_tool_that_fails_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 1 2 x >&2; echo no memory >&2; exit 2\n")
    program.chmod(0o755)
    parts: list[float] = []
    with pytest.raises(Error, match="the machine could not be measured: no memory; run the"):
        run_tool([str(program)], tmp_path / "m.json", parts.append)
    assert parts == [0.5]


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(Error, match="measures only x86-64 processors, and this one is aarch64"):
        measure_here()


def test_tool_needs_a_place(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        export_tool(tmp_path / "nowhere" / "tool")


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
        ([], "name the preset's file with --output (-o)"),
        (["--measure-only"], "--measure-only: needs --output"),
        (["--from", "m.json", "--dax", "."], "--from m.json: leave out --dax ."),
        (["--from", "m.json"], "m.json: No such file or directory"),
        (["--export-tool", "t", "-o", "m.yaml"], "--export-tool t: leave out --output m.yaml"),
    ],
)
def test_calibrate_refuses_bad_arguments(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    finished = pmemsim("calibrate", *arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert list(tmp_path.iterdir()) == []
