"""`--json` of every command: its schema, and the page that describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from pmemsim.cli.app import app
from pmemsim.installation import installed_dir
from support import ROOT, bytes_of, pmemsim
from test_packing import PINNED, by_hand
from tiny_paper import write_paper

RECORDINGS = ROOT / "tests" / "pins" / "recordings"
ONE, FOUR = RECORDINGS / "one_thread.pmt", RECORDINGS / "four_threads.pmt"
CORPUS = RECORDINGS / "corpus"
FORMATS = ROOT / "tests" / "formats"
ON_ASAP = ("--machine", "asap")
FEW = ("--points", "20", "--jobs", "1")

Arguments = tuple[str | Path, ...]
CASES: dict[str, list[Arguments]] = {
    "record": [("queue", "--regions", "2", "-o", "queue.pmt")],
    "run": [(FOUR, "-d", "asap", *ON_ASAP), (ONE, "-d", "sw-undo@verified-janus", "-m", "janus")],
    "compare": [
        (FOUR, ONE, "-d", "sw-undo,asap", *ON_ASAP),
        (ONE, "-d", "np", "-m", "asap,xeon-optane"),
    ],
    "profile": [
        (FOUR, "-d", "asap", *ON_ASAP),
        (ONE, "-d", "sw-undo", *ON_ASAP, "--diff", "np"),
    ],
    "timeline": [
        (FOUR, "-d", "asap", *ON_ASAP, "-o", "t.pftrace", "--slowest", "3"),
        (ONE, "-d", "sw-undo", *ON_ASAP, "-o", "t.kanata", "--format", "kanata"),
    ],
    "matrix": [(ONE, FOUR, "-d", "sw-undo,asap,mine.yaml", *ON_ASAP, *FEW)],
    "sweep": [("sweep.yaml",)],
    "reproduce": [("./tiny", "--out", "reproduced")],
    "replay": [("equal.pmpack",), ("different.pmpack",)],
    "crash": [
        (FOUR, "-d", "asap,sw-undo", *ON_ASAP, *FEW),
        (FOUR, "-d", "asap", *ON_ASAP, "--stress", *FEW),
        (FOUR, "-d", "asap", *ON_ASAP, "-s", "pmemsim.faults=asap.lpo_dropping", "--jobs", "1"),
    ],
    "check": [
        (CORPUS / "publish_unpersisted.pmt",),
        (CORPUS / "lost_update.pmt", "--model", "eadr"),
        (CORPUS / "publish_unpersisted.pmt", "--suppress", "suppressed.yaml"),
        (ONE, "--verify", "true", "--budget", "50", "--jobs", "1"),
        (ONE, "--verify", "false", "--budget", "50", "--jobs", "1"),
        (ONE, "--verify", "true", "--budget", "2", "--jobs", "1", "--without-each"),
        (ONE, "--answers", "cksum", "--budget", "20", "--jobs", "1"),
    ],
    "advise": [
        (CORPUS / "publish_unpersisted.pmt", "-d", "sw-undo", *ON_ASAP, "--jobs", "1"),
        (RECORDINGS / "redo_log.pmt", "-d", "sw-redo", *ON_ASAP, "--jobs", "1"),
    ],
    "lint-hints": [(ONE, "-d", "sw-undo@verified-janus", "-m", "janus")],
    "analyze predictability": [(ONE,)],
    "decode": [("device.image", "-o", "plain.image")],
    "selftest": [("--design", "lad"), ("--random", "1")],
    "calibrate": [("--from", "few.json", "-o", "few.yaml")],
    "bench": [(ONE, "--designs", "np", *ON_ASAP)],
    "trace info": [(ONE, FOUR)],
    "trace dump": [(ONE, "-n", "2000")],
    "trace verify": [(ONE,)],
    "import champsim": [("loop.champsim", "-o", "c.pmt", "--pm-range", "0x2000:0x3000")],
    "import pmemcheck": [(FORMATS / "stack.pmemcheck", "-o", "p.pmt")],
    "list designs": [()],
    "list backends": [()],
    "list machines": [()],
    "list workloads": [()],
    "list faults": [()],
    "list statistics": [()],
    "list experiments": [("./tiny",)],
    "show design": [("asap",)],
    "show machine": [("asap",)],
    "show statistic": [("pm.writes",)],
}
"""Arguments of each command that writes JSON, without --json."""

SLOW = ("bench", "calibrate")


def few_measurements() -> str:
    """Return a server's measurements without those whose simulation takes longest."""
    document = json.loads((ROOT / "benchmarks" / "measurements" / "xeon-2023.json").read_text())
    slow = re.compile(r"load, \d+ MiB|independent load|\d{3,} pages|two loads|(4|8|16) threads")
    document["measurements"] = [
        each for each in document["measurements"] if not slow.search(each["name"])
    ]
    return json.dumps(document)


