"""From a config to steps, milestones and costs."""

import pytest
from composing import compose_train

from lft.errors import RequestError
from lft.planning import make_plan


def plan(*overrides):
    return make_plan(compose_train(*overrides))


@pytest.mark.parametrize(
    ("scale", "name"),
    [("2_5m", 2.5e6), ("10m", 10e6), ("25m", 25e6), ("50m", 50e6), ("100m", 100e6), ("nano", 0.85e6)],
)
def test_a_scale_has_the_parameters_of_its_name(scale, name):
    assert plan(f"scale={scale}").costs.parameters == pytest.approx(name, rel=0.02)


def test_the_defaults_are_the_study():
    study = plan()
    assert study.schedule.block_order == [1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]
    assert study.shape.context_length == 768
    assert study.shape.vocab_size == 3072
    assert study.tokens == 499_974_144
    assert 500_000_000 - study.tokens < study.tokens_per_step


@pytest.mark.parametrize(("scale", "ratio"), [("2_5m", 2.02), ("10m", 2.40), ("25m", 2.61)])
def test_the_flop_ratio_counts_the_head(scale, ratio):
    assert plan(f"scale={scale}").flop_ratio == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize("budget", ["smoke", "10m", "50m", "100m", "200m", "500m", "1b"])
def test_every_budget_ends_with_a_milestone(budget):
    overrides = ("experiment=smoke",) if budget == "smoke" else (f"budget={budget}",)
    planned = plan(*overrides)
    assert planned.milestones[-1] == planned.steps
    assert list(planned.milestones) == sorted(set(planned.milestones))


def test_arms_of_a_pair_differ_in_the_schedule_alone():
    lft, standard = plan("routing=lft"), plan("routing=standard")
    assert lft.schedule != standard.schedule
    assert (lft.shape, lft.steps, lft.warmup_steps, lft.milestones, lft.batch_sequences) == (
        standard.shape,
        standard.steps,
        standard.warmup_steps,
        standard.milestones,
        standard.batch_sequences,
    )


@pytest.mark.parametrize(
    ("devices", "largest", "accumulation"), [(1, 16, 4), (2, 16, 2), (4, 16, 1), (1, 64, 1), (1, 10, 8)]
)
def test_the_batch_divides_into_equal_micro_batches(devices, largest, accumulation):
    planned = plan(f"optimizer.micro_batch_sequences={largest}")
    assert planned.batch_sequences == 64
    assert planned.accumulation_steps(devices) == accumulation


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["budget.tokens=1000"], "less than one optimizer step of 49152 tokens"),
        (["optimizer.batch_tokens=1000"], "not a whole number of sequences of 768 tokens; 768 would be"),
        (["budget.milestones=0"], "budget.milestones=0 must be 1 or more"),
        (["optimizer.learning_rate=0"], "optimizer.learning_rate=0.0 must be above 0"),
        (["optimizer.warmup_fraction=1"], "optimizer.warmup_fraction=1.0 must be"),
        (["routing.revisits=-1"], "routing.revisits=-1 must be 0 or more"),
        (["precision=fp8"], "precision=fp8 is unknown; choose one of auto, fp32, bf16"),
        (["compile=maybe"], "compile=maybe is unknown"),
        (["seed=-1"], "seed=-1 must be 0 or more"),
    ],
)
def test_impossible_requests_say_what_to_change(overrides, complaint):
    with pytest.raises(RequestError, match=complaint):
        plan(*overrides)


def test_devices_must_share_the_batch_evenly():
    with pytest.raises(RequestError, match="64 sequences does not divide among 3 devices"):
        plan().accumulation_steps(3)
