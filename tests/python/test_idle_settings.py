"""Settings by hand without an effect are refused; presets may have them for others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import pmemsim as package
from pins.parameters import Base, other_numbers
from pmemsim import _core
from pmemsim.errors import ConfigError
from pmemsim.presets import Setting, preset_names
from pmemsim.reproduction.plan import Case
from pmemsim.reproduction.runs import configurations
from pmemsim.simulation import configure, settings_without_effect
from pmemsim.stress import stress_sets
from pmemsim.workload_runs import WorkloadRun
from support import long_except, pmemsim

ON_DRAM = "has no effect with pm.device=dram; choose pm.device=fixed or buffered"
ON_UNDO = "has no effect with atomicity=software-undo; choose atomicity=asap, or remove the setting"


def own_design(folder: Path) -> Path:
    path = folder / "own.yaml"
    path.write_text(
        "name: own\nsummary: mine\ninherits: sw-undo\nparameters:\n  asap.cl_entries: 4\n"
    )
    return path


def own_machine(folder: Path) -> Path:
    path = folder / "machine.yaml"
    path.write_text(
        "name: mine\nsummary: mine\ninherits: asap\nparameters:\n  pm.read_latency: 9ns\n"
    )
    return path


@pytest.mark.parametrize("command", ["run", "compare", "crash", "bench", "matrix"])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("pm.read_latency=300ns", f"--set: pm.read_latency=300ns {ON_DRAM}"),
        ("asap.cl_entries=2", f"--set: asap.cl_entries=2 {ON_UNDO}"),
    ],
)
def test_commands_refuse_settings_that_none_of_their_designs_uses(
    queue_trace: Path, command: str, setting: str, sentence: str
) -> None:
    option = "--design" if command in ("run", "crash") else "--designs"
    done = pmemsim(command, queue_trace, option, "sw-undo", "-m", "asap", "--set", setting)
    assert done.returncode == 2, done.stdout
    assert sentence in " ".join(done.stderr.split())


def test_setting_that_one_of_several_designs_uses_is_accepted(queue_trace: Path) -> None:
    set_it = ("-m", "asap", "--set", "asap.cl_entries=2")
    done = pmemsim("compare", queue_trace, "-d", "sw-undo,asap", *set_it)
    assert done.returncode == 0, done.stderr
    done = pmemsim("crash", queue_trace, "-d", "sw-undo,asap", *set_it, "--points", "9")
    assert done.returncode == 0, done.stderr


def test_idle_settings_in_user_files_are_reported_with_their_line(
    queue_trace: Path, tmp_path: Path
) -> None:
    design, machine = own_design(tmp_path), own_machine(tmp_path)
    done = pmemsim("run", queue_trace, "-d", design, "-m", "asap")
    assert done.returncode == 2
    assert f"{design}:5: asap.cl_entries=4 {ON_UNDO}" in " ".join(done.stderr.split())
    done = pmemsim("run", queue_trace, "-d", "sw-undo", "-m", machine)
    assert done.returncode == 2
    assert f"{machine}:5: pm.read_latency=9ns {ON_DRAM}" in " ".join(done.stderr.split())
    # The setting in a design's file has no effect although another design uses the parameter.
    done = pmemsim("compare", queue_trace, "-d", f"asap,{design}", "-m", "asap")
    assert done.returncode == 2
    assert "asap.cl_entries=4" in done.stderr
    # With these settings the parameter in the file has an effect.
    chosen = ("--set", "pm.device=fixed", "--set", "pm.write_latency=9ns")
    assert pmemsim("run", queue_trace, "-d", "sw-undo", "-m", machine, *chosen).returncode == 0


def test_python_interface_refuses_settings_without_effect(queue_trace: Path) -> None:
    idle = {"pm.read_latency": "300ns"}
    with pytest.raises(ConfigError, match=r"overrides: pm\.read_latency=300ns has no effect"):
        package.run(queue_trace, design="sw-undo", machine="asap", overrides=idle)
    with pytest.raises(ConfigError, match=r"has no effect with pm\.device=dram"):
        package.compare([queue_trace], designs=["sw-undo"], machine="asap", overrides=idle)


def test_sweep_along_an_unused_parameter_is_refused(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    axes = "axes:\n  workload: queue\n  threads: 1\n  regions: 20\n  machine: asap\n"
    spec.write_text(f"{axes}  design: sw-undo\n  asap.cl_entries: [2, 4]\n")
    done = pmemsim("sweep", spec)
    assert done.returncode == 2
    text = " ".join(done.stderr.split())
    assert f"{spec}: asap.cl_entries=2 {ON_UNDO}" in text
    assert "asap.cl_entries=4" not in text, "once is enough"
    # A setting is accepted if one of several designs uses it, or one of several devices.
    spec.write_text(f"{axes}  design: [sw-undo, asap]\n  asap.cl_entries: [2, 4]\n")
    assert pmemsim("sweep", spec).returncode == 0
    other = tmp_path / "other.yaml"
    other.write_text(
        f"{axes}  design: sw-undo\n  pm.device: [dram, fixed]\n  pm.read_latency: [9ns, 90ns]\n"
    )
    assert pmemsim("sweep", other).returncode == 0


def test_experiments_refuse_settings_without_effect() -> None:
    run = WorkloadRun.of("queue", threads=1, regions=9)
    idle = Case(run, "sw-undo", "asap", (("asap.cl_entries", "2"),))
    using = Case(run, "asap", "asap", (("asap.cl_entries", "2"),))
    with pytest.raises(ConfigError, match=r"asap\.cl_entries=2 has no effect"):
        configurations([idle])
    assert len(configurations([idle, using])) == 2


def test_presets_may_have_settings_without_effect() -> None:
    """Examples are machines for all devices, designs without a layer's parts, stress settings."""
    for machine in preset_names("machine"):
        for design in preset_names("design"):
            try:
                configuration = configure(design, machine)
            except ConfigError:
                continue
            assert configuration.by_hand == ()
            assert settings_without_effect([configuration]) == []
    for stress in stress_sets().values():
        configuration = configure("sw-undo", "asap", extra=stress.settings)
        assert settings_without_effect([configuration]) == []
    by_hand = Setting("asap.cl_entries", "1", "--set")
    stressed = configure("sw-undo", "asap", extra=(*stress.settings, by_hand))
    assert stressed.by_hand == (by_hand,)
    assert len(settings_without_effect([stressed])) == 1


# A design that scales no units but has some, and others of each layer.
BASES = (
    ("parallel", "janus"), ("sw-undo", "asap"), ("hw-redo", "asap"), ("asap", "asap"),
    ("dpo", "pmem-spec"), ("pmem-spec", "pmem-spec"), ("lad", "lalea"),
    ("sw-undo@enc+veri-pmweaver", "pmweaver"), ("eadr", "xeon-optane"),
)  # fmt: skip


@pytest.mark.parametrize(("design", "machine"), long_except(BASES, BASES[1]))
def test_a_parameter_without_effect_changes_no_statistic(design: str, machine: str) -> None:
    base = Base(design, machine)
    changing = []
    idle = [each for each in _core.parameters() if base.configuration.idle(each.key)]
    assert len(idle) > 50
    for parameter in idle:
        now = base.configuration[parameter.key]
        others = [choice for choice in parameter.choices if choice != now]
        for value in (others or other_numbers(parameter, now))[:2]:
            with suppress(ConfigError):  # the value doesn't go with other parameters
                if base.run((parameter.key, value)) != base.unchanged:
                    changing.append(f"{parameter.key}={value}")
    assert changing == []
