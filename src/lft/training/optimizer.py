"""AdamW over parameter groups, and the learning rate over a run."""

import math
from collections import defaultdict

from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from lft.config import OptimizerConfig, SharingConfig
from lft.model import Transformer


def parameter_groups(model: nn.Module, config: OptimizerConfig, sharing: SharingConfig) -> list[dict]:
    """Every trainable parameter in exactly one group: matrices decay, norm gains do not.

    The tied embedding counts as a matrix, since it is also the output head (the convention of GPT-3,
    Brown et al. 2020, appendix B, as nanoGPT reads it). Where the learning rate or the decay is divided by
    visits, blocks of equal visits share their groups; what is not in a block is visited once. Since AdamW
    decays by learning rate x weight decay, dividing the former divides the decay of a step too.
    """
    visits = _visits(model)
    groups: dict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
    for parameter in (parameter for parameter in model.parameters() if parameter.requires_grad):
        count = visits.get(id(parameter), 1)
        decay = config.weight_decay / _divisor(sharing.weight_decay, count) if parameter.dim() >= 2 else 0.0
        groups[config.learning_rate / _divisor(sharing.learning_rate, count), decay].append(parameter)
    return [
        {"params": parameters, "lr": rate, "weight_decay": decay}
        for (rate, decay), parameters in groups.items()
    ]


def _visits(model: nn.Module) -> dict[int, int]:
    """Visits of every parameter of a block, by identity."""
    if not isinstance(model, Transformer):
        return {}
    blocks = zip(model.blocks, model.schedule.visit_map, strict=True)
    return {id(parameter): count for block, count in blocks for parameter in block.parameters()}


def _divisor(rule: str, visits: int) -> float:
    return {"equal": 1.0, "visits": visits, "sqrt_visits": math.sqrt(visits)}[rule]


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
    model: nn.Module, config: OptimizerConfig, sharing: SharingConfig, steps: int, warmup_steps: int
) -> tuple[AdamW, LambdaLR]:
    """The optimizer and its learning-rate schedule, one schedule step per optimizer step."""
    device = next(model.parameters()).device
    optimizer = AdamW(
        parameter_groups(model, config, sharing),
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=device.type in ("cpu", "cuda", "mps"),
    )

    def multiplier(step: int) -> float:
        return learning_rate_multiplier(step, steps, warmup_steps, config.final_fraction)

    return optimizer, LambdaLR(optimizer, multiplier)


def adamw_scale(optimizer: AdamW, parameter: nn.Parameter) -> Tensor:
    """What AdamW multiplies a gradient of this parameter with, in units of the learning rate.

    1 / (sqrt(v) + epsilon), with the bias-corrected average v of squared gradients after the last step
    (Kingma and Ba, arXiv 1412.6980, algorithm 1).

    Raises:
        KeyError: The parameter has not been updated yet.
    """
    state, (_, beta2) = optimizer.state[parameter], optimizer.defaults["betas"]
    corrected = state["exp_avg_sq"] / (1 - beta2 ** state["step"].item())
    return 1 / (corrected.sqrt() + optimizer.defaults["eps"])
