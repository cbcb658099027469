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
        detectable: The true difference that so many pairs of this spread would show with 80 % power.
    """

    pairs: int
    mean: float
    standard_deviation: float
    low: float
    high: float
    p_value: float
    same_sign: int
    detectable: float


def paired_effect(differences: Sequence[float]) -> Effect:
    """The effect behind the differences of at least one pair; one pair has no interval."""
    values, count = list(differences), len(differences)
    centre = mean(values)
    same_sign = sum(value * centre > 0 for value in values)
    if count < 2:
        return Effect(count, centre, *(math.nan,) * 4, same_sign, math.nan)
    spread = stdev(values)
    low, high = t_interval(values)
    return Effect(
        count, centre, spread, low, high, _p_value(values), same_sign, detectable_effect(spread, count)
    )


def _p_value(values: Sequence[float]) -> float:
    if stdev(values) == 0:
        return 1.0 if mean(values) == 0 else 0.0
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(values, 0.0).pvalue)


def detectable_effect(standard_deviation: float, pairs: int) -> float:
    """The true mean difference that a two-sided 5 % t test shows with 80 % power.

    Args:
        standard_deviation: Of the paired differences.
        pairs: How many there are, at least two.
    """
    if standard_deviation == 0:
        return 0.0
    from statsmodels.stats.power import TTestPower

    solved = TTestPower().solve_power(nobs=pairs, alpha=SIGNIFICANCE, power=POWER)
    return float(solved) * standard_deviation


def pairs_needed(effect: float, standard_deviation: float) -> int:
    """How many pairs show a true difference of this size with 80 % power."""
    from statsmodels.stats.power import TTestPower

    size = effect / standard_deviation
    # The power of two pairs is the least there is; large effects need no more.
    if TTestPower().power(size, nobs=2, alpha=SIGNIFICANCE) >= POWER:
        return 2
    return math.ceil(TTestPower().solve_power(effect_size=size, alpha=SIGNIFICANCE, power=POWER))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for being one of several comparisons (Holm 1979, Scand. J. of Statistics 6, 65)."""
    from statsmodels.stats.multitest import multipletests

    known = [value for value in p_values if not math.isnan(value)]
    adjusted = iter(multipletests(known, method="holm")[1] if known else [])
    return [float(next(adjusted)) if not math.isnan(value) else math.nan for value in p_values]


def upper_bound(values: Sequence[float]) -> float:
    """What the true mean lies below with 95 % confidence, one-sided, from at least two values."""
    half = t_quantile(len(values) - 1, 1 - 2 * SIGNIFICANCE) * stdev(values) / math.sqrt(len(values))
    return mean(values) + half
