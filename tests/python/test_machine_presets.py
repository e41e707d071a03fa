"""The presets have the values of the papers' tables."""

from __future__ import annotations

import re

import pytest

from generate_docs import LAYERS, machine_parameters, resolved, section_of
from pmemsim.errors import ConfigError
from pmemsim.presets import load_preset, preset_names
from pmemsim.simulation import configure
from support import preset_pairs

pytestmark = pytest.mark.quick

# Typed from the papers, row by row: (row of the table, parameter, value).
Figures = list[tuple[str, str, str]]

ASAP_TABLE_2: Figures = [
    ("18 cores", "core.count", "18"),
    ("5-wide issue/retire", "core.width", "5"),
    ("ROB: 224", "core.rob_entries", "224"),
    ("LoadQ 72", "core.load_queue_entries", "72"),
    ("StoreQ 56", "core.store_queue_entries", "56"),
    ("L1 32KB/core", "l1.size", "32KiB"),
    ("L1 8-way", "l1.ways", "8"),
    ("L1 4 cycles", "l1.latency", "4cycles"),
    ("L2 1MB/core", "l2.size", "1MiB"),
    ("L2 16-way", "l2.ways", "16"),
    ("L2 14 cycles, of which the L1 takes 4", "l2.latency", "10cycles"),
    ("L3 8MB", "shared.size", "8MiB"),
    ("L3 8MB, whatever the cores", "shared.size_per_core", "0B"),
    ("L3 16-way", "shared.ways", "16"),
    ("L3 42 cycles, of which L1 and L2 take 14", "shared.latency", "28cycles"),
    ("6.1: ARM programs", "core.lock_order", "arm"),
    ("6.1: ARM programs, whose DSB stalls the core", "core.full_fences", "true"),
    ("2 MCs", "pm.controllers", "2"),
    ("2 MCs", "dram.controllers", "2"),
    ("2 channels/MC, one of them DRAM", "dram.channels_per_controller", "1"),
    ("2 channels/MC, one of them PM", "pm.channels_per_controller", "1"),
    ("128 WPQ entries/channel", "pm.wpq_entries", "128"),
    ("128 WPQ entries/channel", "dram.wpq_entries", "128"),
    ("DDR4-2400: a line of 64 bytes at 19.2 GB/s", "dram.tburst", "3.332ns"),
    ("DDR4-2400 17-17-17", "dram.trcd", "14.16ns"),
    ("PM: battery-backed DRAM", "pm.device", "dram"),
    ("PM: battery-backed DRAM", "pm.trcd", "14.16ns"),
    ("PM: battery-backed DRAM", "pm.twr", "15ns"),
    ("PM: battery-backed DRAM", "pm.tburst", "3.332ns"),
    ("4.1: the WPQ is in the persistence domain", "pm.persistence", "accepted"),
]
LALEA_TABLE_I: Figures = [
    ("4 OoO core", "core.count", "4"),
    ("@2GHz", "core.frequency", "2GHz"),
    ("192 ROB entries", "core.rob_entries", "192"),
    ("48 STQ entries", "core.store_queue_entries", "48"),
    ("L1 32KB", "l1.size", "32KiB"),
    ("L1 2 cycles", "l1.latency", "2cycles"),
    ("L1 8 ways", "l1.ways", "8"),
    ("L2 256KB", "l2.size", "256KiB"),
    ("L2 8 cycles", "l2.latency", "8cycles"),
    ("L2 8 ways", "l2.ways", "8"),
    ("LLC 8MB", "shared.size", "8MiB"),
    ("LLC 8MB, whatever the cores", "shared.size_per_core", "0B"),
    ("LLC 25 cycles", "shared.latency", "25cycles"),
    ("LLC 16 ways", "shared.ways", "16"),
    ("1 channel", "pm.controllers", "1"),
    ("1 channel", "pm.channels_per_controller", "1"),
    ("1 rank", "pm.ranks", "1"),
    ("8 banks", "pm.banks_per_rank", "8"),
    ("16 ADR buffer entries", "pm.wpq_entries", "16"),
    ("32 log queue entries", "pm.log_queue_entries", "32"),
    ("300(48) ns write(read)", "pm.write_latency", "300ns"),
    ("300(48) ns write(read)", "pm.read_latency", "48ns"),
    ("one latency, no row buffers", "pm.device", "fixed"),
    ("IV-A: page-level interleaving", "pm.interleaving", "page"),
    ("8GB in 8 banks; III-A: row addresses of 16 bits", "pm.page_size", "16KiB"),
    ("in-place updates persist in the ADR buffer", "pm.persistence", "accepted"),
]
PMEM_SPEC_TABLE_3: Figures = [
    ("8.1: 8-core system", "core.count", "8"),
    ("2GHz", "core.frequency", "2GHz"),
    ("8way-OoO", "core.width", "8"),
    ("192-entry ROB", "core.rob_entries", "192"),
    ("32-entry Ld/St Queue", "core.load_queue_entries", "32"),
    ("32-entry Ld/St Queue", "core.store_queue_entries", "32"),
    ("L1 I/D 32/64KB: D is 64KB", "l1.size", "64KiB"),
    ("L1 4-way", "l1.ways", "4"),
    ("L1 2ns hit latency", "l1.latency", "2ns"),
    ("L1 1ns tag latency", "l1.tag_latency", "1ns"),
    ("no other private cache", "l2.size", "0B"),
    ("L2 16MB, shared", "shared.size", "16MiB"),
    ("L2 16MB, whatever the cores", "shared.size_per_core", "0B"),
    ("L2 16-way", "shared.ways", "16"),
    ("L2 20ns hit latency", "shared.latency", "20ns"),
    ("L2 10ns tag latency", "shared.tag_latency", "10ns"),
    ("32-entry read queue", "pm.read_queue_entries", "32"),
    ("64-entry write queue", "pm.wpq_entries", "64"),
    ("Read = 175ns", "pm.read_latency", "175ns"),
    ("Write = 94ns", "pm.write_latency", "94ns"),
    ("one latency, no row buffers", "pm.device", "fixed"),
    ("7: a single PM controller", "pm.controllers", "1"),
    ("8.2.1: SFENCE stalls CPUs until prior cache-flushes complete", "core.full_fences", "true"),
    ("8.1: durable once at the PM controller", "pm.persistence", "accepted"),
]
PCM: Figures = [
    ("tRCD 48", "pm.trcd", "48ns"),
    ("tCL 15", "pm.tcl", "15ns"),
    ("tCWD 13", "pm.tcwd", "13ns"),
    ("tFAW 50", "pm.tfaw", "50ns"),
    ("tWTR 7.5", "pm.twtr", "7.5ns"),
    ("tWR 300", "pm.twr", "300ns"),
    ("533MHz: 8 beats of 8 bytes", "pm.tburst", "7.5ns"),
    ("ADR support", "pm.persistence", "accepted"),
]
JANUS_TABLE_3: Figures = [
    ("5.2.1: 1 to 8 cores", "core.count", "8"),
    ("4GHz", "core.frequency", "4GHz"),
    ("L1 D/I 64KB/32KB per core", "l1.size", "64KiB"),
    ("L1 8-way", "l1.ways", "8"),
    ("no other private cache", "l2.size", "0B"),
    ("L2 2MB per core, shared", "shared.size_per_core", "2MiB"),
    ("L2 2MB per core and no more", "shared.size", "0B"),
    ("L2 8-way", "shared.ways", "8"),
    *PCM,
]
PMWEAVER_TABLE_I: Figures = [
    ("VI-B7: up to 4 instances", "core.count", "4"),
    ("3.0GHz", "core.frequency", "3GHz"),
    ("L1 32kB each", "l1.size", "32KiB"),
    ("L1 8-way", "l1.ways", "8"),
    ("L1 1 ns", "l1.latency", "1ns"),
    ("L2 128kB per-core, private", "l2.size", "128KiB"),
    ("L2 4-way", "l2.ways", "4"),
    ("L2 5 ns", "l2.latency", "5ns"),
    ("L3 2MB per-core, shared", "shared.size_per_core", "2MiB"),
    ("L3 2MB per-core and no more", "shared.size", "0B"),
    ("L3 16-way", "shared.ways", "16"),
    ("L3 20 ns", "shared.latency", "20ns"),
    ("DDR4 2400MT/s", "dram.tburst", "3.332ns"),
    *PCM,
]
PAPERS = {
    "asap": ASAP_TABLE_2,
    "lalea": LALEA_TABLE_I,
    "pmem-spec": PMEM_SPEC_TABLE_3,
    "janus": JANUS_TABLE_3,
    "pmweaver": PMWEAVER_TABLE_I,
}

