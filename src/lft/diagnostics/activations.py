"""What every step does to the residual stream, and how good the prediction would be after it."""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lft.diagnostics.reading import Reading
from lft.model import Block, Transformer
from lft.routing import Step

# Attention weights worked on at a time: 2 MB in float32.
ATTENTION_CHUNK = 500_000


@torch.no_grad()
def activation_readings(
    model: Transformer,
    tokens: Int[Tensor, "batch time"],
    targets: Int[Tensor, "batch time"],
    batch_sequences: int | None = None,
) -> list[Reading]:
    """Statistics of every step on a batch, in at least float32.

    - `residual_rms`: root mean square of the residual stream after the step.
    - `update_ratio`: norm of what the step adds, divided by the norm of its input; median over tokens.
    - `update_previous_cosine`: between what this and the previous visit of the block add; median.
    - `input_output_cosine`: between the residual stream before and after the step; median.
    - `attention_entropy`: nats, mean over heads, queries and sequences.
    - `readout_loss`: nats per token when final norm and head read the residual stream after the step (the
      logit lens, nostalgebraist 2020); at step 0, what the embedding alone predicts.

    Args:
        model: The model.
        tokens: Input tokens.
        targets: The token after each.
        batch_sequences: Most sequences whose logits are held at once; all when not given.
    """
    pieces = len(tokens) if batch_sequences is None else batch_sequences

    def readout_loss(residual: Tensor) -> float:
        parts = zip(residual.split(pieces), targets.split(pieces), strict=True)
        return sum(float(model.head_loss(*part)) * len(part[0]) for part in parts) / len(tokens)

    stream = model.residuals(tokens)
    before = next(stream)
    readings = [Reading(None, None, 0, "block", "readout_loss", readout_loss(before))]
    updates: dict[int, Tensor] = {}
    for number, (step, after) in enumerate(zip(model.schedule.steps, stream, strict=True), start=1):
        update = _wide(after) - _wide(before)
        values: dict[str, Tensor | float] = dict(
            _step_statistics(_wide(before), _wide(after), update, updates.get(step.block))
        )
        values["attention_entropy"] = _attention_entropy(model, step, before)
        values["readout_loss"] = readout_loss(after)
        readings += [Reading.of_step(number, step, name, float(value)) for name, value in values.items()]
        before, updates[step.block] = after, update
    return readings


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _step_statistics(
    before: Float[Tensor, "batch time width"],
    after: Float[Tensor, "batch time width"],
    update: Float[Tensor, "batch time width"],
    previous_update: Float[Tensor, "batch time width"] | None,
) -> Iterator[tuple[str, Tensor]]:
    yield "residual_rms", after.square().mean().sqrt()
    yield "update_ratio", (update.norm(dim=-1) / before.norm(dim=-1)).median()
    yield "input_output_cosine", functional.cosine_similarity(before, after, dim=-1).median()
    if previous_update is not None:
        yield (
            "update_previous_cosine",
            functional.cosine_similarity(previous_update, update, dim=-1).median(),
        )


def _attention_entropy(
    model: Transformer, step: Step, residual: Float[Tensor, "batch time width"]
) -> Float[Tensor, ""]:
    block = model.blocks[step.block]
    assert isinstance(block, Block)
    inputs = block.attention_input(residual, model.gains(step))
    query, key, _ = block.attention.heads(inputs, *model.rope(residual.shape[1]))
    return mean_attention_entropy(_wide(query), _wide(key))


def mean_attention_entropy(
    query: Float[Tensor, "batch heads time size"], key: Float[Tensor, "batch kv_heads time size"]
) -> Float[Tensor, ""]:
    """Entropy of causal softmax attention in nats, the mean over heads, queries and sequences."""
    batch, heads, time, size = query.shape
    key = key.repeat_interleave(heads // key.shape[1], dim=1)
    rows = max(1, ATTENTION_CHUNK // (batch * heads * time))
    total = query.new_zeros(())
    for start in range(0, time, rows):
        stop = min(start + rows, time)
        scores = query[:, :, start:stop] @ key[:, :, :stop].transpose(-1, -2) / math.sqrt(size)
        future = torch.ones(stop - start, stop, dtype=torch.bool, device=query.device).triu(start + 1)
        logs = scores.masked_fill(future, -math.inf).log_softmax(dim=-1)
        # Zero weights have no logarithm and no share in the entropy.
        total -= (logs.exp() * logs.masked_fill(future, 0.0)).sum()
    return total / (batch * heads * time)
