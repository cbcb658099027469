"""Token budgets that make a run cost what another routing costs."""

import pytest
from composing import ROOT, compose_train
from hypothesis import given
from hypothesis import strategies as st

from lft.errors import RequestError
from lft.planning import StepCosts, make_plan
from lft.planning.matching import _nearest

SCALES = [file.stem for file in sorted((ROOT / "conf/scale").glob("*.yaml"))]


def plan(*overrides, measured=None):
    return make_plan(compose_train(*overrides), measured)


@pytest.mark.parametrize("routing", ["lft", "deep", "thin_deep", "wide"])
@pytest.mark.parametrize("scale", SCALES)
def test_flops_of_a_matched_pair_are_equal_within_one_step(scale, routing):
    standard = plan("routing=standard", f"scale={scale}")
    arm = plan(f"routing={routing}", f"scale={scale}", "match=flops")
    step_flops = arm.training_flops // arm.steps
    assert abs(arm.training_flops - standard.training_flops) <= step_flops / 2
    assert arm.steps < standard.steps
    assert arm.milestones[-1] == arm.steps
    assert arm.warmup_steps == round(0.02 * arm.steps)


def test_the_baseline_can_be_given_the_flops_of_the_route():
    lft = plan("routing=lft")
    standard = plan("routing=standard", "match=flops", "match.reference=lft", "match.max_epochs=3")
    assert standard.training_flops == pytest.approx(lft.training_flops, rel=1e-4)
    assert standard.steps > 2 * lft.steps


def test_a_match_is_recorded_with_what_is_left_of_the_difference():
    record = plan("routing=lft", "match=flops").record()["match"]
    assert (record["by"], record["reference"], record["unit"]) == ("flops", "standard", "FLOPs")
    assert record["actual"] / record["target"] - 1 == record["mismatch"]
    assert 0 < abs(record["mismatch"]) < 1e-4


def test_equal_tokens_are_the_default_and_say_what_rounding_leaves():
    record = plan("routing=lft").record()["match"]
    assert (record["by"], record["target"], record["actual"]) == ("tokens", 500_000_000, 499_974_144)


@pytest.mark.parametrize("feedback_after", [0.25, 0.5])
def test_steps_before_feedback_are_cheaper_and_counted_so(feedback_after):
    late = plan("routing=lft", "match=flops", f"sharing.feedback_after={feedback_after}")
    standard = plan("routing=standard")
    assert late.steps > plan("routing=lft", "match=flops").steps
    assert late.training_flops == pytest.approx(standard.training_flops, rel=1e-4)
    assert late.early_steps == round(feedback_after * late.steps)
    assert late.schedule_at(late.early_steps - 1).num_steps == 5
    assert late.schedule_at(late.early_steps).num_steps == 11
    assert late.training_flops_until(late.steps) == late.training_flops
    assert sum(late.training_flops_by_part.values()) == late.training_flops


def test_feedback_starts_before_the_end_and_only_where_there_is_some():
    few = ("experiment=smoke", "scale=nano", "sharing.feedback_after=0.9")
    assert plan("routing=lft", *few).early_steps == 2 == plan("routing=lft", *few).steps - 1
    for routing in ("standard", "deep"):
        assert plan(f"routing={routing}", *few).early_steps == 0
        assert plan(f"routing={routing}", *few).remarks() == []


def test_a_match_by_seconds_takes_as_many_steps_as_the_measured_ratio_says():
    measured = StepCosts(arm=0.3, early=0.3, reference=0.1, measured=True)
    matched = plan("routing=lft", "match=wallclock", measured=measured)
    assert matched.steps == pytest.approx(plan("routing=standard").steps / 3, abs=1)
    assert matched.match.unit == "seconds" and matched.match.is_settled
    forecast = plan("routing=lft", "match=wallclock")
    assert forecast.steps == plan("routing=lft", "match=flops").steps
    assert "forecast" in forecast.remarks()[0]


@given(costs=st.lists(st.floats(0.1, 10), min_size=1, max_size=60), target=st.floats(0.1, 400))
def test_the_nearest_number_of_steps_is_found(costs, target):
    def cost(steps):
        return sum(costs[:steps]) + max(0, steps - len(costs))

    best = min(range(600), key=lambda steps: abs(cost(steps) - target))
    assert abs(cost(_nearest(cost, target)) - target) == pytest.approx(abs(cost(best) - target))


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["routing=standard", "match=flops"], "a run cannot be matched against itself"),
        (["routing=lft", "routing.revisits=0", "match=flops"], "a run cannot be matched against itself"),
        (
            ["routing=standard", "match=flops", "sharing.feedback_after=0.5"],
            "cannot be matched against itself",
        ),
        (["routing=lft", "match=flops", "match.reference=lft"], "a run cannot be matched against itself"),
        (["match=flops", "match.reference=ltf"], "match.reference=ltf is an unknown routing; choose one of"),
        (["match=flops", "match.reference=explicit"], "it has no default routing.order"),
        (["match=flops", "match.max_epochs=0"], "match.max_epochs=0.0 must be above 0"),
        (
            ["routing=standard", "match=flops", "match.reference=lft"],
            r"1,011,449,856 tokens, 2.02 epochs of the 500,000,000 .* allow it with match.max_epochs=2.03",
        ),
        (["match=flops", "budget.tokens=49152"], "not one optimizer step costs as little"),
    ],
)
def test_impossible_matches_say_what_to_change(overrides, complaint):
    with pytest.raises(RequestError, match=complaint):
        plan(*overrides)


def test_what_differs_in_conditions_is_not_the_run_itself():
    detached = plan(
        "routing=lft", "match=flops", "match.reference=lft", "sharing.gradient=last", "match.max_epochs=2"
    )
    assert detached.steps > plan("routing=lft").steps
