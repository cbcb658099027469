"""Means over items, with what is known of them: standard errors, intervals, tests, power."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lft.analysis.effects import POWER, SIGNIFICANCE

CONFIDENCE = 1 - SIGNIFICANCE


@dataclass(frozen=True)
class Estimate:
    """A mean over items.

    Attributes:
        mean: The (weighted) mean.
        error: Its standard error; NaN below two items or passages.
        low: Lower end of the 95 % interval.
        high: Upper end.
    """

    mean: float
    error: float
    low: float
    high: float


def mean_over_items(
    values: np.ndarray,
    weights: np.ndarray | None = None,
    clusters: pd.Series | None = None,
    is_proportion: bool = False,
) -> Estimate:
    """A weighted mean with a standard error that allows for items of the same passage to go together.

    Weights that are lengths make it a ratio of sums, such as bits over bytes. The error is robust against
    unequal variances (statsmodels' HC1) or against what items of a passage share (its `cluster`), the
    interval Student's; a proportion of equally weighted, independent items gets Wilson's.

    Args:
        values: One number an item.
        weights: How much each item counts; equally when not given.
        clusters: What passage each item is about; null for one of its own.
        is_proportion: Whether the values are 0 and 1.
    """
    count = len(values)
    weights = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    mean = float(np.average(values, weights=weights)) if count else math.nan
    groups = _groups(clusters)
    if count < 2 or (groups is not None and groups.max() == 0):
        return Estimate(mean, math.nan, math.nan, math.nan)
    # statsmodels takes a second to load, which most tables can do without.
    from statsmodels.regression.linear_model import WLS

    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    robust = {"cov_type": "HC1"} if groups is None else clustered
    fit = WLS(values, np.ones(count), weights=weights).fit(use_t=True, **robust)
    low, high = fit.conf_int(SIGNIFICANCE)[0]
    if is_proportion and groups is None and np.ptp(weights) == 0:
        low, high = wilson_interval(int(values.sum()), count)
    return Estimate(mean, float(fit.bse[0]), float(low), float(high))


def wilson_interval(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion (1927, J. of the American Statistical Association 22, 209)."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(right, count, alpha=SIGNIFICANCE, method="wilson")
    return float(low), float(high)


def mcnemar_p(first: np.ndarray, second: np.ndarray) -> float:
    """Exact two-sided p-value of McNemar's test that two models are right equally often.

    Args:
        first: Whether one model is right, item by item.
        second: The same of the other model.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    table = [[int(np.sum((first == a) & (second == b))) for b in (True, False)] for a in (True, False)]
    return float(mcnemar(table, exact=True).pvalue)


def two_proportions(right: tuple[int, int], count: tuple[int, int]) -> tuple[float, float]:
    """z and two-sided p of two proportions from separate items, with the pooled variance."""
    from statsmodels.stats.proportion import proportions_ztest

    statistic, p_value = proportions_ztest(np.array(right), np.array(count))
    return float(statistic), float(p_value)


def detectable_difference(error: float) -> float:
    """The smallest true difference that a two-sided 5 % test would show with 80 % power.

    Args:
        error: Standard error of the difference.
    """
    from scipy.stats import norm

    return float(norm.ppf((1 + CONFIDENCE) / 2) + norm.ppf(POWER)) * error


def _groups(clusters: pd.Series | None) -> np.ndarray | None:
    """Passages as numbers; None where every item has its own."""
    if clusters is None or not clusters.dropna().duplicated().any():
        return None
    own = pd.Series([f"item {number}" for number in range(len(clusters))], index=clusters.index)
    return pd.factorize(clusters.fillna(own))[0]
