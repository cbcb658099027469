"""Loss and bits per byte over a fixed validation set."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from lft.data import PackedSequences, PreparedData
from lft.diagnostics import sequence_losses
from lft.runs import VALIDATION, WHOLE_TEXT, content_hash
from lft.training.language_model import LanguageModel


@dataclass(frozen=True)
class ValidationResult:
    """Outcome of one pass over the validation set.

    Attributes:
        loss: Nats per token, the mean over all tokens.
        bits_per_byte: The same information per byte of text.
        sequence_losses: Nats per token of each sequence, in their order.
    """

    loss: float
    bits_per_byte: float
    sequence_losses: tuple[float, ...] = field(repr=False)


class ValidationSet:
    """The held-out sequences, in order, the same for every arm and every milestone.

    Args:
        data: Prepared text.
        context_length: Tokens per sequence.
        batch_sequences: Sequences evaluated at once.
    """

    def __init__(self, data: PreparedData, context_length: int, batch_sequences: int) -> None:
        self.sequences = PackedSequences(data.validation, context_length)
        self.batch_sequences = batch_sequences
        num_tokens = len(self) * context_length
        targets = data.validation.window(1, num_tokens).reshape(len(self), context_length)
        self.sequence_bytes = data.token_bytes[targets].sum(axis=1, dtype=np.int64)

    def evaluate(self, module: LanguageModel) -> ValidationResult:
        """Score all sequences; with several devices each takes its share and all learn the outcome."""
        losses = self._losses(module)
        nats_per_byte = float(losses.sum()) * self.sequences.context_length / int(self.sequence_bytes.sum())
        return ValidationResult(float(losses.mean()), nats_per_byte / math.log(2), tuple(losses.tolist()))

    def _losses(self, module: LanguageModel) -> Float64[Tensor, " sequences"]:
        losses = torch.zeros(len(self), dtype=torch.float64)
        rank, world_size = module.global_rank, module.trainer.world_size
        with _evaluating(module):
            for start in range(rank * self.batch_sequences, len(self), world_size * self.batch_sequences):
                indices = np.arange(start, min(start + self.batch_sequences, len(self)))
                batch = torch.from_numpy(self.sequences.batch(indices)).to(module.device)
                with module.trainer.precision_plugin.val_step_context():
                    losses[indices] = sequence_losses(
                        module.model, batch, module.model.schedule, len(indices)
                    )
        if world_size == 1:
            return losses
        # Each device knows its own sequences and has zeros for the others'.
        return module.trainer.strategy.reduce(losses.to(module.device), reduce_op="sum").cpu()

    def items(self, result: ValidationResult) -> list[dict[str, Any]]:
        """Every sequence and what it cost, as rows of `lft.runs.items`."""
        length = self.sequences.context_length
        return [
            {
                "subtask": VALIDATION,
                "output_type": WHOLE_TEXT,
                "item": index,
                "content": content,
                "cluster": content,
                "log_probabilities": [-loss * length],
                "tokens": [length],
                "bytes": [int(num_bytes)],
                "weight": 1.0,
                "truncated_tokens": 0,
            }
            for index, (loss, num_bytes) in enumerate(
                zip(result.sequence_losses, self.sequence_bytes, strict=True)
            )
            for content in [content_hash(self.sequences[index].tobytes())]
        ]

    def __len__(self) -> int:
        return self.sequences.num_sequences


class _evaluating:
    """No gradients, and no second compilation for a pass that is short beside training."""

    def __init__(self, module: LanguageModel) -> None:
        self.module = module
        self.contexts = (torch.no_grad(), torch.compiler.set_stance("force_eager"))

    def __enter__(self) -> None:
        self.module.eval()
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *exception: object) -> None:
        for context in reversed(self.contexts):
            context.__exit__(None, None, None)
        self.module.train()
