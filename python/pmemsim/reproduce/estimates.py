"""Compute means over seeds with their 95% confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95%, by degrees of freedom from 1: seeds less one.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    mean: float
    ci95: float
    """Half the width of the 95% confidence interval; 0 for a single seed."""

    def less_one(self) -> Estimate:
        """Return by how much it is above 1."""
        return Estimate(self.mean - 1, self.ci95)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and the confidence interval of up to ten independent values."""
    count = len(values)
    if count == 1:
        return Estimate(values[0], 0.0)
    half = _T95[count - 2] * statistics.stdev(values) / math.sqrt(count)
    return Estimate(statistics.fmean(values), half)
