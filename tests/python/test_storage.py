"""What designs cost on the chip."""

from __future__ import annotations

import pytest
from pmemsim.errors import ConfigError
from pmemsim.presets import preset_names
from pmemsim.simulation import configure
from pmemsim.storage import STORAGE, Unknown, storage_of, total_bytes

from pmemsim import _core


def bytes_of(design: str, machine: str = "asap", **settings: object) -> float:
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    structures = storage_of(configure(design, machine, overrides))
    assert not isinstance(structures, Unknown)
    return total_bytes(structures)


def test_every_choice_of_every_layer_has_a_row() -> None:
    assert set(STORAGE) == {(choice["layer"], choice["name"]) for choice in _core.layers()}


@pytest.mark.parametrize("machine", preset_names("machine"))
@pytest.mark.parametrize("design", preset_names("design"))
def test_every_preset_has_a_number_or_a_reason(design: str, machine: str) -> None:
    try:
        configuration = configure(design, machine)
    except ConfigError as error:  # test_machine_presets.py says which
        assert "persistent in one step with their data" in str(error)
        return
    structures = storage_of(configuration)
    if isinstance(structures, Unknown):
        assert structures.reason
    else:
        assert total_bytes(structures) >= 0


def test_janus_by_hand() -> None:
    """Machine janus: 8 cores. The paper prints 9.25 KB a core, the result buffer alone."""
    queues = 8 * (16 * 119 / 8 + 64 * 103 / 8 + 64 * 148)
    caches = 8 * 3 * 512 * 1024 + 2 * 8
    assert bytes_of("janus", "janus") == queues + caches
    assert bytes_of("janus", "janus", janus__scale=2) == 2 * queues + caches


@pytest.mark.parametrize("design", ["np", "sw-undo", "sw-data-only", "x86-bare", "eadr"])
def test_software_costs_nothing(design: str) -> None:
    assert bytes_of(design) == 0


def test_asap_by_hand() -> None:
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
    registers = 16  # of the shared sequential log that it has not
    added = banks * (2560 + 256 * 19 / 8 + 1) + 18 * 8 - registers
    assert bytes_of("redu+lalea") - bytes_of("redu") == added
    assert bytes_of("lad+lalea") - bytes_of("lad") == added


def test_headers_stand_in_a_queue_or_cost_nothing() -> None:
    assert bytes_of("hw-redo") - bytes_of("redu") == 2 * 128 * 70
    assert bytes_of("redu+blom") == bytes_of("redu")


LINE_ENTRY = 48 + 64 * 8 + 64  # address, data, mask, in bits


@pytest.mark.parametrize(("machine", "channels"), [("pmem-spec", 1), ("asap", 2)])
def test_the_persist_orderings_by_hand(machine: str, channels: int) -> None:
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
