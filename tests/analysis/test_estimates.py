"""Means over items against scipy, statsmodels and formulas written out."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from lft.analysis.elo import elo_rating
from lft.analysis.estimates import (
    detectable_difference,
    mcnemar_p,
    mean_over_items,
    two_proportions,
    wilson_interval,
)

VALUES = np.random.default_rng(0).normal(size=40)
WEIGHTS = np.random.default_rng(1).uniform(1, 9, size=40)


def test_equal_weights_give_students_interval():
    estimate = mean_over_items(VALUES)
    assert estimate.mean == pytest.approx(VALUES.mean(), abs=1e-14)
    assert estimate.error == pytest.approx(stats.sem(VALUES), rel=1e-12)
    assert (estimate.low, estimate.high) == pytest.approx(
        stats.t.interval(0.95, 39, VALUES.mean(), stats.sem(VALUES)), rel=1e-12
    )


def test_weights_that_are_lengths_give_the_ratio_of_sums():
    estimate = mean_over_items(VALUES, WEIGHTS)
    ratio = (VALUES * WEIGHTS).sum() / WEIGHTS.sum()
    assert estimate.mean == pytest.approx(ratio, rel=1e-12)
    residuals = WEIGHTS * (VALUES - ratio) / WEIGHTS.sum()
    assert estimate.error == pytest.approx(math.sqrt((residuals**2).sum() * 40 / 39), rel=1e-12)


def test_items_of_one_passage_count_together():
    clusters = pd.Series([f"passage {number // 4}" for number in range(40)])
    estimate = mean_over_items(VALUES, clusters=clusters)
    fit = OLS(VALUES, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": np.arange(40) // 4})
    assert estimate.error == pytest.approx(float(fit.bse[0]), rel=1e-12)
    # Passages of which every item is a copy carry no more than one of them.
    copies = mean_over_items(np.repeat(VALUES[:10], 4), clusters=clusters)
    assert copies.error == pytest.approx(stats.sem(VALUES[:10]), rel=0.02)
    assert mean_over_items(VALUES, clusters=pd.Series([None] * 40)) == mean_over_items(VALUES)


def test_one_item_or_one_passage_has_no_interval():
    assert math.isnan(mean_over_items(np.array([1.0])).error)
    assert math.isnan(mean_over_items(VALUES, clusters=pd.Series(["one"] * 40)).low)


@given(st.integers(0, 50), st.integers(1, 50))
def test_proportions_get_wilsons_interval(right, wrong):
    low, high = wilson_interval(right, right + wrong)
    expected = stats.binomtest(right, right + wrong).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_published_lead_is_inside_sampling_noise():
    z, p = two_proportions((129, 114), (350, 350))
    assert (round(z, 2), round(p, 2)) == (1.19, 0.23)
    pooled = 243 / 700
    assert z == pytest.approx((15 / 350) / math.sqrt(pooled * (1 - pooled) * 2 / 350), rel=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_binomial_test_of_the_discordant_items(pairs):
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    discordant = only_first + only_second
    expected = stats.binomtest(only_first, discordant).pvalue if discordant else 1.0
    assert mcnemar_p(first, second) == pytest.approx(expected, rel=1e-9)


def test_a_detectable_difference_is_detected_four_times_in_five():
    error = 0.013
    difference = detectable_difference(error)
    z = difference / error
    power = stats.norm.sf(stats.norm.isf(0.025) - z)
    assert power == pytest.approx(0.80, abs=1e-12)


def test_elo_of_the_published_games():
    games = np.array([(1, 750, 1), (1.5, 900, 0), (3.15, 1200, 1), (1.4, 1050, 0)])
    assert elo_rating(games[:, 0], games[:, 1], games[:, 2]) == pytest.approx(1073.3874441008725, abs=1e-9)
    assert elo_rating(np.array([]), np.array([]), np.array([])) == pytest.approx(1000, abs=1e-9)


@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 3000), st.booleans()), max_size=30))
def test_elo_solves_its_equation(games):
    weights, ratings, right = (np.array([game[place] for game in games], float) for place in range(3))
    rating = elo_rating(weights, ratings, right)
    expected = 1 / (1 + 10 ** ((ratings - rating) / 400))
    prior = 4 * (0.5 - 1 / (1 + 10 ** ((1000 - rating) / 400)))
    assert prior + (weights * (right - expected)).sum() == pytest.approx(0, abs=1e-9)
