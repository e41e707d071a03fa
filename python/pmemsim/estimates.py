"""Compute means of samples with their 95% confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95%, by degrees of freedom from 1: samples less one.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Estimate:
    """A mean of samples."""

    mean: float
    ci95: float
    """Half the width of the 95% confidence interval; 0 for a single sample."""

    def __str__(self) -> str:
        """Return the mean with its interval, which a single sample doesn't have."""
        return f"{self.mean:.3f}" + (f" ± {self.ci95:.3f}" if self.ci95 else "")

    def less_one(self) -> Estimate:
        """Return by how much it is above 1."""
        return Estimate(self.mean - 1, self.ci95)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and the confidence interval of independent values."""
    count = len(values)
    if count == 1:
        return Estimate(values[0], 0.0)
    half = _t95(count - 1) * statistics.stdev(values) / math.sqrt(count)
    return Estimate(statistics.fmean(values), half)


def _t95(freedom: int) -> float:
    """Return the quantile of Student's t: from the table, or by its expansion around the normal.

    The expansion (Abramowitz and Stegun, 26.7.5) is exact to 0.003 from 10 degrees of freedom on.
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = statistics.NormalDist().inv_cdf(0.975)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + (z**3 + z) / (4 * freedom) + second
