"""The chip storage of designs."""

from __future__ import annotations

import pytest

from pmemsim.errors import ConfigError
from pmemsim.simulation import configure
from pmemsim.storage import Unknown, storage_of, total_bytes
from support import preset_pairs

pytestmark = pytest.mark.quick


def bytes_of(design: str, machine: str = "asap", **settings: object) -> float:
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    structures = storage_of(configure(design, machine, overrides))
    assert not isinstance(structures, Unknown)
    return total_bytes(structures)


def test_storage_of_every_preset_is_a_number_or_a_reason() -> None:
    wrong = []
    for design, machine in preset_pairs():
        try:
            configuration = configure(design, machine)
        except ConfigError as error:  # test_machine_presets.py checks which pairs are refused
            assert "persistent in one step with their data" in str(error)
            continue
        structures = storage_of(configuration)
        if isinstance(structures, Unknown):
            said = bool(structures.reason)
        else:
            said = total_bytes(structures) >= 0
        if not said:
            wrong.append((design, machine))
    assert wrong == []


def test_storage_of_janus_matches_a_hand_computation() -> None:
    """Machine janus: 8 cores. The paper prints 9.25 KB a core, the result buffer alone."""
    queues = 8 * (16 * 119 / 8 + 64 * 103 / 8 + 64 * 148)
    caches = 8 * 3 * 512 * 1024 + 2 * 8
    assert bytes_of("janus", "janus") == queues + caches
    assert bytes_of("janus", "janus", janus__scale=2) == 2 * queues + caches


PMWEAVER = "sw-undo@enc+veri-pmweaver"


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [
        ("PC path, each core", 0.25, 2),  # not in Table I; what VI-B9's sum has more than it
        ("store history buffer, each core", 8.75, 2),
        ("prediction table, each core", 4.5, 1),
        ("timeout predictor table, each core", 34 / 1024, 9),
        ("index generator, each core", 1.1, 1),
        ("pending predictions, each core", 0.57, 2),
        ("prediction result buffer, shared, for each core", 38, 0),
    ],
)
def test_pmweavers_structures_are_those_of_table_i(name: str, printed: float, digits: int) -> None:
    """The values are in kB, with as many digits as the paper prints."""
    structures = storage_of(configure(PMWEAVER, "pmweaver"))
    assert not isinstance(structures, Unknown)
    (structure,) = [structure for structure in structures if structure.name == name]
    assert round(structure.bytes / 1024, digits) == round(printed, digits)
    assert structure.count == 4, "cores of the machine"
    assert structure.printed is not None
    assert abs(structure.printed / 1024 - printed) < 0.01


def test_storage_of_pmweaver_matches_a_hand_computation() -> None:
    """VI-B9: learner and predictor take 15.2 kB a core, and the validator 38 kB."""
    core = 32 * 8 + 512 * 140 / 8 + 32 * 18 * 8 + 4 * 68 / 8 + 128 * 70 / 8 + 8 * 73
    assert round(core / 1024, 1) == 15.2
    validator = 16 * 16 * 152
    assert validator == 38 * 1024
    operations = 4 * 2 * 256 * 1024 + 2 * 8
    assert bytes_of(PMWEAVER, "pmweaver") == 4 * (core + validator) + operations
    assert bytes_of("sw-undo@enc+veri", "pmweaver") == operations


@pytest.mark.parametrize(
    ("key", "value", "more"),
    [
        ("pmweaver__path_length", 64, 32 * 8),
        ("pmweaver__history_entries", 1024, 8960),
        ("pmweaver__table_entries", 64, 4608),
        ("pmweaver__timeout_entries", 8, 34),
        ("pmweaver__index_entries", 256, 1120),
        ("pmweaver__pending_entries", 16, 584),
        ("pmweaver__result_lines", 32, 38912),
        ("pmweaver__results_a_line", 32, 38912),
        ("pmweaver__next_pointers", "true", 32 // 2),
        ("pmweaver__value_deltas", "true", 32 * 2 * (8 + 64) + 32 * 17 // 8),
    ],
)
def test_storage_of_pmweaver_grows_with_its_structures(key: str, value: object, more: int) -> None:
    grown = bytes_of(PMWEAVER, "pmweaver", **{key: value})
    assert grown - bytes_of(PMWEAVER, "pmweaver") == 4 * more


@pytest.mark.parametrize("design", ["np", "sw-undo", "sw-data-only", "x86-bare", "eadr"])
def test_designs_without_hardware_need_no_storage(design: str) -> None:
    assert bytes_of(design) == 0


def test_storage_of_asap_matches_a_hand_computation() -> None:
    """Machine asap: 18 cores, 2 channels, L1 32 KiB, L2 1 MiB, shared 8 MiB."""
    lines = (18 * (32 * 1024 + 1024 * 1024) + 8 * 1024 * 1024) // 64
    channel = 128 * (4 * 32 + 2 + 32) / 8 + 128 * 70 + 1024
    assert bytes_of("asap") == 18 * (49 + 48) + 2 * channel + lines * 34 / 8


def test_a_shared_cache_by_cores_counts_as_one() -> None:
    more = bytes_of("asap", shared__size_per_core="1MiB") - bytes_of("asap")
    assert more == (18 - 8) * 1024 * 1024 / 64 * 34 / 8


def test_lalea_adds_its_fifos_and_counters() -> None:
    """Machine asap: 2 channels of 2 ranks of 16 banks."""
    banks = 2 * 2 * 16
    registers = 16  # size of the shared sequential log's registers, which it lacks
    added = banks * (2560 + 256 * 19 / 8 + 1) + 18 * 8 - registers
    assert bytes_of("redu+lalea") - bytes_of("redu") == added
    assert bytes_of("lad+lalea") - bytes_of("lad") == added


def test_log_headers_need_storage_only_in_a_header_queue() -> None:
    assert bytes_of("hw-redo") - bytes_of("redu") == 2 * 128 * 70
    assert bytes_of("redu+blom") == bytes_of("redu")


LINE_ENTRY = 48 + 64 * 8 + 64  # address, data, mask, in bits


@pytest.mark.parametrize(("machine", "channels"), [("pmem-spec", 1), ("asap", 2)])
def test_storage_of_persist_orderings_matches_a_hand_computation(
    machine: str, channels: int
) -> None:
    """PMEM-Spec prints 64 B for its buffer; what the others have is the model's."""
    cores, lines = {
        "pmem-spec": (8, (8 * 64 + 16 * 1024) * 1024 // 64),
        "asap": (18, (18 * (32 + 1024) + 8 * 1024) * 1024 // 64),
    }[machine]
    assert bytes_of("pmem-spec", machine) == channels * 64 + cores * 4
    others = cores * 32
    assert bytes_of("dpo", machine) == cores * 8 * (LINE_ENTRY + others) / 8
    buffers = cores * 32 * (LINE_ENTRY + others) / 8
    assert bytes_of("hops", machine) == buffers + cores * others / 8 + lines / 8 + channels * 1024
    more = bytes_of("pmem-spec", machine, pmem_spec__buffer_entries=16)
    assert more == channels * 256 + cores * 4
    shorter_ids = bytes_of("pmem-spec", machine, pmem_spec__id_bits=16)
    assert shorter_ids == channels * 4 * 14 + cores * 2


def test_larger_structures_cost_more() -> None:
    assert bytes_of("hw-redo", hw_redo__log_buffer_entries=9) - bytes_of("hw-redo") == 18 * 70
    assert bytes_of("lad", core__count=36) > bytes_of("lad")
