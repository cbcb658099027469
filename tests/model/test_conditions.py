"""Training conditions of shared blocks: detached visits, visit conditioning, initial weights."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from twins import TINY, build, random_tokens, unrolled

from lft.model import Transformer, initialize
from lft.routing import make_schedule


def loss(model):
    tokens = random_tokens()
    return model.loss(tokens[:, :-1], tokens[:, 1:])


def conditioned(conditioning):
    schedule = make_schedule("lft", TINY.num_blocks)
    model = Transformer(
        replace(TINY, conditioning=conditioning, conditioning_steps=schedule.num_steps), schedule
    )
    initialize(model, 0)
    return model.double()


@pytest.mark.parametrize(("gradient", "trained"), [("first", 0), ("last", -1)])
def test_only_the_chosen_visit_trains_its_block_and_gradients_pass_through_the_others(gradient, trained):
    model = build("lft", dtype=torch.float64, gradient=gradient)
    copies = unrolled(model)
    for network in (model, copies):
        loss(network).backward()
    for index, block in enumerate(model.blocks):
        steps = [number for number, step in enumerate(model.schedule.steps) if step.block == index]
        for name, parameter in block.named_parameters():
            expected = copies.blocks[steps[trained]].get_parameter(name).grad
            torch.testing.assert_close(parameter.grad, expected, rtol=1e-9, atol=1e-14)
    torch.testing.assert_close(
        model.embedding.weight.grad, copies.embedding.weight.grad, rtol=1e-9, atol=1e-14
    )


@pytest.mark.parametrize("conditioning", ["scale", "norm"])
def test_a_conditioned_model_starts_as_the_plain_one(conditioning):
    model = conditioned(conditioning)
    plain = Transformer(TINY, model.schedule)
    initialize(plain, 0)
    torch.testing.assert_close(loss(model), loss(plain.double()), rtol=1e-12, atol=0)


@pytest.mark.parametrize("conditioning", ["scale", "norm"])
def test_each_step_learns_factors_of_its_own(conditioning):
    model = conditioned(conditioning)
    assert len(model.visit_factors) == model.schedule.num_steps
    assert all(factor.dim() == 1 for factor in model.visit_factors.values())
    loss(model).backward()
    gradients = [factor.grad for factor in model.visit_factors.values()]
    assert all(gradient.abs().max() > 0 for gradient in gradients)
    assert not torch.equal(gradients[0], gradients[2])


def test_a_scale_of_zero_skips_its_step():
    model = conditioned("scale")
    with torch.no_grad():
        model.visit_factors["b02_v1"].zero_()
    skipped = Transformer(TINY, make_schedule("explicit", 4, order=[1, 1, 2, 3, 2, 3, 4]))
    initialize(skipped, 0)
    torch.testing.assert_close(loss(model), loss(skipped.double()), rtol=1e-12, atol=0)


def test_gains_scale_what_attention_and_feed_forward_layer_read():
    model, plain = conditioned("norm"), Transformer(TINY, make_schedule("standard", 4)).double()
    initialize(plain, 0)
    model.schedule = make_schedule("standard", 4)
    with torch.no_grad():
        model.visit_factors["b03_v1"].copy_(torch.cat((torch.full((32,), 2.0), torch.full((32,), 3.0))))
        plain.blocks[2].attention_norm.weight.mul_(2.0)
        plain.blocks[2].mlp_norm.weight.mul_(3.0)
    torch.testing.assert_close(loss(model), loss(plain), rtol=1e-12, atol=0)


@pytest.mark.slow
def test_compiled_steps_give_the_gradients_of_eager_ones():
    # In a process of its own: the shape checks of the tests do not compile.
    script = Path(__file__).with_name("compiled_gradients.py")
    subprocess.run([sys.executable, str(script)], check=True)


def test_initial_weights_by_depth_are_the_same_numbers_scaled():
    schedule = make_schedule("lft", TINY.num_blocks)
    models = {}
    for residual_init in ("stored_depth", "execution_depth", "visits"):
        models[residual_init] = Transformer(TINY, schedule)
        initialize(models[residual_init], 0, residual_init)
    stored, execution, visits = (list(model.blocks) for model in models.values())
    for index, count in enumerate(schedule.visit_map):
        plain = stored[index].mlp.output.weight
        torch.testing.assert_close(execution[index].mlp.output.weight, plain * (4 / 8) ** 0.5)
        torch.testing.assert_close(
            visits[index].attention.output.weight, stored[index].attention.output.weight / count
        )
        assert torch.equal(visits[index].mlp.gate_up.weight, stored[index].mlp.gate_up.weight)


def test_depth_makes_no_difference_where_every_block_runs_once():
    first, second = (Transformer(TINY, make_schedule("standard", 4)) for _ in range(2))
    initialize(first, 0)
    initialize(second, 0, "execution_depth")
    assert torch.equal(first.blocks[0].mlp.output.weight, second.blocks[0].mlp.output.weight)
