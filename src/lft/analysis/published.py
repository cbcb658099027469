"""The published study's figures with the intervals they should have carried."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lft.analysis.effects import POWER, SIGNIFICANCE
from lft.analysis.estimates import two_proportions, wilson_interval
from lft.analysis.intervals import t_quantile
from lft.errors import RequestError

QUESTIONS = 350
# PIQA, ARC-Easy, HellaSwag.
TASK_QUESTIONS = (1838, 2376, 10042)
# LFT minus standard at 10M after 200M tokens, -2.57 points: nine questions.
AT_200M = -9 / QUESTIONS


@dataclass(frozen=True)
class PublishedPair:
    """Right answers of one seed of each arm on Base Bench 1.1, chance 25 %.

    Attributes:
        scale: As published.
        tokens: Training tokens.
        standard: Right answers of the standard model.
        lft: Right answers of LFT.
    """

    scale: str
    tokens: str
    standard: int
    lft: int


# Accuracies as published, times 350: 32.57 and 30.86 %, 32.57 and 36.86 %, 35.43 and 36.57 %.
PUBLISHED = (
    PublishedPair("2.5M", "500M", 114, 108),
    PublishedPair("10M", "500M", 114, 129),
    PublishedPair("25M", "500M", 124, 128),
)


def published_table() -> pd.DataFrame:
    """Accuracies with Wilson intervals, the difference, and what separate samples of questions say of it.

    The published answers are not known item by item, so the test is the unpaired one, which is what can be
    computed from the figures; a paired one would be somewhat sharper.

    Returns:
        One row a scale: accuracies with intervals in percent, `difference` in points with its 95 % interval,
        `z` and `p_value` of two proportions.
    """
    rows = []
    for pair in PUBLISHED:
        z, p_value = two_proportions((pair.lft, pair.standard), (QUESTIONS, QUESTIONS))
        low, high = _difference_interval(pair)
        row: dict[str, Any] = {"scale": pair.scale, "tokens": pair.tokens}
        for name in ("standard", "lft"):
            right = getattr(pair, name)
            ends = wilson_interval(right, QUESTIONS)
            row |= {name: _percent(right / QUESTIONS), f"{name}_low": _percent(ends[0])}
            row[f"{name}_high"] = _percent(ends[1])
        row["difference"] = _percent((pair.lft - pair.standard) / QUESTIONS)
        rows.append({**row, "low": _percent(low), "high": _percent(high), "z": z, "p_value": p_value})
    return pd.DataFrame(rows)


def published_differences() -> pd.DataFrame:
    """What else the study reported, as differences in points (LFT minus standard) with 95 % intervals.

    The errors are those of separate samples of questions, for each task at an accuracy of 50 %, where they
    are largest (Base Bench: at its 33 %). The tasks have 1,838, 2,376 and 10,042 questions.

    Returns:
        One row a figure: `what`, `difference`, its standard `error`, `low`, `high`, `z` and `p_value`.
    """
    from scipy.stats import norm

    of_tasks = math.sqrt(sum(2 * 0.25 / questions for questions in TASK_QUESTIONS)) / len(TASK_QUESTIONS)
    of_bench = math.sqrt(2 * 0.33 * 0.67 / QUESTIONS)
    at_500m = (PUBLISHED[1].lft - PUBLISHED[1].standard) / QUESTIONS
    figures = (
        ("25M, mean of PIQA, ARC-Easy and HellaSwag", 0.3884 - 0.3864, of_tasks),
        ("10M after 200M tokens, Base Bench", AT_200M, of_bench),
        ("10M, change from 200M to 500M tokens", at_500m - AT_200M, math.sqrt(2) * of_bench),
    )
    rows = []
    for what, difference, error in figures:
        reach, z = float(norm.ppf(1 - SIGNIFICANCE / 2)) * error, difference / error
        row = {"what": what, "difference": difference, "error": error}
        row |= {"low": difference - reach, "high": difference + reach}
        rows.append(
            {key: value if key == "what" else _percent(value) for key, value in row.items()}
            | {"z": z, "p_value": float(2 * norm.sf(abs(z)))}
        )
    return pd.DataFrame(rows)


def _difference_interval(pair: PublishedPair) -> tuple[float, float]:
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(pair.lft, QUESTIONS, pair.standard, QUESTIONS, method="newcomb")
    return float(low), float(high)


def _percent(share: Any) -> float:
    return 100 * share


def questions_needed(points: float, accuracy: float = 0.33) -> int:
    """Questions for each arm that show a difference of so many points with 80 % power, unpaired.

    Args:
        points: The true difference in percentage points.
        accuracy: Of the weaker arm.
    """
    from statsmodels.stats.power import NormalIndPower
    from statsmodels.stats.proportion import proportion_effectsize

    effect = proportion_effectsize(accuracy + points / 100, accuracy)
    needed = NormalIndPower().solve_power(effect_size=effect, alpha=SIGNIFICANCE, power=POWER)
    return int(-(-needed // 1))


def paired_questions_needed(points: float, discordant: float) -> int:
    """Questions that show a difference of so many points with 80 % power when both arms answer each.

    Args:
        points: The true difference in percentage points.
        discordant: Share of the questions that only one arm answers right, at least the difference.

    Raises:
        RequestError: That share is smaller than the difference.
    """
    from statsmodels.stats.power import NormalIndPower

    difference = points / 100
    if discordant < difference:
        raise RequestError(f"discordant={discordant} must be at least the difference, {difference}")
    spread = (discordant - difference**2) ** 0.5
    # One sample of differences: half of what two samples of this effect take each.
    needed = NormalIndPower(ddof=0).solve_power(
        effect_size=difference / spread, alpha=SIGNIFICANCE, power=POWER, ratio=0
    )
    return int(-(-needed // 1))


def power_of(points: float, questions: int, accuracy: float = 0.33) -> float:
    """The chance that so many questions for each arm show a difference of so many points, unpaired."""
    from statsmodels.stats.power import NormalIndPower
    from statsmodels.stats.proportion import proportion_effectsize

    effect = proportion_effectsize(accuracy + points / 100, accuracy)
    return float(NormalIndPower().power(effect, questions, SIGNIFICANCE))


def seeds_needed(points: float, seed_deviation: float, questions: int, accuracy: float = 0.33) -> int:
    """Pairs of seeds that show a difference of so many points with 80 % power, on so many questions.

    A pair of runs differs by the true difference, by what its seeds add, and by which questions were asked;
    more seeds on the same questions average out what the seeds add, and not the choice of questions.

    Args:
        points: The true difference in percentage points.
        seed_deviation: Standard deviation of one run's accuracy over seeds, in points.
        questions: How many are asked.
        accuracy: Of both arms, about.

    Returns:
        Pairs of seeds; 0 where no number suffices, since the questions alone leave too much open.
    """
    from scipy.stats import norm

    of_questions = 2 * accuracy * (1 - accuracy) / questions * 100**2
    of_seeds = 2 * seed_deviation**2
    if points <= (norm.ppf(1 - SIGNIFICANCE / 2) + norm.ppf(POWER)) * math.sqrt(of_questions):
        return 0
    pairs = 2
    while not _shows(points, of_seeds, of_questions, pairs):
        pairs += 1
    return pairs


def _shows(points: float, of_seeds: float, of_questions: float, pairs: int) -> bool:
    """Whether so many pairs show the difference with 80 % power by the interval of `two_way`."""
    from scipy.stats import chi2, norm

    # The spread over so few seeds is itself uncertain.
    shares = (np.arange(500) + 0.5) / 500
    estimated = of_seeds / pairs * chi2.ppf(shares, pairs - 1) / (pairs - 1)
    reach = np.sqrt(
        t_quantile(pairs - 1) ** 2 * estimated + norm.ppf(1 - SIGNIFICANCE / 2) ** 2 * of_questions
    )
    error = math.sqrt(of_seeds / pairs + of_questions)
    return bool(norm.sf((reach - points) / error).mean() >= POWER)
