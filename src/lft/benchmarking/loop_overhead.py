"""The training loop with data, logging and callbacks, beside a bare forward-backward-step loop."""

import time

import lightning
import torch

from lft.benchmarking.ratio import Ratio
from lft.config import TrainConfig
from lft.training import LanguageModel, StepCallback, train

WARMUP_TURNS = 2


def measure_loop_overhead(config: TrainConfig) -> Ratio:
    """Train for real, and after every optimizer step take a bare one with the same model and optimizer."""
    bare = BareSteps()
    train(config, extra_callbacks=[bare])
    return Ratio("training loop's share of bare speed", bare.loop_seconds, bare.bare_seconds)


class BareSteps(StepCallback):
    """Times each step of the loop, and a bare step after it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop_seconds: list[float] = []
        self.bare_seconds: list[float] = []
        self._turn = 0
        self._started = 0.0
        self._batch = torch.zeros(())

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: torch.Tensor, index: int
    ) -> None:
        """Keep the batch for the bare step."""
        self._batch = batch

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """End the loop's turn, take the bare turn."""
        ended = time.perf_counter()
        bare_step(trainer, module, self._batch)
        if self._turn >= WARMUP_TURNS and trainer.global_step not in module.plan.milestones:
            self.loop_seconds.append(ended - self._started)
            self.bare_seconds.append(time.perf_counter() - ended)
        self._turn += 1
        self._started = time.perf_counter()


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
