"""Order effects among routings of equal steps, and curves of an option."""

import math

import numpy as np
import pandas as pd
import pytest
from analysis.synthetic import finish, make_config, make_run, start_run
from scipy import stats

from lft.analysis import comparison_table, deviations_by_order, difference_along, option_curve, order_effects
from lft.errors import RequestError

LOSSES = {"lft": [5.0, 5.1, 5.3], "loop": [5.02, 5.15, 5.29], "standard": [5.4, 5.5, 5.6]}


@pytest.fixture
def runs(tmp_path):
    for routing, values in LOSSES.items():
        for seed, loss in enumerate(values):
            make_run(tmp_path / "runs", routing, seed, loss)
    return tmp_path / "runs"


def test_seeds_are_blocks(runs):
    table = order_effects(runs).set_index("routing")
    # The standard routing has fewer steps and nobody to be compared with.
    assert set(table.index) == {"lft", "loop"}
    halves = (np.array(LOSSES["lft"]) - np.array(LOSSES["loop"])) / 2
    assert table.loc["lft", "deviation"] == pytest.approx(halves.mean())
    assert table.loc["lft", "seeds"] == 3
    # Of two routings, the analysis of variance is the paired t test.
    assert table.loc["lft", "p_order"] == pytest.approx(stats.ttest_rel(LOSSES["lft"], LOSSES["loop"]).pvalue)


def test_seeds_that_some_routing_lacks_are_left_out(runs):
    make_run(runs, "lft", 7, 9.0)
    make_run(runs, "loop", 8, 9.0)
    assert set(order_effects(runs)["seeds"]) == {3}


def test_a_run_that_failed_takes_its_seed_and_not_its_routing(runs):
    (lost,) = runs.glob("lft*-s1-*")
    (lost / "DONE").unlink()
    (lost / "FAILED").write_text("boom")
    table = order_effects(runs)
    assert list(table["routing"]) == ["lft", "loop"] and set(table["seeds"]) == {2}
    assert set(table["note"]) == {"seeds 1 left out (lft without a finished, finite run)"}


def test_a_routing_that_leaves_too_few_seeds_is_left_out_and_named(runs):
    make_run(runs, "mirror", 0, 5.0)
    make_run(runs, "deep", 0, 5.0)
    table = order_effects(runs)
    assert set(table["routing"]) == {"lft", "loop"} and set(table["seeds"]) == {3}
    assert set(table["note"]) == {"deep left out (seeds 0 alone); mirror left out (seeds 0 alone)"}


def test_nobody_is_given_up_for_nothing(tmp_path):
    for routing, seeds in (("lft", (0, 1)), ("loop", (0,)), ("mirror", (0,))):
        for seed in seeds:
            make_run(tmp_path / "runs", routing, seed, 5.0 + seed)
    table = order_effects(tmp_path / "runs")
    assert set(table["routing"]) == {"lft", "loop", "mirror"} and set(table["seeds"]) == {1}


def test_a_routing_that_only_diverged_is_named(runs):
    make_run(runs, "mirror", 0, math.nan)
    assert set(order_effects(runs)["note"]) == {"mirror left out (seeds  alone)"}


def test_a_loss_that_is_not_finite_is_no_loss(runs):
    make_run(runs, "lft", 4, math.inf)
    make_run(runs, "loop", 4, 5.0)
    assert set(order_effects(runs)["seeds"]) == {3}


def test_orders_trained_in_other_ways_are_not_compared(runs):
    for seed in range(3):
        config = make_config("lft", seed, sharing={"gradient": "first"})
        finish(start_run(runs, config, arm="lft gradient=first"), config, 9.0)
    assert set(order_effects(runs)["routing"]) == {"lft", "loop"}


def test_one_seed_has_no_test(tmp_path):
    for routing in ("lft", "loop"):
        make_run(tmp_path, routing, 0, 5.0)
    table = order_effects(tmp_path)
    assert table["p_order"].isna().all() and table["low"].isna().all()


def test_orders_of_other_settings_are_not_compared(runs):
    make_run(runs, "lft", 0, 9.0, optimizer__learning_rate=0.1)
    table = order_effects(runs)
    assert list(table["routing"]) == ["lft", "loop"] and table["deviation"].abs().max() < 0.1


def test_deviations_are_drawn_and_nothing_is_said(runs, tmp_path):
    (panel,) = deviations_by_order(order_effects(runs)).axes
    assert len(panel.get_yticklabels()) == 2
    make_run(tmp_path / "alone", "lft", 0, 5.0)
    with pytest.raises(RequestError, match="no two routings of equal steps"):
        deviations_by_order(order_effects(tmp_path / "alone"))


def test_an_option_is_a_curve(runs):
    comparison = comparison_table(runs)
    again = comparison[comparison["routing"] == "lft"].assign(routing="lft revisits=3", difference=-0.7)
    table = pd.concat([comparison, again], ignore_index=True)
    curve = option_curve(table, "revisits", default=1)
    assert list(curve["value"]) == [1, 3] and set(curve["family"]) == {"lft"}
    assert list(option_curve(table, "revisits")["value"]) == [3]
    (panel,) = difference_along(curve, "revisits").axes
    assert list(panel.get_lines()[0].get_xdata()) == [1, 3]
    with pytest.raises(RequestError, match="no arm differs in span"):
        difference_along(option_curve(table, "span"), "span")


def test_each_budget_has_a_line_of_its_own(runs):
    table = comparison_table(runs)
    twice = pd.concat([table[table["routing"] == "lft"]] * 4, ignore_index=True)
    twice["routing"] = ["lft revisits=3", "lft", "lft revisits=3", "lft"]
    twice["budget_tokens"] = [1_000_000, 1_000_000, 2_000_000, 2_000_000]
    (panel,) = difference_along(option_curve(twice, "revisits", default=1), "revisits").axes
    lines = panel.get_lines()[:-1]
    assert [line.get_label() for line in lines] == ["lft, 1M tokens", "lft, 2M tokens"]
    assert [list(line.get_xdata()) for line in lines] == [[1, 3], [1, 3]]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_lists_count_by_their_first_number(runs):
    table = comparison_table(runs)
    table["routing"] = ["lft feedback_at=[3]", "lft feedback_at=[2]"]
    assert list(option_curve(table, "feedback_at")["value"]) == [2, 3]
    assert not math.isnan(option_curve(table, "feedback_at")["difference"].iloc[0])
