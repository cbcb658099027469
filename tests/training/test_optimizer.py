"""Which parameters decay, and how the learning rate moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins import build, random_tokens

from lft.config import OptimizerConfig, SharingConfig
from lft.training.optimizer import build_optimizer, learning_rate_multiplier, parameter_groups


def test_every_parameter_is_in_exactly_one_group():
    model = build("lft")
    config = OptimizerConfig(learning_rate=1e-3, batch_tokens=64)
    decayed, kept = (group["params"] for group in parameter_groups(model, config, SharingConfig()))
    everyone = [id(parameter) for parameter in model.parameters()]
    assert sorted(map(id, [*decayed, *kept])) == sorted(everyone)
    assert all(parameter.dim() == 2 for parameter in decayed)
    assert all(parameter.dim() == 1 for parameter in kept)


@pytest.mark.parametrize("routing", ["standard", "lft"])
def test_every_parameter_moves_after_one_step(routing):
    model = build(routing)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer, _ = build_optimizer(
        model, OptimizerConfig(learning_rate=1e-2, batch_tokens=64), SharingConfig(), steps=10, warmup_steps=0
    )
    tokens = random_tokens()
    model.loss(tokens[:, :-1], tokens[:, 1:]).backward()
    optimizer.step()
    for name, parameter in model.named_parameters():
        assert not parameter.equal(before[name]), name


def test_the_learning_rate_warms_up_and_falls_to_a_tenth():
    rates = [learning_rate_multiplier(step, 100, 10, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[99] == pytest.approx(0.1, abs=1e-3)


@given(data=st.data(), steps=st.integers(1, 500), final=st.floats(0, 1))
def test_the_learning_rate_rises_then_falls_within_its_bounds(data, steps, final):
    warmup = data.draw(st.integers(0, steps - 1))
    rates = [learning_rate_multiplier(step, steps, warmup, final) for step in range(steps)]
    assert rates[:warmup] == sorted(rates[:warmup])
    assert rates[warmup:] == sorted(rates[warmup:], reverse=True)
    assert all(0 < rate <= 1 for rate in rates[:warmup])
    assert all(final - 1e-9 <= rate <= 1 for rate in rates[warmup:])


@pytest.mark.parametrize(("rule", "power"), [("visits", 1.0), ("sqrt_visits", 0.5)])
def test_rates_and_decay_are_divided_by_the_visits_of_the_block(rule, power):
    model = build("lft")
    config = OptimizerConfig(learning_rate=1e-2, batch_tokens=64, weight_decay=0.1)
    sharing = SharingConfig(learning_rate=rule, weight_decay=rule)
    groups = parameter_groups(model, config, sharing)
    found = {id(p): group for group in groups for p in group["params"]}
    assert len(found) == sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    for block, visits in zip(model.blocks, model.schedule.visit_map, strict=True):
        matrix, gain = block.mlp.output.weight, block.mlp_norm.weight
        assert found[id(matrix)]["lr"] == pytest.approx(1e-2 / visits**power)
        assert found[id(matrix)]["weight_decay"] == pytest.approx(0.1 / visits**power)
        assert found[id(gain)]["weight_decay"] == 0
    assert found[id(model.embedding.weight)]["lr"] == 1e-2
    # The rate that is logged is the first group's.
    assert groups[0]["lr"] == 1e-2
