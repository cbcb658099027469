"""The exponent of recurrence, out of runs whose law is known."""

import math

import numpy as np
import pytest

from lft.analysis.recurrence import Observation, fit_recurrence

VISIT_MAPS = [(1,) * 5, (2, 3, 3, 2, 1), (2, 5, 5, 4, 1), (3,) * 5, (1,) * 11, (1,) * 8]


def simulated(phi, noise, budgets=(1e6,), seeds=3, maps=VISIT_MAPS, draw=0):
    generator = np.random.default_rng(draw)
    observations = []
    for tokens in budgets:
        for block in (1e5, 4e5):
            for visits in maps:
                exact = Observation(visits, block, tokens, 0.0)
                loss = 2.0 + 300 * exact.effective_parameters(phi) ** -0.35 + 2000 * tokens**-0.5
                observations += [
                    Observation(visits, block, tokens, loss + generator.normal(0, noise))
                    for _ in range(seeds)
                ]
    return observations


@pytest.mark.parametrize("budgets", [(1e6,), (1e6, 4e6), (1e6, 4e6, 1.6e7)])
@pytest.mark.parametrize("phi", [0.2, 0.46, 0.9])
def test_phi_is_recovered(phi, budgets):
    fit = fit_recurrence(simulated(phi, 0.01, budgets))
    assert fit.note == "" and fit.phi == pytest.approx(phi, abs=0.05)
    assert fit.low < fit.phi < fit.high
    assert fit.residual == pytest.approx(0.01, rel=0.4)


@pytest.mark.slow
def test_intervals_cover_phi_at_their_rate():
    fits = [fit_recurrence(simulated(0.46, 0.05, draw=draw)) for draw in range(100)]
    covered = sum(fit.low <= 0.46 <= fit.high for fit in fits)
    assert covered >= 88


@pytest.mark.parametrize(
    ("observations", "reason"),
    [
        (simulated(0.46, 0.01, maps=VISIT_MAPS[:1]), "not identified: 2 different models in 6 runs; 4 are"),
        (
            simulated(0.46, 0.01, maps=[(1,) * depth for depth in range(4, 9)]),
            "no model visits a block twice",
        ),
        (simulated(0.46, 5.0, seeds=1), "not identified: from .* to .* all fit about as well"),
        ([], "not identified: 0 different models"),
    ],
)
def test_data_that_cannot_say_is_told(observations, reason):
    import re

    fit = fit_recurrence(observations)
    assert math.isnan(fit.phi) and re.search(reason, fit.note)
