"""Effects over seeds and the rule that decides claims: right numbers, promised error rates."""

import math
import shutil

import numpy as np
import pytest
from analysis.synthetic import make_run
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from lft.analysis import claims_of, noise_floor, verdicts_table
from lft.analysis.effects import (
    detectable_benefit,
    holm,
    paired_effect,
    upper_bound,
)
from lft.analysis.verdicts import REFUTED, SUPPORTED, UNDECIDED, decide
from lft.errors import RequestError
from lft.runs import Claim

CLAIM = Claim(statement="LFT is better.", arm="lft", smallest_effect=0.02, seeds=4)
SIMULATIONS = 1000


def simulated(true_benefit, pairs=4, spread=0.02):
    draws = np.random.default_rng(0).normal(true_benefit, spread, size=(SIMULATIONS, pairs))
    return [list(map(float, row)) for row in draws]


def rate(outcome, true_benefit):
    outcomes = [
        decide(CLAIM, benefits, paired_effect(benefits).p_value).outcome
        for benefits in simulated(true_benefit)
    ]
    return outcomes.count(outcome) / SIMULATIONS


def test_intervals_cover_at_their_rate():
    covered = sum((effect := paired_effect(values)).low <= 0.05 <= effect.high for values in simulated(0.05))
    # Three standard errors of 1,000 draws.
    assert covered / SIMULATIONS == pytest.approx(0.95, abs=0.021)


def test_no_effect_is_called_supported_in_no_more_than_promised():
    assert rate(SUPPORTED, 0.0) <= 0.025 + 0.015
    assert rate(REFUTED, CLAIM.smallest_effect) <= 0.05 + 0.021
    assert rate(SUPPORTED, 0.1) > 0.99 and rate(REFUTED, -0.1) > 0.99


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9).filter(lambda values: np.std(values) > 1e-6))
def test_effects_are_those_of_scipy(values):
    effect = paired_effect(values)
    test = stats.ttest_1samp(values, 0.0)
    interval = test.confidence_interval(0.95)
    assert (effect.mean, effect.standard_deviation) == pytest.approx(
        (np.mean(values), np.std(values, ddof=1))
    )
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert effect.p_value == pytest.approx(test.pvalue)
    one_sided = stats.ttest_1samp(values, 0.0, alternative="less").confidence_interval(0.95)
    assert upper_bound(values) == pytest.approx(one_sided.high, abs=1e-9)


def test_one_pair_has_no_interval_and_equal_pairs_no_spread():
    effect = paired_effect([0.3])
    assert (effect.pairs, effect.mean, effect.same_sign) == (1, 0.3, 1) and math.isnan(effect.low)
    assert paired_effect([0.3, 0.3]).p_value == 0 and paired_effect([0.0, 0.0]).p_value == 1


# Each call of statsmodels collects garbage, which takes long in a large process.
@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_counts_planned_comparisons_that_have_no_p_yet(values):
    adjusted = holm([math.nan, *values])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx(list(multipletests([1.0, *values], method="holm")[1])[1:])


def test_before_the_planned_pairs_nothing_is_decided():
    outcome = decide(CLAIM, [0.5, 0.5, 0.5], 1e-9)
    assert (outcome.outcome, outcome.reason) == (UNDECIDED, "3 of 4 planned pairs")


def make_runs(runs, benefits, claims, baseline=5.0):
    for seed, benefit in enumerate(benefits):
        make_run(runs, "standard", seed, baseline + seed / 10, claims=claims)
        make_run(runs, "lft", seed, baseline + seed / 10 - benefit, claims=claims)


def as_config(**changes):
    return {"better": {**vars(CLAIM), **changes}}


def test_the_runs_of_a_claim_decide_it(tmp_path):
    make_runs(tmp_path / "runs", [0.10, 0.11, 0.09, 0.10], as_config())
    assert claims_of(tmp_path / "runs") == {"better": CLAIM}
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert (row["outcome"], row["pairs"], row["same_sign"]) == (SUPPORTED, 4, 4)
    assert row["benefit"] == pytest.approx(0.10) and row["low"] < 0.10 < row["high"]
    assert row["p_holm"] == row["p_value"]
    assert row["seed_deviations"] == pytest.approx(0.10 / 0.129, rel=0.02)


def test_pairs_beyond_the_plan_are_left_out(tmp_path):
    make_runs(tmp_path / "runs", [0.0, 0.001, -0.001, 0.0, 9.0, 9.0], as_config())
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert (row["outcome"], row["pairs"]) == (REFUTED, 4)


def test_several_claims_are_corrected_together(tmp_path):
    claims = as_config() | {"other": {**vars(CLAIM), "arm": "loop"}}
    make_runs(tmp_path / "runs", [0.10, 0.11, 0.09, 0.10], claims)
    table = verdicts_table(tmp_path / "runs").set_index("claim")
    assert table.loc["other", "outcome"] == UNDECIDED
    assert table.loc["other", "reason"] == "0 of 4 planned pairs; no run of loop (lft, standard)"
    # A planned comparison counts before its runs are there.
    assert table.loc["better", "p_holm"] == 2 * table.loc["better", "p_value"]


