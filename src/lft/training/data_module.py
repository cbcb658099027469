"""The LightningDataModule: batches as a function of the seed and the optimizer step."""

from collections.abc import Iterator
from typing import Any

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from lft.data import PackedSequences, PreparedData, SequenceOrder
from lft.planning import Plan


class SequenceDataset(Dataset):
    """Packed sequences by index, as torch loads them: whole batches at once."""

    def __init__(self, sequences: PackedSequences) -> None:
        self.sequences = sequences

    def __len__(self) -> int:
        return self.sequences.num_sequences

    def __getitems__(self, indices: list[int]) -> torch.Tensor:
        """The sequences at `indices`, one row each."""
        return torch.from_numpy(self.sequences.batch(np.asarray(indices)))


class MicroBatchSampler(Sampler):
    """Indices of every micro-batch of one device from an optimizer step to the end of the run."""

    def __init__(
        self, order: SequenceOrder, first_step: int, steps: int, micro_steps: int, rank: int, world_size: int
    ) -> None:
        self.order = order
        self.first_step = first_step
        self.steps = steps
        self.micro_steps = micro_steps
        self.rank = rank
        self.world_size = world_size

    def __len__(self) -> int:
        # The whole run's, since Lightning counts on from the resumed batch.
        return self.steps * self.micro_steps

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(self.first_step, self.steps):
            for micro_step in range(self.micro_steps):
                indices = self.order.micro_batch(
                    step, micro_step, self.micro_steps, self.rank, self.world_size
                )
                yield indices.tolist()


class TokenDataModule(lightning.LightningDataModule):
    """Feeds training batches; holds no state, so resuming needs nothing but the step."""

    def __init__(self, data: PreparedData, plan: Plan, seed: int, loader_workers: int) -> None:
        super().__init__()
        self.sequences = PackedSequences(data.train, plan.shape.context_length)
        self.order = SequenceOrder(self.sequences.num_sequences, plan.batch_sequences, seed)
        self.plan = plan
        self.loader_workers = loader_workers

    @property
    def epoch_tokens(self) -> int:
        """Training tokens of one pass over the text."""
        return self.sequences.num_sequences * self.plan.shape.context_length

    @property
    def epochs(self) -> float:
        """How often the run passes over the training text."""
        return self.plan.tokens / self.epoch_tokens

    def train_dataloader(self) -> DataLoader:
        """Micro-batches from the trainer's present optimizer step on."""
        trainer = self.trainer
        assert trainer is not None
        sampler = MicroBatchSampler(
            self.order,
            first_step=trainer.global_step,
            steps=self.plan.steps,
            micro_steps=trainer.accumulate_grad_batches,
            rank=trainer.global_rank,
            world_size=trainer.world_size,
        )
        return DataLoader(
            SequenceDataset(self.sequences),
            batch_sampler=sampler,
            collate_fn=_as_loaded,
            num_workers=self.loader_workers,
            pin_memory=torch.cuda.is_available(),
        )


def _as_loaded(batch: Any) -> Any:
    return batch
