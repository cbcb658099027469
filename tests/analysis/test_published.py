"""The published figures, with the intervals they should have carried."""

import math

import numpy as np
import pytest
from scipy import stats

from lft.analysis import (
    paired_questions_needed,
    power_of,
    published_table,
    questions_needed,
    seeds_needed,
)


def test_no_published_difference_is_told_from_zero():
    table = published_table().set_index("scale")
    assert round(table.loc["10M", "z"], 2) == 1.19 and round(table.loc["10M", "p_value"], 2) == 0.23
    assert (table["low"] < 0).all() and (table["high"] > 0).all()
    assert list(table["standard"].round(2)) == [32.57, 32.57, 35.43]
    assert list(table["lft"].round(2)) == [30.86, 36.86, 36.57]
    expected = stats.binomtest(129, 350).proportion_ci(method="wilson")
    assert table.loc["10M", "lft_low"] == pytest.approx(100 * expected.low)


@pytest.mark.parametrize("points", [1, 4])
def test_so_many_questions_have_eighty_percent_power(points):
    needed = questions_needed(points)
    assert power_of(points, needed) >= 0.8 > power_of(points, needed - 20)
    # The same from the normal approximation of two proportions.
    first, second = 0.33, 0.33 + points / 100
    variance = first * (1 - first) + second * (1 - second)
    assert needed == pytest.approx(((1.959964 + 0.841621) / (points / 100)) ** 2 * variance, rel=0.02)


def test_paired_questions_reach_their_power_in_simulation():
    needed = paired_questions_needed(4, discordant=0.3)
    generator = np.random.default_rng(0)
    draws = generator.choice([1, -1, 0], p=[0.17, 0.13, 0.7], size=(2000, needed))
    means, errors = draws.mean(axis=1), draws.std(axis=1, ddof=1) / math.sqrt(needed)
    assert np.mean(np.abs(means / errors) > 1.96) == pytest.approx(0.8, abs=0.03)


def test_seeds_reach_their_power_in_simulation():
    seeds, questions, deviation = 4, 5000, 1.5
    assert seeds_needed(4, deviation, questions) == seeds
    generator = np.random.default_rng(0)
    of_seeds = generator.normal(4, deviation * math.sqrt(2), size=(4000, seeds)).mean(axis=1)
    of_questions = generator.normal(0, 100 * math.sqrt(2 * 0.33 * 0.67 / questions), size=4000)
    spread = math.sqrt(2 * deviation**2 / seeds + 100**2 * 2 * 0.33 * 0.67 / questions)
    assert np.mean(of_seeds + of_questions > 1.96 * spread) >= 0.8


def test_no_number_of_seeds_makes_up_for_too_few_questions():
    assert seeds_needed(1, 1.5, 350) == 0
