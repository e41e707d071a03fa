"""Write fitted parameters as a machine preset that a person can read and change."""

from __future__ import annotations

import json
from textwrap import shorten

from pmemsim.calibration.fit import Fit
from pmemsim.calibration.measurements import USABLE_SPREAD, Measurements

BASE = "_common"


def preset_text(name: str, fitted: Fit, measured: Measurements) -> str:
    """Return the YAML text; other parameters are inherited from the preset `_common`."""
    processor = measured.processor
    lines = [
        "# Fitted by `pmemsim calibrate` to the times of its micro-benchmarks. The source of each",
        f"# value names the loops that decided it. Others have the values of {BASE}.",
        f"# Processor: {processor.description()}.",
        f"# Measured: {measured.taken}.",
    ]
    lines += [f"# Not fitted: {key}: {why}." for key, why in fitted.refused.items()]
    unusable = [each for each in measured.found.values() if not each.is_usable]
    if unusable:
        lines.append(
            f"# Not used, because the repetitions differ by more than {USABLE_SPREAD:.0%}:"
        )
        lines += [f"#   {each.name}: {each.spread:.0%}" for each in unusable]
    lines += [f"# Not measured: {each}: {why}." for each, why in measured.missing.items()]
    lines += [
        f"name: {json.dumps(name)}",
        "basis: exists",
        f"summary: {json.dumps(shorten(f'Calibrated on {processor.model}', 100))}",
        f"citation: {json.dumps(f'pmemsim calibrate, {measured.taken}')}",
        f"inherits: {BASE}",
        "parameters:",
    ]
    lines += [
        f"  {each.key}: {{value: {each.value}, source: {json.dumps(each.source)}}}"
        for each in fitted.parameters
    ]
    return "\n".join(lines) + "\n"
