"""The exponent of recurrence, out of runs whose law is known."""

import math

import numpy as np
import pytest
from analysis.synthetic import finish, make_config, make_run, start_run

from lft.analysis import recurrence_table
from lft.analysis.recurrence import Observation, Profile, fit_recurrence

VISIT_MAPS = [(1,) * 5, (2, 3, 3, 2, 1), (2, 5, 5, 4, 1), (3,) * 5, (1,) * 11, (1,) * 8]


def simulated(phi, noise, budgets=(1e6,), seeds=3, maps=VISIT_MAPS, draw=0, misfit=0.0):
    generator = np.random.default_rng(draw)
    observations = []
    for tokens in budgets:
        for block in (1e5, 4e5):
            for visits in maps:
                exact = Observation(visits, block, tokens, 0.0)
                loss = 2.0 + 300 * exact.effective_parameters(phi) ** -0.35 + 2000 * tokens**-0.5
                loss += generator.normal(0, misfit)
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
    # Of means over three seeds.
    assert fit.residual == pytest.approx(0.01 / math.sqrt(3), rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "misfit", "seeds"), [(0.05, 0.0, 3), (0.01, 0.02, 8)])
def test_intervals_cover_phi_at_their_rate(noise, misfit, seeds):
    """Also where the law misses something of each model, which further seeds do not average out."""
    draws = (simulated(0.46, noise, seeds=seeds, draw=draw, misfit=misfit) for draw in range(100))
    covered = sum(fit.low <= 0.46 <= fit.high for fit in map(fit_recurrence, draws))
    assert covered >= 88


@pytest.mark.parametrize(
    ("observations", "reason"),
    [
        (simulated(0.46, 0.01, maps=VISIT_MAPS[:1]), "not identified: 2 different models; 5 are needed"),
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


def make_grid(runs, shift=0.0, **overrides):
    for routing, gain in (("standard", 0.0), ("lft", 0.1), ("loop", 0.12), ("deep", 0.3)):
        for seed in range(2):
            loss = 5.0 - gain + shift + 0.001 * seed
            make_run(runs, routing, seed, loss, **overrides)


def test_other_conditions_and_sharing_are_not_pooled(tmp_path):
    make_grid(tmp_path)
    make_grid(tmp_path, 0.7, optimizer__learning_rate=0.03)
    config = make_config("lft", 0, sharing={"gradient": "last"})
    finish(start_run(tmp_path, config, arm="lft gradient=last"), config, 9.0)
    diverged = make_run(tmp_path, "lft", 7, math.nan)
    table = recurrence_table(tmp_path).set_index("settings")
    assert list(table["observations"]) == [4, 4]
    assert all(note.endswith(f"{diverged.name} left out: no finite loss") for note in table["note"])
    assert set(table.index) == {"optimizer.learning_rate=0.003", "optimizer.learning_rate=0.03"}


def test_data_that_hurt_do_not_take_the_size_from_the_fit():
    """Losses that rise with the number of tokens leave only the term of the parameters."""
    observations = simulated(0.46, 0.001, budgets=(1e6,)) + [
        Observation(item.visits, item.block_parameters, 4e6, item.loss + 0.5)
        for item in simulated(0.46, 0.001, budgets=(1e6,))
    ]
    profile = Profile(observations, 2)
    flat = Profile([Observation(item.visits, 1e5, item.tokens, item.loss) for item in observations], 2)
    assert profile(0.46) < 0.9 * flat(0.0)
