"""What every step does to the residual stream, against the same read off by hooks and plain loops."""

import math
from dataclasses import replace

import pytest
import torch
from transformers import LlamaForCausalLM
from twins import TINY, build, random_tokens, unrolled_llama

from lft.diagnostics import activation_readings, activations
from lft.model import Transformer, initialize
from lft.routing import ROUTINGS, make_schedule


def probe():
    tokens = random_tokens()
    return tokens[:, :-1], tokens[:, 1:]


def by_step(readings, statistic):
    return {reading.step: reading.value for reading in readings if reading.statistic == statistic}


@pytest.mark.parametrize("shape", [TINY, replace(TINY, num_kv_heads=2), replace(TINY, qk_norm=True)])
def test_every_statistic_equals_what_hooks_on_hugging_face_see(shape):
    """Llama with the route unrolled, its own attention weights and hidden states."""
    model = build("lft", shape)
    inputs, targets = probe()
    llama: LlamaForCausalLM = unrolled_llama(model)
    llama.set_attn_implementation("eager")
    states = []
    for layer in llama.model.layers:
        layer.register_forward_hook(lambda _, inputs, output: states.append((inputs[0], output)))
    with torch.no_grad():
        output = llama(input_ids=inputs, output_attentions=True)
        readings = activation_readings(model, inputs, targets)
        for number, (before, after) in enumerate(states, start=1):
            step = model.schedule.steps[number - 1]
            expected = {
                "residual_rms": after.pow(2).mean().sqrt(),
                "update_ratio": ((after - before).norm(dim=-1) / before.norm(dim=-1)).median(),
                "input_output_cosine": torch.cosine_similarity(before, after, dim=-1).median(),
                "readout_loss": torch.nn.functional.cross_entropy(
                    llama.lm_head(llama.model.norm(after)).flatten(0, 1), targets.flatten()
                ),
            }
            weights = output.attentions[number - 1]
            expected["attention_entropy"] = -torch.special.xlogy(weights, weights).sum(dim=-1).mean()
            earlier = [
                states[place][1] - states[place][0]
                for place, other in enumerate(model.schedule.steps[: number - 1])
                if other.block == step.block
            ]
            if earlier:
                cosines = torch.cosine_similarity(earlier[-1], after - before, dim=-1)
                expected["update_previous_cosine"] = cosines.median()
            found = {reading.statistic: reading.value for reading in readings if reading.step == number}
            assert set(found) == set(expected)
            for name, value in expected.items():
                assert found[name] == pytest.approx(value.item(), rel=2e-4, abs=1e-5), (number, name)


def test_the_last_readout_is_the_loss_and_the_first_is_that_of_the_embedding():
    model = build("lft", dtype=torch.float64)
    inputs, targets = probe()
    losses = by_step(activation_readings(model, inputs, targets), "readout_loss")
    assert losses[model.schedule.num_steps] == pytest.approx(model.loss(inputs, targets).item())
    embedded = model.head_loss(model.embedding(inputs), targets)
    assert losses[0] == pytest.approx(embedded.item())


@pytest.mark.parametrize("chunk", [1, 700, 10**9])
def test_attention_entropy_does_not_depend_on_the_pieces_it_is_made_in(monkeypatch, chunk):
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(2, 4, 13, 8, generator=generator)
    key = torch.randn(2, 2, 13, 8, generator=generator)
    expected = []
    for sequence in range(2):
        for head in range(4):
            for row in range(13):
                scores = key[sequence, head // 2, : row + 1] @ query[sequence, head, row] / math.sqrt(8)
                expected.append(torch.distributions.Categorical(logits=scores).entropy().item())
    monkeypatch.setattr(activations, "ATTENTION_CHUNK", chunk)
    found = activations.mean_attention_entropy(query, key)
    assert found.item() == pytest.approx(sum(expected) / len(expected), rel=1e-5)


@pytest.mark.parametrize("conditioning", ["none", "scale", "norm"])
@pytest.mark.parametrize("routing", sorted(set(ROUTINGS) - {"explicit"}))
def test_nothing_is_undefined_at_initialization(routing, conditioning):
    schedule = make_schedule(routing, 4)
    steps = schedule.num_steps if conditioning != "none" else 0
    shape = replace(TINY, num_blocks=schedule.num_blocks, conditioning=conditioning, conditioning_steps=steps)
    model = Transformer(shape, schedule)
    initialize(model, 0)
    readings = activation_readings(model, *probe())
    assert all(math.isfinite(reading.value) for reading in readings)
    assert {reading.step for reading in readings} == set(range(schedule.num_steps + 1))


def test_pieces_of_a_batch_give_the_same_readings():
    model = build("lft", dtype=torch.float64)
    tokens = random_tokens(batch=5)
    whole, pieces = (activation_readings(model, tokens[:, :-1], tokens[:, 1:], size) for size in (None, 2))
    for one, other in zip(whole, pieces, strict=True):
        assert other._replace(value=0.0) == one._replace(value=0.0)
        assert other.value == pytest.approx(one.value, rel=1e-12)


def test_a_norm_of_a_visit_reaches_its_attention():
    schedule = make_schedule("lft", 4)
    shape = replace(TINY, conditioning="norm", conditioning_steps=schedule.num_steps)
    model = build("lft", shape)
    before = by_step(activation_readings(model, *probe()), "attention_entropy")
    with torch.no_grad():
        model.visit_factors["b01_v2"][: TINY.d_model] = 3.0
    after = by_step(activation_readings(model, *probe()), "attention_entropy")
    assert before[2] == after[2] and before[3] != after[3]
