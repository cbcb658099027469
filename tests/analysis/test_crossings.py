"""Where curves cross, and how sure."""

import math

import numpy as np
import pytest
from analysis.synthetic import finish, log_row, make_config, start_run

from lft.analysis import crossings_table, curves_table, pairs_table
from lft.analysis.crossings import crossing_point
from lft.errors import RequestError

TOKENS = np.arange(1, 11) * 5e7
TRUE_CROSSING = 3e8


def test_intervals_cover_the_crossing_at_their_rate():
    generator = np.random.default_rng(0)
    mean = -0.1 * (np.log(TOKENS) - np.log(TRUE_CROSSING))
    covered = 0
    for _ in range(1000):
        of_seeds, of_points = generator.normal(0, 0.02, (4, 1)), generator.normal(0, 0.02, (4, 10))
        found = crossing_point(TOKENS, mean + of_seeds + of_points)
        covered += found.low <= TRUE_CROSSING <= found.high
    assert covered / 1000 == pytest.approx(0.95, abs=0.021)


def test_a_sharp_crossing_is_found_where_it_is():
    differences = np.log(TRUE_CROSSING) - np.log(TOKENS) + np.array([[0.001], [-0.001], [0.0]])
    found = crossing_point(TOKENS, differences)
    assert found.at == pytest.approx(TRUE_CROSSING, rel=1e-3)
    assert found.low < TRUE_CROSSING < found.high < 1.02 * TRUE_CROSSING


def test_without_a_change_of_sign_there_is_no_crossing():
    found = crossing_point(TOKENS, np.full((3, 10), 0.1))
    assert math.isnan(found.at) and found.note == "the mean difference keeps its sign"


def test_curves_that_are_equal_and_then_part_do_not_cross():
    """As those of an arm whose feedback begins late."""
    differences = np.array([[0.0] * 5 + [0.1] * 5, [0.0] * 5 + [0.12] * 5])
    assert math.isnan(crossing_point(TOKENS, differences).at)
    meeting = np.array([[-0.1] * 4 + [0.0] * 2 + [0.1] * 4] * 2)
    assert 2e8 < crossing_point(TOKENS, meeting).at < 3.5e8


@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_several_changes_of_sign_are_all_within_the_interval(noise):
    generator = np.random.default_rng(0)
    mean = -0.1 * (np.log(TOKENS) - np.log(TRUE_CROSSING))
    found = [crossing_point(TOKENS, mean + generator.normal(0, noise, (4, 10))) for _ in range(1000)]
    crossed = [each for each in found if not math.isnan(each.at)]
    assert any("changes its sign" in each.note for each in crossed)
    covered = sum(each.low <= TRUE_CROSSING <= each.high for each in crossed)
    assert covered / len(crossed) >= 0.95 - 0.021


def test_one_seed_has_a_crossing_and_no_interval():
    found = crossing_point(TOKENS, (np.log(TRUE_CROSSING) - np.log(TOKENS))[None])
    assert found.at == pytest.approx(TRUE_CROSSING, rel=1e-3)
    assert math.isnan(found.low) and found.note == "one seed: no interval"


def test_noise_that_covers_the_range_leaves_it_open():
    differences = np.array([[0.3] * 10, [-0.3] * 10, [0.03] * 5 + [-0.03] * 5])
    found = crossing_point(TOKENS, differences)
    assert (found.low, found.high) == (-math.inf, math.inf)


def make_curve(runs, routing, seed, losses):
    config = make_config(routing, seed)
    folder = start_run(runs, config)
    for number, loss in enumerate(losses, start=1):
        log_row(folder, 20 * number, val__loss=loss, perf__seconds=float(number))
    finish(folder, config, losses[-1])


def test_runs_are_crossed_pair_by_pair(tmp_path):
    for seed in (0, 1):
        make_curve(tmp_path, "standard", seed, [6.0, 5.5, 5.2, 5.1, 5.0])
        make_curve(tmp_path, "lft", seed, [6.4, 5.7, 5.2 + 0.01 * seed, 5.0, 4.8])
    curves, pairs = curves_table(tmp_path), pairs_table(tmp_path)
    (row,) = crossings_table(curves, pairs).to_dict("records")
    assert (row["routing"], row["pairs"]) == ("lft", 2)
    assert 60_000 <= row["crossing"] <= 64_000
    # Equal seconds a step: LFT's curve is that of twice the FLOPs.
    (by_flops,) = crossings_table(curves, pairs, x="train/flops").to_dict("records")
    assert by_flops["note"] == "the mean difference keeps its sign"
    with pytest.raises(RequestError, match="curves have no column 'train/joules'"):
        crossings_table(curves, pairs, x="train/joules")
