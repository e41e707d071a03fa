"""Records of the compiled module behave like frozen dataclasses, and have types."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from pmemsim import _core
from pmemsim.trace import Place

pytestmark = pytest.mark.quick

FOUND = _core.FoundWriteBacks(1, 2, 3, 4, 5)
RECORDS = [
    Place("mine.c", 7, "main"),
    _core.Statistic("run.time_ns", 2.5, "ns", "the time"),
    _core.Structure("table", "4 x 8 bit", 4.0, 2, "II-A", 4.0, None),
    _core.Predictable(9, FOUND, FOUND),
    _core.StoreSet(3, [Place("mine.c", 7, "main"), Place("", 0, "")]),
    _core.RunResult(
        10,
        2,
        640,
        2500,
        1,
        0.5,
        [_core.Statistic("a", 1.0, "", "")],
        [],
        [],
        [_core.LatencyBucket(5, 1)],
        7,
    ),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_can_be_pickled(record: object) -> None:
    again = pickle.loads(pickle.dumps(record))
    assert again == record
    assert again is not record
    assert repr(again) == repr(record)


def test_record_differs_by_any_field() -> None:
    place = Place("mine.c", 7, "main")
    assert place == Place(file="mine.c", line=7, function="main")
    assert place not in (Place("other.c", 7, "main"), Place("mine.c", 8, "main"))
    assert place != ("mine.c", 7, "main")
    assert len({place, Place("mine.c", 7, "main"), Place("mine.c", 7, "run")}) == 2
    assert repr(place) == "Place('mine.c', 7, 'main')"


def test_attributes_of_a_result_record_cannot_be_set() -> None:
    place = Place("mine.c", 7, "main")
    with pytest.raises(AttributeError):
        place.line = 8  # type: ignore[misc]


def test_place_is_text_as_compilers_write_it() -> None:
    assert str(Place("mine.c", 7, "main")) == "mine.c:7"
    assert str(Place("mine.c", 0, "main")) == "mine.c"
    assert str(Place("", 0, "main")) == "?"


def test_record_in_json_has_records_as_objects() -> None:
    stores = _core.StoreSet(3, [Place("mine.c", 7, "main")])
    place = {"file": "mine.c", "line": 7, "function": "main"}
    assert stores.to_dict() == {"write_backs": 3, "stores": [place]}


def test_time_beyond_64_bits_is_refused() -> None:
    with pytest.raises(TypeError):
        _core.CrashExplanation(1, 1 << 63, [])


def test_installed_type_stubs_have_no_untyped_values() -> None:
    assert _core.__file__ is not None
    stub = Path(_core.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    untyped = re.compile(r"\bAny\b|(?:->|: ) ?(?:object|dict|list|tuple)(?::| \|| =)")
    lines = [line.strip() for line in stub.splitlines() if untyped.search(line)]
    # Python's own protocol for pickling has no other type.
    assert [line for line in lines if "__reduce__" not in line] == []
