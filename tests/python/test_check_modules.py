"""The order of modules in src/pmemsim and in the repository, checked on made-up trees."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from check_modules import MODULES, REPOSITORY, problems_of, problems_of_repository
from support import ROOT

SCRIPT = ROOT / "tools" / "check_modules.py"


def make_tree(folder: Path, files: dict[str, str]) -> Path:
    """Make a tree `pmemsim` with these files; each has a line before its contents."""
    tree = folder / "pmemsim"
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#pragma once\n{text}\n")
    return tree


def include(target: str) -> str:
    """Return the line that includes a file of the tree."""
    return f'#include "pmemsim/{target}"'


def including(folder: Path, module: str, target: str) -> list[str]:
    """Return the report of a file in `module` that includes the file `target`."""
    return problems_of(make_tree(folder, {f"{module}/one.cpp": include(target), target: ""}))


def test_modules_are_granted_lower_modules_only() -> None:
    order = list(MODULES)
    for module, granted in MODULES.items():
        assert set(granted) <= set(order[: order.index(module)]), module


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("trace", "common/units.hpp"),
        ("machine/memory", "common/units.hpp"),
        ("designs/ordering", "designs/interface/store.hpp"),
        ("designs", "designs/precompute/janus.hpp"),
        ("designs/interface", "designs/backend/backend.hpp"),
        ("machine/cache", "designs/design.hpp"),
        ("crash", "machine/run/machine.hpp"),
        ("checks/images", "crash/oracle.hpp"),
    ],
)
def test_includes_of_lower_modules_are_granted(module: str, target: str, tmp_path: Path) -> None:
    assert including(tmp_path, module, target) == []


@pytest.mark.parametrize(
    ("module", "target", "cure"),
    [
        ("common", "machine/memory/write.hpp", "common/ may include no other module; move what"),
        ("machine/memory", "trace/reader.hpp", "may include common; move what is needed down"),
        (
            "designs/interface",
            "machine/cache/hierarchy.hpp",
            "machine/memory, designs/backend; move",
        ),
        ("machine/cache", "designs/ordering/ordering.hpp", "designs/interface, designs; move"),
        ("machine/cache", "designs/backend/backend.hpp", "designs/interface, designs; move"),
        ("machine/cache", "machine/cpu/tlb.hpp", "an interface that machine/cache/ declares"),
        ("machine/run", "crash/crash.hpp", "move what is needed down"),
        ("crash", "checks/rules/finding.hpp", "move what is needed down"),
        ("designs/atomicity", "designs/ordering/ordering.hpp", "layers don't know each other"),
        ("designs/ordering", "designs/precompute/hint.hpp", "belongs into designs/interface/"),
        ("machine/run", "registry.hpp", "is in no module (the folder of all modules); move it"),
        ("machine/run", "attic/old.hpp", "is in no module (attic); move it"),
        ("machine/run", "machine/old.hpp", "is in no module (machine); move it"),
    ],
)
def test_other_includes_are_reported_with_their_cure(
    module: str, target: str, cure: str, tmp_path: Path
) -> None:
    (problem,) = (said for said in including(tmp_path, module, target) if "one.cpp" in said)
    place, _, said = problem.partition(": ")
    assert place == f"{tmp_path}/pmemsim/{module}/one.cpp:2"
    assert said.startswith(f"{module}/ includes {target}, ")
    assert cure in said


def test_files_outside_all_modules_are_reported(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"registry.cpp": "", "attic/old.hpp": ""})
    assert [problem.split(";")[0] for problem in problems_of(tree)] == [
        f"{tree}/attic/old.hpp:1: is in no module (attic)",
        f"{tree}/registry.cpp:1: is in no module (the folder of all modules)",
    ]


def test_includes_by_relative_path_and_in_brackets_are_seen(tmp_path: Path) -> None:
    text = '#include "../cpu/core.hpp"\n  #  include <pmemsim/machine/cpu/tlb.hpp>'
    files = {"machine/memory/one.hpp": text, "machine/cpu/core.hpp": "", "machine/cpu/tlb.hpp": ""}
    (relative, angled) = problems_of(make_tree(tmp_path, files))
    assert "one.hpp:2: machine/memory/ includes machine/cpu/core.hpp" in relative
    assert "one.hpp:3: machine/memory/ includes machine/cpu/tlb.hpp" in angled


def test_an_include_through_a_granted_header_is_reported_with_its_chain(tmp_path: Path) -> None:
    files = {
        "machine/cache/one.cpp": include("designs/design.hpp"),
        "designs/design.hpp": include("designs/choices.hpp"),
        "designs/choices.hpp": include("designs/ordering/x86.hpp"),
        "designs/ordering/x86.hpp": "",
    }
    (problem,) = problems_of(make_tree(tmp_path, files))
    assert problem.startswith(
        f"{tmp_path}/pmemsim/machine/cache/one.cpp:2: machine/cache/ includes "
        "designs/ordering/x86.hpp through designs/design.hpp, designs/choices.hpp; "
        "machine/cache/ "
    )


def test_units_that_include_each_other_in_a_circle_are_reported(tmp_path: Path) -> None:
    files = {
        "common/one.hpp": "",
        "common/one.cpp": include("common/two.hpp"),
        "common/two.hpp": include("common/three.hpp"),
        "common/three.hpp": "",
        "common/three.cpp": include("common/one.hpp"),
        "common/four.hpp": include("common/one.hpp"),
    }
    (problem,) = problems_of(make_tree(tmp_path, files))
    assert problem.startswith(
        "common/one, common/three, common/two: these units include each other in a circle; move"
    )


def test_headers_of_one_name_are_reported(tmp_path: Path) -> None:
    files = {"common/clock.hpp": "", "machine/cpu/clock.hpp": "", "trace/clock.cpp": ""}
    (problem,) = problems_of(make_tree(tmp_path, files))
    assert problem.startswith("common/clock.hpp, machine/cpu/clock.hpp: headers of one name; give")


def test_files_outside_the_tree_are_ignored(tmp_path: Path) -> None:
    text = '#include <vector>\n#include "recovery.h"\n#include "pmemsim/pm.h"\n// cpu/core.hpp'
    assert problems_of(make_tree(tmp_path, {"common/one.hpp": text})) == []


def test_the_documentation_lists_the_modules_in_their_order() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    part = page.partition("## The modules of the simulator")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", part, re.M)
    assert [name for cell in cells for name in re.findall(r"`(.*?)`", cell)] == list(MODULES)


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
        ("frontend/pass/copies.cpp", "scheduler.hpp", False),
        ("frontend/pass/copies.cpp", "pmemsim/common/units.hpp", False),
        ("frontend/runtime/record.cpp", "pmemsim/common/units.hpp", False),
        ("src/pmemsim/designs/atomicity/software_undo.cpp", "recovery.h", True),
        ("src/pmemsim/designs/atomicity/software_undo.cpp", "internal.h", False),
        ("bindings/module.cpp", "pmemsim/common/units.hpp", True),
        ("bindings/module.cpp", "../frontend/runtime/scheduler.hpp", False),
    ],
)
def test_the_folders_of_the_repository(file: str, name: str, allowed: bool, tmp_path: Path) -> None:
    for made in (
        "include/pmemsim/pm.h", "library/internal.h", "library/recovery.h",
        "workloads/common/map.hpp", "frontend/runtime/scheduler.hpp",
        "frontend/runtime/pmemsim_rt.h", file, "src/pmemsim/trace/format.hpp",
        "src/pmemsim/common/units.hpp",
    ):  # fmt: skip
        (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / made).touch()
    (tmp_path / file).write_text(f'#include <vector>\n#include "{name}"\n')
    said = problems_of_repository(tmp_path)
    assert bool(said) != allowed
    if said:
        assert said[0].startswith(f"{file}:2: ")
        assert "but it may include " in said[0]


def test_every_folder_of_the_repository_exists() -> None:
    for folder, granted in REPOSITORY.items():
        for path in (folder, *granted):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    ("target", "status"), [("common/units.hpp", 0), ("machine/run/machine.hpp", 1)]
)
def test_check_modules_exits_with_1_for_a_violation(
    target: str, status: int, tmp_path: Path
) -> None:
    text = f'#include "pmemsim/{target}"'
    tree = make_tree(tmp_path, {"machine/memory/one.cpp": text, target: ""})
    done = subprocess.run(
        [sys.executable, SCRIPT, tree], text=True, capture_output=True, check=False
    )
    assert done.returncode == status
    assert bool(done.stderr) == (status == 1)
    assert done.stdout == ""


def test_a_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "no"], text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.startswith(f"{tmp_path}/no: is not a folder")) == (2, True)


def test_a_module_of_python_that_imports_a_higher_one_is_reported(tmp_path: Path) -> None:
    copy = tmp_path / "python" / "pmemsim"
    shutil.copytree(ROOT / "python" / "pmemsim", copy)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (copy / "files.py").open("a") as file:
        file.write("from pmemsim.trace import Trace as Trace\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(copy.parent)},
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pmemsim.files is not allowed to import pmemsim.trace" in done.stdout