@pytest.mark.parametrize("comparisons", [1, 5])
def test_a_detectable_benefit_is_supported_in_eighty_percent(comparisons):
    spread, pairs, generator = 0.02, 4, np.random.default_rng(0)
    benefit = detectable_benefit(spread, pairs, CLAIM.smallest_effect, comparisons)
    supported = 0
    for _ in range(2000):
        benefits = generator.normal(benefit, spread, pairs)
        p_holm = min(1.0, comparisons * paired_effect(list(benefits)).p_value)
        supported += decide(CLAIM, list(benefits), p_holm).outcome == SUPPORTED
    assert supported / 2000 == pytest.approx(0.80, abs=0.03)


def test_a_later_seed_does_not_take_the_place_of_one_that_diverged(tmp_path):
    make_runs(tmp_path / "runs", [0.10, math.nan, 0.09, 0.10, 0.11], as_config())
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert (row["outcome"], row["pairs"]) == (UNDECIDED, 3)
    assert row["reason"] == "3 of 4 planned pairs; seed 1: val_loss is not a number, or not recorded"


def test_a_seed_that_the_arm_was_never_started_with_is_named(tmp_path):
    make_runs(tmp_path / "runs", [0.10, 0.11, 0.09, 0.10, 0.1], as_config())
    (lost,) = (tmp_path / "runs").glob("lft*-s2-*")
    shutil.rmtree(lost)
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert (row["outcome"], row["reason"]) == (UNDECIDED, "3 of 4 planned pairs; seed 2: no lft run")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"arm": "mirro"}, "no run of mirro (lft, standard)"),
        ({"baseline": "nobody"}, "no run of nobody (lft, standard)"),
        ({"metric": "joules"}, "seed 0: joules is not a number, or not recorded"),
    ],
)
def test_a_claim_about_what_is_not_there_says_so(tmp_path, change, reason):
    make_runs(tmp_path / "runs", [0.1, 0.1], as_config(**change))
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert row["outcome"] == UNDECIDED and reason in row["reason"]


def test_a_copied_run_is_refused_before_anything_is_decided(tmp_path):
    make_runs(tmp_path / "runs", [0.1, 0.1], as_config())
    (original,) = (tmp_path / "runs").glob("lft*-s1-*")
    shutil.copytree(original, tmp_path / "runs" / "copy")
    with pytest.raises(RequestError, match="are the same run"):
        verdicts_table(tmp_path / "runs")


@pytest.mark.parametrize(
    "claims",
    [
        {"better": {**vars(CLAIM), "extra": 1}},
        {"better": {"statement": "s"}},
        {"better": "lft"},
        {"better": {**vars(CLAIM), "smallest_effect": "0.02"}},
        ["better"],
    ],
)
def test_damaged_claims_are_named_with_their_run(tmp_path, claims):
    run = make_run(tmp_path / "runs", "lft", 0, 5.0, claims=claims)
    with pytest.raises(RequestError, match=rf"{run.name}.* damaged"):
        verdicts_table(tmp_path / "runs")


def test_higher_may_be_better_and_other_metrics_count(tmp_path):
    claims = as_config(metric="tokens_per_second", better="higher", smallest_effect=10.0)
    make_runs(tmp_path / "runs", [0.1] * 4, claims)
    (row,) = verdicts_table(tmp_path / "runs").to_dict("records")
    assert (row["outcome"], row["benefit"]) == (REFUTED, 0.0)


def test_claims_that_contradict_each_other_are_refused(tmp_path):
    make_run(tmp_path / "runs", "standard", 0, 5.0, claims=as_config())
    make_run(tmp_path / "runs", "lft", 0, 5.0, claims=as_config(seeds=8))
    with pytest.raises(RequestError, match="states the claim 'better' otherwise than the other runs"):
        claims_of(tmp_path / "runs")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"seeds": 1}, "must be 2 or more; one seed has no interval"),
        ({"smallest_effect": 0.0}, "must be above 0"),
        ({"better": "less"}, "better=less must be lower or higher"),
        ({"arm": "standard"}, "that standard beats standard: an arm cannot beat itself"),
        ({"metric": "loss"}, "that lft beats standard: metric=loss must be one of val_loss, "),
    ],
)
def test_claims_that_cannot_be_decided_are_refused(change, complaint):
    with pytest.raises(RequestError, match=complaint):
        Claim(**{**vars(CLAIM), **change})


def test_reruns_measure_the_noise_floor(tmp_path):
    for folder, shift in (("runs", 0.0), ("again", 0.001)):
        for seed in (0, 1):
            make_run(tmp_path / folder, "lft", seed, 5.0 + seed + shift)
    table = noise_floor(tmp_path / "runs", tmp_path / "again")
    assert list(table["difference"]) == pytest.approx([0.001, 0.001])


def test_only_reruns_measure_noise(tmp_path):
    first = make_run(tmp_path / "runs", "lft", 0, 5.0)
    second = make_run(tmp_path / "again", "lft", 0, 6.0)
    with pytest.raises(RequestError, match="is in both locations"):
        noise_floor(tmp_path / "runs", tmp_path / "runs")
    with pytest.raises(RequestError, match="recorded no number 'val_los'"):
        noise_floor(tmp_path / "runs", tmp_path / "again", "val_los")
    second.create(second.read("config.json"), {**first.read("run.json"), "data": {"fingerprint": "other"}})
    with pytest.raises(RequestError, match=r"differ in run\.json data\.fingerprint"):
        noise_floor(tmp_path / "runs", tmp_path / "again")
