"""Log-probabilities of continuations, in batches of like length."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lft.model import Transformer

Advance = Callable[[int], None]


class Pair(NamedTuple):
    """Token ids of a context, at least one, and of what is scored after it, at least one."""

    context: Sequence[int]
    continuation: Sequence[int]

    @property
    def inputs(self) -> list[int]:
        """What the model reads: all but the last token."""
        return [*self.context, *self.continuation][:-1]


class Score(NamedTuple):
    """The log-probability of each token of a continuation in nats, and whether each is the most likely."""

    log_probabilities: list[float]
    is_greedy: bool

    @property
    def total(self) -> float:
        """Log-probability of the whole continuation."""
        return sum(self.log_probabilities)


@torch.inference_mode()
def score(
    model: Transformer,
    pairs: Sequence[Pair],
    batch_tokens: int,
    precision: str = "fp32",
    advance: Advance = lambda tokens: None,
) -> list[Score]:
    """Score continuations, each after its context.

    Logits are computed only where they are asked for.

    Args:
        model: A trained model whose positions cover the longest pair.
        pairs: What to score, in any order.
        batch_tokens: Most input tokens of a forward pass, padding included; one pair may exceed it.
        precision: `fp32`, or `bf16` by autocast.
        advance: Told how many input tokens a forward pass has scored.

    Returns:
        A score for every pair, in their order.
    """
    device = model.embedding.weight.device
    scores: list[Score | None] = [None] * len(pairs)
    for indices in batches(pairs, batch_tokens):
        batch = [pairs[index] for index in indices]
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = _continuation_logits(model, batch)
        scored = _read(logits.float(), batch)
        for index, result in zip(indices, scored, strict=True):
            scores[index] = result
        advance(sum(len(pair.inputs) for pair in batch))
    return [result for result in scores if result is not None]


def batches(pairs: Sequence[Pair], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of pairs of like lengths, the longest first, so that what does not fit shows at once."""
    lengths = [len(pair.inputs) for pair in pairs]
    order = sorted(range(len(pairs)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        rows = max(1, batch_tokens // lengths[order[start]])
        yield order[start : start + rows]
        start += rows


def padded(batch: Sequence[Pair]) -> Int[Tensor, "batch time"]:
    """The inputs of pairs side by side, padded behind, where none of their positions sees it."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(pair.inputs) for pair in batch], batch_first=True)


def _continuation_logits(model: Transformer, batch: Sequence[Pair]) -> Float[Tensor, "scored vocab"]:
    tokens, device = padded(batch), model.embedding.weight.device
    places = [
        row * tokens.shape[1] + torch.arange(len(pair.context) - 1, len(pair.inputs))
        for row, pair in enumerate(batch)
    ]
    hidden = model.hidden(tokens.to(device)).flatten(0, 1)
    return model.head(hidden[torch.cat(places).to(device)][None])[0]


def _read(logits: Float[Tensor, "scored vocab"], batch: Sequence[Pair]) -> list[Score]:
    targets: Int[Tensor, " scored"] = torch.cat([torch.tensor(pair.continuation) for pair in batch])
    targets = targets.to(logits.device)
    log_probabilities = -functional.cross_entropy(logits, targets, reduction="none")
    likeliest = logits.argmax(dim=-1) == targets
    lengths = [len(pair.continuation) for pair in batch]
    return [
        Score(values.tolist(), bool(greedy.all()))
        for values, greedy in zip(
            log_probabilities.cpu().split(lengths), likeliest.cpu().split(lengths), strict=True
        )
    ]
