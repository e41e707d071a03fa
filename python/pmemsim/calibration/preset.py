"""Write fitted parameters as a machine preset that a person can read and change."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pmemsim.calibration.fit import Fitted
from pmemsim.calibration.measurements import Measurements
from pmemsim.calibration.processor import Processor

BASE = "_common"


def preset_text(
    name: str, processor: Processor, fitted: Iterable[Fitted], measured: Measurements, date: str
) -> str:
    """Return the YAML text; other parameters are inherited from the preset `_common`."""
    lines = [
        f"# Measured by `pmemsim calibrate` on {date}: {processor.description()}.",
        "# Other parameters (queues, reorder buffer, DRAM timings, ...) were not measured; their "
        "values",
        f"# are those of {BASE}.",
    ]
    unsure = [name for name, found in measured.found.items() if not found.is_sure]
    if unsure:
        lines.append("# Uncertain, because the repetitions differ by more than a tenth:")
        lines += [f"#   {each}" for each in unsure]
    lines += [f"# Not measured: {each}: {why}" for each, why in measured.missing.items()]
    lines += [
        f"name: {json.dumps(name)}",
        f"summary: {json.dumps(f'Calibrated on {processor.model}')}",
        f"citation: {json.dumps(f'pmemsim calibrate, {date}')}",
        f"inherits: {BASE}",
        "parameters:",
    ]
    lines += [
        f"  {each.key}: {{value: {each.value}, source: {json.dumps(each.source)}}}"
        for each in fitted
    ]
    return "\n".join(lines) + "\n"
