"""Log-probabilities of continuations, however they are batched."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import TINY, build

from lft.evaluation.scoring import Pair, score

MODEL = build("lft").eval()
TOKENS = st.lists(st.integers(0, TINY.vocab_size - 1), min_size=1, max_size=TINY.context_length // 2)


def one_by_one(pair):
    tokens = torch.tensor([*pair.context, *pair.continuation])
    with torch.no_grad():
        logits = MODEL(tokens[None, :-1])[0].log_softmax(dim=-1)
    scored = logits[len(pair.context) - 1 :]
    targets = torch.tensor(pair.continuation)
    return scored.gather(1, targets[:, None])[:, 0], bool((scored.argmax(dim=-1) == targets).all())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.builds(Pair, TOKENS, TOKENS), min_size=1, max_size=8), st.integers(1, 100))
def test_batches_of_any_size_score_as_one_by_one(pairs, batch_tokens):
    for pair, result in zip(pairs, score(MODEL, pairs, batch_tokens), strict=True):
        expected, is_greedy = one_by_one(pair)
        assert result.log_probabilities == pytest.approx(expected.tolist(), abs=1e-4)
        assert result.is_greedy == is_greedy
        assert result.total == pytest.approx(float(expected.sum()), abs=1e-3)


def test_the_likeliest_continuation_is_greedy():
    context = [1, 2, 3]
    with torch.no_grad():
        likeliest = int(MODEL(torch.tensor([context]))[0, -1].argmax())
    results = score(MODEL, [Pair(context, [token]) for token in range(TINY.vocab_size)], 1000)
    assert [token for token, result in enumerate(results) if result.is_greedy] == [likeliest]


def test_half_precision_is_close_and_progress_counts_every_input_token():
    pairs = [Pair([1, 2, 3], [4, 5]), Pair([6], [7, 8, 9])]
    done = []
    half = score(MODEL, pairs, 100, "bf16", done.append)
    assert sum(done) == 4 + 3
    for result, exact in zip(half, score(MODEL, pairs, 100), strict=True):
        assert result.total == pytest.approx(exact.total, rel=0.02) and result.total != exact.total
