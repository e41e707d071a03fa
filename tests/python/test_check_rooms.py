"""The order of the rooms in src/pmemsim and in the repository, checked on trees made up for it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from check_rooms import REPOSITORY, ROOMS, problems_of, problems_of_repository
from support import ROOT

SCRIPT = ROOT / "tools" / "check_rooms.py"


def make_tree(folder: Path, files: dict[str, str]) -> Path:
    """A tree `pmemsim` with these files; each has a line before what it is given."""
    tree = folder / "pmemsim"
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#pragma once\n{text}\n")
    return tree


def including(folder: Path, room: str, target: str) -> list[str]:
    """What is said of a file in `room` that includes the file `target`."""
    text = f'#include "pmemsim/{target}"'
    return problems_of(make_tree(folder, {f"{room}/one.cpp": text, target: ""}))


def test_a_room_is_granted_lower_ones_only() -> None:
    order = list(ROOMS)
    for room, granted in ROOMS.items():
        assert set(granted) <= set(order[: order.index(room)]), room


@pytest.mark.parametrize(
    ("room", "target"),
    [
        ("core", "core/units.hpp"),
        ("mem", "core/units.hpp"),
        ("ordering", "layers/store.hpp"),
        ("recovery", "atomicity/log_record.hpp"),
        ("design", "precompute/none.hpp"),
        ("layers", "backend/backend.hpp"),
        ("crash", "sim/machine.hpp"),
    ],
)
def test_downwards_is_fine(room: str, target: str, tmp_path: Path) -> None:
    assert including(tmp_path, room, target) == []


@pytest.mark.parametrize(
    ("room", "target", "cure"),
    [
        ("core", "mem/memory.hpp", "core/ may include no other room; move what is needed down"),
        ("mem", "trace/reader.hpp", "mem/ may include core; move what is needed down"),
        ("layers", "cache/hierarchy.hpp", "may include core, trace, mem, backend; move"),
        ("cache", "ordering/ordering.hpp", "may include core, trace, mem, layers, design; move"),
        ("cache", "cpu/clock.hpp", "or hand it in through an interface that cache/ declares"),
        ("sim", "crash/crash.hpp", "move what is needed down"),
        ("atomicity", "ordering/ordering.hpp", "layers don't know each other"),
        ("ordering", "precompute/hint.hpp", "what they share belongs into layers/"),
        ("sim", "registry.hpp", "stands in no room (the folder of all rooms); move it"),
        ("sim", "attic/old.hpp", "stands in no room (attic); move it"),
    ],
)
def test_upwards_and_sideways_is_named_with_its_cure(
    room: str, target: str, cure: str, tmp_path: Path
) -> None:
    problem = including(tmp_path, room, target)[-1]
    place, _, said = problem.partition(": ")
    assert place == f"{tmp_path}/pmemsim/{room}/one.cpp:2"
    assert said.startswith(f"{room}/ includes {target}, ")
    assert cure in said


def test_files_outside_all_rooms_are_named(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"registry.cpp": "", "attic/old.hpp": ""})
    assert [problem.split(";")[0] for problem in problems_of(tree)] == [
        f"{tree}/attic/old.hpp:1: stands in no room (attic)",
        f"{tree}/registry.cpp:1: stands in no room (the folder of all rooms)",
    ]


def test_no_way_of_writing_an_include_escapes(tmp_path: Path) -> None:
    text = '#include "../cpu/core.hpp"\n  #  include <pmemsim/cpu/core.hpp>'
    (relative, angled) = problems_of(make_tree(tmp_path, {"mem/one.hpp": text, "cpu/core.hpp": ""}))
    assert "one.hpp:2: mem/ includes cpu/core.hpp" in relative
    assert "one.hpp:3: mem/ includes cpu/core.hpp" in angled


def test_what_is_not_in_the_tree_is_not_its_business(tmp_path: Path) -> None:
    text = '#include <vector>\n#include "recovery.h"\n#include "pmemsim/pm.h"\n// cpu/core.hpp'
    assert problems_of(make_tree(tmp_path, {"core/one.hpp": text})) == []


def test_the_documentation_lists_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, _, part = page.partition("## The rooms of the simulator")
    cells = re.findall(r"^\| (`.*?`) \|", part, re.M)
    assert [room for cell in cells for room in re.findall(r"`(.*?)`", cell)] == list(ROOMS)


@pytest.mark.parametrize(
    ("file", "name", "allowed"),
    [
        ("workloads/queue/queue.cpp", "pmemsim/pm.h", True),
        ("workloads/queue/queue.cpp", "../common/map.hpp", True),
        ("workloads/queue/queue.cpp", "internal.h", False),
        ("workloads/queue/queue.cpp", "pmemsim/trace/format.hpp", False),
        ("library/log.c", "internal.h", True),
        ("library/log.c", "pmemsim_rt.h", False),
        ("frontend/pass/copies.cpp", "pmemsim_rt.h", True),
        ("frontend/pass/copies.cpp", "pmemsim/trace/format.hpp", True),
        ("frontend/pass/copies.cpp", "runtime.hpp", False),
        ("frontend/pass/copies.cpp", "pmemsim/core/units.hpp", False),
        ("frontend/runtime/record.cpp", "pmemsim/core/units.hpp", False),
        ("src/pmemsim/recovery/software_undo.cpp", "recovery.h", True),
        ("src/pmemsim/recovery/software_undo.cpp", "internal.h", False),
        ("bindings/module.cpp", "pmemsim/core/units.hpp", True),
        ("bindings/module.cpp", "../frontend/runtime/runtime.hpp", False),
    ],
)
def test_the_rooms_of_the_repository(file: str, name: str, allowed: bool, tmp_path: Path) -> None:
    for made in (
        "include/pmemsim/pm.h", "library/internal.h", "library/recovery.h",
        "workloads/common/map.hpp", "frontend/runtime/runtime.hpp",
        "frontend/runtime/pmemsim_rt.h", file, "src/pmemsim/trace/format.hpp",
        "src/pmemsim/core/units.hpp",
    ):  # fmt: skip
        (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / made).touch()
    (tmp_path / file).write_text(f'#include <vector>\n#include "{name}"\n')
    said = problems_of_repository(tmp_path)
    assert bool(said) != allowed
    if said:
        assert said[0].startswith(f"{file}:2: ")
        assert "but it may include " in said[0]


def test_every_room_of_the_repository_is_there() -> None:
    for room, granted in REPOSITORY.items():
        for path in (room, *granted):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(("target", "status"), [("core/units.hpp", 0), ("sim/machine.hpp", 1)])
def test_the_exit_status(target: str, status: int, tmp_path: Path) -> None:
    text = f'#include "pmemsim/{target}"'
    tree = make_tree(tmp_path, {"mem/one.cpp": text, target: ""})
    done = subprocess.run(
        [sys.executable, SCRIPT, tree], text=True, capture_output=True, check=False
    )
    assert done.returncode == status
    assert bool(done.stderr) == (status == 1)
    assert done.stdout == ""


def test_a_wrong_folder_is_answered(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "no"], text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.startswith(f"{tmp_path}/no: is not a folder")) == (2, True)
