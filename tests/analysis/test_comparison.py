"""Arms against a baseline with an anchor: the recovery fraction, and when there is none."""

import io
import math
from statistics import mean, stdev

import numpy as np
import pytest
from analysis.synthetic import finish, make_config, make_run, start_run
from hypothesis import assume, given
from hypothesis import strategies as st

from lft.analysis import comparison_table, differences_by_routing, pairs_table, print_comparison
from lft.analysis.intervals import ratio_interval, t_interval, t_quantile
from lft.errors import RequestError

SIMULATIONS = 1000


def make_runs(runs, losses):
    """Final losses by routing, one for each seed."""
    for routing, values in losses.items():
        for seed, loss in enumerate(values):
            make_run(runs, routing, seed, loss)
    return runs


def compared(runs):
    return {row["routing"]: row for row in comparison_table(runs).to_dict("records")}


def printed(runs):
    file = io.StringIO()
    print_comparison(comparison_table(runs), file)
    return file.getvalue()


def test_rho_is_the_share_of_the_anchors_gain(tmp_path):
    losses = {
        "standard": [5.00, 5.10, 5.20],
        "deep": [4.90, 5.001, 5.10],
        "lft": [4.95, 5.05, 5.151],
        "loop": [4.92, 5.02, 5.12],
    }
    arms = compared(make_runs(tmp_path, losses))
    assert arms["deep"]["rho"] == pytest.approx(1.0)
    assert arms["lft"]["rho"] == pytest.approx(0.149 / 0.299)
    assert arms["loop"]["rho"] == pytest.approx(0.24 / 0.299)
    assert arms["lft"]["rho_low"] < arms["lft"]["rho"] < arms["lft"]["rho_high"]
    assert list(arms) == ["deep", "loop", "lft"]
    assert (arms["lft"]["flop_ratio"], arms["lft"]["num_steps"]) == (2.0, 11)
    assert "0.50 (0.4" in printed(tmp_path)


@pytest.mark.parametrize(
    ("anchor", "note"),
    [
        ([5.05, 5.15, 5.25], "deep does not beat the baseline"),
        ([4.90, 5.15, 5.16], "deep beats the baseline by no more than noise"),
        ([4.90], "one seed leaves the noise unknown"),
        ([], "no deep run of as many steps and the same seeds"),
    ],
)
def test_rho_is_not_defined_where_the_anchor_shows_no_gain(tmp_path, anchor, note):
    losses = {"standard": [5.00, 5.10, 5.20], "lft": [4.95, 5.05, 5.15], "deep": anchor}
    arms = compared(make_runs(tmp_path, losses))
    assert math.isnan(arms["lft"]["rho"])
    assert arms["lft"]["rho_note"] == f"not defined: {note}"
    assert arms["lft"]["difference"] == pytest.approx(-0.05)
    (reason,) = [line for line in printed(tmp_path).splitlines() if line.startswith("rho of")]
    assert "lft" in reason and reason.endswith(f"(nano 100k): not defined: {note}")


def test_a_matched_arm_has_no_rho(tmp_path):
    make_runs(tmp_path, {"standard": [5.0, 5.1], "deep": [4.9, 5.0]})
    for seed in (0, 1):
        config = make_config("lft", seed, match={"by": "flops", "reference": "standard"})
        finish(start_run(tmp_path, config, arm="lft match=flops:standard"), config, 5.0 + 0.1 * seed)
    arm = compared(tmp_path)["lft match=flops:standard"]
    assert arm["pairs"] == 2 and arm["difference"] == pytest.approx(0.0)
    assert math.isnan(arm["rho"]) and "another number of tokens" in arm["rho_note"]


def test_variants_of_the_anchor_do_not_take_its_place(tmp_path):
    make_runs(tmp_path, {"standard": [5.0, 5.1], "deep": [4.80, 4.901], "lft": [4.90, 5.0005]})
    for seed in (0, 1):
        for arm, loss in (("deep match=flops:standard", 4.5), ("deep residual_init=steps", 4.6)):
            config = make_config("deep", seed, sharing={"of": arm})
            finish(start_run(tmp_path, config, arm=arm), config, loss)
    arms = compared(tmp_path)
    assert arms["deep"]["rho"] == pytest.approx(1.0)
    assert arms["lft"]["rho"] == pytest.approx(0.5, abs=0.01)


def test_two_anchors_of_as_many_steps_leave_rho_undefined(tmp_path):
    make_runs(tmp_path, {"standard": [5.0, 5.1], "lft": [4.90, 5.0005]})
    for seed in (0, 1):
        for arm, loss in (("deep revisits=2", 4.80), ("deep span=2", 4.7)):
            config = make_config("deep", seed, routing__options=arm)
            finish(start_run(tmp_path, config, arm=arm), config, loss + seed / 10)
    note = compared(tmp_path)["lft"]["rho_note"]
    assert note == "not defined: deep revisits=2 and deep span=2 both have as many steps"


