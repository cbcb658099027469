"""The model against Hugging Face's, and the properties every routing must keep."""

from dataclasses import replace

import pytest
import torch
from twins import TINY, build, random_tokens, unrolled, unrolled_llama

from lft.model import Transformer, initialize
from lft.model.transformer import LOSS_CHUNKS
from lft.routing import ROUTINGS, make_schedule

VARIANTS = {
    "plain": TINY,
    "grouped": replace(TINY, num_kv_heads=2),
    "qk_norm": replace(TINY, qk_norm=True, num_kv_heads=1),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("routing", "options"), [("standard", {}), ("lft", {}), ("lft", {"revisits": 2}), ("lft", {"span": 2})]
)
def test_logits_equal_hugging_face_with_the_route_unrolled(variant, routing, options):
    model = build(routing, VARIANTS[variant], **options)
    tokens = random_tokens()
    with torch.no_grad():
        difference = model(tokens) - unrolled_llama(model)(input_ids=tokens).logits
    assert difference.abs().max() <= 1e-5


@pytest.mark.parametrize("routing", ["standard", "lft"])
def test_logits_equal_hugging_face_at_the_size_of_the_study(routing):
    shape = replace(
        TINY,
        vocab_size=3072,
        num_blocks=5,
        d_model=192,
        num_heads=3,
        num_kv_heads=3,
        d_ff=416,
        context_length=768,
    )
    model = Transformer(shape, make_schedule(routing, 5))
    initialize(model, 0)
    tokens = random_tokens(shape, batch=1)
    with torch.no_grad():
        difference = model(tokens) - unrolled_llama(model)(input_ids=tokens).logits
    assert difference.abs().max() <= 1e-5


@pytest.mark.parametrize("routing", sorted(ROUTINGS))
def test_a_token_changes_nothing_before_it(routing):
    model = build(routing, **{"explicit": {"order": [2, 1, 3, 1, 4]}}.get(routing, {}))
    tokens = random_tokens(batch=1)
    changed = tokens.clone()
    changed[0, 10] = (changed[0, 10] + 1) % TINY.vocab_size
    with torch.no_grad():
        before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


@pytest.mark.parametrize("options", [{}, {"revisits": 2}, {"span": 2}])
def test_a_shared_gradient_is_the_sum_over_the_unrolled_copies(options):
    model = build("lft", dtype=torch.float64, **options)
    copies = unrolled(model)
    tokens = random_tokens()
    for network in (model, copies):
        network.loss(tokens[:, :-1], tokens[:, 1:]).backward()
    for index, block in enumerate(model.blocks):
        steps = [number for number, step in enumerate(model.schedule.steps) if step.block == index]
        for name, parameter in block.named_parameters():
            gradients = [copies.blocks[number].get_parameter(name).grad for number in steps]
            torch.testing.assert_close(parameter.grad, sum(gradients), rtol=1e-9, atol=1e-14)
    torch.testing.assert_close(
        model.embedding.weight.grad, copies.embedding.weight.grad, rtol=1e-9, atol=1e-14
    )


def test_arms_start_from_equal_weights_and_other_seeds_do_not():
    standard, lft = build("standard", seed=0), build("lft", seed=0)
    other = build("lft", seed=1)
    assert list(standard.state_dict()) == list(lft.state_dict())
    for name, weight in standard.state_dict().items():
        assert torch.equal(weight, lft.state_dict()[name])
        if weight.dim() > 1:
            assert not torch.equal(weight, other.state_dict()[name])


def test_initial_weights_have_the_stated_spread():
    shape = replace(TINY, d_model=256, num_heads=4, num_kv_heads=4, d_ff=512)
    model = Transformer(shape, make_schedule("lft", shape.num_blocks))
    initialize(model, 0)
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert model.blocks[0].mlp.gate_up.weight.std().item() == pytest.approx(0.02, rel=0.03)
    residual = 0.02 / (2 * shape.num_blocks) ** 0.5
    assert model.blocks[3].mlp.output.weight.std().item() == pytest.approx(residual, rel=0.03)
    assert model.blocks[0].attention.output.weight.std().item() == pytest.approx(residual, rel=0.03)


@pytest.mark.parametrize("share", ["none", [2, 3]])
def test_an_untied_model_computes_what_the_shared_one_does_when_its_weights_are_copies(share):
    shared, untied = build("lft"), build("lft", share=share)
    for block, step in zip(untied.schedule.steps, shared.schedule.steps, strict=True):
        untied.blocks[block.block].load_state_dict(shared.blocks[step.block].state_dict())
    untied.embedding.load_state_dict(shared.embedding.state_dict())
    tokens = random_tokens()
    assert torch.equal(untied(tokens), shared(tokens))


def test_nothing_shared_is_the_plain_stack():
    untied, stack = build("lft", share="none"), build("standard", replace(TINY, num_blocks=8))
    assert list(untied.state_dict()) == list(stack.state_dict())
    tokens = random_tokens()
    assert torch.equal(untied(tokens), stack(tokens))


@pytest.mark.parametrize("routing", ["lft", "loop", "mirror", "cycle", "shuffle"])
def test_an_order_written_out_is_the_same_model_as_the_routing(routing):
    named = build(routing)
    explicit = build("explicit", order=named.schedule.block_order)
    tokens = random_tokens()
    assert torch.equal(named(tokens), explicit(tokens))


def test_no_revisit_computes_what_standard_computes():
    tokens = random_tokens()
    assert torch.equal(build("lft", revisits=0)(tokens), build("standard")(tokens))


def test_the_chunked_loss_is_the_loss():
    model = build("lft", dtype=torch.float64)
    tokens = random_tokens(batch=60)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    assert inputs.numel() > LOSS_CHUNKS.batch_chunk_size
    gradients = []
    for loss in (model.chunked_head_loss, model.head_loss):
        model.zero_grad()
        value = loss(model.hidden(inputs), targets)
        value.backward()
        gradients.append([value.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for chunked, whole in zip(*gradients, strict=True):
        torch.testing.assert_close(chunked, whole, rtol=1e-9, atol=1e-13)


def test_initial_loss_is_that_of_a_guess():
    model = Transformer(TINY, make_schedule("lft", TINY.num_blocks))
    initialize(model, 0)
    tokens = random_tokens(batch=8)
    loss = model.loss(tokens[:, :-1], tokens[:, 1:]).item()
    assert loss == pytest.approx(torch.tensor(TINY.vocab_size).log().item(), abs=0.05)
