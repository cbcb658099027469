"""Seeds and items together."""

import math

import numpy as np
import pandas as pd
import pytest
from analysis.evaluated import add_evaluation, choice_item, make_pair, text_item

from lft.analysis import differences_over_seeds
from lft.analysis.two_way import passages_of, two_way

SIMULATIONS = 1000


def simulated(generator, seeds=4, items=60, of_seeds=0.02, of_items=0.1, together=0.1, mean=0.05):
    return (
        mean
        + generator.normal(0, of_seeds, (seeds, 1))
        + generator.normal(0, of_items, (1, items))
        + generator.normal(0, together, (seeds, items))
    )


@pytest.fixture
def fast_bootstrap(monkeypatch):
    """Fewer draws, since a thousand intervals need less precision each."""
    monkeypatch.setattr("lft.analysis.two_way.BOOTSTRAP_DRAWS", 200)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 4])
@pytest.mark.parametrize(
    ("of_seeds", "of_items", "together"),
    [(0.02, 0.1, 0.1), (0.05, 0.02, 0.0), (0.05, 0.1, 0.0), (0.0, 0.3, 0.0)],
)
def test_intervals_cover_at_least_at_their_rate(seeds, of_seeds, of_items, together, fast_bootstrap):
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(SIMULATIONS):
        values = simulated(generator, seeds, of_seeds=of_seeds, of_items=of_items, together=together)
        found = two_way(values, np.ones(60))
        covered += found.low <= 0.05 <= found.high
    # No less than 95 % but for three standard errors of the simulation.
    assert covered / SIMULATIONS >= 0.95 - 0.021


def test_a_passage_is_one_of_its_subtask_and_an_item_without_one_its_own():
    items = pd.DataFrame(
        {
            "subtask": ["a", "a", "a", "b", "b"],
            "cluster": ["1", "1", None, None, "1"],
            "item": ["0", "1", "1", "1", "2"],
        }
    )
    assert list(passages_of(items)) == [0, 0, 1, 3, 2]


@pytest.mark.slow
def test_items_about_one_passage_are_not_independent(fast_bootstrap):
    generator, passages = np.random.default_rng(0), np.repeat(np.arange(20), 5)
    covered = 0
    for _ in range(SIMULATIONS):
        of_passages = generator.normal(0, 0.3, 20)[passages]
        values = 0.05 + of_passages + generator.normal(0, 0.02, (3, 1)) + generator.normal(0, 0.1, (3, 100))
        found = two_way(values, np.ones(100), passages)
        covered += found.low <= 0.05 <= found.high
    assert covered / SIMULATIONS >= 0.95 - 0.021


def test_items_that_are_lengths_count_by_them():
    values, weights = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]]), np.array([3.0, 1.0])
    found = two_way(values, weights)
    assert found.mean == 1.5 and found.seed_error == 0 and found.item_error > 0


def test_one_seed_has_no_interval_and_equal_answers_no_error():
    found = two_way(np.array([[0.0, 1.0, 1.0]]), np.ones(3))
    assert math.isnan(found.low) and found.item_error > 0
    same = two_way(np.zeros((3, 4)), np.ones(4))
    assert (same.mean, same.low, same.high) == (0, 0, 0)


def test_runs_are_paired_seed_by_seed(tmp_path):
    for seed in range(3):
        for folder, worse in zip(make_pair(tmp_path / "runs", seed), (0.0, 2.0 + seed), strict=True):
            documents = [text_item(number, 100 + number + worse, 40, 120) for number in range(5)]
            add_evaluation(folder, "bits_per_byte", documents)
            add_evaluation(folder, "piqa", [choice_item(number, number % 2 > 0) for number in range(4)])
    table = differences_over_seeds(tmp_path / "runs").set_index(["task", "metric"])
    row = table.loc["bits_per_byte", "nats_per_token"]
    assert (row["routing"], row["pairs"], row["items"]) == ("lft", 3, 5)
    assert row["difference"] == pytest.approx(3 / 40)
    assert row["seed_error"] == pytest.approx(1 / 40 / math.sqrt(3))
    assert table.loc["piqa", "acc"]["difference"] == 0


def test_pairs_that_were_asked_otherwise_are_left_out_and_said(tmp_path):
    for seed in range(2):
        for folder in make_pair(tmp_path / "runs", seed):
            items = [choice_item(number, True) for number in range(4)]
            add_evaluation(folder, "piqa", items, limit=seed)
    (row,) = differences_over_seeds(tmp_path / "runs").to_dict("records")
    assert row["pairs"] == 1
    assert row["note"] == "one seed: no interval; 1 pairs left out: asked otherwise than the rest"


def test_other_moments_of_training_are_left_out_and_said(tmp_path):
    for seed in range(2):
        for folder in make_pair(tmp_path / "runs", seed):
            moment = 50_000 if seed and "lft" in folder.name else 100_000
            add_evaluation(folder, "piqa", [choice_item(number, True) for number in range(4)], tokens=moment)
    (row,) = differences_over_seeds(tmp_path / "runs").to_dict("records")
    assert row["pairs"] == 1
    assert "1 pairs left out: asked after 50,000 tokens, the baseline after 100,000" in row["note"]


def test_the_most_pairs_that_agree_are_kept_wherever_they_stand(tmp_path):
    for seed in range(3):
        for folder in make_pair(tmp_path / "runs", seed):
            items = [choice_item(number, True) for number in range(4)]
            add_evaluation(folder, "piqa", items, limit=0 if seed else 9)
    (row,) = differences_over_seeds(tmp_path / "runs").to_dict("records")
    assert (row["pairs"], row["note"]) == (2, "1 pairs left out: asked otherwise than the rest")


def test_arms_that_were_asked_otherwise_are_not_compared(tmp_path):
    for limit, folder in enumerate(make_pair(tmp_path / "runs", 0)):
        add_evaluation(folder, "piqa", [choice_item(0, True)], limit=limit)
    (row,) = differences_over_seeds(tmp_path / "runs").to_dict("records")
    assert row["pairs"] == 0 and "1 pairs left out: asked with another limit" in row["note"]


def test_one_item_has_no_interval(tmp_path):
    for seed in range(2):
        for folder in make_pair(tmp_path / "runs", seed):
            add_evaluation(folder, "piqa", [choice_item(0, True)])
    (row,) = differences_over_seeds(tmp_path / "runs").to_dict("records")
    assert math.isnan(row["low"]) and row["note"] == "one item or passage: no interval"
