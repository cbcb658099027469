"""The training loop in turn with something else, step by step."""

import time
from abc import abstractmethod
from collections.abc import Callable

import lightning
import torch

from lft.training import LanguageModel, StepCallback

WARMUP_TURNS = 2


class LoopTurns(StepCallback):
    """Times each step of the training loop, and what takes a turn after it.

    Attributes:
        loop_seconds: Of each optimizer step, without the first ones and those that end in a milestone.
        other_seconds: Of the turn after it.
        batch: What the last step was trained on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loop_seconds: list[float] = []
        self.other_seconds: list[float] = []
        self.batch = torch.zeros(())
        self._turn = 0
        self._started = 0.0

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: torch.Tensor, index: int
    ) -> None:
        """Keep the batch."""
        self.batch = batch

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """End the loop's turn, take the other."""
        ended = time.perf_counter()
        seconds = timed(lambda: self.take_turn(trainer, module))
        if self._turn >= WARMUP_TURNS and trainer.global_step not in module.plan.milestones:
            self.loop_seconds.append(ended - self._started)
            self.other_seconds.append(seconds)
        self._turn += 1
        if trainer.global_step == module.plan.steps:
            self.conclude(trainer, module)
        self._started = time.perf_counter()

    @abstractmethod
    def take_turn(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """What the loop is set beside."""

    def conclude(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """What is measured once, after the last step."""


def bare_step(trainer: lightning.Trainer, module: LanguageModel, batch: torch.Tensor) -> None:
    """Forward, backward and optimizer step on one batch, and nothing else."""
    optimizer = trainer.optimizers[0]
    for _ in range(trainer.accumulate_grad_batches):
        with trainer.precision_plugin.train_step_context():
            loss = module.model.loss(batch[:, :-1], batch[:, 1:])
        (loss / trainer.accumulate_grad_batches).backward()
    torch.nn.utils.clip_grad_norm_(module.model.parameters(), module.config.optimizer.gradient_clip)
    optimizer.step()
    optimizer.zero_grad()


def timed(action: Callable[[], object]) -> float:
    """The seconds that an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
