"""Parameters, FLOPs and cache bytes in closed form.

FLOPs follow `torch.utils.flop_counter.FlopCounterMode`: a multiply-add is 2, attention is counted in
full although it is causal, element-wise work is not counted.
"""

from dataclasses import dataclass

from lft.costs.shape import ModelShape


@dataclass(frozen=True)
class Costs:
    """What one model and schedule cost.

    Attributes:
        parameters: Stored weights, the tied embedding once.
        embedding_parameters: The part of `parameters` in the embedding.
        forward_flops_per_token: One forward pass, head included.
        training_flops_per_token: Forward and backward, three forward passes by convention.
        kv_bytes_per_token: Key and value cache per token of context, one slot per step, in bfloat16.
    """

    parameters: int
    embedding_parameters: int
    forward_flops_per_token: int
    training_flops_per_token: int
    kv_bytes_per_token: int


def block_parameters(shape: ModelShape) -> int:
    """Weights of one stored block."""
    attention = 2 * shape.d_model * shape.d_model + 2 * shape.d_model * shape.kv_size
    qk_norm = 2 * shape.head_size if shape.qk_norm else 0
    return attention + qk_norm + 3 * shape.d_model * shape.d_ff + 2 * shape.d_model


def step_flops_per_token(shape: ModelShape) -> int:
    """Forward FLOPs of one block execution per token, at full context length."""
    projections = 2 * shape.d_model * shape.d_model + 2 * shape.d_model * shape.kv_size
    attention = 2 * shape.context_length * shape.d_model
    return 2 * (projections + attention + 3 * shape.d_model * shape.d_ff)


def count_costs(shape: ModelShape, num_steps: int) -> Costs:
    """Cost of a shape that executes `num_steps` blocks per forward pass."""
    embedding = shape.vocab_size * shape.d_model
    forward = num_steps * step_flops_per_token(shape) + 2 * embedding
    bytes_per_value = 2
    return Costs(
        parameters=embedding + shape.num_blocks * block_parameters(shape) + shape.d_model,
        embedding_parameters=embedding,
        forward_flops_per_token=forward,
        training_flops_per_token=3 * forward,
        kv_bytes_per_token=num_steps * 2 * shape.kv_size * bytes_per_value,
    )
