"""Base Bench: which tokens are scored, what is right, and which file it is."""

import hashlib
import json

import pytest
import torch
from evaluation.items import bench_item

import lft.evaluation.base_bench as base_bench
from lft.errors import RequestError
from lft.evaluation.base_bench import ask_items, find_file, read_items, split_at_boundary
from lft.evaluation.scoring import Pair


@pytest.mark.parametrize(
    ("context", "whole", "expected"),
    [
        ([1, 2], [1, 2, 3, 4], Pair([1, 2], [3, 4])),
        # The last token of the context melts with the continuation: what replaces it is scored.
        ([1, 2], [1, 9, 4], Pair([1], [9, 4])),
        ([1, 2, 3], [7, 8], Pair([], [7, 8])),
        ([], [5], Pair([], [5])),
        ([1, 2], [1, 2], Pair([1, 2], [])),
    ],
)
def test_scoring_starts_at_the_first_token_that_differs(context, whole, expected):
    assert split_at_boundary(context, whole) == expected


def test_text_that_tokenizes_across_the_boundary_is_scored_from_there(scorer):
    text = "the wizards mix"
    for cut in range(1, len(text)):
        context, whole = scorer.encode([text[:cut], text])
        shared = next(n for n, (a, b) in enumerate(zip([*context, -1], whole, strict=False)) if a != b)
        if 0 < shared < len(context):
            break
    assert shared < len(context), "some cut must melt tokens"
    answers = ask_items(scorer, [bench_item(text[:cut], [text[cut:], "et fox", "z", "n"], 0)])
    with torch.no_grad():
        logits = scorer.model(torch.tensor([whole[:-1]]))[0].log_softmax(dim=-1)
    expected = sum(float(logits[place - 1, whole[place]]) for place in range(shared, len(whole)))
    (item,) = answers.items
    assert item["log_probabilities"][0] == pytest.approx(expected, abs=1e-4)
    assert item["tokens"][0] == len(whole) - shared


def test_the_highest_mean_per_token_wins_and_an_empty_context_is_the_end_of_text(scorer):
    answers = ask_items(scorer, [bench_item("", ["the", "the quick fox jumps", "zzz", "q"], 1)])
    (item,) = answers.items
    means = [total / count for total, count in zip(item["log_probabilities"], item["tokens"], strict=True)]
    assert item["prediction"] == means.index(max(means))
    assert item["right"] == (item["prediction"] == 1)
    with torch.no_grad():
        logits = scorer.model(torch.tensor([[scorer.end_of_text]]))[0, -1].log_softmax(dim=-1)
    (token,) = scorer.encode(["q"])[0]
    assert item["log_probabilities"][3] == pytest.approx(float(logits[token]), abs=1e-5)


def test_weights_are_of_category_and_difficulty(scorer):
    row = bench_item("the", [" fox", " dog", " x", " y"], 0, category_weight=1.5, difficulty_weight=2.1)
    (item,) = ask_items(scorer, [row]).items
    assert item["weight"] == pytest.approx(3.15)
    assert (item["category"], item["difficulty"], item["item_elo"]) == ("quantitative", "easy", 1000.0)


def test_an_empty_continuation_is_refused(scorer):
    with pytest.raises(RequestError, match="base_bench item 0 has no tokens to score: a choice is empty"):
        ask_items(scorer, [bench_item("the fox", ["", " dog", " x", " y"], 0)])


def write(folder, rows):
    path = folder / base_bench.LOCAL_FILE
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_only_the_published_file_is_taken(tmp_path, monkeypatch):
    path = write(tmp_path, [bench_item("a", ["b", "c", "d", "e"], 0)])
    with pytest.raises(
        RequestError, match=r"is not Base Bench 1.1: its sha256 is not 2f563bb4.* revision d4aade51"
    ):
        find_file(tmp_path)
    monkeypatch.setattr(base_bench, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    assert find_file(tmp_path) == path


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (bench_item("a", ["b", "c", "d", "e"], 4), "line 1 has label 4, which is none of its continuations"),
        ({"context": "a"}, "line 1 has no field 'continuations'; restore the file"),
    ],
)
def test_broken_rows_are_named(tmp_path, row, complaint):
    with pytest.raises(RequestError, match=complaint):
        read_items(write(tmp_path, [row]))


def test_without_access_the_way_to_it_is_told(tmp_path, monkeypatch):
    from huggingface_hub.errors import GatedRepoError
    from requests import Response

    def unreachable(*_, **__):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", unreachable)
    with pytest.raises(
        RequestError, match=r"cannot reach .* put its data/test.jsonl into eval.folder=... as base"
    ):
        find_file(tmp_path)

    def gated(*_, **__):
        raise GatedRepoError("gated", response=Response())

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", gated)
    with pytest.raises(RequestError, match=r"ask for access on its page and log in with: hf auth login"):
        find_file(tmp_path)
