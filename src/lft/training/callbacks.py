"""What happens at the end of an optimizer step: metrics, validation, checkpoints, in this order."""

import math
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from lft.meters import EnergyMeter
from lft.runs import write_checksum
from lft.training.language_model import LanguageModel
from lft.training.spending import TrainingClock, TrainingEnergy
from lft.training.validation import ValidationResult, ValidationSet


class StepCallback(Callback, ABC):
    """Calls `after_step` once per optimizer step, not once per micro-batch."""

    def __init__(self) -> None:
        self._last_step = 0

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Start counting from where the run stands."""
        self._last_step = trainer.global_step

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, *args: Any
    ) -> None:
        """Pass on the batches that ended an optimizer step."""
        if trainer.global_step != self._last_step:
            self._last_step = trainer.global_step
            assert isinstance(module, LanguageModel)
            self.after_step(trainer, module)

    @abstractmethod
    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """What to do after an optimizer step."""


class MetricsLogger(StepCallback):
    """Sends the metrics of a step to every logger.

    Args:
        peak_flops: FLOPs per second that all devices together could do.
        log_every_steps: Optimizer steps from one logged row to the next.
        meter: Counts joules, where this machine can.
    """

    def __init__(self, peak_flops: float, log_every_steps: int, meter: EnergyMeter | None = None) -> None:
        super().__init__()
        self.log_every_steps = log_every_steps
        self.clock = TrainingClock()
        self.energy = TrainingEnergy(meter) if meter else None
        self.peak_flops = peak_flops

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Start the clock."""
        super().on_train_start(trainer, module)
        self.resume()

    def resume(self) -> None:
        """Leave out the time and energy since the last step."""
        self.clock.resume()
        if self.energy:
            self.energy.resume()

    def book_energy(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Add what was spent since the last booking; a run that was not metered throughout has no total."""
        if self.energy is None:
            module.train_joules = None
        elif module.train_joules is not None:
            module.train_joules += self.energy.book(trainer)

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Book the step, and log it at the trainer's interval, at the start and at the end."""
        module.train_seconds += self.clock.step(module.plan.tokens_per_step)
        if self.energy:
            self.energy.step()
        if trainer.global_step % self.log_every_steps == 0 or trainer.global_step in (
            1,
            module.plan.steps,
        ):
            log(trainer, module, self._metrics(trainer, module))

    def _metrics(self, trainer: lightning.Trainer, module: LanguageModel) -> dict[str, float]:
        loss = float(trainer.strategy.reduce(module.step_loss, reduce_op="mean"))
        self.book_energy(trainer, module)
        check_finite(trainer, "loss", loss)
        metrics = {
            "train/loss": loss,
            "optim/lr": _applied_learning_rate(trainer),
            "optim/grad_norm": float(module.gradient_norm),
            "perf/seconds": module.train_seconds,
        }
        if module.train_joules is not None:
            metrics["perf/joules"] = module.train_joules
        rate = self.clock.recent_tokens_per_second()
        if rate is not None:
            metrics["perf/tokens_per_second"] = rate
            flops_per_token = module.plan.training_flops_per_token_at(trainer.global_step - 1)
            metrics["perf/mfu"] = rate * flops_per_token / self.peak_flops
        return metrics


class Milestones(StepCallback):
    """Validates at milestones, keeps a checkpoint of each, and saves the one to resume from.

    Args:
        validation: What to validate on.
        folder: Where checkpoints lie.
        milestones: Optimizer steps.
        metrics: Told to leave out the time spent here.
        save_seconds: Longest time between two checkpoints to resume from.
    """

    def __init__(
        self,
        validation: ValidationSet,
        folder: Path,
        milestones: tuple[int, ...],
        metrics: MetricsLogger,
        save_seconds: float = 600.0,
    ) -> None:
        super().__init__()
        self.validation = validation
        self.folder = folder
        self.milestones = set(milestones)
        self.metrics = metrics
        self.save_seconds = save_seconds
        self.result: ValidationResult | None = None
        self._saved = time.perf_counter()

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Leave out what callbacks before this one did."""
        super().on_train_start(trainer, module)
        self.metrics.resume()

    def after_step(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        """Validate and save when it is time."""
        if trainer.global_step in self.milestones:
            self._validate(trainer, module)
            self._save(trainer, module, f"tokens-{module.tokens_seen:014d}.ckpt", weights_only=True)
            self._save(trainer, module, "last.ckpt")
        elif trainer.strategy.reduce_boolean_decision(self._due(), all=False):
            self._save(trainer, module, "last.ckpt")
        self.metrics.resume()

    def _due(self) -> bool:
        return time.perf_counter() - self._saved > self.save_seconds

    def _validate(self, trainer: lightning.Trainer, module: LanguageModel) -> None:
        self.result = self.validation.evaluate(module)
        check_finite(trainer, "validation loss", self.result.loss)
        log(trainer, module, {"val/loss": self.result.loss, "val/bits_per_byte": self.result.bits_per_byte})

    def _save(
        self, trainer: lightning.Trainer, module: LanguageModel, name: str, weights_only: bool = False
    ) -> None:
        self.metrics.book_energy(trainer, module)
        # Whole or absent: a checkpoint cut short by a kill must not look like one.
        unfinished = self.folder / f".{name}"
        trainer.save_checkpoint(unfinished, weights_only=weights_only)
        if trainer.is_global_zero:
            unfinished.replace(self.folder / name)
            if weights_only:
                write_checksum(self.folder / name)
        self._saved = time.perf_counter()


def check_finite(trainer: lightning.Trainer, name: str, loss: float) -> None:
    """Stop a run that has diverged.

    Raises:
        FloatingPointError: The loss is infinite or not a number.
    """
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"training diverged: {name} {loss} at step {trainer.global_step}; lower optimizer.learning_rate"
        )


def log(trainer: lightning.Trainer, module: LanguageModel, metrics: dict[str, float]) -> None:
    """Send metrics of the present step to every logger, beside the tokens seen and the FLOPs spent so far."""
    for logger in trainer.loggers:
        logger.log_metrics({**spent(trainer, module), **metrics}, step=trainer.global_step)


def spent(trainer: lightning.Trainer, module: LanguageModel) -> dict[str, float]:
    """The tokens seen and the FLOPs spent so far, the axes of every chart."""
    flops = module.plan.training_flops_until(trainer.global_step)
    return {"train/tokens": module.tokens_seen, "train/flops": flops}


def _applied_learning_rate(trainer: lightning.Trainer) -> float:
    # Of the step just taken: the schedule has already moved on to the next.
    schedule: Any = trainer.lr_scheduler_configs[0].scheduler
    return schedule.base_lrs[0] * schedule.lr_lambdas[0](trainer.global_step - 1)
