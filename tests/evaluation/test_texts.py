"""Bits per byte of documents, and loss by position."""

import json
import math
from dataclasses import replace

import pytest
import torch
from evaluation.conftest import CONTEXT

from lft.errors import RequestError
from lft.evaluation.scorer import Scorer
from lft.evaluation.texts import BitsPerByte, LossByPosition
from lft.model.rope import rope_table

TEXTS = ["the quick brown fox jumps over a lazy dog " * 20, "seven wizards quietly mix potions, é", "x"]


@pytest.fixture
def texts(settings, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*TEXTS, ""]))
    return replace(settings, text=str(path))


def log_probability(scorer, tokens, targets):
    with torch.no_grad():
        logits = scorer.model(torch.tensor([tokens]))[0].log_softmax(dim=-1)
    return [float(logits[place - len(targets), target]) for place, target in enumerate(targets)]


@pytest.mark.parametrize("window", ["disjoint", "sliding"])
def test_every_token_is_predicted_once_with_the_context_of_the_rule(scorer, texts, window):
    settings = replace(texts, window=window)
    answers = BitsPerByte(settings).ask(Scorer(scorer.trained, settings))
    stride = CONTEXT if window == "disjoint" else CONTEXT // 2
    for text, item in zip(TEXTS, answers.items, strict=True):
        tokens = scorer.encode([text])[0]
        before = [scorer.end_of_text, *tokens]
        ends = [min(CONTEXT, len(tokens))]
        while ends[-1] < len(tokens):
            ends.append(min(ends[-1] + stride, len(tokens)))
        total, done = 0.0, 0
        for end in ends:
            # The last window is filled up from before, by either rule.
            first = max(0, end - CONTEXT)
            total += sum(log_probability(scorer, before[first:end], tokens[done:end]))
            done = end
        assert item["log_probabilities"] == [pytest.approx(total, abs=1e-3)]
        assert (item["tokens"], item["bytes"]) == ([len(tokens)], [len(text.encode())])
    assert len({item["content"] for item in answers.items}) == 3


def test_a_document_of_one_window_is_scored_from_the_end_of_text_on(scorer, texts):
    item = BitsPerByte(texts).ask(scorer).items[1]
    tokens = scorer.encode([TEXTS[1]])[0]
    expected = sum(log_probability(scorer, [scorer.end_of_text, *tokens[:-1]], tokens))
    assert item["log_probabilities"] == [pytest.approx(expected, abs=1e-4)]
    assert -expected / math.log(2) / item["bytes"][0] > 0


def test_positions_beyond_the_training_context_are_measured(scorer, texts):
    length = 2 * CONTEXT
    scorer.model.cover(length)
    answers = LossByPosition(texts).ask(scorer)
    assert len(scorer.encode([TEXTS[0]])[0]) >= length
    tokens = scorer.encode([TEXTS[0]])[0][:length]
    expected = log_probability(scorer, [scorer.end_of_text, *tokens[:-1]], tokens)
    first_stretch = [item for item in answers.items if item["item"] == 0]
    assert [item["category"] for item in first_stretch][::8] == ["1-16", "129-144"]
    for number, item in enumerate(first_stretch):
        part = slice(16 * number, 16 * (number + 1))
        assert item["log_probabilities"] == [pytest.approx(sum(expected[part]), abs=1e-3)]
        assert item["bytes"] == [len(scorer.trained.tokenizer.decode(tokens[part]).encode())]


def test_covering_more_positions_changes_none_of_the_first(scorer):
    tokens = torch.arange(60)[None]
    with torch.no_grad():
        before = scorer.model(tokens)
        scorer.model.cover(3 * CONTEXT)
        assert torch.equal(scorer.model(tokens), before)
    shape = scorer.model.shape
    table = rope_table(3 * CONTEXT, shape.head_size, shape.rope_theta)
    assert torch.equal(scorer.model.cosine, table[0]) and torch.equal(scorer.model.sine, table[1])


def test_what_is_missing_is_told(scorer, settings, texts, tmp_path):
    with pytest.raises(RequestError, match=r"name the texts to score as eval\.text="):
        BitsPerByte(settings).identity()
    with pytest.raises(RequestError, match=r"there is no .*nowhere"):
        BitsPerByte(replace(settings, text=str(tmp_path / "nowhere"))).identity()
    long = replace(texts, long_context=100)
    with pytest.raises(
        RequestError, match="no document has 12800 tokens, 100 times the training context; name"
    ):
        LossByPosition(long).ask(Scorer(scorer.trained, long))
