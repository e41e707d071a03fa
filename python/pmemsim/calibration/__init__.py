"""`pmemsim calibrate`: derive a machine preset from measurements of the machine that it runs on.

    processor.py      what the system says of the processor
    measurements.py   the micro-benchmarks (microbenchmarks.c, measured.h), run natively
    fit.py            from their figures to parameters, by closed forms
    preset.py         the parameters as a preset, each with its source
    comparison.py     the micro-benchmarks simulated on it

measured.h serves the programs of benchmarks/programs, too.
"""

from pmemsim.calibration.calibrate import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