# Backends have figures of their own. A row that the table lacks names the paper's section, or its
# artifact.
PMWEAVER_ENC_VERI: Figures = [
    ("II-B1", "backend", "encryption,integrity"),
    ("II-B1: what needs the address doesn't wait for the data", "backend.execution", "parallel"),
    ("VI-A1: metadata are written through", "backend.metadata_atomicity", "write-through"),
    ("no number of units", "backend.units_per_core", "0"),
    ("AES-128 40 ns", "encryption.aes_latency", "40ns"),
    ("SHA-1 40 ns", "integrity.hash_latency", "40ns"),
    ("SHA-1 40 ns: the MAC", "integrity.mac_latency", "40ns"),
    ("artifact: 1 + 12 hashes", "integrity.levels", "13"),
    ("artifact: AES, then the hashes", "integrity.leaf_after", "pad"),
    ("VI-A1: as SuperMem, which has no tree", "integrity.persist_nodes", "leaves"),
    ("integrity cache 256 KB", "integrity.cache.size_per_core", "256KiB"),
    ("artifact: 16-way", "integrity.cache.ways", "16"),
    ("counter cache 256 KB", "counter_cache.size_per_core", "256KiB"),
    ("artifact: 16-way", "counter_cache.ways", "16"),
]
PMWEAVER_DEDUP: Figures = [
    ("II-B2", "backend", "deduplication"),
    ("artifact: the fingerprint needs the data alone", "backend.execution", "parallel"),
    ("VI-A1: metadata are written through", "backend.metadata_atomicity", "write-through"),
    ("no number of units", "backend.units_per_core", "0"),
    ("no comparing", "deduplication.fingerprint", "md5"),
    ("artifact: 300 ns", "deduplication.md5_latency", "300ns"),
    ("artifact: entries aren't encrypted", "deduplication.entry_latency", "0ps"),
    ("a cache of 256 KB", "deduplication.cache.size_per_core", "256KiB"),
    ("artifact: 16-way", "deduplication.cache.ways", "16"),
    ("counter cache 256 KB, which holds mappings", "counter_cache.size_per_core", "256KiB"),
    ("artifact: 16-way", "counter_cache.ways", "16"),
]
BACKENDS = {"enc+veri": PMWEAVER_ENC_VERI, "dedup": PMWEAVER_DEDUP}

