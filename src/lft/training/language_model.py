"""The LightningModule: one loss, one optimizer, and a count of what was really seen."""

from typing import Any

import lightning
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lft.config import TrainConfig
from lft.model import Transformer
from lft.planning import Plan
from lft.training.optimizer import build_optimizer


class LanguageModel(lightning.LightningModule):
    """Trains a Transformer on next-token prediction.

    Attributes:
        model: The network.
        step_loss: Mean loss of the last optimizer step on this device, in nats per token.
        gradient_norm: Norm of the last step's gradient before clipping.
        tokens_seen: Tokens trained on so far, over all devices.
        train_seconds: Time spent training so far; validation and checkpoints are not in it.
        train_joules: Energy spent so far, over all devices and times of training; None where it was not
            metered from the start.
    """

    def __init__(self, model: Transformer, config: TrainConfig, plan: Plan) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.plan = plan
        self.step_loss = torch.zeros(())
        self.gradient_norm = torch.zeros(())
        self.tokens_seen = 0
        self.train_seconds = 0.0
        self.train_joules: float | None = 0.0
        self._micro_losses: list[Tensor] = []

    def on_train_batch_start(self, *args: Any) -> None:
        """Run the schedule of this step."""
        self.model.schedule = self.plan.schedule_at(self.trainer.global_step)

    def training_step(self, batch: Int[Tensor, "batch time"], batch_index: int) -> Float[Tensor, ""]:
        """Loss of one micro-batch of sequences, each one token longer than the context."""
        loss = self.model.loss(batch[:, :-1], batch[:, 1:])
        # Devices that train together wait for a gradient of every parameter.
        for factor in self.model.idle_factors():
            loss = loss + 0.0 * factor.sum()
        self._micro_losses.append(loss.detach())
        self.tokens_seen += batch[:, 1:].numel() * self.trainer.world_size
        return loss

    def configure_gradient_clipping(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        """Clip by norm and keep the norm from before, with the mean loss of the same step.

        Called once per optimizer step, when all of its micro-batches are accumulated.
        """
        self.gradient_norm = torch.nn.utils.clip_grad_norm_(
            self.model.parameters(), self.config.optimizer.gradient_clip
        )
        self.step_loss = torch.stack(self._micro_losses).mean()
        self._micro_losses.clear()

    def configure_optimizers(self) -> Any:
        """AdamW with a learning rate that changes every optimizer step."""
        optimizer, schedule = build_optimizer(
            self.model, self.config.optimizer, self.config.sharing, self.plan.steps, self.plan.warmup_steps
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the counters, as plain values."""
        checkpoint["tokens_seen"] = self.tokens_seen
        checkpoint["train_seconds"] = self.train_seconds
        checkpoint["train_joules"] = self.train_joules

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the counters."""
        self.tokens_seen = checkpoint["tokens_seen"]
        self.train_seconds = checkpoint["train_seconds"]
        self.train_joules = checkpoint.get("train_joules")
