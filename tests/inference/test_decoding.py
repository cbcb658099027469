"""Decoding with a cache against running everything anew, for every routing."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import TINY, build, unrolled_llama

from lft.costs import count_costs
from lft.errors import RequestError
from lft.inference import Sampler, decode
from lft.model import Cache
from lft.routing import ROUTINGS, make_schedule

PROMPTS = [[5, 9, 2], [7], [1, 2, 3, 4, 5, 6]]
OPTIONS = {"explicit": {"order": [2, 1, 3, 1, 4, 2]}}


def greedy(logits):
    return logits.argmax(dim=-1)


def columns(steps):
    return [list(sequence) for sequence in zip(*steps, strict=True)]


def plain_continuation(model, prompt, count):
    """The most likely tokens by the model's own forward pass, without any cache."""
    tokens = list(prompt)
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(model(torch.tensor([tokens]))[0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("routing", sorted(ROUTINGS))
def test_a_batch_of_unequal_prompts_continues_as_each_alone_without_a_cache(routing, use_cache):
    model = build(routing, **OPTIONS.get(routing, {}))
    found = columns(decode(model, PROMPTS, 12, greedy, use_cache=use_cache))
    assert found == [plain_continuation(model, prompt, 12) for prompt in PROMPTS]


@pytest.mark.parametrize(
    "shape", [replace(TINY, num_kv_heads=2), replace(TINY, qk_norm=True, num_kv_heads=1)]
)
def test_it_does_with_grouped_queries_and_normed_heads(shape):
    model = build("lft", shape)
    found = columns(decode(model, PROMPTS, 12, greedy))
    assert found == [plain_continuation(model, prompt, 12) for prompt in PROMPTS]


@pytest.mark.parametrize("kind", ["scale", "norm"])
def test_it_does_where_every_visit_has_factors_of_its_own(kind):
    steps = make_schedule("lft", 4).num_steps
    model = build("lft", replace(TINY, conditioning=kind, conditioning_steps=steps))
    with torch.no_grad():
        for number, factor in enumerate(model.visit_factors.values()):
            factor.mul_(0.7 + 0.1 * number)
    found = columns(decode(model, PROMPTS, 12, greedy))
    assert found == [plain_continuation(model, prompt, 12) for prompt in PROMPTS]


def test_greedy_decoding_equals_hugging_face_with_the_route_unrolled():
    model = build("lft")
    llama = unrolled_llama(model)
    for prompt in PROMPTS:
        output = llama.generate(
            torch.tensor([prompt]), max_new_tokens=15, do_sample=False, eos_token_id=None, pad_token_id=0
        )
        assert columns(decode(model, [prompt], 15, greedy)) == [output[0, len(prompt) :].tolist()]


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 6), min_size=1, max_size=6), padded=st.integers(0, 2))
def test_logits_do_not_depend_on_the_pieces_the_cache_is_filled_in(cuts, padded):
    model = build("lft", dtype=torch.float64)
    tokens = torch.randint(TINY.vocab_size, (2, min(sum(cuts), 24)), generator=torch.manual_seed(0))
    padding = torch.tensor([0, min(padded, tokens.shape[1] - 1)])
    with torch.no_grad():
        cache, pieces, start = model.new_cache(padding, 24), [], 0
        for cut in cuts:
            piece = tokens[:, start : start + cut]
            if piece.numel():
                pieces.append(model.head(model.hidden(piece, cache=cache)))
            start += cut
        logits = torch.cat(pieces, dim=1)
        torch.testing.assert_close(logits[0], model(tokens[:1])[0], rtol=1e-9, atol=1e-11)
        own = tokens[1:, int(padding[1]) :]
        torch.testing.assert_close(logits[1, int(padding[1]) :], model(own)[0], rtol=1e-9, atol=1e-11)


def test_slots_are_never_shared_between_visits():
    model = build("lft")
    with torch.no_grad():
        cache = model.new_cache(torch.zeros(1, dtype=torch.int64), 8)
        model.hidden(torch.tensor([[3, 1, 4]]), cache=cache)
    assert list(cache.slots) == list(model.schedule.steps)
    first, second = (cache.slots[step] for step in model.schedule.steps if step.block == 0)
    assert not torch.allclose(first.keys[:, :, :3], second.keys[:, :, :3])


@pytest.mark.parametrize("shape", [TINY, replace(TINY, num_kv_heads=2)])
def test_memory_is_what_the_plan_says(shape):
    schedule = make_schedule("lft", 4)
    like = torch.empty(0, dtype=torch.bfloat16)
    cache = Cache(shape, schedule, torch.zeros(1, dtype=torch.int64), 10, like)
    assert cache.num_bytes == 10 * count_costs(shape, schedule.num_steps).kv_bytes_per_token


def test_a_cache_of_another_route_or_of_too_few_positions_is_refused():
    model = build("lft")
    cache = Cache(TINY, make_schedule("standard", 4), torch.zeros(1, dtype=torch.int64), 8, torch.empty(0))
    with pytest.raises(KeyError):
        model.hidden(torch.tensor([[3, 1]]), cache=cache)
    with pytest.raises(ValueError, match="2 \\+ 1 positions do not fit a cache of 2"):
        cache = model.new_cache(torch.zeros(1, dtype=torch.int64), 2)
        model.hidden(torch.tensor([[3, 1]]), cache=cache)
        model.hidden(torch.tensor([[3]]), cache=cache)


def test_sequences_end_by_themselves_and_the_rest_goes_on():
    model = build("lft")
    alone = [plain_continuation(model, prompt, 12) for prompt in PROMPTS]
    end = alone[0][3]
    expected = []
    for tokens in alone:
        stop = tokens.index(end) + 1 if end in tokens else 12
        expected.append(tokens[:stop] + [None] * (12 - stop))
    longest = max(sum(token is not None for token in row) for row in expected)
    found = columns(decode(model, PROMPTS, 12, greedy, end_token=end))
    assert found == [row[:longest] for row in expected]


def test_decoding_stops_where_the_context_is_full_and_refuses_what_never_fits():
    model = build("lft")
    assert len(list(decode(model, [[1] * 20], 100, greedy))) == 4
    with pytest.raises(RequestError, match="the prompt has 24 tokens, but the model's context is 24"):
        list(decode(model, [[1] * 24], 1, greedy))


def test_the_same_seed_draws_the_same():
    model = build("lft")
    drawn = [columns(decode(model, PROMPTS, 12, Sampler(seed=seed))) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