def test_the_anchor_of_an_arm_takes_as_many_steps(tmp_path):
    make_runs(tmp_path, {"standard": [5.0, 5.0], "deep": [4.90, 4.901], "lft": [4.95, 4.951]})
    for arm, steps, loss in (
        ("deep revisits=2", 17, 4.80),
        ("lft revisits=2", 17, 4.85),
        ("lft span=3", 9, 4.9),
    ):
        for seed in (0, 1):
            config = make_config(arm.split()[0], seed, routing__options=arm)
            folder = start_run(tmp_path, config, arm=arm, schedule=list(range(steps)))
            finish(folder, config, loss + 0.001 * seed)
    arms = compared(tmp_path)
    assert arms["lft"]["rho"] == pytest.approx(0.5, abs=0.01)
    assert arms["lft revisits=2"]["rho"] == pytest.approx(0.75, abs=0.01)
    assert arms["deep revisits=2"]["rho"] == pytest.approx(1.0)
    assert "no deep run of as many steps" in arms["lft span=3"]["rho_note"]


def test_only_common_seeds_make_a_rho(tmp_path):
    losses = {"standard": [5.0, 5.1, 5.2], "deep": [4.9, 5.01], "lft": [4.95, 5.05, 5.0]}
    assert compared(make_runs(tmp_path, losses))["lft"]["rho"] == pytest.approx(0.10 / 0.19)


def test_conditions_are_compared_each_with_its_own_anchor(tmp_path):
    for rate, gain in ((0.003, 0.1), (0.001, 0.2)):
        for seed in (0, 1):
            for routing, loss in (("standard", 5.0), ("deep", 5.0 - gain), ("lft", 4.95)):
                loss += 0.001 * seed if routing == "deep" else 0
                make_run(tmp_path, routing, seed, loss, optimizer__learning_rate=rate)
    table = comparison_table(tmp_path)
    rho = table[table["routing"] == "lft"].set_index("settings")["rho"]
    assert rho["optimizer.learning_rate=0.003"] == pytest.approx(0.5, abs=0.01)
    assert rho["optimizer.learning_rate=0.001"] == pytest.approx(0.25, abs=0.01)


@given(
    pairs=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.5, 1.5)), min_size=2, max_size=6),
)
def test_a_ratio_is_in_its_interval_just_when_a_paired_t_test_does_not_reject_it(pairs):
    above, below = [first for first, _ in pairs], [second for _, second in pairs]
    assume(t_interval(below)[0] > 0.05 and stdev(above) > 1e-3)
    for end in ratio_interval(above, below):
        rest = [first - end * second for first, second in pairs]
        half_width = t_quantile(len(pairs) - 1) * stdev(rest) / math.sqrt(len(pairs))
        assert abs(mean(rest)) == pytest.approx(half_width, rel=1e-4, abs=1e-6)


def test_the_figure_has_a_line_for_each_arm_and_a_panel_for_each_scale(tmp_path):
    make_runs(tmp_path, {"standard": [5.0, 5.1], "lft": [4.9, 5.0], "loop": [5.1, 5.3]})
    for routing in ("standard", "lft"):
        make_run(tmp_path, routing, 0, 4.0, scale__name="10m")
    figure = differences_by_routing(comparison_table(tmp_path), pairs_table(tmp_path))
    figure.canvas.draw()
    labels = [[label.get_text() for label in panel.get_yticklabels()] for panel in figure.axes]
    assert sorted(labels) == [["lft"], ["loop", "lft"]]


def test_nothing_paired_is_nothing_drawn(tmp_path):
    make_run(tmp_path, "standard", 0, 5.0)
    assert "nothing to compare" in printed(tmp_path)
    with pytest.raises(RequestError, match="nothing to draw"):
        differences_by_routing(comparison_table(tmp_path), pairs_table(tmp_path))


@pytest.mark.parametrize(("arm_noise", "shared_noise"), [(0.02, 0.0), (0.02, 0.05), (0.05, 0.05)])
def test_intervals_cover_rho_at_their_rate(arm_noise, shared_noise):
    """Gains of an arm and of the anchor, which share a baseline and so its noise."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(SIMULATIONS):
        baseline = generator.normal(0, shared_noise, 5)
        anchor = 0.3 + baseline + generator.normal(0, arm_noise, 5)
        arm = 0.5 * 0.3 + baseline + generator.normal(0, arm_noise, 5)
        low, high = ratio_interval(list(arm), list(anchor))
        covered += low <= 0.5 <= high
    assert covered / SIMULATIONS == pytest.approx(0.95, abs=0.021)
