"""The published study's figures with the intervals they should have carried."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lft.analysis.effects import POWER, SIGNIFICANCE
from lft.analysis.estimates import two_proportions, wilson_interval

QUESTIONS = 350


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


def _difference_interval(pair: PublishedPair) -> tuple[float, float]:
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(pair.lft, QUESTIONS, pair.standard, QUESTIONS, method="newcomb")
    return float(low), float(high)


def _percent(share: float) -> float:
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
        discordant: Share of the questions that only one arm answers right.
    """
    from statsmodels.stats.power import NormalIndPower

    difference = points / 100
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

    reach = norm.ppf(1 - SIGNIFICANCE / 2) + norm.ppf(POWER)
    allowed = (points / reach) ** 2
    of_questions = 2 * accuracy * (1 - accuracy) / questions * 100**2
    of_seeds = 2 * seed_deviation**2
    if allowed <= of_questions:
        return 0
    return max(2, int(-(-of_seeds // (allowed - of_questions))))
