"""Which sequences an optimizer step sees: a function of the seed and the step, and of nothing else."""

from functools import lru_cache

import numpy as np

from lft.data.prepared import TokenStream
from lft.errors import RequestError


@lru_cache(maxsize=2)
def _permutation(num_sequences: int, seed: int, epoch: int) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch])))
    return generator.permutation(num_sequences)


class SequenceOrder:
    """The order in which training visits sequences, shuffled anew for each epoch.

    An epoch holds each sequence exactly once; a batch may begin in one epoch and end in the next. Routing,
    devices, accumulation and loader processes have no say in it, so runs that share a seed see equal batches.

    Args:
        num_sequences: Sequences in the corpus.
        batch_sequences: Sequences per optimizer step, over all devices and accumulation steps.
        seed: 0 or more.
    """

    def __init__(self, num_sequences: int, batch_sequences: int, seed: int) -> None:
        if num_sequences < 1 or batch_sequences < 1:
            raise ValueError("an order needs at least one sequence, and batches at least one each")
        self.num_sequences = num_sequences
        self.batch_sequences = batch_sequences
        self.seed = seed

    def epoch(self, step: int) -> int:
        """The epoch in which a step's batch begins; steps and epochs count from 0."""
        return step * self.batch_sequences // self.num_sequences

    def batch(self, step: int) -> np.ndarray:
        """Sequence indices of an optimizer step, `int64[batch_sequences]`; steps count from 0."""
        positions = step * self.batch_sequences + np.arange(self.batch_sequences)
        epochs, offsets = np.divmod(positions, self.num_sequences)
        indices = np.empty(self.batch_sequences, dtype=np.int64)
        for epoch in range(epochs[0], epochs[-1] + 1):
            inside = epochs == epoch
            indices[inside] = _permutation(self.num_sequences, self.seed, epoch)[offsets[inside]]
        return indices

    def micro_batch(
        self, step: int, micro_step: int, num_micro_steps: int, rank: int, world_size: int
    ) -> np.ndarray:
        """The part of a step's batch that one device takes in one accumulation step.

        Over all devices and accumulation steps the parts are exactly the batch.

        Raises:
            RequestError: The batch cannot be divided evenly.
        """
        if self.batch_sequences % (num_micro_steps * world_size):
            raise RequestError(
                f"{self.batch_sequences} sequences per optimizer step cannot be divided evenly over "
                f"{world_size} devices times {num_micro_steps} accumulation steps; change "
                "optimizer.batch_tokens, optimizer.micro_batch_sequences or trainer.devices"
            )
        return self.batch(step).reshape(num_micro_steps, world_size, -1)[micro_step, rank]


class PackedSequences:
    """A stream of tokens cut into sequences, each with its targets.

    Sequence i holds tokens i*T to i*T + T inclusive, T being the context length: T inputs, and the same
    shifted by one as targets. So every token but the first is a target once.

    Args:
        stream: The tokens.
        context_length: T, in tokens.

    Raises:
        RequestError: The stream is shorter than one sequence.
    """

    def __init__(self, stream: TokenStream, context_length: int) -> None:
        self.stream = stream
        self.context_length = context_length
        self.num_sequences = (len(stream) - 1) // context_length
        if self.num_sequences < 1:
            raise RequestError(
                f"the {stream.name} has {len(stream)} tokens, but one sequence of "
                f"scale.context_length={context_length} takes {context_length + 1}; lower "
                "scale.context_length or give more text"
            )

    def __len__(self) -> int:
        return self.num_sequences

    def __getitem__(self, index: int) -> np.ndarray:
        """One sequence, `int64[context_length + 1]`."""
        if not 0 <= index < self.num_sequences:
            raise IndexError(f"sequence {index} of {self.num_sequences}")
        return self.stream.window(index * self.context_length, self.context_length + 1).astype(np.int64)

    def __getitems__(self, indices: list[int]) -> list[np.ndarray]:
        """Several sequences, as torch's loader asks for them."""
        return list(self.batch(np.asarray(indices)))

    def batch(self, indices: np.ndarray) -> np.ndarray:
        """The sequences at `indices`, `int64[len(indices), context_length + 1]`."""
        return np.stack([self[int(index)] for index in indices])
