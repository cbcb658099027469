"""The gradient of each visit against the ordinary gradient, single backward passes and finite differences."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import TINY, build, random_tokens

from lft.diagnostics import gradient_readings, visit_gradients
from lft.routing import Step

ROUTES = [
    ("lft", {}),
    ("lft", {"revisits": 2}),
    ("loop", {}),
    ("repeat", {}),
    ("explicit", {"order": [3, 1, 2, 1, 4, 3, 3]}),
    ("standard", {}),
]
SHAPES = {
    "plain": TINY,
    "grouped": replace(TINY, num_kv_heads=2),
    "qk_norm": replace(TINY, qk_norm=True, num_kv_heads=1),
}


def probe(shape=TINY):
    tokens = random_tokens(shape)
    return tokens[:, :-1], tokens[:, 1:]


def conditioned(kind, routing="lft", **options):
    steps = build(routing, **options).schedule.num_steps
    shape = replace(TINY, conditioning=kind, conditioning_steps=steps)
    model = build(routing, shape, dtype=torch.float64, **options)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for factor in model.visit_factors.parameters():
            factor.add_(0.3 * torch.randn(factor.shape, generator=generator, dtype=factor.dtype))
    return model


def assert_visits_sum_to_the_gradient(model):
    inputs, targets = probe(model.shape)
    gradients = visit_gradients(model, inputs, targets)
    assert all(parameter.grad is None for parameter in model.parameters())
    model.loss(inputs, targets).backward()
    for index, block in enumerate(model.blocks):
        visits = [by_name for step, by_name in gradients.items() if step.block == index]
        for name, parameter in block.named_parameters():
            difference = sum(by_name[name] for by_name in visits) - parameter.grad
            assert difference.abs().max() <= 1e-10
            assert parameter.grad.abs().max() > 1e-8


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("routing", "options"), ROUTES)
def test_the_gradients_of_the_visits_sum_to_the_ordinary_gradient(routing, options, shape):
    assert_visits_sum_to_the_gradient(build(routing, SHAPES[shape], dtype=torch.float64, **options))


@pytest.mark.parametrize("kind", ["scale", "norm"])
def test_they_do_where_every_visit_has_factors_of_its_own(kind):
    assert_visits_sum_to_the_gradient(conditioned(kind))


@pytest.mark.parametrize("trained", ["first", "last"])
def test_they_do_where_only_some_visits_train_their_block(trained):
    model = build("lft", dtype=torch.float64, gradient=trained)
    assert_visits_sum_to_the_gradient(model)
    assert {step.block: step for step in visit_gradients(model, *probe())} == {
        step.block: step for step in set(model.schedule.steps) - model.schedule.detached(trained)
    }


@settings(max_examples=25, deadline=None)
@given(
    order=st.permutations([1, 2, 3, 4]).flatmap(lambda first: st.lists(st.integers(1, 4)).map(first.__add__))
)
def test_they_do_for_any_order(order):
    assert_visits_sum_to_the_gradient(build("explicit", dtype=torch.float64, order=order[:9]))


@pytest.mark.parametrize("batch_sequences", [1, 2, 3, 5])
def test_pieces_of_a_batch_add_up_to_its_gradient(batch_sequences):
    model = build("lft", dtype=torch.float64)
    tokens = random_tokens(batch=5)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    whole = visit_gradients(model, inputs, targets)
    for step, by_name in visit_gradients(model, inputs, targets, batch_sequences).items():
        for name, gradient in by_name.items():
            torch.testing.assert_close(gradient, whole[step][name], rtol=1e-10, atol=1e-14)


def test_a_visit_has_the_gradient_that_is_left_when_all_others_are_detached():
    model = build("lft", dtype=torch.float64)
    inputs, targets = probe()
    gradients = visit_gradients(model, inputs, targets)
    for chosen in model.schedule.steps:
        constants = {
            step: {name: value.detach() for name, value in model.blocks[step.block].named_parameters()}
            for step in model.schedule.steps
            if step != chosen
        }
        model.zero_grad()
        model.head_loss(model.hidden(inputs, constants), targets).backward()
        for name, parameter in model.blocks[chosen.block].named_parameters():
            torch.testing.assert_close(gradients[chosen][name], parameter.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["attention.query_key_value.weight", "mlp.output.weight", "mlp_norm.weight"])
def test_a_visit_has_the_gradient_of_finite_differences(name):
    model = build("lft", dtype=torch.float64)
    inputs, targets = probe()
    for step in (Step(1, 0), Step(1, 2)):
        gradient = visit_gradients(model, inputs, targets)[step][name].flatten()
        place = int(gradient.abs().argmax())
        losses = []
        for shift in (1e-5, -1e-5):
            own = {key: value.detach().clone() for key, value in model.blocks[1].named_parameters()}
            own[name].view(-1)[place] += shift
            losses.append(model.head_loss(model.hidden(inputs, {step: own}), targets).item())
        assert gradient[place].item() == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-5)


def values(readings, statistic, part="block"):
    return {
        (reading.block, reading.visit): reading.value
        for reading in readings
        if reading.statistic == statistic and reading.part == part
    }


PARTS = {
    "block": lambda name: True,
    "attention": lambda name: name.startswith("attention.") and "norm" not in name,
    "mlp": lambda name: name.startswith("mlp."),
    "norms": lambda name: "norm" in name,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("metric", [None, lambda parameter: 1 / (0.1 + parameter.abs())])
def test_statistics_are_those_of_the_flat_vectors(part, metric):
    model = build("lft", replace(TINY, qk_norm=True), dtype=torch.float64)
    gradients = visit_gradients(model, *probe())
    readings = gradient_readings(model, gradients, "g", metric)
    for index, block in enumerate(model.blocks):
        vectors = [
            torch.cat(
                [
                    (
                        by_name[name] if metric is None else by_name[name] * metric(parameter).detach()
                    ).flatten()
                    for name, parameter in block.named_parameters()
                    if PARTS[part](name)
                ]
            )
            for step, by_name in gradients.items()
            if step.block == index
        ]
        total = sum(vectors)
        norms = [vector.norm().item() for vector in vectors]
        for visit, vector in enumerate(vectors):
            address = (index + 1, visit + 1)
            assert values(readings, "g_norm", part)[address] == pytest.approx(norms[visit])
            assert values(readings, "g_share", part)[address] == pytest.approx(norms[visit] / sum(norms))
            cosine = torch.dot(vector, total) / (vector.norm() * total.norm())
            assert values(readings, "g_sum_cosine", part)[address] == pytest.approx(cosine.item())
            for later in range(visit + 1, len(vectors)):
                cosine = torch.dot(vector, vectors[later]) / (vector.norm() * vectors[later].norm())
                found = values(readings, f"g_cosine_v{later + 1}", part)[address]
                assert found == pytest.approx(cosine.item())
        assert values(readings, "g_norm", part)[index + 1, None] == pytest.approx(total.norm().item())
        cancellation = total.norm().item() / sum(norms)
        assert values(readings, "g_cancellation", part)[index + 1, None] == pytest.approx(cancellation)


@pytest.mark.parametrize(("routing", "options"), [("standard", {}), ("lft", {"revisits": 0})])
def test_without_revisits_there_is_one_visit_a_block_and_no_pair(routing, options):
    model = build(routing, **options)
    readings = gradient_readings(model, visit_gradients(model, *probe()))
    addresses = set(values(readings, "gradient_norm")) - {(block, None) for block in range(1, 5)}
    assert addresses == {(block, 1) for block in range(1, 5)}
    assert not [reading for reading in readings if "_cosine_v" in reading.statistic]
    assert set(values(readings, "gradient_share").values()) == {1.0}


def test_visits_that_cancel_have_no_direction_in_common():
    model = build("repeat", visits=[2, 1, 1, 1])
    gradients = visit_gradients(model, *probe())
    gradients[Step(0, 1)] = {name: -value for name, value in gradients[Step(0, 0)].items()}
    readings = gradient_readings(model, gradients)
    assert values(readings, "gradient_cancellation")[1, None] == pytest.approx(0.0, abs=1e-6)
    assert values(readings, "gradient_cosine_v2")[1, 1] == pytest.approx(-1.0)


def test_a_gradient_of_zero_leaves_out_what_has_no_meaning():
    model = build("repeat", visits=[2, 1, 1, 1])
    gradients = visit_gradients(model, *probe())
    for step in (Step(0, 0), Step(0, 1)):
        gradients[step] = {name: torch.zeros_like(value) for name, value in gradients[step].items()}
    first = {reading.statistic for reading in gradient_readings(model, gradients) if reading.block == 1}
    assert first == {"gradient_norm"}


def test_the_model_and_its_random_state_stay_as_they_were():
    model = build("lft")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    gradient_readings(model, visit_gradients(model, *probe()))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
