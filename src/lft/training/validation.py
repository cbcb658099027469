"""Loss and bits per byte over a fixed validation set."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torchmetrics import MeanMetric

from lft.data import PackedSequences, PreparedData
from lft.training.language_model import LanguageModel


@dataclass(frozen=True)
class ValidationResult:
    """Outcome of one pass over the validation set.

    Attributes:
        loss: Nats per token, the mean over all tokens.
        bits_per_byte: The same information per byte of text.
    """

    loss: float
    bits_per_byte: float


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
        indices = np.arange(self.sequences.num_sequences)
        self.num_tokens = len(indices) * context_length
        targets = data.validation.window(1, self.num_tokens)
        self.num_bytes = int(data.token_bytes[targets].sum(dtype=np.int64))

    def evaluate(self, module: LanguageModel) -> ValidationResult:
        """Score all sequences; with several devices each takes its share and all learn the mean."""
        mean = MeanMetric().to(module.device)
        if module.device.type != "mps":
            mean.set_dtype(torch.float64)
        rank, world_size = module.global_rank, module.trainer.world_size
        with _evaluating(module):
            for start in range(rank * self.batch_sequences, len(self), world_size * self.batch_sequences):
                indices = np.arange(start, min(start + self.batch_sequences, len(self)))
                batch = torch.from_numpy(self.sequences.batch(indices)).to(module.device)
                with module.trainer.precision_plugin.val_step_context():
                    loss = module.model.loss(batch[:, :-1], batch[:, 1:])
                mean.update(loss, weight=batch[:, 1:].numel())
        nats = float(mean.compute())
        return ValidationResult(nats, nats / math.log(2) * self.num_tokens / self.num_bytes)

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