# The rest of the papers' tables: no machine parameter holds it, so
# docs/reference/machines.md has to.
NOT_IN_PRESETS = {
    "asap": [
        "FetchQ 48",
        "IssueQ 64",
        "DRAM 16 GB",
        "CL List, 4 entries a core",
        "Dependence List, 128 entries a channel",
        "LH-WPQ, 128 entries a channel",
        "Bloom filter, 1 KB a channel",
    ],
    "lalea": [
        "L1 TLB, 6 sets of 4 ways",
        "L2 TLB, 128 sets of 12 ways",
        "L1 instruction cache, 32 KB",
        "8 log buffer entries an L1",
        "8 GB NVM",
    ],
    "pmem-spec": [
        "L1 instruction cache, 32 KB",
        "speculation buffer, 4 entries",
        "persist path, 20 ns",
    ],
    "janus": [
        "L1 instruction cache, 32 KB",
        "counter cache, 512 KB a core, 16-way",
        "Merkle tree cache, 512 KB a core, 16-way",
        "pre-execution request queue, 16 entries a core",
        "pre-execution operation queue, 64 entries a core",
        "4 BMO units a core",
        "intermediate result buffer, 64 entries a core",
        "4 GB PCM",
        "AES-128 40 ns, SHA-1 40 ns, MD5 321 ns",
    ],
    "pmweaver": [
        "L1 instruction cache, 32 KB",
        "16 GB DRAM, 16 GB PCM",
        "AES-128 40 ns, SHA-1 40 ns",
        "counter cache 256 KB, integrity cache 256 KB",
        "PC-path length 32",
        "store history buffer, 512 entries, 16-way, 1 ns",
        "predictor table, 32 entries, 1 ns",
        "timeout predictor table, 4 entries, 1 ns",
        "pending prediction table, 128 + 8 entries, 1 ns",
        "prediction result buffer, 256 entries (16 x 16), 5 ns",
    ],
}


