"""The published figures, with the intervals they should have carried."""

import math

import numpy as np
import pytest
from scipy import stats

from lft.analysis import (
    paired_questions_needed,
    power_of,
    published_differences,
    published_table,
    questions_needed,
    seeds_needed,
)
from lft.analysis.intervals import t_quantile


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
    questions, deviation = 5000, 1.5
    seeds = seeds_needed(4, deviation, questions)
    item_error = 100 * math.sqrt(2 * 0.33 * 0.67 / questions)
    power = {}
    for count in (seeds - 1, seeds):
        generator = np.random.default_rng(0)
        of_seeds = generator.normal(4, deviation * math.sqrt(2), size=(20000, count))
        means = of_seeds.mean(axis=1) + generator.normal(0, item_error, size=20000)
        # The interval of `two_way`, with the spread over seeds as a handful of them shows it.
        seed_errors = of_seeds.std(axis=1, ddof=1) / math.sqrt(count)
        power[count] = np.mean(means > np.hypot(t_quantile(count - 1) * seed_errors, 1.96 * item_error))
    assert power[seeds - 1] < 0.8 <= power[seeds] + 0.01


def test_no_number_of_seeds_makes_up_for_too_few_questions():
    assert seeds_needed(1, 1.5, 350) == 0


def test_the_reversal_and_the_mean_of_the_tasks_are_within_the_noise_of_questions():
    table = published_differences()
    assert list(table["difference"].round(2)) == [0.20, -2.57, 6.86]
    assert (table["low"] < 0).all() and (table["high"] > 0).all()
    assert table["error"][0] == pytest.approx(
        100 / 3 * math.sqrt(0.5 * (1 / 1838 + 1 / 2376 + 1 / 10042)), rel=1e-9
    )
