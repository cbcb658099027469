"""Student's t for a handful of seeds."""

import math
from statistics import covariance, mean, stdev, variance


def t_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """The t interval of the mean of at least two values."""
    half = t_quantile(len(values) - 1, confidence) * stdev(values) / math.sqrt(len(values))
    return mean(values) - half, mean(values) + half


def ratio_interval(
    numerators: list[float], denominators: list[float], confidence: float = 0.95
) -> tuple[float, float]:
    """Fieller's interval of mean(numerators) / mean(denominators) for pairs of values.

    All ratios r for which the mean of numerator - r * denominator may be zero (Fieller 1954, Journal of the
    Royal Statistical Society B 16, 175). Bounded where the interval of the denominators' mean keeps away
    from zero, which is taken for granted here.
    """
    count = len(numerators)
    above, below = mean(numerators), mean(denominators)
    weight = t_quantile(count - 1, confidence) ** 2 / count
    quadratic = below**2 - weight * variance(denominators)
    middle = above * below - weight * covariance(numerators, denominators)
    constant = above**2 - weight * variance(numerators)
    root = math.sqrt(max(0.0, middle**2 - quadratic * constant))
    return (middle - root) / quadratic, (middle + root) / quadratic


def t_quantile(degrees: float, confidence: float = 0.95) -> float:
    """The t within which a share `confidence` of Student's distribution lies, both sides together."""
    # scipy.special loads in a fraction of the time of scipy.stats.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))
