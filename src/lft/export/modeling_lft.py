"""A decoder that executes its stored blocks in the order of a schedule.

This file travels with exported models and needs nothing but `transformers`: the stock model with one layer
per step, in which all steps of a block share the block's weights. Each step has a place of its own in the
key-value cache, since visits of a block read different residual streams.
"""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

SHARED_PARTS = "(self_attn|mlp|input_layernorm|post_attention_layernorm)"
# A step's own gains are multiplied into its norms.
SHARED_BESIDE_GAINS = "(self_attn|mlp)"


class LftConfig(LlamaConfig):
    """Llama's configuration, `schedule` and `conditioning`.

    `schedule` lists the block that each step executes, from 1; `conditioning` names what a step has for
    itself: `none`, a `scale` of its update, or its `norm` gains.
    """

    model_type = "lft"
    schedule: list[int] | None = None
    conditioning: str = "none"


class LftQkNormConfig(Qwen3Config):
    """The same for models that normalize queries and keys."""

    model_type = "lft_qk_norm"
    schedule: list[int] | None = None
    conditioning: str = "none"


def shared_weights(schedule: list[int], conditioning: str) -> dict[str, str]:
    """For every revisit the names of the weights that it takes from the first visit of its block."""
    owners: dict[int, int] = {}
    shared = {}
    parts = SHARED_BESIDE_GAINS if conditioning == "norm" else SHARED_PARTS
    for step, block in enumerate(schedule):
        owner = owners.setdefault(block, step)
        if owner != step:
            shared[rf"model\.layers\.{step}\.{parts}\."] = rf"model\.layers\.{owner}\.{parts}\."
    return shared


def scale_update(layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
    """Weigh what a step adds to the residual stream."""
    return inputs[0] + layer.visit_scale * (output - inputs[0])


class ScheduledBlocks:
    """Ties the layers of a stock model so that it stores its blocks once."""

    def __init__(self, config: LftConfig | LftQkNormConfig) -> None:
        self._tied_weights_keys = {
            **type(self)._tied_weights_keys,
            **shared_weights(config.schedule, config.conditioning),
        }
        super().__init__(config)
        if config.conditioning == "scale":
            for layer in self.model.layers:
                layer.visit_scale = nn.Parameter(torch.ones(config.hidden_size))
                layer.register_forward_hook(scale_update)


class LftForCausalLM(ScheduledBlocks, LlamaForCausalLM):
    """Llama with stored blocks and a schedule."""

    config_class = LftConfig


class LftQkNormForCausalLM(ScheduledBlocks, Qwen3ForCausalLM):
    """The same with normalized queries and keys."""

    config_class = LftQkNormConfig
