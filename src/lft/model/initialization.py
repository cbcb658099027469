"""Initial weights: a function of the shape and the seed alone, so that the arms of a pair start equal."""

import torch
from torch import Tensor, nn

from lft.model.block import Block, residual_outputs
from lft.model.transformer import Transformer

STANDARD_DEVIATION = 0.02


def initialize(model: Transformer, seed: int, residual_init: str = "stored_depth") -> None:
    """Draw all weights in place: normal with standard deviation 0.02, norm gains and visit factors 1.

    The matrices that write into the residual stream are divided by sqrt(2 depth) (GPT-2, Radford et al.
    2019, section 2.3). Whichever depth is meant, the same numbers are drawn.

    Args:
        model: The model, of any schedule.
        seed: Of the generator.
        residual_init: `stored_depth`, the same for every schedule; `execution_depth`; or `visits`, which
            divides by the block's visits and by sqrt(2 stored depth).
    """
    generator = torch.Generator().manual_seed(seed)
    scales = {
        id(weight): scale
        for block, scale in zip(model.blocks, _residual_scales(model, residual_init), strict=True)
        for weight in _residual_weights(block)
    }
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                deviation = STANDARD_DEVIATION * scales.get(id(module.weight), 1.0)
                # Drawn in float32 on the CPU, so that every device and precision starts alike.
                drawn = torch.empty(module.weight.shape).normal_(0.0, deviation, generator=generator)
                module.weight.copy_(drawn)
            elif isinstance(module, nn.RMSNorm):
                nn.init.ones_(module.weight)
        for factor in model.visit_factors.parameters():
            nn.init.ones_(factor)


def _residual_scales(model: Transformer, residual_init: str) -> list[float]:
    depth = model.schedule.num_steps if residual_init == "execution_depth" else model.shape.num_blocks
    visits = model.schedule.visit_map if residual_init == "visits" else [1] * model.shape.num_blocks
    return [(2 * depth) ** -0.5 / count for count in visits]


def _residual_weights(block: nn.Module) -> list[Tensor]:
    assert isinstance(block, Block)
    return residual_outputs(block)