FILES = {
    "few.json": few_measurements(),
    "mine.yaml": "name: mine\nsummary: impossible\ninherits: asap\nparameters: {ordering: none}\n",
    "sweep.yaml": f"axes: {{workload: {ONE}, design: [sw-undo, mine.yaml], machine: asap,\n"
    "       pm.wpq_entries: [16, 64]}\n",
    "suppressed.yaml": "- kind: reads-unpersisted\n  source: publish_unpersisted.c\n"
    "  comment: intended\n- kind: leaked\n  source: other.c\n  comment: unused\n",
}


@cache
def schema() -> dict[str, Any]:
    found = json.loads((installed_dir() / "results.schema.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("schema")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    write_paper(folder / "tiny")
    by_hand(folder / "equal.pmpack", PINNED)
    by_hand(folder / "different.pmpack", {**PINNED, "pm.writes": 0})
    (folder / "loop.champsim").write_bytes(bytes_of(FORMATS / "loop.champsim.hex"))
    return folder


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        pytest.param(command, each, marks=pytest.mark.long if command in SLOW else ())
        for command, every in CASES.items()
        for each in every
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_json_of_each_command_matches_the_schema(
    command: str, arguments: Arguments, folder: Path
) -> None:
    if command == "decode":
        saved = ("--save-image", "device.image", "--at", "20us")
        design = ("-d", "sw-undo@verified-janus", "-m", "janus")
        assert pmemsim("crash", FOUR, *design, *saved, cwd=folder).returncode == 0
    done = pmemsim(*command.split(), *arguments, "--json", "-", cwd=folder)
    assert done.returncode in (0, 1, 3), done.stderr
    document = json.loads(done.stdout)
    assert document["command"] == command
    # The errors of `oneOf` would say only that no command's schema matches.
    part = {"$ref": f"#/$defs/{command.replace(' ', '_').replace('-', '_')}"}
    validator = jsonschema.Draft202012Validator({**schema(), "oneOf": [part]})
    errors = [error for whole in validator.iter_errors(document) for error in whole.context or ()]
    assert [f"{error.json_path}: {error.message[:200]}" for error in errors] == []
    assert jsonschema.Draft202012Validator(schema()).is_valid(document)


@pytest.mark.parametrize("machine", ["xeon-2023", "amd-epyc"])
def test_committed_calibrations_match_the_schema(machine: str) -> None:
    document = json.loads((ROOT / "benchmarks" / "results" / f"{machine}.json").read_text())
    jsonschema.validate({"command": "calibrate", "version": "0", **document}, schema())


def commands_with_json(group: Any, path: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_with_json(command, (*path, name))
        elif any("--json" in parameter.opts for parameter in command.params):
            yield " ".join((*path, name))


@pytest.mark.quick
def test_each_command_with_json_is_in_the_schema_and_tested() -> None:
    commands = list(commands_with_json(typer.main.get_command(app)))
    described = [
        schema()["$defs"][part["$ref"].rpartition("/")[2]]["properties"]["command"]["const"]
        for part in schema()["oneOf"]
    ]
    assert sorted(commands) == sorted(described) == sorted(CASES)


@pytest.mark.quick
def test_schema_is_valid_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    for name, part in schema()["$defs"].items():
        for key, value in part.get("properties", {}).items():
            assert key == "command" or value.get("description"), f"{name}.{key}"
    used = json.dumps(schema())
    assert all(f'"#/$defs/{name}"' in used for name in schema()["$defs"])


@pytest.mark.quick
@pytest.mark.parametrize(
    "change",
    [{"command": "walk"}, {"threads": "2"}, {"more": 1}, {"stats": {"pm.writes": "many"}}],
)
def test_schema_refuses_other_names_and_types(change: dict[str, object]) -> None:
    run = {
        "command": "run", "workload": "queue", "design": "np", "machine": "asap", "threads": 1,
        "seed": 1, "schedule": 0, "instructions": 1, "time_ns": 1.5, "regions": 0,
        "regions_per_s": 0.0, "pm_write_bytes": 0, "pm_years_per_gib": None,
        "pm_years_of_worst_line": None, "wall_s": 0.1, "instructions_per_wall_s": 10.0,
        "stats": {}, "core_stalls": [], "region_latencies": [], "commit_latencies": [],
        "configuration": {}, "trace_hash": "0", "version": "0",
    }  # fmt: skip
    jsonschema.validate(run, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**run, **change}, schema())
    del run["seed"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(run, schema())