@pytest.mark.parametrize(
    ("machine", "row", "key", "value"),
    [(machine, *figure) for machine, table in PAPERS.items() for figure in table],
)
def test_machine_presets_have_the_values_of_the_papers_tables(
    machine: str, row: str, key: str, value: str
) -> None:
    assert resolved(load_preset("machine", machine))[key] == value, row


@pytest.mark.parametrize(
    ("backend", "row", "key", "value"),
    [(backend, *figure) for backend, table in BACKENDS.items() for figure in table],
)
def test_backend_presets_have_pmweavers_values(
    backend: str, row: str, key: str, value: str
) -> None:
    assert resolved(load_preset("backend", backend))[key] == value, row


@pytest.mark.parametrize("backend", BACKENDS)
def test_pmweavers_backend_presets_set_nothing_else(backend: str) -> None:
    given = {setting.key for setting in load_preset("backend", backend).settings}
    assert given == {key for _, key, _ in BACKENDS[backend]}


@pytest.mark.parametrize("machine", preset_names("machine"))
def test_nothing_of_a_machine_is_left_to_hidden_defaults(machine: str) -> None:
    given = {setting.key: setting for setting in load_preset("machine", machine).settings}
    assert sorted(given) == sorted(machine_parameters())
    assert [key for key, setting in given.items() if not setting.source] == []


def test_designs_fit_all_machines_but_those_that_cannot_persist_their_metadata() -> None:
    """Exceptions are designs whose data and metadata can't become persistent in one step."""
    wrong = {}
    for design, machine in preset_pairs():
        with_metadata = design in ("serialized", "parallel", "janus", "ideal", "ideal-free")
        refused = with_metadata and machine in ("cxl-gpf", "cxl-nv-cmm", "lalea")
        problem = ""
        try:
            configure(design, machine)
        except ConfigError as error:
            problem = str(error)
        if not refused and problem:
            wrong[design, machine] = problem
        elif refused and "persistent in one step with their data" not in problem:
            wrong[design, machine] = problem or "isn't refused"
    assert wrong == {}


@pytest.mark.parametrize("kind", ["machine", "design", "backend"])
def test_presets_say_what_they_are_and_where_they_come_from(kind: str) -> None:
    for name in preset_names(kind):  # type: ignore[arg-type]
        preset = load_preset(kind, name)  # type: ignore[arg-type]
        assert preset.citation, name
        assert len(preset.summary) <= 100, name


@pytest.mark.parametrize(
    ("design", "ordering", "atomicity"),
    [
        ("np", "none", "none"),
        ("sw-undo", "x86", "software-undo"),
        ("sw-data-only", "x86", "none"),
        ("x86-bare", "x86", "none"),
        ("eadr", "eadr", "software-undo"),
        ("hw-undo", "x86", "hw-undo"),
        ("asap", "x86", "asap"),
        ("asap-no-opt", "x86", "asap"),
        ("asap+c", "x86", "asap"),
        ("asap+c+lp", "x86", "asap"),
        ("hw-redo", "x86", "hw-redo"),
        ("redu", "x86", "hw-redo"),
        ("redu+lalea", "x86", "hw-redo"),
        ("redu+blom", "x86", "hw-redo"),
        ("redu+lalea+blom", "x86", "hw-redo"),
        ("lad", "x86", "lad"),
        ("lad+lalea", "x86", "lad"),
    ],
)
def test_design_presets_choose_their_ordering_and_atomicity(
    design: str, ordering: str, atomicity: str
) -> None:
    layers = resolved(load_preset("design", design))
    assert [layers[layer] for layer in LAYERS] == [ordering, atomicity, "none", "none"]


