"""Initial weights: a function of the shape and the seed alone, so that the arms of a pair start equal."""

import torch
from torch import Tensor, nn

from lft.model.block import Block, residual_outputs
from lft.model.transformer import Transformer

STANDARD_DEVIATION = 0.02


def initialize(model: Transformer, seed: int) -> None:
    """Draw all weights in place: normal with standard deviation 0.02, norm gains 1.

    The matrices that write into the residual stream are divided by sqrt(2 N) with N the stored
    blocks (GPT-2, Radford et al. 2019, section 2.3), whatever the schedule.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = (2 * model.shape.num_blocks) ** -0.5
    residual = {id(weight) for block in model.blocks for weight in _residual_weights(block)}
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                deviation = STANDARD_DEVIATION * (scale if id(module.weight) in residual else 1.0)
                # Drawn in float32 on the CPU, so that every device and precision starts alike.
                drawn = torch.empty(module.weight.shape).normal_(0.0, deviation, generator=generator)
                module.weight.copy_(drawn)
            elif isinstance(module, nn.RMSNorm):
                nn.init.ones_(module.weight)


def _residual_weights(block: nn.Module) -> list[Tensor]:
    assert isinstance(block, Block)
    return residual_outputs(block)
