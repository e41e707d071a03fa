"""Presets are read strictly: every error is reported with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmemsim.errors import ConfigError, Error
from pmemsim.presets import Setting, load_preset, parse_overrides, preset_names

pytestmark = pytest.mark.quick


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_basis_of_a_machine_is_one_of_three(tmp_path: Path) -> None:
    text = "name: mine\nsummary: s\ninherits: asap\nbasis: {}\n"
    assert (
        load_preset("machine", write(tmp_path, text.format("upper bound"))).basis == "upper bound"
    )
    with pytest.raises(
        ConfigError, match="basis: rumour: must be one of exists, paper, upper bound"
    ):
        load_preset("machine", write(tmp_path, text.format("rumour")))


def test_every_machine_says_whether_it_exists() -> None:
    assert all(load_preset("machine", name).basis for name in preset_names("machine"))


def test_values_keep_their_text_place_and_source(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "name: mine\n"
        "summary: a machine\n"
        "citation: a paper\n"
        "parameters:\n"
        "  core.frequency: {value: 2GHz, source: Table 2}\n"
        "  core.count: 18\n"
        "  backend: [encryption, integrity]\n",
    )
    preset = load_preset("machine", path)
    assert load_preset("machine", Path(path)) == preset
    assert (preset.name, preset.summary, preset.citation) == ("mine", "a machine", "a paper")
    assert preset.settings == (
        Setting("core.frequency", "2GHz", f"{path}:5", "Table 2"),
        Setting("core.count", "18", f"{path}:6"),
        Setting("backend", "encryption,integrity", f"{path}:7"),
    )


def test_inherited_settings_come_first(tmp_path: Path) -> None:
    base = write(tmp_path, "name: a\nsummary: a\nparameters: {x: 1, y: 2}\n", "a.yaml")
    path = write(tmp_path, f"name: b\nsummary: b\ninherits: {base}\nparameters: {{x: 3}}\n")
    settings = load_preset("machine", path).settings
    assert [(setting.key, setting.value) for setting in settings] == [
        ("x", "1"),
        ("y", "2"),
        ("x", "3"),
    ]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "name: mine\n"
        "sumary: misspelt\n"
        "parameters:\n"
        "  a: 1\n"
        "  a: 2\n"
        "  b: {valeu: 3}\n"
        "  c:\n"
        "  d: {value: 1, value: 2}\n",
    )
    with pytest.raises(ConfigError) as caught:
        load_preset("machine", path)
    assert caught.value.problems == [
        f"{path}:2: unknown key 'sumary'; did you mean 'summary'?",
        f"{path}: the key 'summary' is missing",
        f"{path}:5: the key 'a' is given twice (first on line 4); remove one",
        f"{path}:6: b: unknown key 'valeu'; did you mean 'value'?",
        f"{path}:6: b: the key 'value' is missing",
        f"{path}:7: c: must be one value",
        f"{path}:8: the key 'value' is given twice (first on line 8); remove one",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [unclosed", "not YAML: .*; a preset has lines like 'name: mine'"),
        ("just text", ":1: is text, not a preset; a preset has lines like"),
        ("- a\n- b\n", ":1: is a list, not a preset; a preset has lines like 'name: mine'[^\n]*$"),
        ("", "is empty, not a preset; a preset has lines like 'name: mine'[^\n]*$"),
        ("name: a\nsummary: a\nparameters: [1]\n", "'parameters' must be 'key: value' lines"),
        ("\x00", "not YAML: unacceptable character #x0000[^\n]*$"),
        ("[" * 10_000, "the file is nested too deeply"),
        ("name: a\nsummary: a\n? [b, c]\n: d\n", ":3: a preset: a key must be one word"),
        (
            'name: a\nsummary: "\\ud800"\n',
            r":2: summary: the value contains '\\ud800', which can't be printed",
        ),
        (
            'name: "\\e[31m"\nsummary: a\n',
            r":1: name: the value contains '\\x1b', which can't be printed",
        ),
    ],
)
def test_files_that_are_no_presets_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_preset("design", path)
    assert path in str(caught.value)


def test_preset_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"name: \xff\n")
    with pytest.raises(ConfigError, match="could not be read"):
        load_preset("design", str(path))


def test_circular_inheritance_is_refused(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    write(tmp_path, f"name: a\nsummary: a\ninherits: {second}\n", "a.yaml")
    write(tmp_path, f"name: b\nsummary: b\ninherits: {first}\n", "b.yaml")
    with pytest.raises(ConfigError, match=f"{first}: the preset inherits from itself"):
        load_preset("machine", first)


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(Error, match=r"unknown machine 'asp'; did you mean 'asap'\?"):
        load_preset("machine", "asp")
    with pytest.raises(Error, match=r"no such file.*; .* name from `pmemsim list machines`"):
        load_preset("machine", "./no.yaml")


def test_an_unknown_base_is_reported_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, "name: a\nsummary: a\ninherits: asp\n")
    with pytest.raises(ConfigError) as caught:
        load_preset("machine", path)
    assert caught.value.problems == [
        f"{path}:3: inherits: unknown machine 'asp'; did you mean 'asap'?"
    ]


def test_a_design_before_a_backend_takes_its_parameters(tmp_path: Path) -> None:
    both = load_preset("design", "asap@verified-janus")
    design, backend = load_preset("design", "asap"), load_preset("backend", "verified-janus")
    assert both.name == "asap@verified-janus"
    assert both.settings == (*design.settings, *backend.settings)
    assert design.citation in both.citation
    assert backend.citation in both.citation
    own = write(tmp_path, "name: own\nsummary: mine\nparameters: {backend: encryption}\n")
    assert load_preset("design", f"lad@{own}").name == "lad@own"
    odd = write(tmp_path, "name: odd\nsummary: mine\n", "my@file.yaml")
    assert load_preset("design", odd).name == "odd", "a file whose name has the sign in it"


def test_an_unknown_backend_gets_a_suggestion() -> None:
    with pytest.raises(Error, match="unknown backend 'verified'"):
        load_preset("design", "asap@verified")
    with pytest.raises(Error, match=r"unknown design 'asp'; did you mean 'asap'\?"):
        load_preset("design", "asp@verified-janus")
    for half in ("asap@", "@verified-janus", "@"):
        with pytest.raises(Error, match=f"^{half}: write DESIGN@BACKEND; `pmemsim list backends`"):
            load_preset("design", half)
    with pytest.raises(Error, match="unknown machine 'asap@verified-janus'"):
        load_preset("machine", "asap@verified-janus")


@pytest.mark.parametrize("kind", ["machine", "design", "backend"])
def test_every_bundled_preset_loads_and_is_named_as_its_file(kind: str) -> None:
    names = preset_names(kind)  # type: ignore[arg-type]
    assert names
    for name in names:
        assert load_preset(kind, name).name == name  # type: ignore[arg-type]


def test_malformed_overrides_are_each_reported() -> None:
    problems: list[str] = []
    assert parse_overrides(["a.b=1", "a", "=1", "b=", " c = 2ns "], problems) == [
        Setting("a.b", "1", "--set"),
        Setting("c", "2ns", "--set"),
    ]
    assert [problem.partition(": ")[0] for problem in problems] == [
        "--set a",
        "--set =1",
        "--set b=",
    ]
