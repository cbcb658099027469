"""The distribution that tokens are drawn from, against Hugging Face's warpers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from lft.errors import RequestError
from lft.inference import Sampler


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.2, 3.0),
    top_k=st.integers(0, 12),
    top_p=st.floats(0.05, 1.0),
)
def test_probabilities_equal_those_of_hugging_face(seed, temperature, top_k, top_p):
    logits = 3 * torch.randn(4, 10, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    expected = warpers(torch.zeros(4, 1, dtype=torch.int64), logits).softmax(dim=-1)
    found = Sampler(temperature, top_k, top_p).distribution(logits)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_draws_follow_the_distribution():
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0]]).expand(20_000, 4)
    sampler = Sampler(temperature=0.7, top_k=3, seed=1)
    counts = torch.bincount(sampler(logits), minlength=4) / 20_000
    expected = sampler.distribution(logits[:1].double())[0]
    assert counts.tolist() == pytest.approx(expected.tolist(), abs=0.015)
    assert counts[3] == 0


def test_temperature_zero_takes_the_most_likely():
    assert Sampler(temperature=0.0)(torch.tensor([[0.1, 0.3, 0.2]])).tolist() == [1]


@pytest.mark.parametrize(
    "bad", [{"temperature": -1.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}, {"seed": -1}]
)
def test_senseless_values_are_refused(bad):
    with pytest.raises(RequestError, match="must be"):
        Sampler(**bad)
