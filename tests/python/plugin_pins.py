"""Measures pinned numbers of ASAP and PMEM-Spec with the implementations of a plug-in.

`PMEMSIM_PLUGINS` names the plug-in. Prints how many lines were compared with the committed ones,
and exits with 1 at the first difference. A process of its own, since a plug-in can't be unloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

from pins import statistics
from pins.configurations import FOLDER, configuration, largest_recording
from pins.files import committed
from pmemsim.crashing import Points, verify
from pmemsim.presets import load_preset
from pmemsim.selftest.injected_faults import injected_faults

IMPLEMENTATIONS = {
    ("atomicity", "asap"): "asap-plugin",
    ("ordering", "pmem-spec"): "pmem-spec-plugin",
}


def plugin_settings(design: str) -> dict[str, str]:
    """Return the settings that replace a design's implementations by those of the plug-in."""
    values = {setting.key: setting.value for setting in load_preset("design", design).settings}
    return {
        layer: name for (layer, own), name in IMPLEMENTATIONS.items() if values.get(layer) == own
    }


def statistics_lines() -> Iterator[str]:
    """Return the lines of all runs in which an implementation is replaced."""
    results = (
        (run, replace(run, settings=(*run.settings, *replaced.items())).result())
        for run in statistics.runs()
        if (replaced := plugin_settings(run.design))
    )
    for lines in statistics.files_of(results).values():
        yield from lines


def fault_lines() -> Iterator[str]:
    """Return the lines of injected faults of these designs."""
    for fault in injected_faults():
        replaced = plugin_settings(fault.design)
        if not replaced or fault.stress or fault.extra or not fault.is_fault:
            continue
        settings = {**replaced, **dict([fault.setting])} if fault.setting else replaced
        broken = configuration(fault.design, "asap", settings)
        trace = largest_recording(fault.design, "asap")
        run = verify(trace, broken, Points(sample=100, subsets=1), None, "")
        yield f"{fault.design} {fault.switch} {run.violations}"


def main() -> None:
    """Compare all lines."""
    known = {
        line for name in committed(FOLDER) for line in (FOLDER / name).read_text().splitlines()
    }
    measured = [*statistics_lines(), *fault_lines()]
    different = [line for line in measured if line not in known]
    if different:
        sys.exit(f"{len(different)} of {len(measured)} lines differ: {different[0]}")
    print(len(measured))


if __name__ == "__main__":
    main()
