"""Paired effects over seeds: how large, how sure, and how large one would have had to be to be seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from lft.analysis.intervals import t_interval, t_quantile

SIGNIFICANCE, POWER = 0.05, 0.80


@dataclass(frozen=True)
class Effect:
    """A mean paired difference over seeds.

    Attributes:
        pairs: Pairs of runs.
        mean: Mean difference.
        standard_deviation: Over the pairs; NaN for one.
        low: Lower end of the 95 % t interval.
        high: Upper end.
        p_value: Two-sided t test that the mean is zero.
        same_sign: Pairs whose difference has the sign of the mean.
    """

    pairs: int
    mean: float
    standard_deviation: float
    low: float
    high: float
    p_value: float
    same_sign: int


def paired_effect(differences: Sequence[float]) -> Effect:
    """The effect behind the differences of at least one pair; one pair has no interval."""
    values, count = list(differences), len(differences)
    centre = mean(values)
    same_sign = sum(value * centre > 0 for value in values)
    if count < 2:
        return Effect(count, centre, *(math.nan,) * 4, same_sign)
    spread = stdev(values)
    low, high = t_interval(values)
    return Effect(count, centre, spread, low, high, _p_value(values), same_sign)


def _p_value(values: Sequence[float]) -> float:
    if stdev(values) == 0:
        return 1.0 if mean(values) == 0 else 0.0
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(values, 0.0).pvalue)


def detectable_benefit(
    standard_deviation: float, pairs: int, smallest_effect: float, comparisons: int
) -> float:
    """The true benefit that a rule calls supported with 80 % power, at its strictest.

    The rule asks for a mean of at least the smallest effect and for a two-sided p below 5 % over the number
    of comparisons, as Holm's procedure does of the first.

    Args:
        standard_deviation: Of the paired differences, taken for the true one.
        pairs: How many there are, at least two.
        smallest_effect: The least mean that counts.
        comparisons: How many claims are tested together.
    """
    import numpy as np
    from scipy.optimize import brentq
    from scipy.stats import chi2, norm

    error = standard_deviation / math.sqrt(pairs)
    if error == 0:
        return smallest_effect
    shares = (np.arange(2000) + 0.5) / 2000
    spreads = np.sqrt(chi2.ppf(shares, pairs - 1) / (pairs - 1))
    # Mean and spread of a sample are independent: given the spread, the mean must pass both bars.
    bars = np.maximum(
        smallest_effect, t_quantile(pairs - 1, 1 - SIGNIFICANCE / comparisons) * spreads * error
    )

    def shortfall(benefit: float) -> float:
        return POWER - float(norm.sf((bars - benefit) / error).mean())

    return float(brentq(shortfall, 0.0, bars.max() + 10 * error))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for being one of several comparisons (Holm 1979, Scand. J. of Statistics 6, 65).

    A comparison that is planned and not made yet, NaN, counts as one, so that making it later changes nothing
    in the others' favour.
    """
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return []
    adjusted = multipletests([1.0 if math.isnan(p) else p for p in p_values], method="holm")[1]
    return [math.nan if math.isnan(p) else float(value) for p, value in zip(p_values, adjusted, strict=True)]


def upper_bound(values: Sequence[float]) -> float:
    """What the true mean lies below with 95 % confidence, one-sided, from at least two values."""
    half = t_quantile(len(values) - 1, 1 - 2 * SIGNIFICANCE) * stdev(values) / math.sqrt(len(values))
    return mean(values) + half
