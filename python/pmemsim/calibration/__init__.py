"""`pmemsim calibrate`: derive a machine preset from measurements of a machine.

    microbenchmarks.c   the micro-benchmarks (with measured.h)
    measure_all.h       the list of all figures, measured natively without Python
    measuring.py        build and run that program
    measurements.py     the figures, as a file keeps them
    processor.py        what the system says of the processor
    fit.py              from figures to parameters, by closed forms
    preset.py           the parameters as a preset, each with its source
    comparison.py       the micro-benchmarks simulated on it

measured.h serves the programs of benchmarks/programs, too.
"""

from pmemsim.calibration.calibrate import Calibration, calibrate, measure_with_reports
from pmemsim.calibration.measurements import read_measurements
from pmemsim.calibration.measuring import export_tool, write_measurements

__all__ = [
    "Calibration",
    "calibrate",
    "export_tool",
    "measure_with_reports",
    "read_measurements",
    "write_measurements",
]
