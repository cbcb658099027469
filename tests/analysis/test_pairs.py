import io
import math

import pytest
from analysis.synthetic import finish, make_config, make_run, start_run

from lft.analysis import paired_differences, pairs_table, print_pairs
from lft.analysis.intervals import t_interval, t_quantile
from lft.errors import RequestError


def printed(differences):
    file = io.StringIO()
    print_pairs(differences, file)
    return file.getvalue()


def test_mean_spread_and_interval_are_those_worked_out_by_hand(tmp_path):
    for seed, (standard, lft) in enumerate([(5.00, 5.01), (5.10, 5.13), (5.20, 5.22)]):
        make_run(tmp_path, "standard", seed, standard)
        make_run(tmp_path, "lft", seed, lft)
    (row,) = paired_differences(tmp_path).to_dict("records")
    # Differences 0.01, 0.03, 0.02: mean 0.02, sd 0.01, half width 4.302653 * 0.01 / sqrt(3).
    assert (row["routing"], row["baseline"], row["scale"], row["pairs"]) == ("lft", "standard", "nano", 3)
    assert row["difference"] == pytest.approx(0.02)
    assert row["standard_deviation"] == pytest.approx(0.01)
    assert row["high"] - row["difference"] == pytest.approx(0.0248414, rel=1e-5)
    assert row["difference"] - row["low"] == pytest.approx(0.0248414, rel=1e-5)
    assert row["note"] == ""
    assert "+0.0200" in printed(paired_differences(tmp_path))


def test_one_pair_has_no_interval(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    make_run(tmp_path, "lft", 0, 4.9)
    (row,) = paired_differences(tmp_path).to_dict("records")
    assert row["pairs"] == 1 and row["difference"] == pytest.approx(-0.1)
    assert all(math.isnan(row[key]) for key in ("standard_deviation", "low", "high"))
    assert row["note"] == "one seed: no interval"
    assert "one seed: no interval" in printed(paired_differences(tmp_path))


def test_runs_that_differ_in_another_key_are_not_pooled_and_the_key_is_named(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    make_run(tmp_path, "lft", 0, 5.1)
    make_run(tmp_path, "standard", 1, 5.0)
    make_run(tmp_path, "lft", 1, 4.0, optimizer__learning_rate=0.001)
    table = paired_differences(tmp_path).set_index("settings")
    same, other = table.loc["optimizer.learning_rate=0.003"], table.loc["optimizer.learning_rate=0.001"]
    assert same["pairs"] == 1 and same["difference"] == pytest.approx(0.1)
    assert other["pairs"] == 0 and math.isnan(other["difference"])
    assert "differs from standard in optimizer.learning_rate (0.001, not 0.003)" in other["note"]
    assert "optimizer.learning_rate (0.001, not 0.003)" in printed(paired_differences(tmp_path))


def test_two_conditions_of_both_arms_make_two_rows(tmp_path):
    for rate, gap in ((0.003, 0.1), (0.001, -0.2)):
        make_run(tmp_path, "standard", 0, 5.0, optimizer__learning_rate=rate)
        make_run(tmp_path, "lft", 0, 5.0 + gap, optimizer__learning_rate=rate)
    table = paired_differences(tmp_path).set_index("settings")["difference"]
    assert table["optimizer.learning_rate=0.003"] == pytest.approx(0.1)
    assert table["optimizer.learning_rate=0.001"] == pytest.approx(-0.2)


def test_keys_that_cannot_change_a_result_do_not_part_a_pair(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0, data__loader_workers=8, logger={"wandb": {}}, force=True)
    make_run(tmp_path, "lft", 0, 5.1)
    (row,) = paired_differences(tmp_path).to_dict("records")
    assert row["pairs"] == 1 and row["settings"] == ""


def test_other_text_behind_the_same_config_parts_a_pair(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    config = make_config("lft", 0)
    finish(start_run(tmp_path, config, data={"fingerprint": "other"}), config, 5.1)
    (row,) = paired_differences(tmp_path).to_dict("records")
    assert row["pairs"] == 0 and "run.json data.fingerprint" in row["note"]


def test_scales_and_budgets_are_rows_of_their_own(tmp_path):
    for overrides in ({}, {"scale__name": "2_5m"}, {"budget__tokens": 50_000}):
        make_run(tmp_path, "standard", 0, 5.0, **overrides)
        make_run(tmp_path, "lft", 0, 5.1, **overrides)
    table = paired_differences(tmp_path)
    assert list(table["pairs"]) == [1, 1, 1]
    assert set(zip(table["scale"], table["budget_tokens"], strict=True)) == {
        ("nano", 100_000),
        ("2_5m", 100_000),
        ("nano", 50_000),
    }


def test_unfinished_runs_take_no_part_and_are_named(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path, "standard", seed, 5.0)
    make_run(tmp_path, "lft", 0, 5.1)
    start_run(tmp_path, make_config("lft", 1))
    start_run(tmp_path, make_config("standard", 2))
    make_run(tmp_path, "lft", 2, 5.1)
    make_run(tmp_path, "lft", 3, 5.1)
    (row,) = paired_differences(tmp_path).to_dict("records")
    assert row["pairs"] == 1
    assert "seed 1 not paired: unfinished (started)" in row["note"]
    assert "seed 2 not paired: standard unfinished (started)" in row["note"]
    assert "seed 3 not paired: no standard run of this scale, budget and seed" in row["note"]
    assert (pairs_table(tmp_path)["problem"] == "").sum() == 1


def test_another_baseline_can_be_named_and_a_missing_one_is_refused(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    make_run(tmp_path, "lft", 0, 5.1)
    (row,) = paired_differences(tmp_path, baseline="lft").to_dict("records")
    assert row["routing"] == "standard" and row["difference"] == pytest.approx(-0.1)
    with pytest.raises(RequestError, match=r"no run of the baseline 'loop'.*lft, standard"):
        paired_differences(tmp_path, baseline="loop")


def test_one_run_found_twice_does_not_count_as_two_seeds(tmp_path):
    for folder in ("first", "second"):
        make_run(tmp_path / folder, "standard", 0, 5.0)
    with pytest.raises(RequestError, match="are the same run"):
        paired_differences(f"{tmp_path}/*")


def test_the_baseline_alone_leaves_nothing_to_compare(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    assert paired_differences(tmp_path).empty
    assert "nothing to compare" in printed(paired_differences(tmp_path))


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (9, 2.26216), (30, 2.04227)]
)
def test_t_quantiles_are_those_of_the_printed_tables(degrees, expected):
    assert t_quantile(degrees) == pytest.approx(expected, rel=1e-5)


def test_the_interval_of_equal_values_is_a_point():
    assert t_interval([0.5, 0.5]) == (0.5, 0.5)