@pytest.mark.parametrize(
    ("design", "allocation", "metadata"),
    [
        ("redu", "sequential", "collated-header"),
        ("redu+lalea", "load-aware", "collated-header"),
        ("redu+blom", "sequential", "adr-buffered"),
        ("redu+lalea+blom", "load-aware", "adr-buffered"),
        ("lad", "sequential", "collated-header"),
        ("lad+lalea", "load-aware", "collated-header"),
    ],
)
def test_where_the_designs_of_lalea_place_their_logs(
    design: str, allocation: str, metadata: str
) -> None:
    values = resolved(load_preset("design", design))
    assert (values["log.allocation"], values["log.metadata"]) == (allocation, metadata)
    assert values["log.header_entries"] == "0", "LALEA, II-B: headers persist after their entries"
    if allocation == "load-aware":
        assert (values["log.free_entries"], values["log.free_headers"]) == ("1024", "256")
    if design.startswith("redu"):
        assert values["hw_redo.log_buffer_entries"] == "8", "LALEA, Table I"


def test_baselines_of_asap_have_as_many_header_entries_as_its_lh_wpq() -> None:
    entries = resolved(load_preset("design", "asap"))["asap.lh_wpq_entries"]
    redo, undo = (resolved(load_preset("design", name)) for name in ("hw-redo", "hw-undo"))
    assert redo["log.header_entries"] == undo["log.header_entries"] == entries, "ASAP, 6.3"
    assert redo["log.metadata"] == "queue-buffered", "6.3: they store the logging metadata"


def nanoseconds(values: dict[str, str], key: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", values[key]).groups()  # type: ignore[union-attr]
    cycle = 1 / float(values["core.frequency"].removesuffix("GHz"))
    return float(number) * {"ps": 1e-3, "ns": 1.0, "cycles": cycle, "GB": 1.0}[unit]


def test_latencies_of_an_idle_load_over_cxl_add_up_to_250_ns() -> None:
    values = resolved(load_preset("machine", "cxl"))
    way = ("l1.latency", "l2.latency", "shared.latency", "path.request_latency",
           "pm.front_latency", "pm.back_latency", "pm.trcd", "pm.tcl", "pm.tburst",
           "pm.link_latency", "pm.link_latency", "path.response_latency")  # fmt: skip
    line = 64 / float(values["pm.link_bandwidth"].removesuffix("GB/s"))
    assert sum(nanoseconds(values, key) for key in way) + line == pytest.approx(250, abs=1)


def test_cxl_gpf_differs_from_cxl_by_the_place_of_the_queues_alone() -> None:
    host, device = (resolved(load_preset("machine", name)) for name in ("cxl", "cxl-gpf"))
    differences = {key: (host[key], device[key]) for key in host if host[key] != device[key]}
    assert differences == {"pm.queue_place": ("host", "device")}


@pytest.mark.parametrize("machine", NOT_IN_PRESETS)
def test_figures_without_a_parameter_are_in_the_documentation(machine: str) -> None:
    missing = section_of("reference/machines.md", "not in the presets")
    cells = [line.strip("| ").split(" | ")[1] for line in missing.splitlines()[2:]]
    lists = [part.split(": ", 1) for cell in cells for part in re.split("; (?=`)", cell)]
    figures = [each for names, of in lists if f"`{machine}`" in names for each in of.split("; ")]
    assert set(NOT_IN_PRESETS[machine]) <= set(figures)
