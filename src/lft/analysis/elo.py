"""The Elo rating of Base Bench."""

import numpy as np

# The prior: as if four games had been drawn against a rating of 1000.
PRIOR_RATING, PRIOR_GAMES = 1000.0, 4.0


def elo_rating(weights: np.ndarray, ratings: np.ndarray, right: np.ndarray) -> float:
    """The rating R that solves 4 (1/2 - p(R, 1000)) + sum of w (right - p(R, item)) = 0.

    With p(R, e) = 1 / (1 + 10^((e - R) / 400)); BananaMind Base Bench 1.1.

    Args:
        weights: Weight of each item.
        ratings: Elo of each item.
        right: Whether each was answered right.
    """
    from scipy.optimize import brentq

    def balance(rating: float) -> float:
        prior = PRIOR_GAMES * (0.5 - _expected(rating, np.array(PRIOR_RATING)))
        return float(prior + np.sum(weights * (right - _expected(rating, ratings))))

    # The prior alone bounds the rating: beyond, it outweighs all games.
    reach = 400 * np.log10(1 + 2 * (np.sum(weights) + PRIOR_GAMES) / PRIOR_GAMES) + 4000
    return float(brentq(balance, PRIOR_RATING - reach, PRIOR_RATING + reach, xtol=1e-12, rtol=1e-15))


def _expected(rating: float, opponent: np.ndarray) -> np.ndarray:
    return 1 / (1 + 10 ** ((opponent - rating) / 400))
