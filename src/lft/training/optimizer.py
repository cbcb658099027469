"""AdamW over two parameter groups, and the learning rate over a run."""

import math

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from lft.config import OptimizerConfig


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Every trainable parameter in exactly one group: matrices decay, norm gains do not.

    The tied embedding counts as a matrix, since it is also the output head (the convention of GPT-3,
    Brown et al. 2020, appendix B, as nanoGPT reads it).
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def learning_rate_multiplier(step: int, steps: int, warmup_steps: int, final_fraction: float) -> float:
    """Share of the peak learning rate at an optimizer step (from 0).

    Rises linearly over the warmup, so that the first step already moves, then falls along a half
    cosine to `final_fraction`.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * progress))


def build_optimizer(
    model: nn.Module, config: OptimizerConfig, steps: int, warmup_steps: int
) -> tuple[AdamW, LambdaLR]:
    """The optimizer and its learning-rate schedule, one schedule step per optimizer step."""
    device = next(model.parameters()).device
    optimizer = AdamW(
        parameter_groups(model, config.weight_decay),
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=device.type in ("cpu", "cuda", "mps"),
    )

    def multiplier(step: int) -> float:
        return learning_rate_multiplier(step, steps, warmup_steps, config.final_fraction)

    return optimizer, LambdaLR(optimizer, multiplier)
